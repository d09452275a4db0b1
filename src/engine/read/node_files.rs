//! The small files beside a node's metadata log: its vote, and what it was formatted with.

use std::path::{Path, PathBuf};

use super::dir_facts::read_whole;
use crate::cluster::Bootstrap;
use crate::disk::Storage;
use crate::format::file_name::QUORUM_STATE;
use crate::format::quorum_state::QuorumState;

/// The largest of them that is read.
const MOST: u64 = 4 << 20;
const BOOTSTRAP: &str = "bootstrap.checkpoint";
/// What 4.4 writes in its place, in the metadata log's dir.
const FIRST_SNAPSHOT: &str = "00000000000000000000-0000000000.checkpoint";

/// What the files say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeFiles {
    /// The vote; the error says why it cannot be read, and `None` that there is none.
    pub quorum: Option<Result<QuorumState, String>>,
    /// What the node was formatted with.
    pub bootstrap: Option<Bootstrap>,
}

/// Reads the files of a node: `metadata` is its `__cluster_metadata-0`, `log_dirs` where a `bootstrap.checkpoint` may lie.
/// Files that are not there say nothing.
pub fn read_node_files(storage: &dyn Storage, metadata: &Path, log_dirs: &[PathBuf]) -> NodeFiles {
    let quorum = match read_whole(storage, &metadata.join(QUORUM_STATE), MOST) {
        Ok(bytes) => Some(QuorumState::parse(&bytes).map_err(|error| error.to_string())),
        Err(error) if error.is_not_found() => None,
        Err(error) => Some(Err(error.sentence())),
    };
    let own = metadata.parent().map(Path::to_owned);
    let dirs = own.iter().chain(log_dirs);
    let of_dirs = dirs.map(|dir| (dir.join(BOOTSTRAP), BOOTSTRAP));
    let mut files = of_dirs.chain([(metadata.join(FIRST_SNAPSHOT), FIRST_SNAPSHOT)]);
    let bootstrap = files.find_map(|(path, name)| {
        let bytes = read_whole(storage, &path, MOST).ok()?;
        Some(Bootstrap::parse(name, &bytes))
    });
    NodeFiles { quorum, bootstrap }
}
