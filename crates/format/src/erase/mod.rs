//! Rows erased from a file: hidden, or their bytes removed in place.
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | plans carried out: in place, or as a new file |
//! | `plan.rs` | all that changes: blocks, digests up to the root, the end of the file ([`ErasurePlan`]) |
//! | `blocks.rs` | the blocks of a column without the rows; dictionaries without entries that nothing refers to |
//! | `pages.rs` | pages as erasures read them |
//! | `look.rs` | a look for values of erased rows in what a column holds |
//! | `foreign.rs` | pages that a kernel decodes |
//! | `patches.rs` | ranges of the file that get other bytes |
//! | `kept.rs` | what an erasure does not reach |
//! | `residue.rs` | what an erasure leaves that may depend on erased values ([`Residue`]) |
//! | `report.rs` | what was done ([`ErasureReport`]) |
//! | `protocol.rs` | changes written so that an interruption leaves the file as before or as after |
//! | `journal.rs` | the journal of a file, and whether it is that of this state of it |
//! | `pending.rs` | reading a file whose last erasure was interrupted |

mod blocks;
mod foreign;
mod journal;
mod kept;
mod look;
mod pages;
mod patches;
mod pending;
mod plan;
mod protocol;
mod report;
mod residue;

use tarsia_compliance::RowSet;
use tarsia_io::{ChangeAt, PatchedReader, ReadAt, Sink};
use tarsia_metadata::{ErasureLevel, Header, Slot, SlotState, SlotView};

use crate::error::Result;
use crate::exec::OpenFile;

pub(crate) use kept::encodings_that_keep_values;
pub(crate) use look::{Look, look};
pub(crate) use pending::{as_committed, while_unchanged};
pub use plan::ErasurePlan;
pub use protocol::Recovery;
pub(crate) use protocol::{pending_record, recover};
pub use report::{ErasedBlock, ErasedColumn, ErasureReport, ErasureSummary, RowsOfErasure};
pub use residue::Residue;
pub(crate) use residue::{is_strict, residue_of};

use plan::Asked;
use protocol::Modification;

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

/// Carries a plan out on the file that it was made for. The journal keeps `record` until `publish` ran, which is once
/// the changes are on the disk.
pub(crate) fn commit(
    file: &mut dyn ChangeAt,
    plan: ErasurePlan,
    record: Vec<u8>,
    publish: &mut dyn FnMut() -> Result<()>,
) -> Result<ErasureReport> {
    let ErasurePlan {
        changes,
        new_len,
        mut report,
        ..
    } = plan;
    let modification = Modification {
        changes,
        new_len,
        record,
    };
    let done = protocol::commit(file, modification, publish)?;
    debug_assert_eq!(done.epoch, report.new_epoch);
    report.summary.journal_bytes = done.journal_bytes;
    Ok(report)
}

/// Writes a new file as the planned erasure would leave the old one. What the erasure does not change is copied.
pub(crate) fn rewrite(
    file: &OpenFile,
    plan: ErasurePlan,
    sink: &mut dyn Sink,
) -> Result<ErasureReport> {
    let ErasurePlan {
        changes,
        new_len,
        report,
        ..
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
        ..file.head()?.header
    };
    let header = header.to_bytes()?;
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        ArrayRef, FixedSizeBinaryArray, Int64Array, ListArray, RecordBatch, StringArray,
    };
    use arrow_buffer::OffsetBuffer;
    use arrow_schema::{DataType, Field};
    use tarsia_compliance::{Change, Salts};
    use tarsia_io::MemoryFile;
    use tarsia_testkit::rng::Rng;

    use super::pages::Erasing;
    use super::*;
    use crate::session::Session;
    use crate::source::Source;
    use crate::{ColumnOptions, EmbedKernels, File, OpenOptions, WriteOptions, Writer};

    /// Dictionaries, packed numbers, lists, text, and long rows, of which some are sorted.
    fn table(rows: u64) -> RecordBatch {
        let number = |row: u64| ((row * 7919 % 4001) << 40) as i64;
        let numbers = Int64Array::from_iter_values((0..rows).map(number));
        let sorted = Int64Array::from_iter_values((0..rows).map(|row| (row * row) as i64));
        let few = Int64Array::from_iter_values((0..rows).map(|row| number(row / 40 % 97)));
        let text =
            StringArray::from_iter_values((0..rows).map(|row| format!("text {}", row * row % 997)));
        let wide = (0..rows).map(|row| number(row).to_le_bytes().repeat(32));
        let wide = FixedSizeBinaryArray::try_from_iter(wide).unwrap();
        let lengths = OffsetBuffer::from_lengths((0..rows as usize).map(|row| row % 3));
        let n_items = *lengths.last().unwrap() as u64;
        let items = Int64Array::from_iter_values((0..n_items).map(number));
        let item = Arc::new(Field::new_list_field(DataType::Int64, true));
        let lists = ListArray::new(item, lengths, Arc::new(items), None);
        let columns: [(&str, ArrayRef); 6] = [
            ("numbers", Arc::new(numbers)),
            ("sorted", Arc::new(sorted)),
            ("few", Arc::new(few)),
            ("text", Arc::new(text)),
            ("wide", Arc::new(wide)),
            ("lists", Arc::new(lists)),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    fn options() -> WriteOptions {
        WriteOptions::new()
            .with_erasure(ErasureLevel::Erase)
            .with_embed_kernels(EmbedKernels::Omit)
    }

    fn written(batch: &RecordBatch, options: WriteOptions) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new(), batch.schema(), options).unwrap();
        writer.write(batch).unwrap();
        writer.finish_into().unwrap().0
    }

    /// Training leaves tokens that no value uses; they are not stored where values can be erased.
    #[test]
    fn a_writer_stores_the_entries_in_use_alone() {
        let mut rng = Rng::new(3);
        let mut n_shared = 0;
        for (outline, n_words) in [("onpair", 40), ("onpair", 400), ("fsst", 40), ("fsst", 400)] {
            let own = ColumnOptions::new().with_outline(outline.parse().unwrap());
            let text = |_| {
                let words = (0..6).map(|_| format!("word{:x}", rng.below(n_words) * 7919));
                words.collect::<Vec<_>>().join("-")
            };
            let text: ArrayRef = Arc::new(StringArray::from_iter_values((0..5000).map(text)));
            let batch = RecordBatch::try_from_iter([("text", text)]).unwrap();
            let options = options().with_page_bytes(1 << 20).with_column("text", own);
            let reader = Arc::new(MemoryFile::new(written(&batch, options)));
            let source = Source::new(reader, String::from("test"));
            let session = Session::new(&OpenOptions::new());
            let file = OpenFile::open(source, session, false).unwrap();
            let none = RowSet::new();
            let erasing = Erasing {
                file: &file,
                absent: &none,
                erase: &none,
                salts: &Salts::new([0; 32]),
            };
            for column in file.all_columns().unwrap() {
                for shared in 0..column.shared_pages.len() {
                    n_shared += 1;
                    assert!(
                        erasing
                            .are_others_wiped(&column, shared)
                            .unwrap()
                            .is_none_or(|(_, wiped)| wiped)
                    );
                }
            }
        }
        assert!(n_shared > 3);
    }

    fn apply(bytes: &mut [u8], change: &Change) {
        match change {
            Change::Write { place, bytes: new } => {
                let place = *place as usize;
                bytes[place..place + new.len()].copy_from_slice(new);
            }
            Change::Zero { place, length } => {
                let place = *place as usize;
                bytes[place..place + *length as usize].fill(0);
            }
        }
    }

    /// Whatever of a plan is left out, a block or zeros over where one was, verifying the file finds.
    #[test]
    fn no_change_of_a_plan_can_be_left_out() {
        let old = written(&table(4000), options().with_page_bytes(8 << 10));
        let open = |bytes: Vec<u8>| File::from_bytes(bytes, OpenOptions::new());
        let file = open(old.clone()).unwrap();
        // Single rows, so that blocks move, and a run, so that much becomes zero.
        let rows: RowSet = (0..1500)
            .filter(|row| row % 31 == 7)
            .chain(2000..2900)
            .collect();
        let plan = file.plan_erasure(&rows, ErasureLevel::Erase).unwrap();
        assert!(plan.summary().blocks_moved > 0, "{:?}", plan.summary());
        let header = |new_len| {
            let slot = Slot {
                epoch: plan.report.new_epoch,
                committed_bytes: new_len,
                state: SlotState::Clean,
            };
            let header = Header {
                slots: [SlotView::Whole(slot), SlotView::Empty],
                ..Header::parse(&old).unwrap()
            };
            header.to_bytes().unwrap()
        };
        let without = |left_out: Option<usize>| {
            let mut bytes = old.clone();
            // As an interrupted writer may have left it: zeros behind a block that moves are written, too.
            bytes.resize(plan.new_len as usize, 0xa5);
            for (number, change) in plan.changes.iter().enumerate() {
                if Some(number) != left_out {
                    apply(&mut bytes, change);
                }
            }
            let header = header(plan.new_len);
            bytes[..header.len()].copy_from_slice(&header);
            bytes
        };
        let new = without(None);
        open(new.clone()).unwrap().verify().unwrap();
        let mut n_zeros = 0;
        for (number, change) in plan.changes.iter().enumerate() {
            n_zeros += usize::from(matches!(change, Change::Zero { .. }));
            let bytes = without(Some(number));
            assert_ne!(bytes, new, "change {number} changes nothing");
            let verified = open(bytes).and_then(|file| file.verify_digests());
            assert!(verified.is_err(), "change {number}");
        }
        assert!(n_zeros > 5, "{n_zeros} of {}", plan.changes.len());
    }
}
