//! What the first retention pass of a boot will delete, looked up beside the watching: a broker has many logs.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, channel};

use crate::cli::target::{Candidate, read_host_logs};
use crate::observe::FirstPass;
use crate::plan::retention::{WhatIf, WhatIfScope};

use super::look::{BesideBroker, Look};
use super::{CliError, Context, clock};

/// Waits for what a thread finds.
#[derive(Debug)]
pub(crate) struct FirstPassWatch {
    found: Option<Receiver<Option<FirstPass>>>,
    last: Option<FirstPass>,
}

impl FirstPassWatch {
    /// Begins to judge the logs of `candidate`, by names, sizes, indexes and the metadata log.
    pub(crate) fn start(context: &Context, candidate: &Candidate) -> Self {
        let (sender, found) = channel();
        let (context, candidate) = (context.clone(), candidate.clone());
        std::thread::spawn(move || {
            // Nobody waits once the boot is over.
            let _ = sender.send(judge(&context, candidate).ok());
        });
        Self {
            found: Some(found),
            last: None,
        }
    }

    /// Returns what was found; `None` before, or where the log dirs say nothing.
    pub(crate) fn look(&mut self) -> Option<FirstPass> {
        if let Some(found) = self.found.as_ref().and_then(|found| found.try_recv().ok()) {
            (self.last, self.found) = (found, None);
        }
        self.last.clone()
    }
}

fn judge(context: &Context, candidate: Candidate) -> Result<FirstPass, CliError> {
    let look = Look::of(context, candidate, BesideBroker::StructureOnly)?;
    let mut host = read_host_logs(context, &look, None, &|| true)?.host;
    if !context.now_given {
        host.now = clock::now();
    }
    let judged = host.judge(WhatIf::default(), &WhatIfScope::Host);
    let mut pass = FirstPass::default();
    let mut topics: BTreeMap<&str, u64> = BTreeMap::new();
    for (log, judged) in host.logs.iter().zip(&judged) {
        let goes = judged.totals.delete;
        pass.segments += goes.segments;
        pass.bytes = pass.bytes.saturating_add(goes.bytes);
        if goes.segments > 0 {
            *topics.entry(&log.facts.topic_partition.topic).or_default() += goes.bytes;
        }
    }
    let topics = topics
        .into_iter()
        .map(|(name, bytes)| (name.to_owned(), bytes));
    pass.topics = topics.collect();
    pass.topics
        .sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    Ok(pass)
}
