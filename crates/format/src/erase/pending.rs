//! Reading a file whose last erasure was interrupted after it was committed: as if its journal were applied.

use std::sync::Arc;

use tarsia_compliance::Change;
use tarsia_io::{Patch, PatchedReader, ReadAt};
use tarsia_metadata::limits::HEADER_BYTES;
use tarsia_metadata::{Header, STATE_JOURNAL, SlotState};

use super::protocol::read_journal;
use crate::error::{Error, ErrorKind, Result};

/// Journals of more bytes are not held in memory; such a file has to be recovered before it is read.
const JOURNAL_BYTES_MAX: u64 = 1 << 30;

/// The reader itself, or in state JOURNAL one that shows the file with the journal's changes.
pub(crate) fn as_committed(reader: Arc<dyn ReadAt>) -> Result<Arc<dyn ReadAt>> {
    let file_bytes = reader.len();
    let mut header = [0; HEADER_BYTES];
    if file_bytes < HEADER_BYTES as u64 {
        return Ok(reader);
    }
    match reader.mapped().and_then(|all| all.get(..HEADER_BYTES)) {
        Some(bytes) => header.copy_from_slice(bytes),
        None => reader.read_at(0, &mut header)?,
    }
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
    let journal = match read_journal(&*reader, &parsed, &slot) {
        Ok(journal) => journal,
        Err(error) => {
            // Whoever erases may have finished meanwhile.
            let mut now = [0; HEADER_BYTES];
            reader.read_at(0, &mut now)?;
            return Err(match now == header {
                true => error,
                false => Error::new(
                    ErrorKind::FileChanged,
                    "the file was changed while it was opened",
                ),
            });
        }
    };
    let patches = patches(journal.into_changes());
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
