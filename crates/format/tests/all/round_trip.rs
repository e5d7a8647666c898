//! Every flat type in and out, bit for bit: scans, ranges, takes, all batch and page sizes.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{assert_rows, deterministic, one_column, open, open_with, read_all, write};
use arrow_array::types::{Int8Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int8Array, Int32Array, Int64Array, ListArray, RecordBatch,
    StringArray, StringViewArray, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use tarsia::{
    Access, Checksums, ErrorKind, File, OpenOptions, Preset, Threads, WriteOptions, Writer,
};
use tarsia_arrow::reorder;
use tarsia_io::{MemorySink, MemorySinkHandle};
use tarsia_testkit::arrays::{
    Distribution, Nulls, Profile, array, assert_bit_equal, flat_types, profiles, sliced,
};
use tarsia_testkit::faults::FailingSink;
use tarsia_testkit::rng::Rng;

/// Scans, ranges and takes of a file give what went in.
fn check(bytes: &[u8], batch: &RecordBatch, what: &str) {
    let file = open(bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(file.num_rows(), batch.num_rows() as u64);
    assert_eq!(file.schema().unwrap(), batch.schema(), "{what}");
    let back = read_all(&file).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_rows(&back, batch);
    file.verify()
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    let rows = batch.num_rows();
    if rows == 0 {
        return;
    }
    let mut rng = Rng::new(rows as u64);
    for _ in 0..3 {
        let (a, b) = (rng.below(rows + 1), rng.below(rows + 1));
        let (start, end) = (a.min(b), a.max(b));
        let scan = file
            .scan()
            .rows(start as u64..end as u64)
            .batch_rows(1 + rng.below(3000))
            .build()
            .unwrap();
        let parts: Vec<_> = scan.map(Result::unwrap).collect();
        assert_rows(&parts, &batch.slice(start, end - start));
    }
    for n in [1, 3, 100] {
        let picked: Vec<u64> = (0..n).map(|_| rng.below(rows) as u64).collect();
        let places = UInt64Array::from(picked.clone());
        match file.take(&picked).read() {
            Ok(back) => {
                for (got, want) in back.columns().iter().zip(batch.columns()) {
                    let want = reorder(want, &places).unwrap();
                    assert_bit_equal(got.as_ref(), want.as_ref());
                }
            }
            Err(error) => panic!("{what}: {error}"),
        }
    }
}

#[test]
fn every_flat_type_and_profile() {
    for data_type in flat_types() {
        for (i, profile) in profiles(42).into_iter().enumerate() {
            // Sizes around a block, and fewer for the many profiles.
            let rows = [0, 1, 1000, 1024, 2500][i % 5];
            let array = array(&data_type, rows, profile);
            let batch = one_column(array);
            let bytes = write(
                batch.schema(),
                std::slice::from_ref(&batch),
                deterministic(),
            );
            check(&bytes, &batch, &format!("{data_type} {profile:?}"));
        }
    }
}

#[test]
fn every_flat_type_in_many_pages_from_odd_slices() {
    for data_type in flat_types() {
        let profile = Profile::new(Nulls::Percent(20), Distribution::LowCardinality, 9);
        let whole = one_column(array(&data_type, 9000, profile));
        let mut batches = Vec::new();
        let mut rng = Rng::new(1);
        let mut at = 0;
        while at < whole.num_rows() {
            let rows = (1 + rng.below(2000)).min(whole.num_rows() - at);
            batches.push(whole.slice(at, rows));
            at += rows;
        }
        let options = deterministic().with_page_bytes(3000);
        let bytes = write(whole.schema(), &batches, options.clone());
        check(&bytes, &whole, &data_type.to_string());
        // One batch of the same rows, sliced out of a longer one, gives the same rows too.
        let other = one_column(sliced(&data_type, 3000, profile));
        let bytes = write(other.schema(), std::slice::from_ref(&other), options);
        check(&bytes, &other, &data_type.to_string());
    }
}

/// A table with every flat type, some of them with nulls.
fn wide(rows: usize) -> RecordBatch {
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (i, data_type) in flat_types().into_iter().enumerate() {
        let nulls = if i % 3 == 0 {
            Nulls::Percent(10)
        } else {
            Nulls::None
        };
        let nulls = if data_type == DataType::Null {
            Nulls::All
        } else {
            nulls
        };
        let distribution = [
            Distribution::Random,
            Distribution::LowCardinality,
            Distribution::Sorted,
        ][i % 3];
        let array = array(
            &data_type,
            rows,
            Profile::new(nulls, distribution, i as u64),
        );
        let metadata = HashMap::from([(format!("k{i}"), format!("v{i} é"))]);
        let nullable = array.logical_null_count() > 0 || i % 2 == 0;
        fields.push(
            Field::new(format!("c{i} {data_type}"), data_type, nullable).with_metadata(metadata),
        );
        columns.push(array);
    }
    let metadata = HashMap::from([
        ("owner".into(), "tests".into()),
        ("".into(), "empty key".into()),
    ]);
    RecordBatch::try_new(
        Arc::new(Schema::new_with_metadata(fields, metadata)),
        columns,
    )
    .unwrap()
}

#[test]
fn a_wide_table_with_all_metadata() {
    let batch = wide(2000);
    let bytes = write(
        batch.schema(),
        std::slice::from_ref(&batch),
        deterministic(),
    );
    check(&bytes, &batch, "wide");
    let file = open(&bytes).unwrap();
    assert_eq!(file.schema().unwrap().metadata(), batch.schema().metadata());
    assert_eq!(file.num_columns() as usize, batch.num_columns());
    // A projection keeps order and repeats, and opens only what it names.
    let names: Vec<&str> = [7usize, 2, 7]
        .iter()
        .map(|i| batch.schema_ref().field(*i).name().as_str())
        .collect();
    let fresh = open(&bytes).unwrap();
    let back: Vec<_> = fresh
        .scan()
        .columns(&names)
        .build()
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let want = batch.project(&[7, 2, 7]).unwrap();
    assert_rows(&back, &want);
}

#[test]
fn readers_of_every_kind_agree() {
    let batch = wide(3000);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.tarsia");
    let mut writer = Writer::create(&path, batch.schema(), WriteOptions::default()).unwrap();
    writer.write(&batch).unwrap();
    assert!(!path.exists(), "the file appears only when it is complete");
    writer.finish().unwrap();
    for access in [Access::Map, Access::Read] {
        for threads in [Threads::All, Threads::One] {
            for checksums in [Checksums::Once, Checksums::Always, Checksums::Never] {
                let options = OpenOptions::new()
                    .with_access(access)
                    .with_threads(threads.clone())
                    .with_checksums(checksums);
                let file = File::open_with(&path, options).unwrap();
                let back = read_all(&file).unwrap();
                assert_rows(&back, &batch);
                file.verify().unwrap();
                let back = file.take(&[5, 1, 1, 2999]).read().unwrap();
                assert_eq!(back.num_rows(), 4);
            }
        }
    }
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        1,
        "no temporary file is left"
    );
}

/// The rows of a batch cut at random: now and then empty, one row, or thousands.
pub(crate) fn cut_at_random(batch: &RecordBatch, seed: u64) -> Vec<RecordBatch> {
    let mut rng = Rng::new(seed);
    let mut parts = Vec::new();
    let mut at = 0;
    while at < batch.num_rows() {
        let rows = match rng.below(4) {
            0 => rng.below(3),
            1 => rng.below(300),
            _ => rng.below(5000),
        };
        let rows = rows.min(batch.num_rows() - at);
        parts.push(batch.slice(at, rows));
        at += rows;
    }
    parts
}

/// Copies the rows into arrays of their own, with nothing under nulls.
fn cleared(batch: &RecordBatch) -> RecordBatch {
    let all = UInt64Array::from_iter_values(0..batch.num_rows() as u64);
    let columns = batch
        .columns()
        .iter()
        .map(|column| reorder(column, &all).unwrap())
        .collect();
    RecordBatch::try_new(batch.schema(), columns).unwrap()
}

/// A table in which every flat type has nulls with garbage beneath, as a slice of a longer one.
fn hostile_to_cuts(rows: usize) -> RecordBatch {
    let kinds = [
        (Nulls::Percent(30), Distribution::Random),
        (Nulls::Runs, Distribution::Extremes),
        (Nulls::Percent(1), Distribution::Skewed),
        (Nulls::None, Distribution::LowCardinality),
        (Nulls::Percent(95), Distribution::Random),
    ];
    let (fields, columns): (Vec<_>, Vec<_>) = flat_types()
        .into_iter()
        .enumerate()
        .map(|(i, data_type)| {
            let (nulls, distribution) = kinds[i % kinds.len()];
            let profile = Profile::new(nulls, distribution, i as u64);
            let array = sliced(&data_type, rows, profile);
            (Field::new(format!("c{i}"), data_type, true), array)
        })
        .unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

#[test]
fn the_bytes_depend_on_rows_and_options_alone() {
    let batch = wide(5000);
    let options = |threads, preset| {
        WriteOptions::new()
            .with_threads(threads)
            .with_preset(preset)
            .with_deterministic(true)
    };
    for preset in [Preset::Fast, Preset::Balanced, Preset::Compact] {
        let one = write(
            batch.schema(),
            std::slice::from_ref(&batch),
            options(Threads::One, preset),
        );
        let all = write(
            batch.schema(),
            std::slice::from_ref(&batch),
            options(Threads::All, preset),
        );
        assert_eq!(one, all);
        let split: Vec<_> = [(0, 1), (1, 2222), (2223, 2777)]
            .map(|(at, n)| batch.slice(at, n))
            .into();
        assert_eq!(
            one,
            write(batch.schema(), &split, options(Threads::All, preset))
        );
    }
    // Pages that fill up at other rows in each column, pages of a row, and budgets that flush before they do.
    let batch = hostile_to_cuts(9000);
    for (page_bytes, memory_budget_bytes) in [
        (20_000, u64::MAX),
        (1_000, u64::MAX),
        (100_000, 3 << 20),
        (u64::MAX, 600_000),
        (300_000, 0),
        (0, u64::MAX),
    ] {
        // With a page per row, a few rows will do.
        let batch = match page_bytes {
            0 => batch.slice(100, 40),
            _ => batch.clone(),
        };
        let options = |threads| {
            options(threads, Preset::Balanced)
                .with_page_bytes(page_bytes)
                .with_memory_budget_bytes(memory_budget_bytes)
        };
        let what = format!("pages of {page_bytes}, {memory_budget_bytes} in all");
        let whole = std::slice::from_ref(&batch);
        let one = write(batch.schema(), whole, options(Threads::One));
        let file = open(&one).unwrap();
        let columns = file.inspect().unwrap().columns;
        let pages: u64 = columns.iter().map(|column| column.pages).sum();
        assert!(pages > 2 * columns.len() as u64, "{what}: {pages} pages");
        assert_rows(&read_all(&file).unwrap(), &batch);
        let same = |batches: &[RecordBatch], threads, how: &str| {
            let bytes = write(batch.schema(), batches, options(threads));
            assert!(bytes == one, "{what}: other bytes from {how}");
        };
        same(whole, Threads::All, "all threads");
        same(&cut_at_random(&batch, 1), Threads::All, "random batches");
        same(&cut_at_random(&batch, 2), Threads::One, "other batches");
        let other = cleared(&batch);
        same(std::slice::from_ref(&other), Threads::All, "cleared nulls");
        same(&cut_at_random(&other, 3), Threads::All, "both");
    }
    // Otherwise the file id is random.
    let a = write(
        batch.schema(),
        std::slice::from_ref(&batch),
        WriteOptions::default(),
    );
    let b = write(
        batch.schema(),
        std::slice::from_ref(&batch),
        WriteOptions::default(),
    );
    assert_ne!(a[16..32], b[16..32]);
}

#[test]
fn the_bytes_do_not_depend_on_batches_of_many_rows() {
    // More rows than a writer takes at a time, in columns that fill pages of the default size.
    let rows = 300_000;
    let mut rng = Rng::new(17);
    let keys =
        Int32Array::from_iter((0..rows).map(|i| (i % 5 != 0).then(|| rng.below(200) as i32)));
    let values = StringArray::from_iter_values((0..200).map(|i| format!("{i}").repeat(1 + i % 90)));
    let dictionary = DictionaryArray::try_new(keys, Arc::new(values)).unwrap();
    let text = StringArray::from_iter((0..rows).map(|i| {
        let length = 10 + rng.below(100);
        (i % 7 != 0).then(|| format!("{i:0length$}"))
    }));
    let numbers = Int64Array::from_iter_values((0..rows).map(|_| rng.u64() as i64));
    let batch = RecordBatch::try_from_iter([
        ("dictionary", Arc::new(dictionary) as ArrayRef),
        ("text", Arc::new(text)),
        ("numbers", Arc::new(numbers)),
        (
            "longer",
            Arc::new(StringViewArray::from_iter(
                (0..rows).map(|i| (i % 3 > 0).then(|| format!("{i:030}"))),
            )),
        ),
    ])
    .unwrap();
    for budget in [256 << 20, 9 << 20] {
        let options = deterministic()
            .with_preset(Preset::Fast)
            .with_memory_budget_bytes(budget);
        let one = write(
            batch.schema(),
            std::slice::from_ref(&batch),
            options.clone(),
        );
        let file = open(&one).unwrap();
        assert!(file.inspect_columns("text").unwrap().remove(0).pages > 1);
        let parts = cut_at_random(&batch, 5);
        assert!(write(batch.schema(), &parts, options.clone()) == one);
        let parts = cut_at_random(&cleared(&batch), 6);
        assert!(write(batch.schema(), &parts, options) == one);
    }
}

/// A writer into a sink that fails, what the sink holds, and a batch of many pages.
fn failing_writer(
    fails: impl FnOnce(FailingSink<MemorySink>) -> FailingSink<MemorySink>,
) -> (
    Writer<FailingSink<MemorySink>>,
    MemorySinkHandle,
    RecordBatch,
) {
    let field = Field::new("x", DataType::Int64, false);
    let schema = Arc::new(Schema::new(vec![field]));
    let sink = MemorySink::new();
    let handle = sink.handle();
    let options = deterministic().with_page_bytes(8000);
    let sink = fails(FailingSink::new(sink));
    let writer = Writer::new(sink, schema.clone(), options).unwrap();
    let mut rng = Rng::new(3);
    let array = Int64Array::from_iter_values((0..5000).map(|_| rng.u64() as i64));
    let batch = RecordBatch::try_new(schema, vec![Arc::new(array)]).unwrap();
    (writer, handle, batch)
}

#[test]
fn a_write_that_fails_half_way_makes_no_file() {
    let (mut writer, handle, batch) = failing_writer(|sink| sink.fail_at_byte(1000));
    assert_eq!(writer.write(&batch).unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(writer.finish().unwrap_err().kind(), ErrorKind::InvalidInput);
    assert!(handle.take().is_none());
}

#[test]
fn a_write_after_one_that_failed_is_refused() {
    // The disk is full for a moment: the header is written, the first page is not, and all later calls are fine.
    let (mut writer, handle, batch) = failing_writer(|sink| sink.fail_call(1));
    assert_eq!(writer.write(&batch).unwrap_err().kind(), ErrorKind::Io);
    // What was lost must not be hidden by what comes after.
    let again = writer.write(&batch.slice(0, 10)).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::InvalidInput);
    assert_eq!(writer.finish().unwrap_err().kind(), ErrorKind::InvalidInput);
    assert!(handle.take().is_none());
}

#[test]
fn tables_without_rows_or_columns() {
    let none = RecordBatch::new_empty(wide(1).schema());
    check(
        &write(none.schema(), &[], deterministic()),
        &none,
        "no rows",
    );
    let schema = Arc::new(Schema::empty());
    let bytes = write(schema.clone(), &[], deterministic());
    let file = open(&bytes).unwrap();
    assert_eq!((file.num_rows(), file.num_columns()), (0, 0));
    assert_eq!(file.scan().build().unwrap().count(), 0);
    // No columns, yet rows.
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(7));
    let rows = RecordBatch::try_new_with_options(schema.clone(), vec![], &options).unwrap();
    let file = open(&write(schema, &[rows], deterministic())).unwrap();
    assert_eq!(file.num_rows(), 7);
    let back: Vec<_> = file.scan().build().unwrap().map(Result::unwrap).collect();
    assert_eq!(back.iter().map(RecordBatch::num_rows).sum::<usize>(), 7);
    assert_eq!(file.take(&[6, 6]).read().unwrap().num_rows(), 2);
    file.verify().unwrap();
}

#[test]
fn a_dictionary_whose_keys_would_overflow_ends_a_batch() {
    // 300 values in turn: no batch may hold more than 128 of them.
    let values: Vec<String> = (0..300).map(|i| format!("value {i}")).collect();
    let parts: Vec<ArrayRef> = values
        .chunks(100)
        .map(|part| {
            let keys = Int8Array::from_iter_values((0..1000).map(|i| (i % 100) as i8));
            let array = DictionaryArray::<Int8Type>::try_new(
                keys,
                Arc::new(StringArray::from_iter_values(part)),
            )
            .unwrap();
            Arc::new(array) as ArrayRef
        })
        .collect();
    let schema = one_column(parts[0].clone()).schema();
    let batches: Vec<_> = parts.iter().map(|part| one_column(part.clone())).collect();
    let bytes = write(schema, &batches, deterministic());
    let file = open(&bytes).unwrap();
    let back: Vec<_> = file.scan().build().unwrap().map(Result::unwrap).collect();
    assert!(back.len() >= 3);
    let mut got = Vec::new();
    for batch in &back {
        let array = batch
            .column(0)
            .as_any()
            .downcast_ref::<DictionaryArray<Int8Type>>()
            .unwrap();
        let typed = array.downcast_dict::<StringArray>().unwrap();
        got.extend(typed.into_iter().map(|value| value.unwrap().to_owned()));
    }
    let want: Vec<String> = (0..3)
        .flat_map(|part| (0..1000).map(move |i| format!("value {}", part * 100 + i % 100)))
        .collect();
    assert_eq!(got, want);
    let all: Vec<u64> = (0..3000).collect();
    assert_eq!(
        file.take(&all).read().unwrap_err().kind(),
        ErrorKind::LimitExceeded
    );
    assert_eq!(file.take(&all[..100]).read().unwrap().num_rows(), 100);
}

#[test]
fn batches_are_cut_where_strings_grow_large() {
    let long = "x".repeat(100_000);
    let array: ArrayRef = Arc::new(StringArray::from_iter_values(
        (0..2000).map(|i| format!("{i}{long}")),
    ));
    let batch = one_column(array);
    let bytes = write(
        batch.schema(),
        std::slice::from_ref(&batch),
        deterministic(),
    );
    let file = open(&bytes).unwrap();
    let mut at = 0;
    for part in file.scan().batch_rows(2000).build().unwrap() {
        let part = part.unwrap();
        assert!(part.num_rows() < 2000);
        assert_bit_equal(
            part.column(0).as_ref(),
            batch.column(0).slice(at, part.num_rows()).as_ref(),
        );
        at += part.num_rows();
    }
    assert_eq!(at, 2000);
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let keyed = |value| DataType::Dictionary(Box::new(DataType::Int8), Box::new(value));
    let bad = keyed(keyed(DataType::Utf8));
    let schema = Arc::new(Schema::new(vec![
        Field::new("ok", DataType::Int32, false),
        Field::new("bad one", DataType::new_list(bad, true), true),
    ]));
    let refused = |schema| match Writer::new(
        tarsia_io::MemorySink::new(),
        schema,
        WriteOptions::default(),
    ) {
        Err(error) => error,
        Ok(_) => panic!("accepted"),
    };
    let error = refused(schema);
    assert_eq!(
        (error.kind(), error.column()),
        (ErrorKind::Unsupported, Some("bad one"))
    );
    assert!(error.to_string().contains("Dictionary"), "{error}");

    let batch = one_column(Arc::new(Int64Array::from(vec![1])));
    let mut writer = Writer::new(
        tarsia_io::MemorySink::new(),
        batch.schema(),
        WriteOptions::default(),
    )
    .unwrap();
    let other = one_column(Arc::new(Int32Array::from(vec![1])));
    assert_eq!(
        writer.write(&other).unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
    let strict = Arc::new(Schema::new(vec![Field::new("x", DataType::Int64, false)]));
    let mut writer = Writer::new(
        tarsia_io::MemorySink::new(),
        strict,
        WriteOptions::default(),
    )
    .unwrap();
    let nulls = one_column(Arc::new(Int64Array::from(vec![None])));
    let error = writer.write(&nulls).unwrap_err();
    assert_eq!(
        (error.kind(), error.column()),
        (ErrorKind::InvalidInput, Some("x"))
    );
}

#[test]
fn callers_mistakes_are_named() {
    let batch = one_column(Arc::new(Int64Array::from(vec![1, 2, 3])));
    let file = open(&write(
        batch.schema(),
        std::slice::from_ref(&batch),
        deterministic(),
    ))
    .unwrap();
    let kind = |result: tarsia::Result<()>| result.unwrap_err().kind();
    assert_eq!(
        kind(file.take(&[3]).read().map(drop)),
        ErrorKind::OutOfRange
    );
    assert_eq!(
        kind(file.take(&[0]).columns(&["y"]).read().map(drop)),
        ErrorKind::NoSuchColumn
    );
    assert_eq!(
        kind(file.scan().columns(&["y"]).build().map(drop)),
        ErrorKind::NoSuchColumn
    );
    assert_eq!(
        kind(file.scan().rows(0..4).build().map(drop)),
        ErrorKind::OutOfRange
    );
    #[expect(clippy::reversed_empty_ranges, reason = "the mistake")]
    let reversed = file.scan().rows(2..1).build().map(drop);
    assert_eq!(kind(reversed), ErrorKind::OutOfRange);
    assert_eq!(
        kind(file.scan().batch_rows(0).build().map(drop)),
        ErrorKind::InvalidInput
    );
    assert_eq!(
        kind(file.verify_page("x", 1).map(drop)),
        ErrorKind::OutOfRange
    );
    assert_eq!(file.take(&[]).read().unwrap().num_rows(), 0);
    assert_eq!(file.verify_page("x", 0).unwrap().blocks, 1);
    assert_eq!(
        kind(File::open("does/not/exist.tarsia").map(drop)),
        ErrorKind::Io
    );
}

#[test]
fn columns_of_one_name_are_kept_but_cannot_be_named() {
    let schema = Arc::new(Schema::new(vec![
        Field::new("x", DataType::Int64, false),
        Field::new("x", DataType::Utf8, false),
    ]));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(vec![1])),
        Arc::new(StringArray::from(vec!["a"])),
    ];
    let batch = RecordBatch::try_new(schema, columns).unwrap();
    let bytes = write(
        batch.schema(),
        std::slice::from_ref(&batch),
        deterministic(),
    );
    check(&bytes, &batch, "same names");
    let file = open(&bytes).unwrap();
    let filter = tarsia::filter::col("x").eq(1);
    let path = "x[0]".parse().unwrap();
    let mut reordered = MemorySink::new();
    let order = vec!["x".to_owned()];
    for refused in [
        file.take(&[0]).columns(&["x"]).read().map(drop),
        file.take(&[0]).columns(&["x.y"]).read().map(drop),
        file.take(&[0]).element(&path).read().map(drop),
        file.scan().filter(filter).count().map(drop),
        file.reorder_into(order.clone(), &mut reordered).map(drop),
        Writer::new(
            Vec::new(),
            batch.schema(),
            deterministic().with_column_order(order),
        )
        .map(drop),
    ] {
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoSuchColumn, "{error}");
        assert!(
            error.to_string().contains("several columns are named x"),
            "{error}"
        );
    }
}

#[test]
fn a_scan_inside_the_pool_it_uses_does_not_wait_for_itself() {
    let batch = wide(20_000);
    let bytes = write(
        batch.schema(),
        std::slice::from_ref(&batch),
        deterministic(),
    );
    let file = open_with(&bytes, OpenOptions::default()).unwrap();
    let pool_size = rayon::current_num_threads();
    let rows: usize = rayon::scope(|scope| {
        let (send, receive) = std::sync::mpsc::channel();
        for _ in 0..pool_size * 2 {
            let (file, send) = (file.clone(), send.clone());
            scope.spawn(move |_| {
                let rows: usize = file
                    .scan()
                    .batch_rows(1000)
                    .build()
                    .unwrap()
                    .map(|batch| batch.unwrap().num_rows())
                    .sum();
                send.send(rows).unwrap();
            });
        }
        drop(send);
        receive.into_iter().sum()
    });
    assert_eq!(rows, 20_000 * pool_size * 2);
}

/// A reader with a bug: it panics once it is told to.
struct Panicking {
    file: tarsia_io::MemoryFile,
    armed: AtomicBool,
}

impl tarsia_io::ReadAt for Panicking {
    fn len(&self) -> u64 {
        self.file.len()
    }

    fn read_at(&self, place: u64, buf: &mut [u8]) -> std::io::Result<()> {
        if self.armed.load(Ordering::Relaxed) {
            panic!("a bug in the reader");
        }
        self.file.read_at(place, buf)
    }
}

#[test]
fn a_panic_of_a_scan_reaches_its_caller() {
    let batch = wide(20_000);
    let bytes = write(
        batch.schema(),
        std::slice::from_ref(&batch),
        deterministic(),
    );
    // Many batches at once, columns split over threads, and the caller's thread alone.
    for (threads, batch_rows) in [
        (Threads::All, 500),
        (Threads::All, 20_000),
        (Threads::One, 500),
    ] {
        let reader = Arc::new(Panicking {
            file: tarsia_io::MemoryFile::new(bytes.clone()),
            armed: AtomicBool::new(false),
        });
        let options = OpenOptions::new().with_threads(threads);
        let file = File::open_reader(reader.clone(), options).unwrap();
        let mut scan = file.scan().batch_rows(batch_rows).build().unwrap();
        reader.armed.store(true, Ordering::Relaxed);
        let panic = catch_unwind(AssertUnwindSafe(|| scan.next())).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"a bug in the reader"));
        // Whoever catches it gets no rows from behind the gap, and whoever drops the scan does not wait.
        reader.armed.store(false, Ordering::Relaxed);
        assert!(scan.next().is_none());
        drop(scan);
        assert_rows(&read_all(&file).unwrap(), &batch);
    }
}

/// Blocks of more rows than a batch count for the rows that are wanted, or batches are cut down to single rows.
#[test]
fn wide_tables_are_scanned_in_few_batches() {
    let text: ArrayRef = Arc::new(StringArray::from_iter_values(
        (0..1000).map(|i| format!("{i:0300}")),
    ));
    let lists = (0..1000).map(|i| Some(vec![Some(i); 10]));
    let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists));
    let columns = (0..300).map(|i| {
        let array = if i % 10 == 0 { &lists } else { &text };
        (format!("c{i}"), array.clone())
    });
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let bytes = write(
        batch.schema(),
        std::slice::from_ref(&batch),
        deterministic(),
    );
    let file = open(&bytes).unwrap();
    let mut at = 0;
    let mut n_batches = 0;
    for part in file.scan().build().unwrap() {
        let part = part.unwrap();
        assert_eq!(part, batch.slice(at, part.num_rows()));
        at += part.num_rows();
        n_batches += 1;
    }
    assert_eq!(at, 1000);
    assert!((2..=8).contains(&n_batches), "{n_batches} batches of 84 MB");
}
