//! The memory limit of a process' cgroup, of both versions.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A cgroup's memory.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Cgroup {
    /// Its path below the hierarchy's root.
    pub path: String,
    /// Its limit in bytes; `None` for none.
    pub memory_max: Option<u64>,
    /// What it uses now, in bytes.
    pub memory_now: Option<u64>,
    /// Processes in it that were killed for memory, since it exists.
    pub oom_kills: Option<u64>,
}

/// Returns the cgroup that `text` (`/proc/PID/cgroup`) names; `None` where its files cannot be read.
pub(super) fn cgroup_of(root: &Path, text: &str) -> Option<Cgroup> {
    let mut found = None;
    for line in text.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let inside = path.trim_start_matches('/');
        if controllers.split(',').any(|name| name == "memory") {
            let dir = root.join("sys/fs/cgroup/memory").join(inside);
            return read(
                &dir,
                path,
                [
                    "memory.limit_in_bytes",
                    "memory.usage_in_bytes",
                    "memory.oom_control",
                ],
            );
        }
        if controllers.is_empty() {
            let unified = ["sys/fs/cgroup", "sys/fs/cgroup/unified"];
            found = unified.into_iter().find_map(|mount| {
                let dir = root.join(mount).join(inside);
                read(
                    &dir,
                    path,
                    ["memory.max", "memory.current", "memory.events"],
                )
            });
        }
    }
    found
}

fn read(dir: &Path, path: &str, [max, now, events]: [&str; 3]) -> Option<Cgroup> {
    let text = |name: &str| fs::read_to_string(PathBuf::from(dir).join(name)).ok();
    let number = |name: &str| text(name)?.trim().parse::<u64>().ok();
    let memory_now = number(now)?;
    let oom_kills = text(events).and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        line?.trim().parse().ok()
    });
    Some(Cgroup {
        path: path.to_owned(),
        // Version 1 spells "no limit" as the largest number of pages.
        memory_max: number(max).filter(|max| *max < 1 << 62),
        memory_now: Some(memory_now),
        oom_kills,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_tell_limit_use_and_kills() {
        let tmp = tempfile::tempdir().unwrap();
        let file = |path: &str, text: &str| {
            let path = tmp.path().join("sys/fs/cgroup").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        file("kubepods/pod1/memory.max", "2147483648\n");
        file("kubepods/pod1/memory.current", "1000\n");
        file("kubepods/pod1/memory.events", "low 0\noom 3\noom_kill 2\n");
        let two = cgroup_of(tmp.path(), "0::/kubepods/pod1\n").unwrap();
        assert_eq!((two.memory_max, two.oom_kills), (Some(2 << 30), Some(2)));
        file(
            "memory/docker/1/memory.limit_in_bytes",
            "9223372036854771712\n",
        );
        file("memory/docker/1/memory.usage_in_bytes", "7\n");
        let one = cgroup_of(tmp.path(), "4:memory:/docker/1\n0::/\n").unwrap();
        assert_eq!(
            (one.memory_max, one.memory_now, one.oom_kills),
            (None, Some(7), None)
        );
        assert_eq!(cgroup_of(tmp.path(), "0::/elsewhere\n"), None);
    }
}
