//! The writer as callers use it: any sink, metadata of their own, presets of single columns.

use std::collections::HashMap;
use std::io::{self, BufWriter, Cursor, Write};
use std::sync::Arc;

use crate::common::{assert_rows, deterministic, open, read_all, write};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{Schema, SchemaRef};
use tarsia::io::{FileSink, Sink};
use tarsia::{
    ColumnOptions, EmbedKernels, ErrorKind, File, Preset, Threads, WriteOptions, WriteSummary,
    Writer,
};
use tarsia_testkit::rng::Rng;

fn table() -> RecordBatch {
    let mut rng = Rng::new(1);
    let numbers = Int64Array::from_iter_values((0..3000).map(|_| (rng.u64() % 1000) as i64));
    let words = ["oak", "elm", "ash"];
    let texts = StringArray::from_iter_values((0..3000).map(|i| words[i % 3]));
    let columns: [(&str, ArrayRef); 2] = [("n", Arc::new(numbers)), ("s", Arc::new(texts))];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// Several pages per column.
fn options() -> WriteOptions {
    deterministic().with_page_bytes(5000)
}

fn write_to<W: Sink>(sink: W) -> (W, WriteSummary) {
    let table = table();
    let mut writer = Writer::new(sink, table.schema(), options()).unwrap();
    writer.write(&table).unwrap();
    writer.finish_into().unwrap()
}

#[test]
fn whatever_can_be_written_to_gets_the_same_file() {
    let (bytes, summary) = write_to(Vec::new());
    assert_eq!((summary.rows, summary.columns), (3000, 2));
    assert_eq!(summary.file_bytes, bytes.len() as u64);
    let file = open(&bytes).unwrap();
    assert_rows(&read_all(&file).unwrap(), &table());
    file.verify().unwrap();

    let mut borrowed = Vec::new();
    write_to(&mut borrowed);
    assert_eq!(borrowed, bytes);
    let (cursor, _) = write_to(Cursor::new(Vec::new()));
    assert_eq!(cursor.into_inner(), bytes);
    let boxed: Box<dyn Write + Send> = Box::new(&mut borrowed);
    write_to(boxed);
    assert_eq!(borrowed, [bytes.clone(), bytes.clone()].concat());
    // Nothing stays in a buffer.
    let (buffered, _) = write_to(BufWriter::with_capacity(1 << 20, Vec::new()));
    assert!(buffered.buffer().is_empty());
    assert_eq!(*buffered.get_ref(), bytes);

    // A sink that can go back says in the header where the file ends; nothing else differs.
    let mut local = write(table().schema(), &[table()], options());
    assert_ne!(local, bytes);
    local[64..128].fill(0);
    assert_eq!(local, bytes);
}

#[test]
fn a_file_of_create_is_what_sinks_that_can_go_back_get() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.tarsia");
    let mut writer: Writer = Writer::create(&path, table().schema(), options()).unwrap();
    writer.write(&table()).unwrap();
    let (_, summary): (FileSink, _) = writer.finish_into().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(summary.file_bytes, bytes.len() as u64);
    assert_eq!(bytes, write(table().schema(), &[table()], options()));
}

#[test]
fn before_the_writer_finishes_no_reader_opens_what_a_sink_got() {
    let table = table();
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, table.schema(), options()).unwrap();
    writer.write(&table).unwrap();
    assert_eq!(writer.rows_written(), 3000);
    let n_written = writer.bytes_written();
    drop(writer);
    assert_eq!(n_written, bytes.len() as u64);
    assert!(n_written > 1000, "{n_written}");
    assert_eq!(open(&bytes).err().unwrap().kind(), ErrorKind::Corrupt);
    let (whole, _) = write_to(Vec::new());
    for n in (0..whole.len()).step_by(89) {
        assert!(open(&whole[..n]).is_err(), "{n} of {} bytes", whole.len());
    }
}

#[test]
fn a_write_that_fails_is_an_error_of_the_writer() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self.0.checked_sub(bytes.len()) {
                Some(left) => self.0 = left,
                None => return Err(io::ErrorKind::StorageFull.into()),
            }
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let table = table();
    let (_, summary) = write_to(Full(usize::MAX));
    for n in [0, 192, 4000, summary.file_bytes as usize - 1] {
        let error = Writer::new(Full(n), table.schema(), options())
            .and_then(|mut writer| {
                writer.write(&table)?;
                writer.finish()
            })
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{n}: {error}");
    }
    write_to(Full(summary.file_bytes as usize));
}

fn metadata(pairs: &[(&str, &str)]) -> HashMap<String, String> {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    pairs.iter().map(owned).collect()
}

fn with_metadata(pairs: &[(&str, &str)]) -> SchemaRef {
    let fields = table().schema().fields().clone();
    Arc::new(Schema::new_with_metadata(fields, metadata(pairs)))
}

#[test]
fn pairs_of_schema_options_and_writer_come_back_and_the_last_counts() {
    let given = with_metadata(&[("a", "schema"), ("b", "schema"), ("c", "schema")]);
    let options = options()
        .with_key_value("b", "first")
        .with_key_value("b", "options")
        .with_key_value("c", "options")
        .with_key_value("", "");
    let mut writer = Writer::new(Vec::new(), given.clone(), options.clone()).unwrap();
    writer.add_key_value("c", "writer").unwrap();
    // The batch's schema has no metadata.
    writer.write(&table()).unwrap();
    let long = "long ".repeat(100_000);
    writer
        .add_key_value(String::from("d"), long.clone())
        .unwrap();
    let expect = metadata(&[
        ("a", "schema"),
        ("b", "options"),
        ("c", "writer"),
        ("d", &long),
        ("", ""),
    ]);
    assert_eq!(writer.schema().metadata(), &expect);
    let (bytes, _) = writer.finish_into().unwrap();
    let file = open(&bytes).unwrap();
    let schema = file.schema().unwrap();
    assert_eq!(schema.metadata(), &expect);
    assert_eq!(schema.fields(), given.fields());
    assert_eq!(read_all(&file).unwrap()[0].schema(), schema);
    file.verify().unwrap();
    // The caller's own schema is as it was.
    assert_eq!(given.metadata().len(), 3);
    // In whatever order they are given, the bytes are the same.
    let write_pairs = |pairs: &[(&str, &str)]| {
        let options = pairs.iter().fold(deterministic(), |options, (key, value)| {
            options.with_key_value(*key, *value)
        });
        write(table().schema(), &[table()], options)
    };
    let pairs = [("x", "1"), ("y", "2"), ("z", "3")];
    let reversed: Vec<_> = pairs.iter().copied().rev().collect();
    assert_eq!(write_pairs(&pairs), write_pairs(&reversed));
}

#[test]
fn reserved_keys_are_refused_and_nothing_is_lost() {
    let new = |schema, options| Writer::new(Vec::new(), schema, options).map(drop);
    let refused = |result: tarsia::Result<()>| {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains("`tarsia.x`"), "{error}");
    };
    refused(new(
        table().schema(),
        options().with_key_value("tarsia.x", "1"),
    ));
    refused(new(with_metadata(&[("tarsia.x", "1")]), options()));
    let both = options().with_key_value("tarsia.y", "1");
    refused(new(with_metadata(&[("tarsia.x", "1")]), both));
    let mut writer = Writer::new(Vec::new(), table().schema(), options()).unwrap();
    refused(writer.add_key_value("tarsia.x", "1"));
    writer.add_key_value("tarsia", "1").unwrap();
    writer.write(&table()).unwrap();
    let (bytes, _) = writer.finish_into().unwrap();
    let schema = open(&bytes).unwrap().schema().unwrap();
    assert_eq!(schema.metadata(), &metadata(&[("tarsia", "1")]));

    // The file keeps its old content, and the error names it.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.tarsia");
    std::fs::write(&path, b"old").unwrap();
    let options = options().with_key_value("tarsia.x", "1");
    let error = Writer::create(&path, table().schema(), options).err();
    assert!(error.unwrap().to_string().contains("t.tarsia"));
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
}

#[test]
fn a_preset_of_a_column_comes_before_that_of_the_file() {
    // A dictionary saves two bits of eleven.
    let mut rng = Rng::new(4);
    let some: Vec<i64> = (0..400).map(|_| rng.below(2048) as i64).collect();
    let mut column = || -> ArrayRef {
        let values = (0..30_000).map(|_| some[rng.below(400)]);
        Arc::new(Int64Array::from_iter_values(values))
    };
    let table = RecordBatch::try_from_iter([("a", column()), ("b", column())]).unwrap();
    let trees = |options: WriteOptions| {
        let bytes = write(table.schema(), std::slice::from_ref(&table), options);
        let file: File = open(&bytes).unwrap();
        assert_rows(&read_all(&file).unwrap(), &table);
        ["a", "b"].map(|column| {
            let inspected = file.inspect_columns(column).unwrap();
            inspected[0].trees[0].0.clone()
        })
    };
    let (small, fast) = ("dict(bitpack)", "bitpack");
    for (preset, column, own, expect) in [
        (Preset::Fast, "b", Preset::Fast, [fast, fast]),
        (Preset::Fast, "b", Preset::Compact, [fast, small]),
        (Preset::Fast, "a", Preset::Compact, [small, fast]),
        (Preset::Compact, "b", Preset::Compact, [small, small]),
        (Preset::Compact, "b", Preset::Fast, [small, fast]),
    ] {
        let own = ColumnOptions::new().with_preset(own);
        let options = deterministic().with_preset(preset);
        assert_eq!(trees(options.with_column(column, own)), expect);
    }
}

#[test]
fn options_say_what_was_set() {
    let defaults = WriteOptions::new();
    assert_eq!(defaults.preset(), Preset::Balanced);
    assert_eq!(defaults.page_bytes(), 8 << 20);
    assert_eq!(defaults.memory_budget_bytes(), 256 << 20);
    assert_eq!(defaults.threads(), &Threads::All);
    assert_eq!(defaults.embed_kernels(), EmbedKernels::Embed);
    assert_eq!(defaults.full_zip_bytes_min(), 128);
    assert!(!defaults.deterministic() && defaults.chooser().is_none());
    assert!(defaults.kernels().is_empty() && defaults.column_names().next().is_none());
    assert!(Arc::ptr_eq(defaults.registry(), tarsia::registry()));
    let options = WriteOptions::new()
        .with_preset(Preset::Fast)
        .with_page_bytes(1)
        .with_memory_budget_bytes(2)
        .with_threads(Threads::One)
        .with_embed_kernels(EmbedKernels::Omit)
        .with_full_zip_bytes_min(3)
        .with_deterministic(true)
        .with_registry(Arc::default())
        .with_column("a", ColumnOptions::new().with_preset(Preset::Fast))
        .with_column("a", ColumnOptions::new().with_preset(Preset::Compact))
        .with_key_value("k", "v");
    assert_eq!(options.preset(), Preset::Fast);
    assert_eq!(options.page_bytes(), 1);
    assert_eq!(options.memory_budget_bytes(), 2);
    assert_eq!(options.threads(), &Threads::One);
    assert_eq!(options.embed_kernels(), EmbedKernels::Omit);
    assert_eq!(options.full_zip_bytes_min(), 3);
    assert!(options.deterministic() && options.registry().encodings().is_empty());
    assert_eq!(options.column_names().collect::<Vec<_>>(), ["a"]);
    assert_eq!(options.column("a").unwrap().preset(), Some(Preset::Compact));
    assert!(options.column("b").is_none());
    assert_eq!(options.key_values().collect::<Vec<_>>(), [("k", "v")]);
}
