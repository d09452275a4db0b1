//! What all of `mirror`'s commands print alike: where the facts are from, what is wrong with them, how it ended.

use std::io::Write;

use crate::app::text;
use crate::cli::report::{
    ClusterLine, MirrorFindingLine, MirrorLine, MirrorRunLine, MirrorSummaryLine, SourceLine, time,
};
use crate::cli::{CliError, Context, Exit};
use crate::mirror::{ClusterFacts, Facts};
use crate::terms::Timestamp;

/// Prints lines or texts, and counts findings.
pub(super) struct MirrorReport<'a> {
    pub(super) out: &'a mut dyn Write,
    json: bool,
    findings: u64,
    lines: u64,
    now: Timestamp,
}

impl<'a> MirrorReport<'a> {
    /// Returns a report whose first line tells the run.
    pub(super) fn begin(
        context: &Context,
        (command, json): (&'static str, bool),
        facts: &Facts,
        out: &'a mut dyn Write,
    ) -> Result<Self, CliError> {
        let mut this = Self {
            out,
            json,
            findings: 0,
            lines: 0,
            now: context.now,
        };
        if json {
            this.line(&MirrorLine::Run(MirrorRunLine {
                schema: 1,
                krescue_version: env!("CARGO_PKG_VERSION"),
                command,
                now: context.now.rfc3339(),
                host: context.host.clone(),
                mm2: facts.properties.as_ref().map(|it| it.file.clone()),
                clusters: facts
                    .clusters
                    .iter()
                    .map(|(alias, cluster)| cluster_line(alias, cluster))
                    .collect(),
            }))?;
            return Ok(this);
        }
        if let Some(file) = &facts.properties {
            writeln!(this.out, "settings {}", file.file)?;
        }
        for (alias, cluster) in &facts.clusters {
            for source in &cluster.sources {
                let node = source
                    .node_id
                    .map_or_else(String::new, |id| format!(" broker {id} ·"));
                writeln!(
                    this.out,
                    "{alias} ·{node} {} on {} · read {}",
                    source.places.join(", "),
                    source.host,
                    text::age(source.read_at, this.now)
                )?;
            }
        }
        Ok(this)
    }

    /// Says whether JSON lines are printed.
    pub(super) fn is_json(&self) -> bool {
        self.json
    }

    /// Prints one JSON line.
    pub(super) fn line(&mut self, line: &MirrorLine) -> Result<(), CliError> {
        serde_json::to_writer(&mut *self.out, line).map_err(std::io::Error::from)?;
        self.out.write_all(b"\n")?;
        self.lines += 1;
        Ok(())
    }

    /// Returns a time as its age: `3 min ago`, `?` where it is not known.
    pub(super) fn age(&self, at: Option<Timestamp>) -> String {
        at.filter(|at| at.0 >= 0)
            .map_or_else(|| text::UNKNOWN.to_owned(), |at| text::age(at, self.now))
    }

    /// Returns how long it is until then: `3 h 20 min`, `now` if it has come, nothing where it is not known.
    pub(super) fn until(&self, at: Option<Timestamp>) -> String {
        at.map_or_else(String::new, |at| text::until(at, self.now))
    }

    /// Tells what is wrong.
    pub(super) fn finding(&mut self, finding: MirrorFindingLine) -> Result<(), CliError> {
        if finding.severity != "routine" {
            self.findings += 1;
        }
        if self.json {
            return self.line(&MirrorLine::Finding(finding));
        }
        let place = [finding.flow.as_deref(), finding.place.as_deref()];
        let place: Vec<&str> = place.into_iter().flatten().collect();
        let word = finding.severity.to_ascii_uppercase();
        writeln!(
            self.out,
            "{word:<8} {} {}: {}",
            finding.code,
            place.join(" "),
            finding.text
        )?;
        if let Some(next) = &finding.next {
            writeln!(self.out, "         next: {next}")?;
        }
        Ok(())
    }

    /// Tells what is wrong with the facts themselves.
    pub(super) fn facts_findings(&mut self, facts: &Facts) -> Result<(), CliError> {
        for (alias, cause) in &facts.unreached {
            self.finding(MirrorFindingLine {
                code: "cluster_unreachable",
                severity: "warning",
                flow: None,
                place: Some(alias.clone()),
                text: format!("no broker of it answers: {cause}"),
                next: Some(format!(
                    "what it holds is told by its log dirs: --cluster {alias}=DIR[,DIR]"
                )),
            })?;
        }
        for (alias, cluster) in &facts.clusters {
            for finding in &cluster.findings {
                self.finding(MirrorFindingLine {
                    code: "unreadable",
                    severity: "warning",
                    flow: None,
                    place: Some(format!("{alias} {}", finding.place)),
                    text: finding.text.clone(),
                    next: None,
                })?;
            }
            for missing in cluster.missing() {
                self.finding(missing_line(alias, cluster, &missing))?;
            }
        }
        Ok(())
    }

    /// Prints the end.
    pub(super) fn end(mut self) -> Result<Exit, CliError> {
        let exit = if self.findings > 0 {
            Exit::Findings
        } else {
            Exit::Ok
        };
        if self.json {
            let summary = MirrorSummaryLine {
                exit: exit.code(),
                findings: self.findings,
                lines: self.lines,
                cause: None,
            };
            self.line(&MirrorLine::Summary(summary))?;
        }
        Ok(exit)
    }
}

fn cluster_line(alias: &str, cluster: &ClusterFacts) -> ClusterLine {
    let sources = cluster.sources.iter().map(|source| SourceLine {
        host: source.host.clone(),
        places: source.places.clone(),
        node_id: source.node_id,
        read_at: time(source.read_at),
        live: source.live,
    });
    ClusterLine {
        alias: alias.to_owned(),
        cluster_id: cluster.cluster_id.clone(),
        sources: sources.collect(),
    }
}

/// Names who has a partition that nobody read.
fn missing_line(
    alias: &str,
    cluster: &ClusterFacts,
    missing: &crate::mirror::MissingPartition,
) -> MirrorFindingLine {
    let holder = |id: &i32| {
        let source = cluster
            .sources
            .iter()
            .find(|source| source.node_id == Some(*id));
        match source {
            Some(source) => format!(
                "broker {id} ({}, whose dirs {} lack it)",
                source.host,
                source.places.join(", ")
            ),
            None => format!("broker {id}, whose log dirs nobody read"),
        }
    };
    let holders: Vec<String> = missing.brokers.iter().map(holder).collect();
    MirrorFindingLine {
        code: "partition_missing",
        severity: "warning",
        flow: None,
        place: Some(format!("{alias} {}-{}", missing.topic, missing.partition)),
        text: format!(
            "it was not read; the metadata says that it is on {}",
            holders.join(" and on ")
        ),
        next: Some(format!(
            "run `krescue mirror facts --cluster {alias}=DIR,DIR > HOST.json` there, or name all its log dirs, and merge with --facts"
        )),
    }
}
