//! Files that need more memory or time to read than their size justifies.

use std::fs::File;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_buffer::{Buffer, OffsetBuffer};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use crate::run::Folder;

/// Writes a Parquet file of some kilobytes with one text of many bytes.
fn long(folder: &Folder, name: &str, bytes: usize) {
    let data = Buffer::from_vec(vec![b'x'; bytes]);
    let offsets = OffsetBuffer::<i32>::from_lengths([bytes]);
    let column: ArrayRef = Arc::new(StringArray::new(offsets, data, None));
    let batch = RecordBatch::try_from_iter([("s", column)]).unwrap();
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
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
    let folder = Folder::default();
    long(&folder, "t.parquet", 1_100 << 20);
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
    let folder = Folder::default();
    long(&folder, "t.parquet", 80 << 20);
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
    let folder = Folder::default();
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
