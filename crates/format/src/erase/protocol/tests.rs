//! The protocol on a disk that loses power, fails and fills up.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use tarsia_compliance::JOURNAL_MAGIC;
use tarsia_io::Conflict;
use tarsia_testkit::disk::{Operation, SimulatedDisk};
use tarsia_testkit::rng::Rng;

use super::super::journal::PIECE_BYTES;
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

/// The last step of a program on a file.
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

pub(in crate::erase) fn change(
    file: &mut dyn ChangeAt,
    changes: Vec<Change>,
    new_len: u64,
) -> Result<Commit> {
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

pub(in crate::erase) fn recover_alone(file: &mut dyn ChangeAt) -> Result<Recovery> {
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

    /// Says which state the file is in, the slots apart. It must end where they say.
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
    committed.map_err(|error| format!("uninterrupted: {error}"))?;
    if told != [case.record.clone()] {
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

pub(in crate::erase) fn small(slots: [SlotView; 2], tail: &[u8]) -> SimulatedDisk {
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
fn a_record_that_cannot_be_published_stays_in_the_journal() {
    let case = Case::new(&mut Rng::new(1));
    let failed = || Err(Error::new(ErrorKind::Io, "no place for it"));
    let mut disk = SimulatedDisk::new(case.old.clone(), 1);
    let error = commit(&mut disk, case.modification(), &mut { failed }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert_eq!(pending_record(&disk).unwrap(), case.record);
    let mut told = Vec::new();
    recover_watched(&mut disk, None, &mut told).unwrap();
    assert_eq!(case.which(&disk).unwrap(), Which::After);
    assert_eq!(told, std::slice::from_ref(&case.record));

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

/// A disk that knows the longest read.
struct Measured<'a> {
    disk: &'a mut SimulatedDisk,
    longest: AtomicUsize,
}

impl ReadAt for Measured<'_> {
    fn len(&self) -> u64 {
        self.disk.len()
    }

    fn read_at(&self, place: u64, buf: &mut [u8]) -> io::Result<()> {
        self.longest.fetch_max(buf.len(), Ordering::Relaxed);
        self.disk.read_at(place, buf)
    }
}

impl ChangeAt for Measured<'_> {
    fn write_at(&mut self, place: u64, bytes: &[u8]) -> io::Result<()> {
        self.disk.write_at(place, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.disk.sync()
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.disk.set_len(len)
    }
}

/// The journal may be as long as the file: recovery holds a piece of it.
#[test]
fn a_long_journal_is_recovered_in_pieces() {
    let mut rng = Rng::new(11);
    let piece = PIECE_BYTES as usize;
    let mut new = small([SlotView::Empty; 2], &[]).content().to_vec();
    new.resize(4 * piece, 0);
    let mut changes = vec![];
    for (start, end) in [
        (192, 300),
        (1000, 3 * piece + 77),
        (3 * piece + 80, 4 * piece),
    ] {
        let bytes: Vec<u8> = (start..end).map(|_| rng.u8() | 1).collect();
        new[start..end].copy_from_slice(&bytes);
        let place = start as u64;
        changes.push(Change::Write { place, bytes });
    }
    let modification = Modification {
        changes,
        new_len: new.len() as u64,
        record: vec![5; 99],
    };
    let mut disk = small([SlotView::Empty; 2], &[]);
    let crash = &mut || Err(Error::new(ErrorKind::Io, "interrupted"));
    commit(&mut disk, modification, crash).unwrap_err();
    // As if nothing had been applied but some of the second change.
    let old = small([SlotView::Empty; 2], &[]);
    let is_behind = |at: &usize| *at >= piece || (192..256).contains(at);
    let mut interrupted = disk.content().to_vec();
    for at in (HEADER_BYTES..new.len()).filter(is_behind) {
        interrupted[at] = old.content().get(at).copied().unwrap_or(0);
    }
    let mut disk = SimulatedDisk::new(interrupted, 0);
    assert!(disk.len() > 8 * PIECE_BYTES - 4096);
    let mut measured = Measured {
        disk: &mut disk,
        longest: AtomicUsize::new(0),
    };
    let mut told = vec![];
    let recovery = recover(&mut measured, &mut |record| {
        told.push(record.to_vec());
        Ok(())
    });
    let longest = measured.longest.into_inner();
    let finished = Recovery::Finished {
        changes: 3,
        epoch: 3,
    };
    assert_eq!(recovery.unwrap(), finished);
    assert_eq!(longest, piece);
    assert_eq!(told, [[5; 99]]);
    assert!(disk.content()[HEADER_BYTES..] == new[HEADER_BYTES..]);
}
