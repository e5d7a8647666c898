//! The journal of a modification: what is written where, so that it can be done again after an interruption.
//!
//! | bytes | field |
//! |---|---|
//! | 8 | magic `TRSJRNL1` |
//! | 8 | number of changes |
//! | 8 | length of the file after them |
//! | per change | kind (1 write, 2 zero), 7 zero bytes, place, length; for kind 1 the bytes, then zeros to 8 |
//!
//! Numbers are little-endian. It is redo only: it holds no byte of the file as it was.

use std::ops::Range;

use crate::DIGEST_BYTES;

/// The first bytes of a journal.
pub const JOURNAL_MAGIC: [u8; 8] = *b"TRSJRNL1";

/// The first byte that a journal may change: the header before it is written slot by slot.
pub const JOURNAL_FIRST_PLACE: u64 = 192;

const HEADER_BYTES: usize = 24;
const CHANGE_HEADER_BYTES: usize = 24;
const ALIGN: usize = 8;
const KIND_WRITE: u8 = 1;
const KIND_ZERO: u8 = 2;
/// First bytes of a digest that a slot holds.
const SLOT_DIGEST_BYTES: usize = 16;

/// A change of a range of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The range gets these bytes.
    Write {
        /// Offset of the first byte.
        place: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// The range becomes zero.
    Zero {
        /// Offset of the first byte.
        place: u64,
        /// Number of bytes.
        length: u64,
    },
}

impl Change {
    /// Offset of the first byte.
    pub fn place(&self) -> u64 {
        match self {
            Self::Write { place, .. } | Self::Zero { place, .. } => *place,
        }
    }

    /// Number of bytes.
    pub fn length(&self) -> u64 {
        match self {
            Self::Write { bytes, .. } => bytes.len() as u64,
            Self::Zero { length, .. } => *length,
        }
    }
}

/// Why changes are no journal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The bytes end before the journal does.
    #[error("the journal ends at byte {len}: {what} at byte {at} needs {needed} bytes")]
    Truncated {
        /// What is missing.
        what: &'static str,
        /// Where it starts.
        at: u64,
        /// Bytes that it needs.
        needed: u64,
        /// Bytes of the journal.
        len: u64,
    },
    /// Bytes that no writer writes.
    #[error("{what} at byte {at} of the journal: {expect}")]
    Corrupt {
        /// The field.
        what: &'static str,
        /// Where it starts.
        at: u64,
        /// What must be there, in words.
        expect: &'static str,
    },
    /// A change that is empty, overlaps the change before, or lies outside the file.
    #[error(
        "change {index} of the journal, {length} bytes at {place}: bytes {free_start}..{free_end} may change"
    )]
    Change {
        /// The change, counted from 0.
        index: u64,
        /// Its first byte in the file.
        place: u64,
        /// Its bytes.
        length: u64,
        /// First byte that may change after the changes before.
        free_start: u64,
        /// The end of the file.
        free_end: u64,
    },
}

/// The changes of a modification. They rise by place, do not overlap, and lie behind the header and inside the file as
/// it is after them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Journal {
    changes: Vec<Change>,
    file_bytes: u64,
}

impl Journal {
    /// A journal of `changes`, after which the file has `file_bytes` bytes.
    ///
    /// # Errors
    /// [`JournalError::Change`] for a change that is empty, that does not rise, that overlaps the one before, or that
    /// lies before [`JOURNAL_FIRST_PLACE`] or beyond `file_bytes`.
    pub fn new(changes: Vec<Change>, file_bytes: u64) -> Result<Self, JournalError> {
        let mut free = JOURNAL_FIRST_PLACE;
        for (index, change) in (0..).zip(&changes) {
            free = end_of_change(index, change.place(), change.length(), free..file_bytes)?;
        }
        Ok(Self {
            changes,
            file_bytes,
        })
    }

    /// The changes.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// The changes, without the journal.
    pub fn into_changes(self) -> Vec<Change> {
        self.changes
    }

    /// Bytes of the file after the changes.
    pub fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// The journal as it is stored. Its length is a multiple of 8.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(&JOURNAL_MAGIC);
        out.extend_from_slice(&(self.changes.len() as u64).to_le_bytes());
        out.extend_from_slice(&self.file_bytes.to_le_bytes());
        for change in &self.changes {
            let (kind, bytes) = match change {
                Change::Write { bytes, .. } => (KIND_WRITE, bytes.as_slice()),
                Change::Zero { .. } => (KIND_ZERO, &[][..]),
            };
            out.extend_from_slice(&[kind, 0, 0, 0, 0, 0, 0, 0]);
            out.extend_from_slice(&change.place().to_le_bytes());
            out.extend_from_slice(&change.length().to_le_bytes());
            out.extend_from_slice(bytes);
            out.resize(out.len().next_multiple_of(ALIGN), 0);
        }
        out
    }

    /// Reads a journal, which is all of `bytes`. It takes about as much memory as `bytes`.
    ///
    /// # Errors
    /// [`JournalError`], which names the byte or the change.
    pub fn parse(bytes: &[u8]) -> Result<Self, JournalError> {
        let mut reader = Reader { bytes, at: 0 };
        if reader.take(JOURNAL_MAGIC.len(), "the magic")? != JOURNAL_MAGIC {
            return Err(corrupt("the magic", 0, "must be TRSJRNL1"));
        }
        let count = reader.u64("the number of changes")?;
        let file_bytes = reader.u64("the length of the file")?;
        let fit = bytes.len().saturating_sub(HEADER_BYTES) / CHANGE_HEADER_BYTES;
        let capacity = usize::try_from(count).unwrap_or(usize::MAX);
        if capacity > fit {
            return Err(JournalError::Truncated {
                what: "the list of changes",
                at: HEADER_BYTES as u64,
                needed: count.saturating_mul(CHANGE_HEADER_BYTES as u64),
                len: bytes.len() as u64,
            });
        }
        let mut changes = Vec::with_capacity(capacity);
        let mut free = JOURNAL_FIRST_PLACE;
        for index in 0..count {
            let at = reader.at;
            let [kind, reserved @ ..] = reader.u64("the kind")?.to_le_bytes();
            if reserved != [0; 7] {
                return Err(corrupt("the kind", at, "7 zero bytes must follow it"));
            }
            let place = reader.u64("the place")?;
            let length = reader.u64("the length")?;
            free = end_of_change(index, place, length, free..file_bytes)?;
            match kind {
                KIND_ZERO => changes.push(Change::Zero { place, length }),
                KIND_WRITE => {
                    let bytes = reader.sized(length, "the bytes of a change")?.to_vec();
                    let padding_at = reader.at;
                    let padding = bytes.len().next_multiple_of(ALIGN) - bytes.len();
                    if reader
                        .take(padding, "padding")?
                        .iter()
                        .any(|byte| *byte != 0)
                    {
                        return Err(corrupt("padding", padding_at, "must be zero"));
                    }
                    changes.push(Change::Write { place, bytes });
                }
                _ => return Err(corrupt("the kind", at, "must be 1 or 2")),
            }
        }
        if reader.at < bytes.len() {
            return Err(corrupt("the end", reader.at, "no bytes may follow"));
        }
        Ok(Self {
            changes,
            file_bytes,
        })
    }
}

/// The digest of a journal's bytes that a state slot holds: the first 16 bytes of their BLAKE3.
pub fn journal_digest(bytes: &[u8]) -> [u8; SLOT_DIGEST_BYTES] {
    let whole: [u8; DIGEST_BYTES] = *blake3::hash(bytes).as_bytes();
    let mut kept = [0; SLOT_DIGEST_BYTES];
    for (to, from) in kept.iter_mut().zip(whole) {
        *to = from;
    }
    kept
}

/// Where a change ends, if it lies in `free`.
fn end_of_change(
    index: u64,
    place: u64,
    length: u64,
    free: Range<u64>,
) -> Result<u64, JournalError> {
    match place.checked_add(length) {
        Some(end) if length > 0 && place >= free.start && end <= free.end => Ok(end),
        _ => Err(JournalError::Change {
            index,
            place,
            length,
            free_start: free.start,
            free_end: free.end,
        }),
    }
}

fn corrupt(what: &'static str, at: usize, expect: &'static str) -> JournalError {
    JournalError::Corrupt {
        what,
        at: at as u64,
        expect,
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn sized(&mut self, length: u64, what: &'static str) -> Result<&'a [u8], JournalError> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let taken = usize::try_from(length).ok().and_then(|n| rest.get(..n));
        let Some(taken) = taken else {
            return Err(JournalError::Truncated {
                what,
                at: self.at as u64,
                needed: length,
                len: self.bytes.len() as u64,
            });
        };
        self.at += taken.len();
        Ok(taken)
    }

    fn take(&mut self, n: usize, what: &'static str) -> Result<&'a [u8], JournalError> {
        self.sized(n as u64, what)
    }

    fn u64(&mut self, what: &'static str) -> Result<u64, JournalError> {
        let mut number = [0; 8];
        for (to, from) in number.iter_mut().zip(self.take(8, what)?) {
            *to = *from;
        }
        Ok(u64::from_le_bytes(number))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn write(place: u64, bytes: &[u8]) -> Change {
        Change::Write {
            place,
            bytes: bytes.to_vec(),
        }
    }

    fn sample() -> Journal {
        let zero = Change::Zero {
            place: 300,
            length: 1 << 40,
        };
        Journal::new(
            vec![write(192, b"abc"), write(195, b"12345678"), zero],
            1 << 41,
        )
        .unwrap()
    }

    #[test]
    fn the_layout_is_the_documented_one() {
        let bytes = sample().to_bytes();
        let mut expect = b"TRSJRNL1".to_vec();
        for number in [3, 1 << 41, 1, 192, 3] {
            expect.extend_from_slice(&u64::to_le_bytes(number));
        }
        expect.extend_from_slice(b"abc\0\0\0\0\0");
        for number in [1, 195, 8] {
            expect.extend_from_slice(&u64::to_le_bytes(number));
        }
        expect.extend_from_slice(b"12345678");
        for number in [2, 300, 1 << 40] {
            expect.extend_from_slice(&u64::to_le_bytes(number));
        }
        assert_eq!(bytes, expect);
        assert_eq!(Journal::parse(&bytes), Ok(sample()));
        assert_eq!(
            journal_digest(&bytes),
            blake3::hash(&bytes).as_bytes()[..16]
        );
        let empty = Journal::new(vec![], 0).unwrap();
        assert_eq!(Journal::parse(&empty.to_bytes()), Ok(empty));
    }

    #[test]
    fn changes_that_do_not_fit_are_refused_by_writer_and_reader() {
        for (index, changes) in [
            (0, vec![write(191, b"a")]),
            (0, vec![write(999, b"ab")]),
            (0, vec![write(500, b"")]),
            (1, vec![write(500, b"ab"), write(501, b"c")]),
            (1, vec![write(500, b"ab"), write(400, b"c")]),
            (
                1,
                vec![
                    write(500, b"a"),
                    Change::Zero {
                        place: u64::MAX,
                        length: 2,
                    },
                ],
            ),
            (
                0,
                vec![Change::Zero {
                    place: 600,
                    length: 0,
                }],
            ),
        ] {
            let unchecked = Journal {
                changes: changes.clone(),
                file_bytes: 1000,
            };
            for got in [
                Journal::new(changes, 1000),
                Journal::parse(&unchecked.to_bytes()),
            ] {
                match got {
                    Err(JournalError::Change { index: found, .. }) => assert_eq!(found, index),
                    other => panic!("{other:?}"),
                }
            }
        }
    }

    #[test]
    fn every_prefix_and_every_other_byte_is_refused_or_another_journal() {
        let good = sample().to_bytes();
        for len in 0..good.len() {
            let got = Journal::parse(&good[..len]);
            assert!(matches!(got, Err(JournalError::Truncated { .. })), "{len}");
        }
        let longer = [&good[..], &[0; 8]].concat();
        assert_eq!(
            Journal::parse(&longer),
            Err(corrupt("the end", good.len(), "no bytes may follow"))
        );
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            if let Ok(journal) = Journal::parse(&bad) {
                assert_eq!(journal.to_bytes(), bad);
                assert_ne!(journal, sample());
            }
        }
        let mut many = good.clone();
        many[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(matches!(
            Journal::parse(&many),
            Err(JournalError::Truncated { at: 24, .. })
        ));
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused_or_come_back(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let with_magic = [&JOURNAL_MAGIC[..], &bytes].concat();
            for bytes in [bytes, with_magic] {
                if let Ok(journal) = Journal::parse(&bytes) {
                    prop_assert_eq!(journal.to_bytes(), bytes);
                }
            }
        }

        #[test]
        fn journals_come_back(
            parts in proptest::collection::vec((0..20u64, 1..40u64, any::<bool>()), 0..20),
        ) {
            let (mut changes, mut at) = (vec![], JOURNAL_FIRST_PLACE);
            for (gap, length, is_zero) in parts {
                let place = at + gap;
                changes.push(if is_zero {
                    Change::Zero { place, length }
                } else {
                    write(place, &vec![place as u8; length as usize])
                });
                at = place + length;
            }
            let journal = Journal::new(changes, at).unwrap();
            let bytes = journal.to_bytes();
            prop_assert_eq!(bytes.len() % 8, 0);
            prop_assert_eq!(Journal::parse(&bytes), Ok(journal));
        }
    }
}
