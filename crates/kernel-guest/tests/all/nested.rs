//! The guest, run natively over nested pages: levels and items by every kind of selection, and requests and blocks that
//! no host should send.

use crate::common::{Bytes, encoded, meta, registry, request};
use tarsia_codec::{BitSlice, FixedSlice, Registry, Result, Values};
use tarsia_kernel_guest::abi::{
    BatchDescription, LAYOUT_ENDS, LAYOUT_PLAIN, LAYOUT_VALIDITY, LAYOUTS_NESTED, RequestWriter,
    code, tag,
};
use tarsia_kernel_guest::{Failure, Guest};
use tarsia_page_writer::{CollectedLevels, EncodedPage, LevelsSlice, PageInput};
use tarsia_structure::LevelForm;

const ROWS: u32 = 3000;

/// A row of the page: a list of numbers, or null.
type Row = Option<Vec<Option<u32>>>;

fn row(row: u32) -> Row {
    let length = row * row % 9;
    let item = |i: u32| (i % 5 != 3).then(|| row.wrapping_mul(2_654_435_761) ^ i);
    (row % 11 != 4).then(|| (0..length).map(item).collect())
}

/// Lists of numbers, some of either null, in several blocks.
fn page() -> EncodedPage {
    let rows: Vec<Row> = (0..ROWS).map(row).collect();
    let mut valid = vec![0u8; rows.len().div_ceil(8)];
    for (i, _) in rows.iter().enumerate().filter(|(_, row)| row.is_some()) {
        valid[i / 8] |= 1 << (i % 8);
    }
    let mut levels = CollectedLevels::new([LevelForm::Validity, LevelForm::Lengths]);
    let bits = BitSlice::new(&valid, 0, rows.len()).unwrap();
    levels.push_validity(0, rows.len(), Some(bits)).unwrap();
    let lists = || rows.iter().flatten();
    let lengths = lists().map(|list| list.len() as u32);
    levels.push_lengths(1, lengths).unwrap();
    levels.end_rows(rows.len());
    let items: Vec<Option<u32>> = lists().flatten().copied().collect();
    let mut item_bits = vec![0u8; items.len().div_ceil(8)];
    for (i, _) in items.iter().enumerate().filter(|(_, item)| item.is_some()) {
        item_bits[i / 8] |= 1 << (i % 8);
    }
    let values: Vec<u8> = items
        .iter()
        .flat_map(|item| item.unwrap_or(0).to_le_bytes())
        .collect();
    encoded(PageInput {
        levels: Some(LevelsSlice::new(&levels, 0..rows.len()).unwrap()),
        validity: Some(BitSlice::new(&item_bits, 0, items.len()).unwrap()),
        ..PageInput::of_values(Values::Fixed(
            FixedSlice::new(&values, 4, items.len()).unwrap(),
        ))
    })
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let words = bytes.as_chunks::<4>().0.iter();
    words.map(|word| u32::from_le_bytes(*word)).collect()
}

fn is_set(bits: &[u8], i: usize) -> bool {
    bits.is_empty() || bits[i / 8] >> (i % 8) & 1 == 1
}

/// The rows of a batch, put together from its buffers.
fn rows_of(description: &BatchDescription, buffers: &[&[u8]]) -> Vec<Row> {
    let [lists, lengths, items] = description.nodes[..] else {
        panic!("{} arrays", description.nodes.len());
    };
    let layouts = [lists.layout, lengths.layout, items.layout];
    assert_eq!(layouts, [LAYOUT_VALIDITY, LAYOUT_ENDS, LAYOUT_PLAIN]);
    assert_eq!(
        [lists.n_children, lengths.n_children, items.n_children],
        [1, 1, 0]
    );
    let [valid, ends, item_bits, values] = buffers[..] else {
        panic!("{} buffers", buffers.len());
    };
    let (ends, values) = (words(ends), words(values));
    assert_eq!(ends.len() as u64, lengths.length + 1);
    assert_eq!(values.len() as u64, items.length);
    assert_eq!(u64::from(*ends.last().unwrap()), items.length);
    let mut list = 0;
    let rows = (0..lists.length as usize).map(|i| {
        is_set(valid, i).then(|| {
            let places = ends[list] as usize..ends[list + 1] as usize;
            list += 1;
            let item = |at: usize| is_set(item_bits, at).then(|| values[at]);
            places.map(item).collect()
        })
    });
    let rows: Vec<Row> = rows.collect();
    assert_eq!(list as u64, lengths.length);
    let nulls = rows.iter().filter(|row| row.is_none()).count();
    assert_eq!(lists.null_count, nulls as i64);
    rows
}

/// All rows of a request, and how many each batch had.
fn read(
    guest: &mut Guest,
    memory: &Bytes,
    request: &RequestWriter,
) -> Result<(Vec<Row>, Vec<u64>), Failure> {
    let handle = guest.init(memory, request.bytes())?;
    let (mut rows, mut batches) = (Vec::new(), Vec::new());
    while let Some(token) = guest.decode(memory, handle)? {
        let batch = guest.batch(token).unwrap();
        let description = BatchDescription::parse(batch.description()).unwrap();
        let buffers = batch.buffers();
        for (buffer, (address, len)) in buffers.iter().zip(&description.buffers) {
            assert_eq!(buffer.as_ptr() as usize as u32, *address as u32);
            assert_eq!(buffer.len() as u64, *len);
        }
        assert_eq!(description.first_row, rows.len() as u64);
        let more = rows_of(&description, &buffers);
        assert_eq!(description.rows, more.len() as u64);
        batches.push(description.rows);
        rows.extend(more);
        guest.release(token).unwrap();
    }
    assert!(guest.decode(memory, handle).unwrap().is_none());
    guest.close(handle).unwrap();
    Ok((rows, batches))
}

#[test]
fn rows_by_range_by_index_and_in_batches_of_any_size() {
    let page = page();
    assert!(page.starts.len() > 2, "a page of several blocks");
    let memory = Bytes(page.bytes.clone());
    let mut guest = Guest::new(registry());
    let all: Vec<Row> = (0..ROWS).map(row).collect();
    for batch_rows in [7, 1000, u32::MAX] {
        let whole = request(&page, |request| {
            request.word(tag::BATCH_ROWS, batch_rows);
            request.wide(tag::ROWS, ROWS.into());
        });
        let (rows, batches) = read(&mut guest, &memory, &whole).unwrap();
        assert_eq!(rows, all);
        assert_eq!(batches.len() as u32, ROWS.div_ceil(batch_rows));

        let ranges = [(5, 3), (8, 900), (2000, 1), (2999, 1)];
        let some = request(&page, |request| {
            let words = ranges.iter().flat_map(|(start, len): &(u32, u32)| {
                [start.to_le_bytes(), len.to_le_bytes()].concat()
            });
            assert!(request.entry(tag::ROW_RANGES, &[&words.collect::<Vec<u8>>()]));
            request.word(tag::BATCH_ROWS, batch_rows);
        });
        let (rows, _) = read(&mut guest, &memory, &some).unwrap();
        let wanted = ranges.iter().flat_map(|(start, len)| *start..start + len);
        assert_eq!(rows, wanted.map(row).collect::<Vec<_>>());

        let selected: Vec<u32> = (0..ROWS)
            .filter(|row| row % 97 < 2)
            .chain([ROWS - 1; 3])
            .collect();
        let picked = request(&page, |request| {
            let words: Vec<u8> = selected.iter().flat_map(|row| row.to_le_bytes()).collect();
            assert!(request.entry(tag::SELECTION, &[&words]));
            request.word(tag::BATCH_ROWS, batch_rows);
        });
        let (rows, _) = read(&mut guest, &memory, &picked).unwrap();
        assert_eq!(rows, selected.iter().map(|i| row(*i)).collect::<Vec<_>>());
    }
}

#[test]
fn cuts_leave_items_out() {
    let page = page();
    let memory = Bytes(page.bytes.clone());
    let mut guest = Guest::new(registry());
    for (start, end) in [(0u32, 1u32), (2, 5), (8, u32::MAX), (3, 3), (u32::MAX, 0)] {
        let cut = request(&page, |request| {
            let words = [1, start, end].map(u32::to_le_bytes).concat();
            assert!(request.entry(tag::CUTS, &[&words]));
        });
        let (rows, _) = read(&mut guest, &memory, &cut).unwrap();
        let cut = |row: Row| {
            row.map(|list| {
                let from = (start as usize).min(list.len());
                list[from..(end as usize).clamp(from, list.len())].to_vec()
            })
        };
        let expected: Vec<Row> = (0..ROWS).map(|i| cut(row(i))).collect();
        assert_eq!(rows, expected, "{start}..{end}");
    }
}

#[test]
fn check_says_what_nested_pages_can_have() {
    let page = page();
    let meta = meta(&page);
    let can = Guest::new(registry()).check(&meta).unwrap();
    assert_eq!(can.layouts, LAYOUTS_NESTED);
    assert_eq!(can.tags & 1 << tag::WHOLE, 0);
    assert_ne!(can.tags & 1 << tag::CUTS, 0);
    let other = Guest::new(Registry::new()).check(&meta).unwrap_err();
    assert_eq!(other.code, code::UNSUPPORTED);
}

#[test]
fn bad_requests_are_refused_with_their_code() {
    let page = page();
    let memory = Bytes(page.bytes.clone());
    let mut guest = Guest::new(registry());
    let mut refuse = |what: &str, expect: i32, more: &dyn Fn(&mut RequestWriter)| {
        let request = request(&page, |request| more(request));
        let failure = read(&mut guest, &memory, &request).unwrap_err();
        assert_eq!(failure.code, expect, "{what}: {}", failure.message);
    };
    refuse("half a cut", code::MALFORMED, &|request| {
        request.wide(tag::CUTS, 1);
    });
    refuse("limit", code::LIMIT, &|request| {
        request.wide(tag::LIMITS, 100);
    });
    refuse("a whole", code::UNSUPPORTED, &|request| {
        request.wide(tag::WHOLE, ROWS.into());
    });
}

#[test]
fn no_block_makes_it_panic() {
    let page = page();
    let mut guest = Guest::new(registry());
    let good = request(&page, |request| {
        request.wide(tag::LIMITS, 1 << 20);
        let words = [1u32, 1, 3].map(u32::to_le_bytes).concat();
        assert!(request.entry(tag::CUTS, &[&words]));
    });
    let mut run = |bytes: Vec<u8>| {
        let memory = Bytes(bytes);
        let Ok(handle) = guest.init(&memory, good.bytes()) else {
            return 0;
        };
        let mut rows = 0;
        while let Ok(Some(token)) = guest.decode(&memory, handle) {
            let batch = guest.batch(token).unwrap();
            rows += BatchDescription::parse(batch.description()).unwrap().rows;
            guest.release(token).unwrap();
        }
        guest.close(handle).unwrap();
        rows
    };
    assert_eq!(run(page.bytes.clone()), u64::from(ROWS));
    // Headers and levels of the first two blocks, every bit, and some of the rest.
    let mut read = 0;
    let ends = page.starts.iter().take(2).map(|start| *start as usize);
    let fronts = ends.flat_map(|start| start..start + 160);
    for at in fronts.chain((0..page.bytes.len()).step_by(997)) {
        for bit in 0..8 {
            let mut bad = page.bytes.clone();
            bad[at] ^= 1 << bit;
            read += u32::from(run(bad) > 0);
        }
    }
    assert!(read > 0, "some differ in values alone");
}
