//! The two ends of a file: the header, and postscript and footer.

use std::ops::Range;

use tarsia_metadata as metadata;
use tarsia_metadata::{Header, Postscript, SlotState, limits};

use crate::error::{Error, ErrorKind};
use crate::source::{AtHand, Step, Stop};

/// The header, and the end of the file that its slots state.
pub(crate) struct Head {
    pub(crate) bytes: Vec<u8>,
    pub(crate) header: Header,
    /// The number of the file's last commit.
    pub(crate) epoch: u64,
    /// Bytes of the file.
    pub(super) committed_bytes: u64,
}

/// The last parts of a file.
pub(super) struct Tail {
    pub(super) footer_bytes: Vec<u8>,
    pub(super) postscript: Postscript,
}

impl Head {
    /// Whether an erasure was interrupted after it was committed.
    pub(super) fn is_pending(&self) -> bool {
        let slot = self.header.current_slot().ok().flatten();
        slot.is_some_and(|slot| slot.state != SlotState::Clean)
    }
}

/// The header of a file of `file_bytes` bytes.
pub(super) fn head_of(hand: &AtHand<'_>, file_bytes: u64) -> Step<Head> {
    let bytes = hand.get(0..limits::HEADER_BYTES as u64)?.to_vec();
    if !bytes.starts_with(&metadata::MAGIC) {
        return Err(Error::new(ErrorKind::Corrupt, "not a Tarsia file").into());
    }
    let header = Header::parse(&bytes)?;
    let committed = header.committed(file_bytes)?;
    Ok(Head {
        bytes,
        header,
        epoch: committed.epoch,
        committed_bytes: committed.bytes,
    })
}

/// The end of a file whose last byte is before `end`.
pub(super) fn tail(hand: &AtHand<'_>, end: u64) -> Step<Tail> {
    let read = |range: Range<u64>| hand.get(range).map(|bytes| bytes.to_vec());
    let start = end
        .checked_sub(limits::POSTSCRIPT_BYTES as u64)
        .ok_or_else(|| {
            let what = format!("committed length of {end} bytes");
            Error::new(ErrorKind::Corrupt, what)
        })?;
    let postscript_bytes = read(start..end)?;
    let footer_bytes = read(Postscript::footer_range(&postscript_bytes, end)?)?;
    let postscript = Postscript::parse(&postscript_bytes, end, &footer_bytes)?;
    Ok(Tail {
        footer_bytes,
        postscript,
    })
}

/// The end of a file that ends with a postscript for its length; `None` of others: bytes may lie behind the end, and
/// what is wrong is told by the header.
pub(super) fn by_end(hand: &AtHand<'_>, file_bytes: u64) -> Step<Option<Tail>> {
    match tail(hand, file_bytes) {
        Ok(tail) => Ok(Some(tail)),
        Err(Stop::Needs) => Err(Stop::Needs),
        Err(Stop::Failed(error)) if error.kind() == ErrorKind::Io => Err(error.into()),
        Err(Stop::Failed(_)) => Ok(None),
    }
}
