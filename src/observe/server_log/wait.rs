//! Waits until a file is written, by the kernel's word where it gives it; else for as long as the wait lasts.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};

/// Waits for the file at a path, whatever file lies there.
#[derive(Debug, Default)]
pub(super) struct FileWait {
    /// `None` where the kernel does not tell: no watch is left, or the file system has none.
    told: Option<(RecommendedWatcher, Receiver<()>)>,
}

impl FileWait {
    /// Asks to be told of the file at `path`. Its dir is watched: the file is renamed, and another takes its place.
    pub(super) fn of(path: &Path) -> Self {
        Self {
            told: watch(path).ok(),
        }
    }

    /// Waits until something may have been written, at most `patience`: over a network nobody tells.
    pub(super) fn wait(&mut self, patience: Duration) {
        let told = self
            .told
            .as_ref()
            .map(|(_, told)| told.recv_timeout(patience));
        match told {
            Some(Ok(()) | Err(RecvTimeoutError::Timeout)) => {}
            Some(Err(RecvTimeoutError::Disconnected)) => {
                self.told = None;
                std::thread::sleep(patience);
            }
            None => std::thread::sleep(patience),
        }
    }
}

fn watch(path: &Path) -> notify::Result<(RecommendedWatcher, Receiver<()>)> {
    let name = path.file_name().unwrap_or_default().to_owned();
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    // One is enough: whoever waits reads all there is.
    let (sender, receiver) = sync_channel(1);
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let is_of_it = event.is_ok_and(|event| {
            let mut paths = event.paths.iter();
            !event.kind.is_access() && paths.any(|path| path.file_name() == Some(&name))
        });
        if is_of_it {
            let _ = sender.try_send(());
        }
    })?;
    watcher.watch(dir, RecursiveMode::NonRecursive)?;
    Ok((watcher, receiver))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_mins(10);

    #[test]
    fn a_write_or_a_new_file_ends_the_wait() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("server.log");
        std::fs::write(&path, "a").unwrap();
        let mut wait = FileWait::of(&path);
        assert!(
            wait.told.is_some(),
            "this system tells nothing of its files"
        );
        std::fs::write(&path, "ab").unwrap();
        wait.wait(LONG);
        std::fs::rename(&path, tmp.path().join("server.log.1")).unwrap();
        std::fs::write(&path, "c").unwrap();
        wait.wait(LONG);
        // Another file is no news, and the wait has an end.
        while wait
            .told
            .as_ref()
            .is_some_and(|(_, told)| told.try_recv().is_ok())
        {}
        std::fs::write(tmp.path().join("other"), "a").unwrap();
        wait.wait(Duration::from_millis(1));
    }

    #[test]
    fn where_nobody_tells_the_wait_just_ends() {
        let mut wait = FileWait::of(Path::new("/nowhere/at/all"));
        assert!(wait.told.is_none());
        wait.wait(Duration::from_millis(1));
    }
}
