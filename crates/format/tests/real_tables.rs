//! Every real table, bit-equal through `Writer` and `File`.

mod common;

use arrow_array::UInt64Array;
use arrow_schema::SchemaRef;
use common::{assert_rows, deterministic, open, read_all, write};
use tarsia::{ErrorKind, WriteOptions, Writer};
use tarsia_io::MemorySink;
use tarsia_structure::arrow::reorder;
use tarsia_testkit::arrays::assert_bit_equal;
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
        let taken = file.take(&rows).unwrap();
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
fn nested_tables_are_refused_by_column_and_type() {
    for (name, path) in nested_tables() {
        let (schema, _): (SchemaRef, _) = read_parquet(&path);
        let nested = schema
            .fields()
            .iter()
            .find(|field| field.data_type().is_nested())
            .unwrap_or_else(|| panic!("{name} is listed as nested"));
        let sink = Box::new(MemorySink::new());
        match Writer::new(sink, schema.clone(), WriteOptions::default()) {
            Ok(_) => panic!("{name} was accepted"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Unsupported);
                assert_eq!(error.column(), Some(nested.name().as_str()));
                assert!(
                    error.to_string().contains(&nested.data_type().to_string()),
                    "{error}"
                );
            }
        }
    }
}
