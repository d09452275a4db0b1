//! Hears of every change below a folder, whoever makes it: opened for writing, created, renamed, removed, changed.
//!
//! The kernel tells (inotify): nothing has to be installed or allowed for it, and an open for writing that writes nothing
//! is heard when the file is closed.

use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

/// A watch over all dirs below a folder.
pub(crate) struct Watch {
    inotify: OwnedFd,
    dirs: BTreeMap<i32, PathBuf>,
}

impl Watch {
    /// Begins to watch `root` and every dir below it.
    pub(crate) fn over(root: &Path) -> Self {
        let mut this = Self {
            inotify: inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap(),
            dirs: BTreeMap::new(),
        };
        this.add(root);
        this
    }

    fn add(&mut self, dir: &Path) {
        let changes = WatchFlags::ATTRIB
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MODIFY
            | WatchFlags::MOVE
            | WatchFlags::MOVE_SELF;
        let watch = inotify::add_watch(&self.inotify, dir, changes).unwrap();
        self.dirs.insert(watch, dir.to_owned());
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                self.add(&path);
            }
        }
    }

    /// Returns what was changed since the last call.
    pub(crate) fn changes(&self) -> Vec<String> {
        let mut buffer = [MaybeUninit::uninit(); 1 << 14];
        let mut reader = inotify::Reader::new(&self.inotify, &mut buffer);
        let mut changes = Vec::new();
        loop {
            match reader.next() {
                Ok(event) => {
                    assert!(!event.events().contains(ReadFlags::QUEUE_OVERFLOW));
                    let name = event.file_name().map(|name| name.to_string_lossy());
                    let dir = self.dirs[&event.wd()].display();
                    changes.push(format!("{dir}/{name:?}: {:?}", event.events()));
                }
                Err(Errno::AGAIN) => return changes,
                Err(error) => panic!("{error}"),
            }
        }
    }
}
