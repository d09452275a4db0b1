//! What a node's disk says of its cluster beside the image: who votes, who led, what it was formatted with.

use std::collections::BTreeMap;
use std::convert::Infallible;

use crate::cluster::fold::{FoldError, ImageFold};
use crate::cluster::image::MetadataImage;
use crate::cluster::metadata_dir::for_each_batch;
use crate::format::quorum_state::QuorumState;
use crate::terms::{LeaderEpoch, Offset, Timestamp};

/// What a node's metadata says, beside topics and brokers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeMetadata {
    /// The first offset that is not in the image, and the time of the last record in it; `None` where the metadata log was
    /// not read.
    pub as_of: Option<(Offset, Timestamp)>,
    /// The features and their levels, by the image; `metadata.version` is one.
    pub features: BTreeMap<String, i16>,
    /// The node's vote; the error says why it cannot be read, and `None` that there is none.
    pub quorum: Option<Result<QuorumState, String>>,
    /// Who votes, and where that is from.
    pub voters: Option<(Vec<i32>, VotersSource)>,
    /// What the node was formatted with; `None` if its file is gone.
    pub bootstrap: Option<Bootstrap>,
}

/// Where the voters are from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VotersSource {
    /// Control records of the metadata log: voters that may change (KIP-853).
    Records,
    /// `quorum-state` of layout 0.
    QuorumState,
    /// `controller.quorum.voters`.
    Config,
}

impl VotersSource {
    /// Returns it in a few words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Records => "the metadata log",
            Self::QuorumState => "quorum-state",
            Self::Config => "controller.quorum.voters",
        }
    }
}

/// What a node was formatted with: `bootstrap.checkpoint`, or the snapshot at offset 0 that 4.4 writes instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bootstrap {
    /// The file's path inside the log dir.
    pub file: String,
    /// The features; the error says why they cannot be read.
    pub features: Result<BTreeMap<String, i16>, FoldError>,
}

impl Bootstrap {
    /// Reads the bytes of such a file.
    pub fn parse(file: &str, bytes: &[u8]) -> Self {
        let mut fold = ImageFold::new();
        let read = |position: u64, count: usize| -> Result<Vec<u8>, Infallible> {
            let from = usize::try_from(position)
                .unwrap_or(usize::MAX)
                .min(bytes.len());
            let rest = bytes.get(from..).unwrap_or_default();
            Ok(rest.get(..count).unwrap_or(rest).to_vec())
        };
        let Ok(walked) = for_each_batch(0, read, |batch| fold.snapshot_batch(batch));
        let whole = fold.end_snapshot(Offset::ZERO, LeaderEpoch(0));
        let features = match walked {
            Err(error) => Err(error),
            Ok(_) if !whole => Err(FoldError::NoFooter),
            Ok(_) => Ok(features(fold.image())),
        };
        Self {
            file: file.to_owned(),
            features,
        }
    }
}

/// Returns the features of an image.
pub fn features(image: &MetadataImage) -> BTreeMap<String, i16> {
    let features = image.features();
    features
        .map(|(name, level)| (name.to_owned(), level))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_snapshot_has_no_features() {
        let parse = |bytes: &[u8]| Bootstrap::parse("bootstrap.checkpoint", bytes).features;
        assert_eq!(parse(b""), Err(FoldError::NoFooter));
        assert!(parse(&[7; 100]).is_err());
    }
}
