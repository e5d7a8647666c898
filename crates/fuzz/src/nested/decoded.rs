//! Blocks decoded by the native decoders: whole, and by selections that have to agree with the whole.

use std::ops::Range;

use tarsia_codec::{AlignedBuf, Result, Scratch, Selection, ValueType};
use tarsia_structure::levels::LevelSections;
use tarsia_structure::{
    Block, Budget, LevelForm, Meta, PageDecoder, RawColumn, RawLevels, RawParts,
};
use tarsia_testkit::fuzzing::{Input, accepted};
use tarsia_testkit::memory::measure;

use super::rows::{COMPARED_SLOTS_MAX, Decoded, Rows, rows_of};

/// Most bytes that one block may take at once: 2^31 slots without bytes, a bit each, and their alignment.
const ALLOCATED_AT_ONCE_MAX: u64 = (256 << 20) + 64;

pub(super) fn decoder(meta: &Meta) -> PageDecoder {
    let mut bytes = Vec::new();
    meta.write_to(&mut bytes).expect("a description");
    assert_eq!(Meta::parse(&bytes).as_ref(), Ok(meta));
    PageDecoder::new(tarsia::registry(), meta, &[]).expect("decoders of a page")
}

/// A block that may be anything: where it parses and decodes, all selections agree with the whole. Returns the whole.
pub(super) fn exercise(
    decoder: &PageDecoder,
    forms: &[LevelForm],
    place: &[u8],
    rows: u32,
    input: &mut Input<'_>,
) -> Option<Rows> {
    let block = Block::parse(place, &decoder.expect(rows)).ok()?;
    let mut n_slots = rows;
    match decoder.full_zip() {
        // Rows say it one by one, and there is a slot for each item of each of them.
        Some(form) => n_slots *= form.items_per_row(),
        None => {
            let sections = LevelSections::of(&block, decoder.levels());
            for section in sections.expect("levels that were parsed") {
                let section = section.expect("a section that was parsed");
                assert_eq!(section.n_slots, n_slots, "sections follow each other");
                n_slots = section.n_below;
            }
        }
    }
    assert_eq!(n_slots, block.n_items);
    let whole = decode(decoder, forms, &block, Selection::All);
    if whole.is_ok() {
        accepted();
    }
    let start = input.below(rows as usize + 1) as u32;
    let len = input.below((rows - start) as usize + 1) as u32;
    let indices = match &whole {
        // Every index may be a giant.
        Ok(whole) if whole.n_slots > COMPARED_SLOTS_MAX => vec![rows - 1],
        Ok(_) => input.indices(rows),
        Err(_) => vec![0, rows - 1],
    };
    for selection in [
        Selection::Range { start, len },
        Selection::Indices(&indices),
    ] {
        let part = decode(decoder, forms, &block, selection);
        let Ok(whole) = &whole else { continue };
        let part = part.unwrap_or_else(|error| {
            panic!("the whole decodes, {selection:?} does not: {error}");
        });
        if whole.n_slots > COMPARED_SLOTS_MAX || part.n_slots > COMPARED_SLOTS_MAX {
            continue;
        }
        let wanted: Vec<usize> = match selection {
            Selection::Range { start, len } => (start as usize..(start + len) as usize).collect(),
            Selection::Indices(indices) => indices.iter().map(|row| *row as usize).collect(),
            Selection::All => Vec::new(),
        };
        assert_eq!(wanted.len(), part.rows.n);
        let want = whole.rows.tokens(wanted.into_iter());
        assert!(
            part.rows.tokens(0..part.rows.n) == want,
            "other rows under {selection:?}"
        );
    }
    whole.ok().map(|whole| whole.rows)
}

pub(super) fn decode(
    decoder: &PageDecoder,
    forms: &[LevelForm],
    block: &Block<'_>,
    selection: Selection<'_>,
) -> Result<Decoded> {
    // The blocks' own limits have to do.
    let budget = Budget::new(u64::MAX);
    let (decoded, allocated) = measure(|| -> Result<(RawLevels<'_>, RawParts)> {
        let mut take = |len: usize| {
            let mut buf = AlignedBuf::zeroed(len);
            // What was in memory before must not matter; all of 256 MiB would only take long.
            let poisoned = len.min(1 << 16);
            buf[..poisoned].fill(0xa5);
            buf
        };
        let mut scratch = Scratch::new();
        let mut levels = RawLevels::new(forms.iter().copied(), &budget);
        let mut ranges = Vec::new();
        levels.push(
            decoder,
            block,
            selection,
            &mut scratch,
            &mut take,
            &mut ranges,
        )?;
        let n_items: usize = ranges.iter().map(Range::len).sum();
        assert_eq!(levels.n_items(), n_items, "items of all ranges");
        for range in &ranges {
            assert!(
                range.start <= range.end && range.end <= block.n_items,
                "{range:?} of {} items",
                block.n_items
            );
        }
        let data_bytes = match decoder.value_type() {
            ValueType::Bytes => block.header.decoded_bytes as usize * selection.repeats() as usize,
            _ => 0,
        };
        let mut raw = RawColumn::new(decoder.value_type(), n_items, data_bytes, &mut take)?;
        raw.push_ranges(decoder, block, &ranges, &mut scratch, &mut take)?;
        assert_eq!(raw.rows(), n_items, "items decoded");
        Ok((levels, raw.finish()))
    });
    assert!(
        allocated.largest_bytes <= ALLOCATED_AT_ONCE_MAX * selection.repeats(),
        "{} bytes allocated at once for a block of {}",
        allocated.largest_bytes,
        block.header.block_bytes()
    );
    let (levels, items) = decoded?;
    let n_rows = selection.check(block.header.logical_rows)?;
    Ok(rows_of(n_rows, levels, &items, decoder.value_type()))
}
