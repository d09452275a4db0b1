//! Log dirs made from nothing: an encoder of its own, so that no mistake of the crate's hides in its tests.
//!
//! The batch `B(base)` has 10 records of 100 bytes, 1,151 bytes in all; a segment `SEG(base)` has 100 of them, 115,100
//! bytes; `T4` is a partition of four segments with right indexes.

use std::fs;
use std::path::{Path, PathBuf};

/// Bytes of `B(base)`.
pub(crate) const BATCH: usize = 1151;
/// Bytes of `SEG(base)`.
pub(crate) const SEGMENT: usize = 115_100;
/// The topic id in `partition.metadata`.
pub(crate) const TOPIC_ID: &str = "WJP-YmuvQ7ieid7KZyv-lA";

fn varint(out: &mut Vec<u8>, value: i64) {
    let zigzag = (value << 1) ^ (value >> 63);
    let mut rest = u64::from_be_bytes(zigzag.to_be_bytes());
    while rest > 0x7f {
        out.push(u8::try_from(rest & 0x7f).unwrap() | 0x80);
        rest >>= 7;
    }
    out.push(u8::try_from(rest).unwrap());
}

/// What a batch is made with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchSpec {
    pub(crate) base: i64,
    pub(crate) records: i32,
    pub(crate) timestamp: i64,
    pub(crate) value_len: usize,
    pub(crate) leader_epoch: i32,
}

impl BatchSpec {
    /// `B(base)` with the timestamp that it has inside a segment.
    pub(crate) fn new(base: i64) -> Self {
        Self {
            base,
            records: 10,
            timestamp: 1_700_000_000_000 + base / 10 * 1000,
            value_len: 100,
            leader_epoch: 0,
        }
    }

    /// Returns the batch's bytes.
    pub(crate) fn encode(self) -> Vec<u8> {
        let mut records = Vec::new();
        for i in 0..i64::from(self.records) {
            let mut body = vec![0];
            varint(&mut body, i);
            varint(&mut body, i);
            varint(&mut body, -1);
            varint(&mut body, i64::try_from(self.value_len).unwrap());
            let byte = u8::try_from((self.base + i) % 251).unwrap();
            body.extend(std::iter::repeat_n(byte, self.value_len));
            varint(&mut body, 0);
            varint(&mut records, i64::try_from(body.len()).unwrap());
            records.extend(body);
        }
        let last = self.records - 1;
        let mut tail = Vec::new();
        tail.extend(0_i16.to_be_bytes());
        tail.extend(last.to_be_bytes());
        tail.extend(self.timestamp.to_be_bytes());
        tail.extend((self.timestamp + i64::from(last)).to_be_bytes());
        tail.extend((-1_i64).to_be_bytes());
        tail.extend((-1_i16).to_be_bytes());
        tail.extend((-1_i32).to_be_bytes());
        tail.extend(self.records.to_be_bytes());
        tail.extend(records);
        let mut batch = Vec::new();
        batch.extend(self.base.to_be_bytes());
        batch.extend(i32::try_from(tail.len() + 9).unwrap().to_be_bytes());
        batch.extend(self.leader_epoch.to_be_bytes());
        batch.push(2);
        batch.extend(crc32c::crc32c(&tail).to_be_bytes());
        batch.extend(tail);
        batch
    }
}

/// Returns `SEG(base)`.
pub(crate) fn segment(base: i64) -> Vec<u8> {
    (0..100)
        .flat_map(|k| BatchSpec::new(base + k * 10).encode())
        .collect()
}

/// Returns the indexes that Kafka makes of `SEG(base)` with `index.interval.bytes` 4096: offset index, time index.
pub(crate) fn indexes(base: i64) -> (Vec<u8>, Vec<u8>) {
    let (mut offsets, mut times) = (Vec::new(), Vec::new());
    let mut last_entry = 0;
    let mut newest = (0_i64, 0_i32);
    for k in 0..100_i32 {
        let position = usize::try_from(k).unwrap() * BATCH;
        let spec = BatchSpec::new(base + i64::from(k) * 10);
        newest = (spec.timestamp + 9, k * 10 + 9);
        if position - last_entry > 4096 {
            offsets.extend(newest.1.to_be_bytes());
            offsets.extend(i32::try_from(position).unwrap().to_be_bytes());
            times.extend(newest.0.to_be_bytes());
            times.extend(newest.1.to_be_bytes());
            last_entry = position;
        }
    }
    times.extend(newest.0.to_be_bytes());
    times.extend(newest.1.to_be_bytes());
    (offsets, times)
}

/// Returns the name of a segment's file.
pub(crate) fn file_name(base: i64, suffix: &str) -> String {
    format!("{base:020}.{suffix}")
}

/// Log dirs in a folder of their own, removed when dropped.
#[derive(Debug)]
pub(crate) struct Tree {
    tmp: tempfile::TempDir,
}

impl Tree {
    /// Returns `T4`: log dir `d1` with partition `t-0`, four segments, killed before its last flush.
    pub(crate) fn t4() -> Self {
        let tree = Self {
            tmp: tempfile::tempdir().unwrap(),
        };
        tree.add_log_dir("d1", 1);
        tree.add_partition("d1", "t-0", 4);
        tree.write("d1/recovery-point-offset-checkpoint", "0\n1\nt 0 3000\n");
        tree.write("d1/replication-offset-checkpoint", "0\n1\nt 0 4000\n");
        tree.write("d1/log-start-offset-checkpoint", "0\n0\n");
        tree
    }

    /// Returns `T4` without a recovery point: a boot reads all of it.
    pub(crate) fn t4_unflushed() -> Self {
        let tree = Self::t4();
        tree.write("d1/recovery-point-offset-checkpoint", "0\n1\nt 0 0\n");
        tree
    }

    /// Adds an empty log dir; `number` makes its `directory.id`.
    pub(crate) fn add_log_dir(&self, dir: &str, number: u8) {
        fs::create_dir_all(self.path(dir)).unwrap();
        self.write(
            &format!("{dir}/meta.properties"),
            format!(
                "#\n#Mon Nov 30 10:00:00 UTC 2026\nversion=1\nnode.id=1\ncluster.id=MkU3OEVBNTcwNTJENDM2Qg\n\
                 directory.id=AAAAAAAAAAAAAAAAAAA{number:02}A\n"
            ),
        );
    }

    /// Adds a partition of `segments` times `SEG`.
    pub(crate) fn add_partition(&self, dir: &str, name: &str, segments: i64) {
        let partition = format!("{dir}/{name}");
        fs::create_dir_all(self.path(&partition)).unwrap();
        for base in (0..segments).map(|n| n * 1000) {
            let (offsets, times) = indexes(base);
            let at = |suffix| format!("{partition}/{}", file_name(base, suffix));
            self.write(&at("log"), segment(base));
            self.write(&at("index"), offsets);
            self.write(&at("timeindex"), times);
        }
        self.write(
            &format!("{partition}/partition.metadata"),
            format!("version: 0\ntopic_id: {TOPIC_ID}"),
        );
        self.write(
            &format!("{partition}/leader-epoch-checkpoint"),
            "0\n1\n0 0\n",
        );
    }

    /// Returns a path inside the folder that holds the log dirs.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.tmp.path().join(relative)
    }

    /// Returns the path of a file of `t-0`.
    pub(crate) fn t0(&self, base: i64, suffix: &str) -> PathBuf {
        self.path("d1/t-0").join(file_name(base, suffix))
    }

    /// Writes a file.
    pub(crate) fn write(&self, relative: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(relative), bytes).unwrap();
    }

    /// Changes the bytes of a file of this tree, named by its full path.
    pub(crate) fn edit(&self, path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
        assert!(path.starts_with(self.tmp.path()));
        let mut bytes = fs::read(path).unwrap();
        change(&mut bytes);
        fs::write(path, bytes).unwrap();
    }

    /// Returns names, contents, sizes and times of everything below `relative`: equal if nothing was touched.
    pub(crate) fn fingerprint(&self, relative: &str) -> Vec<String> {
        use std::os::unix::fs::MetadataExt as _;
        let mut lines = Vec::new();
        let mut paths = vec![self.path(relative)];
        while let Some(path) = paths.pop() {
            let meta = fs::symlink_metadata(&path).unwrap();
            let content = if meta.is_dir() {
                paths.extend(
                    fs::read_dir(&path)
                        .unwrap()
                        .map(|entry| entry.unwrap().path()),
                );
                0
            } else {
                crc32c::crc32c(&fs::read(&path).unwrap_or_default())
            };
            lines.push(format!(
                "{} {content:08x} {} {}.{} {}.{} {:o} {}:{}",
                path.display(),
                meta.len(),
                meta.mtime(),
                meta.mtime_nsec(),
                meta.ctime(),
                meta.ctime_nsec(),
                meta.mode(),
                meta.uid(),
                meta.gid()
            ));
        }
        lines.sort();
        lines
    }
}

#[test]
fn the_fixture_gives_the_reference_numbers() {
    let batch = BatchSpec::new(0).encode();
    assert_eq!(batch.len(), BATCH);
    let header = u32::from_be_bytes(batch[17..21].try_into().unwrap());
    assert_eq!(header, 0xbb18_692b);
    assert_eq!(batch[8..12], [0, 0, 4, 0x73]);
    assert_eq!(segment(0).len(), SEGMENT);
    let (offsets, times) = indexes(0);
    assert_eq!((offsets.len(), times.len()), (192, 300));
    assert_eq!(offsets[..8], [0, 0, 0, 49, 0, 0, 0x11, 0xfc]);
    assert_eq!(offsets[184..], [0, 0, 0x03, 0xc9, 0, 1, 0xaf, 0xa0]);
    assert_eq!(times[296..], 999_i32.to_be_bytes());
}
