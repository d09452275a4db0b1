//! The calling thread's I/O class (`ioprio_set(2)`).

/// Lets the calling thread read only when nobody else does; a system without I/O classes ignores it.
#[expect(unsafe_code, reason = "no crate in use wraps this system call")]
pub fn become_idle_reader() {
    const WHO_PROCESS: nix::libc::c_int = 1;
    const THIS_THREAD: nix::libc::c_int = 0;
    const CLASS_IDLE: nix::libc::c_int = 3 << 13;
    // SAFETY: the call takes three numbers and touches no memory of ours.
    let _ = unsafe {
        nix::libc::syscall(
            nix::libc::SYS_ioprio_set,
            WHO_PROCESS,
            THIS_THREAD,
            CLASS_IDLE,
        )
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(unsafe_code, reason = "no crate in use wraps this system call")]
    fn class_of_this_thread() -> nix::libc::c_long {
        const WHO_PROCESS: nix::libc::c_int = 1;
        // SAFETY: the call takes two numbers and touches no memory of ours.
        let priority = unsafe { nix::libc::syscall(nix::libc::SYS_ioprio_get, WHO_PROCESS, 0) };
        assert!(priority >= 0, "{}", std::io::Error::last_os_error());
        priority >> 13
    }

    #[test]
    fn the_calling_thread_reads_when_nobody_else_does_and_no_other_thread() {
        const IDLE: nix::libc::c_long = 3;
        let before = class_of_this_thread();
        assert_ne!(before, IDLE);
        let reader = std::thread::spawn(|| {
            become_idle_reader();
            class_of_this_thread()
        });
        assert_eq!(reader.join().unwrap(), IDLE);
        assert_eq!(class_of_this_thread(), before);
    }
}
