//! The bytes that a step writes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Bytes a step writes: named by their hash, held here or in the plan's folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// How many bytes.
    pub len: u64,
    /// Their SHA-256 in lower-case hex.
    pub sha256: String,
    /// The bytes; `None` once they are stored by their hash in the plan's folder.
    #[serde(skip)]
    pub bytes: Option<Arc<[u8]>>,
}

impl Content {
    /// Returns the content `bytes`, held in memory.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self {
            len: bytes.len() as u64,
            sha256: hex(&Sha256::digest(&bytes)),
            bytes: Some(bytes.into()),
        }
    }
}

/// Returns `bytes` in lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let mut text = String::with_capacity(bytes.len() * 2);
    text.extend(digits.filter_map(|digit| char::from_digit(digit.into(), 16)));
    text
}
