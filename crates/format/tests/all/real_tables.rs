//! Every real table, bit-equal through `Writer` and `File`.

use crate::common::{assert_rows, deterministic, open, read_all, write};
use arrow_array::{RecordBatch, UInt64Array};
use tarsia_arrow::reorder;
use tarsia_testkit::arrays::assert_bit_equal;
use tarsia_testkit::nested::batch_logical_difference;
use tarsia_testkit::rng::Rng;
use tarsia_testkit::tables::{flat_tables, nested_tables, read_parquet};

#[test]
fn flat_tables_come_back_bit_equal() {
    for (name, path) in flat_tables() {
        let (schema, batches) = read_parquet(&path);
        let whole = arrow_select::concat::concat_batches(&schema, &batches).unwrap();
        let bytes = write(schema.clone(), &batches, deterministic());
        let file = open(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(file.schema().unwrap(), schema, "{name}");
        assert_rows(&read_all(&file).unwrap(), &whole);
        let report = file
            .verify()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(report.columns as usize, schema.fields().len());
        let mut rng = Rng::new(3);
        let rows: Vec<u64> = (0..200)
            .map(|_| rng.below(whole.num_rows()) as u64)
            .collect();
        let taken = file.take(&rows).read().unwrap();
        let places = UInt64Array::from(rows);
        for (got, want) in taken.columns().iter().zip(whole.columns()) {
            assert_bit_equal(got.as_ref(), reorder(want, &places).unwrap().as_ref());
        }
        // No column is larger than plain Arrow and what a file may add.
        for column in file.inspect().unwrap().columns {
            let stored = column.encoded_bytes + column.metadata_bytes;
            let allowed = column.decoded_bytes + column.decoded_bytes / 100 + 256;
            assert!(
                stored <= allowed,
                "{name}.{}: {stored} of {}",
                column.name,
                column.decoded_bytes
            );
        }
    }
}

#[test]
fn nested_tables_come_back_equal() {
    for (name, path) in nested_tables() {
        let (schema, batches) = read_parquet(&path);
        let whole = arrow_select::concat::concat_batches(&schema, &batches).unwrap();
        let bytes = write(schema.clone(), &batches, deterministic());
        let file = open(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(file.schema().unwrap(), schema, "{name}");
        let mut start = 0;
        for batch in file.scan().build().unwrap() {
            let batch = batch.unwrap_or_else(|error| panic!("{name}: {error}"));
            let want = whole.slice(start, batch.num_rows());
            batch_logical_difference(&batch, &want).unwrap_or_else(|at| panic!("{name}: {at}"));
            start += batch.num_rows();
        }
        assert_eq!(start, whole.num_rows(), "{name}");
        let verified = file.verify();
        verified.unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut rng = Rng::new(3);
        let rows: Vec<u64> = (0..200)
            .map(|_| rng.below(whole.num_rows()) as u64)
            .collect();
        let taken = file.take(&rows).read().unwrap();
        let places = UInt64Array::from(rows);
        let columns = whole.columns().iter();
        let columns = columns.map(|column| reorder(column, &places).unwrap());
        let want = RecordBatch::try_new(schema, columns.collect()).unwrap();
        batch_logical_difference(&taken, &want).unwrap_or_else(|at| panic!("{name}: {at}"));
        let stored: u64 = file
            .inspect()
            .unwrap()
            .columns
            .iter()
            .map(|c| c.encoded_bytes)
            .sum();
        let decoded: u64 = file
            .inspect()
            .unwrap()
            .columns
            .iter()
            .map(|c| c.decoded_bytes)
            .sum();
        assert!(
            stored <= decoded + decoded / 100,
            "{name}: {stored} of {decoded}"
        );
    }
}
