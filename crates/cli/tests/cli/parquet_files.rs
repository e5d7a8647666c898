//! Parquet files that others write: what their metadata promise.

use std::sync::Arc;

use parquet::file::metadata::{
    ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter, RowGroupMetaData,
};

use crate::run::{Folder, small_table, write_table};

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
    let folder = Folder::new();
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
    let folder = Folder::new();
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
