//! The standard output as a handle that outlives its reader.

use std::io::{self, Write};

/// Writes to `inner` until its reader goes away, then drops what is written.
///
/// `krescue scan --json | head -1` must neither fail nor change its exit code; and an apply must not end because nobody
/// reads on.
pub(super) struct Quiet<W> {
    inner: W,
    gone: bool,
}

impl<W: Write> Quiet<W> {
    /// Returns a handle over `inner`.
    pub(super) fn new(inner: W) -> Self {
        Self { inner, gone: false }
    }

    /// Takes a closed pipe for success from now on.
    fn settle<T>(&mut self, result: io::Result<T>, done: T) -> io::Result<T> {
        match result {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.gone = true;
                Ok(done)
            }
            other => other,
        }
    }
}

impl<W: Write> Write for Quiet<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.gone {
            return Ok(bytes.len());
        }
        let result = self.inner.write(bytes);
        self.settle(result, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.gone {
            return Ok(());
        }
        let result = self.inner.flush();
        self.settle(result, ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }

    #[test]
    fn a_reader_that_goes_away_is_no_error() {
        let mut out = Quiet::new(Closed);
        assert!(writeln!(out, "a line").is_ok());
        assert!(out.flush().is_ok());
    }
}
