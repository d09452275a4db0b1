//! Files of the packed data under `tests/golden`.

use std::collections::BTreeMap;
use std::io::Read as _;

use krescue::format::archive::{Node, entries};

/// Path inside the archive → bytes; a directory's path ends in a slash.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// Unpacks a `.tar.zst` in memory.
pub(crate) fn unpack(packed: &[u8]) -> Files {
    let mut tar = Vec::new();
    ruzstd::decoding::StreamingDecoder::new(packed)
        .unwrap()
        .read_to_end(&mut tar)
        .unwrap();
    let mut files = Files::new();
    for entry in entries(&tar) {
        let entry = entry.unwrap();
        let path = entry
            .path
            .trim_start_matches("./")
            .trim_end_matches('/')
            .to_owned();
        match entry.node {
            Node::Directory => {
                files.insert(format!("{path}/"), Vec::new());
            }
            Node::File { length, parts } => {
                let mut bytes = vec![0; usize::try_from(length).unwrap()];
                for (position, part) in parts {
                    let position = usize::try_from(position).unwrap();
                    bytes[position..position + part.len()].copy_from_slice(part);
                }
                files.insert(path, bytes);
            }
        }
    }
    files
}

/// Returns the files below `prefix`, by their path from there; directories hold a `/` in their name.
pub(crate) fn below(files: &Files, prefix: &str) -> Files {
    files
        .iter()
        .filter_map(|(path, bytes)| {
            path.strip_prefix(prefix)
                .map(|rest| (rest.to_owned(), bytes.clone()))
        })
        .collect()
}
