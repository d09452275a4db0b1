//! How much of each volume was in use at earlier looks: JSON lines in `STATE/volumes.jsonl`, bounded.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::disk::{DiskAction, DiskError};
use crate::engine::store::plan_store::{create_dirs, write_synced};
use crate::plan::volumes::{UsedSample, WINDOWS_MS};
use crate::terms::Timestamp;

const FILE: &str = "volumes.jsonl";
/// A volume is written down at most this often, in ms.
const LEAST_APART_MS: i64 = 60_000;
/// The file is thinned once it is longer: a day's samples of 40 volumes at one a minute.
const MAX_LEN: usize = 8 << 20;

/// Returns the samples of a state dir, oldest first; lines that cannot be read are left out.
pub fn volume_samples(state_dir: &Path) -> Vec<UsedSample> {
    let Ok(text) = std::fs::read(state_dir.join(FILE)) else {
        return Vec::new();
    };
    text.split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect()
}

/// Writes samples down, unless the last of their volume is young; `known` are those of [`volume_samples`].
pub fn keep_volume_samples(
    state_dir: &Path,
    known: &[UsedSample],
    new: &[UsedSample],
) -> Result<(), DiskError> {
    let is_due = |sample: &&UsedSample| {
        let of_volume = known.iter().filter(|old| old.volume == sample.volume);
        let last = of_volume.map(|old| old.at).max();
        last.is_none_or(|last| sample.at.0.saturating_sub(last.0) >= LEAST_APART_MS)
    };
    let due: Vec<&UsedSample> = new.iter().filter(is_due).collect();
    if due.is_empty() {
        return Ok(());
    }
    create_dirs(state_dir)?;
    let path = state_dir.join(FILE);
    let long = std::fs::metadata(&path).is_ok_and(|metadata| metadata.len() > MAX_LEN as u64);
    if long {
        let now = due
            .iter()
            .map(|sample| sample.at)
            .max()
            .unwrap_or(Timestamp(0));
        let oldest = now.0.saturating_sub(WINDOWS_MS[1].saturating_mul(2));
        let kept = known.iter().filter(|sample| sample.at.0 >= oldest);
        let text: Vec<u8> = kept.chain(due).flat_map(line).collect();
        let beside = state_dir.join(format!("{FILE}.tmp"));
        write_synced(&beside, &text)?;
        return std::fs::rename(&beside, &path).map_err(DiskError::of(DiskAction::Rename, &beside));
    }
    let text: Vec<u8> = due.into_iter().flat_map(line).collect();
    let mut file = File::options()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(&path)
        .map_err(DiskError::of(DiskAction::Create, &path))?;
    file.write_all(&text)
        .map_err(DiskError::of(DiskAction::Write, &path))
}

fn line(sample: &UsedSample) -> Vec<u8> {
    let mut text = serde_json::to_vec(sample).unwrap_or_default();
    text.push(b'\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_is_written_down_once_a_minute_and_torn_lines_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let sample = |at, volume: &str| UsedSample {
            at: Timestamp(at),
            volume: volume.to_owned(),
            used: 7,
        };
        let keep = |new: &[UsedSample]| {
            keep_volume_samples(dir.path(), &volume_samples(dir.path()), new).unwrap();
        };
        keep(&[sample(0, "a"), sample(0, "b")]);
        keep(&[sample(59_999, "a"), sample(60_000, "b")]);
        let mut file = File::options()
            .append(true)
            .open(dir.path().join(FILE))
            .unwrap();
        file.write_all(b"{\"at\":").unwrap();
        assert_eq!(
            volume_samples(dir.path()),
            [sample(0, "a"), sample(0, "b"), sample(60_000, "b")]
        );
    }
}
