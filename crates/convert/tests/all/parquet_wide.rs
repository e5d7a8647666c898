//! Parquet files whose columns are too many to be open at the same time.

use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int64Array, RecordBatch, StringArray, StructArray,
};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::arrow_writer::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::metadata::{
    ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::file::properties::WriterProperties;
use tarsia_convert::source::{Options, Part, Source};
use tarsia_convert::{Error, ErrorKind};
use tarsia_testkit::memory::measure;

use crate::run::{Folder, assert_same_table, read_table, refused};

/// The fewest columns whose readers take more than they may is below this.
const WIDE: usize = 1_800;

/// A table of so many columns of several types.
fn wide_table(columns: usize, rows: usize) -> RecordBatch {
    let of = |i: usize, row: usize| (i * 31 + row * 7) % 1_000;
    let column = |i: usize| -> ArrayRef {
        let values = (0..rows).map(|row| of(i, row));
        match i % 5 {
            0 => Arc::new(values.map(|v| v as i64).collect::<Int64Array>()),
            1 => {
                let text = |v: usize| (!v.is_multiple_of(11)).then(|| format!("text {v}"));
                Arc::new(values.map(text).collect::<StringArray>())
            }
            2 => {
                let mut lists = ListBuilder::new(Int32Builder::new());
                for v in values {
                    lists.values().append_slice(&vec![v as i32; v % 4]);
                    lists.append(!v.is_multiple_of(13));
                }
                Arc::new(lists.finish())
            }
            3 => {
                let texts: Vec<_> = values.map(|v| format!("{}", v % 6)).collect();
                let texts = texts.iter().map(String::as_str);
                Arc::new(texts.collect::<DictionaryArray<arrow_array::types::Int32Type>>())
            }
            _ => {
                let a: ArrayRef = Arc::new(values.map(|v| v as i64).collect::<Int64Array>());
                let field = |name| Arc::new(Field::new(name, DataType::Int64, true));
                Arc::new(StructArray::from(vec![
                    (field("a"), Arc::clone(&a)),
                    (field("b"), a),
                ]))
            }
        }
    };
    let columns: Vec<ArrayRef> = (0..columns).map(column).collect();
    let fields = columns.iter().enumerate();
    let fields = fields.map(|(i, of)| Field::new(format!("c{i}"), of.data_type().clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    RecordBatch::try_new(schema, columns).unwrap()
}

fn file(table: &RecordBatch, group_rows: usize) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(group_rows))
        .set_compression(Compression::ZSTD(Default::default()))
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), table.schema(), Some(properties)).unwrap();
    writer.write(table).unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn tables_of_many_columns_are_read_in_groups_of_them() {
    let folder = Folder::default();
    for (rows, group_rows) in [(1, 1), (40, 40), (50, 20), (0, 1)] {
        let table = wide_table(WIDE, rows);
        folder.write("x.parquet", file(&table, group_rows));
        let (schema, batches) = read_table(&folder.path("x.parquet"));
        assert_eq!(schema.fields(), table.schema().fields());
        assert_eq!(batches.len(), rows.div_ceil(group_rows));
        assert_same_table(&(table.schema(), batches), &(table.schema(), vec![table]));
    }
}

/// Reads a table whose parts may be some columns alone, and returns how many of them are so.
fn read_parts(path: &Path) -> Result<(RecordBatch, usize), Error> {
    let mut source = Source::open(path, &Options::default())?;
    let schema = source.schema();
    let mut arrays: Vec<Vec<ArrayRef>> = vec![Vec::new(); schema.fields().len()];
    let (mut n_alone, mut done) = (0, 0);
    while let Some(part) = source.next_part()? {
        let (first, batch) = match part {
            Part::Columns { first, batch } => {
                n_alone += 1;
                (first, batch)
            }
            Part::Rows(batch) => (0, batch),
        };
        for (of_column, array) in arrays[first..].iter_mut().zip(batch.columns()) {
            of_column.push(Arc::clone(array));
        }
        let progress = source.progress();
        assert!(done <= progress.0 && progress.0 <= progress.1);
        done = progress.0;
    }
    assert!(source.next_part()?.is_none());
    assert_eq!(Some(source.rows_read()), source.rows());
    let arrays = arrays.iter().map(|of_column| {
        let of_column: Vec<&dyn Array> = of_column.iter().map(|array| array.as_ref()).collect();
        arrow_select::concat::concat(&of_column).unwrap()
    });
    let table = RecordBatch::try_new(schema, arrays.collect()).unwrap();
    Ok((table, n_alone))
}

#[test]
fn large_row_groups_are_read_column_by_column() {
    let folder = Folder::default();
    let path = folder.path("x.parquet");
    let table = wide_table(WIDE, 2_700);
    for (group_rows, is_alone) in [(2_500, true), (900, false)] {
        folder.write("x.parquet", file(&table, group_rows));
        let (got, n_alone) = read_parts(&path).unwrap();
        assert_eq!(n_alone > 0, is_alone, "{group_rows}");
        let expected = (table.schema(), vec![table.clone()]);
        assert_same_table(&(got.schema(), vec![got]), &expected);
    }
    // Rows that were read together are not read again.
    folder.write("x.parquet", file(&table, 2_500));
    let mut source = Source::open(&path, &Options::default()).unwrap();
    let first = source.next_batch().unwrap().unwrap();
    let Some(Part::Rows(second)) = source.next_part().unwrap() else {
        panic!("some columns alone");
    };
    let rest = table.slice(first.num_rows(), second.num_rows());
    assert_same_table(
        &(second.schema(), vec![second]),
        &(table.schema(), vec![rest]),
    );
    // Nor go on those by rows that were read by columns.
    let mut source = Source::open(&path, &Options::default()).unwrap();
    source.next_part().unwrap().unwrap();
    let error = source.next_batch().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Request);
}

#[test]
fn reading_large_row_groups_takes_little_memory() {
    let folder = Folder::default();
    let path = folder.path("x.parquet");
    let columns = (0..2_000).map(|i| {
        let values = Int64Array::from_iter_values((0..8_000).map(|row| i * row % 97));
        (format!("c{i}"), Arc::new(values) as ArrayRef)
    });
    let table = RecordBatch::try_from_iter(columns).unwrap();
    folder.write("x.parquet", file(&table, 8_000));
    let (n_values, allocated) = measure(|| {
        let mut source = Source::open(&path, &Options::default()).unwrap();
        let mut n_values = 0;
        while let Some(part) = source.next_part().unwrap() {
            let Part::Columns { batch, .. } = part else {
                panic!("all columns together");
            };
            n_values += batch.num_rows() * batch.num_columns();
        }
        n_values
    });
    assert_eq!(n_values, 2_000 * 8_000);
    // Of 122 MiB.
    let peak = allocated.peak_bytes >> 20;
    assert!(peak < 60, "{peak} MiB");
}

#[test]
fn rows_of_long_values_are_read_a_few_at_a_time() {
    let folder = Folder::default();
    // One text of a megabyte for each row: the dictionary makes the pages short, and the footer says how long all are.
    let rows = 300;
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(
        (0..rows).map(|row| ["x", "y"][row % 2].repeat(1 << 20)),
    ));
    let mut columns = wide_table(WIDE, rows).columns().to_vec();
    columns.push(texts);
    let names = (0..columns.len()).map(|i| format!("c{i}"));
    let table = RecordBatch::try_from_iter(names.zip(columns)).unwrap();
    folder.write("x.parquet", file(&table, rows));
    let (_, batches) = read_table(&folder.path("x.parquet"));
    assert!(batches.iter().all(|batch| batch.num_rows() < 50));
    assert_same_table(&(table.schema(), batches), &(table.schema(), vec![table]));
}

#[test]
fn reading_many_columns_takes_little_memory() {
    let folder = Folder::default();
    let columns = 8_000;
    let columns = (0..columns).map(|i| {
        let values = Int64Array::from_iter_values((0..8).map(|row| i * row % 97));
        (format!("c{i}"), Arc::new(values) as ArrayRef)
    });
    let table = RecordBatch::try_from_iter(columns).unwrap();
    folder.write("x.parquet", file(&table, 8));
    let path = folder.path("x.parquet");
    let (n_rows, allocated) = measure(|| {
        let source = Source::open(&path, &Options::default()).unwrap();
        source.map(|batch| batch.unwrap().num_rows()).sum::<usize>()
    });
    assert_eq!(n_rows, 8);
    // All columns at once are 290 MB.
    let peak = allocated.peak_bytes >> 20;
    assert!(peak < 120, "{peak} MiB");
}

/// The file with another number of rows in its footer, of its first row group.
fn with_rows(file: &[u8], rows: i64) -> Vec<u8> {
    let metadata = ParquetMetaDataReader::new()
        .parse_and_finish(&bytes::Bytes::copy_from_slice(file))
        .unwrap();
    let groups = metadata.row_groups().iter().map(|group| {
        let columns = group.columns().iter().map(|column| {
            let column = column.clone().into_builder();
            column.set_num_values(rows).build().unwrap()
        });
        let columns: Vec<_> = columns.collect();
        let group: RowGroupMetaData = group
            .clone()
            .into_builder()
            .set_num_rows(rows)
            .set_column_metadata(columns)
            .build()
            .unwrap();
        group
    });
    let groups: Vec<_> = groups.collect();
    let of_file = metadata.file_metadata();
    let of_file = parquet::file::metadata::FileMetaData::new(
        of_file.version(),
        rows,
        None,
        of_file.key_value_metadata().cloned(),
        of_file.schema_descr_ptr(),
        None,
    );
    let metadata = ParquetMetaData::new(of_file, groups);
    let tail = file.len() - 8;
    let length = u32::from_le_bytes(file[tail..tail + 4].try_into().unwrap()) as usize;
    let mut made = file[..tail - length].to_vec();
    ParquetMetaDataWriter::new(&mut made, &metadata)
        .finish()
        .unwrap();
    made
}

#[test]
fn pages_with_other_rows_than_the_footer_states_are_refused() {
    let folder = Folder::default();
    let columns = (0..WIDE as i64).map(|i| {
        let values = Int64Array::from_iter_values((0..20).map(|row| i * row % 97));
        (format!("c{i}"), Arc::new(values) as ArrayRef)
    });
    let table = RecordBatch::try_from_iter(columns).unwrap();
    let sound = file(&table, 20);
    folder.write("x.parquet", with_rows(&sound, 20));
    assert_same_table(
        &read_table(&folder.path("x.parquet")),
        &(table.schema(), vec![table]),
    );
    for (stated, read) in [(19, "more"), (21, "20"), (1_000_000, "20")] {
        folder.write("x.parquet", with_rows(&sound, stated));
        let of_rows = refused(&folder, "x.parquet");
        let of_parts = read_parts(&folder.path("x.parquet")).unwrap_err();
        let what = format!("row group 0: the footer states {stated} rows, the pages have {read}");
        for error in [of_rows, of_parts] {
            assert!(error.to_string().ends_with(&what), "{error}");
        }
    }
    // Of many rows, as a footer says that columns are read alone.
    folder.write("x.parquet", with_rows(&sound, 1_000_000));
    let mut source = Source::open(&folder.path("x.parquet"), &Options::default()).unwrap();
    let part = source.next_part().unwrap();
    assert!(matches!(part, Some(Part::Columns { first: 0, .. })));
}
