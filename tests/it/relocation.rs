//! A partition that goes to another log dir: killed behind each change, it lies whole in its old or in its new place, and a
//! rerun ends the move.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use krescue::disk::RealStorage;
use krescue::engine::{JobOutcome, PlanStore, RelocationSpec, StoredPlan, make_relocation};
use krescue::plan::{Class, Verdict};
use krescue::terms::{KafkaVersion, Timestamp, TopicPartition};

use crate::support::apply::{alone, apply, contents, copy_tree};
use crate::support::faults::{Call, Fault, FaultyStorage};
use crate::support::fixture::Tree;
use crate::support::storage::StoppingStorage;
use crate::support::volumes::on_another_volume;

/// The clock of all plans here.
pub(crate) const NOW: Timestamp = Timestamp(1_700_000_100_000);

/// Log dirs `d1` and `d2`; where they are apart `d2` is a link to another file system.
pub(crate) struct Host {
    home: tempfile::TempDir,
    other: tempfile::TempDir,
}

impl Host {
    /// `t-0` and `v-0` in `d1`, `u-0` in `d2`, each with lines in the checkpoints; both killed unless `clean`. `None`
    /// where there is no other file system.
    pub(crate) fn new(apart: bool, clean: [bool; 2]) -> Option<Self> {
        let home = on_another_volume()?;
        let other = tempfile::tempdir().unwrap();
        let device = |path: &Path| std::fs::metadata(path).unwrap().dev();
        assert_ne!(device(home.path()), device(other.path()));
        let tree = Tree::t4();
        tree.add_partition("d1", "v-0", 2);
        tree.add_log_dir("d2", 2);
        tree.add_partition("d2", "u-0", 2);
        for (dir, lines) in [("d1", "t 0 4000\nv 0 2000"), ("d2", "u 0 2000")] {
            let count = lines.lines().count();
            for name in ["recovery-point", "replication", "log-start"] {
                let lines = if name == "log-start" {
                    lines.replace(" 4000", " 1500")
                } else {
                    lines.to_owned()
                };
                let text = format!("0\n{count}\n{lines}\n");
                tree.write(&format!("{dir}/{name}-offset-checkpoint"), &text);
            }
        }
        for (dir, clean) in ["d1", "d2"].into_iter().zip(clean) {
            if clean {
                tree.write(&format!("{dir}/.kafka_cleanshutdown"), "");
            }
        }
        copy_tree(&tree.path("d1"), &home.path().join("d1"));
        if apart {
            copy_tree(&tree.path("d2"), &other.path().join("d2"));
            std::os::unix::fs::symlink(other.path().join("d2"), home.path().join("d2")).unwrap();
        } else {
            copy_tree(&tree.path("d2"), &home.path().join("d2"));
        }
        Some(Self { home, other })
    }

    /// Returns another host with the same files and times.
    fn copy(&self) -> Self {
        let home = tempfile::tempdir_in(self.root().parent().unwrap()).unwrap();
        let other = tempfile::tempdir().unwrap();
        copy_tree(&self.path("d1"), &home.path().join("d1"));
        if self.path("d2").is_symlink() {
            copy_tree(&self.other.path().join("d2"), &other.path().join("d2"));
            std::os::unix::fs::symlink(other.path().join("d2"), home.path().join("d2")).unwrap();
        } else {
            copy_tree(&self.path("d2"), &home.path().join("d2"));
        }
        if self.path("state").exists() {
            copy_tree(&self.path("state"), &home.path().join("state"));
        }
        Self { home, other }
    }

    pub(crate) fn root(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Plans that `t-0` goes to `d2`; no other replica is in sync.
    pub(crate) fn plan(&self) -> StoredPlan {
        let spec = RelocationSpec {
            log_dirs: vec![self.path("d1"), self.path("d2")],
            partition: TopicPartition::new("t", 0),
            to: self.path("d2"),
            kafka_version: KafkaVersion::NEWEST_KNOWN,
            version_source: "a test".to_owned(),
            now: NOW,
            replicas: Arc::new(|_| Some(alone(NOW))),
        };
        let made = make_relocation(&RealStorage, &spec).unwrap();
        PlanStore::new(&self.path("state")).save(made).unwrap()
    }

    fn apply(&self, plan: &StoredPlan) -> JobOutcome {
        apply(&StoppingStorage::never(), &self.path("state"), plan)
    }

    fn all(&self) -> [BTreeMap<PathBuf, Vec<u8>>; 2] {
        ["d1", "d2"].map(|dir| contents(&self.path(dir)))
    }

    fn log(&self, dir: &str) -> Option<BTreeMap<PathBuf, Vec<u8>>> {
        let place = self.path(dir).join("t-0");
        place.is_dir().then(|| contents(&place))
    }
}

fn line(text: &[u8], partition: &str) -> Option<i64> {
    let text = std::str::from_utf8(text).unwrap();
    let start = format!("{partition} ");
    let found = text.lines().find_map(|line| line.strip_prefix(&start))?;
    Some(found.parse().unwrap())
}

/// Checks that the host is where the move ends.
fn check_end(host: &Host, before: &[BTreeMap<PathBuf, Vec<u8>>; 2], what: &str) {
    assert_eq!(host.log("d1"), None, "{what}");
    let log = host.log("d2").unwrap();
    let old = before[0].iter().filter_map(|(path, bytes)| {
        let file = path.strip_prefix("t-0").ok()?;
        Some((file.to_owned(), bytes.clone()))
    });
    assert_eq!(log, old.collect::<BTreeMap<_, _>>(), "{what}");
    let [d1, d2] = host.all();
    for (name, offset) in [
        ("recovery-point-offset-checkpoint", 4000),
        ("replication-offset-checkpoint", 4000),
        ("log-start-offset-checkpoint", 1500),
    ] {
        let name = Path::new(name);
        assert_eq!(line(&d1[name], "t 0"), None, "{what}");
        assert_eq!(line(&d1[name], "v 0"), Some(2000), "{what}");
        assert_eq!(line(&d2[name], "t 0"), Some(offset), "{what}");
        assert_eq!(line(&d2[name], "u 0"), Some(2000), "{what}");
    }
    let others = |dir: &BTreeMap<PathBuf, Vec<u8>>, name: &str| -> BTreeMap<PathBuf, Vec<u8>> {
        let of_it = dir.iter().filter(|(path, _)| path.starts_with(name));
        of_it
            .map(|(path, bytes)| (path.clone(), bytes.clone()))
            .collect()
    };
    assert_eq!(others(&d1, "v-0"), others(&before[0], "v-0"), "{what}");
    assert_eq!(others(&d2, "u-0"), others(&before[1], "u-0"), "{what}");
}

#[test]
fn a_kill_behind_each_change_leaves_the_log_whole_and_a_rerun_ends_the_move() {
    for apart in [true, false] {
        let Some(first) = Host::new(apart, [true, true]) else {
            return;
        };
        let before = first.all();
        let old = first.log("d1").unwrap();
        let whole = first.copy();
        let plan = whole.plan();
        let storage = StoppingStorage::never();
        assert_eq!(
            apply(&storage, &whole.path("state"), &plan),
            JobOutcome::Done
        );
        check_end(&whole, &before, "whole");
        let changes = storage.changes();
        assert!(changes > if apart { 60 } else { 10 }, "{changes}");
        let mut twice = 0;
        for stop in 0..changes {
            let host = first.copy();
            let plan = host.plan();
            let storage = StoppingStorage::in_the_middle_after(stop);
            let outcome = apply(&storage, &host.path("state"), &plan);
            let what = format!("apart {apart}, killed behind {stop}: {outcome:?}");
            assert!(!matches!(outcome, JobOutcome::Done), "{what}");
            let places: Vec<_> = ["d1", "d2"]
                .into_iter()
                .filter_map(|dir| host.log(dir))
                .collect();
            assert!(!places.is_empty(), "{what}: the log is in no place");
            assert!(
                places.iter().all(|log| *log == old),
                "{what}: a log is not whole"
            );
            twice += usize::from(places.len() == 2);
            // A rerun of the plan, and a plan made anew.
            let again = (stop % 3 == 0 || places.len() == 2).then(|| host.copy());
            assert_eq!(host.apply(&plan), JobOutcome::Done, "{what}");
            check_end(&host, &before, &what);
            let Some(again) = again else { continue };
            let made = again.plan();
            if made.plan.class().is_some() {
                assert_eq!(again.apply(&made), JobOutcome::Done, "{what}, anew");
            }
            assert_eq!(again.log("d1"), None, "{what}, anew");
            assert_eq!(again.log("d2").as_ref(), Some(&old), "{what}, anew");
        }
        // Where it is copied there is one moment in which it lies in both; renamed it never does.
        assert_eq!(twice > 0, apart);
    }
}

#[test]
fn a_copy_is_as_sparse_as_its_source_and_has_its_mode_and_time() {
    let Some(host) = Host::new(true, [true, true]) else {
        return;
    };
    let source = host.path("d1/t-0");
    std::fs::set_permissions(&source, std::fs::Permissions::from_mode(0o750)).unwrap();
    // A time index as a killed broker leaves it.
    let index = source.join("00000000000000003000.timeindex");
    let index = std::fs::File::options().write(true).open(index).unwrap();
    index.set_len(10 << 20).unwrap();
    let log = source.join("00000000000000001000.log");
    std::fs::set_permissions(&log, std::fs::Permissions::from_mode(0o640)).unwrap();
    let looks = |dir: &Path| -> BTreeMap<String, (u32, u32, u32, i64, i64)> {
        let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
        let look = entries.map(|entry| {
            let of = entry.metadata().unwrap();
            let name = entry.file_name().into_string().unwrap();
            (
                name,
                (of.mode(), of.uid(), of.gid(), of.mtime(), of.mtime_nsec()),
            )
        });
        look.collect()
    };
    let (before, mode) = (looks(&source), std::fs::metadata(&source).unwrap().mode());
    let plan = host.plan();
    assert_eq!(host.apply(&plan), JobOutcome::Done);
    let target = host.path("d2/t-0");
    assert_eq!(looks(&target), before);
    assert_eq!(std::fs::metadata(&target).unwrap().mode(), mode);
    let index = std::fs::metadata(target.join("00000000000000003000.timeindex")).unwrap();
    assert_eq!(index.len(), 10 << 20);
    assert!(index.blocks() * 512 < 1 << 17, "{} blocks", index.blocks());
}

#[test]
fn a_disk_that_returns_other_bytes_than_were_written_costs_the_copy_and_not_the_source() {
    let Some(host) = Host::new(true, [true, true]) else {
        return;
    };
    let before = host.all();
    let plan = host.plan();
    let storage = FaultyStorage::new(|call: &Call| {
        let is_copy = call
            .path
            .to_string_lossy()
            .ends_with("2000.log.krescue.tmp");
        if is_copy {
            Fault::Lies(70_000)
        } else {
            Fault::None
        }
    });
    let outcome = apply(&storage, &host.path("state"), &plan);
    let JobOutcome::Failed { cause } = outcome else {
        panic!("{outcome:?}")
    };
    assert!(cause.contains("does not hold what was copied"), "{cause}");
    assert_eq!(host.all()[0], before[0]);
    assert_eq!(host.log("d2"), None);
    assert_eq!(host.apply(&plan), JobOutcome::Done);
    check_end(&host, &before, "behind it");
}

#[test]
fn an_unclean_log_in_a_clean_dir_takes_its_marker() {
    for (clean, gone) in [
        ([false, true], true),
        ([true, true], false),
        ([true, false], false),
    ] {
        let Some(host) = Host::new(true, clean) else {
            return;
        };
        let plan = host.plan();
        assert_eq!(plan.plan.class(), Some(Class::C));
        assert_eq!(host.apply(&plan), JobOutcome::Done);
        let marker = |dir: &str| host.path(dir).join(".kafka_cleanshutdown").exists();
        assert_eq!(marker("d1"), clean[0]);
        assert_eq!(marker("d2"), clean[1] && !gone);
    }
}

#[test]
fn what_stands_in_the_way_is_refused_by_name() {
    type Spoil = fn(&Host);
    let cases: [(Spoil, &str); 6] = [
        (
            |host| std::fs::write(host.path("d1/t-0/00000000000000005000.log.swap"), "x").unwrap(),
            "recover the log first",
        ),
        (
            |host| std::fs::create_dir(host.path("d1/t-0/strange")).unwrap(),
            "no plain file",
        ),
        (
            |host| std::fs::create_dir(host.path("d2/t-0")).unwrap(),
            "which is not the log",
        ),
        (
            |host| std::fs::create_dir(host.path("d2/t-0.0123-future")).unwrap(),
            "-future dir",
        ),
        (
            |host| std::fs::write(host.path("d2/cleaner-offset-checkpoint"), "0\n9\n").unwrap(),
            "cleaner-offset-checkpoint",
        ),
        (
            |host| {
                let elsewhere = host.path("elsewhere");
                std::fs::rename(host.path("d1/t-0"), &elsewhere).unwrap();
                std::os::unix::fs::symlink(elsewhere, host.path("d1/t-0")).unwrap();
            },
            "is a link",
        ),
    ];
    for (spoil, want) in cases {
        let Some(host) = Host::new(true, [true, true]) else {
            return;
        };
        spoil(&host);
        let plan = host.plan();
        let refused = plan.plan.partitions().find_map(|log| match &log.verdict {
            Verdict::Refused { cause } => Some(cause.clone()),
            _ => None,
        });
        let refused = refused.unwrap_or_default();
        assert!(refused.contains(want), "{want}: {refused}");
    }
}
