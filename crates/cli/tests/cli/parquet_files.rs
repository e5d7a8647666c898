//! Parquet files that others write: what their metadata promise, and types that Arrow does not have.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{TimestampMicrosecondType, TimestampNanosecondType};
use arrow_schema::{DataType, TimeUnit};
use parquet::data_type::{Int96, Int96Type};
use parquet::file::metadata::{
    ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::run::{Folder, read_table, small_table, write_table};

/// The file with other numbers of rows in its footer: of the file, and of its only row group.
fn restated(file: &[u8], of_file: i64, of_group: i64) -> Vec<u8> {
    let bytes = bytes::Bytes::copy_from_slice(file);
    let metadata = ParquetMetaDataReader::new()
        .parse_and_finish(&bytes)
        .unwrap();
    let group = |group: &RowGroupMetaData| {
        let group = group.clone().into_builder().set_num_rows(of_group);
        group.build().unwrap()
    };
    let groups = metadata.row_groups().iter().map(group).collect();
    let metadata = ParquetMetaData::new(metadata.file_metadata().clone(), groups);
    // The footer's length and a mark end the file.
    let (_, tail) = file.split_at(file.len() - 8);
    let footer = u32::from_le_bytes(tail[..4].try_into().unwrap()) as usize;
    let mut made = file[..file.len() - 8 - footer].to_vec();
    ParquetMetaDataWriter::new(&mut made, &metadata)
        .finish()
        .unwrap();
    // The writer states the sum over the row groups for the file: field 3 of the footer's structure, a signed number of
    // one byte here, before the list of row groups.
    let number = |n: i64| (n << 1 ^ n >> 63) as u8;
    let sum = [0x16, number(of_group), 0x19];
    let at = made.windows(3).rposition(|bytes| bytes == sum).unwrap();
    made[at + 1] = number(of_file);
    made
}

#[test]
fn rows_that_the_footer_does_not_state_are_an_error() {
    let folder = Folder::default();
    let (schema, batches) = small_table();
    write_table(&folder.path("t.parquet"), &schema, &batches);
    let file = std::fs::read(folder.path("t.parquet")).unwrap();
    folder.write("t.parquet", restated(&file, 5, 5));
    folder.run(&["import", "t.parquet", "o.tarsia"]).ok();
    std::fs::remove_file(folder.path("o.tarsia")).unwrap();
    let of_file = |n| format!("the footer states {n} rows for the file, and 5 for its row groups");
    let of_group =
        |n| format!("row group 0: the footer states {n} rows, and 5 values of column `id`");
    for (rows_of_file, rows_of_group, what) in [
        (0, 5, of_file(0)),
        (4, 5, of_file(4)),
        (6, 5, of_file(6)),
        (-1, 5, of_file(-1)),
        (0, 0, of_group(0)),
        (6, 6, of_group(6)),
        (5, -5, "row group 0: -5 rows".to_owned()),
    ] {
        folder.write("t.parquet", restated(&file, rows_of_file, rows_of_group));
        let line = folder.run(&["import", "t.parquet", "o.tarsia"]).fails(1);
        assert_eq!(line, format!("error: t.parquet: {what}\n"));
    }
    assert_eq!(folder.names(), ["t.parquet"]);
}

#[test]
fn rows_that_the_pages_do_not_have_are_an_error() {
    // A list has as many values as its items, so that only its pages say how many rows there are.
    let folder = Folder::default();
    let lists = arrow_array::ListArray::from_iter_primitive::<arrow_array::types::Int32Type, _, _>(
        (0..5).map(|i| Some(vec![Some(i); 2])),
    );
    let batch =
        arrow_array::RecordBatch::try_from_iter([("l", Arc::new(lists) as arrow_array::ArrayRef)])
            .unwrap();
    write_table(&folder.path("l.parquet"), &batch.schema(), &[batch]);
    let file = std::fs::read(folder.path("l.parquet")).unwrap();
    for (stated, what) in [(7, "5"), (3, "more")] {
        folder.write("l.parquet", restated(&file, stated, stated));
        let line = folder.run(&["import", "l.parquet", "o.tarsia"]).fails(1);
        let what = format!("the footer states {stated} rows, the pages have {what}");
        assert_eq!(line, format!("error: l.parquet: {what}\n"));
    }
    assert_eq!(folder.names(), ["l.parquet"]);
}

/// A timestamp of so many days after 1970-01-01 and nanoseconds.
fn int96(day: i32, nanos: u64) -> Int96 {
    let mut value = Int96::new();
    value.set_data(nanos as u32, (nanos >> 32) as u32, (day + 2_440_588) as u32);
    value
}

/// A file of row groups with a column `t` and a list `l` of INT96, each with these values, and a null in `t` first.
fn int96_file(groups: &[&[Int96]]) -> Vec<u8> {
    let message = "message m { OPTIONAL INT96 t; REQUIRED GROUP l (LIST) { REPEATED GROUP list { REQUIRED INT96 element; } } }";
    let schema = Arc::new(parse_message_type(message).unwrap());
    let mut file = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut file, schema, Default::default()).unwrap();
    for &values in groups {
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let mut present = vec![1_i16; values.len() + 1];
        present[0] = 0;
        let typed = column.typed::<Int96Type>();
        typed.write_batch(values, Some(&present), None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        // The first row has all but the last value, the others one each.
        let twice = [values, values].concat();
        let mut begins = vec![0_i16; twice.len()];
        begins[1..values.len()].fill(1);
        let (present, typed) = (vec![1_i16; twice.len()], column.typed::<Int96Type>());
        typed
            .write_batch(&twice, Some(&present), Some(&begins))
            .unwrap();
        column.close().unwrap();
        group.close().unwrap();
    }
    writer.close().unwrap();
    file
}

#[test]
fn timestamps_of_96_bits_get_the_unit_that_holds_them() {
    let folder = Folder::default();
    let late = int96(2_932_896, 86_399_999_999_000);
    let early = int96(-1, 86_399_999_999_999);
    folder.write("t.parquet", int96_file(&[&[int96(0, 1)], &[early, early]]));
    let (schema, batches) = read_table(&folder.path("t.parquet"));
    let nanos = DataType::Timestamp(TimeUnit::Nanosecond, None);
    assert_eq!(schema.field(0).data_type(), &nanos);
    let column = arrow_select::concat::concat(&[batches[0].column(0)]).unwrap();
    let values: Vec<_> = column
        .as_primitive::<TimestampNanosecondType>()
        .iter()
        .collect();
    assert_eq!(values, [None, Some(1), None, Some(-1), Some(-1)]);

    // 9999-12-31T23:59:59.999999 in the last row group.
    folder.write("t.parquet", int96_file(&[&[int96(0, 1_000)], &[late]]));
    let (schema, batches) = read_table(&folder.path("t.parquet"));
    let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
    assert_eq!(schema.field(0).data_type(), &micros);
    let column = batches[0].column(0);
    let values: Vec<_> = column
        .as_primitive::<TimestampMicrosecondType>()
        .iter()
        .collect();
    let year_9999 = 253_402_300_799_999_999;
    assert_eq!(values, [None, Some(1), None, Some(year_9999)]);
    let lists = batches[0].column(1).as_list::<i32>();
    assert_eq!(lists.value_type(), micros);
    let items = lists.values().as_primitive::<TimestampMicrosecondType>();
    assert_eq!(items.values(), &[1, 1, year_9999, year_9999]);
    folder.run(&["import", "t.parquet", "t.tarsia"]).ok();
    let head = folder.run(&["head", "t.tarsia", "--json"]).ok();
    assert!(head.contains("9999-12-31T23:59:59.999999"), "{head}");
}

#[test]
fn a_timestamp_of_96_bits_that_no_unit_holds_names_column_and_row() {
    let folder = Folder::default();
    let (late, odd, never) = (
        int96(2_932_896, 0),
        int96(0, 1),
        int96(i32::MAX - 2_440_588, 0),
    );
    for (groups, what) in [
        (
            &[&[late, odd][..]][..],
            "row 1: the timestamp is out of reach of nanoseconds, which row 2 needs",
        ),
        (
            &[&[odd], &[odd, late]],
            "row 4: the timestamp is out of reach of nanoseconds, which row 1 needs",
        ),
        (
            &[&[odd], &[never]],
            "row 3: the timestamp is out of reach of nanoseconds, which row 1 needs",
        ),
        (
            &[&[int96(0, 0), never]],
            "row 2: the timestamp fits neither nanoseconds nor microseconds",
        ),
    ] {
        folder.write("t.parquet", int96_file(groups));
        let line = folder.run(&["import", "t.parquet", "o.tarsia"]).fails(1);
        assert_eq!(line, format!("error: t.parquet: column `t`, {what}\n"));
    }
    assert_eq!(folder.names(), ["t.parquet"]);
}
