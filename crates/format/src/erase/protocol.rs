//! How a file is modified in place, so that it is as before or as after the modification, whatever interrupts it.
//!
//! | step | what | then |
//! |---|---|---|
//! | a | a file without slots gets slot A: CLEAN, epoch 1 | sync |
//! | b | append: zeros up to the journal's place, the journal | sync |
//! | c | the slot that is not current: JOURNAL, next epoch | sync: the commit point |
//! | d | apply the changes | sync |
//! | e | the slot that is not JOURNAL: CLEAN, next epoch | sync |
//! | f | zero what lies behind the new end | sync |
//! | | cut the file there | sync |
//!
//! The journal lies behind the old end and behind the new one, so no step before c changes a byte of the file, and no
//! step after it needs space that step b did not take. [`recover`] goes on where the interruption was; it may be
//! interrupted, too. What it read may be only in the system's memory, so its first step is a sync.
//!
//! Changes lie behind the header, slots are written alone. A sector of a disk that holds a slot must be written as a
//! whole or not at all, since it holds the other slot, too.

use tarsia_compliance::{Change, Journal, journal_digest};
use tarsia_io::{ChangeAt, ReadAt, read_range};
use tarsia_metadata::limits::{HEADER_BYTES, POSTSCRIPT_BYTES, U48_MAX};
use tarsia_metadata::{Header, Slot, SlotState, SlotView};

use crate::error::{Error, ErrorKind, Result};

/// Zeros that are written at once.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// The journal's place is a multiple of this.
const JOURNAL_ALIGN: u64 = 8;

/// What a modification left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Commit {
    /// The number of the commit that the file has now.
    pub(crate) epoch: u64,
    /// Bytes that the journal had.
    pub(crate) journal_bytes: u64,
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

/// A sync. Tests leave out each of them.
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

/// The file, and the sync that is left out.
struct Steps<'a> {
    file: &'a mut dyn ChangeAt,
    left_out: Option<Sync>,
}

/// Makes the changes, after which the file has `new_len` bytes, all of them or none. Bytes between the old end and the
/// new one that no change writes are zero. Space for all of it is taken before the first byte of the file changes.
///
/// The file is not interpreted: that its new last bytes are a postscript is up to the caller.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] for changes that do not rise, that overlap, that lie in the header or beyond `new_len`,
/// for a `new_len` that no file has, and for a file that must be recovered first; [`ErrorKind::Unsupported`] for a file
/// that needs a feature to be modified which this build lacks; [`ErrorKind::Corrupt`] for a damaged header. The file is
/// then as before.
///
/// [`ErrorKind::Io`] where the system refuses. If the text does not say otherwise, the file is as before, and what was
/// appended to it is cut off or is cut off by [`recover`]; else the changes count, or may count, and [`recover`]
/// finishes them.
pub(crate) fn commit(
    file: &mut dyn ChangeAt,
    changes: Vec<Change>,
    new_len: u64,
) -> Result<Commit> {
    commit_with(file, changes, new_len, None)
}

/// Finishes a modification that was interrupted after its commit point, or removes what one left that was interrupted
/// before it. Afterwards the file is in state CLEAN, ends where its slot says, and all of that is on the disk.
///
/// # Errors
/// [`ErrorKind::Corrupt`] for a damaged header or journal, [`ErrorKind::Unsupported`] for a file that needs a feature
/// to be modified which this build lacks: nothing is changed then. [`ErrorKind::Io`] where the system refuses; recovery
/// can then be done again.
pub(crate) fn recover(file: &mut dyn ChangeAt) -> Result<Recovery> {
    recover_with(file, None)
}

/// The journal of a file in state JOURNAL. `slot` is the current one.
///
/// # Errors
/// [`ErrorKind::Corrupt`] for a journal that is not inside the file and behind its end, that has another digest, or
/// that is not well formed; [`ErrorKind::InvalidInput`] for another state; what the system reports.
pub(crate) fn read_journal(file: &dyn ReadAt, slot: &Slot) -> Result<Journal> {
    let SlotState::Journal {
        place,
        length,
        digest,
    } = slot.state
    else {
        return Err(Error::new(
            ErrorKind::InvalidInput,
            "the file has no journal",
        ));
    };
    let corrupt = |what: String| Error::new(ErrorKind::Corrupt, what);
    let end = place.checked_add(length);
    if place < slot.committed_bytes || end.is_none_or(|end| end > file.len()) {
        return Err(corrupt(format!(
            "a journal of {length} bytes at {place} is not between the end at {} and the last byte at {}",
            slot.committed_bytes,
            file.len()
        )));
    }
    let bytes = read_range(file, place..place.saturating_add(length))?;
    if journal_digest(&bytes) != digest {
        return Err(corrupt(format!(
            "the journal at {place} has another digest than its slot says"
        )));
    }
    let journal = Journal::parse(&bytes).map_err(|error| corrupt(error.to_string()))?;
    if journal.file_bytes() != slot.committed_bytes {
        return Err(corrupt(format!(
            "the journal is for a file of {} bytes, its slot for {}",
            journal.file_bytes(),
            slot.committed_bytes
        )));
    }
    Ok(journal)
}

fn commit_with(
    file: &mut dyn ChangeAt,
    changes: Vec<Change>,
    new_len: u64,
    left_out: Option<Sync>,
) -> Result<Commit> {
    let invalid = |what: String| Error::new(ErrorKind::InvalidInput, what);
    let smallest = (HEADER_BYTES + POSTSCRIPT_BYTES) as u64;
    if !(smallest..=U48_MAX).contains(&new_len) {
        return Err(invalid(format!("a file cannot have {new_len} bytes")));
    }
    let header = read_header(file)?;
    let old = match current(&header)? {
        Some((
            Slot {
                state: SlotState::Journal { .. },
                ..
            },
            _,
        )) => {
            return Err(invalid(
                "a modification was interrupted: recover the file first".into(),
            ));
        }
        _ => header.committed(file.len())?,
    };
    if old.bytes != file.len() {
        return Err(invalid(format!(
            "the file ends at {}, with {} bytes behind that: recover it first",
            old.bytes,
            file.len()
        )));
    }
    let journal = Journal::new(changes, new_len).map_err(|error| invalid(error.to_string()))?;
    let journal_bytes = journal.to_bytes();
    let place = old.bytes.max(new_len).next_multiple_of(JOURNAL_ALIGN);
    let length = journal_bytes.len() as u64;
    if place.saturating_add(length) > U48_MAX {
        return Err(Error::new(
            ErrorKind::LimitExceeded,
            format!("a journal of {length} bytes at {place} ends beyond 2^48"),
        ));
    }
    let next_epoch = next_epoch(old.epoch)?;
    let clean = Slot {
        epoch: self::next_epoch(next_epoch)?,
        committed_bytes: new_len,
        state: SlotState::Clean,
    };
    let pending = Slot {
        epoch: next_epoch,
        state: SlotState::Journal {
            place,
            length,
            digest: journal_digest(&journal_bytes),
        },
        ..clean
    };
    let pending = pending.to_bytes()?;
    let mut steps = Steps { file, left_out };
    let index = match current(&header)? {
        Some((_, index)) => index,
        None => {
            let first = Slot::first(old.bytes).to_bytes()?;
            steps.write_slot(0, &first)?;
            0
        }
    };
    // Also where nothing was written: what was read may be in the system's memory only.
    steps.sync(Sync::First)?;
    if let Err(error) = steps.append(old.bytes, place, &journal_bytes) {
        // The file is as before; if this fails, too, then recovery does it.
        let _ = steps.cut_back(old.bytes);
        return Err(error);
    }
    steps
        .write_slot(1 - index, &pending)
        .and_then(|()| steps.sync(Sync::CommitPoint))
        .map_err(|error| error.prefixed("the changes may count, which recovery will show"))?;
    steps
        .finish(journal.changes(), index, &clean, new_len)
        .map_err(|error| error.prefixed("the changes count, and recovery finishes them"))?;
    Ok(Commit {
        epoch: clean.epoch,
        journal_bytes: length,
    })
}

fn recover_with(file: &mut dyn ChangeAt, left_out: Option<Sync>) -> Result<Recovery> {
    let header = read_header(file)?;
    let current = current(&header)?;
    let Some((slot, index)) = current.filter(|(slot, _)| slot.state != SlotState::Clean) else {
        // A file without slots has no bytes behind its end.
        let committed = header.committed(file.len())?.bytes;
        let bytes = file.len() - committed;
        let mut steps = Steps { file, left_out };
        steps.sync(Sync::Recovery)?;
        if bytes == 0 {
            return Ok(Recovery::Clean);
        }
        steps.drop_tail(committed)?;
        return Ok(Recovery::Dropped { bytes });
    };
    let journal = read_journal(file, &slot)?;
    let clean = Slot {
        epoch: next_epoch(slot.epoch)?,
        state: SlotState::Clean,
        ..slot
    };
    let mut steps = Steps { file, left_out };
    steps.sync(Sync::Recovery)?;
    steps.finish(journal.changes(), 1 - index, &clean, slot.committed_bytes)?;
    Ok(Recovery::Finished {
        changes: journal.changes().len() as u64,
        epoch: clean.epoch,
    })
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

fn next_epoch(epoch: u64) -> Result<u64> {
    let limit = || Error::new(ErrorKind::LimitExceeded, "the file was modified 2^64 times");
    epoch.checked_add(1).ok_or_else(limit)
}

impl Steps<'_> {
    fn sync(&mut self, which: Sync) -> Result<()> {
        if self.left_out == Some(which) {
            return Ok(());
        }
        Ok(self.file.sync()?)
    }

    fn write_slot(&mut self, index: usize, bytes: &[u8]) -> Result<()> {
        let [a, b] = Header::SLOT_PLACES;
        Ok(self.file.write_at(if index == 0 { a } else { b }, bytes)?)
    }

    /// Step b. The zeros take space for what the file will have there.
    fn append(&mut self, old_len: u64, place: u64, journal: &[u8]) -> Result<()> {
        self.zero(old_len, place)?;
        self.file.write_at(place, journal)?;
        self.sync(Sync::Journal)
    }

    /// Steps d to f. `index` is the slot that is not JOURNAL.
    fn finish(
        &mut self,
        changes: &[Change],
        index: usize,
        clean: &Slot,
        new_len: u64,
    ) -> Result<()> {
        let clean = clean.to_bytes()?;
        for change in changes {
            match change {
                Change::Write { place, bytes } => self.file.write_at(*place, bytes)?,
                Change::Zero { place, length } => {
                    self.zero(*place, place.saturating_add(*length))?;
                }
            }
        }
        self.sync(Sync::Applied)?;
        self.write_slot(index, &clean)?;
        self.sync(Sync::Clean)?;
        self.drop_tail(new_len)
    }

    /// Step f: zeros the bytes behind `len` and cuts them off.
    fn drop_tail(&mut self, len: u64) -> Result<()> {
        self.zero(len, self.file.len())?;
        self.sync(Sync::Zeroed)?;
        self.cut(len)
    }

    /// Step f where the disk may be full, so that zeros may find no place. The journal holds nothing that was erased.
    fn cut_back(&mut self, len: u64) -> Result<()> {
        let zeroed = self
            .zero(len, self.file.len())
            .and_then(|()| self.sync(Sync::Zeroed));
        self.cut(len).and(zeroed)
    }

    fn cut(&mut self, len: u64) -> Result<()> {
        self.file.set_len(len)?;
        self.sync(Sync::Cut)
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
mod tests {
    use tarsia_testkit::disk::{Operation, SimulatedDisk};
    use tarsia_testkit::rng::Rng;

    use super::*;

    /// A file and what becomes of it.
    #[derive(Clone)]
    struct Case {
        old: Vec<u8>,
        changes: Vec<Change>,
        new: Vec<u8>,
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
            Self { old, changes, new }
        }

        fn commit(&self, disk: &mut SimulatedDisk, left_out: Option<Sync>) -> Result<Commit> {
            commit_with(disk, self.changes.clone(), self.new.len() as u64, left_out)
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

    /// Recovers, with interruptions. Then what the file is, which another loss of power does not change.
    fn recovered(
        case: &Case,
        disk: &mut SimulatedDisk,
        rng: &mut Rng,
        left_out: Option<Sync>,
    ) -> Result<Which, String> {
        for _ in 0..rng.below(4) {
            disk.crash_after(rng.below(12));
            let _ = recover_with(disk, left_out);
            interrupt(disk, rng);
        }
        disk.restart();
        recover_with(disk, left_out).map_err(|error| format!("recovery: {error}"))?;
        let which = case.which(disk)?;
        if rng.flip() {
            // The next modification takes it from here, interrupted or not; what is before it is what is now.
            let next = Case::of(disk.content().to_vec(), rng);
            disk.crash_after(rng.below(14));
            let _ = next.commit(disk, left_out);
            disk.lose_power();
            recover_with(disk, left_out).map_err(|error| format!("next recovery: {error}"))?;
            next.which(disk).map_err(|error| format!("next: {error}"))?;
        } else {
            disk.lose_power();
            if recover_with(disk, left_out).map_err(|error| error.to_string())? != Recovery::Clean
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
            let committed = case.commit(&mut before, None);
            committed.map_err(|error| error.to_string())?;
            case = Case::of(before.content().to_vec(), &mut rng);
        }
        let had_slot = Header::parse(&case.old).unwrap().slots != [SlotView::Empty; 2];
        let start = before.operations().len();
        let mut whole = before.clone();
        let committed = case.commit(&mut whole, left_out);
        committed.map_err(|error| format!("uninterrupted: {error}"))?;
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
            if case.commit(&mut disk, left_out).is_ok() {
                return Err(context("committed".into()));
            }
            interrupt(&mut disk, &mut rng);
            let which = recovered(&case, &mut disk, &mut rng, left_out).map_err(context)?;
            if at > commit_point && which != Which::After {
                return Err(context("the commit was lost".into()));
            }

            // The same operation fails, and the process goes on.
            let mut disk = before.clone();
            disk.fail_after(at);
            let failed = case.commit(&mut disk, left_out);
            if failed.is_ok() {
                return Err(context("an error was swallowed".into()));
            }
            let which = recovered(&case, &mut disk, &mut rng, left_out).map_err(context)?;
            if at > commit_point && which != Which::After {
                return Err(context("the commit was lost".into()));
            }
        }
        // Uninterrupted it is on the disk, and nothing is left to do.
        whole.lose_power();
        let recovery = recover_with(&mut whole, left_out).map_err(|error| error.to_string())?;
        if recovery != Recovery::Clean || case.which(&whole)? != Which::After {
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
            let length = case.commit(&mut whole, None).unwrap().journal_bytes;
            let end = case.old.len().max(case.new.len()).next_multiple_of(8) as u64 + length;
            for room in (case.old.len() as u64..end).step_by(rng.between(1, 40)) {
                let mut disk = before.clone();
                disk.set_room(Some(room));
                let error = case.commit(&mut disk, None).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Io);
                // At once, and without recovery.
                let which = |disk: &SimulatedDisk| case.which(disk).unwrap();
                assert!(which(&disk) == Which::Before || case.old == case.new);
                disk.lose_power();
                assert!(which(&disk) == Which::Before || case.old == case.new);
                assert_eq!(recover(&mut disk).unwrap(), Recovery::Clean);
                // With more room it is done.
                disk.set_room(Some(end));
                case.commit(&mut disk, None).unwrap();
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
            let change = Change::Write {
                place: 192,
                bytes: vec![round as u8; 5],
            };
            let commit = commit(&mut disk, vec![change], 256 + round).unwrap();
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
            let error = commit(&mut disk, changes, new_len).unwrap_err();
            assert_eq!(error.kind(), kind, "{error}");
            assert!(disk.operations().is_empty());
        }
    }

    #[test]
    fn journals_that_lie_are_refused_and_nothing_is_written() {
        let write = Change::Write {
            place: 192,
            bytes: vec![1; 5],
        };
        let journal = Journal::new(vec![write.clone()], 256).unwrap().to_bytes();
        let other_length = Journal::new(vec![write], 257).unwrap().to_bytes();
        let slot = |committed_bytes, place, journal: &[u8]| {
            SlotView::Whole(Slot {
                epoch: 2,
                committed_bytes,
                state: SlotState::Journal {
                    place,
                    length: journal.len() as u64,
                    digest: journal_digest(journal),
                },
            })
        };
        let good = slot(256, 256, &journal);
        let mut disk = small([SlotView::Empty, good], &journal);
        let recovery = Recovery::Finished {
            changes: 1,
            epoch: 3,
        };
        assert_eq!(recover(&mut disk).unwrap(), recovery);
        assert_eq!(disk.content()[192..], [&[1; 5][..], &[9; 59]].concat());
        assert_eq!(recover(&mut disk).unwrap(), Recovery::Clean);

        let mut damaged = journal.clone();
        damaged[20] ^= 1;
        for (slot, tail) in [
            (good, &damaged[..]),
            (good, &journal[1..]),
            (slot(256, 256, &other_length), &other_length),
            (slot(256, 256, &damaged), &damaged),
            (slot(280, 256, &journal), &journal),
            (slot(256, 248, &journal), &journal),
            (slot(256, u64::from(u32::MAX), &journal), &journal),
        ] {
            let mut disk = small([SlotView::Whole(Slot::first(256)), slot], tail);
            let error = recover(&mut disk).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
            let error = commit(&mut disk, vec![], 256).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
            assert!(disk.operations().is_empty());
        }
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
        commit(&mut file, changes.clone(), 300_000).unwrap();
        assert_eq!(recover(&mut file).unwrap(), Recovery::Clean);
        let found = std::fs::read(&path).unwrap();
        assert_eq!(found.len(), 300_000);
        assert_eq!(found[192..100_192], [7; 100_000]);
        assert!(found[100_192..].iter().all(|byte| *byte == 0));
        commit(&mut file, vec![], 256).unwrap();
        assert_eq!(file.len(), 256);
        file.write_at(400, b"left over").unwrap();
        let dropped = Recovery::Dropped { bytes: 153 };
        assert_eq!(recover(&mut file).unwrap(), dropped);
        assert_eq!(std::fs::read(&path).unwrap()[192..], [7; 64]);
    }
}
