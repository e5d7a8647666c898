//! Files that need more memory or time to read than their size justifies.

use std::fs::File;
use std::sync::Arc;

use arrow_array::{ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::file::properties::WriterProperties;

use crate::run::Folder;

/// A Parquet file of some kilobytes, whose rows hold the same text of 1 MiB: its dictionary has it once.
fn repeated(folder: &Folder, name: &str, rows: usize) {
    let text = StringArray::from(vec!["x".repeat(1 << 20)]);
    let column = DictionaryArray::new(Int32Array::from(vec![0; rows]), Arc::new(text));
    let column: ArrayRef = Arc::new(column);
    let batch = RecordBatch::try_from_iter([("s", column)]).unwrap();
    // Read as text, not as a dictionary.
    let properties = WriterProperties::builder()
        .set_dictionary_page_size_limit(usize::MAX)
        .set_compression(parquet::basic::Compression::SNAPPY)
        .build();
    let options = ArrowWriterOptions::new()
        .with_skip_arrow_metadata(true)
        .with_properties(properties);
    let file = File::create(folder.path(name)).unwrap();
    let mut writer = ArrowWriter::try_new_with_options(file, batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    assert!(std::fs::metadata(folder.path(name)).unwrap().len() < 200_000);
}

#[test]
fn a_small_file_gets_no_gigabytes() {
    let folder = Folder::new();
    repeated(&folder, "t.parquet", 1_200);
    for args in [
        &["import", "t.parquet", "t.tarsia"][..],
        &["explain", "t.parquet"],
    ] {
        let line = folder.run(args).fails(1);
        assert!(
            line.starts_with("error: t.parquet: needs more than 1.0 GiB of memory"),
            "{line}"
        );
        assert!(line.contains("--memory-limit SIZE"), "{line}");
        assert_eq!(folder.names(), ["t.parquet"]);
    }
}

#[test]
fn the_limit_on_memory_can_be_set() {
    let folder = Folder::new();
    repeated(&folder, "t.parquet", 100);
    let import =
        |limit: &[&str]| folder.run(&[&["import", "t.parquet", "t.tarsia"], limit].concat());
    let line = import(&["--memory-limit", "64MiB"]).fails(1);
    assert!(
        line.contains("needs more than 64.0 MiB of memory"),
        "{line}"
    );
    assert_eq!(folder.names(), ["t.parquet"]);
    for limit in [
        &[][..],
        &["--memory-limit", "2GiB"],
        &["--memory-limit", "none"],
    ] {
        import(limit).ok();
    }
    folder.run(&["verify", "t.tarsia"]).ok();
    let line = import(&["--memory-limit", "much"]);
    assert_eq!(line.code, 2);
}

#[test]
fn time_without_rows_is_limited() {
    let folder = Folder::new();
    folder.write("t.csv", "a\n1\n");
    let import = |limit: &[&str]| folder.run(&[&["import", "t.csv", "t.tarsia"], limit].concat());
    let line = import(&["--time-limit", "0"]).fails(1);
    assert!(
        line.starts_with("error: t.csv: gives no rows in 0 s of processor time"),
        "{line}"
    );
    assert_eq!(folder.names(), ["t.csv"]);
    for limit in [&[][..], &["--time-limit", "100"], &["--time-limit", "none"]] {
        import(limit).ok();
    }
}
