//! Rows of nested pages: levels and items. Each level above the items becomes an array of its own.

use alloc::vec::Vec;
use core::ops::Range;

use tarsia_codec::{AlignedBuf, Reach, Scratch, ValueType};
use tarsia_structure::{
    Block, Budget, Level, LevelForm, PageDecoder, RawColumn, RawLevel, RawLevels,
};

use crate::abi::{
    ArrayNode, BatchHead, Capabilities, LAYOUT_CONSTANT_LENGTH, LAYOUT_ENDS, LAYOUT_PLAIN,
    LAYOUT_VALIDITY, LAYOUTS_NESTED, TAGS_KNOWN, tag, write_batch,
};
use crate::batch::{Batch, buffers_of, level_buffers};
use crate::fault::{Result, in_piece};
use crate::memory::Memory;
use crate::reader::{BatchReader, parse_block};

/// Capabilities for nested pages. Rows cannot come as one batch, because the room for them is not known in advance.
pub(crate) const CAPABILITIES: Capabilities = Capabilities {
    tags: TAGS_KNOWN & !(1 << tag::WHOLE | 1 << tag::MORE) | 1 << tag::CUTS,
    layouts: LAYOUTS_NESTED,
    batch_rows: 4096,
};

/// The next batch of a reader of a nested page; `None` at the end.
pub(crate) fn decode(
    reader: &mut BatchReader,
    memory: &impl Memory,
    scratch: &mut Scratch,
    take: &mut dyn FnMut(usize) -> AlignedBuf,
) -> Result<Option<Batch>> {
    let rows = reader.next_batch();
    if rows == 0 {
        return Ok(None);
    }
    let budget = Budget::new(reader.output_bytes_max);
    let forms = reader.page.levels().iter().map(Level::form);
    let mut levels = RawLevels::with_cuts(forms, reader.cuts.iter().copied(), &budget);
    let mut items = Vec::with_capacity(reader.batch.len());
    let mut data_bytes = 0u64;
    for (number, piece) in reader.batch.iter().enumerate() {
        let input = reader.input(piece)?;
        let selection = reader.selection(piece, input);
        let block = parse_block(&reader.page, input.bytes(memory)?)?;
        let mut ranges = Vec::new();
        levels
            .push(&reader.page, &block, selection, scratch, take, &mut ranges)
            .map_err(|error| in_piece(number, error))?;
        if reader.page.value_type() == ValueType::Bytes {
            let whole = u64::from(block.header.decoded_bytes) * selection.repeats();
            let bytes = match reader.cuts.is_empty() {
                true => whole,
                false => cut_bytes(&reader.page, &block, &ranges, scratch)?.min(whole),
            };
            data_bytes = data_bytes.saturating_add(bytes);
        }
        items.push((block, ranges));
    }
    budget.spend(data_bytes)?;
    let value_type = reader.page.value_type();
    let mut raw = RawColumn::new(value_type, levels.n_items(), data_bytes as usize, take)?;
    for (number, (block, ranges)) in items.iter().enumerate() {
        raw.push_ranges(&reader.page, block, ranges, scratch, take)
            .map_err(|error| in_piece(number, error))?;
    }
    Ok(Some(finish(reader, rows, levels.into_levels(), raw)))
}

/// Makes a batch, with its description, of the decoded rows.
fn finish(reader: &mut BatchReader, rows: u32, levels: Vec<RawLevel>, raw: RawColumn) -> Batch {
    let null_count = raw.null_count();
    let parts = raw.finish();
    let mut nodes = Vec::with_capacity(levels.len() + 1);
    let mut first_buffer = 0;
    for level in &levels {
        let (layout, n_buffers) = match level.form {
            LevelForm::Validity => (LAYOUT_VALIDITY, 1),
            LevelForm::Lengths => (LAYOUT_ENDS, 1),
            LevelForm::ConstantLength(_) => (LAYOUT_CONSTANT_LENGTH, 0),
        };
        nodes.push(ArrayNode {
            length: level.n_slots as u64,
            null_count: level.null_count as i64,
            first_buffer,
            n_buffers,
            n_children: 1,
            layout,
        });
        first_buffer += u32::from(n_buffers);
    }
    let (buffers, n_buffers) = buffers_of(&parts);
    nodes.push(ArrayNode {
        length: parts.rows as u64,
        null_count: null_count as i64,
        first_buffer,
        n_buffers: n_buffers as u16,
        n_children: 0,
        layout: LAYOUT_PLAIN,
    });
    let buffers = level_buffers(&levels).chain(buffers.into_iter().take(n_buffers));
    let places: Vec<_> = buffers
        .map(|buffer| (buffer.as_ptr() as usize as u64, buffer.len() as u64))
        .collect();
    let mut description = Vec::new();
    let head = BatchHead {
        honoured: reader.honoured,
        rows: rows.into(),
        first_row: reader.rows_done,
    };
    write_batch(&mut description, head, &nodes, &places);
    reader.rows_done += u64::from(rows);
    Batch {
        parts,
        description,
        levels,
    }
}

/// Most bytes of the strings of some items of a block. For a few items of a long row, the bytes of all items would be
/// far too many.
fn cut_bytes(
    page: &PageDecoder,
    block: &Block<'_>,
    ranges: &[Range<u32>],
    scratch: &mut Scratch,
) -> Result<u64> {
    let mut bytes = 0u64;
    for range in ranges {
        let front = block.unit_at + block.unit.len();
        bytes += match page.reach(block, front, range.clone(), scratch)? {
            Reach::Bytes { decoded_bytes, .. } => decoded_bytes,
            _ => u64::from(block.header.decoded_bytes),
        };
    }
    Ok(bytes)
}
