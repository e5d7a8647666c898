//! The guest, run natively: rows by every kind of selection, and requests that no host should send.

use std::sync::Arc;

use crate::common::{BASE, Bytes, encoded, meta, registry, request};
use tarsia_codec::{BitSlice, FixedSlice, OwnedValues, Registry, Result, Tree, Values};
use tarsia_kernel_guest::abi::{BatchDescription, RequestWriter, code, tag};
use tarsia_kernel_guest::{Failure, Guest};
use tarsia_page_writer::{EncodedPage, PageInput};

const ROWS: u32 = 10_000;

fn value(row: u32) -> u32 {
    row.wrapping_mul(2_654_435_761)
}

fn is_valid(row: u32) -> bool {
    row % 7 != 3
}

/// A page of several blocks with nulls.
fn page() -> EncodedPage {
    let values: Vec<u8> = (0..ROWS).flat_map(|row| value(row).to_le_bytes()).collect();
    let mut valid = vec![0u8; ROWS.div_ceil(8) as usize];
    for row in (0..ROWS).filter(|row| is_valid(*row)) {
        valid[row as usize / 8] |= 1 << (row % 8);
    }
    encoded(PageInput {
        validity: Some(BitSlice::new(&valid, 0, ROWS as usize).unwrap()),
        ..PageInput::of_values(Values::Fixed(
            FixedSlice::new(&values, 4, ROWS as usize).unwrap(),
        ))
    })
}

/// All rows of a request, and how many each batch had.
fn read(
    guest: &mut Guest,
    page: &EncodedPage,
    request: &RequestWriter,
) -> Result<(Vec<Option<u32>>, Vec<u64>), Failure> {
    let memory = Bytes(page.bytes.clone());
    let handle = guest.init(&memory, request.bytes())?;
    let (mut rows, mut batches) = (Vec::new(), Vec::new());
    while let Some(token) = guest.decode(&memory, handle)? {
        let batch = guest.batch(token).unwrap();
        let description = BatchDescription::parse(batch.description()).unwrap();
        let buffers = batch.buffers();
        for (buffer, (address, len)) in buffers.iter().zip(&description.buffers) {
            assert_eq!(buffer.as_ptr() as usize as u32, *address as u32);
            assert_eq!(buffer.len() as u64, *len);
        }
        let [validity, values] = buffers[..] else {
            panic!("{} buffers", buffers.len());
        };
        assert_eq!(description.first_row, rows.len() as u64);
        assert_eq!(values.len() as u64, description.rows * 4);
        let nulls = rows.len();
        for (i, word) in values.as_chunks::<4>().0.iter().enumerate() {
            let valid = validity.is_empty() || validity[i / 8] >> (i % 8) & 1 == 1;
            rows.push(valid.then(|| u32::from_le_bytes(*word)));
        }
        let nulls = rows[nulls..].iter().filter(|row| row.is_none()).count();
        assert_eq!(description.nodes[0].null_count, nulls as i64);
        batches.push(description.rows);
        guest.release(token).unwrap();
        assert!(guest.batch(token).is_none());
    }
    assert!(guest.decode(&memory, handle).unwrap().is_none());
    guest.close(handle).unwrap();
    Ok((rows, batches))
}

fn expected(rows: impl IntoIterator<Item = u32>) -> Vec<Option<u32>> {
    rows.into_iter()
        .map(|row| is_valid(row).then(|| value(row)))
        .collect()
}

#[test]
fn all_rows_in_batches_of_any_size() {
    let page = page();
    assert!(page.starts.len() > 2, "a page of several blocks");
    let mut guest = Guest::new(registry());
    for batch_rows in [1000, 1, 4096, ROWS, u32::MAX] {
        // Single rows of all would take long under a sanitizer; the first hundred do.
        let wanted = if batch_rows == 1 { 100 } else { ROWS };
        let request = request(&page, |request| {
            request.word(tag::BATCH_ROWS, batch_rows);
            request.wide(tag::ROWS, ROWS.into());
            let range = [0u32.to_le_bytes(), wanted.to_le_bytes()].concat();
            assert!(request.entry(tag::ROW_RANGES, &[&range]));
        });
        let (rows, batches) = read(&mut guest, &page, &request).unwrap();
        assert_eq!(rows, expected(0..wanted));
        assert_eq!(batches.len() as u32, wanted.div_ceil(batch_rows));
        assert!(batches.iter().all(|rows| *rows <= batch_rows.into()));
    }
    let (rows, _) = read(&mut guest, &page, &request(&page, |_| {})).unwrap();
    assert_eq!(rows, expected(0..ROWS));
}

#[test]
fn ranges_and_selections_cross_blocks() {
    let page = page();
    let mut guest = Guest::new(registry());
    let ranges = [(5, 3), (8, 4000), (9000, 1), (9001, 999)];
    let with_ranges = request(&page, |request| {
        let words: Vec<u8> = ranges
            .iter()
            .flat_map(|(start, len): &(u32, u32)| [start.to_le_bytes(), len.to_le_bytes()])
            .flatten()
            .collect();
        assert!(request.entry(tag::ROW_RANGES, &[&words]));
        request.word(tag::BATCH_ROWS, 700);
    });
    let (rows, _) = read(&mut guest, &page, &with_ranges).unwrap();
    let wanted = ranges.iter().flat_map(|(start, len)| *start..start + len);
    assert_eq!(rows, expected(wanted));

    let selected: Vec<u32> = (0..ROWS)
        .filter(|row| row % 97 < 2)
        .chain([ROWS - 1; 3])
        .collect();
    for batch_rows in [3, 50, 5000] {
        let with_selection = request(&page, |request| {
            let words: Vec<u8> = selected.iter().flat_map(|row| row.to_le_bytes()).collect();
            assert!(request.entry(tag::SELECTION, &[&words]));
            request.word(tag::BATCH_ROWS, batch_rows);
        });
        let (rows, _) = read(&mut guest, &page, &with_selection).unwrap();
        assert_eq!(rows, expected(selected.iter().copied()));
    }
}

#[test]
fn a_prepared_page_serves_many_readers_and_may_be_closed_meanwhile() {
    let page = page();
    let memory = Bytes(page.bytes.clone());
    let mut guest = Guest::new(registry());
    let mut prepare = RequestWriter::default();
    assert!(prepare.entry(tag::META, &[&meta(&page)]));
    let prepared = guest.init(&memory, prepare.bytes()).unwrap();
    let mut request = RequestWriter::default();
    request.word(tag::PREPARED, prepared as u32);
    request.input(BASE, page.block(0).len() as u32, 0);
    let readers = [0; 3].map(|_| guest.init(&memory, request.bytes()).unwrap());
    guest.close(prepared).unwrap();
    let again = guest.init(&memory, request.bytes()).unwrap_err();
    assert_eq!(again.code, code::BAD_HANDLE);
    for reader in readers {
        assert!(guest.decode(&memory, reader).unwrap().is_some());
        guest.close(reader).unwrap();
        assert_eq!(guest.close(reader).unwrap_err().code, code::BAD_HANDLE);
    }
}

/// A column of `rows` rows of which each block is a request of its own.
fn whole(guest: &mut Guest, page: &EncodedPage, rows: u32) -> Result<Vec<Option<u32>>, Failure> {
    let memory = Bytes(page.bytes.clone());
    let mut handle = None;
    for (block, start) in page.starts.iter().enumerate() {
        let mut request = RequestWriter::default();
        assert!(request.entry(tag::META, &[&meta(page)]));
        request.input(BASE + *start as u32, page.block(block).len() as u32, 0);
        match handle {
            Some(handle) => request.word(tag::MORE, handle as u32),
            None => request.wide(tag::WHOLE, rows.into()),
        }
        let now = guest.init(&memory, request.bytes())?;
        assert!(handle.is_none_or(|before| before == now));
        handle = Some(now);
        let Some(token) = guest.decode(&memory, now)? else {
            // It waits for more.
            assert!(guest.decode(&memory, now)?.is_none());
            continue;
        };
        let batch = guest.batch(token).unwrap();
        let description = BatchDescription::parse(batch.description()).unwrap();
        assert_eq!((description.rows, description.first_row), (rows.into(), 0));
        let [validity, values] = batch.buffers()[..] else {
            panic!("two buffers");
        };
        let values = values.as_chunks::<4>().0.iter().enumerate();
        let rows = values.map(|(i, word)| {
            let valid = validity[i / 8] >> (i % 8) & 1 == 1;
            valid.then(|| u32::from_le_bytes(*word))
        });
        let rows = rows.collect();
        guest.release(token).unwrap();
        // The reader went with its batch.
        assert!(guest.close(now).is_err() && guest.decode(&memory, now).is_err());
        return Ok(rows);
    }
    guest.close(handle.unwrap()).unwrap();
    Ok(Vec::new())
}

#[test]
fn a_whole_column_comes_from_many_requests() {
    let page = page();
    let mut guest = Guest::new(registry());
    for _ in 0..3 {
        assert_eq!(whole(&mut guest, &page, ROWS).unwrap(), expected(0..ROWS));
    }
    // Fewer rows than it waits for, and more than there is room for.
    assert_eq!(whole(&mut guest, &page, ROWS + 1).unwrap(), []);
    let failure = whole(&mut guest, &page, ROWS - 1).unwrap_err();
    assert!(failure.message.contains("more rows"), "{}", failure.message);
    assert_eq!(whole(&mut guest, &page, ROWS).unwrap(), expected(0..ROWS));
}

#[test]
fn bad_requests_are_refused_with_their_code() {
    let page = page();
    let mut guest = Guest::new(registry());
    let mut refuse = |what: &str, expect: i32, more: &dyn Fn(&mut RequestWriter)| {
        let request = request(&page, |request| more(request));
        let failure = read(&mut guest, &page, &request).unwrap_err();
        assert_eq!(failure.code, expect, "{what}: {}", failure.message);
        assert!(!failure.message.is_empty(), "{what}");
    };
    refuse("unknown mandatory tag", code::UNSUPPORTED, &|request| {
        request.word(99, 1);
    });
    refuse("tag twice", code::MALFORMED, &|request| {
        request.word(tag::BATCH_ROWS, 1);
        request.word(tag::BATCH_ROWS, 2);
    });
    refuse("input outside", code::MALFORMED, &|request| {
        request.input(BASE + 1_000_000, 64, 0);
    });
    refuse(
        "input at the end of addresses",
        code::MALFORMED,
        &|request| {
            request.input(u32::MAX - 4, 64, 0);
        },
    );
    refuse("input that is no block", code::MALFORMED, &|request| {
        request.input(BASE + 8, 64, 0);
    });
    refuse("other number of rows", code::MALFORMED, &|request| {
        request.wide(tag::ROWS, 1);
    });
    refuse("rows beyond the end", code::MALFORMED, &|request| {
        let range = [ROWS.to_le_bytes(), 1u32.to_le_bytes()].concat();
        assert!(request.entry(tag::ROW_RANGES, &[&range]));
    });
    refuse("ranges that overlap", code::MALFORMED, &|request| {
        let words = [0u32, 10, 9, 1].map(u32::to_le_bytes).concat();
        assert!(request.entry(tag::ROW_RANGES, &[&words]));
    });
    refuse("half a range", code::MALFORMED, &|request| {
        request.word(tag::ROW_RANGES, 4);
    });
    refuse("falling selection", code::MALFORMED, &|request| {
        let words = [5u32, 4].map(u32::to_le_bytes).concat();
        assert!(request.entry(tag::SELECTION, &[&words]));
    });
    refuse("selection beyond the end", code::MALFORMED, &|request| {
        request.word(tag::SELECTION, ROWS);
    });
    refuse("both selections", code::MALFORMED, &|request| {
        request.word(tag::SELECTION, 1);
        let words = [0u32, 10].map(u32::to_le_bytes).concat();
        assert!(request.entry(tag::ROW_RANGES, &[&words]));
    });
    refuse("limit", code::LIMIT, &|request| {
        request.wide(tag::LIMITS, 100);
    });
    refuse("room beyond the limit", code::LIMIT, &|request| {
        request.wide(tag::WHOLE, u32::MAX.into());
    });
    refuse("room of another length", code::MALFORMED, &|request| {
        request.word(tag::WHOLE, 1);
    });
    refuse("more for nobody", code::BAD_HANDLE, &|request| {
        request.word(tag::MORE, 1);
    });
    refuse("a whole and more of it", code::MALFORMED, &|request| {
        request.wide(tag::WHOLE, 1);
        request.word(tag::MORE, 1);
    });
    refuse(
        "prepared page and description",
        code::MALFORMED,
        &|request| {
            request.word(tag::PREPARED, 1);
        },
    );
}

#[test]
fn optional_tags_that_nobody_knows_are_ignored_and_not_honoured() {
    let page = page();
    let memory = Bytes(page.bytes.clone());
    let mut guest = Guest::new(registry());
    let request = request(&page, |request| {
        assert!(request.optional(tag::TYPE, &[b"i"]));
        assert!(request.optional(77, &[b"later"]));
    });
    let handle = guest.init(&memory, request.bytes()).unwrap();
    let token = guest.decode(&memory, handle).unwrap().unwrap();
    let description = guest.batch(token).unwrap().description();
    let honoured = BatchDescription::parse(description).unwrap().honoured;
    assert_eq!(honoured, 1 << tag::INPUT | 1 << tag::META);
}

#[test]
fn descriptions_of_others_are_refused_by_check() {
    let page = page();
    let other = Guest::new(Registry::new());
    assert_eq!(
        other.check(&meta(&page)).unwrap_err().code,
        code::UNSUPPORTED
    );
    let guest = Guest::new(registry());
    guest.check(&meta(&page)).unwrap();
    assert_eq!(guest.check(b"").unwrap_err().code, code::MALFORMED);
    let mut newer = page.meta.clone();
    newer.trees = vec![Tree::leaf(
        "tarsia.plain",
        tarsia_codec::Version::new(1, 9),
        &[],
    )];
    let mut bytes = Vec::new();
    newer.write_to(&mut bytes).unwrap();
    assert_eq!(guest.check(&bytes).unwrap_err().code, code::VERSION);
}

#[test]
fn no_request_makes_it_panic() {
    let page = page();
    let memory = Bytes(page.bytes.clone());
    let mut guest = Guest::new(registry());
    let shared = Arc::new(OwnedValues::Fixed {
        bytes: tarsia_codec::AlignedBuf::zeroed(8),
        width: 4,
        len: 2,
    });
    assert_eq!(shared.len(), 2);
    let good = request(&page, |request| {
        request.word(tag::BATCH_ROWS, 5000);
        request.shared(&tarsia_kernel_guest::abi::SharedEntry {
            kind: 2,
            width: 4,
            values: (BASE, 8),
            offsets: (0, 0),
            len: 2,
        });
        request.wide(tag::LIMITS, 1 << 20);
        request.wide(tag::WHOLE, ROWS.into());
    });
    let bytes = good.bytes().to_vec();
    let mut run = |bytes: &[u8]| {
        if let Ok(handle) = guest.init(&memory, bytes) {
            while let Ok(Some(token)) = guest.decode(&memory, handle) {
                guest.release(token).unwrap();
            }
            // A whole is closed by its batch.
            let _ = guest.close(handle);
        }
    };
    run(&bytes);
    for len in 0..bytes.len() {
        run(&bytes[..len]);
    }
    for bit in 0..bytes.len() * 8 {
        let mut bad = bytes.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        run(&bad);
    }
}
