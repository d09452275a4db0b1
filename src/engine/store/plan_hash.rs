//! The hash that names a plan: what is confirmed is what is done.

use std::io::{self, BufWriter, Write};

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::plan::{
    CheckpointEntry, DirUndo, FileStamp, HandOver, LoweredCheckpoints, Mend, RecoveryPlan, Step,
    hex,
};
use crate::terms::KafkaVersion;

/// Bytes that are hashed at once.
const PIECE: usize = 64 << 10;

/// What the hash covers, in this order: a change of any of it is another plan.
#[derive(Serialize)]
struct Hashed<'a> {
    schema: u32,
    kafka_version: KafkaVersion,
    hand_over: HandOver,
    quarantine: Option<&'a std::path::Path>,
    #[serde(skip_serializing_if = "Option::is_none")]
    undoes: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    beside_broker: bool,
    log_dirs: Vec<HashedDir<'a>>,
}

#[derive(Serialize)]
struct HashedDir<'a> {
    path: &'a std::path::Path,
    hand_over: HandOver,
    recovery_points: Option<&'a [CheckpointEntry]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lowered: Option<&'a LoweredCheckpoints>,
    #[serde(skip_serializing_if = "Option::is_none")]
    log_starts: Option<&'a [CheckpointEntry]>,
    removes_marker: bool,
    stamps: &'a [FileStamp],
    partitions: Vec<HashedPartition<'a>>,
    #[serde(skip_serializing_if = "<[Mend]>::is_empty")]
    mends: &'a [Mend],
    #[serde(skip_serializing_if = "Option::is_none")]
    undo: Option<&'a DirUndo>,
}

#[derive(Serialize)]
struct HashedPartition<'a> {
    dir_name: &'a str,
    applied: bool,
    steps: &'a [Step],
    stamps: &'a [FileStamp],
}

/// Returns the SHA-256, in lower-case hex, of ordered steps, stamps, contents, version, hand-over and quarantine.
pub(in crate::engine) fn plan_hash(plan: &RecoveryPlan) -> String {
    let hashed = Hashed {
        schema: plan.schema,
        kafka_version: plan.kafka_version,
        hand_over: plan.hand_over,
        quarantine: plan.quarantine.as_deref(),
        undoes: plan.undoes.as_deref(),
        beside_broker: plan.beside_broker,
        log_dirs: plan.log_dirs.iter().map(hashed_dir).collect(),
    };
    // A plan is written in pieces of a few bytes each.
    let mut sink = BufWriter::with_capacity(PIECE, HashSink(Sha256::new()));
    let is_whole = serde_json::to_writer(&mut sink, &hashed).is_ok() && sink.flush().is_ok();
    let (HashSink(mut hash), rest) = sink.into_parts();
    if !is_whole {
        hash.update(rest.unwrap_or_default());
        // Only a path that is not UTF-8 fails to serialize; its debug form is as unique.
        hash.update(format!("{:?}", plan.log_dirs).as_bytes());
    }
    hex(&hash.finalize())
}

fn hashed_dir(dir: &crate::plan::LogDirPlan) -> HashedDir<'_> {
    let partitions = dir
        .partitions
        .iter()
        .map(|partition| HashedPartition {
            dir_name: &partition.dir_name,
            applied: partition.verdict.is_applied(),
            steps: &partition.steps,
            stamps: &partition.stamps,
        })
        .collect();
    HashedDir {
        path: &dir.path,
        hand_over: dir.hand_over,
        recovery_points: dir.recovery_points.as_deref(),
        lowered: dir.lowered.as_ref(),
        log_starts: dir.log_starts.as_deref(),
        removes_marker: dir.removes_marker,
        stamps: &dir.stamps,
        partitions,
        mends: &dir.mends,
        undo: dir.undo.as_ref(),
    }
}

struct HashSink(Sha256);

impl Write for HashSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
