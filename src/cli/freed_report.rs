//! What a live change has freed, told on the command line, at once or until it is over.

use std::io::Write;
use std::time::{Duration, Instant};

use super::freed::FreedWatch;
use super::live::Live;
use super::report::{FreedLine, JsonReport, Line};
use super::{BesideBroker, CliError, Context, Look, clock, living_logs};
use crate::app::live_words::{freed_line, next_pass_in};
use crate::plan::{BrokerFreed, FreedSoFar};

/// How long from one look to the next while waiting.
const PAUSE: Duration = Duration::from_secs(1);

/// Who tells what a change has freed.
pub(super) struct FreedReport<'a> {
    pub(super) context: &'a Context,
    pub(super) live: &'a Live,
    pub(super) watch: &'a FreedWatch,
    pub(super) json: bool,
}

impl FreedReport<'_> {
    /// Tells what was freed so far; with a limit, until every broker has freed what was promised, or its pass must be over. Then
    /// tells why the rest stays.
    pub(super) fn tell(
        &self,
        limit: Option<Duration>,
        out: &mut dyn Write,
    ) -> Result<(), CliError> {
        let is_over = if let Some(limit) = limit {
            self.wait(limit, out)?
        } else {
            let freed = self.live.run(self.watch.look(&self.live.client));
            self.lines(&freed, out)?;
            !freed.brokers.is_empty()
        };
        if is_over && !self.json {
            let look = Look::open(self.context, BesideBroker::StructureOnly).ok();
            let host = self.live.host.as_ref();
            let asked = look.as_ref().map(|look| {
                let asked = living_logs::ask(&self.live.client, host, look);
                self.live.run(asked)
            });
            // Without an answer the files' facts count, as they do offline.
            let told = asked.and_then(Result::ok);
            let facts = (look.as_ref(), told.as_ref());
            for line in self.watch.why_the_rest_stays(self.context, facts)? {
                writeln!(out, "stays      {line}")?;
            }
        }
        Ok(())
    }

    /// Says whether it is over.
    fn wait(&self, limit: Duration, out: &mut dyn Write) -> Result<bool, CliError> {
        let begin = Instant::now();
        let mut told: Option<Vec<BrokerFreed>> = None;
        loop {
            let freed = self.live.run(self.watch.look(&self.live.client));
            if told.as_ref() != Some(&freed.brokers) {
                self.lines(&freed, out)?;
                if !self.json {
                    let text = next_pass_in(freed.since, freed.every_ms, clock::now());
                    writeln!(out, "{text}")?;
                }
                out.flush()?;
            }
            if freed.is_over() {
                return Ok(true);
            }
            told = Some(freed.brokers);
            if begin.elapsed() + PAUSE >= limit {
                return Ok(false);
            }
            self.live.run(async { tokio::time::sleep(PAUSE).await });
        }
    }

    fn lines(&self, freed: &FreedSoFar, out: &mut dyn Write) -> Result<(), CliError> {
        for broker in &freed.brokers {
            if self.json {
                let line = FreedLine {
                    topic: self.watch.topic().to_owned(),
                    broker: broker.broker,
                    before_bytes: broker.before,
                    bytes: broker.now,
                    freed_bytes: broker.freed(),
                    promised_bytes: freed.promised,
                    freed_records: broker.records,
                };
                JsonReport::new(out).line(&Line::Freed(line))?;
            } else {
                let text = freed_line(broker, freed.promised);
                writeln!(out, "freed      {text}")?;
            }
        }
        Ok(())
    }
}
