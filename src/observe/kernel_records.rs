//! The kernel's messages, from its ring buffer.
//!
//! ```text
//! 3,1234,98765432,-;blk_update_request: I/O error, dev sdb, sector 2048
//! priority,sequence,µs since boot,flags;text
//! ```

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// One record of the ring buffer is at most this long.
const RECORD: usize = 8192;
/// Reads that are made: more than the ring buffer holds records.
const MAX_READS: usize = 1_000_000;

/// Gives each line of `kmsg` (`/dev/kmsg`) to `take`, the oldest first, its head included.
///
/// # Errors
///
/// It may not be read by this user.
pub(super) fn each_line(kmsg: &Path, mut take: impl FnMut(&str)) -> io::Result<()> {
    let mut options = File::options();
    // The end of what is there is an error instead of a wait.
    options.read(true).custom_flags(nix::libc::O_NONBLOCK);
    let mut file = options.open(kmsg)?;
    let mut buffer = vec![0; RECORD];
    for _ in 0..MAX_READS {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => {
                let text = String::from_utf8_lossy(buffer.get(..read).unwrap_or_default());
                // A plain file gives many at once.
                text.lines().for_each(&mut take);
            }
            // A record that was overwritten meanwhile, or a signal.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::BrokenPipe | io::ErrorKind::Interrupted
                ) => {}
            Err(_) => break,
        }
    }
    Ok(())
}
