//! `mirror translate`: where a group's commits lie on the other cluster.

use std::io::Write;

use super::report::MirrorReport;
use super::sources::Known;
use crate::app::text::{self, UNKNOWN};
use crate::cli::args::TranslateArgs;
use crate::cli::report::{Align, Columns, MirrorFindingLine, MirrorLine, TranslationLine};
use crate::cli::{CliError, Context, Exit};
use crate::mirror::{Flow, FlowState, Taken, Translation, Why, translations};

/// Runs `mirror translate`.
pub(super) fn translate(
    context: &Context,
    (args, json): (&TranslateArgs, bool),
    known: &Known,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    if let Some(name) = &args.flow {
        known.flow(name)?;
    }
    let mut report = MirrorReport::begin(context, ("mirror translate", json), &known.facts, out)?;
    let wanted = |flow: &&Flow| {
        flow.state == FlowState::Active && args.flow.as_ref().is_none_or(|name| flow.name == *name)
    };
    let mut any = false;
    for flow in known.flows.iter().filter(wanted) {
        let mut all = match translations(&known.facts, flow) {
            Ok(all) => all,
            Err(error) => {
                // The way back of a pair whose other cluster nobody named is nothing to worry about.
                let severity = if args.flow.is_some() {
                    "warning"
                } else {
                    "routine"
                };
                report.finding(cannot(flow, severity, &error))?;
                continue;
            }
        };
        if let Some(group) = &args.group {
            all.retain(|translation| translation.group == *group);
        }
        any |= !all.is_empty();
        show(&mut report, flow, &all)?;
    }
    if let (false, Some(group)) = (any, &args.group) {
        for finding in why_none(known, group) {
            report.finding(finding)?;
        }
    }
    report.facts_findings(&known.facts)?;
    report.end()
}

fn cannot(
    flow: &Flow,
    severity: &'static str,
    error: &crate::mirror::CannotTranslate,
) -> MirrorFindingLine {
    use crate::mirror::CannotTranslate::Filter;
    let is_filter = matches!(error, Filter(_));
    MirrorFindingLine {
        code: if is_filter {
            "filter_not_understood"
        } else {
            "fact_missing"
        },
        severity: if is_filter { "warning" } else { severity },
        flow: Some(flow.name.to_string()),
        place: None,
        text: if is_filter {
            format!(
                "{error}: which groups and topics it takes cannot be told, so no commit is translated"
            )
        } else {
            error.to_string()
        },
        next: (!is_filter).then(|| {
            format!(
                "name log dirs of its brokers: --cluster {}=DIR[,DIR]",
                flow.name.source
            )
        }),
    }
}

/// Says why a group has no translation.
fn why_none(known: &Known, group: &str) -> Vec<MirrorFindingLine> {
    let mut findings = vec![];
    for flow in &known.flows {
        let source = known.facts.clusters.get(&flow.name.source);
        let groups = source.and_then(crate::mirror::ClusterFacts::groups);
        let Some(facts) = groups.and_then(|groups| groups.get(group).copied()) else {
            continue;
        };
        let text = match flow.filter_group(group) {
            Taken::NotIncluded => "no item of groups matches it".to_owned(),
            Taken::Excluded { item } => format!(
                "groups.exclude leaves it out{}",
                item.map_or_else(String::new, |item| format!(" ({item})"))
            ),
            _ if flow.state != FlowState::Active => format!("the flow is {}", flow.state),
            _ if facts.commits.is_empty() => "it has no commit".to_owned(),
            _ => "the topics that it reads are not copied".to_owned(),
        };
        findings.push(MirrorFindingLine {
            code: "group_not_translated",
            severity: "warning",
            flow: Some(flow.name.to_string()),
            place: Some(group.to_owned()),
            text,
            next: None,
        });
    }
    if findings.is_empty() {
        findings.push(MirrorFindingLine {
            code: "group_not_found",
            severity: "warning",
            flow: None,
            place: Some(group.to_owned()),
            text: "no cluster that is known here has a group of this name".to_owned(),
            next: Some("krescue mirror translate --all lists those that are translated".to_owned()),
        });
    }
    findings
}

fn show(report: &mut MirrorReport<'_>, flow: &Flow, all: &[Translation]) -> Result<(), CliError> {
    if report.is_json() {
        for translation in all {
            let line = TranslationLine::new(flow.name.to_string(), translation);
            report.line(&MirrorLine::Translation(line))?;
        }
        return Ok(());
    }
    if all.is_empty() {
        return Ok(());
    }
    writeln!(report.out)?;
    writeln!(
        report.out,
        "{}: what RemoteClusterUtils says after MirrorMaker 2's next pass",
        flow.name
    )?;
    let mut columns = Columns::new(&[
        ("GROUP", Align::Left),
        ("PARTITION", Align::Left),
        ("COMMIT", Align::Right),
        ("ON TARGET", Align::Left),
        ("POSITION", Align::Right),
        ("READ AGAIN", Align::Right),
        ("WHY", Align::Left),
    ]);
    for it in all {
        let again = match it.read_again {
            Some(0) => "0".to_owned(),
            Some(again) => format!("≤ {}", text::count(again)),
            None => UNKNOWN.to_owned(),
        };
        columns.row(vec![
            it.group.clone(),
            format!("{}-{}", it.topic, it.partition),
            text::offset(it.upstream),
            it.remote_topic
                .clone()
                .unwrap_or_else(|| UNKNOWN.to_owned()),
            it.downstream
                .map_or_else(|| "none".to_owned(), text::offset),
            again,
            why_words(it),
        ]);
    }
    Ok(columns.write(report.out)?)
}

/// Returns why a translation is what it is.
fn why_words(it: &Translation) -> String {
    match it.why {
        Why::Exact => "exact: a sync is at the commit".to_owned(),
        Why::BehindSync(pair) => format!(
            "right behind the sync {} → {}",
            text::offset(pair.upstream),
            text::offset(pair.downstream)
        ),
        Why::CheckpointStays => match &it.checkpoint {
            Some(checkpoint) => format!(
                "the checkpoint of commit {} stays: no better one follows",
                text::offset(checkpoint.upstream)
            ),
            None => "the checkpoint stays".to_owned(),
        },
        Why::TooOld => "every sync that is left is newer than the commit".to_owned(),
        Why::NoSync => "no sync of this partition".to_owned(),
        Why::SyncsUnknown => "the topic of offset syncs is not known here".to_owned(),
        Why::NotEmitted => "emit.checkpoints.enabled is false".to_owned(),
        Why::TakenOver => {
            "no sync of this partition: releases up to 3.2 write the commit as it is".to_owned()
        }
    }
}
