//! What of a file the page cache holds, asked without touching it (`cachestat(2)`, Linux 6.5).

use std::fs::File;
use std::os::fd::AsRawFd;

#[repr(C)]
#[derive(Default)]
struct Range {
    position: u64,
    len: u64,
}

#[repr(C)]
#[derive(Default)]
struct Stat {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// The system call's number, the same on every architecture.
const CACHESTAT: nix::libc::c_long = 451;

/// Says whether the page cache holds any of the range; `None` where the system cannot tell.
#[expect(unsafe_code, reason = "no crate in use wraps this system call")]
pub(super) fn is_cached(file: &File, position: u64, len: u64) -> Option<bool> {
    let range = Range { position, len };
    let mut stat = Stat::default();
    // SAFETY: both structs have the kernel's layout and outlive the call, which writes to `stat` only; the descriptor is
    // open as long as `file` is borrowed.
    let answer = unsafe {
        nix::libc::syscall(
            CACHESTAT,
            file.as_raw_fd(),
            &raw const range,
            &raw mut stat,
            0_u32,
        )
    };
    (answer == 0).then_some(stat.cached > 0)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn what_was_just_written_is_cached() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![7; 65536]).unwrap();
        assert_ne!(is_cached(&file, 0, 65536), Some(false));
    }
}
