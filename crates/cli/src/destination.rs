//! Files that commands write: under a temporary name until they are complete, or streams.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use same_file::is_same_file;
use tarsia::io::{FileSink, Sink};

use crate::failure::Failure;
use crate::stop::{Temporary, remove_if_stopped, stop};

/// The name that stands for the standard output.
const STANDARD_OUTPUT: &str = "-";

/// Where a command writes its file.
///
/// A regular file gets its name when it is complete ([`Sink::commit`]), and replaces what was there; through a symbolic
/// link, what the link points to. It is removed if it is dropped before, or if a signal ends the process. The standard
/// output, pipes and character devices get the bytes as they come.
pub struct Destination(Kind);

enum Kind {
    File {
        sink: FileSink,
        /// Dropped after the sink: until its file is gone a signal must remove it, too.
        _temporary: Temporary,
    },
    Stream(File),
    StandardOutput,
}

impl Destination {
    /// The destination at `path` of what is made of `input`. `-` is the standard output.
    ///
    /// # Errors
    /// [`Failure::Usage`] where `path` is the input, under any name, or is a directory, a socket or a block device;
    /// [`Failure::Bad`] where it cannot be written.
    pub fn open(path: &Path, input: &Path) -> Result<Destination, Failure> {
        if is_standard_output(path) {
            return Ok(Destination(Kind::StandardOutput));
        }
        let bad = |error: io::Error| Failure::bad(path, error);
        if let Ok(found) = std::fs::metadata(path) {
            if is_stream(&found) {
                let stream = OpenOptions::new().write(true).open(path).map_err(bad)?;
                return Ok(Destination(Kind::Stream(stream)));
            }
            if !found.is_file() {
                return Err(Failure::Usage(format!(
                    "{}: is no regular file, pipe or character device",
                    path.display()
                )));
            }
            // It opens both, which is right for regular files only.
            if is_same_file(path, input).unwrap_or(false) {
                return Err(Failure::Usage(format!(
                    "{}: is the file that is read; give another name",
                    path.display()
                )));
            }
        }
        let create = || FileSink::create(path);
        let (sink, temporary) = remove_if_stopped(create, FileSink::temporary).map_err(bad)?;
        Ok(Destination(Kind::File {
            sink,
            _temporary: temporary,
        }))
    }
}

/// True if the name stands for the standard output, so that nothing else may be printed there.
#[must_use]
pub fn is_standard_output(path: &Path) -> bool {
    path == Path::new(STANDARD_OUTPUT)
}

#[cfg(unix)]
fn is_stream(found: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    found.file_type().is_fifo() || found.file_type().is_char_device()
}

#[cfg(not(unix))]
fn is_stream(_: &std::fs::Metadata) -> bool {
    false
}

/// Nobody wants what comes after the reader has closed it, so the command ends.
fn to_standard_output(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let written = out.write_all(bytes).and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => stop(&Failure::Closed),
        written => written,
    }
}

impl Sink for Destination {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.0 {
            Kind::File { sink, .. } => sink.append(bytes),
            Kind::Stream(stream) => stream.write_all(bytes),
            Kind::StandardOutput => to_standard_output(bytes),
        }
    }

    fn overwrite(&mut self, place: u64, bytes: &[u8]) -> io::Result<bool> {
        match &mut self.0 {
            Kind::File { sink, .. } => sink.overwrite(place, bytes),
            Kind::Stream(_) | Kind::StandardOutput => Ok(false),
        }
    }

    fn commit(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Kind::File { sink, .. } => sink.commit(),
            Kind::Stream(stream) => stream.flush(),
            Kind::StandardOutput => to_standard_output(&[]),
        }
    }
}

/// A destination for writers of other crates, which counts its bytes.
pub(crate) struct Counted {
    destination: Destination,
    bytes: u64,
}

impl Counted {
    pub(crate) fn new(destination: Destination) -> Counted {
        Counted {
            destination,
            bytes: 0,
        }
    }

    /// Completes the file, and returns how many bytes it has.
    pub(crate) fn commit(mut self) -> io::Result<u64> {
        self.destination.commit()?;
        Ok(self.bytes)
    }
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.destination.append(bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
