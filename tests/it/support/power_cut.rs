//! A disk that forgets: which of the changes made to real files a power cut may leave.
//!
//! [`RecordingStorage`] does every change for real and remembers it in order. [`Recording::cuts`] plays the changes again
//! on a disk in memory, where nothing is durable before it is synced, and stops behind each.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use krescue::disk::{DiskError, FileStat, Listed, Ownership, Piece, ReadAt, RealStorage, Storage};

use super::apply::contents;
use super::random::Random;

/// Every file below the root, by its path from there.
pub(crate) type Files = BTreeMap<PathBuf, Vec<u8>>;

/// A page of the page cache: what a disk writes as a whole.
const PAGE: usize = 4096;

type Id = usize;

#[derive(Debug, Clone)]
enum Node {
    File(Vec<u8>),
    Dir(BTreeMap<OsString, Id>),
}

/// What is written at once: names that change together, or the bytes of one file.
#[derive(Debug, Clone)]
enum Change {
    Names(Vec<(Id, OsString, Option<Id>)>),
    SetLen(Id, usize),
    /// Bytes at a position; those of a file that was created or emptied at 0.
    Bytes(Id, usize, Vec<u8>),
}

#[derive(Debug, Clone)]
enum Event {
    Change(Change),
    Created(Node),
    Sync(Id),
    /// All of the volume that is apart, or all of the other one.
    SyncVolume {
        apart: bool,
    },
}

/// What was done, and what lay there before.
#[derive(Debug, Clone)]
pub(crate) struct Recording {
    root: PathBuf,
    /// A dir of the root that lies on a volume of its own.
    apart: Option<OsString>,
    before: Vec<Node>,
    events: Vec<(Event, String)>,
    live: Vec<Node>,
    /// What lies beside the root, which is watched too.
    beside: Option<Beside>,
    /// When each file was written that was there before, and when each was at last.
    times: BTreeMap<Id, SystemTime>,
    end_times: BTreeMap<Id, SystemTime>,
}

/// A dir beside the root whose files are remembered as they are at each event, and a folder in which every file below the
/// root keeps a second name, so that its inode stays.
#[derive(Debug, Clone)]
struct Beside {
    dir: PathBuf,
    inodes: PathBuf,
    /// By the number of the event.
    seen: Vec<Arc<Files>>,
}

/// What a power cut left below the root.
pub(crate) struct Left<'a> {
    /// The event behind which the power was cut.
    pub(crate) event: usize,
    /// Where that is, and what is lost.
    pub(crate) what: &'a str,
    nodes: &'a [Node],
}

impl Left<'_> {
    /// Returns the files by their paths.
    pub(crate) fn files(&self) -> Files {
        files_of(self.nodes)
    }
}

impl Recording {
    fn of(root: &Path, apart: Option<&str>) -> Self {
        let mut nodes = Vec::new();
        read_node(root, &mut nodes);
        Self {
            root: root.to_owned(),
            apart: apart.map(OsString::from),
            before: nodes.clone(),
            events: Vec::new(),
            live: nodes,
            beside: None,
            times: BTreeMap::new(),
            end_times: BTreeMap::new(),
        }
    }

    /// Gives every file below the root a second name in `inodes`, and remembers what lies in `dir` at each event.
    fn watch(&mut self, dir: &Path, inodes: &Path) {
        let mut places = vec![(0, self.root.clone())];
        while let Some((id, path)) = places.pop() {
            match &self.live[id] {
                Node::File(_) => {
                    std::fs::hard_link(&path, inodes.join(id.to_string())).unwrap();
                    let written = std::fs::metadata(&path).unwrap().modified().unwrap();
                    self.times.insert(id, written);
                }
                Node::Dir(names) => {
                    places.extend(names.iter().map(|(name, id)| (*id, path.join(name))));
                }
            }
        }
        self.beside = Some(Beside {
            dir: dir.to_owned(),
            inodes: inodes.to_owned(),
            seen: Vec::new(),
        });
    }

    /// Returns what a power cut behind each change may leave, each with where it was cut and what was lost.
    pub(crate) fn cuts(&self, seed: u64, mut look: impl FnMut(&str, Files)) {
        self.trees(seed, |left| look(left.what, left.files()));
    }

    /// The same, with which file is which.
    pub(crate) fn trees(&self, seed: u64, mut look: impl FnMut(&Left<'_>)) {
        let mut random = Random::new(seed);
        let mut disk = Disk {
            nodes: self.before.clone(),
            pending: Vec::new(),
            apart: self.nodes_apart(),
        };
        let mut known = HashSet::new();
        for (number, (event, what)) in self.events.iter().enumerate() {
            disk.take(event);
            for choice in choices(disk.pending.len(), &mut random) {
                let (nodes, lost) = disk.cut(&choice, &mut random);
                if known.insert(fingerprint(&files_of(&nodes))) {
                    look(&Left {
                        event: number,
                        what: &format!("cut behind {number} ({what}), lost: {lost:?}"),
                        nodes: &nodes,
                    });
                }
            }
        }
    }

    /// Returns what lay there before.
    pub(crate) fn before(&self) -> Files {
        files_of(&self.before)
    }

    /// Returns what lies there once all is done.
    pub(crate) fn end(&self) -> Files {
        files_of(&self.live)
    }

    /// Returns what lies on the volume that is apart.
    fn nodes_apart(&self) -> HashSet<Id> {
        let mut found = HashSet::new();
        let Some(Node::Dir(root)) = self.before.first() else {
            return found;
        };
        let mut ids: Vec<Id> = self
            .apart
            .iter()
            .filter_map(|name| root.get(name).copied())
            .collect();
        while let Some(id) = ids.pop() {
            found.insert(id);
            if let Node::Dir(names) = &self.before[id] {
                ids.extend(names.values());
            }
        }
        found
    }

    /// Says whether a path lies on the volume that is apart.
    fn is_apart(&self, path: &Path) -> bool {
        let relative = self.relative(path);
        let first = relative.iter().next();
        self.apart
            .as_deref()
            .is_some_and(|apart| first == Some(apart))
    }

    /// Returns a path from the root on, also where the link to the other volume was followed.
    fn relative(&self, path: &Path) -> PathBuf {
        if let Ok(relative) = path.strip_prefix(&self.root) {
            return relative.to_owned();
        }
        let apart = Path::new(self.apart.as_ref().unwrap());
        let real = self.root.join(apart).canonicalize().unwrap();
        apart.join(path.strip_prefix(real).unwrap())
    }

    fn find(&self, path: &Path) -> Option<Id> {
        let relative = self.relative(path);
        let mut id = 0;
        for name in &relative {
            match &self.live[id] {
                Node::Dir(names) => id = *names.get(name)?,
                Node::File(_) => return None,
            }
        }
        Some(id)
    }

    fn place(&self, path: &Path) -> (Id, OsString) {
        let dir = self.find(path.parent().unwrap()).unwrap();
        (dir, path.file_name().unwrap().to_owned())
    }

    fn push(&mut self, event: Event, what: &str, path: &Path) {
        match &event {
            Event::Change(change) => do_change(&mut self.live, change),
            Event::Created(node) => self.live.push(node.clone()),
            Event::Sync(_) | Event::SyncVolume { .. } => {}
        }
        if let Some(beside) = &mut self.beside {
            if let Event::Change(Change::Names(names)) = &event {
                // Only a file that is new has no second name yet.
                let new = names.iter().filter_map(|(.., id)| *id).max();
                if let Some(id) = new {
                    let _ = std::fs::hard_link(path, beside.inodes.join(id.to_string()));
                }
            }
            let now = contents(&beside.dir);
            let seen = beside.seen.last().filter(|seen| ***seen == now).cloned();
            beside.seen.push(seen.unwrap_or_else(|| Arc::new(now)));
        }
        let path = path.strip_prefix(&self.root).unwrap_or(path);
        self.events
            .push((event, format!("{what} {}", path.display())));
    }

    /// Returns what lay beside the root at an event.
    pub(crate) fn beside(&self, event: usize) -> &Files {
        &self.beside.as_ref().unwrap().seen[event]
    }

    /// Returns the first event that made a volume durable.
    pub(crate) fn first_sync(&self) -> usize {
        let is_sync = |(event, _): &(Event, String)| matches!(event, Event::SyncVolume { .. });
        self.events.iter().position(is_sync).unwrap()
    }

    /// Puts what a power cut left below the root, each file with the inode that it had.
    pub(crate) fn put(&self, left: &Left<'_>) {
        std::fs::remove_dir_all(&self.root).unwrap();
        self.put_node(left.nodes, 0, &self.root);
    }

    fn put_node(&self, nodes: &[Node], id: Id, path: &Path) {
        let inode = self.beside.as_ref().unwrap().inodes.join(id.to_string());
        let bytes = match &nodes[id] {
            Node::Dir(names) => {
                std::fs::create_dir(path).unwrap();
                for (name, id) in names {
                    self.put_node(nodes, *id, &path.join(name));
                }
                return;
            }
            Node::File(bytes) => bytes,
        };
        std::fs::hard_link(&inode, path).unwrap();
        if std::fs::read(path).unwrap() != *bytes {
            std::fs::write(path, bytes).unwrap();
        }
        // A file that is as it was, or as it is at the end, has the time that it had then.
        let is_it = |node: Option<&Node>| matches!(node, Some(Node::File(of)) if of == bytes);
        let time = if is_it(self.before.get(id)) {
            self.times.get(&id)
        } else if is_it(self.live.get(id)) {
            self.end_times.get(&id)
        } else {
            None
        };
        if let Some(time) = time {
            let file = std::fs::File::options().write(true).open(path).unwrap();
            file.set_modified(*time).unwrap();
        }
    }

    fn create(&mut self, node: Node, path: &Path) {
        let id = self.live.len();
        let (dir, name) = self.place(path);
        self.push(Event::Created(node), "make room for", path);
        let names = Change::Names(vec![(dir, name, Some(id))]);
        self.push(Event::Change(names), "create", path);
    }

    fn write(&mut self, path: &Path, bytes: &[u8]) {
        match self.find(path) {
            Some(id) => self.push(Event::Change(Change::SetLen(id, 0)), "empty", path),
            None => self.create(Node::File(Vec::new()), path),
        }
        let id = self.find(path).unwrap();
        self.push(
            Event::Change(Change::Bytes(id, 0, bytes.to_vec())),
            "write",
            path,
        );
    }

    fn create_dirs(&mut self, dir: &Path) {
        if self.find(dir).is_none() {
            self.create_dirs(dir.parent().unwrap());
            self.create(Node::Dir(BTreeMap::new()), dir);
        }
    }
}

/// The disk as it is behind some change.
struct Disk {
    nodes: Vec<Node>,
    /// Changes that are not synced, oldest first.
    pending: Vec<Change>,
    /// What lies on the volume that is apart.
    apart: HashSet<Id>,
}

impl Disk {
    fn take(&mut self, event: &Event) {
        match event {
            Event::Created(node) => self.nodes.push(node.clone()),
            Event::Change(change) => {
                if let Change::Names(names) = change {
                    let made = names.iter().filter(|(dir, ..)| self.apart.contains(dir));
                    let made: Vec<Id> = made.filter_map(|(_, _, id)| *id).collect();
                    self.apart.extend(made);
                }
                self.pending.push(change.clone());
            }
            Event::SyncVolume { apart } => {
                let on_it = self.apart.clone();
                self.settle(|change| match change {
                    Change::Names(names) => {
                        names.iter().any(|(dir, ..)| on_it.contains(dir) == *apart)
                    }
                    Change::SetLen(id, _) | Change::Bytes(id, ..) => on_it.contains(id) == *apart,
                });
            }
            Event::Sync(id) => self.settle(|change| match change {
                Change::Names(names) => names.iter().any(|(dir, _, _)| dir == id),
                Change::SetLen(file, _) | Change::Bytes(file, ..) => file == id,
            }),
        }
    }

    fn settle(&mut self, is_synced: impl Fn(&Change) -> bool) {
        for change in std::mem::take(&mut self.pending) {
            if is_synced(&change) {
                do_change(&mut self.nodes, &change);
            } else {
                self.pending.push(change);
            }
        }
    }

    /// Returns the files that are left, and the numbers of the changes that are lost or torn.
    fn cut(&self, choice: &[Fate], random: &mut Random) -> (Vec<Node>, Vec<usize>) {
        let mut nodes = self.nodes.clone();
        let mut lost = Vec::new();
        for (number, (change, fate)) in self.pending.iter().zip(choice).enumerate() {
            match (fate, change) {
                (Fate::Kept, _) => do_change(&mut nodes, change),
                (Fate::Torn, Change::Bytes(id, at, bytes)) => {
                    tear(file_of(&mut nodes, *id), *at, bytes, random);
                    lost.push(number);
                }
                (Fate::Torn | Fate::Lost, _) => lost.push(number),
            }
        }
        (nodes, lost)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Kept,
    Lost,
    /// Some pages of it are kept; names are all lost.
    Torn,
}

/// Returns what may become of so many changes: all or nothing, each one alone lost and alone kept, and some by chance.
fn choices(pending: usize, random: &mut Random) -> Vec<Vec<Fate>> {
    let mut choices = vec![vec![Fate::Kept; pending], vec![Fate::Lost; pending]];
    // The newest matter most: the others had their turn when they were new.
    for at in pending.saturating_sub(6)..pending {
        for (one, others) in [(Fate::Kept, Fate::Lost), (Fate::Lost, Fate::Kept)] {
            let mut choice = vec![others; pending];
            choice[at] = one;
            choices.push(choice);
        }
    }
    for _ in 0..4 {
        let fates = [Fate::Kept, Fate::Kept, Fate::Lost, Fate::Torn];
        choices.push(
            (0..pending)
                .map(|_| fates[random.below(fates.len())])
                .collect(),
        );
    }
    choices
}

/// Writes some pages, and maybe not the last ones; a page that was not written has its old bytes, or zeros.
fn tear(file: &mut Vec<u8>, at: usize, bytes: &[u8], random: &mut Random) {
    let kept = match random.below(2) {
        0 => bytes.len(),
        _ => random.below(bytes.len() + 1) / PAGE * PAGE,
    };
    for (number, page) in bytes[..kept].chunks(PAGE).enumerate() {
        let at = at + number * PAGE;
        if file.len() < at + page.len() {
            file.resize(at + page.len(), 0);
        }
        if random.below(2) == 0 {
            file[at..at + page.len()].copy_from_slice(page);
        }
    }
}

fn do_change(nodes: &mut [Node], change: &Change) {
    match change {
        Change::Names(names) => {
            for (dir, name, id) in names {
                let Node::Dir(entries) = &mut nodes[*dir] else {
                    panic!("{} is no dir", name.display())
                };
                match id {
                    Some(id) => entries.insert(name.clone(), *id),
                    None => entries.remove(name),
                };
            }
        }
        Change::SetLen(id, len) => file_of(nodes, *id).resize(*len, 0),
        Change::Bytes(id, at, bytes) => {
            let file = file_of(nodes, *id);
            let end = at + bytes.len();
            file.resize(file.len().max(end), 0);
            file[*at..end].copy_from_slice(bytes);
        }
    }
}

fn file_of(nodes: &mut [Node], id: Id) -> &mut Vec<u8> {
    match &mut nodes[id] {
        Node::File(bytes) => bytes,
        Node::Dir(_) => panic!("node {id} is a dir"),
    }
}

fn read_node(path: &Path, nodes: &mut Vec<Node>) -> Id {
    let id = nodes.len();
    if path.is_dir() {
        nodes.push(Node::Dir(BTreeMap::new()));
        let mut names = BTreeMap::new();
        for entry in std::fs::read_dir(path).unwrap() {
            let entry = entry.unwrap();
            names.insert(entry.file_name(), read_node(&entry.path(), nodes));
        }
        nodes[id] = Node::Dir(names);
    } else {
        nodes.push(Node::File(std::fs::read(path).unwrap()));
    }
    id
}

fn files_of(nodes: &[Node]) -> Files {
    let mut files = Files::new();
    collect(nodes, 0, Path::new(""), &mut files);
    files
}

fn collect(nodes: &[Node], id: Id, path: &Path, files: &mut Files) {
    match &nodes[id] {
        Node::File(bytes) => {
            files.insert(path.to_owned(), bytes.clone());
        }
        Node::Dir(names) => {
            for (name, id) in names {
                collect(nodes, *id, &path.join(name), files);
            }
        }
    }
}

fn fingerprint(files: &Files) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    for (path, bytes) in files {
        path.hash(&mut hasher);
        (bytes.len(), crc32c::crc32c(bytes)).hash(&mut hasher);
    }
    hasher.finish()
}

/// The real files, and what is done to them.
#[derive(Debug)]
pub(crate) struct RecordingStorage(Mutex<Recording>);

impl RecordingStorage {
    /// Records what is done below `root`.
    pub(crate) fn new(root: &Path) -> Self {
        Self(Mutex::new(Recording::of(root, None)))
    }

    /// The same, and what lies in `dir` is remembered too; `inodes` is an empty folder of the root's file system.
    pub(crate) fn beside(root: &Path, dir: &Path, inodes: &Path) -> Self {
        let mut recording = Recording::of(root, None);
        recording.watch(dir, inodes);
        Self(Mutex::new(recording))
    }

    /// The same, where the dir `apart` of the root leads to a volume of its own.
    pub(crate) fn with_volume(root: &Path, apart: &str) -> Self {
        Self(Mutex::new(Recording::of(root, Some(apart))))
    }

    /// Returns what was done.
    pub(crate) fn into_recording(self) -> Recording {
        let mut recording = self.0.into_inner().unwrap();
        if let Some(beside) = &recording.beside {
            for (id, node) in recording.live.iter().enumerate() {
                if matches!(node, Node::File(_)) {
                    let inode = beside.inodes.join(id.to_string());
                    let written = std::fs::metadata(inode).unwrap().modified().unwrap();
                    recording.end_times.insert(id, written);
                }
            }
        }
        recording
    }

    /// Does a change, and records it if it could be done; one at a time, so that both have the same order.
    fn record(
        &self,
        change: impl FnOnce() -> Result<(), DiskError>,
        note: impl FnOnce(&mut Recording),
    ) -> Result<(), DiskError> {
        let mut recording = self.0.lock().unwrap();
        change()?;
        note(&mut recording);
        Ok(())
    }
}

impl Storage for RecordingStorage {
    fn list(&self, dir: &Path) -> Result<Vec<Listed>, DiskError> {
        RealStorage.list(dir)
    }

    fn stat(&self, path: &Path) -> Result<FileStat, DiskError> {
        RealStorage.stat(path)
    }

    fn open(&self, path: &Path) -> Result<Box<dyn ReadAt>, DiskError> {
        RealStorage.open(path)
    }

    fn write_file(&self, path: &Path, bytes: &[u8], owner: &Ownership) -> Result<(), DiskError> {
        self.record(
            || RealStorage.write_file(path, bytes, owner),
            |recording| recording.write(path, bytes),
        )
    }

    fn copy_range(&self, from: &Path, position: u64, len: u64, to: &Path) -> Result<(), DiskError> {
        self.record(
            || RealStorage.copy_range(from, position, len, to),
            |recording| recording.write(to, &std::fs::read(to).unwrap()),
        )
    }

    fn copy_into(&self, from: &Path, piece: Piece, to: &Path) -> Result<(), DiskError> {
        self.record(
            || RealStorage.copy_into(from, piece, to),
            |recording| {
                let id = recording.find(to).unwrap();
                let (at, len) = (usize::try_from(piece.to), usize::try_from(piece.len));
                let (at, len) = (at.unwrap(), len.unwrap());
                let bytes = std::fs::read(to).unwrap()[at..at + len].to_vec();
                recording.push(
                    Event::Change(Change::Bytes(id, at, bytes)),
                    "write into",
                    to,
                );
            },
        )
    }

    fn set_owner(&self, path: &Path, owner: &Ownership) -> Result<(), DiskError> {
        RealStorage.set_owner(path, owner)
    }

    fn set_mtime(&self, path: &Path, mtime_ns: i64) -> Result<(), DiskError> {
        RealStorage.set_mtime(path, mtime_ns)
    }

    fn set_len(&self, path: &Path, len: u64) -> Result<(), DiskError> {
        self.record(
            || RealStorage.set_len(path, len),
            |recording| {
                let id = recording.find(path).unwrap();
                let len = usize::try_from(len).unwrap();
                recording.push(Event::Change(Change::SetLen(id, len)), "cut", path);
            },
        )
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.record(
            || RealStorage.rename(from, to),
            |recording| {
                let id = recording.find(from);
                let ((from_dir, from_name), (to_dir, to_name)) =
                    (recording.place(from), recording.place(to));
                let names = Change::Names(vec![(from_dir, from_name, None), (to_dir, to_name, id)]);
                recording.push(Event::Change(names), "rename to", to);
            },
        )
    }

    fn link(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.record(
            || RealStorage.link(from, to),
            |recording| {
                let id = recording.find(from);
                let (dir, name) = recording.place(to);
                let names = Change::Names(vec![(dir, name, id)]);
                recording.push(Event::Change(names), "link", to);
            },
        )
    }

    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        self.record(
            || RealStorage.remove(path),
            |recording| {
                let (dir, name) = recording.place(path);
                let names = Change::Names(vec![(dir, name, None)]);
                recording.push(Event::Change(names), "remove", path);
            },
        )
    }

    fn remove_dir(&self, dir: &Path) -> Result<(), DiskError> {
        self.record(
            || RealStorage.remove_dir(dir),
            |recording| {
                let (parent, name) = recording.place(dir);
                let names = Change::Names(vec![(parent, name, None)]);
                recording.push(Event::Change(names), "remove dir", dir);
            },
        )
    }

    fn create_dir(&self, dir: &Path) -> Result<(), DiskError> {
        self.record(
            || RealStorage.create_dir(dir),
            |recording| recording.create_dirs(dir),
        )
    }

    fn sync_file(&self, path: &Path) -> Result<(), DiskError> {
        self.record(
            || Ok(()),
            |recording| {
                let id = recording.find(path).unwrap();
                recording.push(Event::Sync(id), "sync", path);
            },
        )
    }

    fn sync_dir(&self, dir: &Path) -> Result<(), DiskError> {
        self.sync_file(dir)
    }

    fn sync_volume(&self, path: &Path) -> Result<(), DiskError> {
        self.record(
            || Ok(()),
            |recording| {
                let apart = recording.is_apart(path);
                recording.push(Event::SyncVolume { apart }, "sync the volume of", path);
            },
        )
    }
}
