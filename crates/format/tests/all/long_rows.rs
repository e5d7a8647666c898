//! Elements of rows of hundreds of KiB: only the front of the row and the chunks with the element are read and checked.

use std::sync::Arc;

use crate::common::{deterministic, one_column, open_with, read_all, write};
use arrow_array::builder::{BinaryBuilder, FixedSizeListBuilder, Float32Builder, ListBuilder};
use arrow_array::builder::{Int64Builder, LargeListBuilder, StringBuilder, StructBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field};
use tarsia::{Checksums, ErrorKind, File, OpenOptions, Reads};
use tarsia_io::{CountingReader, MemoryFile};
use tarsia_testkit::nested::assert_logically_equal;
use tarsia_testkit::rng::Rng;

const ROWS: usize = 6;
const FRAMES: usize = 40;

fn bytes(rng: &mut Rng, most: usize) -> Vec<u8> {
    let len = rng.below(most);
    (0..len).map(|_| rng.u64() as u8).collect()
}

/// Rows of 40 frames of up to 40 kB, a null one now and then; the second row is null, the third is empty.
fn frames(nulls: bool) -> ArrayRef {
    let mut rng = Rng::new(7);
    let mut rows = ListBuilder::new(BinaryBuilder::new());
    for row in 0..ROWS {
        for frame in 0..FRAMES * usize::from(!matches!(row, 1 | 2)) {
            match nulls && frame % 7 == 3 {
                true => rows.values().append_null(),
                false => rows.values().append_value(bytes(&mut rng, 40_000)),
            }
        }
        rows.append(row != 1);
    }
    Arc::new(rows.finish())
}

fn vectors() -> ArrayRef {
    let mut rng = Rng::new(8);
    let vector = FixedSizeListBuilder::new(Float32Builder::new(), 768);
    let mut rows = LargeListBuilder::new(vector);
    for _ in 0..ROWS {
        for _ in 0..FRAMES {
            for _ in 0..768 {
                let value = rng.u64() as f32 / u64::MAX as f32;
                rows.values().values().append_value(value);
            }
            rows.values().append(true);
        }
        rows.append(true);
    }
    Arc::new(rows.finish())
}

/// Lists of lists of texts: the element is a whole list of them.
fn pages() -> ArrayRef {
    let mut rng = Rng::new(9);
    let mut rows = ListBuilder::new(ListBuilder::new(StringBuilder::new()));
    for _ in 0..ROWS {
        for _ in 0..FRAMES {
            for _ in 0..rng.below(20) {
                let text: String = (0..rng.below(4000))
                    .map(|_| char::from(b'a' + rng.below(26) as u8))
                    .collect();
                rows.values().values().append_value(text);
            }
            rows.values().append(true);
        }
        rows.append(true);
    }
    Arc::new(rows.finish())
}

/// Lists of structs: two columns, of which one is short.
fn people() -> ArrayRef {
    let mut rng = Rng::new(10);
    let fields = vec![
        Field::new("id", DataType::Int64, true),
        Field::new("face", DataType::Binary, true),
    ];
    let mut rows = ListBuilder::new(StructBuilder::from_fields(fields, 0));
    for _ in 0..ROWS {
        for i in 0..FRAMES {
            let person = rows.values();
            let id = person.field_builder::<Int64Builder>(0).unwrap();
            id.append_value(i as i64);
            let face = person.field_builder::<BinaryBuilder>(1).unwrap();
            face.append_value(bytes(&mut rng, 30_000));
            person.append(true);
        }
        rows.append(true);
    }
    Arc::new(rows.finish())
}

fn file_of(batch: &RecordBatch) -> Vec<u8> {
    write(batch.schema(), std::slice::from_ref(batch), deterministic())
}

fn item(batch: &RecordBatch, row: usize, item: usize) -> Option<ArrayRef> {
    let rows = batch.column(0);
    let items = match rows.as_list_opt::<i32>() {
        Some(list) if list.is_valid(row) => list.value(row),
        Some(_) => return None,
        None => rows.as_list::<i64>().value(row),
    };
    (item < items.len()).then(|| items.slice(item, 1))
}

/// Some elements, from memory and by requests, which are counted; the most that one row of one column took.
fn check(what: &str, array: ArrayRef, n_columns: u64) -> Reads {
    let batch = one_column(array);
    let bytes = file_of(&batch);
    let scanned = read_all(&open_with(&bytes, OpenOptions::default()).unwrap()).unwrap();
    assert_eq!(
        scanned.iter().map(RecordBatch::num_rows).sum::<usize>(),
        ROWS
    );
    let mapped = open_with(&bytes, OpenOptions::default()).unwrap();
    let reader = Arc::new(CountingReader::new(MemoryFile::new(bytes)));
    let by_requests = File::open_reader(reader.clone(), OpenOptions::default()).unwrap();
    let mut most = Reads::default();
    for i in [0, 1, 17, FRAMES - 1, FRAMES, 100_000] {
        let path = format!("x[{i}]").parse().unwrap();
        for row in 0..ROWS {
            let rows = [row as u64];
            let tarsia::Taken {
                batch: from_memory,
                reads,
                ..
            } = mapped.take(&rows).element(&path).read_counted().unwrap();
            by_requests.take(&rows).element(&path).read().unwrap();
            reader.reset();
            let tarsia::Taken {
                batch: taken,
                reads: counted,
                ..
            } = by_requests
                .take(&rows)
                .element(&path)
                .read_counted()
                .unwrap();
            assert_eq!(taken, from_memory, "{what} {row} {i}");
            let asked = reader.stats();
            // And once whether the file was changed.
            assert_eq!(asked.requests, counted.requests + 1, "{what} {row} {i}");
            assert_eq!(asked.bytes, counted.bytes + 192, "{what} {row} {i}");
            assert_eq!(
                (reads.requests, reads.bytes),
                (counted.requests, counted.bytes)
            );
            match item(&batch, row, i) {
                Some(want) => assert_logically_equal(taken.column(0).as_ref(), want.as_ref()),
                None => assert!(taken.column(0).is_null(0), "{what} {row} {i}"),
            }
            most.requests = most.requests.max(reads.requests.div_ceil(n_columns));
            most.bytes = most.bytes.max(reads.bytes);
        }
        // All rows together, one of them twice.
        let rows = [5, 0, 0, 1, 2, 4, 3];
        let taken = by_requests.take(&rows).element(&path).read().unwrap();
        for (place, row) in rows.iter().enumerate() {
            let got = taken.column(0).slice(place, 1);
            match item(&batch, *row as usize, i) {
                Some(want) => assert_logically_equal(got.as_ref(), want.as_ref()),
                None => assert!(got.is_null(0)),
            }
        }
    }
    most
}

/// The front (header, checksums of chunks, two chunks), and the chunks that an element of so many bytes touches.
fn bytes_max(element: u64) -> u64 {
    32 + 512 + 2 * 8192 + element + 2 * 8192
}

#[test]
fn an_element_costs_the_front_of_its_row_and_itself() {
    for (what, array, n_columns, element) in [
        ("frames", frames(false), 1, 40_000),
        ("frames with nulls", frames(true), 1, 40_000),
        ("vectors", vectors(), 1, 768 * 4),
        ("pages", pages(), 1, 20 * 4000),
        // The ids of all rows share a block.
        ("people", people(), 2, 30_000 + 8192),
    ] {
        let most = check(what, array, n_columns);
        assert!(most.requests <= 2, "{what}: {most:?}");
        assert!(most.bytes <= bytes_max(element), "{what}: {most:?}");
    }
}

#[test]
fn ranges_and_fields_of_long_rows() {
    let batch = one_column(frames(true));
    let file = open_with(&file_of(&batch), OpenOptions::default()).unwrap();
    let path = "x[3..6]".parse().unwrap();
    let tarsia::Taken {
        batch: taken,
        reads,
        ..
    } = file.take(&[4, 0]).element(&path).read_counted().unwrap();
    let (got, all) = (
        taken.column(0).as_list::<i32>(),
        batch.column(0).as_list::<i32>(),
    );
    for (place, row) in [4, 0].into_iter().enumerate() {
        let want = all.value(row).slice(3, 3);
        assert_logically_equal(got.value(place).as_ref(), want.as_ref());
    }
    assert!(reads.bytes <= 2 * bytes_max(3 * 40_000), "{reads:?}");

    let batch = one_column(people());
    let file = open_with(&file_of(&batch), OpenOptions::default()).unwrap();
    let path = "x[7].face".parse().unwrap();
    let taken = file.take(&[3]).element(&path).read().unwrap();
    let want = batch.column(0).as_list::<i32>().value(3);
    let want = want.as_struct().column(1).slice(7, 1);
    assert_logically_equal(taken.column(0).as_ref(), want.as_ref());
}

/// Memory is taken for the elements, not for the rows.
#[test]
fn one_frame_of_rows_that_would_not_fit_one_array() {
    let mut rows = ListBuilder::new(BinaryBuilder::new());
    let frame = vec![7; 60_000];
    for _ in 0..4 {
        for i in 0..200usize {
            rows.values().append_value(&frame[..60_000 - i]);
        }
        rows.append(true);
    }
    let batch = one_column(Arc::new(rows.finish()));
    let file = open_with(&file_of(&batch), OpenOptions::default()).unwrap();
    // 12 MB each, 2.4 GB together.
    let rows: Vec<u64> = (0..200).map(|i| i % 4).collect();
    let path = "x[3]".parse().unwrap();
    let taken = file.take(&rows).element(&path).read().unwrap();
    let frames = taken.column(0).as_binary::<i32>();
    assert!((0..200).all(|i| frames.value(i) == &frame[..60_000 - 3]));
}

#[test]
fn damage_is_found_where_it_is_read() {
    let batch = one_column(frames(false));
    let good = file_of(&batch);
    // The bytes of the last frame of the first row.
    let last = item(&batch, 0, FRAMES - 1).unwrap();
    let needle = last.as_binary::<i32>().value(0)[..64].to_vec();
    let at = good.windows(64).position(|bytes| bytes == needle).unwrap();
    let mut bad = good.clone();
    bad[at + 10] ^= 1;
    for (checksums, found) in [
        (Checksums::Once, true),
        (Checksums::Always, true),
        (Checksums::Never, false),
    ] {
        let options = OpenOptions::new().with_checksums(checksums);
        let file = open_with(&bad, options).unwrap();
        let element = |i: usize| {
            file.take(&[0])
                .element(&format!("x[{i}]").parse().unwrap())
                .read()
        };
        assert_logically_equal(
            element(0).unwrap().column(0).as_ref(),
            item(&batch, 0, 0).unwrap().as_ref(),
        );
        for _ in 0..2 {
            match element(FRAMES - 1) {
                Ok(_) => assert!(!found, "{checksums:?}"),
                Err(error) => {
                    assert!(found, "{checksums:?}: {error}");
                    assert_eq!(error.kind(), ErrorKind::Corrupt);
                    assert!(error.to_string().contains("checksum"), "{error}");
                    assert!(error.to_string().contains("block 0"), "{error}");
                }
            }
        }
        assert_eq!(file.take(&[0]).read().is_err(), found);
        assert!(file.take(&[3]).read().is_ok());
        assert!(file.verify().is_err());
    }
}
