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
