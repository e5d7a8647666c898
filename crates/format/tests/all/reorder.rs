//! Files written anew with their pages in another order.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use tarsia::{
    ErasureLevel, ErrorKind, File, Kernels, OpenOptions, ReorderSummary, RowSet, Threads,
    WriteOptions,
};
use tarsia_io::{CountingReader, MemoryFile, MemorySink};
use tarsia_testkit::rng::Rng;

use crate::common::{deterministic, open, open_with, read_all, same_rows, write};
use crate::erasure;

fn reordered(file: &File, order: &[&str]) -> (Vec<u8>, ReorderSummary) {
    let mut sink = MemorySink::new();
    let handle = sink.handle();
    let summary = file.reorder_into(order.to_vec(), &mut sink).unwrap();
    let bytes = handle.take().unwrap();
    assert_eq!(summary.file_bytes, bytes.len() as u64);
    (bytes, summary)
}

fn order_of(file: &File) -> Vec<String> {
    let mut columns = file.inspect().unwrap().columns;
    columns.sort_by_key(|column| column.place);
    columns.into_iter().map(|column| column.name).collect()
}

/// Columns of random numbers and one of few texts.
fn table(columns: usize, rows: usize) -> RecordBatch {
    let mut rng = Rng::new(7);
    let columns = (0..columns).map(|i| {
        let values = (0..rows).map(|_| match i % 3 {
            0 => (rng.u64() >> (i % 60)) as i64,
            _ => (rng.u64() % 9) as i64 * 1_000_003,
        });
        let array: ArrayRef = Arc::new(Int64Array::from_iter_values(values));
        (format!("c{i}"), array)
    });
    RecordBatch::try_from_iter(columns).unwrap()
}

/// Statements about each column, but for where it lies.
fn unplaced(file: &File) -> HashMap<String, String> {
    let columns = file.inspect().unwrap().columns.into_iter();
    let said = columns.map(|mut column| {
        column.place = None;
        (column.name.clone(), format!("{column:?}"))
    });
    said.collect()
}

#[test]
fn every_type_reads_back_from_a_reordered_file() {
    erasure::each_type([17, 71], |array, seed, what| {
        let rows = array.len();
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows as i64));
        let mut columns = vec![("n", numbers.clone(), true), ("x", array, true)];
        columns.push(("last", numbers, true));
        let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
        let options = WriteOptions::new().with_page_bytes(1 + seed % 5_000);
        let options = match seed % 3 {
            0 => options.with_erasure(ErasureLevel::Erase),
            _ => options,
        };
        let old = open(&write(
            batch.schema(),
            std::slice::from_ref(&batch),
            options,
        ))
        .unwrap();
        let (bytes, _) = reordered(&old, &["last", "x"]);
        let new = open(&bytes).unwrap();
        new.verify()
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(new.schema().unwrap(), old.schema().unwrap(), "{what}");
        same_rows(&read_all(&new).unwrap(), &batch, what);
        assert_eq!(unplaced(&new), unplaced(&old), "{what}");
    });
}

#[test]
fn pages_lie_in_the_new_order_and_keep_their_bytes() {
    let batch = table(12, 4_000);
    let options = deterministic().with_page_bytes(9_000);
    let old_bytes = write(
        batch.schema(),
        std::slice::from_ref(&batch),
        options.clone(),
    );
    let old = open(&old_bytes).unwrap();
    let order = ["c7", "c3", "c11"];
    let (bytes, summary) = reordered(&old, &order);
    let new = open(&bytes).unwrap();
    new.verify().unwrap();
    assert_eq!(order_of(&new)[..4], ["c7", "c3", "c11", "c0"]);
    assert!(summary.pages > 40 && summary.left_out.is_empty());
    assert_eq!(unplaced(&new), unplaced(&old));
    // The same order again, and none, change nothing.
    assert!(reordered(&new, &order).0 == bytes);
    assert!(reordered(&old, &[]).0 == old_bytes);
    // Pages lie where a writer puts them that knows the order.
    let one_page = |order: &[&str]| {
        let options = deterministic().with_column_order(order.to_vec());
        open(&write(
            batch.schema(),
            std::slice::from_ref(&batch),
            options,
        ))
        .unwrap()
    };
    let places = |file: &File| {
        let columns = file.inspect().unwrap().columns.into_iter();
        let places = columns.map(|column| (column.name, column.place));
        places.collect::<Vec<_>>()
    };
    let by_writer = one_page(&order);
    let (bytes, _) = reordered(&one_page(&[]), &order);
    assert_eq!(places(&open(&bytes).unwrap()), places(&by_writer));
    // Other random ids.
    let random = open(&write(
        batch.schema(),
        std::slice::from_ref(&batch),
        WriteOptions::new(),
    ))
    .unwrap();
    let id = |file: &File| file.metadata().unwrap().file_id;
    let ids = [
        id(&random),
        id(&open(&reordered(&random, &order).0).unwrap()),
    ];
    assert!(ids[0] != ids[1] && ids[1] != [0; 16]);
}

#[test]
fn a_file_without_rows_and_one_without_columns_are_reordered() {
    let empty = RecordBatch::new_empty(Arc::new(arrow_schema::Schema::empty()));
    for batch in [table(3, 0), empty] {
        let old = open(&write(batch.schema(), &[], WriteOptions::new())).unwrap();
        let (bytes, summary) = reordered(&old, &[]);
        open(&bytes).unwrap().verify().unwrap();
        assert_eq!((summary.pages, summary.rows), (0, 0));
    }
}

#[cfg(feature = "kernels")]
#[test]
fn kernels_move_with_the_file_and_decode_it() {
    let batch = table(5, 3_000);
    let old = open(&write(
        batch.schema(),
        std::slice::from_ref(&batch),
        WriteOptions::new(),
    ))
    .unwrap();
    let (bytes, _) = reordered(&old, &["c4", "c0"]);
    let options = OpenOptions::new().with_kernels(Kernels::Forced);
    let new = open_with(&bytes, options).unwrap();
    same_rows(&read_all(&new).unwrap(), &batch, "by kernels");
    let kernels = |file: &File| format!("{:?}", file.inspect().unwrap().kernels);
    assert_eq!(kernels(&new), kernels(&old));
}

#[test]
fn rows_stay_deleted_and_more_are_erased_from_a_reordered_file() {
    let batch = table(6, 2_000);
    let options = WriteOptions::new().with_erasure(ErasureLevel::Erase);
    let old = erasure::open(erasure::write(&batch, options));
    let hidden: RowSet = (3..9).collect();
    let gone: RowSet = (100..180).chain([1_999]).collect();
    let file = erasure::open(erasure::erased(&old, &hidden, ErasureLevel::Hide));
    let file = erasure::open(erasure::erased(&file, &gone, ErasureLevel::Erase));
    let (bytes, _) = reordered(&file, &["c5", "c2"]);
    let new = erasure::open(bytes);
    new.verify().unwrap();
    assert_eq!(new.deleted_rows(), file.deleted_rows());
    assert_eq!(new.erased_rows(), file.erased_rows());
    assert_eq!(new.metadata().unwrap().epoch, 1);
    let deleted = new.deleted_rows().clone();
    assert!(erasure::scan(&new) == erasure::live(&batch, &deleted));
    let more: RowSet = (500..600).collect();
    let erased = erasure::open(erasure::erased(&new, &more, ErasureLevel::Erase));
    erased.verify().unwrap();
    assert_eq!(erased.erased_rows().len(), gone.len() + 100);
    let deleted = erased.deleted_rows().clone();
    assert!(erasure::scan(&erased) == erasure::live(&batch, &deleted));
}

#[test]
fn damage_is_not_copied_and_its_place_is_named() {
    let batch = table(4, 3_000);
    let bytes = write(batch.schema(), &[batch], deterministic());
    let place = open(&bytes).unwrap().inspect().unwrap().columns[2]
        .place
        .unwrap() as usize;
    for at in [place, place + 40, place + 500] {
        let mut bytes = bytes.clone();
        bytes[at] ^= 4;
        let file = open(&bytes).unwrap();
        let mut sink = Vec::new();
        let error = file.reorder_into(["c3"], &mut sink).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert_eq!(
            (error.column(), error.page()),
            (Some("c2"), Some(0)),
            "{error}"
        );
        assert!(error.block().is_some(), "{error}");
        // What was written is no file.
        assert!(open(&sink).is_err());
    }
}

#[test]
fn names_that_lead_nowhere_or_twice_to_one_column_are_refused() {
    let batch = table(4, 10);
    let file = open(&write(batch.schema(), &[batch], deterministic())).unwrap();
    for (order, kind) in [
        (["c1", "c9"], ErrorKind::NoSuchColumn),
        (["c1", "c1"], ErrorKind::InvalidInput),
    ] {
        let mut sink = Vec::new();
        let error = file.reorder_into(order, &mut sink).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(sink.is_empty());
    }
}

#[test]
fn two_thousand_columns_are_reordered_and_read_with_fewer_requests() {
    let batch = table(2_000, 400);
    let old = write(
        batch.schema(),
        std::slice::from_ref(&batch),
        deterministic(),
    );
    let wanted: Vec<String> = (0..40).map(|i| format!("c{}", i * 47 + 3)).collect();
    let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
    let (new, _) = reordered(&open(&old).unwrap(), &wanted);
    let file = open(&new).unwrap();
    file.verify().unwrap();
    same_rows(&read_all(&file).unwrap(), &batch, "2,000 columns");
    let reads = |bytes: &[u8]| {
        let reader = Arc::new(CountingReader::new(MemoryFile::new(bytes.to_vec())));
        let options = OpenOptions::new().with_threads(Threads::One);
        let file = File::open_reader(reader, options).unwrap();
        let rows: Vec<u64> = (0..400).collect();
        let taken = file.take(&rows).columns(&wanted);
        let reads = taken.read_counted().unwrap().reads;
        (reads.requests, reads.bytes)
    };
    let (before, after) = (reads(&old), reads(&new));
    assert_eq!(after.0, 1, "{before:?} {after:?}");
    assert!(before.0 > 4 && after.1 <= before.1, "{before:?} {after:?}");
}

#[test]
fn what_cannot_be_reordered_is_refused_with_what_to_do() {
    let refused = |file: &File, what: &str| {
        let mut sink = Vec::new();
        let error = file.reorder_into(["n"], &mut sink).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains(what), "{error}");
        assert!(sink.is_empty());
    };
    // A sequence that is none any more.
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values((0..60_000).map(|i| i * 7)));
    let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
    let options = WriteOptions::new().with_erasure(ErasureLevel::Erase);
    let file = erasure::open(erasure::write(&batch, options));
    let mut rng = Rng::new(4);
    let rows: RowSet = (0..60_000)
        .filter(|_| rng.u64().is_multiple_of(3))
        .collect();
    let plan = file.plan_erasure(&rows, ErasureLevel::Erase).unwrap();
    assert!(plan.summary().blocks_moved > 0);
    let moved = erasure::open(erasure::written(&file, plan));
    refused(&moved, "tarsia compact");
    #[cfg(feature = "kernels")]
    {
        let old = crate::erasure_journals::written();
        let (_, interrupted) =
            crate::erasure_journals::erased(&old, &[3], ErasureLevel::Erase, &[]);
        refused(&erasure::open(interrupted), "tarsia recover");
    }
}
