//! The journal of a modification: what is written where, so that it can be done again after an interruption.
//!
//! | bytes | field |
//! |---|---|
//! | 8 | magic `TRSJRNL2` |
//! | 16 | id of the file |
//! | 8 | epoch of the file before the changes |
//! | 8 | length of the file before them |
//! | 64 | last 64 bytes of the file before them, its postscript |
//! | 8 | length of the file after them |
//! | 8 | number of changes |
//! | 8 | length of the record |
//! | per change | kind (1 write, 2 zero), 7 zero bytes, place, length; for kind 1 the bytes, then zeros to 8 |
//! | | the record, then zeros to 8 |
//!
//! Numbers are little-endian. The journal is redo only: of the file as it was it holds the postscript, which has no
//! values, and nothing else. A journal is of one state of one file ([`FileState`]): the postscript holds the root
//! digest, so copies of a file that were changed differently since do not take each other's journals.
//!
//! The record is what the owner of the file wants to be kept until the changes are done, such as a certificate that is
//! not yet written elsewhere. The journal does not interpret it.

mod form;
mod read;

use std::ops::Range;

use crate::DIGEST_BYTES;

use form::{ALIGN, KIND_WRITE, KIND_ZERO, check_record, check_state, end_of_change};
pub use form::{
    Change, FileState, JOURNAL_FIRST_PLACE, JOURNAL_MAGIC, JOURNAL_RECORD_BYTES_MAX, JournalError,
};
pub use read::JournalReader;

/// First bytes of a digest that a slot holds.
const SLOT_DIGEST_BYTES: usize = 16;

/// The changes of a modification, and the state of the file that they are for. The changes rise by place, do not
/// overlap, and lie behind the header and inside the file as it is after them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Journal {
    before: FileState,
    file_bytes: u64,
    changes: Vec<Change>,
    record: Vec<u8>,
}

impl Journal {
    /// A journal of `changes` to a file that is as `before` says, after which the file has `file_bytes` bytes.
    ///
    /// # Errors
    /// [`JournalError::Change`] for a change that is empty, that does not rise, that overlaps the one before, or that
    /// lies before [`JOURNAL_FIRST_PLACE`] or beyond `file_bytes`; [`JournalError::RecordTooLong`];
    /// [`JournalError::Corrupt`] for a state that no file has.
    pub fn new(
        before: FileState,
        changes: Vec<Change>,
        file_bytes: u64,
        record: Vec<u8>,
    ) -> Result<Self, JournalError> {
        check_state(&before)?;
        check_record(record.len() as u64)?;
        let mut free = JOURNAL_FIRST_PLACE;
        for (index, change) in (0..).zip(&changes) {
            free = end_of_change(index, change.place(), change.length(), free..file_bytes)?;
        }
        Ok(Self {
            before,
            file_bytes,
            changes,
            record,
        })
    }

    /// The state of the file that the changes are for.
    pub fn before(&self) -> &FileState {
        &self.before
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

    /// Returns the bytes that are kept until the changes are done; empty if there is nothing.
    pub fn record(&self) -> &[u8] {
        &self.record
    }

    /// The journal as it is stored. Its length is a multiple of 8.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(&JOURNAL_MAGIC);
        out.extend_from_slice(&self.before.file_id);
        out.extend_from_slice(&self.before.epoch.to_le_bytes());
        out.extend_from_slice(&self.before.file_bytes.to_le_bytes());
        out.extend_from_slice(&self.before.postscript);
        out.extend_from_slice(&self.file_bytes.to_le_bytes());
        out.extend_from_slice(&(self.changes.len() as u64).to_le_bytes());
        out.extend_from_slice(&(self.record.len() as u64).to_le_bytes());
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
        out.extend_from_slice(&self.record);
        out.resize(out.len().next_multiple_of(ALIGN), 0);
        out
    }

    /// Reads a journal, which is all of `bytes`. It takes about as much memory as `bytes`; [`JournalReader`] takes
    /// less.
    ///
    /// # Errors
    /// [`JournalError`], which names the byte or the change.
    pub fn parse(bytes: &[u8]) -> Result<Self, JournalError> {
        let len = bytes.len() as u64;
        // The reader asks for ranges inside of the length alone, which is one of memory.
        let mut read = |range: Range<u64>| -> Result<Vec<u8>, JournalError> {
            let part = bytes.get(range.start as usize..range.end as usize);
            Ok(part.unwrap_or_default().to_vec())
        };
        let mut reader = JournalReader::new(len, &mut read)?;
        let before = *reader.before();
        let file_bytes = reader.file_bytes();
        let mut changes = Vec::new();
        while let Some(change) = reader.next_change(u64::MAX, &mut read)? {
            changes.push(change);
        }
        let record = reader.record(&mut read)?;
        Ok(Self {
            before,
            file_bytes,
            changes,
            record,
        })
    }
}

/// The digest of a journal's bytes that a state slot holds: the first 16 bytes of their BLAKE3.
pub fn journal_digest(bytes: &[u8]) -> [u8; SLOT_DIGEST_BYTES] {
    let mut hasher = JournalHasher::new();
    hasher.update(bytes);
    hasher.digest()
}

/// Computes the digest of a journal from its bytes in pieces.
#[derive(Debug, Clone, Default)]
pub struct JournalHasher(blake3::Hasher);

impl JournalHasher {
    /// A hasher of no bytes yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next bytes of the journal.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns what [`journal_digest`] is of all bytes so far.
    pub fn digest(&self) -> [u8; SLOT_DIGEST_BYTES] {
        let whole: [u8; DIGEST_BYTES] = *self.0.finalize().as_bytes();
        let mut kept = [0; SLOT_DIGEST_BYTES];
        for (to, from) in kept.iter_mut().zip(whole) {
            *to = from;
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::form::corrupt;
    use super::*;

    fn write(place: u64, bytes: &[u8]) -> Change {
        Change::Write {
            place,
            bytes: bytes.to_vec(),
        }
    }

    fn before() -> FileState {
        FileState {
            file_id: *b"0123456789abcdef",
            epoch: 7,
            file_bytes: 5000,
            postscript: [0x50; 64],
        }
    }

    fn sample() -> Journal {
        let zero = Change::Zero {
            place: 300,
            length: 1 << 40,
        };
        let changes = vec![write(192, b"abc"), write(195, b"12345678"), zero];
        Journal::new(before(), changes, 1 << 41, b"record".to_vec()).unwrap()
    }

    #[test]
    fn the_layout_is_the_documented_one() {
        let bytes = sample().to_bytes();
        let mut expect = b"TRSJRNL20123456789abcdef".to_vec();
        for number in [7, 5000] {
            expect.extend_from_slice(&u64::to_le_bytes(number));
        }
        expect.extend_from_slice(&[0x50; 64]);
        for number in [1 << 41, 3, 6, 1, 192, 3] {
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
        expect.extend_from_slice(b"record\0\0");
        assert_eq!(bytes, expect);
        assert_eq!(Journal::parse(&bytes), Ok(sample()));
        assert_eq!(
            journal_digest(&bytes),
            blake3::hash(&bytes).as_bytes()[..16]
        );
        let empty = Journal::new(before(), vec![], 0, vec![]).unwrap();
        assert_eq!(Journal::parse(&empty.to_bytes()), Ok(empty));
    }

    #[test]
    fn states_records_and_versions_that_do_not_fit_are_refused() {
        let good = sample().to_bytes();
        let epoch = FileState {
            epoch: 0,
            ..before()
        };
        let short = FileState {
            file_bytes: 255,
            ..before()
        };
        for (state, at, field) in [(epoch, 24, 0u64), (short, 32, 255)] {
            let written = Journal::new(state, vec![], 300, vec![]).unwrap_err();
            let mut bytes = good.clone();
            bytes[at..at + 8].copy_from_slice(&field.to_le_bytes());
            assert_eq!(Journal::parse(&bytes), Err(written.clone()));
            let at = at as u64;
            assert!(matches!(written, JournalError::Corrupt { at: found, .. } if found == at));
        }
        let mut long = good.clone();
        let length = JOURNAL_RECORD_BYTES_MAX + 1;
        long[120..128].copy_from_slice(&length.to_le_bytes());
        let too_long = Err(JournalError::RecordTooLong { length });
        assert_eq!(Journal::parse(&long), too_long);
        long[120..128].copy_from_slice(&JOURNAL_RECORD_BYTES_MAX.to_le_bytes());
        assert!(matches!(
            Journal::parse(&long),
            Err(JournalError::Truncated { .. })
        ));
        let mut earlier = good;
        earlier[..8].copy_from_slice(b"TRSJRNL1");
        assert_eq!(Journal::parse(&earlier), Err(JournalError::Earlier));
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
                before: before(),
                changes: changes.clone(),
                file_bytes: 1000,
                record: vec![],
            };
            for got in [
                Journal::new(before(), changes, 1000, vec![]),
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
            Err(corrupt("the end", good.len() as u64, "no bytes may follow"))
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
        many[112..120].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(matches!(
            Journal::parse(&many),
            Err(JournalError::Truncated { at: 128, .. })
        ));
    }

    /// No range that is read is longer than a header or than what was allowed, and each byte is read once.
    #[test]
    fn pieces_are_the_changes() {
        let bytes = sample().to_bytes();
        for most in [0, 1, 3, 5, 8, 100] {
            let mut at = 0;
            let mut read = |range: Range<u64>| -> Result<Vec<u8>, JournalError> {
                let length = range.end - range.start;
                let is_header = [128, 24].contains(&length);
                let is_record = range.end == bytes.len() as u64 - 2;
                let is_padding = length < 8 && range.end.is_multiple_of(8);
                assert!(length <= most.max(1) || is_header || is_record || is_padding);
                assert_eq!(range.start, at);
                at = range.end;
                Ok(bytes[range.start as usize..range.end as usize].to_vec())
            };
            let mut reader = JournalReader::new(bytes.len() as u64, &mut read).unwrap();
            assert_eq!((reader.before(), reader.file_bytes()), (&before(), 1 << 41));
            assert_eq!(reader.n_changes(), 3);
            let mut written = Vec::new();
            let mut zeros = Vec::new();
            while let Some(change) = reader.next_change(most, &mut read).unwrap() {
                match change {
                    Change::Write { place, bytes } => {
                        assert_eq!(place, 192 + written.len() as u64);
                        written.extend(bytes);
                    }
                    Change::Zero { .. } => zeros.push((change.place(), change.length())),
                }
            }
            assert_eq!(written, b"abc12345678");
            assert_eq!(zeros, [(300, 1 << 40)]);
            assert_eq!(reader.record(&mut read).unwrap(), b"record");
            assert_eq!(at, bytes.len() as u64);
        }
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
            record in proptest::collection::vec(any::<u8>(), 0..40),
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
            let journal = Journal::new(before(), changes, at, record).unwrap();
            let bytes = journal.to_bytes();
            prop_assert_eq!(bytes.len() % 8, 0);
            prop_assert_eq!(Journal::parse(&bytes), Ok(journal));
        }
    }
}
