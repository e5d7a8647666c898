//! The trait of readers, bytes that were read, and reading ranges.

use std::fmt;
use std::io;
use std::ops::{Deref, Range};
use std::sync::Arc;

use crate::coalesce::{Access, COPIED_BYTES_MAX, ReadOptions, coalesce};

/// A file that is read by position, by many threads at once. Its length never changes while the reader lives,
/// unless its owner changes it by [`ChangeAt`](crate::ChangeAt).
pub trait ReadAt: Send + Sync {
    /// Length in bytes.
    fn len(&self) -> u64;

    /// Whether there are no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `buf` with the bytes of the file from byte `place` on.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] if the range reaches beyond the end (an empty `buf` may be at the end), else
    /// what the system reports. The content of `buf` is then unspecified.
    fn read_at(&self, place: u64, buf: &mut [u8]) -> io::Result<()>;

    /// The whole content, if it is in memory; callers then borrow it instead of reading.
    fn mapped(&self) -> Option<&[u8]> {
        None
    }

    /// Reads many ranges and returns their bytes in the same order, as [`read_ranges`](crate::read_ranges) says. A
    /// source whose requests wait long, such as an object store, makes them at the same time. It joins at least the
    /// ranges that its own [`ReadAt::read_options`] for takes would join, and makes no larger requests than these.
    ///
    /// # Errors
    /// As [`read_ranges`](crate::read_ranges).
    fn read_ranges<'a>(
        &'a self,
        ranges: &[Range<u64>],
        options: ReadOptions,
    ) -> io::Result<Vec<ReadBytes<'a>>> {
        read_in_turn(self, ranges, options)
    }

    /// Returns the options with which ranges of this source are best read: how far apart ranges may be to share a
    /// request is a property of the source.
    fn read_options(&self, _access: Access) -> ReadOptions {
        ReadOptions::LOCAL
    }

    /// Announces ranges that will be read soon, so that a slow source can fetch all of them at the same time. It is a
    /// hint: it may wait for a few of the ranges, promises nothing, and ignores ranges beyond the end.
    fn prefetch(&self, _ranges: &[Range<u64>]) {}

    /// Says whether the content can still be what it was when the reader was made, as far as that is cheap to know. For
    /// a local file: if its length and its time of modification are the same, which a change within the clock's
    /// resolution (a few milliseconds) or one that sets the time back does not show. Readers of memory cannot change.
    ///
    /// It costs about as much as a short read. Call it once a checksum fails, to tell a damaged file from one that was
    /// changed meanwhile, and where a result must be of one state of the file.
    ///
    /// # Errors
    /// [`Conflict::Changed`](crate::Conflict::Changed), or what the system reports.
    fn check_unchanged(&self) -> io::Result<()> {
        Ok(())
    }

    /// Whether all that is read is of one version of the content, or an error: no program changes in place what this
    /// reader reads. So it is with objects of a store, of which each request names the version that it wants.
    fn is_one_version(&self) -> bool {
        false
    }

    /// Returns a name of the content, if there is one: readers of the same file that return the same name have the same
    /// bytes. So it is with the ETag of an object. For a local file it is made of its number in the file system, its
    /// length and its times, which a change in place within the clock's resolution does not show.
    fn version(&self) -> Option<String> {
        None
    }
}

macro_rules! forward_read_at {
    ($($pointer:ty),*) => {$(
        impl<R: ReadAt + ?Sized> ReadAt for $pointer {
            fn len(&self) -> u64 {
                (**self).len()
            }

            fn read_at(&self, place: u64, buf: &mut [u8]) -> io::Result<()> {
                (**self).read_at(place, buf)
            }

            fn mapped(&self) -> Option<&[u8]> {
                (**self).mapped()
            }

            fn read_ranges<'a>(
                &'a self,
                ranges: &[Range<u64>],
                options: ReadOptions,
            ) -> io::Result<Vec<ReadBytes<'a>>> {
                (**self).read_ranges(ranges, options)
            }

            fn read_options(&self, access: Access) -> ReadOptions {
                (**self).read_options(access)
            }

            fn prefetch(&self, ranges: &[Range<u64>]) {
                (**self).prefetch(ranges);
            }

            fn check_unchanged(&self) -> io::Result<()> {
                (**self).check_unchanged()
            }

            fn is_one_version(&self) -> bool {
                (**self).is_one_version()
            }

            fn version(&self) -> Option<String> {
                (**self).version()
            }
        }
    )*};
}

forward_read_at!(&R, Box<R>, Arc<R>);

/// Checks that `n_bytes` bytes from `place` on are inside a file of `len` bytes. Every [`ReadAt::read_at`] does this
/// first.
///
/// # Errors
/// [`io::ErrorKind::UnexpectedEof`] if they are not.
pub fn check_inside(place: u64, n_bytes: u64, len: u64) -> io::Result<()> {
    match place.checked_add(n_bytes) {
        Some(end) if end <= len => Ok(()),
        _ => Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            format!(
                "a read of {n_bytes} bytes at {place} goes beyond the end of the file at {len}"
            ),
        )),
    }
}

/// The part of `content` that a read asks for.
pub(crate) fn inside(content: &[u8], place: u64, n_bytes: u64) -> io::Result<&[u8]> {
    check_inside(place, n_bytes, content.len() as u64)?;
    let slice = usize::try_from(place)
        .ok()
        .zip(usize::try_from(n_bytes).ok())
        .and_then(|(start, len)| content.get(start..start.checked_add(len)?));
    slice.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// Bytes that were read: borrowed from a reader that has them in memory, or a part of a buffer that several reads
/// share.
#[derive(Clone)]
pub struct ReadBytes<'a>(Repr<'a>);

#[derive(Clone)]
enum Repr<'a> {
    Borrowed(&'a [u8]),
    Shared(Arc<Vec<u8>>, Range<usize>),
}

impl<'a> ReadBytes<'a> {
    /// Borrowed bytes.
    pub fn borrowed(bytes: &'a [u8]) -> Self {
        Self(Repr::Borrowed(bytes))
    }

    /// The bytes `range` of a shared buffer.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] if the buffer is shorter.
    pub fn shared(buffer: Arc<Vec<u8>>, range: Range<usize>) -> io::Result<Self> {
        match buffer.get(range.clone()) {
            Some(_) => Ok(Self(Repr::Shared(buffer, range))),
            None => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a range reaches beyond its shared buffer",
            )),
        }
    }

    /// The bytes `range` of these, without a copy.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] if there are fewer.
    pub fn slice(&self, range: Range<usize>) -> io::Result<Self> {
        let beyond =
            || io::Error::new(io::ErrorKind::InvalidInput, "a slice beyond the bytes read");
        if range.start > range.end || range.end > self.len() {
            return Err(beyond());
        }
        match &self.0 {
            Repr::Borrowed(bytes) => bytes.get(range).map(Self::borrowed).ok_or_else(beyond),
            Repr::Shared(buffer, outer) => {
                let range = outer.start + range.start..outer.start + range.end;
                Self::shared(Arc::clone(buffer), range)
            }
        }
    }

    /// Returns the bytes without the reader's lifetime. Borrowed bytes are copied.
    pub fn into_owned(self) -> ReadBytes<'static> {
        match self.0 {
            Repr::Borrowed(bytes) => {
                ReadBytes(Repr::Shared(Arc::new(bytes.to_vec()), 0..bytes.len()))
            }
            Repr::Shared(buffer, range) => ReadBytes(Repr::Shared(buffer, range)),
        }
    }

    /// True if the bytes are borrowed from the reader (zero-copy).
    pub fn is_borrowed(&self) -> bool {
        matches!(self.0, Repr::Borrowed(_))
    }
}

impl Deref for ReadBytes<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Repr::Borrowed(bytes) => bytes,
            // Checked when it was made; `Arc` keeps the buffer as it was.
            Repr::Shared(buffer, range) => buffer.get(range.clone()).unwrap_or_default(),
        }
    }
}

impl AsRef<[u8]> for ReadBytes<'_> {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for ReadBytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReadBytes({} bytes)", self.len())
    }
}

/// Reads all `ranges` and returns their bytes in the same order. The bytes are borrowed if the reader has its content
/// in memory ([`ReadAt::mapped`]). Otherwise they are copied, and neighbours share requests and buffers as [`coalesce`]
/// plans. It is [`ReadAt::read_ranges`]: a reader of a slow source makes the requests at the same time.
///
/// # Errors
/// [`io::ErrorKind::UnexpectedEof`] for a range beyond the end (before anything is read),
/// [`io::ErrorKind::InvalidInput`] for one whose end is before its start, [`io::ErrorKind::OutOfMemory`] if there is no
/// memory for a request, and errors of the reader.
pub fn read_ranges<'a, R: ReadAt + ?Sized>(
    reader: &'a R,
    ranges: &[Range<u64>],
    options: ReadOptions,
) -> io::Result<Vec<ReadBytes<'a>>> {
    reader.read_ranges(ranges, options)
}

/// Reads ranges with one request after the other.
fn read_in_turn<'a, R: ReadAt + ?Sized>(
    reader: &'a R,
    ranges: &[Range<u64>],
    options: ReadOptions,
) -> io::Result<Vec<ReadBytes<'a>>> {
    let len = reader.len();
    for range in ranges {
        check_inside(range.start, range_bytes(range)?, len)?;
    }
    if let Some(content) = reader.mapped() {
        return ranges.iter().map(|range| borrow(content, range)).collect();
    }
    let mut parts = vec![ReadBytes::borrowed(&[]); ranges.len()];
    for read in coalesce(ranges, options.gap_bytes, options.request_bytes_max) {
        let buffer = Arc::new(read_buffer(reader, &read.range)?);
        for member in read.members {
            if let (Some(part), Some(range)) = (parts.get_mut(member), ranges.get(member)) {
                let start = in_memory(range.start - read.range.start)?;
                let end = in_memory(range.end - read.range.start)?;
                *part = ReadBytes::shared(Arc::clone(&buffer), start..end)?;
            }
        }
    }
    Ok(parts)
}

/// Reads one range.
///
/// # Errors
/// As [`read_ranges`].
pub fn read_range<R: ReadAt + ?Sized>(reader: &R, range: Range<u64>) -> io::Result<ReadBytes<'_>> {
    let n_bytes = range_bytes(&range)?;
    check_inside(range.start, n_bytes, reader.len())?;
    match reader.mapped() {
        Some(content) => borrow(content, &range),
        None => {
            let buffer = read_buffer(reader, &range)?;
            let len = buffer.len();
            ReadBytes::shared(Arc::new(buffer), 0..len)
        }
    }
}

/// Reads one range that is used only once. A range of at most 4 KiB is copied even if the reader is mapped: a
/// positioned read costs less than the first access to a page of a map.
///
/// # Errors
/// As [`read_ranges`].
pub fn read_once<R: ReadAt + ?Sized>(reader: &R, range: Range<u64>) -> io::Result<ReadBytes<'_>> {
    let n_bytes = range_bytes(&range)?;
    if n_bytes > COPIED_BYTES_MAX {
        return read_range(reader, range);
    }
    check_inside(range.start, n_bytes, reader.len())?;
    let buffer = read_buffer(reader, &range)?;
    let len = buffer.len();
    ReadBytes::shared(Arc::new(buffer), 0..len)
}

fn range_bytes(range: &Range<u64>) -> io::Result<u64> {
    range.end.checked_sub(range.start).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("the range {range:?} ends before it starts"),
        )
    })
}

fn borrow<'a>(content: &'a [u8], range: &Range<u64>) -> io::Result<ReadBytes<'a>> {
    inside(content, range.start, range_bytes(range)?).map(ReadBytes::borrowed)
}

/// Reads a range into a new buffer. The caller has compared it with the length of the file.
fn read_buffer<R: ReadAt + ?Sized>(reader: &R, range: &Range<u64>) -> io::Result<Vec<u8>> {
    let len = in_memory(range_bytes(range)?)?;
    let mut buffer = Vec::new();
    // A sparse file may be larger than memory; that is an error, not the end of the process.
    if buffer.try_reserve_exact(len).is_err() {
        return Err(no_memory(len as u64));
    }
    buffer.resize(len, 0);
    reader.read_at(range.start, &mut buffer)?;
    Ok(buffer)
}

fn in_memory(n_bytes: u64) -> io::Result<usize> {
    usize::try_from(n_bytes).map_err(|_| no_memory(n_bytes))
}

fn no_memory(n_bytes: u64) -> io::Error {
    io::Error::new(
        io::ErrorKind::OutOfMemory,
        format!("no memory for a read of {n_bytes} bytes"),
    )
}
