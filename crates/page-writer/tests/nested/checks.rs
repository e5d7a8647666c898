//! Pages decoded and compared with the model.

use std::ops::Range;

use tarsia_codec::{AlignedBuf, Result, Scratch, Selection, ValueType};
use tarsia_page_writer::EncodedPage;
use tarsia_structure::block::BLOCK_HEADER_BYTES;
use tarsia_structure::full_zip::IndexFront;
use tarsia_structure::{
    Block, Budget, FullZipForm, LevelForm, PageDecoder, ROW_ENTRY_BYTES, RawColumn, RawLevel,
    RawLevels, RawParts,
};

use LevelForm::{ConstantLength, Lengths, Validity};

use crate::model::*;

/// Decoded levels and items as what they say of each slot.
pub(crate) fn model_of(
    rows: usize,
    levels: Vec<RawLevel>,
    items: &RawParts,
    value_type: ValueType,
) -> Model {
    let mut model = Model::new(rows, &[], value_type);
    let mut n = rows;
    for level in levels {
        assert_eq!(level.n_slots, n, "slots of {:?}", level.form);
        let slots: Vec<u32> = match level.form {
            Validity => {
                let bits = level.validity();
                let slots: Vec<u32> = (0..n)
                    .map(|i| u32::from(bits.is_none_or(|bits| bits.get(i))))
                    .collect();
                let nulls = slots.iter().filter(|slot| **slot == 0).count();
                assert_eq!(nulls, level.null_count);
                slots
            }
            // Where no slot ever came, there are no ends.
            Lengths if n == 0 => vec![],
            Lengths => {
                let ends = level.ends();
                assert_eq!((ends.len(), ends[0]), (n + 1, 0));
                ends.windows(2).map(|pair| pair[1] - pair[0]).collect()
            }
            ConstantLength(length) => vec![length; n],
        };
        n = slots.iter().map(|below| *below as usize).sum();
        model.levels.push((level.form, slots));
    }
    assert_eq!(items.rows, n, "items");
    let bit = |bytes: &[u8], i: usize| bytes[i / 8] >> (i % 8) & 1;
    let validity = items.validity.as_deref();
    model.validity = (0..n)
        .map(|i| validity.is_none_or(|bits| bit(bits, i) == 1))
        .collect();
    let nulls = model.validity.iter().filter(|valid| !**valid).count();
    assert_eq!(nulls, items.null_count);
    let offsets: Vec<usize> = items
        .offsets
        .chunks_exact(4)
        .map(|end| u32::from_le_bytes(end.try_into().unwrap()) as usize)
        .collect();
    model.values = (0..n)
        .map(|i| match value_type {
            ValueType::Bits => vec![bit(&items.values, i)],
            ValueType::Fixed(width) => {
                items.values[i * width as usize..(i + 1) * width as usize].to_vec()
            }
            ValueType::Bytes => items.values[offsets[i]..offsets[i + 1]].to_vec(),
        })
        .collect();
    model
}

/// Most bytes that hostile blocks of a few rows may take at once: 16 MiB for each row asked for, grown to a power of
/// two.
pub(crate) const HOSTILE_BYTES_MAX: usize = 1 << 28;

/// Output memory is poisoned.
pub(crate) fn poisoned(len: usize) -> AlignedBuf {
    let mut buf = AlignedBuf::zeroed(len);
    buf.fill(0xee);
    buf
}

/// Decodes the selected rows of some blocks.
pub(crate) fn decode<'a, 'b>(
    decoder: &PageDecoder,
    forms: impl Iterator<Item = LevelForm>,
    blocks: impl Iterator<Item = (&'b [u8], u32, Selection<'a>)>,
    bytes_max: usize,
) -> Result<Model> {
    let parse = |(bytes, rows, selection)| {
        Ok((Block::parse(bytes, &decoder.expect(rows))?, rows, selection))
    };
    let blocks: Vec<_> = blocks.map(parse).collect::<Result<_>>()?;
    decode_blocks(decoder, forms, blocks.into_iter(), bytes_max)
}

pub(crate) fn decode_blocks<'a, 'b>(
    decoder: &PageDecoder,
    forms: impl Iterator<Item = LevelForm>,
    blocks: impl Iterator<Item = (Block<'b>, u32, Selection<'a>)>,
    bytes_max: usize,
) -> Result<Model> {
    let mut take = |len| {
        assert!(len <= bytes_max, "{len} bytes at once");
        poisoned(len)
    };
    let mut scratch = Scratch::new();
    let budget = Budget::new(u64::MAX);
    let mut levels = RawLevels::new(forms, &budget);
    let (mut parsed, mut n_rows, mut data_bytes) = (vec![], 0, 0);
    for (block, rows, selection) in blocks {
        let mut ranges = vec![];
        let before = levels.n_items();
        levels.push(
            decoder,
            &block,
            selection,
            &mut scratch,
            &mut take,
            &mut ranges,
        )?;
        let n_items: usize = ranges.iter().map(Range::len).sum();
        assert_eq!(levels.n_items() - before, n_items);
        assert!(ranges.iter().all(|range| range.end <= block.n_items));
        n_rows += selection.check(rows)?;
        data_bytes += block.header.decoded_bytes as usize * selection.repeats() as usize;
        parsed.push((block, ranges));
    }
    let mut raw = RawColumn::new(
        decoder.value_type(),
        levels.n_items(),
        data_bytes,
        &mut take,
    )?;
    for (block, ranges) in &parsed {
        raw.push_ranges(decoder, block, ranges, &mut scratch, &mut take)?;
    }
    let items = raw.finish();
    let levels = levels.into_levels();
    Ok(model_of(n_rows, levels, &items, decoder.value_type()))
}

/// All rows, ranges, single rows and repeated ones of each block are those of the model.
pub(crate) fn check(model: &Model, page: &EncodedPage, what: &str) {
    let decoder = PageDecoder::new(&registry(), &page.meta, &[]).unwrap();
    for (form, level) in model.forms().zip(&page.meta.levels) {
        assert!(form.admits(level), "{what}: {level:?} for {form:?}");
    }
    let rows = block_rows(page);
    assert_eq!(rows.iter().map(|n| *n as usize).sum::<usize>(), model.rows);
    let mut first = 0;
    let starts: Vec<usize> = rows
        .iter()
        .map(|rows| {
            first += *rows as usize;
            first - *rows as usize
        })
        .collect();
    let mut rng = Rng::new(model.rows as u64);
    let picked: Vec<Vec<u32>> = rows
        .iter()
        .map(|rows| {
            // A giant row many times over only takes long.
            let n = rng.below(if model.rows < 10 { 4 } else { 40 });
            let mut picked: Vec<u32> = (0..n).map(|_| rng.below(*rows as usize) as u32).collect();
            // The same row again and again, where there are few.
            picked.sort_unstable();
            picked
        })
        .collect();
    let run = |name: &str, select: &dyn Fn(usize) -> Selection<'static>| {
        let blocks = (0..rows.len()).map(|i| (page.block(i), rows[i], select(i)));
        let got = decode(&decoder, model.forms(), blocks, usize::MAX)
            .unwrap_or_else(|error| panic!("{what}, {name}: {error}"));
        let want = (0..rows.len()).flat_map(|i| {
            let rows: Vec<u32> = match select(i) {
                Selection::All => (0..rows[i]).collect(),
                Selection::Range { start, len } => (start..start + len).collect(),
                Selection::Indices(indices) => indices.to_vec(),
            };
            rows.into_iter()
                .map(move |row| row as usize)
                .map(|row| (i, row))
                .collect::<Vec<_>>()
        });
        let want = model.tokens(want.map(|(i, row)| starts[i] + row));
        let got = got.tokens(0..got.rows);
        // Not assert_eq: some have millions.
        assert!(got == want, "{what}, {name}: other rows");
    };
    run("all", &|_| Selection::All);
    run("middle", &|i| Selection::Range {
        start: rows[i] / 3,
        len: (rows[i] / 2).max(1).min(rows[i] - rows[i] / 3),
    });
    run("one", &|i| Selection::Range {
        start: rows[i] - 1,
        len: 1,
    });
    run("none", &|i| Selection::Range {
        start: rows[i] / 2,
        len: 0,
    });
    // Selections that live as long as the test.
    let picked: &'static [Vec<u32>] = Vec::leak(picked);
    run("picked", &|i| Selection::Indices(&picked[i]));
    run("last twice", &|i| {
        let last = rows[i] - 1;
        Selection::Indices(Vec::leak(vec![0, last, last]))
    });
    if model.rows < 5000 {
        // Of a large share of a block the whole block is decoded, of byte strings of a larger one.
        for step in [2, 5, 40] {
            run(&format!("one of {step}"), &|i| {
                Selection::Indices(Vec::leak((0..rows[i]).step_by(step).collect()))
            });
        }
        // Each block alone: nothing depends on those before it.
        for (i, start) in starts.iter().enumerate() {
            let blocks = [(page.block(i), rows[i], Selection::All)];
            let got = decode(&decoder, model.forms(), blocks.into_iter(), usize::MAX).unwrap();
            let want = model.tokens(*start..*start + rows[i] as usize);
            assert!(got.tokens(0..got.rows) == want, "{what}, block {i}");
        }
    }
}

/// A row of a full-zip block whose checksum is right, and its entry where the block has an index.
pub(crate) fn row_alone(
    block: &[u8],
    form: FullZipForm,
    rows: u32,
    row: u32,
) -> (&[u8], Vec<[u8; ROW_ENTRY_BYTES]>) {
    let mut entries = vec![];
    let (bytes, covered, crc) = match form.stride() {
        Some(stride) => {
            let start = BLOCK_HEADER_BYTES + row as usize * stride;
            let bytes = &block[start..start + stride];
            let (covered, crc) = form.checksummed(bytes).unwrap();
            (bytes, covered, crc)
        }
        None => {
            let (front, (covered, crc)) = IndexFront::parse(block, form, rows, rows).unwrap();
            assert_eq!(checksum(covered), crc);
            front.index.slice(row..row + 1).copy_to(&mut entries);
            let place = front.index.place(row);
            let bytes = &block[front.values_at..][place.start as usize..place.end as usize];
            (bytes, bytes, front.index.checksum(row))
        }
    };
    assert_eq!(checksum(covered), crc);
    (bytes, entries)
}

/// Reads of some rows, rising and maybe repeated, across the blocks they are in.
pub(crate) fn check_rows(
    model: &Model,
    page: &EncodedPage,
    decoder: &PageDecoder,
    rows: &[usize],
    by_range: bool,
) {
    let mut first = 0;
    let mut wanted: Vec<(usize, u32, Vec<u32>)> = vec![];
    for (i, held) in block_rows(page).into_iter().enumerate() {
        let end = first + held as usize;
        let inside = rows.iter().filter(|row| (first..end).contains(*row));
        let inside: Vec<u32> = inside.map(|row| (row - first) as u32).collect();
        if !inside.is_empty() {
            wanted.push((i, held, inside));
        }
        first = end;
    }
    let blocks = wanted.iter().map(|(i, held, inside)| {
        let selection = match by_range {
            true if inside.len() == *held as usize => Selection::All,
            true => Selection::Range {
                start: inside[0],
                len: inside.len() as u32,
            },
            false => Selection::Indices(inside),
        };
        (page.block(*i), *held, selection)
    });
    let got = decode(decoder, model.forms(), blocks, usize::MAX).unwrap();
    assert!(
        got.tokens(0..got.rows) == model.tokens(rows.iter().copied()),
        "rows {rows:?} (by range: {by_range}) of {:?}, {:?}, blocks of {:?}",
        model.levels,
        model.validity,
        block_rows(page)
    );
}

/// Every range, every row and some rows more than once.
pub(crate) fn check_every_read(model: &Model, page: &EncodedPage) {
    let decoder = PageDecoder::new(&registry(), &page.meta, &[]).unwrap();
    for start in 0..model.rows {
        for end in start + 1..=model.rows {
            let rows: Vec<usize> = (start..end).collect();
            check_rows(model, page, &decoder, &rows, true);
        }
        check_rows(model, page, &decoder, &[start], false);
        check_rows(model, page, &decoder, &[start, start, start], false);
    }
    let last = model.rows - 1;
    for rows in [vec![0, 2, last], vec![0, 0, 1, 3, 3, last, last]] {
        check_rows(model, page, &decoder, &rows, false);
    }
}

/// Rows of a decoded model that was not encoded by us: nothing but that all selections agree with the whole.
pub(crate) fn check_hostile(
    decoder: &PageDecoder,
    forms: &[LevelForm],
    bytes: &[u8],
    rows: u32,
) -> bool {
    let decode = |selection| {
        let block = [(bytes, rows, selection)];
        let forms = forms.iter().copied();
        decode(decoder, forms, block.into_iter(), HOSTILE_BYTES_MAX)
    };
    let whole = decode(Selection::All);
    let picked: Vec<u32> = (0..rows).flat_map(|i| [i, i]).step_by(3).collect();
    let parts = [
        Selection::Range {
            start: rows / 3,
            len: rows - rows / 3,
        },
        Selection::Range {
            start: rows - 1,
            len: 1,
        },
        Selection::Indices(&picked),
    ];
    for selection in parts {
        let part = decode(selection);
        let Ok(whole) = &whole else { continue };
        let part = part.unwrap_or_else(|error| {
            panic!("the whole decodes, {selection:?} does not: {error}");
        });
        let want: Vec<usize> = match selection {
            Selection::Range { start, len } => (start as usize..(start + len) as usize).collect(),
            Selection::Indices(indices) => indices.iter().map(|i| *i as usize).collect(),
            Selection::All => vec![],
        };
        assert!(part.tokens(0..part.rows) == whole.tokens(want));
    }
    whole.is_ok()
}
