//! A sink that counts what went into it.

use std::io;

use tarsia_io::Sink;

/// Zeros that pages are padded with; no page starts at a multiple of more.
const PADDING: [u8; 64] = [0; 64];

const _: () = assert!(tarsia_metadata::limits::PAGE_ALIGN_LARGE <= PADDING.len() as u64);

/// A sink and the place at which the next byte will lie.
pub(crate) struct Output<S: ?Sized> {
    position: u64,
    sink: S,
}

impl<S> Output<S> {
    pub(crate) fn new(sink: S) -> Self {
        Self { position: 0, sink }
    }

    pub(crate) fn into_sink(self) -> S {
        self.sink
    }
}

impl<S: Sink + ?Sized> Output<S> {
    /// Bytes appended so far.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sink.append(bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    /// Appends zeros, so that the next byte lies at a multiple of `align`.
    pub(crate) fn pad_to(&mut self, align: u64) -> io::Result<()> {
        let pad = self.position.next_multiple_of(align) - self.position;
        self.append(&PADDING[..pad as usize])
    }

    /// Puts other bytes at the start and completes the file. A sink that cannot go back keeps the bytes that it has.
    pub(crate) fn commit(&mut self, first_bytes: &[u8]) -> io::Result<()> {
        self.sink.overwrite(0, first_bytes)?;
        self.sink.commit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarsia_io::MemorySink;

    #[test]
    fn padding_is_counted_and_the_start_is_replaced_where_that_is_possible() {
        let sink = MemorySink::new();
        let handle = sink.handle();
        let mut output = Output::new(sink);
        output.append(b"start").unwrap();
        output.pad_to(8).unwrap();
        output.pad_to(8).unwrap();
        output.append(b"end").unwrap();
        assert_eq!(output.position(), 11);
        output.commit(b"S").unwrap();
        assert_eq!(handle.take().unwrap(), b"Start\0\0\0end");

        let mut output = Output::new(Vec::new());
        output.append(b"start").unwrap();
        output.pad_to(64).unwrap();
        assert_eq!(output.position(), 64);
        output.commit(b"S").unwrap();
        assert!(output.into_sink().starts_with(b"start\0"));
    }
}
