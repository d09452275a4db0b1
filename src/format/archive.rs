//! The GNU tar of our own archives: the demo's log dirs and the golden cases.
//!
//! ```text
//! a header of 512 bytes, numbers as octal text, ended by NUL or space
//!   0 name [100]    100 mode [8]    124 size [12]    136 mtime [12]    148 checksum [8]    156 type [1]
//! 345 prefix [155]  (POSIX ustar; GNU entries have none)
//! 386 sparse [4 x (position [12], length [12])]   482 more [1]   483 real size [12]   (type S)
//! then `size` bytes, padded to 512
//! ```
//!
//! Types: `0` or NUL file, `5` directory, `L` the next entry's name, `S` a file with holes whose content is its parts one
//! after the other. The checksum is the sum of the header's bytes with its own field as spaces. A block of zeros ends it.
//! Links, devices and sparse maps longer than a header are refused: our archives have none.

use std::borrow::Cow;

const BLOCK: usize = 512;

/// What is wrong with an archive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveError {
    /// The archive ends inside an entry.
    #[error("archive ends at {position} inside an entry")]
    Torn {
        /// Where the entry's header begins.
        position: usize,
    },
    /// The header's sum is not the one it says.
    #[error("archive header at {position} has a wrong checksum")]
    Checksum {
        /// Where the header begins.
        position: usize,
    },
    /// A number is no octal text, or a part lies beyond its file's end.
    #[error("archive header at {position} has a bad number")]
    Number {
        /// Where the header begins.
        position: usize,
    },
    /// A name is not UTF-8, is absolute or leads upwards.
    #[error("archive header at {position} has a name that leads elsewhere")]
    Name {
        /// Where the header begins.
        position: usize,
    },
    /// A kind of entry that our archives do not have.
    #[error("archive header at {position} has the unknown type {kind:#04x}")]
    Kind {
        /// Where the header begins.
        position: usize,
        /// The type's byte.
        kind: u8,
    },
}

/// A file or directory of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its relative path, without `.` or `..`, without a slash at the end.
    pub path: Cow<'a, str>,
    /// What lies there.
    pub node: Node<'a>,
    /// Permission bits.
    pub mode: u32,
    /// Seconds since 1970 when it was last changed.
    pub modified: u64,
}

/// What an entry is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node<'a> {
    /// A directory.
    Directory,
    /// A file.
    File {
        /// Its length in bytes, holes included.
        length: u64,
        /// Where in the file which bytes lie, ascending; all else is zero.
        parts: Vec<(u64, &'a [u8])>,
    },
}

/// Returns the entries of `archive` in order; an error is the last item.
pub fn entries(archive: &[u8]) -> Entries<'_> {
    Entries {
        archive,
        position: 0,
        long_name: None,
    }
}

/// Iterator over an archive's entries.
#[derive(Debug, Clone)]
pub struct Entries<'a> {
    archive: &'a [u8],
    position: usize,
    long_name: Option<&'a [u8]>,
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.step();
        if !matches!(item, Some(Ok(_))) {
            self.position = self.archive.len();
        }
        item
    }
}

impl<'a> Entries<'a> {
    fn step(&mut self) -> Option<Result<Entry<'a>, ArchiveError>> {
        loop {
            let position = self.position;
            let rest = self.archive.get(position..)?;
            let Some(block) = rest.first_chunk::<BLOCK>() else {
                return (!rest.is_empty()).then_some(Err(ArchiveError::Torn { position }));
            };
            if block.iter().all(|&byte| byte == 0) {
                return None;
            }
            let header = Header { block, position };
            match self.entry(header) {
                Ok(None) => {}
                Ok(Some(entry)) => return Some(Ok(entry)),
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Reads the entry of `header` and moves behind it; `None` if it only names the next one.
    fn entry(&mut self, header: Header<'a>) -> Result<Option<Entry<'a>>, ArchiveError> {
        let position = header.position;
        header.check_sum()?;
        let stored = usize::try_from(header.number(124, 12)?)
            .map_err(|_| ArchiveError::Number { position })?;
        let begin = position + BLOCK;
        let content = begin
            .checked_add(stored)
            .and_then(|end| self.archive.get(begin..end))
            .ok_or(ArchiveError::Torn { position })?;
        self.position = begin + stored.next_multiple_of(BLOCK);
        let kind = header.byte(156);
        if kind == b'L' {
            self.long_name = Some(text(content));
            return Ok(None);
        }
        let name = match self.long_name.take() {
            Some(name) => Cow::Borrowed(name),
            None => header.name(),
        };
        let node = match kind {
            b'5' => Node::Directory,
            b'0' | 0 => Node::File {
                length: stored as u64,
                parts: vec![(0, content)],
            },
            b'S' => header.sparse(content)?,
            kind => return Err(ArchiveError::Kind { position, kind }),
        };
        Ok(Some(Entry {
            path: relative(name).ok_or(ArchiveError::Name { position })?,
            node,
            mode: u32::try_from(header.number(100, 8)?)
                .map_err(|_| ArchiveError::Number { position })?,
            modified: header.number(136, 12)?,
        }))
    }
}

#[derive(Clone, Copy)]
struct Header<'a> {
    block: &'a [u8; BLOCK],
    position: usize,
}

impl<'a> Header<'a> {
    fn field(self, at: usize, length: usize) -> &'a [u8] {
        self.block.get(at..at + length).unwrap_or_default()
    }

    fn byte(self, at: usize) -> u8 {
        self.block.get(at).copied().unwrap_or_default()
    }

    /// Reads octal text; an empty field is 0.
    fn number(self, at: usize, length: usize) -> Result<u64, ArchiveError> {
        let bad = ArchiveError::Number {
            position: self.position,
        };
        let text = std::str::from_utf8(text(self.field(at, length))).map_err(|_| bad.clone())?;
        match text.trim() {
            "" => Ok(0),
            digits => u64::from_str_radix(digits, 8).map_err(|_| bad),
        }
    }

    fn check_sum(self) -> Result<(), ArchiveError> {
        let sum: u64 = self
            .block
            .iter()
            .enumerate()
            .map(|(at, &byte)| u64::from(if (148..156).contains(&at) { b' ' } else { byte }))
            .sum();
        if self.number(148, 8)? == sum {
            Ok(())
        } else {
            Err(ArchiveError::Checksum {
                position: self.position,
            })
        }
    }

    fn name(self) -> Cow<'a, [u8]> {
        let name = text(self.field(0, 100));
        // GNU's magic ends in a space and leaves the prefix's place to other fields.
        let prefix = text(self.field(345, 155));
        if self.field(257, 6) == b"ustar\0" && !prefix.is_empty() {
            return Cow::Owned([prefix, b"/", name].concat());
        }
        Cow::Borrowed(name)
    }

    fn sparse(self, mut content: &'a [u8]) -> Result<Node<'a>, ArchiveError> {
        let position = self.position;
        if self.byte(482) != 0 {
            return Err(ArchiveError::Kind {
                position,
                kind: b'S',
            });
        }
        let length = self.number(483, 12)?;
        let mut parts = Vec::new();
        let mut end = 0;
        for at in (386..482).step_by(24) {
            let (from, count) = (self.number(at, 12)?, self.number(at + 12, 12)?);
            if count == 0 {
                continue;
            }
            let bad = ArchiveError::Number { position };
            let (part, rest) = usize::try_from(count)
                .ok()
                .and_then(|count| content.split_at_checked(count))
                .ok_or_else(|| bad.clone())?;
            if from < end || from.checked_add(count).is_none_or(|end| end > length) {
                return Err(bad);
            }
            end = from + count;
            content = rest;
            parts.push((from, part));
        }
        Ok(Node::File { length, parts })
    }
}

/// Returns `field` up to its first NUL.
fn text(field: &[u8]) -> &[u8] {
    field.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// Returns `name` if it leads nowhere but below the place it is unpacked to.
fn relative(name: Cow<'_, [u8]>) -> Option<Cow<'_, str>> {
    let name = match name {
        Cow::Borrowed(name) => Cow::Borrowed(std::str::from_utf8(name).ok()?.trim_end_matches('/')),
        Cow::Owned(name) => Cow::Owned(
            String::from_utf8(name)
                .ok()?
                .trim_end_matches('/')
                .to_owned(),
        ),
    };
    let safe = name.split('/').all(|part| !matches!(part, "" | "." | ".."));
    safe.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn header(name: &str, kind: u8, size: usize) -> [u8; BLOCK] {
        let mut block = [0; BLOCK];
        block[..name.len()].copy_from_slice(name.as_bytes());
        block[100..107].copy_from_slice(b"0000644");
        block[124..135].copy_from_slice(format!("{size:011o}").as_bytes());
        block[136..147].copy_from_slice(b"00000000017");
        block[156] = kind;
        block[257..265].copy_from_slice(b"ustar  \0");
        seal(&mut block);
        block
    }

    fn seal(block: &mut [u8; BLOCK]) {
        block[148..156].fill(b' ');
        let sum: u64 = block.iter().map(|&byte| u64::from(byte)).sum();
        block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    }

    fn unpacked(packed: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        ruzstd::decoding::StreamingDecoder::new(packed)
            .unwrap()
            .read_to_end(&mut bytes)
            .unwrap();
        bytes
    }

    #[test]
    fn reads_files_directories_long_names_and_holes() {
        let long = format!("{}/file", "d".repeat(120));
        let mut archive = Vec::new();
        archive.extend(header("dir/", b'5', 0));
        archive.extend(header("././@LongLink", b'L', long.len() + 1));
        let mut name = long.clone().into_bytes();
        name.resize(BLOCK, 0);
        archive.extend(&name);
        archive.extend(header("short", b'0', 3));
        archive.extend([b"abc".as_slice(), &[0; BLOCK - 3]].concat());
        let mut sparse = header("holes", b'S', 4);
        sparse[386..397].copy_from_slice(b"00000001000");
        sparse[398..409].copy_from_slice(b"00000000004");
        sparse[410..421].copy_from_slice(b"00000002000");
        sparse[483..494].copy_from_slice(b"00000002000");
        seal(&mut sparse);
        archive.extend(sparse);
        archive.extend([b"wxyz".as_slice(), &[0; BLOCK - 4]].concat());
        archive.extend([0; 2 * BLOCK]);

        let found: Vec<_> = entries(&archive).map(Result::unwrap).collect();
        assert_eq!(found.len(), 3);
        assert_eq!((&*found[0].path, &found[0].node), ("dir", &Node::Directory));
        assert_eq!(found[1].path, long);
        assert_eq!((found[1].mode, found[1].modified), (0o644, 15));
        let abc = Node::File {
            length: 3,
            parts: vec![(0, b"abc")],
        };
        assert_eq!(found[1].node, abc);
        let holes = Node::File {
            length: 1024,
            parts: vec![(512, b"wxyz")],
        };
        assert_eq!(found[2].node, holes);
    }

    #[test]
    fn refuses_names_that_lead_elsewhere() {
        for name in ["/etc/passwd", "a/../../b", "..", "a//b"] {
            let archive = header(name, b'0', 0);
            let error = entries(&archive).next().unwrap().unwrap_err();
            assert_eq!(error, ArchiveError::Name { position: 0 }, "{name}");
        }
    }

    #[test]
    fn refuses_a_torn_or_changed_archive() {
        let archive = header("a", b'0', 600);
        assert_eq!(
            entries(&archive).next().unwrap().unwrap_err(),
            ArchiveError::Torn { position: 0 }
        );
        let mut archive = header("a", b'0', 0);
        archive[0] = b'b';
        assert_eq!(
            entries(&archive).next().unwrap().unwrap_err(),
            ArchiveError::Checksum { position: 0 }
        );
        assert_eq!(entries(&archive).count(), 1);
    }

    #[test]
    fn reads_the_archives_of_this_crate() {
        let demo = unpacked(include_bytes!("../../demo-data/crashed.tar.zst"));
        let demo: Vec<_> = entries(&demo).map(Result::unwrap).collect();
        let length = |path: &str| {
            let entry = demo.iter().find(|entry| entry.path == path).unwrap();
            match &entry.node {
                Node::Directory => None,
                Node::File { length, .. } => Some(*length),
            }
        };
        assert_eq!(length("data1/payments-1"), None);
        assert!(length("server.properties").is_some());
        let full_size = demo.iter().filter(|entry| {
            matches!(
                entry.node,
                Node::File {
                    length: 10_485_760,
                    ..
                }
            ) && entry.path.ends_with(".index")
        });
        assert!(full_size.count() > 10);

        let golden = unpacked(include_bytes!("../../tests/golden/recovery/cases.tar.zst"));
        let count = entries(&golden).map(Result::unwrap).count();
        assert_eq!(count, 2692);
    }
}
