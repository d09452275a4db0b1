//! Damage to producer snapshots, leader epochs and the partition's entries in the checkpoints.

use std::fs;

use super::{Kind, Victim, name, number};
use crate::support::random::Random;

pub(crate) const KINDS: &[Kind] = &[
    ("snapshot-missing", snapshot_missing),
    ("snapshots-all-missing", snapshots_all_missing),
    ("snapshot-emptied", snapshot_emptied),
    ("snapshot-corrupt", snapshot_corrupt),
    ("snapshot-cut", snapshot_cut),
    ("snapshot-extra", snapshot_extra),
    ("epochs-missing", epochs_missing),
    ("epochs-emptied", epochs_emptied),
    ("epochs-stale", epochs_stale),
    ("epochs-beyond-end", epochs_beyond_end),
    ("recovery-point-missing", point_missing),
    ("recovery-point-zero", point_zero),
    ("recovery-point-inside", point_inside),
    ("recovery-point-at-end", point_at_end),
    ("recovery-point-beyond-end", point_beyond_end),
    ("log-start-inside", start_inside),
    ("log-start-at-end", start_at_end),
    ("log-start-beyond-end", start_beyond_end),
];

pub(crate) const FORGED: &[Kind] = &[
    ("epochs-malformed", epochs_malformed),
    ("epochs-high", epochs_high),
];

fn any_snapshot(victim: &Victim, random: &mut Random) -> Option<String> {
    let bases = victim.bases("snapshot");
    bases.get(random.below(bases.len().max(1))).cloned()
}

fn snapshot_missing(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let base = any_snapshot(victim, random)?;
    fs::remove_file(victim.file(&base, "snapshot")).unwrap();
    Some(base)
}

fn snapshots_all_missing(victim: &mut Victim, _: &mut Random) -> Option<String> {
    let bases = victim.bases("snapshot");
    for base in &bases {
        fs::remove_file(victim.file(base, "snapshot")).unwrap();
    }
    (!bases.is_empty()).then(|| format!("{} of them", bases.len()))
}

fn snapshot_emptied(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let base = any_snapshot(victim, random)?;
    fs::write(victim.file(&base, "snapshot"), "").unwrap();
    Some(base)
}

fn snapshot_corrupt(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let base = any_snapshot(victim, random)?;
    let path = victim.file(&base, "snapshot");
    let mut bytes = fs::read(&path).unwrap();
    let at = random.below(bytes.len().max(1));
    *bytes.get_mut(at)? ^= 1 << random.below(8);
    fs::write(path, bytes).unwrap();
    Some(format!("{base}, byte {at}"))
}

fn snapshot_cut(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let base = any_snapshot(victim, random)?;
    let path = victim.file(&base, "snapshot");
    let mut bytes = fs::read(&path).unwrap();
    bytes.truncate(random.below(bytes.len().max(1)));
    fs::write(path, &bytes).unwrap();
    Some(format!("{base} to {} bytes", bytes.len()))
}

fn snapshot_extra(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let base = any_snapshot(victim, random)?;
    let end = usize::try_from(victim.log_end()).unwrap();
    let offset = i64::try_from(random.between(0, end + 20)).unwrap();
    let bytes = fs::read(victim.file(&base, "snapshot")).unwrap();
    fs::write(victim.file(&name(offset), "snapshot"), bytes).unwrap();
    Some(format!("{base} again at {offset}"))
}

fn epochs(victim: &Victim) -> Vec<(i32, i64)> {
    let text = fs::read_to_string(victim.path.join("leader-epoch-checkpoint")).unwrap_or_default();
    let entry = |line: &str| {
        let (epoch, start) = line.split_once(' ')?;
        Some((epoch.parse().ok()?, start.parse().ok()?))
    };
    text.lines().skip(2).filter_map(entry).collect()
}

fn write_epochs(victim: &Victim, epochs: &[(i32, i64)]) -> String {
    let line = |(epoch, start): &(i32, i64)| {
        format!(
            "{epoch} {start}
"
        )
    };
    let lines = epochs.iter().map(line).collect::<Vec<_>>().concat();
    let text = format!("0\n{}\n{lines}", epochs.len());
    fs::write(victim.path.join("leader-epoch-checkpoint"), &text).unwrap();
    text.replace('\n', " / ")
}

fn epochs_missing(victim: &mut Victim, _: &mut Random) -> Option<String> {
    fs::remove_file(victim.path.join("leader-epoch-checkpoint")).ok()?;
    Some(String::new())
}

fn epochs_emptied(victim: &mut Victim, _: &mut Random) -> Option<String> {
    fs::write(victim.path.join("leader-epoch-checkpoint"), "").unwrap();
    Some(String::new())
}

fn epochs_stale(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let mut epochs = epochs(victim);
    let gone = random.between(1, epochs.len().max(1));
    epochs.truncate(epochs.len().checked_sub(gone)?);
    Some(write_epochs(victim, &epochs))
}

fn epochs_beyond_end(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let mut epochs = epochs(victim);
    let next =
        epochs.last().map_or(0, |last| last.0) + i32::try_from(random.between(1, 3)).unwrap();
    epochs.push((
        next,
        victim.log_end() + i64::try_from(random.below(50)).unwrap(),
    ));
    Some(write_epochs(victim, &epochs))
}

/// An epoch from the future inside the log hides those of its batches.
fn epochs_high(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let mut epochs = epochs(victim);
    let end = usize::try_from(victim.log_end()).unwrap();
    epochs.push((40, i64::try_from(random.between(0, end)).unwrap()));
    Some(write_epochs(victim, &epochs))
}

fn epochs_malformed(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let text = *random.pick(&[
        "0\n1\nx 0\n",
        "0\n2\n0 0\n",
        "1\n1\n0 0\n",
        "0\n1\n0\n",
        "0\n1\n-1 0\n",
        "junk\n",
        "0\n\n",
    ]);
    fs::write(victim.path.join("leader-epoch-checkpoint"), text).unwrap();
    Some(text.replace('\n', " / "))
}

fn set_point(victim: &mut Victim, point: Option<i64>) -> Option<String> {
    let before = std::mem::replace(&mut victim.recovery_point, point);
    Some(format!("{before:?} becomes {point:?}"))
}

fn point_missing(victim: &mut Victim, _: &mut Random) -> Option<String> {
    set_point(victim, None)
}

fn point_zero(victim: &mut Victim, _: &mut Random) -> Option<String> {
    set_point(victim, Some(0))
}

fn inside(victim: &Victim, random: &mut Random) -> i64 {
    let segments = victim.segments();
    if random.one_in(3) {
        return number(random.pick::<String>(&segments));
    }
    let begin = number(&segments[0]);
    let count = usize::try_from(victim.log_end() - begin).unwrap_or(0);
    begin + i64::try_from(random.between(0, count)).unwrap()
}

fn point_inside(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let point = inside(victim, random);
    set_point(victim, Some(point))
}

fn point_at_end(victim: &mut Victim, _: &mut Random) -> Option<String> {
    let end = victim.log_end();
    set_point(victim, Some(end))
}

fn point_beyond_end(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let point = victim.log_end() + i64::try_from(random.between(1, 500)).unwrap();
    set_point(victim, Some(point))
}

fn set_start(victim: &mut Victim, start: i64) -> Option<String> {
    let before = victim.log_start.replace(start);
    Some(format!("{before:?} becomes {start}"))
}

fn start_inside(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let start = inside(victim, random);
    set_start(victim, start)
}

fn start_at_end(victim: &mut Victim, _: &mut Random) -> Option<String> {
    let end = victim.log_end();
    set_start(victim, end)
}

fn start_beyond_end(victim: &mut Victim, random: &mut Random) -> Option<String> {
    let start = victim.log_end() + i64::try_from(random.between(1, 30)).unwrap();
    set_start(victim, start)
}
