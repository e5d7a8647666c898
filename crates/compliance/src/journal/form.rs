//! The parts of a journal, and what each must be.

use std::ops::Range;

use crate::bytes::TooShort;

/// The first bytes of a journal.
pub const JOURNAL_MAGIC: [u8; 8] = *b"TRSJRNL2";

/// The first byte that a journal may change: the header before it is written slot by slot.
pub const JOURNAL_FIRST_PLACE: u64 = 192;

/// The most bytes of a journal's record.
pub const JOURNAL_RECORD_BYTES_MAX: u64 = 1 << 30;

/// Magic of journals of earlier versions.
pub(super) const EARLIER_MAGIC: [u8; 8] = *b"TRSJRNL1";

pub(super) const FILE_ID_BYTES: usize = 16;
/// Bytes of a postscript, the last ones of a file.
pub(super) const POSTSCRIPT_BYTES: usize = 64;
/// The shortest file: a header and a postscript.
const FILE_BYTES_MIN: u64 = JOURNAL_FIRST_PLACE + POSTSCRIPT_BYTES as u64;
pub(super) const HEADER_BYTES: usize = 128;
pub(super) const CHANGE_HEADER_BYTES: usize = 24;
pub(super) const ALIGN: usize = 8;
pub(super) const KIND_WRITE: u8 = 1;
pub(super) const KIND_ZERO: u8 = 2;

const _: () =
    assert!(JOURNAL_MAGIC.len() + FILE_ID_BYTES + POSTSCRIPT_BYTES + 5 * 8 == HEADER_BYTES);

/// One state of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileState {
    /// The file's id.
    pub file_id: [u8; FILE_ID_BYTES],
    /// The number of the commit.
    pub epoch: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// The last bytes of the file. They hold its root digest.
    pub postscript: [u8; POSTSCRIPT_BYTES],
}

impl FileState {
    /// Where the postscript starts.
    pub fn postscript_place(&self) -> u64 {
        self.file_bytes.saturating_sub(POSTSCRIPT_BYTES as u64)
    }
}

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
        /// Names the missing part.
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
        /// Describes what must be there.
        expect: &'static str,
    },
    /// A journal that an earlier version of the format has.
    #[error(
        "the journal is an earlier program's (TRSJRNL1), which did not say of which file it is: it is not applied"
    )]
    Earlier,
    /// A record that is longer than [`JOURNAL_RECORD_BYTES_MAX`].
    #[error("the record has {length} bytes, and may have {JOURNAL_RECORD_BYTES_MAX}")]
    RecordTooLong {
        /// Its bytes.
        length: u64,
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

/// Where the state of a file lies in a journal, to name it in errors.
const STATE_AT: u64 = JOURNAL_MAGIC.len() as u64;

pub(super) fn check_state(state: &FileState) -> Result<(), JournalError> {
    let epoch_at = STATE_AT + FILE_ID_BYTES as u64;
    if state.epoch == 0 {
        return Err(corrupt("the epoch", epoch_at, "must be 1 or more"));
    }
    if state.file_bytes < FILE_BYTES_MIN {
        let what = "the length of the file before";
        return Err(corrupt(what, epoch_at + 8, "must be 256 or more"));
    }
    Ok(())
}

pub(super) fn check_record(length: u64) -> Result<(), JournalError> {
    match length > JOURNAL_RECORD_BYTES_MAX {
        true => Err(JournalError::RecordTooLong { length }),
        false => Ok(()),
    }
}

/// Where a change ends, if it lies in `free`.
pub(super) fn end_of_change(
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

pub(super) fn corrupt(what: &'static str, at: u64, expect: &'static str) -> JournalError {
    JournalError::Corrupt { what, at, expect }
}

impl From<TooShort> for JournalError {
    fn from(error: TooShort) -> Self {
        let TooShort {
            what,
            at,
            needed,
            len,
        } = error;
        Self::Truncated {
            what,
            at,
            needed,
            len,
        }
    }
}
