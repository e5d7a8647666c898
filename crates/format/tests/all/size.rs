//! Bytes of a file beside its data.

use std::sync::Arc;

use crate::common::{deterministic, one_column, open, write};
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use tarsia_testkit::arrays::{Distribution, Nulls, Profile, array, flat_types};

#[test]
fn a_file_with_one_small_column_adds_less_than_two_kib() {
    let batch = one_column(Arc::new(Int64Array::from_iter_values(0..100)));
    let bytes = write(batch.schema(), &[batch], deterministic());
    assert!(bytes.len() < 2048 + 100, "{}", bytes.len());
}

#[test]
fn a_further_small_column_adds_less_than_200_bytes() {
    let table = |n_columns: usize| {
        let fields: Vec<_> = (0..n_columns)
            .map(|i| Field::new(format!("f{i:05}"), DataType::Int64, false))
            .collect();
        let columns: Vec<ArrayRef> = (0..n_columns)
            .map(|i| {
                Arc::new(Int64Array::from_iter_values(
                    (0..100).map(|row| row * i as i64 % 256),
                )) as ArrayRef
            })
            .collect();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
        write(batch.schema(), &[batch], deterministic()).len()
    };
    // A column's data is at most 100 bytes, its name 6.
    for (few, many) in [(1, 11), (100, 1100), (1000, 20_000)] {
        let each = (table(many) - table(few)) as f64 / (many - few) as f64;
        assert!(
            each < 200.0 + 100.0 + 6.0,
            "{few}..{many}: {each} bytes for each column"
        );
    }
}

#[test]
fn no_column_is_much_larger_than_plain_arrow() {
    for data_type in flat_types() {
        for nulls in [Nulls::None, Nulls::Percent(5), Nulls::Percent(50)] {
            let profile = Profile::new(nulls, Distribution::Random, 8);
            let batch = one_column(array(&data_type, 20_000, profile));
            let bytes = write(batch.schema(), &[batch], deterministic());
            let column = open(&bytes)
                .unwrap()
                .inspect_columns("x")
                .unwrap()
                .remove(0);
            let stored = column.encoded_bytes + column.metadata_bytes;
            let allowed = column.decoded_bytes + column.decoded_bytes / 100 + 256;
            assert!(
                stored <= allowed,
                "{data_type} {nulls:?}: {stored} of {}",
                column.decoded_bytes
            );
        }
    }
}

#[test]
fn opening_reads_no_column() {
    use tarsia::{File, OpenOptions};
    use tarsia_io::{CountingReader, MemoryFile};
    let bytes_read = |n_columns: usize| {
        let fields: Vec<_> = (0..n_columns)
            .map(|i| Field::new(format!("f{i:05}"), DataType::Int64, false))
            .collect();
        let columns: Vec<ArrayRef> = (0..n_columns)
            .map(|_| Arc::new(Int64Array::from_iter_values(0..10)) as ArrayRef)
            .collect();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
        let bytes = write(batch.schema(), &[batch], deterministic());
        let reader = Arc::new(CountingReader::new(MemoryFile::new(bytes)));
        let file = File::open_reader(reader.clone(), OpenOptions::default()).unwrap();
        let opened = reader.reset();
        file.take(&[3]).columns(&["f00003"]).read().unwrap();
        (opened, reader.stats())
    };
    let ((open_few, take_few), (open_many, take_many)) = (bytes_read(10), bytes_read(5000));
    // A short file is read as a whole; of others the header and the end, and the header before and after.
    for opened in [open_few, open_many] {
        assert!(opened.bytes < 6 << 10, "{opened:?}");
        assert!(opened.requests <= 5, "{opened:?}");
    }
    // A bucket, the record, the root's record, the block, and the header.
    assert!(
        take_many.bytes < take_few.bytes + 8192,
        "{take_few:?} {take_many:?}"
    );
    assert!(take_many.requests <= 8, "{take_many:?}");
}
