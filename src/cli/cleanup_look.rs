//! What may go of a broker's log dirs, and what makes room without deleting anything.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use super::args::CleanupArgs;
use super::cleanup_mirrors::with_mirrors;
use super::leftover_proof::LeftoverJudge;
use super::target::{HostLogs, Presence, read_host_logs};
use super::{CliError, Context, Look, volumes_look};
use crate::app::text::{bytes, duration};
use crate::disk::{RealStorage, needless_files};
use crate::engine::{
    AskGroups, CleanupSpec, FactsRequest, MadeCleanup, read_group_commits, volume_facts,
};
use crate::log::{Finding, FindingCode, Severity};
use crate::mirror::{GROUPS_TOPIC, Thinning};
use crate::plan::Class;
use crate::plan::cleanup::{
    CleanupWish, FreeableLog, GroupCommits, OtherWay, Room, freeable, move_ways, past_retention,
    shorten_ways,
};
use crate::plan::retention::{LogRole, RetainedLog, plan_retention};
use crate::plan::volumes::{VolumeReport, VolumeRow};
use crate::terms::TopicPartition;

/// How far the clock may lie from the newest write before what it says of age is doubted.
const CLOCK_TRUSTED_MS: u64 = 3_600_000;

/// Which share of another volume stays free: one part of so many.
const KEPT_FREE: u64 = 20;

/// Space that is worth a line, in bytes.
const WORTH: u64 = 1 << 20;

/// Returns the log dirs on the volume of `on`; all of them where none is named.
pub(crate) fn dirs_of_volume(look: &Look, on: Option<&Path>) -> Result<Vec<PathBuf>, CliError> {
    let Some(on) = on else {
        return Ok(look.log_dirs.clone());
    };
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let named = look.log_dirs.iter().find(|dir| real(dir) == real(on));
    let Some(named) = named else {
        return Err(CliError::usage(format!(
            "{} is no log dir of this broker",
            on.display()
        )));
    };
    let device = device_of(named);
    let same = |dir: &&PathBuf| device.is_some() && device_of(dir) == device;
    Ok(look.log_dirs.iter().filter(same).cloned().collect())
}

fn device_of(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().map(|metadata| metadata.dev())
}

/// Returns the quarantine if it lies on a volume that is to become free.
pub(crate) fn shared_quarantine(spec: &CleanupSpec, on: &[PathBuf]) -> Option<PathBuf> {
    let dir = spec.quarantine.as_ref()?;
    let there = dir.ancestors().find(|path| path.exists())?;
    let device = device_of(there);
    on.iter()
        .any(|on| device_of(on) == device)
        .then(|| dir.clone())
}

/// Says whether nothing goes but what a boot removes anyway: that is not worth a copy which keeps its space.
pub(crate) fn only_leftovers(cleanup: &MadeCleanup) -> bool {
    matches!(cleanup.made.plan.class(), None | Some(Class::A))
}

fn wish(args: &CleanupArgs) -> CleanupWish {
    match (args.what.free, args.what.strays) {
        _ if args.what.past_retention.is_some() => CleanupWish::PastRetention,
        (Some(bytes), _) => CleanupWish::Free(bytes),
        (None, true) => CleanupWish::Strays,
        (None, false) => CleanupWish::Leftovers,
    }
}

/// What a cleanup is asked for, and from what.
pub(crate) struct CleanupAsked {
    /// What it is planned with.
    pub(crate) spec: CleanupSpec,
    /// What is doubtful about it, a sentence each.
    pub(crate) doubts: Vec<String>,
    /// The host's logs as they were read; empty where only leftovers are meant.
    pub(crate) logs: Vec<RetainedLog>,
}

/// Returns what a cleanup is planned with.
pub(crate) fn cleanup_asked(
    context: &Context,
    args: &CleanupArgs,
    look: &Look,
    on: &[PathBuf],
) -> Result<CleanupAsked, CliError> {
    let mut doubts = Vec::new();
    let mut read = Vec::new();
    let logs = match wish(args) {
        CleanupWish::Free(_) => {
            read = read_host_logs(context, look, None, &|| true)?.host.logs;
            freeable_logs(context, &read, on)
        }
        CleanupWish::PastRetention => {
            let host = read_host_logs(context, look, None, &|| true)?;
            let (logs, why) = past_retention_logs(context, args, &host)?;
            doubts.extend(why);
            read = host.host.logs;
            logs
        }
        CleanupWish::Leftovers | CleanupWish::Strays => Vec::new(),
    };
    let may_read = look.presence == Presence::Down || args.beside_broker;
    let (logs, more) = with_mirrors(context, look, logs, may_read);
    doubts.extend(more);
    let judge = LeftoverJudge::of(look);
    let spec = CleanupSpec {
        log_dirs: if args.beside_broker {
            on.to_vec()
        } else {
            look.log_dirs.clone()
        },
        on: on.to_vec(),
        wish: wish(args),
        only: None,
        logs,
        kafka_version: look.version.version,
        version_source: look.version.source.clone(),
        now: context.now,
        quarantine: context.quarantine(&look.log_dirs)?,
        beside_broker: args.beside_broker,
        replicas: look.replicas(),
        proof: Arc::new(move |dir, name, topic_id| judge.proof(dir, name, topic_id)),
        groups: ask_groups(context, look, args.beside_broker),
    };
    Ok(CleanupAsked {
        spec,
        doubts,
        logs: read,
    })
}

/// Returns the question what groups have committed, which is answered once: beside a living broker only if krescue is to act
/// there.
fn ask_groups(context: &Context, look: &Look, beside_broker: bool) -> AskGroups {
    let image = look.topics.image.as_ref();
    let topic = image.and_then(|image| image.topic(GROUPS_TOPIC));
    let partitions = topic.and_then(|topic| i32::try_from(topic.partitions.len()).ok());
    let log_dirs = look.log_dirs.clone();
    let (host, now) = (context.host.clone(), context.now);
    let may_read = look.presence == Presence::Down || beside_broker;
    let answer = OnceLock::new();
    Arc::new(move || {
        let read = || {
            if !may_read {
                return GroupCommits {
                    partitions,
                    unread: vec!["a broker runs, and its batches are not read".to_owned()],
                    ..GroupCommits::default()
                };
            }
            let request = FactsRequest {
                log_dirs: &log_dirs,
                host: &host,
                now,
                thinning: Thinning::default(),
                counter: &AtomicU64::new(0),
            };
            read_group_commits(&RealStorage, request, partitions)
        };
        answer.get_or_init(read).clone()
    })
}

/// Returns what else makes room on the volume of `on`: a topic's shorter retention, a move to another volume.
pub(crate) fn other_ways(
    context: &Context,
    look: &Look,
    (asked, made): (&CleanupAsked, &MadeCleanup),
    target: u64,
) -> Vec<OtherWay> {
    let spec = &asked.spec;
    let mut ways = shorten_ways(&asked.logs, &spec.on, context.now, target);
    let facts = volume_facts(&look.log_dirs);
    let here = facts.iter().find(|facts| spec.on.contains(&facts.dir));
    let here = here.and_then(|facts| facts.volume.clone());
    let others = facts
        .iter()
        .filter(|facts| facts.volume.is_some() && facts.volume != here && here.is_some());
    let rooms: Vec<Room> = others
        .filter_map(|facts| {
            let space = facts.space?;
            Some(Room {
                dir: facts.dir.clone(),
                bytes: space.free.saturating_sub(space.total / KEPT_FREE),
            })
        })
        .collect();
    let class = |partition: &TopicPartition| {
        let evidence = (spec.replicas)(partition)?;
        Some(match evidence.others_in_words() {
            Some(_) => Class::B,
            None => Class::C,
        })
    };
    ways.extend(move_ways(&made.partitions, &rooms, target, class));
    ways
}

/// Returns the logs from whose start segments could go.
fn freeable_logs(context: &Context, logs: &[RetainedLog], on: &[PathBuf]) -> Vec<FreeableLog> {
    logs.iter()
        .filter(|log| on.contains(&log.facts.log_dir))
        .filter_map(|log| {
            let judged = plan_retention(&log.facts, &log.limits, context.now);
            freeable(&log.facts, &log.limits, &judged)
        })
        .collect()
}

/// Returns the segments that retention deletes at the next pass, of the topics that were named.
fn past_retention_logs(
    context: &Context,
    args: &CleanupArgs,
    read: &HostLogs,
) -> Result<(Vec<FreeableLog>, Option<String>), CliError> {
    let topics = args.what.past_retention.as_deref().unwrap_or_default();
    let logs = read.host.logs.iter();
    let topics_here: BTreeSet<&str> = logs
        .map(|log| log.facts.topic_partition.topic.as_str())
        .collect();
    // A topic's name may look like a partition's, and counts first.
    let is_named = |name: &String, partition: &TopicPartition| {
        if topics_here.contains(name.as_str()) {
            partition.topic == *name
        } else {
            partition.to_string() == *name
        }
    };
    let lies_here = |name: &String| {
        let mut logs = read.host.logs.iter();
        logs.any(|log| is_named(name, &log.facts.topic_partition))
    };
    if let Some(missing) = topics.iter().find(|topic| !lies_here(topic)) {
        return Err(
            CliError::usage(format!("no log dir holds {missing}, or a partition of it"))
                .hint("krescue segments lists the topics there are."),
        );
    }
    let doubt = clock_in_doubt(context, read);
    let certain = args.what_if.is_none() && doubt.is_none();
    let wish = args.what_if.unwrap_or_default();
    let logs = read
        .host
        .logs
        .iter()
        .filter(|log| {
            let partition = &log.facts.topic_partition;
            topics.is_empty() || topics.iter().any(|name| is_named(name, partition))
        })
        .filter(|log| log.facts.role == LogRole::Current)
        .filter_map(|log| {
            let limits = log.limits.what_if(wish);
            let judged = plan_retention(&log.facts, &limits, context.now);
            past_retention(&log.facts, &judged, certain)
        })
        .collect();
    Ok((logs, doubt))
}

/// Says why the clock or the data may be wrong: the last write lies far from it.
fn clock_in_doubt(context: &Context, read: &HostLogs) -> Option<String> {
    let away = read.newest_write.map(|at| context.now.0.abs_diff(at.0));
    if away.is_some_and(|away| away <= CLOCK_TRUSTED_MS) {
        return None;
    }
    let away = away.map_or_else(|| "?".to_owned(), |away| duration(away / 1000));
    Some(format!(
        "the clock lies {away} from the last write in these log dirs: what is past retention by it counts as good records \
         (class C), and stays where no metadata says who else has it"
    ))
}

/// Returns space that costs no data on the volume of `on`, or on all, with its command; none is run.
pub(crate) fn costless(
    context: &Context,
    look: &Look,
    on: Option<&Path>,
) -> Vec<(PathBuf, Finding)> {
    let facts = volumes_look::volumes_of(look, None);
    let report = VolumeReport::of(facts, &[], context.now, 100);
    let is_meant = |row: &&VolumeRow| {
        on.is_none_or(|on| on.canonicalize().ok() == row.facts.dir.canonicalize().ok())
    };
    let rows = report.rows.iter().filter(is_meant);
    rows.flat_map(|row| {
        let found = free_of_cost(row).into_iter();
        found.map(|finding| (row.facts.dir.clone(), finding))
    })
    .collect()
}

fn free_of_cost(row: &VolumeRow) -> Vec<Finding> {
    let advice = |text: String, next: String| {
        Finding::new(FindingCode::Volume, Severity::Routine, text).next(next)
    };
    let facts = &row.facts;
    let (source, fs) = (
        facts.source.clone().unwrap_or_default(),
        facts.fs_type.as_deref().unwrap_or_default(),
    );
    let mount = facts.mount_point.clone().unwrap_or_default();
    let mut found = Vec::new();
    if let Some(space) = facts.space
        && fs.starts_with("ext")
        && space.reserved() > 0
    {
        found.push(advice(
            format!(
                "{} are reserved for root and cost nothing",
                bytes(space.reserved())
            ),
            format!("tune2fs -m 0 {source}"),
        ));
    }
    if let Some(growable) = VolumeReport::growable(row) {
        let command = match fs {
            "xfs" => format!("xfs_growfs {}", mount.display()),
            "btrfs" => format!("btrfs filesystem resize max {}", mount.display()),
            _ => format!("resize2fs {source}"),
        };
        found.push(advice(
            format!(
                "the device is {} larger than its file system",
                bytes(growable)
            ),
            command,
        ));
    }
    if fs == "tmpfs" {
        found.push(advice(
            "a tmpfs can be made larger while it is mounted".to_owned(),
            format!("mount -o remount,size=SIZE {}", mount.display()),
        ));
    }
    for held in facts.held.iter().filter(|held| held.allocated >= WORTH) {
        found.push(advice(
            format!(
                "{} are deleted and still held by process {} ({})",
                bytes(held.allocated),
                held.pid,
                held.command
            ),
            "let that process close its files, or restart it".to_owned(),
        ));
    }
    for (path, allocated) in needless_files(&mount, &facts.dir) {
        found.push(advice(
            format!(
                "{} of {} are a dump or an old log",
                bytes(allocated),
                path.display()
            ),
            format!("rm {}", path.display()),
        ));
    }
    found
}
