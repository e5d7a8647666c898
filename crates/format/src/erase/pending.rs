//! Reading a file whose last erasure was interrupted after it was committed: as if its journal were applied.

use std::sync::Arc;

use tarsia_compliance::Change;
use tarsia_io::{Patch, PatchedReader, ReadAt};
use tarsia_metadata::limits::HEADER_BYTES;
use tarsia_metadata::{Header, STATE_JOURNAL, SlotState};

use super::journal::StoredJournal;
use crate::error::{Error, ErrorKind, Result};

/// Journals of more bytes are not held in memory; such a file has to be recovered before it is read.
const JOURNAL_BYTES_MAX: u64 = 1 << 30;

/// Opens a file that somebody may change in place meanwhile, and says so if that happened, whatever opening returned:
/// what was read may then be a mixture, of which checksums say that it is damaged.
///
/// The header says it, since a slot is written before an erasure changes anything else, and another one after that. An
/// error is looked at twice: a file that grew before its header was read ends too early for this reader.
///
/// # Errors
/// [`ErrorKind::FileChanged`]; what `open` returns.
pub(crate) fn while_unchanged<T>(
    reader: &dyn ReadAt,
    open: impl FnOnce() -> Result<T>,
) -> Result<T> {
    // What is mapped is locked, and memory does not change.
    if reader.mapped().is_some() {
        return open();
    }
    let header = || -> Result<[u8; HEADER_BYTES]> {
        let mut header = [0; HEADER_BYTES];
        reader.read_at(0, &mut header)?;
        Ok(header)
    };
    if reader.len() < HEADER_BYTES as u64 {
        return open().map_err(|error| changed(reader.check_unchanged()).unwrap_or(error));
    }
    let before = header()?;
    let opened = open();
    match (opened, header()) {
        (_, Ok(after)) if after != before => Err(Error::new(
            ErrorKind::FileChanged,
            "the file was changed while it was opened",
        )),
        (Ok(opened), Ok(_)) => Ok(opened),
        (Ok(_), Err(error)) => Err(error),
        (Err(error), _) => Err(changed(reader.check_unchanged()).unwrap_or(error)),
    }
}

/// The error, if a check says that the file was changed.
fn changed(checked: std::io::Result<()>) -> Option<Error> {
    let error = Error::from(checked.err()?);
    (error.kind() == ErrorKind::FileChanged).then_some(error)
}

/// The reader itself, or in state JOURNAL one that shows the file with the journal's changes.
pub(crate) fn as_committed(reader: Arc<dyn ReadAt>) -> Result<Arc<dyn ReadAt>> {
    let file_bytes = reader.len();
    let mut header = [0; HEADER_BYTES];
    if file_bytes < HEADER_BYTES as u64 {
        return Ok(reader);
    }
    // By position, of a map too: the first access to a page of it costs more than all other steps of opening.
    reader.read_at(0, &mut header)?;
    // Nearly all files are in state CLEAN, and opening them parses the header anyway.
    let may_be_journal = |place: u64| {
        let state = header.get(place as usize..).and_then(<[u8]>::first_chunk);
        state.is_some_and(|state| u32::from_le_bytes(*state) == STATE_JOURNAL)
    };
    if !Header::SLOT_PLACES.into_iter().any(may_be_journal) {
        return Ok(reader);
    }
    // What is wrong with the header, opening says.
    let Ok(parsed) = Header::parse(&header) else {
        return Ok(reader);
    };
    let Ok(Some(slot)) = parsed.current_slot() else {
        return Ok(reader);
    };
    let SlotState::Journal { length, .. } = slot.state else {
        return Ok(reader);
    };
    if length > JOURNAL_BYTES_MAX {
        let what = "an erasure was interrupted: recover the file before it is read";
        return Err(Error::new(ErrorKind::LimitExceeded, what));
    }
    let journal = StoredJournal::find(&*reader, &parsed, &slot)?;
    let mut stored = journal.changes();
    let mut changes = Vec::new();
    while let Some(change) = stored.next(&*reader)? {
        changes.push(change);
    }
    let patches = patches(changes);
    let patched = PatchedReader::new(reader, patches, slot.committed_bytes);
    let corrupt = |error: std::io::Error| Error::new(ErrorKind::Corrupt, error.to_string());
    Ok(Arc::new(patched.map_err(corrupt)?))
}

/// Changes as a reader takes them.
pub(crate) fn patches(changes: Vec<Change>) -> Vec<Patch> {
    let changes = changes.into_iter();
    changes
        .map(|change| match change {
            Change::Write { place, bytes } => Patch::Bytes { place, bytes },
            Change::Zero { place, length } => Patch::Zeros { place, length },
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
    use arrow_select::concat::concat_batches;
    use tarsia_compliance::RowSet;
    use tarsia_io::{ChangeAt, Conflict, MemoryFile, check_inside};
    use tarsia_metadata::ErasureLevel;
    use tarsia_testkit::rng::Rng;

    use crate::erase::commit;
    use crate::error::{ErrorKind, Result};
    use crate::{EmbedKernels, File, OpenOptions, Threads, WriteOptions, Writer};

    use super::*;

    /// A file in memory that keeps what it was after each change of it, and amid each.
    struct Filmed {
        now: Vec<u8>,
        states: Vec<Vec<u8>>,
    }

    impl ReadAt for Filmed {
        fn len(&self) -> u64 {
            self.now.len() as u64
        }

        fn read_at(&self, place: u64, buf: &mut [u8]) -> io::Result<()> {
            check_inside(place, buf.len() as u64, self.len())?;
            let start = place as usize;
            buf.copy_from_slice(&self.now[start..start + buf.len()]);
            Ok(())
        }
    }

    impl ChangeAt for Filmed {
        fn write_at(&mut self, place: u64, bytes: &[u8]) -> io::Result<()> {
            let start = place as usize;
            // A slot is seen before or after.
            let is_slot = start < HEADER_BYTES;
            let half = if is_slot { 0 } else { bytes.len() / 2 };
            for written in [half, bytes.len()] {
                let end = start + written;
                self.now.resize(self.now.len().max(end), 0);
                self.now[start..end].copy_from_slice(&bytes[..written]);
                self.states.push(self.now.clone());
            }
            Ok(())
        }

        fn sync(&mut self) -> io::Result<()> {
            Ok(())
        }

        fn set_len(&mut self, len: u64) -> io::Result<()> {
            self.now.resize(len as usize, 0);
            self.states.push(self.now.clone());
            Ok(())
        }
    }

    /// The file as a reader by position sees it, of one state and after a few reads of a later one. The time of
    /// modification stands still, as it may within a few milliseconds.
    struct Moving {
        opened: Arc<Vec<u8>>,
        later: Arc<Vec<u8>>,
        reads_left: AtomicUsize,
    }

    impl Moving {
        fn now(&self) -> &[u8] {
            match self.reads_left.load(Ordering::Relaxed) {
                0 => &self.later,
                _ => &self.opened,
            }
        }
    }

    fn changed() -> io::Error {
        let what = "length";
        Conflict::Changed { path: None, what }.into()
    }

    impl ReadAt for Moving {
        fn len(&self) -> u64 {
            self.opened.len() as u64
        }

        fn read_at(&self, place: u64, buf: &mut [u8]) -> io::Result<()> {
            check_inside(place, buf.len() as u64, self.len())?;
            let start = place as usize;
            let read = self.now().get(start..start + buf.len());
            buf.copy_from_slice(read.ok_or_else(changed)?);
            let less = |left: usize| Some(left.saturating_sub(1));
            let _ = self
                .reads_left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
            Ok(())
        }

        fn check_unchanged(&self) -> io::Result<()> {
            match self.now().len() == self.opened.len() {
                true => Ok(()),
                false => Err(changed()),
            }
        }
    }

    fn one_thread() -> OpenOptions {
        OpenOptions::new().with_threads(Threads::One)
    }

    fn rows_of(file: &File) -> Result<RecordBatch> {
        let scan = file.scan().build()?;
        let batches: Result<Vec<_>, _> = scan.collect();
        let batches = batches?;
        Ok(concat_batches(&file.schema()?, &batches).unwrap())
    }

    /// A table of which rows are erased in `rounds`, and all states of the file on the way.
    fn film(rounds: &[RowSet], level: ErasureLevel) -> (Vec<RecordBatch>, Vec<Arc<Vec<u8>>>) {
        let numbers = Int64Array::from_iter_values((0..900).map(|row| (row * 37 % 101) << 35));
        let text = StringArray::from_iter_values((0..900).map(|row| format!("t{}", row % 57)));
        let columns: [(&str, ArrayRef); 2] =
            [("numbers", Arc::new(numbers)), ("text", Arc::new(text))];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let options = WriteOptions::new()
            .with_erasure(ErasureLevel::Erase)
            .with_embed_kernels(EmbedKernels::Omit);
        let mut writer = Writer::new(Vec::new(), batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        let (bytes, _) = writer.finish_into().unwrap();
        let mut filmed = Filmed {
            states: vec![bytes.clone()],
            now: bytes,
        };
        let mut tables = vec![batch];
        for rows in rounds {
            let reader = Arc::new(MemoryFile::new(filmed.now.clone()));
            let file = File::open_reader(reader, one_thread()).unwrap();
            let plan = file.plan_erasure(rows, level).unwrap();
            commit(&mut filmed, plan, vec![7; 100], &mut || Ok(())).unwrap();
            let file = File::from_bytes(filmed.now.clone(), one_thread()).unwrap();
            tables.push(rows_of(&file).unwrap());
        }
        (tables, filmed.states.into_iter().map(Arc::new).collect())
    }

    #[test]
    fn a_file_that_changes_after_any_read_is_of_one_state_or_changed() {
        let mut rng = Rng::new(5);
        for level in [ErasureLevel::Hide, ErasureLevel::Erase] {
            let rounds: Vec<RowSet> = (0..3)
                .map(|round| (0..900).filter(|row| row % 41 == round).collect())
                .collect();
            let (tables, states) = film(&rounds, level);
            let (mut n_read, mut n_changed) = (0, 0);
            for _ in 0..4000 {
                let start = rng.below(states.len());
                // Mostly a state that is near.
                let end = match rng.percent(70) {
                    true => (start + rng.below(12)).min(states.len() - 1),
                    false => rng.between(start, states.len() - 1),
                };
                let reader = Arc::new(Moving {
                    opened: states[start].clone(),
                    later: states[end].clone(),
                    reads_left: AtomicUsize::new(rng.below(24)),
                });
                let context = || format!("{level:?}, from state {start} to {end}");
                let opened = File::open_reader(reader, one_thread());
                let what = rng.below(3);
                let read = opened.and_then(|file| match what {
                    0 => rows_of(&file).map(|rows| assert!(tables.contains(&rows))),
                    1 => file.verify().map(drop),
                    _ => file.inspect().map(drop),
                });
                match read {
                    Ok(()) => n_read += 1,
                    Err(error) => {
                        assert_eq!(
                            error.kind(),
                            ErrorKind::FileChanged,
                            "{}: {error}",
                            context()
                        );
                        n_changed += 1;
                    }
                }
            }
            assert!(n_read > 100 && n_changed > 100, "{n_read}, {n_changed}");
        }
    }
}
