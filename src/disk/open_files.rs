//! Which processes have files of a log dir open for writing, as `/proc` tells.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a child of another process may take from its fork to its own program.
const BEFORE_EXEC: Duration = Duration::from_millis(100);

/// A process that may write to a log dir.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Writer {
    /// Its id.
    pub pid: u32,
    /// Its name (`java`).
    pub command: String,
    /// One of the files.
    pub file: PathBuf,
}

/// Returns the processes, but this one, that have a file below one of `dirs` open for writing.
///
/// Without privileges only those of the same user are seen.
pub fn writers_in(dirs: &[PathBuf]) -> Vec<Writer> {
    let real: Vec<PathBuf> = dirs
        .iter()
        .map(|dir| std::fs::canonicalize(dir).unwrap_or_else(|_| dir.clone()))
        .collect();
    std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| *pid != std::process::id())
        .filter_map(|pid| writer(pid, &real))
        .collect()
}

/// Returns the processes, but this one, that have any file below one of `dirs` open or mapped, for reading too.
///
/// Without privileges only those of the same user are seen.
pub fn users_in(dirs: &[PathBuf]) -> Vec<Writer> {
    let real: Vec<PathBuf> = dirs
        .iter()
        .map(|dir| std::fs::canonicalize(dir).unwrap_or_else(|_| dir.clone()))
        .collect();
    let inside = |path: &Path| real.iter().any(|dir| path.starts_with(dir));
    let user = |pid: u32| {
        let process = PathBuf::from(format!("/proc/{pid}"));
        let fds = std::fs::read_dir(process.join("fd")).into_iter().flatten();
        let open = fds
            .flatten()
            .filter_map(|fd| std::fs::read_link(fd.path()).ok())
            .find(|path| inside(path));
        let maps = || std::fs::read_to_string(process.join("maps")).unwrap_or_default();
        let mapped = || {
            maps().lines().find_map(|line| {
                let path = PathBuf::from(line.get(line.find('/')?..)?);
                inside(&path).then_some(path)
            })
        };
        let file = open.or_else(mapped)?;
        let command = std::fs::read_to_string(process.join("comm")).unwrap_or_default();
        (!is_about_to_exec(&process)).then(|| Writer {
            pid,
            command: command.trim_end().to_owned(),
            file,
        })
    };
    std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| *pid != std::process::id())
        .filter_map(user)
        .collect()
}

/// A file without a name that a process still holds: its bytes are free once the process closes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldFile {
    /// The process.
    pub pid: u32,
    /// Its name (`java`).
    pub command: String,
    /// The file's last name.
    pub file: PathBuf,
    /// Bytes that it takes on its volume.
    pub allocated: u64,
    /// The number of its device.
    pub device: u64,
}

/// Returns the deleted files that processes still hold on any of `devices`, each once, the largest first.
///
/// Without privileges only those of the same user are seen.
pub fn held_files(devices: &[u64]) -> Vec<HeldFile> {
    let mut seen = std::collections::BTreeSet::new();
    let mut held = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        let process = PathBuf::from(format!("/proc/{pid}"));
        let fds = std::fs::read_dir(process.join("fd")).into_iter().flatten();
        for fd in fds.flatten() {
            let Some(file) = std::fs::read_link(fd.path())
                .ok()
                .and_then(|link| deleted(&link))
            else {
                continue;
            };
            let Ok(metadata) = std::fs::metadata(fd.path()) else {
                continue;
            };
            let is_held = metadata.is_file() && metadata.nlink() == 0;
            if is_held
                && devices.contains(&metadata.dev())
                && seen.insert((metadata.dev(), metadata.ino()))
            {
                let command = std::fs::read_to_string(process.join("comm")).unwrap_or_default();
                held.push(HeldFile {
                    pid,
                    command: command.trim_end().to_owned(),
                    file,
                    allocated: metadata.blocks().saturating_mul(512),
                    device: metadata.dev(),
                });
            }
        }
    }
    held.sort_by(|a, b| {
        b.allocated
            .cmp(&a.allocated)
            .then_with(|| a.file.cmp(&b.file))
    });
    held
}

/// Returns a deleted file's last name, as `/proc` marks it.
fn deleted(link: &Path) -> Option<PathBuf> {
    let name = link.to_str()?.strip_suffix(" (deleted)")?;
    name.starts_with('/').then(|| PathBuf::from(name))
}

fn writer(pid: u32, dirs: &[PathBuf]) -> Option<Writer> {
    let process = PathBuf::from(format!("/proc/{pid}"));
    let held = || {
        let mut fds = std::fs::read_dir(process.join("fd")).ok()?.flatten();
        fds.find_map(|entry| {
            let target = std::fs::read_link(entry.path()).ok()?;
            let inside = dirs.iter().any(|dir| target.starts_with(dir));
            let number = entry.file_name();
            (inside && is_writable(&process, Path::new(&number))).then_some(target)
        })
    };
    held()?;
    if is_about_to_exec(&process) {
        return None;
    }
    // Any other child that has not begun its own program has its parent's, and will have lost the files in a moment.
    if parent_of(&process).is_some_and(|parent| program(&process) == program(&parent)) {
        std::thread::sleep(BEFORE_EXEC);
    }
    let file = held()?;
    let command = std::fs::read_to_string(process.join("comm")).unwrap_or_default();
    Some(Writer {
        pid,
        command: command.trim_end().to_owned(),
        file,
    })
}

/// A child of this process that has not begun its own program yet only inherited the files.
fn is_about_to_exec(process: &Path) -> bool {
    let own = PathBuf::from(format!("/proc/{}", std::process::id()));
    parent_of(process) == Some(own) && program(process) == program(Path::new("/proc/self"))
}

fn program(process: &Path) -> Option<PathBuf> {
    std::fs::read_link(process.join("exe")).ok()
}

fn parent_of(process: &Path) -> Option<PathBuf> {
    let status = std::fs::read_to_string(process.join("status")).ok()?;
    let mut lines = status.lines();
    let parent = lines.find_map(|line| line.strip_prefix("PPid:")?.trim().parse::<u32>().ok())?;
    Some(PathBuf::from(format!("/proc/{parent}")))
}

fn is_writable(process: &Path, number: &Path) -> bool {
    let text = std::fs::read_to_string(process.join("fdinfo").join(number)).unwrap_or_default();
    text.lines()
        .find_map(|line| line.strip_prefix("flags:"))
        .and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok())
        // The two lowest bits: 0 is O_RDONLY.
        .is_some_and(|flags| flags & 3 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deleted_file_is_seen_as_long_as_somebody_holds_it() {
        let dir = tempfile::tempdir().unwrap();
        let device = std::fs::metadata(dir.path()).unwrap().dev();
        let path = dir.path().join("dump.hprof");
        std::fs::write(&path, vec![1; 8192]).unwrap();
        let file = std::fs::File::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let find = || {
            held_files(&[device])
                .into_iter()
                .find(|held| held.file == path)
        };
        let held = find().unwrap();
        assert_eq!((held.pid, held.allocated), (std::process::id(), 8192));
        drop(file);
        assert_eq!(find(), None);
    }

    #[test]
    fn only_a_writing_process_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("0.log");
        std::fs::write(&path, b"").unwrap();
        let dirs = [dir.path().to_owned()];
        assert_eq!(writers_in(&dirs), []);
        let open = |writing: bool| {
            let file = std::fs::File::options()
                .read(!writing)
                .append(writing)
                .open(&path)
                .unwrap();
            std::process::Command::new("sleep")
                .arg("30")
                .stdout(file)
                .spawn()
                .unwrap()
        };
        for (writing, count) in [(false, 0), (true, 1)] {
            let mut child = open(writing);
            assert_eq!(writers_in(&dirs).len(), count);
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}
