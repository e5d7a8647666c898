//! Reading a journal piece by piece.

use std::ops::Range;

use super::form::{
    ALIGN, CHANGE_HEADER_BYTES, Change, EARLIER_MAGIC, FileState, HEADER_BYTES,
    JOURNAL_FIRST_PLACE, JOURNAL_MAGIC, JournalError, KIND_WRITE, KIND_ZERO, check_record,
    check_state, corrupt, end_of_change,
};
use crate::bytes::ByteReader;

/// Bytes of a change that are read at once where nobody wants them.
const PASSED_BYTES: u64 = 1 << 16;

/// Reads a journal wherever it lies, change by change, and long changes in pieces: a long journal takes little memory.
///
/// It holds no bytes of the journal. Each call gets them from `read`, which returns the bytes of a range of the
/// journal. The ranges are inside the journal's length and as long as a header or as the caller allows. What is not
/// asked for yet is not checked yet: a journal is well formed once [`JournalReader::record`] has returned.
#[derive(Debug, Clone)]
pub struct JournalReader {
    /// Bytes of the journal.
    len: u64,
    before: FileState,
    file_bytes: u64,
    n_changes: u64,
    record_bytes: u64,
    /// The next byte.
    at: u64,
    /// The next change.
    index: u64,
    /// The first byte that the next change may have.
    free: u64,
    /// The rest of a change that is read in pieces, padding apart.
    rest: Option<Rest>,
}

/// A part of a change.
#[derive(Debug, Clone, Copy)]
struct Rest {
    place: u64,
    length: u64,
    /// Zeros behind it in the journal.
    padding: u64,
}

impl JournalReader {
    /// A reader of a journal of `len` bytes, before its first change.
    ///
    /// # Errors
    /// [`JournalError`], which names the byte; what `read` returns.
    pub fn new<E: From<JournalError>>(
        len: u64,
        read: &mut impl FnMut(Range<u64>) -> Result<Vec<u8>, E>,
    ) -> Result<Self, E> {
        let bytes = read(0..len.min(HEADER_BYTES as u64))?;
        Ok(Self::of_header(len, &bytes)?)
    }

    fn of_header(len: u64, bytes: &[u8]) -> Result<Self, JournalError> {
        let mut fields = ByteReader::of_part(bytes, 0, len);
        match fields.array("the magic")? {
            JOURNAL_MAGIC => {}
            EARLIER_MAGIC => return Err(JournalError::Earlier),
            _ => return Err(corrupt("the magic", 0, "must be TRSJRNL2")),
        }
        let before = FileState {
            file_id: fields.array("the file's id")?,
            epoch: fields.u64("the epoch")?,
            file_bytes: fields.u64("the length of the file before")?,
            postscript: fields.array("the postscript")?,
        };
        check_state(&before)?;
        let file_bytes = fields.u64("the length of the file")?;
        let n_changes = fields.u64("the number of changes")?;
        let record_bytes = fields.u64("the length of the record")?;
        check_record(record_bytes)?;
        let reader = Self {
            len,
            before,
            file_bytes,
            n_changes,
            record_bytes,
            at: HEADER_BYTES as u64,
            index: 0,
            free: JOURNAL_FIRST_PLACE,
            rest: None,
        };
        let shortest = n_changes.saturating_mul(CHANGE_HEADER_BYTES as u64);
        reader.range(shortest, "the list of changes")?;
        Ok(reader)
    }

    /// The state of the file that the changes are for.
    pub fn before(&self) -> &FileState {
        &self.before
    }

    /// Bytes of the file after the changes.
    pub fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// The number of changes.
    pub fn n_changes(&self) -> u64 {
        self.n_changes
    }

    /// The next change, or the next `most` bytes of a change that writes more. `None` after the last one.
    ///
    /// # Errors
    /// [`JournalError`], which names the byte or the change; what `read` returns.
    pub fn next_change<E: From<JournalError>>(
        &mut self,
        most: u64,
        read: &mut impl FnMut(Range<u64>) -> Result<Vec<u8>, E>,
    ) -> Result<Option<Change>, E> {
        let rest = match self.rest.take() {
            Some(rest) => rest,
            None if self.index == self.n_changes => return Ok(None),
            None => {
                let range = self.range(CHANGE_HEADER_BYTES as u64, "a change")?;
                let header = read(range.clone())?;
                let change = self.change(range.start, &header)?;
                self.at = range.end;
                match change {
                    Kind::Write(rest) => rest,
                    Kind::Zero(zero) => return Ok(Some(zero)),
                }
            }
        };
        let length = rest.length.min(most.max(1));
        let range = self.range(length, "the bytes of a change")?;
        let bytes = read(range.clone())?;
        self.at = range.end;
        match rest.length - length {
            0 => self.padding(rest.padding, read)?,
            left => {
                self.rest = Some(Rest {
                    place: rest.place + length,
                    length: left,
                    ..rest
                });
            }
        }
        let place = rest.place;
        Ok(Some(Change::Write { place, bytes }))
    }

    /// The record, which is the end of the journal, after the changes that are left.
    ///
    /// # Errors
    /// As [`JournalReader::next_change`].
    pub fn record<E: From<JournalError>>(
        mut self,
        read: &mut impl FnMut(Range<u64>) -> Result<Vec<u8>, E>,
    ) -> Result<Vec<u8>, E> {
        while self.next_change(PASSED_BYTES, read)?.is_some() {}
        let range = self.range(self.record_bytes, "the record")?;
        let record = read(range.clone())?;
        self.at = range.end;
        self.padding(padding_of(self.record_bytes), read)?;
        match self.at < self.len {
            true => Err(corrupt("the end", self.at, "no bytes may follow").into()),
            false => Ok(record),
        }
    }

    /// The next `length` bytes of the journal.
    fn range(&self, length: u64, what: &'static str) -> Result<Range<u64>, JournalError> {
        match self.at.checked_add(length) {
            Some(end) if end <= self.len => Ok(self.at..end),
            _ => Err(JournalError::Truncated {
                what,
                at: self.at,
                needed: length,
                len: self.len,
            }),
        }
    }

    /// Passes zeros.
    fn padding<E: From<JournalError>>(
        &mut self,
        length: u64,
        read: &mut impl FnMut(Range<u64>) -> Result<Vec<u8>, E>,
    ) -> Result<(), E> {
        let range = self.range(length, "padding")?;
        if length > 0 && read(range.clone())?.iter().any(|byte| *byte != 0) {
            return Err(corrupt("padding", range.start, "must be zero").into());
        }
        self.at = range.end;
        Ok(())
    }

    /// The change whose header lies at `at`.
    fn change(&mut self, at: u64, header: &[u8]) -> Result<Kind, JournalError> {
        let mut fields = ByteReader::of_part(header, at, self.len);
        let [kind, reserved @ ..] = fields.u64("the kind")?.to_le_bytes();
        if reserved != [0; 7] {
            return Err(corrupt("the kind", at, "7 zero bytes must follow it"));
        }
        let place = fields.u64("the place")?;
        let length = fields.u64("the length")?;
        self.free = end_of_change(self.index, place, length, self.free..self.file_bytes)?;
        self.index += 1;
        let padding = padding_of(length);
        match kind {
            KIND_ZERO => Ok(Kind::Zero(Change::Zero { place, length })),
            KIND_WRITE => Ok(Kind::Write(Rest {
                place,
                length,
                padding,
            })),
            _ => Err(corrupt("the kind", at, "must be 1 or 2")),
        }
    }
}

enum Kind {
    Write(Rest),
    Zero(Change),
}

/// Zeros behind so many bytes, up to a multiple of 8.
fn padding_of(length: u64) -> u64 {
    length.wrapping_neg() % ALIGN as u64
}
