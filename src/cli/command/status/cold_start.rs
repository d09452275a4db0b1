//! What hosts that are all down come to: the newest logs, the quorum, the order of boots.

use std::io::{self, Write};

use serde::Serialize;

use crate::app::text::{count, plural};
use crate::plan::{BootPlace, DownHost, NewestLog, QuorumOutlook, WholeCluster, plan_cold_start};

/// Partitions that are named; of more the number is told.
const NAMED: usize = 40;

/// One line.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum ColdLine<'a> {
    NewestLog(&'a NewestLog),
    QuorumOutlook(&'a QuorumOutlook),
    BootPlace(&'a BootPlace),
}

/// Tells what the hosts come to, as lines of JSON or for people; says whether nothing of it needs a look.
pub(super) fn tell(hosts: &[DownHost], json: bool, out: &mut dyn Write) -> io::Result<bool> {
    let cluster = plan_cold_start(hosts);
    if json {
        write_json(&cluster, out)?;
    } else {
        write_text(&cluster, out)?;
    }
    let differ = cluster.partitions.iter().any(|of| !of.behind.is_empty());
    let quorum = cluster.quorum.as_ref();
    let forms = quorum.is_none_or(|quorum| quorum.can_form != Some(false));
    Ok(forms && !differ)
}

fn write_json(cluster: &WholeCluster, out: &mut dyn Write) -> io::Result<()> {
    let partitions = cluster.partitions.iter().map(ColdLine::NewestLog);
    let quorum = cluster.quorum.iter().map(ColdLine::QuorumOutlook);
    let order = cluster.order.iter().map(ColdLine::BootPlace);
    for line in partitions.chain(quorum).chain(order) {
        serde_json::to_writer(&mut *out, &line)?;
        writeln!(out)?;
    }
    Ok(())
}

fn write_text(cluster: &WholeCluster, out: &mut dyn Write) -> io::Result<()> {
    let all = cluster.partitions.len() as u64;
    let differ = cluster.partitions.iter();
    let differ: Vec<&NewestLog> = differ.filter(|of| !of.behind.is_empty()).collect();
    writeln!(
        out,
        "{} on {} that are down: {} differ between them",
        plural(all, "partition", "partitions"),
        plural(cluster.order.len() as u64, "host", "hosts"),
        count(differ.len() as u64)
    )?;
    for of in differ.iter().take(NAMED) {
        writeln!(out, "  {}", newest_words(of))?;
    }
    if differ.len() > NAMED {
        writeln!(
            out,
            "  and {} more (--json names all)",
            differ.len() - NAMED
        )?;
    }
    if let Some(quorum) = &cluster.quorum {
        writeln!(out, "{}", quorum_words(quorum))?;
    }
    let order: Vec<String> = cluster.order.iter().map(name).collect();
    writeln!(out, "boot in this order: {}", order.join(", "))?;
    for place in cluster
        .order
        .iter()
        .filter(|place| !place.endangers.is_empty())
    {
        let named: Vec<&str> = place.endangers.iter().take(3).map(String::as_str).collect();
        writeln!(
            out,
            "  {} may then lead {} of which others have more, and cut it there: {}{}",
            name(place),
            plural(place.endangers.len() as u64, "partition", "partitions"),
            named.join(", "),
            if place.endangers.len() > named.len() {
                ", .."
            } else {
                ""
            }
        )?;
    }
    Ok(())
}

fn name(place: &BootPlace) -> String {
    let voter = if place.is_voter { ", a voter" } else { "" };
    format!("{} (broker {}{voter})", place.host, place.broker)
}

fn newest_words(of: &NewestLog) -> String {
    let behind = of.behind.iter().map(|behind| {
        let lacks = match behind.records {
            0 => format!("ends in epoch {}", behind.leader_epoch.0),
            records => format!("lacks {}", plural(records, "offset", "offsets")),
        };
        let may = if behind.may_lead {
            ", and may lead"
        } else {
            ""
        };
        format!("{} {lacks}{may}", behind.broker)
    });
    let behind: Vec<String> = behind.collect();
    let mut words = format!(
        "{}-{}: newest on {}, epoch {}, end {}; {}",
        of.topic,
        of.partition,
        ids(&of.newest_on),
        of.leader_epoch.0,
        crate::app::text::offset(of.log_end_offset),
        behind.join("; ")
    );
    if !of.not_told.is_empty() {
        words = format!("{words}; nobody told of {}, in sync too", ids(&of.not_told));
    }
    words
}

fn quorum_words(quorum: &QuorumOutlook) -> String {
    let outcome = match quorum.can_form {
        Some(true) => "they can elect a controller",
        Some(false) => "THEY CAN ELECT NOBODY: no broker serves before more voters are up",
        None => "the voters' hosts are not among these",
    };
    format!(
        "quorum: voters {} ({}); {} of them are here, {} are needed: {outcome}; newest metadata: epoch {}, end {}, on {}",
        ids(&quorum.voters),
        quorum.voters_source,
        ids(&quorum.present),
        quorum.needed,
        quorum.newest_epoch.0,
        crate::app::text::offset(quorum.newest_end),
        quorum
            .present
            .first()
            .map_or_else(|| "?".to_owned(), ToString::to_string)
    )
}

fn ids(ids: &[i32]) -> String {
    if ids.is_empty() {
        return "none".to_owned();
    }
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    ids.join(",")
}
