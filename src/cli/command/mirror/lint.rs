//! `mirror lint`: what will bite.

use std::collections::BTreeMap;
use std::io::Write;

use super::report::MirrorReport;
use super::sources::Known;
use crate::cli::report::{MirrorFindingLine, MirrorLine, SilentLine};
use crate::cli::{CliError, Context, Exit};
use crate::mirror::{Lint, LintSeverity, lint as apply};

/// Runs `mirror lint`.
pub(super) fn lint(
    context: &Context,
    json: bool,
    known: &Known,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let mut report = MirrorReport::begin(context, ("mirror lint", json), &known.facts, out)?;
    let found = apply(&known.facts, &known.flows);
    if !report.is_json() {
        writeln!(report.out)?;
    }
    for lint in &found.lints {
        report.finding(line(lint))?;
    }
    if report.is_json() {
        for silent in &found.silent {
            report.line(&MirrorLine::Silent(SilentLine {
                code: silent.code,
                missing: silent.missing.clone(),
            }))?;
        }
    } else {
        if found.lints.is_empty() {
            writeln!(report.out, "no rule found anything")?;
        }
        let mut by_fact: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for silent in &found.silent {
            by_fact
                .entry(&silent.missing)
                .or_default()
                .push(silent.code);
        }
        for (missing, codes) in by_fact {
            writeln!(report.out, "silent   {}", codes.join(", "))?;
            writeln!(report.out, "         for want of {missing}")?;
        }
    }
    report.facts_findings(&known.facts)?;
    report.end()
}

fn line(lint: &Lint) -> MirrorFindingLine {
    MirrorFindingLine {
        code: lint.code,
        severity: match lint.severity() {
            LintSeverity::Error => "error",
            LintSeverity::Warning => "warning",
            LintSeverity::Info => "routine",
        },
        flow: lint.flow.as_ref().map(ToString::to_string),
        place: lint.place.clone(),
        text: lint.text.clone(),
        next: Some(lint.next.clone()),
    }
}
