//! What makes a 4.x boot destroy data: it empties the segment in whose recovery it meets any I/O error.

use super::dir_facts::DirFacts;
use crate::disk::{EntryKind, FileStat, Listed, VolumeSpace};
use crate::engine::planning::log_target::LogTarget;
use crate::format::file_name::META_PROPERTIES;
use crate::log::{Finding, FindingCode, Severity};

/// New files of one log's recovery: two snapshots and a checkpoint.
const FILES_PER_LOG: u64 = 3;

/// The user who will boot, judged by the owner of `meta.properties`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) struct BrokerUser {
    uid: u32,
    gid: u32,
}

impl BrokerUser {
    /// Takes the owner of a log dir's `meta.properties`; `None` without one, or for root, who may do anything.
    pub(in crate::engine) fn of(facts: &DirFacts) -> Option<Self> {
        let stat = facts.listing.file(META_PROPERTIES)?;
        (stat.uid != 0).then_some(Self {
            uid: stat.uid,
            gid: stat.gid,
        })
    }

    /// Says whether the user may read and write the file, or list and change the dir. Further groups are not known.
    fn may_change(self, stat: &FileStat) -> bool {
        let wanted = if stat.kind == EntryKind::Dir {
            0o7
        } else {
            0o6
        };
        let shift = if stat.uid == self.uid {
            6
        } else if stat.gid == self.gid {
            3
        } else {
            0
        };
        (stat.mode >> shift) & wanted == wanted
    }

    /// Returns the first name in a partition dir that the user cannot change; the dir's own is `.`.
    pub(in crate::engine) fn first_refused(
        self,
        dir: Option<&FileStat>,
        listed: &[Listed],
    ) -> Option<String> {
        if dir.is_some_and(|stat| !self.may_change(stat)) {
            return Some(".".to_owned());
        }
        listed
            .iter()
            .filter(|entry| entry.stat.kind == EntryKind::File)
            .find(|entry| !self.may_change(&entry.stat))
            .map(|entry| entry.name.clone())
    }
}

/// Returns what a boot of this log dir would trip over.
pub(in crate::engine) fn boot_risks(facts: &DirFacts, targets: &[&LogTarget]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let refused: Vec<String> = targets
        .iter()
        .filter_map(|target| Some(format!("{}/{}", target.dir_name, target.refused.as_ref()?)))
        .collect();
    if let Some(first) = refused.first() {
        findings.push(
            Finding::new(
                FindingCode::LogDir,
                Severity::Fatal,
                format!(
                    "{} logs have files that the owner of meta.properties cannot change: a 3.x broker takes the dir \
                     offline, a 4.x broker empties segments",
                    refused.len()
                ),
            )
            .file(first.clone())
            .next("give them to the broker's user with chown before a boot"),
        );
    }
    findings.extend(space_risk(facts, targets.len() as u64));
    findings
}

fn space_risk(facts: &DirFacts, logs: u64) -> Option<Finding> {
    let space = VolumeSpace::of(&facts.path).ok()?;
    let files = logs * FILES_PER_LOG;
    let bytes = files * space.block;
    let what = if space.free < bytes {
        format!(
            "{} bytes are free and a boot writes up to {bytes}",
            space.free
        )
    } else if space.free_inodes.is_some_and(|free| free < files) {
        let free = space.free_inodes.unwrap_or(0);
        format!("{free} inodes are free and a boot takes up to {files}")
    } else {
        return None;
    };
    Some(
        Finding::new(
            FindingCode::LogDir,
            Severity::Fatal,
            format!("{what}: on a full volume the broker dies or, from 4.0 on, empties segments"),
        )
        .next("free space before a boot"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(kind: EntryKind, uid: u32, gid: u32, mode: u32) -> FileStat {
        FileStat {
            kind,
            len: 0,
            allocated: 0,
            inode: 1,
            device: 1,
            mtime_ns: 0,
            changed_ns: 0,
            uid,
            gid,
            mode,
        }
    }

    #[test]
    fn a_file_of_root_in_a_brokers_dir_is_refused_to_it() {
        let user = BrokerUser { uid: 100, gid: 200 };
        let own = stat(EntryKind::Dir, 100, 200, 0o755);
        let listed = |uid, gid, mode| {
            [Listed {
                name: "0.log".to_owned(),
                is_utf8: true,
                stat: stat(EntryKind::File, uid, gid, mode),
            }]
        };
        let refused = |dir: &FileStat, files: &[Listed]| user.first_refused(Some(dir), files);
        assert_eq!(refused(&own, &listed(100, 200, 0o644)), None);
        assert_eq!(refused(&own, &listed(0, 200, 0o664)), None);
        assert_eq!(refused(&own, &listed(0, 0, 0o666)), None);
        let named = Some("0.log".to_owned());
        assert_eq!(refused(&own, &listed(0, 0, 0o644)), named);
        assert_eq!(refused(&own, &listed(100, 200, 0o444)), named);
        let foreign = stat(EntryKind::Dir, 0, 0, 0o755);
        assert_eq!(
            refused(&foreign, &listed(100, 200, 0o644)),
            Some(".".to_owned())
        );
    }
}
