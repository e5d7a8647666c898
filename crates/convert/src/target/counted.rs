//! A sink for writers of other crates, which counts its bytes.

use std::io::{self, Write};

use tarsia_io::Sink;

/// A sink that is written to, and how many bytes it got.
pub(super) struct Counted<S> {
    sink: S,
    bytes: u64,
}

impl<S: Sink> Counted<S> {
    pub(super) fn new(sink: S) -> Counted<S> {
        Counted { sink, bytes: 0 }
    }

    /// Completes the file, and returns how many bytes it has.
    pub(super) fn commit(mut self) -> io::Result<(S, u64)> {
        self.sink.commit()?;
        Ok((self.sink, self.bytes))
    }
}

impl<S: Sink> Write for Counted<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.sink.append(bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
