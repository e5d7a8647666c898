//! The end of a file, as its writer and its erasers put it together: sections, footer, postscript, root digest.

use std::ops::Range;

use tarsia_codec::Version;
use tarsia_compliance as compliance;
use tarsia_compliance::Digest;
use tarsia_metadata::limits::POSTSCRIPT_BYTES;
use tarsia_metadata::{
    Footer, Postscript, SECTION_DELETED, SECTION_ERASED, SECTION_MOVED, Section, SectionFlags,
};

use crate::error::Result;

/// Parts of a file, and sections among them, start at a multiple of this.
const ALIGN: usize = 8;

/// Bytes of a file that lie one behind the other, as they grow.
pub(crate) struct Growing {
    start: u64,
    bytes: Vec<u8>,
}

impl Growing {
    /// No bytes yet. The first one will lie at `start`, a multiple of 8.
    pub(crate) fn at(start: u64) -> Self {
        Self {
            start,
            bytes: Vec::new(),
        }
    }

    /// Where the next byte will lie.
    pub(crate) fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Appends bytes; returns their place.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> u64 {
        let place = self.end();
        self.bytes.extend_from_slice(bytes);
        place
    }

    /// Appends bytes and zeros up to a multiple of 8; returns the place of the bytes.
    pub(crate) fn push_padded(&mut self, bytes: &[u8]) -> Range<u64> {
        let range = self.push(bytes)..self.end();
        let padded = self.bytes.len().next_multiple_of(ALIGN);
        self.bytes.resize(padded, 0);
        range
    }

    /// Appends a section of the whole table.
    pub(crate) fn push_section(&mut self, id: u32, bytes: &[u8]) -> Section {
        Section {
            id,
            version: Version::new(1, 0),
            range: self.push_padded(bytes),
            digest: compliance::section_digest(id, bytes),
            flags: SectionFlags {
                // A reader that does not know of it would show rows that were deleted.
                required: [SECTION_DELETED, SECTION_ERASED, SECTION_MOVED].contains(&id),
                holds_values: false,
            },
            columns: Vec::new(),
        }
    }
}

/// Parts of the end of a file.
pub(crate) struct EndParts<'a> {
    /// The header. The digest covers its first 64 bytes, without the slots.
    pub(crate) header: &'a [u8],
    /// The top of the digest tree.
    pub(crate) top: &'a Digest,
    pub(crate) footer: &'a Footer,
    /// Where the footer will lie.
    pub(crate) place: u64,
    /// Rows of the table, deleted ones too.
    pub(crate) rows: u64,
    /// The buckets: log2 of their number, and the place of the first.
    pub(crate) buckets: (u8, u64),
}

/// Footer and postscript.
pub(crate) struct End {
    /// Both.
    pub(crate) bytes: Vec<u8>,
    pub(crate) root_digest: Digest,
    /// Where the file ends.
    pub(crate) file_bytes: u64,
}

impl EndParts<'_> {
    /// The last bytes of the file.
    ///
    /// # Errors
    /// [`ErrorKind::LimitExceeded`](crate::ErrorKind::LimitExceeded) for what does not fit, and whatever a reader of
    /// the bytes would refuse.
    pub(crate) fn assemble(&self) -> Result<End> {
        let mut bytes = self.footer.to_bytes()?;
        let file_bytes = self.place + (bytes.len() + POSTSCRIPT_BYTES) as u64;
        let (buckets_log2, bucket_place) = self.buckets;
        let mut postscript = Postscript {
            committed_bytes: file_bytes,
            rows: self.rows,
            buckets_log2,
            bucket_place,
            // A footer has at most 512 KiB.
            footer_bytes: bytes.len() as u32,
            root_digest: [0; 32],
        };
        postscript.root_digest = root_digest(self.header, self.top, &bytes, &postscript)?;
        self.footer.check(&postscript)?;
        let stored = postscript.to_bytes(&bytes)?;
        bytes.extend_from_slice(&stored);
        Ok(End {
            bytes,
            root_digest: postscript.root_digest,
            file_bytes,
        })
    }
}

/// The root digest of a file with this header, this top of the digest tree, and this end. The one that `postscript` has
/// does not matter.
///
/// # Errors
/// As [`Postscript::bytes_for_root_digest`].
pub(crate) fn root_digest(
    header: &[u8],
    top: &Digest,
    footer: &[u8],
    postscript: &Postscript,
) -> Result<Digest> {
    let postscript = postscript.bytes_for_root_digest(footer)?;
    Ok(compliance::root_digest(header, top, footer, &postscript))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn parts_lie_one_behind_the_other_and_sections_at_multiples_of_8() {
        let mut growing = Growing::at(64);
        assert_eq!(growing.push(b"oak"), 64);
        assert_eq!(growing.push_padded(b"elm!!"), 67..72);
        let section = growing.push_section(SECTION_MOVED, b"nine byte");
        assert_eq!((section.range.clone(), growing.end()), (72..81, 88));
        assert!(section.flags.required);
        assert_eq!(growing.bytes(), b"oakelm!!nine byte\0\0\0\0\0\0\0");
        let digest = compliance::section_digest(SECTION_MOVED, b"nine byte");
        assert_eq!(section.digest, digest);
        assert!(!growing.push_section(99, b"").flags.required);
    }

    /// A reader refuses a metadata region that starts inside the header.
    #[test]
    fn an_end_that_no_reader_takes_is_not_assembled() {
        let parts = |footer: &Footer| {
            let parts = EndParts {
                header: &[0; 64],
                top: &[0; 32],
                footer,
                place: 800,
                rows: 0,
                buckets: (0, 0),
            };
            parts.assemble().map(|end| end.file_bytes)
        };
        let refused = parts(&Footer::default()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Corrupt, "{refused}");
    }
}
