//! Files that commands write: under a temporary name until they are complete, or streams.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use same_file::is_same_file;
use tarsia::io::{FileSink, Sink};

use crate::failure::Failure;
use crate::place::{NewFile, Place, Places};
use crate::stop::{Temporary, abandon_if_stopped, remove_if_stopped, stop};

/// The name that stands for the standard output.
const STANDARD_OUTPUT: &str = "-";

/// Where a command writes its file.
///
/// A regular file gets its name when it is complete ([`Sink::commit`]), and replaces what was there; through a symbolic
/// link, what the link points to. It is removed if it is dropped before, or if a signal ends the process. So it is with
/// the file of a URL. The standard output, pipes and character devices get the bytes as they come.
pub struct Destination(Kind);

enum Kind {
    File {
        sink: FileSink,
        /// Dropped after the sink: until its file is gone a signal must remove it, too.
        _temporary: Temporary,
    },
    Upload {
        sink: Box<dyn Sink>,
        /// As above.
        _temporary: Temporary,
    },
    Stream(File),
    StandardOutput,
}

impl Destination {
    /// The destination at `output` of what is made of `input`. `-` is the standard output.
    ///
    /// # Errors
    /// [`Failure::Usage`] where `output` is the input, under any name, or is a directory, a socket or a block device;
    /// [`Failure::Bad`] where it cannot be written; those of [`Places::create`].
    pub fn open(
        places: &dyn Places,
        output: &Place,
        input: &Place,
    ) -> Result<Destination, Failure> {
        if let Some(url) = output.url() {
            refuse_same(output, input, "is the file that is read")?;
            let NewFile { sink, abandon } = places.create(url)?;
            return Ok(Destination(Kind::Upload {
                sink,
                _temporary: abandon_if_stopped(abandon),
            }));
        }
        let path = output.path()?;
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
            refuse_same(output, input, "is the file that is read")?;
        }
        let create = || FileSink::create(path);
        let (sink, temporary) = remove_if_stopped(create, FileSink::temporary).map_err(bad)?;
        Ok(Destination(Kind::File {
            sink,
            _temporary: temporary,
        }))
    }
}

/// Refuses a file to write that is another one under any name: through links, too. `what` says which one that is. Files
/// that are not there yet are the same if they have the same name in the same folder. URLs are the same if their texts
/// are.
///
/// # Errors
/// [`Failure::Usage`].
pub(crate) fn refuse_same(one: &Place, other: &Place, what: &str) -> Result<(), Failure> {
    let is_same = match (one.path(), other.path()) {
        (Ok(one), Ok(other)) => are_same_files(one, other),
        _ => one.url() == other.url(),
    };
    match is_same {
        true => Err(Failure::Usage(format!(
            "{}: {what}; give another name",
            one.name().display()
        ))),
        false => Ok(()),
    }
}

fn are_same_files(path: &Path, other: &Path) -> bool {
    // It opens both, which is right for regular files only.
    let is_file = |path: &Path| std::fs::metadata(path).is_ok_and(|found| found.is_file());
    match (is_file(path), is_file(other)) {
        (true, true) => is_same_file(path, other).unwrap_or(false),
        _ => match (place_of(path), place_of(other)) {
            (Some(path), Some(other)) => path == other,
            _ => path == other,
        },
    }
}

/// The name that a file has or will have, without links.
fn place_of(path: &Path) -> Option<PathBuf> {
    if let Ok(found) = path.canonicalize() {
        return Some(found);
    }
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    Some(folder.canonicalize().ok()?.join(path.file_name()?))
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
            Kind::Upload { sink, .. } => sink.append(bytes),
            Kind::Stream(stream) => stream.write_all(bytes),
            Kind::StandardOutput => to_standard_output(bytes),
        }
    }

    fn overwrite(&mut self, place: u64, bytes: &[u8]) -> io::Result<bool> {
        match &mut self.0 {
            Kind::File { sink, .. } => sink.overwrite(place, bytes),
            Kind::Upload { sink, .. } => sink.overwrite(place, bytes),
            Kind::Stream(_) | Kind::StandardOutput => Ok(false),
        }
    }

    fn commit(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Kind::File { sink, .. } => sink.commit(),
            Kind::Upload { sink, .. } => sink.commit(),
            Kind::Stream(stream) => stream.flush(),
            Kind::StandardOutput => to_standard_output(&[]),
        }
    }
}
