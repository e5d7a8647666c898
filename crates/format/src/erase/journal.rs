//! The journal of a file, and whether it is that of this state of this file.

use std::ops::Range;

use tarsia_compliance::{Change, FileState, JournalError, JournalHasher, JournalReader};
use tarsia_io::{ReadAt, read_range};
use tarsia_metadata::limits::POSTSCRIPT_BYTES;
use tarsia_metadata::{Header, Slot, SlotState, SlotView};

use crate::error::{Error, ErrorKind, Result};

/// Bytes of a journal that are in memory at a time, its record apart.
pub(super) const PIECE_BYTES: u64 = 1 << 20;

/// A journal in its file, found to be whole, well formed, and of this state of this file. Only its record is in memory.
pub(super) struct StoredJournal {
    place: u64,
    /// Before the first change.
    start: JournalReader,
    record: Vec<u8>,
}

impl StoredJournal {
    /// The journal of a file in state JOURNAL. `slot` is the current one.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] for a journal that is not inside the file and behind its end, that has another digest,
    /// that is not well formed, or that is of another file or of another state of it; [`ErrorKind::Unsupported`] for
    /// one of an earlier version; [`ErrorKind::InvalidInput`] for another state of the slot; what the system reports.
    pub(super) fn find(file: &dyn ReadAt, header: &Header, slot: &Slot) -> Result<Self> {
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
        let end = end.filter(|end| place >= slot.committed_bytes && *end <= file.len());
        let end = end.ok_or_else(|| {
            corrupt(format!(
                "a journal of {length} bytes at {place} is not between the end at {} and the last byte at {}",
                slot.committed_bytes,
                file.len()
            ))
        })?;
        if digest_of(file, place..end)? != digest {
            return Err(corrupt(format!(
                "the journal at {place} has another digest than its slot says"
            )));
        }
        let mut read = reading(file, place);
        let start = JournalReader::new(length, &mut read).map_err(refused)?;
        let before = start.before();
        let mut postscript = before.postscript;
        let mut reader = start.clone();
        while let Some(change) = reader
            .next_change(PIECE_BYTES, &mut read)
            .map_err(refused)?
        {
            apply_to_postscript(&mut postscript, before, &change);
        }
        let record = reader.record(&mut read).map_err(refused)?;
        if start.file_bytes() != slot.committed_bytes {
            return Err(corrupt(format!(
                "the journal is for a file of {} bytes, its slot for {}",
                start.file_bytes(),
                slot.committed_bytes
            )));
        }
        match is_of_the_file(before, &postscript, file, header, slot)? {
            true => Ok(Self {
                place,
                start,
                record,
            }),
            false => Err(corrupt(format!(
                "the journal at {place} is of another file, or of another state of this one"
            ))),
        }
    }

    pub(super) fn n_changes(&self) -> u64 {
        self.start.n_changes()
    }

    pub(super) fn record(&self) -> &[u8] {
        &self.record
    }

    pub(super) fn into_record(self) -> Vec<u8> {
        self.record
    }

    /// Its changes, long ones in pieces.
    pub(super) fn changes(&self) -> StoredChanges {
        StoredChanges {
            place: self.place,
            reader: self.start.clone(),
        }
    }
}

/// The changes of a journal in its file, one after the other.
pub(super) struct StoredChanges {
    place: u64,
    reader: JournalReader,
}

impl StoredChanges {
    /// The next change, or [`PIECE_BYTES`] of it, from the file that has the journal. Changes of the file may be made
    /// meanwhile: they do not reach the journal.
    pub(super) fn next(&mut self, file: &dyn ReadAt) -> Result<Option<Change>> {
        let mut read = reading(file, self.place);
        let change = self.reader.next_change(PIECE_BYTES, &mut read);
        change.map_err(refused)
    }
}

/// Why a journal cannot be read.
enum Refused {
    Journal(JournalError),
    Read(Error),
}

impl From<JournalError> for Refused {
    fn from(error: JournalError) -> Self {
        Self::Journal(error)
    }
}

/// Reads ranges of the journal at `place`.
fn reading(
    file: &dyn ReadAt,
    place: u64,
) -> impl FnMut(Range<u64>) -> std::result::Result<Vec<u8>, Refused> {
    move |range| {
        let range = place.saturating_add(range.start)..place.saturating_add(range.end);
        let bytes = read_range(file, range).map_err(|error| Refused::Read(error.into()))?;
        Ok(bytes.to_vec())
    }
}

/// The digest of bytes of a file, as a slot has it of its journal.
fn digest_of(file: &dyn ReadAt, range: Range<u64>) -> Result<[u8; 16]> {
    let mut hasher = JournalHasher::new();
    let mut at = range.start;
    while at < range.end {
        let end = range.end.min(at.saturating_add(PIECE_BYTES));
        hasher.update(&read_range(file, at..end)?);
        at = end;
    }
    Ok(hasher.digest())
}

/// Returns the error for bytes that are no journal.
fn refused(refused: Refused) -> Error {
    let error = match refused {
        Refused::Read(error) => return error,
        Refused::Journal(error) => error,
    };
    let kind = match error {
        JournalError::Earlier => ErrorKind::Unsupported,
        _ => ErrorKind::Corrupt,
    };
    Error::new(kind, error.to_string())
}

/// True if the journal was written for this state of this file: its id, the epoch and the length of the slot that
/// counted before, and the postscript there, of which the journal's changes make `changed`. They may have been applied
/// already, any part of them.
fn is_of_the_file(
    before: &FileState,
    changed: &[u8; POSTSCRIPT_BYTES],
    file: &dyn ReadAt,
    header: &Header,
    slot: &Slot,
) -> Result<bool> {
    let other = header
        .slots
        .iter()
        .find(|view| **view != SlotView::Whole(*slot));
    let follows = match other {
        Some(SlotView::Whole(other)) => {
            other.state == SlotState::Clean
                && other.epoch == before.epoch
                && other.committed_bytes == before.file_bytes
        }
        // It was being written when the modification was interrupted.
        Some(SlotView::Torn { .. }) => true,
        // A file gets a slot before it gets a journal.
        Some(SlotView::Empty) | None => false,
    };
    let SlotState::Journal { place, .. } = slot.state else {
        return Ok(false);
    };
    if !follows
        || before.file_id != header.file_id
        || before.epoch.checked_add(1) != Some(slot.epoch)
        || before.file_bytes > place
    {
        return Ok(false);
    }
    let found = read_range(file, before.postscript_place()..before.file_bytes)?;
    let mut bytes = found.iter().zip(before.postscript).zip(changed);
    Ok(bytes.all(|((found, old), new)| *found == old || found == new))
}

/// Applies a change to the bytes where the postscript was.
fn apply_to_postscript(
    postscript: &mut [u8; POSTSCRIPT_BYTES],
    before: &FileState,
    change: &Change,
) {
    let first = change.place().max(before.postscript_place());
    let end = change.place().saturating_add(change.length());
    for at in first..end.min(before.file_bytes) {
        let new = match change {
            Change::Write { place, bytes } => bytes.get((at - place) as usize).copied(),
            Change::Zero { .. } => Some(0),
        };
        let old = postscript.get_mut((at - before.postscript_place()) as usize);
        if let (Some(old), Some(new)) = (old, new) {
            *old = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use tarsia_compliance::{Journal, journal_digest};
    use tarsia_testkit::disk::SimulatedDisk;

    use super::*;
    use crate::erase::protocol::tests::{change, recover_alone, small};
    use crate::erase::protocol::{Recovery, pending_record};

    /// Returns [`small`] with an old end at `file_bytes`.
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
}
