//! A file as it will be after changes.

use std::io;
use std::ops::Range;

use crate::read::{ReadAt, check_inside};

/// Bytes that a [`PatchedReader`] has instead of those of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Patch {
    /// These bytes.
    Bytes {
        /// Offset of the first one.
        place: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Zeros.
    Zeros {
        /// Offset of the first one.
        place: u64,
        /// Number of zeros.
        length: u64,
    },
}

impl Patch {
    /// Offset of the first byte.
    pub fn place(&self) -> u64 {
        match self {
            Self::Bytes { place, .. } | Self::Zeros { place, .. } => *place,
        }
    }

    /// Number of bytes.
    pub fn length(&self) -> u64 {
        match self {
            Self::Bytes { bytes, .. } => bytes.len() as u64,
            Self::Zeros { length, .. } => *length,
        }
    }

    fn end(&self) -> u64 {
        self.place().saturating_add(self.length())
    }

    /// Copies what lies in `buf`, which starts at `start`.
    fn copy_to(&self, buf: &mut [u8], start: u64) {
        let end = start.saturating_add(buf.len() as u64);
        let common = self.place().max(start)..self.end().min(end);
        let Some(to) = within(&common, start).and_then(|range| buf.get_mut(range)) else {
            return;
        };
        match self {
            Self::Zeros { .. } => to.fill(0),
            Self::Bytes { place, bytes } => {
                if let Some(from) = within(&common, *place).and_then(|range| bytes.get(range))
                    && from.len() == to.len()
                {
                    to.copy_from_slice(from);
                }
            }
        }
    }
}

/// The range counted from `start`; `None` if it is empty.
fn within(range: &Range<u64>, start: u64) -> Option<Range<usize>> {
    let first = usize::try_from(range.start.checked_sub(start)?).ok()?;
    let end = usize::try_from(range.end.checked_sub(start)?).ok()?;
    (first < end).then_some(first..end)
}

/// A file with some ranges replaced and another length: what it will be after changes that are not made yet. Where no
/// patch is, it has the bytes of the file, and zeros beyond the end of the file.
///
/// Its content is not in one piece of memory, so [`ReadAt::mapped`] is `None`. The patches are in memory.
#[derive(Debug)]
pub struct PatchedReader<R> {
    inner: R,
    patches: Vec<Patch>,
    len: u64,
}

impl<R: ReadAt> PatchedReader<R> {
    /// The file `inner` with `patches`, which rise by place and do not overlap, and with `len` bytes.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] for patches that do not rise, that overlap, or that reach beyond `len`.
    pub fn new(inner: R, patches: Vec<Patch>, len: u64) -> io::Result<Self> {
        let mut free = 0;
        for patch in &patches {
            let place = patch.place();
            let end = place.checked_add(patch.length());
            match end {
                Some(end) if place >= free && end <= len => free = end,
                _ => {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidInput,
                        format!(
                            "a patch of {} bytes at {place}: free are {free}..{len}",
                            patch.length()
                        ),
                    ));
                }
            }
        }
        Ok(Self {
            inner,
            patches,
            len,
        })
    }

    /// The file without the patches.
    pub fn inner(&self) -> &R {
        &self.inner
    }

    /// The file without the patches, and the patches.
    pub fn into_parts(self) -> (R, Vec<Patch>) {
        (self.inner, self.patches)
    }
}

impl<R: ReadAt> ReadAt for PatchedReader<R> {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, place: u64, buf: &mut [u8]) -> io::Result<()> {
        check_inside(place, buf.len() as u64, self.len)?;
        let end = place.saturating_add(buf.len() as u64);
        let first = self.patches.partition_point(|patch| patch.end() <= place);
        let patches = self.patches.get(first..).unwrap_or_default();
        // A range that a patch replaces as a whole is not read from the file.
        let covered = patches
            .first()
            .is_some_and(|patch| patch.place() <= place && end <= patch.end());
        if !covered {
            let stored = self.inner.len().saturating_sub(place);
            let stored = usize::try_from(stored).unwrap_or(usize::MAX).min(buf.len());
            let (from_file, beyond) = buf.split_at_mut(stored);
            if !from_file.is_empty() {
                self.inner.read_at(place, from_file)?;
            }
            beyond.fill(0);
        }
        for patch in patches.iter().take_while(|patch| patch.place() < end) {
            patch.copy_to(buf, place);
        }
        Ok(())
    }

    fn prefetch(&self, ranges: &[Range<u64>]) {
        self.inner.prefetch(ranges);
    }

    fn check_unchanged(&self) -> io::Result<()> {
        self.inner.check_unchanged()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::memory::MemoryFile;

    fn bytes(place: u64, bytes: &[u8]) -> Patch {
        Patch::Bytes {
            place,
            bytes: bytes.to_vec(),
        }
    }

    #[test]
    fn patches_that_do_not_rise_or_reach_beyond_the_end_are_refused() {
        for patches in [
            vec![bytes(4, b"ab"), bytes(5, b"c")],
            vec![bytes(4, b"ab"), bytes(1, b"c")],
            vec![bytes(7, b"ab")],
            vec![Patch::Zeros {
                place: u64::MAX,
                length: 2,
            }],
        ] {
            let file = MemoryFile::new(vec![1; 20]);
            let error = PatchedReader::new(file, patches, 8).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{error}");
        }
    }

    #[test]
    fn reads_end_at_the_new_length() {
        let file = PatchedReader::new(MemoryFile::new(vec![1; 8]), vec![], 4).unwrap();
        let error = file.read_at(3, &mut [0; 2]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        assert!(file.mapped().is_none());
        assert_eq!(file.inner().len(), 8);
    }

    proptest! {
        #[test]
        fn every_range_reads_as_if_the_changes_were_made(
            old in proptest::collection::vec(any::<u8>(), 0..60),
            gaps in proptest::collection::vec((0..9u64, 0..9usize, any::<bool>()), 0..8),
            more in 0..20u64,
        ) {
            let (mut patches, mut at) = (vec![], 0);
            for (gap, length, is_zero) in gaps {
                let place = at + gap;
                patches.push(if is_zero {
                    Patch::Zeros { place, length: length as u64 }
                } else {
                    bytes(place, &vec![place as u8 | 1; length])
                });
                at = place + length as u64;
            }
            let len = at + more;
            let mut expect = old.clone();
            expect.resize(len as usize, 0);
            for patch in &patches {
                let range = patch.place() as usize..patch.end() as usize;
                match patch {
                    Patch::Zeros { .. } => expect[range].fill(0),
                    Patch::Bytes { bytes, .. } => expect[range].copy_from_slice(bytes),
                }
            }
            let file = PatchedReader::new(MemoryFile::new(old), patches, len).unwrap();
            for start in 0..=len as usize {
                for end in start..=len as usize {
                    let mut got = vec![0xee; end - start];
                    file.read_at(start as u64, &mut got).unwrap();
                    prop_assert_eq!(&got, &expect[start..end]);
                }
            }
        }
    }
}
