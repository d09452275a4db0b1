//! Which processes have files of a log dir open for writing, as `/proc` tells.

use std::path::{Path, PathBuf};

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

fn writer(pid: u32, dirs: &[PathBuf]) -> Option<Writer> {
    let process = PathBuf::from(format!("/proc/{pid}"));
    let file = std::fs::read_dir(process.join("fd"))
        .ok()?
        .flatten()
        .find_map(|entry| {
            let target = std::fs::read_link(entry.path()).ok()?;
            let inside = dirs.iter().any(|dir| target.starts_with(dir));
            let number = entry.file_name();
            (inside && is_writable(&process, Path::new(&number))).then_some(target)
        })?;
    if is_about_to_exec(&process) {
        return None;
    }
    let command = std::fs::read_to_string(process.join("comm")).unwrap_or_default();
    Some(Writer {
        pid,
        command: command.trim_end().to_owned(),
        file,
    })
}

/// A child of this process that has not begun its own program yet only inherited the files.
fn is_about_to_exec(process: &Path) -> bool {
    let program = |process: &Path| std::fs::read_link(process.join("exe")).ok();
    let status = std::fs::read_to_string(process.join("status")).unwrap_or_default();
    let parent = status
        .lines()
        .find_map(|line| line.strip_prefix("PPid:")?.trim().parse::<u32>().ok());
    parent == Some(std::process::id()) && program(process) == program(Path::new("/proc/self"))
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
