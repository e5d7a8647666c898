//! Rows erased from a file: hidden, or their bytes removed in place.
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | plans carried out: in place, or as a new file |
//! | `plan.rs` | all that changes: blocks, digests up to the root, the end of the file ([`ErasurePlan`]) |
//! | `blocks.rs` | the blocks of a column without the rows; dictionaries without entries that nothing refers to |
//! | `patches.rs` | ranges of the file that get other bytes |
//! | `report.rs` | what was done ([`ErasureReport`]) |
//! | `protocol.rs` | changes written so that an interruption leaves the file as before or as after |
//! | `pending.rs` | reading a file whose last erasure was interrupted |

mod blocks;
mod patches;
mod pending;
mod plan;
mod protocol;
mod report;

use std::path::Path;

use tarsia_compliance::RowSet;
use tarsia_io::{ChangeAt, FileSink, PatchedReader, ReadAt, Sink};
use tarsia_metadata::{ErasureLevel, Header, Slot, SlotState, SlotView};

use crate::error::Result;
use crate::exec::OpenFile;

pub(crate) use pending::as_committed;
pub use plan::ErasurePlan;
pub use protocol::Recovery;
pub(crate) use protocol::recover;
pub use report::{ErasedBlock, ErasedColumn, ErasureReport, ErasureSummary};

use plan::Asked;

/// Bytes that are copied at a time.
const COPY_BYTES: usize = 4 << 20;

/// Plans to erase rows. Salts are made from a random key unless one is given.
pub(crate) fn plan(
    file: &OpenFile,
    rows: &RowSet,
    level: ErasureLevel,
    salt_key: Option<[u8; 32]>,
) -> Result<ErasurePlan> {
    let asked = Asked {
        rows,
        level,
        salt_key,
    };
    plan::plan(file, &asked)
}

/// Carries a plan out on the file that it was made for.
pub(crate) fn commit(file: &mut dyn ChangeAt, plan: ErasurePlan) -> Result<ErasureReport> {
    let ErasurePlan {
        changes,
        new_len,
        mut report,
    } = plan;
    let done = protocol::commit(file, changes, new_len)?;
    debug_assert_eq!(done.epoch, report.new_epoch);
    report.summary.journal_bytes = done.journal_bytes;
    Ok(report)
}

/// Writes a new file as the planned erasure would leave the old one. What the erasure does not change is copied.
pub(crate) fn rewrite(file: &OpenFile, plan: ErasurePlan, path: &Path) -> Result<ErasureReport> {
    let ErasurePlan {
        changes,
        new_len,
        report,
    } = plan;
    let reader = file.source.reader().clone();
    let patched = PatchedReader::new(reader, pending::patches(changes), new_len)?;
    let header = Header {
        slots: [
            SlotView::Whole(Slot {
                epoch: report.new_epoch,
                committed_bytes: new_len,
                state: SlotState::Clean,
            }),
            SlotView::Empty,
        ],
        ..file.catalog.header()
    };
    let header = header.to_bytes()?;
    let mut sink = FileSink::create(path)?;
    sink.append(&header)?;
    let mut place = header.len() as u64;
    let mut buffer = Vec::new();
    while place < new_len {
        let bytes = (new_len - place).min(COPY_BYTES as u64);
        buffer.resize(bytes as usize, 0);
        patched.read_at(place, &mut buffer)?;
        sink.append(&buffer)?;
        place += bytes;
    }
    file.check_unchanged()?;
    sink.commit()?;
    Ok(report)
}
