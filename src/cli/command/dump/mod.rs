//! `krescue dump FILE`: decodes one file of a log dir by its name.
//!
//! Text has a row a line: its kind, then names and values. JSON has the same rows, an object a line, in the same order.
//! A damaged file is shown as far as it goes, with a `finding` row at each place; only a file that cannot be read or
//! whose name says nothing is an error. The rows:
//!
//! | kind | of | fields |
//! |---|---|---|
//! | `file` | every file, first | `path`, `content`, `bytes` |
//! | `batch` | `.log`, `.checkpoint` | `position`, `bytes`, `base_offset`, `last_offset`, `magic`, `crc`, `crc_ok`, … |
//! | `message` | `.log` of magic 0 and 1 | as above |
//! | `record`, `control_record`, `metadata_record` | the same, with `--records` | `offset`, `timestamp`, … |
//! | `index_entry`, `time_index_entry`, `aborted_txn` | the indexes | `position`, … |
//! | `producer` | `.snapshot` | `producer_id`, … |
//! | `checkpoint_entry`, `epoch` | the checkpoints | `topic`, `partition`, `offset`; `epoch`, `start_offset` |
//! | `property`, `meta_properties`, `partition_metadata`, `clean_shutdown`, `quorum_state` | the rest | |
//! | `zeros` | a tail of zeros | `position`, `bytes` |
//! | `finding` | what is wrong | `code`, `severity`, `file`, `position`, `text` |
//! | `summary` | every file, last | counts, `findings`, `exit` |

mod batches;
mod index;
mod records;
mod row;
mod run;
mod small_file;
mod source;

pub use run::{DumpDepth, dump};
