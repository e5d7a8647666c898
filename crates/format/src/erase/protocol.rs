//! How a file is modified in place, so that it is as before or as after the modification, whatever interrupts it.
//!
//! | step | what | then |
//! |---|---|---|
//! | a | a file without slots gets slot A: CLEAN, epoch 1 | sync |
//! | b | append: zeros up to the journal's place, the journal | sync |
//! | c | the slot that is not current: JOURNAL, next epoch | sync: the commit point |
//! | d | apply the changes | sync |
//! | | publish: what the caller does before the journal goes | |
//! | e | the slot that is not JOURNAL: CLEAN, next epoch | sync |
//! | f | zero what lies behind the new end | sync |
//! | | cut the file there | sync |
//!
//! The journal lies behind the old end and behind the new one, so no step before c changes a byte of the file, and no
//! step after it needs space that step b did not take. [`recover`] goes on where the interruption was; it may be
//! interrupted, too. What it read may be only in the system's memory, so its first step is a sync.
//!
//! The journal has a record of the caller's, such as a certificate that must be written elsewhere. At each point at
//! which the changes count, either it was published or the journal is there and has it.
//!
//! A journal is of one state of one file: of its id, its epoch, its length and its postscript (`erase::journal`).
//! Before the commit point and before publishing, the name of the file must still lead to it
//! ([`ChangeAt::check_named`]).
//!
//! Changes lie behind the header, slots are written alone. A sector of a disk that holds a slot must be written as a
//! whole or not at all, since it holds the other slot, too.

use tarsia_compliance::{Change, FileState, Journal, JournalError, journal_digest};
use tarsia_io::{ChangeAt, ReadAt, read_range};
use tarsia_metadata::limits::{HEADER_BYTES, POSTSCRIPT_BYTES, U48_MAX};
use tarsia_metadata::{Header, Slot, SlotState, SlotView};

use super::journal::StoredJournal;
use crate::error::{Error, ErrorKind, Result};

/// Zeros that are written at once.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// The journal's place is a multiple of this.
const JOURNAL_ALIGN: u64 = 8;

/// The changes of one erasure.
#[derive(Debug, Clone, Default)]
pub(crate) struct Modification {
    /// The changes, as a journal has them.
    pub(crate) changes: Vec<Change>,
    /// Bytes of the file after them. Bytes between the old end and the new one that no change writes are zero.
    pub(crate) new_len: u64,
    /// Bytes that the journal keeps until they are published.
    pub(crate) record: Vec<u8>,
}

/// Outcome of a modification.
#[derive(Debug)]
pub(crate) struct Commit {
    /// The number of the commit that the file has now.
    pub(crate) epoch: u64,
    /// Bytes that the journal had.
    pub(crate) journal_bytes: u64,
}

/// Outcome of a recovery: what it found and did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Recovery {
    /// Nothing was to be done but a sync.
    Clean,
    /// Bytes behind the end of the file were zeroed and cut off: of a modification that did not come to its commit
    /// point, or that was complete but for this.
    Dropped {
        /// Their number.
        bytes: u64,
    },
    /// A modification that had come to its commit point was finished.
    Finished {
        /// The changes of its journal.
        changes: u64,
        /// The number of the commit that the file has now.
        epoch: u64,
    },
}

/// Makes the changes, all of them or none. Space for all of it is taken before the first byte of the file changes.
/// `publish` runs once the changes are on the disk, before the journal with the record goes; if it fails, the journal
/// stays, and [`recover`] publishes the record.
///
/// The file is not interpreted: that its new last bytes are a postscript is up to the caller.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] for changes that do not rise, that overlap, that lie in the header or beyond the new
/// length, for a length that no file has, and for a file that must be recovered first; [`ErrorKind::LimitExceeded`] for
/// a record that is too long; [`ErrorKind::Unsupported`] for a file that needs a feature to be modified which this
/// build lacks; [`ErrorKind::Corrupt`] for a damaged header. The file is then as before.
///
/// [`ErrorKind::Io`] where the system refuses, [`ErrorKind::FileChanged`] where the file's name leads elsewhere. If the
/// text does not say otherwise, the file is as before, and what was appended to it is cut off or is cut off by
/// [`recover`]; else the changes count, or may count, and [`recover`] finishes them.
pub(crate) fn commit(
    file: &mut dyn ChangeAt,
    modification: Modification,
    publish: &mut dyn FnMut() -> Result<()>,
) -> Result<Commit> {
    let Prepared {
        first,
        index,
        old_len,
        place,
        journal,
        journal_bytes,
        pending,
        clean,
    } = Prepared::new(file, modification)?;
    let mut steps = Steps { file };
    if let Some(first) = first {
        steps.write_slot(index, &first)?;
    }
    // Also where nothing was written: what was read may be in the system's memory only.
    steps.sync()?;
    let appended = steps
        .append(old_len, place, &journal_bytes)
        .and_then(|()| steps.check_named());
    if let Err(error) = appended {
        // The file is as before; if this fails, too, then recovery does it.
        let _ = steps.cut_back(old_len);
        return Err(error);
    }
    steps
        .write_slot(1 - index, &pending.to_bytes()?)
        .and_then(|()| steps.sync())
        .map_err(|error| error.prefixed("the changes may count, which recovery will show"))?;
    let mut finish = || -> Result<()> {
        steps.apply(journal.changes())?;
        steps.check_named()?;
        publish()?;
        steps.close(index, &clean)
    };
    finish().map_err(|error| error.prefixed("the changes count, and recovery finishes them"))?;
    Ok(Commit {
        epoch: clean.epoch,
        journal_bytes: journal_bytes.len() as u64,
    })
}

/// Finishes a modification that was interrupted after its commit point, or removes what one left that was interrupted
/// before it. Afterwards the file is in state CLEAN, ends where its slot says, and all of that is on the disk.
///
/// Where a modification is finished, `publish` gets the record of its journal once the changes are on the disk. It may
/// have got it before: the interruption may have been after that. If it fails, then the journal stays, and recovery can
/// be done again.
///
/// # Errors
/// [`ErrorKind::Corrupt`] for a damaged header or journal and for a journal of another file or of another state of it,
/// [`ErrorKind::Unsupported`] for a journal of an earlier version and for a file that needs a feature to be modified
/// which this build lacks: nothing is changed then. [`ErrorKind::Io`] where the system refuses,
/// [`ErrorKind::FileChanged`] where the file's name leads elsewhere, and what `publish` returns; recovery can then be
/// done again.
pub(crate) fn recover(
    file: &mut dyn ChangeAt,
    publish: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<Recovery> {
    let header = read_header(file)?;
    let Some((slot, index)) = journaled(&header)? else {
        // A file without slots has no bytes behind its end.
        let committed = header.committed(file.len())?.bytes;
        let bytes = file.len() - committed;
        let mut steps = Steps { file };
        steps.sync()?;
        if bytes == 0 {
            return Ok(Recovery::Clean);
        }
        steps.drop_tail(committed)?;
        return Ok(Recovery::Dropped { bytes });
    };
    let journal = StoredJournal::find(file, &header, &slot)?;
    let clean = Slot {
        epoch: next_epoch(slot.epoch)?,
        state: SlotState::Clean,
        ..slot
    };
    let mut steps = Steps { file };
    steps.sync()?;
    let mut changes = journal.changes();
    while let Some(change) = changes.next(steps.file)? {
        steps.make(&change)?;
    }
    steps.sync()?;
    steps.check_named()?;
    publish(journal.record())?;
    steps.close(1 - index, &clean)?;
    Ok(Recovery::Finished {
        changes: journal.n_changes(),
        epoch: clean.epoch,
    })
}

/// The record that was not published yet, of a modification that was interrupted after its commit point; empty if there
/// is none. Nothing is changed.
///
/// # Errors
/// As [`recover`], where it changes nothing.
pub(crate) fn pending_record(file: &dyn ReadAt) -> Result<Vec<u8>> {
    let header = read_header(file)?;
    match journaled(&header)? {
        Some((slot, _)) => Ok(StoredJournal::find(file, &header, &slot)?.into_record()),
        None => Ok(Vec::new()),
    }
}

/// All that a commit writes, before it writes anything.
struct Prepared {
    /// Slot A of a file without slots.
    first: Option<[u8; 64]>,
    /// The slot that counts.
    index: usize,
    old_len: u64,
    /// Where the journal will lie.
    place: u64,
    journal: Journal,
    journal_bytes: Vec<u8>,
    pending: Slot,
    clean: Slot,
}

impl Prepared {
    fn new(file: &dyn ReadAt, modification: Modification) -> Result<Self> {
        let Modification {
            changes,
            new_len,
            record,
        } = modification;
        let invalid = |what: String| Error::new(ErrorKind::InvalidInput, what);
        let smallest = (HEADER_BYTES + POSTSCRIPT_BYTES) as u64;
        if !(smallest..=U48_MAX).contains(&new_len) {
            return Err(invalid(format!("a file cannot have {new_len} bytes")));
        }
        let header = read_header(file)?;
        if journaled(&header)?.is_some() {
            return Err(invalid(
                "a modification was interrupted: recover the file first".into(),
            ));
        }
        let old = header.committed(file.len())?;
        if old.bytes != file.len() {
            return Err(invalid(format!(
                "the file ends at {}, with {} bytes behind that: recover it first",
                old.bytes,
                file.len()
            )));
        }
        let mut before = FileState {
            file_id: header.file_id,
            epoch: old.epoch,
            file_bytes: old.bytes,
            postscript: [0; POSTSCRIPT_BYTES],
        };
        file.read_at(before.postscript_place(), &mut before.postscript)?;
        let journal = Journal::new(before, changes, new_len, record);
        let journal = journal.map_err(|error| match error {
            JournalError::RecordTooLong { .. } => {
                Error::new(ErrorKind::LimitExceeded, error.to_string())
            }
            error => invalid(error.to_string()),
        })?;
        let journal_bytes = journal.to_bytes();
        let place = old.bytes.max(new_len).next_multiple_of(JOURNAL_ALIGN);
        let length = journal_bytes.len() as u64;
        if place.saturating_add(length) > U48_MAX {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                format!("a journal of {length} bytes at {place} ends beyond 2^48"),
            ));
        }
        let pending = Slot {
            epoch: next_epoch(old.epoch)?,
            committed_bytes: new_len,
            state: SlotState::Journal {
                place,
                length,
                digest: journal_digest(&journal_bytes),
            },
        };
        let clean = Slot {
            epoch: next_epoch(pending.epoch)?,
            state: SlotState::Clean,
            ..pending
        };
        let (first, index) = match current(&header)? {
            Some((_, index)) => (None, index),
            None => (Some(Slot::first(old.bytes).to_bytes()?), 0),
        };
        Ok(Self {
            first,
            index,
            old_len: old.bytes,
            place,
            journal,
            journal_bytes,
            pending,
            clean,
        })
    }
}

fn read_header(file: &dyn ReadAt) -> Result<Header> {
    if file.len() < HEADER_BYTES as u64 {
        let what = format!("{} bytes are too few for a file of this format", file.len());
        return Err(Error::new(ErrorKind::Corrupt, what));
    }
    let bytes = read_range(file, 0..HEADER_BYTES as u64)?;
    if !bytes.starts_with(&tarsia_metadata::MAGIC) {
        return Err(Error::new(ErrorKind::Corrupt, "not a Tarsia file"));
    }
    let header = Header::parse(&bytes)?;
    header.features.check_modifiable()?;
    Ok(header)
}

/// The current slot, and whether it is slot A (0) or B (1).
fn current(header: &Header) -> Result<Option<(Slot, usize)>> {
    let Some(slot) = header.current_slot()? else {
        return Ok(None);
    };
    let [first, _] = header.slots;
    Ok(Some((slot, usize::from(first != SlotView::Whole(slot)))))
}

/// The current slot, if its state is JOURNAL, and which one it is.
fn journaled(header: &Header) -> Result<Option<(Slot, usize)>> {
    Ok(current(header)?.filter(|(slot, _)| slot.state != SlotState::Clean))
}

fn next_epoch(epoch: u64) -> Result<u64> {
    let limit = || Error::new(ErrorKind::LimitExceeded, "the file was modified 2^64 times");
    epoch.checked_add(1).ok_or_else(limit)
}

/// The steps on the file.
struct Steps<'a> {
    file: &'a mut dyn ChangeAt,
}

impl Steps<'_> {
    fn sync(&mut self) -> Result<()> {
        Ok(self.file.sync()?)
    }

    fn check_named(&self) -> Result<()> {
        Ok(self.file.check_named()?)
    }

    fn write_slot(&mut self, index: usize, bytes: &[u8]) -> Result<()> {
        let [a, b] = Header::SLOT_PLACES;
        Ok(self.file.write_at(if index == 0 { a } else { b }, bytes)?)
    }

    /// Step b. The zeros take space for what the file will have there.
    fn append(&mut self, old_len: u64, place: u64, journal: &[u8]) -> Result<()> {
        self.zero(old_len, place)?;
        self.file.write_at(place, journal)?;
        self.sync()
    }

    /// Step d.
    fn apply(&mut self, changes: &[Change]) -> Result<()> {
        for change in changes {
            self.make(change)?;
        }
        self.sync()
    }

    fn make(&mut self, change: &Change) -> Result<()> {
        match change {
            Change::Write { place, bytes } => Ok(self.file.write_at(*place, bytes)?),
            Change::Zero { place, length } => self.zero(*place, place.saturating_add(*length)),
        }
    }

    /// Steps e and f. `index` is the slot that is not JOURNAL.
    fn close(&mut self, index: usize, clean: &Slot) -> Result<()> {
        self.write_slot(index, &clean.to_bytes()?)?;
        self.sync()?;
        self.drop_tail(clean.committed_bytes)
    }

    /// Step f: zeros the bytes behind `len` and cuts them off.
    fn drop_tail(&mut self, len: u64) -> Result<()> {
        self.zero(len, self.file.len())?;
        self.sync()?;
        self.cut(len)
    }

    /// Step f where the disk may be full, so that zeros may find no place. The journal holds nothing that was erased.
    fn cut_back(&mut self, len: u64) -> Result<()> {
        let zeroed = self.zero(len, self.file.len()).and_then(|()| self.sync());
        self.cut(len).and(zeroed)
    }

    fn cut(&mut self, len: u64) -> Result<()> {
        self.file.set_len(len)?;
        self.sync()
    }

    fn zero(&mut self, start: u64, end: u64) -> Result<()> {
        let mut place = start;
        while place < end {
            let length = (end - place).min(ZEROS.len() as u64);
            let zeros = ZEROS.get(..length as usize).unwrap_or(&ZEROS);
            self.file.write_at(place, zeros)?;
            place += length;
        }
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests;
