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

use super::journal::read_journal;
use crate::error::{Error, ErrorKind, Result};

/// Zeros that are written at once.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// The journal's place is a multiple of this.
const JOURNAL_ALIGN: u64 = 8;

/// What is changed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Modification {
    /// The changes, as a journal has them.
    pub(crate) changes: Vec<Change>,
    /// Bytes of the file after them. Bytes between the old end and the new one that no change writes are zero.
    pub(crate) new_len: u64,
    /// What the journal keeps until it is published.
    pub(crate) record: Vec<u8>,
}

/// What a modification left.
#[derive(Debug)]
pub(crate) struct Commit {
    /// The number of the commit that the file has now.
    pub(crate) epoch: u64,
    /// Bytes that the journal had.
    pub(crate) journal_bytes: u64,
    /// What publishing returned. The modification is complete in any case.
    pub(crate) published: Result<()>,
}

/// What a recovery found and did.
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
/// `publish` runs once the changes are on the disk, before the journal with the record goes.
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
    let mut finish = || -> Result<Result<()>> {
        steps.apply(journal.changes())?;
        steps.check_named()?;
        let published = publish();
        steps.close(index, &clean)?;
        Ok(published)
    };
    let published = finish()
        .map_err(|error| error.prefixed("the changes count, and recovery finishes them"))?;
    Ok(Commit {
        epoch: clean.epoch,
        journal_bytes: journal_bytes.len() as u64,
        published,
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
    let journal = read_journal(file, &header, &slot)?;
    let clean = Slot {
        epoch: next_epoch(slot.epoch)?,
        state: SlotState::Clean,
        ..slot
    };
    let mut steps = Steps { file };
    steps.sync()?;
    steps.apply(journal.changes())?;
    steps.check_named()?;
    publish(journal.record())?;
    steps.close(1 - index, &clean)?;
    Ok(Recovery::Finished {
        changes: journal.changes().len() as u64,
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
        Some((slot, _)) => Ok(read_journal(file, &header, &slot)?.record().to_vec()),
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
            match change {
                Change::Write { place, bytes } => self.file.write_at(*place, bytes)?,
                Change::Zero { place, length } => {
                    self.zero(*place, place.saturating_add(*length))?;
                }
            }
        }
        self.sync()
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
<<<<<<< HEAD
mod tests {
    use std::io;
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tarsia_compliance::JOURNAL_MAGIC;
    use tarsia_io::Conflict;
    use tarsia_testkit::disk::{Operation, SimulatedDisk};
    use tarsia_testkit::rng::Rng;

    use super::*;

    /// A sync of the protocol. Tests leave out each of them.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Sync {
        /// Before [`recover`] changes anything, and where it has nothing to do.
        Recovery,
        /// After step a.
        First,
        /// After step b.
        Journal,
        /// After step c.
        CommitPoint,
        /// After step d.
        Applied,
        /// After step e.
        Clean,
        /// After the first part of step f.
        Zeroed,
        /// After the second part of step f.
        Cut,
    }

    /// What a program did last to a file.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Last {
        Nothing,
        Slot,
        Journal,
        Other,
        SetLen,
    }

    /// A disk that says which syncs it was asked for, and leaves some of them out. Which one a sync is, it knows from
    /// what was done before: the protocol itself does not name its syncs.
    struct Watched<'a> {
        disk: &'a mut SimulatedDisk,
        left_out: Option<Sync>,
        is_recovery: bool,
        last: Last,
        syncs: Vec<Sync>,
        /// The error of [`ChangeAt::check_named`] from this call of it on.
        replaced_at: Option<usize>,
        n_named: AtomicUsize,
    }

    impl<'a> Watched<'a> {
        fn new(disk: &'a mut SimulatedDisk, left_out: Option<Sync>, is_recovery: bool) -> Self {
            Self {
                disk,
                left_out,
                is_recovery,
                last: Last::Nothing,
                syncs: Vec::new(),
                replaced_at: None,
                n_named: AtomicUsize::new(0),
            }
        }

        /// Which sync one is that is asked for now.
        fn which(&self) -> Sync {
            let header = Header::parse(self.disk.content()).unwrap();
            let slot = header.current_slot().unwrap();
            let is_pending = slot.is_some_and(|slot| slot.state != SlotState::Clean);
            match (self.last, is_pending) {
                (Last::Nothing, _) if self.is_recovery => Sync::Recovery,
                (Last::Nothing, _) => Sync::First,
                (Last::SetLen, _) => Sync::Cut,
                (Last::Slot, true) => Sync::CommitPoint,
                (Last::Slot, false) if slot.is_some_and(|slot| slot.epoch == 1) => Sync::First,
                (Last::Slot, false) => Sync::Clean,
                (_, true) => Sync::Applied,
                (Last::Journal, false) => Sync::Journal,
                (Last::Other, false) => Sync::Zeroed,
            }
        }
    }

    impl ReadAt for Watched<'_> {
        fn len(&self) -> u64 {
            self.disk.len()
        }

        fn read_at(&self, place: u64, buf: &mut [u8]) -> io::Result<()> {
            self.disk.read_at(place, buf)
        }
    }

    impl ChangeAt for Watched<'_> {
        fn write_at(&mut self, place: u64, bytes: &[u8]) -> io::Result<()> {
            self.last = if place < HEADER_BYTES as u64 {
                Last::Slot
            } else if bytes.starts_with(&JOURNAL_MAGIC) {
                Last::Journal
            } else {
                Last::Other
            };
            self.disk.write_at(place, bytes)
        }

        fn sync(&mut self) -> io::Result<()> {
            let which = self.which();
            self.syncs.push(which);
            self.last = Last::Other;
            match self.left_out == Some(which) {
                true => Ok(()),
                false => self.disk.sync(),
            }
        }

        fn set_len(&mut self, len: u64) -> io::Result<()> {
            self.last = Last::SetLen;
            self.disk.set_len(len)
        }

        fn check_named(&self) -> io::Result<()> {
            let n_before = self.n_named.fetch_add(1, Ordering::Relaxed);
            let path = PathBuf::from("file");
            match self.replaced_at {
                Some(at) if n_before >= at => Err(Conflict::Replaced { path }.into()),
                _ => Ok(()),
            }
        }
    }

    fn nothing() -> Result<()> {
        Ok(())
    }

    fn change(file: &mut dyn ChangeAt, changes: Vec<Change>, new_len: u64) -> Result<Commit> {
        let modification = Modification {
            changes,
            new_len,
            record: Vec::new(),
        };
        commit(file, modification, &mut nothing)
    }

    /// Recovers; the record goes to whoever is `told`.
    fn recover_watched(
        disk: &mut SimulatedDisk,
        left_out: Option<Sync>,
        told: &mut Vec<Vec<u8>>,
    ) -> Result<Recovery> {
        recover(&mut Watched::new(disk, left_out, true), &mut |record| {
            told.push(record.to_vec());
            Ok(())
        })
    }

    fn recover_alone(file: &mut dyn ChangeAt) -> Result<Recovery> {
        recover(file, &mut |_| Ok(()))
    }

    /// A file and what becomes of it.
    #[derive(Clone)]
    struct Case {
        old: Vec<u8>,
        changes: Vec<Change>,
        new: Vec<u8>,
        record: Vec<u8>,
    }

    /// Which of the two a file is.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Which {
        Before,
        After,
    }

    impl Case {
        /// Random bytes behind a header that says so, and random changes.
        fn new(rng: &mut Rng) -> Self {
            let old_len = rng.between(256, 3000);
            let mut header = Header::new([rng.u8(); 16]);
            if rng.percent(70) {
                header = header.with_first_slot(old_len as u64);
            }
            let mut old = header.to_bytes().unwrap().to_vec();
            old.extend(std::iter::repeat_with(|| rng.u8() | 1).take(old_len - old.len()));
            Self::of(old, rng)
        }

        fn of(old: Vec<u8>, rng: &mut Rng) -> Self {
            let new_len = match rng.below(3) {
                0 => old.len(),
                _ => rng.between(256, 4000),
            };
            let (mut changes, mut at) = (vec![], HEADER_BYTES);
            let mut new = old.clone();
            new.resize(new_len, 0);
            for _ in 0..rng.below(6) {
                let start = rng.between(at, new_len - 1);
                let end = rng.between(start + 1, new_len.min(start + 1500));
                let place = start as u64;
                changes.push(if rng.percent(30) {
                    new[start..end].fill(0);
                    let length = (end - start) as u64;
                    Change::Zero { place, length }
                } else {
                    let bytes: Vec<u8> = (start..end).map(|_| rng.u8() | 1).collect();
                    new[start..end].copy_from_slice(&bytes);
                    Change::Write { place, bytes }
                });
                at = end;
                if at >= new_len {
                    break;
                }
            }
            let record = (0..rng.below(40)).map(|_| rng.u8() | 1).collect();
            Self {
                old,
                changes,
                new,
                record,
            }
        }

        fn modification(&self) -> Modification {
            Modification {
                changes: self.changes.clone(),
                new_len: self.new.len() as u64,
                record: self.record.clone(),
            }
        }

        /// Commits; the record goes to whoever is `told`.
        fn commit(
            &self,
            disk: &mut SimulatedDisk,
            left_out: Option<Sync>,
            told: &mut Vec<Vec<u8>>,
        ) -> Result<Commit> {
            let mut watched = Watched::new(disk, left_out, false);
            commit(&mut watched, self.modification(), &mut || {
                told.push(self.record.clone());
                Ok(())
            })
        }

        /// What the file is, the slots apart. It must end where they say.
        fn which(&self, disk: &SimulatedDisk) -> Result<Which, String> {
            let found = disk.content();
            let slots = Header::SLOT_PLACES[0] as usize..HEADER_BYTES;
            let is = |expect: &[u8]| {
                found.len() == expect.len()
                    && found[..slots.start] == expect[..slots.start]
                    && found[slots.end..] == expect[slots.end..]
            };
            let header = Header::parse(found).map_err(|error| error.to_string())?;
            let committed = header.committed(found.len() as u64);
            let committed = committed.map_err(|error| error.to_string())?.bytes;
            if committed != found.len() as u64 {
                return Err(format!("{} bytes, of which {committed} count", found.len()));
            }
            match (is(&self.old), is(&self.new)) {
                (_, true) => Ok(Which::After),
                (true, _) => Ok(Which::Before),
                _ => Err("neither before nor after".into()),
            }
        }
    }

    /// The power is lost, or the process is gone, and perhaps one after the other.
    fn interrupt(disk: &mut SimulatedDisk, rng: &mut Rng) {
        match rng.percent(60) {
            true => disk.lose_power(),
            false => disk.restart(),
        }
    }

    /// Recovers, with interruptions. Then what the file is, which another loss of power does not change. Whoever is
    /// `told` the records must have this one if the file is as after the changes.
    fn recovered(
        case: &Case,
        disk: &mut SimulatedDisk,
        rng: &mut Rng,
        left_out: Option<Sync>,
        mut told: Vec<Vec<u8>>,
    ) -> Result<Which, String> {
        for _ in 0..rng.below(4) {
            disk.crash_after(rng.below(12));
            let _ = recover_watched(disk, left_out, &mut told);
            interrupt(disk, rng);
        }
        disk.restart();
        recover_watched(disk, left_out, &mut told).map_err(|error| format!("recovery: {error}"))?;
        let which = case.which(disk)?;
        if told.iter().any(|record| *record != case.record) {
            return Err("another record was published".into());
        }
        if which == Which::After && told.is_empty() && case.old != case.new {
            return Err("the record was lost".into());
        }
        if which == Which::Before && !told.is_empty() {
            return Err("the record was published, and nothing was changed".into());
        }
        if rng.flip() {
            // The next modification takes it from here, interrupted or not; what is before it is what is now.
            let next = Case::of(disk.content().to_vec(), rng);
            disk.crash_after(rng.below(14));
            let _ = next.commit(disk, left_out, &mut told);
            disk.lose_power();
            let again = recover_watched(disk, left_out, &mut told);
            again.map_err(|error| format!("next recovery: {error}"))?;
            next.which(disk).map_err(|error| format!("next: {error}"))?;
        } else {
            disk.lose_power();
            let again = recover_watched(disk, left_out, &mut told);
            if again.map_err(|error| error.to_string())? != Recovery::Clean
                || case.which(disk)? != which
            {
                return Err("a recovered file was not on the disk".into());
            }
        }
        match disk.left_behind() {
            [] => Ok(which),
            left => Err(format!("{} bytes were left on the disk", left.len())),
        }
    }

    /// The operation that is the commit point: the sync after the second write of a slot, or after the first if there
    /// was a slot before.
    fn commit_point(operations: &[Operation], had_slot: bool) -> usize {
        let writes = operations.iter().enumerate().filter(|(_, operation)| {
            matches!(operation, Operation::Write { place, .. } if *place < HEADER_BYTES as u64)
        });
        let (write, _) = writes.clone().nth(usize::from(!had_slot)).unwrap();
        let sync = |operation: &Operation| *operation == Operation::Sync;
        write + operations[write..].iter().position(sync).unwrap()
    }

    /// One case, interrupted at every operation. Returns the number of interruptions.
    fn check(seed: u64, left_out: Option<Sync>) -> Result<usize, String> {
        let mut rng = Rng::new(seed);
        let mut case = Case::new(&mut rng);
        let mut before = SimulatedDisk::new(case.old.clone(), rng.u64());
        for _ in 0..rng.below(3) {
            let committed = case.commit(&mut before, None, &mut vec![]);
            committed.map_err(|error| error.to_string())?;
            case = Case::of(before.content().to_vec(), &mut rng);
        }
        let had_slot = Header::parse(&case.old).unwrap().slots != [SlotView::Empty; 2];
        let start = before.operations().len();
        let mut whole = before.clone();
        let mut told = vec![];
        let committed = case.commit(&mut whole, left_out, &mut told);
        let committed = committed.map_err(|error| format!("uninterrupted: {error}"))?;
        if committed.published.is_err() || told != [case.record.clone()] {
            return Err(format!("seed {seed}: published {told:?}"));
        }
        let operations = &whole.operations()[start..];
        let n_operations = operations.len();
        let commit_point = match left_out {
            None => commit_point(operations, had_slot),
            Some(_) => usize::MAX,
        };
        for at in 0..n_operations {
            let context = |error| format!("seed {seed}, interrupted at {at}: {error}");
            let mut disk = before.clone();
            disk.crash_after(at);
            let mut told = vec![];
            if case.commit(&mut disk, left_out, &mut told).is_ok() {
                return Err(context("committed".into()));
            }
            interrupt(&mut disk, &mut rng);
            let which = recovered(&case, &mut disk, &mut rng, left_out, told).map_err(context)?;
            if at > commit_point && which != Which::After {
                return Err(context("the commit was lost".into()));
            }

            // The same operation fails, and the process goes on.
            let mut disk = before.clone();
            disk.fail_after(at);
            let mut told = vec![];
            let failed = case.commit(&mut disk, left_out, &mut told);
            if failed.is_ok() {
                return Err(context("an error was swallowed".into()));
            }
            let which = recovered(&case, &mut disk, &mut rng, left_out, told).map_err(context)?;
            if at > commit_point && which != Which::After {
                return Err(context("the commit was lost".into()));
            }
        }
        // Uninterrupted it is on the disk, and nothing is left to do.
        whole.lose_power();
        let recovery = recover_watched(&mut whole, left_out, &mut told);
        if recovery.map_err(|error| error.to_string())? != Recovery::Clean
            || case.which(&whole)? != Which::After
        {
            return Err(format!("seed {seed}: the commit was not on the disk"));
        }
        if !whole.left_behind().is_empty() {
            return Err(format!("seed {seed}: bytes were left on the disk"));
        }
        Ok(2 * n_operations)
    }

    #[test]
    fn interrupted_at_any_operation_a_file_is_as_before_or_as_after() {
        let mut n_runs = 0;
        for seed in 0..400 {
            n_runs += check(seed, None).unwrap();
        }
        assert!(n_runs > 8000, "{n_runs}");
    }

    #[test]
    fn each_step_has_one_sync() {
        let mut rng = Rng::new(9);
        let case = Case::new(&mut rng);
        let mut disk = SimulatedDisk::new(case.old.clone(), 0);
        let mut watched = Watched::new(&mut disk, None, false);
        commit(&mut watched, case.modification(), &mut nothing).unwrap();
        let last = [Sync::Applied, Sync::Clean, Sync::Zeroed, Sync::Cut];
        let first = [Sync::First, Sync::Journal, Sync::CommitPoint];
        assert_eq!(watched.syncs, [&first[..], &last].concat());
        let mut disk = SimulatedDisk::new(case.old.clone(), 0);
        let mut watched = Watched::new(&mut disk, None, false);
        // Named before the commit point, and no more before publishing.
        watched.replaced_at = Some(1);
        commit(&mut watched, case.modification(), &mut nothing).unwrap_err();
        let mut watched = Watched::new(&mut disk, None, true);
        recover_alone(&mut watched).unwrap();
        assert_eq!(watched.syncs, [&[Sync::Recovery][..], &last].concat());
    }

    #[test]
    fn no_sync_can_be_left_out() {
        for sync in [
            Sync::Recovery,
            Sync::First,
            Sync::Journal,
            Sync::CommitPoint,
            Sync::Applied,
            Sync::Clean,
            Sync::Zeroed,
            Sync::Cut,
        ] {
            let found = (0..400).any(|seed| check(seed, Some(sync)).is_err());
            assert!(found, "nothing is lost without the sync {sync:?}");
        }
    }

    #[test]
    fn on_a_full_disk_the_file_is_as_before() {
        for seed in 0..60 {
            let mut rng = Rng::new(seed);
            let case = Case::new(&mut rng);
            let before = SimulatedDisk::new(case.old.clone(), seed);
            let mut whole = before.clone();
            let length = case
                .commit(&mut whole, None, &mut vec![])
                .unwrap()
                .journal_bytes;
            let end = case.old.len().max(case.new.len()).next_multiple_of(8) as u64 + length;
            for room in (case.old.len() as u64..end).step_by(rng.between(1, 40)) {
                let mut disk = before.clone();
                disk.set_room(Some(room));
                let error = case.commit(&mut disk, None, &mut vec![]).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Io);
                // At once, and without recovery.
                let which = |disk: &SimulatedDisk| case.which(disk).unwrap();
                assert!(which(&disk) == Which::Before || case.old == case.new);
                disk.lose_power();
                assert!(which(&disk) == Which::Before || case.old == case.new);
                assert_eq!(recover_alone(&mut disk).unwrap(), Recovery::Clean);
                // With more room it is done.
                disk.set_room(Some(end));
                case.commit(&mut disk, None, &mut vec![]).unwrap();
                assert_eq!(which(&disk), Which::After);
            }
        }
    }

    fn small(slots: [SlotView; 2], tail: &[u8]) -> SimulatedDisk {
        let header = Header {
            slots,
            ..Header::new([3; 16])
        };
        let mut content = header.to_bytes().unwrap().to_vec();
        content.resize(256, 9);
        content.extend_from_slice(tail);
        SimulatedDisk::new(content, 0)
    }

    #[test]
    fn epochs_rise_and_slots_take_turns() {
        let mut disk = small([SlotView::Empty; 2], &[]);
        for round in 1..5 {
            let write = Change::Write {
                place: 192,
                bytes: vec![round as u8; 5],
            };
            let commit = change(&mut disk, vec![write], 256 + round).unwrap();
            assert_eq!(commit.epoch, 2 * round + 1);
            let header = Header::parse(disk.content()).unwrap();
            let [SlotView::Whole(a), SlotView::Whole(b)] = header.slots else {
                panic!("{header:?}");
            };
            assert_eq!((a.epoch, b.epoch), (2 * round + 1, 2 * round));
            assert_eq!(a.committed_bytes, 256 + round);
            assert_eq!(disk.len(), 256 + round);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_and_nothing_is_written() {
        let clean = SlotView::Whole(Slot::first(256));
        let newest = SlotView::Whole(Slot {
            epoch: u64::MAX - 1,
            ..Slot::first(256)
        });
        let write = |place, n: usize| Change::Write {
            place,
            bytes: vec![1; n],
        };
        let far = Change::Zero {
            place: 192,
            length: 1 << 50,
        };
        for (slot, tail, changes, new_len, kind) in [
            (clean, 0, vec![write(191, 1)], 256, ErrorKind::InvalidInput),
            (clean, 0, vec![write(250, 7)], 256, ErrorKind::InvalidInput),
            (
                clean,
                0,
                vec![write(200, 2), write(201, 1)],
                256,
                ErrorKind::InvalidInput,
            ),
            (clean, 0, vec![far], 256, ErrorKind::InvalidInput),
            (clean, 0, vec![], 255, ErrorKind::InvalidInput),
            (clean, 0, vec![], U48_MAX + 1, ErrorKind::InvalidInput),
            (clean, 0, vec![], U48_MAX, ErrorKind::LimitExceeded),
            (clean, 1, vec![], 256, ErrorKind::InvalidInput),
            (newest, 0, vec![], 256, ErrorKind::LimitExceeded),
        ] {
            let mut disk = small([slot, SlotView::Empty], &vec![1; tail]);
            let error = change(&mut disk, changes, new_len).unwrap_err();
            assert_eq!(error.kind(), kind, "{error}");
            assert!(disk.operations().is_empty());
        }
    }

    /// What [`small`] is with an old end at `file_bytes`.
    fn state(file_bytes: u64) -> FileState {
        FileState {
            file_id: [3; 16],
            epoch: 1,
            file_bytes,
            postscript: [9; 64],
        }
    }

    fn refused_and_nothing_is_written(
        slots: [SlotView; 2],
        tail: &[u8],
        kind: ErrorKind,
        what: &str,
    ) {
        let mut disk = small(slots, tail);
        let error = recover_alone(&mut disk).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(what), "{error}");
        let error = pending_record(&disk).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        let error = change(&mut disk, vec![], 256).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(disk.operations().is_empty());
    }

    fn pending(epoch: u64, committed_bytes: u64, place: u64, journal: &[u8]) -> SlotView {
        SlotView::Whole(Slot {
            epoch,
            committed_bytes,
            state: SlotState::Journal {
                place,
                length: journal.len() as u64,
                digest: journal_digest(journal),
            },
        })
    }

    #[test]
    fn journals_that_lie_are_refused_and_nothing_is_written() {
        let write = Change::Write {
            place: 192,
            bytes: vec![1; 5],
        };
        let of = |file_bytes| Journal::new(state(256), vec![write.clone()], file_bytes, vec![7; 3]);
        let journal = of(256).unwrap().to_bytes();
        let other_length = of(257).unwrap().to_bytes();
        let slot = |bytes, place, journal: &[u8]| pending(2, bytes, place, journal);
        let good = slot(256, 256, &journal);
        let clean = SlotView::Whole(Slot::first(256));
        let mut disk = small([clean, good], &journal);
        assert_eq!(pending_record(&disk).unwrap(), [7; 3]);
        let recovery = Recovery::Finished {
            changes: 1,
            epoch: 3,
        };
        assert_eq!(recover_alone(&mut disk).unwrap(), recovery);
        assert_eq!(disk.content()[192..], [&[1; 5][..], &[9; 59]].concat());
        assert_eq!(recover_alone(&mut disk).unwrap(), Recovery::Clean);
        assert!(pending_record(&disk).unwrap().is_empty());

        let mut damaged = journal.clone();
        damaged[20] ^= 1;
        let mut earlier = journal.clone();
        earlier[..8].copy_from_slice(b"TRSJRNL1");
        for (slot, tail, kind, what) in [
            (good, &damaged[..], ErrorKind::Corrupt, "another digest"),
            (good, &journal[1..], ErrorKind::Corrupt, "is not between"),
            (
                slot(256, 256, &other_length),
                &other_length,
                ErrorKind::Corrupt,
                "for a file of 257 bytes",
            ),
            (
                slot(256, 256, &damaged),
                &damaged,
                ErrorKind::Corrupt,
                "of another file",
            ),
            (
                slot(280, 256, &journal),
                &journal,
                ErrorKind::Corrupt,
                "is not between",
            ),
            (
                slot(256, 248, &journal),
                &journal,
                ErrorKind::Corrupt,
                "is not between",
            ),
            (
                slot(256, u64::from(u32::MAX), &journal),
                &journal,
                ErrorKind::Corrupt,
                "is not between",
            ),
            (
                slot(256, 256, &earlier),
                &earlier,
                ErrorKind::Unsupported,
                "TRSJRNL1",
            ),
        ] {
            refused_and_nothing_is_written([clean, slot], tail, kind, what);
        }
    }

    #[test]
    fn journals_of_other_states_are_refused_and_nothing_is_written() {
        let write = Change::Write {
            place: 192,
            bytes: vec![1; 5],
        };
        let clean = |epoch, committed_bytes| {
            SlotView::Whole(Slot {
                epoch,
                committed_bytes,
                state: SlotState::Clean,
            })
        };
        // A file of 320 bytes, of which the last 64 are the postscript.
        let tail = |journal: &[u8]| [&[9; 64][..], journal].concat();
        let good = state(320);
        let check = |before: FileState, slots: [SlotView; 2], epoch| {
            let journal = Journal::new(before, vec![write.clone()], 320, vec![]).unwrap();
            let journal = journal.to_bytes();
            let slot = pending(epoch, 320, 320, &journal);
            let slots = slots.map(|view| match view {
                SlotView::Empty => slot,
                other => other,
            });
            (slots, tail(&journal))
        };
        let (slots, bytes) = check(good, [clean(1, 320), SlotView::Empty], 2);
        recover_alone(&mut small(slots, &bytes)).unwrap();
        let other_file = FileState {
            file_id: [4; 16],
            ..good
        };
        let older = FileState { epoch: 3, ..good };
        let shorter = FileState {
            file_bytes: 312,
            ..good
        };
        let longer = FileState {
            file_bytes: 328,
            ..good
        };
        // One bit of a root digest is enough.
        let mut fork = good;
        fork.postscript[30] ^= 1;
        for (before, epoch_clean, epoch) in [
            (other_file, 1, 2),
            (older, 1, 2),
            (older, 3, 5),
            (older, 1, 4),
            (good, 1, 3),
            (shorter, 1, 2),
            (longer, 1, 2),
            (fork, 1, 2),
        ] {
            let (slots, bytes) = check(before, [clean(epoch_clean, 320), SlotView::Empty], epoch);
            let of_another = "the journal at 320 is of another file, or of another state";
            refused_and_nothing_is_written(slots, &bytes, ErrorKind::Corrupt, of_another);
        }
        // The slot that counted before is missing, has another length, or has a journal, too.
        let journal = Journal::new(good, vec![write.clone()], 320, vec![]).unwrap();
        let journal = journal.to_bytes();
        let slot = pending(2, 320, 320, &journal);
        for other in [
            SlotView::Empty,
            clean(1, 312),
            pending(1, 320, 320, &journal),
        ] {
            let of_another = "of another state";
            refused_and_nothing_is_written(
                [other, slot],
                &tail(&journal),
                ErrorKind::Corrupt,
                of_another,
            );
        }
    }

    /// The power was lost while the changes were applied over the old postscript.
    #[test]
    fn a_postscript_that_is_partly_changed_is_still_the_old_one() {
        let changes = vec![
            Change::Zero {
                place: 200,
                length: 20,
            },
            Change::Write {
                place: 230,
                bytes: vec![5; 26],
            },
        ];
        let journal = Journal::new(state(256), changes, 256, vec![]).unwrap();
        let journal = journal.to_bytes();
        let clean = SlotView::Whole(Slot::first(256));
        let slots = [clean, pending(2, 256, 256, &journal)];
        let whole = small(slots, &journal);
        let finished = |at: usize, byte: u8| {
            let mut bytes = whole.content().to_vec();
            bytes[at] = byte;
            let mut disk = SimulatedDisk::new(bytes, 0);
            recover_alone(&mut disk).map(|_| disk.content().to_vec())
        };
        let expect = finished(200, 0).unwrap();
        for at in 192..256 {
            let new = expect[at];
            assert_eq!(finished(at, new).unwrap(), expect, "{at}");
            let error = finished(at, 77).unwrap_err();
            assert!(error.to_string().contains("another file"), "{error}");
        }
    }

    #[test]
    fn a_file_that_was_replaced_is_not_changed_or_not_acknowledged() {
        for seed in 0..40 {
            let mut rng = Rng::new(seed);
            let case = Case::new(&mut rng);
            let commit_replaced = |disk: &mut SimulatedDisk, at| {
                let mut watched = Watched::new(disk, None, false);
                watched.replaced_at = Some(at);
                let mut publish = || panic!("published");
                let error = commit(&mut watched, case.modification(), &mut publish).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::FileChanged, "{error}");
                error.to_string()
            };
            // Before the commit point.
            let mut disk = SimulatedDisk::new(case.old.clone(), seed);
            let error = commit_replaced(&mut disk, 0);
            assert!(error.starts_with("file was replaced"), "{error}");
            assert_eq!(case.which(&disk).unwrap(), Which::Before);
            disk.lose_power();
            assert_eq!(recover_alone(&mut disk).unwrap(), Recovery::Clean);
            assert!(case.which(&disk) == Ok(Which::Before) || case.old == case.new);
            // After it, in the erasure and in the recovery.
            let error = commit_replaced(&mut disk, 1);
            assert!(error.starts_with("the changes count"), "{error}");
            let mut watched = Watched::new(&mut disk, None, true);
            watched.replaced_at = Some(0);
            recover(&mut watched, &mut |_| panic!("published")).unwrap_err();
            assert_eq!(pending_record(&disk).unwrap(), case.record);
            let mut told = vec![];
            recover_watched(&mut disk, None, &mut told).unwrap();
            assert_eq!(case.which(&disk).unwrap(), Which::After);
            assert_eq!(told, [case.record]);
        }
    }

    #[test]
    fn a_record_that_cannot_be_published_ends_an_erasure_and_no_recovery() {
        let case = Case::new(&mut Rng::new(1));
        let failed = || Err(Error::new(ErrorKind::Io, "no place for it"));
        let mut disk = SimulatedDisk::new(case.old.clone(), 1);
        let done = commit(&mut disk, case.modification(), &mut { failed }).unwrap();
        assert_eq!(done.published.unwrap_err().kind(), ErrorKind::Io);
        assert_eq!(case.which(&disk).unwrap(), Which::After);
        assert_eq!(recover_alone(&mut disk).unwrap(), Recovery::Clean);

        let mut disk = SimulatedDisk::new(case.old.clone(), 1);
        let mut watched = Watched::new(&mut disk, None, false);
        watched.replaced_at = Some(1);
        commit(&mut watched, case.modification(), &mut nothing).unwrap_err();
        for _ in 0..2 {
            let error = recover(&mut disk, &mut |_| failed()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io);
            assert_eq!(pending_record(&disk).unwrap(), case.record);
        }
        recover_alone(&mut disk).unwrap();
        assert_eq!(case.which(&disk).unwrap(), Which::After);
    }

    #[test]
    fn a_file_on_a_real_disk_is_modified() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, small([SlotView::Empty; 2], &[]).content()).unwrap();
        let on_busy = tarsia_io::OnBusy::Refuse;
        let mut file = tarsia_io::ExclusiveFile::open(&path, on_busy).unwrap();
        let bytes = vec![7; 100_000];
        let changes = vec![
            Change::Write { place: 192, bytes },
            Change::Zero {
                place: 200_000,
                length: 80_000,
            },
        ];
        change(&mut file, changes.clone(), 300_000).unwrap();
        assert_eq!(recover_alone(&mut file).unwrap(), Recovery::Clean);
        let found = std::fs::read(&path).unwrap();
        assert_eq!(found.len(), 300_000);
        assert_eq!(found[192..100_192], [7; 100_000]);
        assert!(found[100_192..].iter().all(|byte| *byte == 0));
        change(&mut file, vec![], 256).unwrap();
        assert_eq!(file.len(), 256);
        file.write_at(400, b"left over").unwrap();
        let dropped = Recovery::Dropped { bytes: 153 };
        assert_eq!(recover_alone(&mut file).unwrap(), dropped);
        assert_eq!(std::fs::read(&path).unwrap()[192..], [7; 64]);
    }
}
=======
pub(super) mod tests;
>>>>>>> journal
