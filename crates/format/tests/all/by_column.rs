//! Rows that are written some columns at a time.

use std::io;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use tarsia::{ErrorKind, Threads, WriteOptions, Writer};
use tarsia_arrow::leaf_paths;
use tarsia_testkit::arrays::{DISTRIBUTIONS, NULLS, Profile, array, flat_types};
use tarsia_testkit::memory::measure;
use tarsia_testkit::nested::{is_uninhabited, nested_array, nested_profiles, nested_types};
use tarsia_testkit::rng::Rng;

use crate::common::{deterministic, open, read_all, same_rows};

/// A table of some columns of any type.
fn table(rng: &mut Rng, rows: usize) -> RecordBatch {
    let columns = (0..1 + rng.below(8)).map(|_| match rng.flip() {
        true => {
            let (nulls, values) = (*rng.pick(&NULLS), *rng.pick(&DISTRIBUTIONS));
            let profile = Profile::new(nulls, values, rng.u64());
            array(rng.pick(&flat_types()), rows, profile)
        }
        false => {
            let profiles = nested_profiles(rng.u64());
            let is_stored = |it: &DataType| !is_uninhabited(it) && leaf_paths(it, true).is_ok();
            let types: Vec<_> = nested_types().into_iter().filter(is_stored).collect();
            nested_array(rng.pick(&types), rows, rng.pick(&profiles))
        }
    });
    let columns: Vec<ArrayRef> = columns.collect();
    let fields = columns.iter().enumerate();
    let fields = fields.map(|(i, of)| Field::new(format!("c{i}"), of.data_type().clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    RecordBatch::try_new(schema, columns).unwrap()
}

/// Columns from `first` on, `n` of them.
fn columns(batch: &RecordBatch, first: usize, n: usize) -> RecordBatch {
    let numbers: Vec<usize> = (first..first + n).collect();
    batch.project(&numbers).unwrap()
}

/// Writes groups of rows, each some columns at a time, and some rows of these at a time.
fn write_groups(rng: &mut Rng, table: &RecordBatch, options: &WriteOptions) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), table.schema(), options.clone()).unwrap();
    let mut start = 0;
    while start < table.num_rows() {
        let rows = (1 + rng.below(3000)).min(table.num_rows() - start);
        let group = table.slice(start, rows);
        match rng.below(4) {
            0 => writer.write(&group).unwrap(),
            _ => write_group(rng, &group, &mut writer),
        }
        start += rows;
        assert_eq!(writer.rows_written(), start as u64);
    }
    writer.finish_into().unwrap().0
}

fn write_group(rng: &mut Rng, group: &RecordBatch, writer: &mut Writer<Vec<u8>>) {
    let mut first = 0;
    while first < group.num_columns() {
        let n = (1 + rng.below(3)).min(group.num_columns() - first);
        let some = columns(group, first, n);
        let mut done = 0;
        while done < group.num_rows() {
            let rows = (1 + rng.below(2000)).min(group.num_rows() - done);
            writer
                .write_columns(first, &some.slice(done, rows))
                .unwrap();
            done += rows;
        }
        first += n;
    }
}

#[test]
fn any_table_comes_back() {
    let mut rng = Rng::new(37);
    for _ in 0..120 {
        let rows = rng.below(6000);
        let table = table(&mut rng, rows);
        let options = deterministic()
            .with_page_bytes(500 + rng.below(60_000) as u64)
            .with_memory_budget_bytes(1_000 + rng.below(200_000) as u64);
        let bytes = write_groups(&mut rng, &table, &options);
        let file = open(&bytes).unwrap();
        file.verify().unwrap();
        same_rows(&read_all(&file).unwrap(), &table, "by column");
    }
}

#[test]
fn bytes_are_those_of_whole_rows_where_no_page_is_full() {
    let mut rng = Rng::new(38);
    for _ in 0..20 {
        let rows = 1 + rng.below(500);
        let table = table(&mut rng, rows);
        let options = deterministic().with_page_bytes(1 << 30);
        let bytes = write_groups(&mut rng, &table, &options);
        let mut writer = Writer::new(Vec::new(), table.schema(), options).unwrap();
        writer.write(&table).unwrap();
        let (whole, _) = writer.finish_into().unwrap();
        assert!(bytes == whole, "{}", table.schema());
    }
}

#[test]
fn early_pages_have_all_rows_of_a_group() {
    let column = |i: i64| {
        let values =
            (0..1_500_i64).map(|row| (row * 7 + i).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64));
        Arc::new(Int64Array::from_iter_values(values)) as ArrayRef
    };
    let names = (0..100).map(|i| format!("c{i}"));
    let table = RecordBatch::try_from_iter(names.zip((0..100).map(column))).unwrap();
    // Room for a tenth.
    let options = deterministic().with_memory_budget_bytes(350 << 10);
    let mut writer = Writer::new(Vec::new(), table.schema(), options.clone()).unwrap();
    for first in (0..100).step_by(5) {
        writer
            .write_columns(first, &columns(&table, first, 5))
            .unwrap();
    }
    let by_column = writer.finish().unwrap();
    let mut writer = Writer::new(Vec::new(), table.schema(), options).unwrap();
    writer.write(&table).unwrap();
    let by_row = writer.finish().unwrap();
    // Pages end early with a multiple of 1,024 rows where more may follow at once.
    assert!(by_column.pages < 120, "{}", by_column.pages);
    assert!(by_row.pages > 200, "{}", by_row.pages);
}

#[test]
fn columns_are_written_within_the_budget() {
    let columns = 400;
    let rows = 8_192;
    let schema = {
        let fields = (0..columns).map(|i| Field::new(format!("c{i}"), DataType::Int64, false));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    };
    let budget = 4 << 20;
    let options = deterministic()
        .with_memory_budget_bytes(budget)
        .with_threads(Threads::One);
    let (_, allocated) = measure(|| {
        let mut rng = Rng::new(1);
        let mut writer = Writer::new(io::sink(), schema.clone(), options).unwrap();
        for first in 0..columns {
            let values = Int64Array::from_iter_values((0..rows).map(|_| rng.u64() as i64));
            let one = Arc::new(Schema::new(vec![schema.field(first).clone()]));
            let batch = RecordBatch::try_new(one, vec![Arc::new(values)]).unwrap();
            writer.write_columns(first, &batch).unwrap();
        }
        writer.finish().unwrap();
    });
    // Of 25 MiB.
    let most = budget + budget / 8 + (3 << 20);
    assert!(allocated.peak_bytes < most, "{}", allocated.peak_bytes);
}

#[test]
fn columns_with_other_numbers_of_rows_are_refused() {
    let id = Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef;
    let name = Arc::new(StringArray::from(vec!["oak", "elm"])) as ArrayRef;
    let table = RecordBatch::try_from_iter([("id", id), ("name", name)]).unwrap();
    let writer = || Writer::new(Vec::new(), table.schema(), deterministic()).unwrap();
    let lacking = |error: tarsia::Error| {
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert_eq!(
            error.to_string(),
            "column `name`: it has 0 rows, another column 2"
        );
    };
    let mut uneven = writer();
    uneven.write_columns(0, &columns(&table, 0, 1)).unwrap();
    assert_eq!(uneven.rows_written(), 0);
    lacking(uneven.write(&table).unwrap_err());
    // It can go on.
    uneven.write_columns(1, &columns(&table, 1, 1)).unwrap();
    uneven.write(&table).unwrap();
    assert_eq!(uneven.finish().unwrap().rows, 4);

    let mut uneven = writer();
    uneven.write_columns(0, &columns(&table, 0, 1)).unwrap();
    lacking(uneven.finish().unwrap_err());
}

#[test]
fn columns_that_the_schema_does_not_have_are_refused() {
    let id = Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef;
    let one = RecordBatch::try_from_iter([("id", id.clone())]).unwrap();
    let two = RecordBatch::try_from_iter([("id", id.clone()), ("other", id)]).unwrap();
    let text = Arc::new(StringArray::from(vec!["oak", "elm"])) as ArrayRef;
    let text = RecordBatch::try_from_iter([("id", text)]).unwrap();
    let mut writer = Writer::new(Vec::new(), one.schema(), deterministic()).unwrap();
    for (first, batch, what) in [
        (1, &one, "1 columns from number 1 on, for a file of 1"),
        (0, &two, "2 columns from number 0 on, for a file of 1"),
        (
            usize::MAX,
            &two,
            "2 columns from number 18446744073709551615 on, for a file of 1",
        ),
        (
            0,
            &text,
            "column `id`: the batch holds Utf8, the file Int64",
        ),
    ] {
        let error = writer.write_columns(first, batch).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert_eq!(error.to_string(), what);
    }
    // Nothing of them was taken.
    writer.write_columns(0, &one).unwrap();
    writer.write_columns(1, &columns(&one, 0, 0)).unwrap();
    assert_eq!(writer.finish().unwrap().rows, 2);
}
