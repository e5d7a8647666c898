//! Arrow IPC that is damaged, hostile or unusual.

use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Int32Array, Int64Array, ListArray, NullArray, RecordBatch,
    StringArray, StringViewArray, StructArray, new_null_array,
};
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_ipc::{CompressionType, MetadataVersion};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parquet::arrow::arrow_writer::{ArrowWriter, ArrowWriterOptions};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use tarsia_convert::source::{Options, Source};
use tarsia_convert::{Error, quiet_foreign_panics};

use crate::run::{Folder, assert_same_table, read_table};

fn options(compression: Option<CompressionType>) -> IpcWriteOptions {
    IpcWriteOptions::default()
        .try_with_compression(compression)
        .unwrap()
}

fn file(batch: &RecordBatch, options: IpcWriteOptions) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer =
        FileWriter::try_new_with_options(&mut bytes, &batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    drop(writer);
    bytes
}

fn stream(batch: &RecordBatch, options: IpcWriteOptions) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer =
        StreamWriter::try_new_with_options(&mut bytes, &batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    drop(writer);
    bytes
}

/// A few rows of every layout.
fn layouts() -> RecordBatch {
    let keys = DictionaryArray::<Int8Type>::from_iter([Some("red"), None, Some("blue")]);
    let lists = ListArray::from_iter_primitive::<arrow_array::types::Int32Type, _, _>([
        Some(vec![Some(1), None]),
        None,
        Some(vec![]),
    ]);
    let inner: ArrayRef = Arc::new(Int32Array::from(vec![Some(7), None, Some(9)]));
    let structs = StructArray::from(vec![(
        Arc::new(Field::new("x", DataType::Int32, true)),
        inner,
    )]);
    let texts = StringArray::from(vec![Some("a".repeat(300)), None, Some("b".repeat(40))]);
    let views = StringViewArray::from(vec![Some("short"), Some("longer than twelve bytes"), None]);
    RecordBatch::try_from_iter_with_nullable([
        (
            "i",
            Arc::new(Int64Array::from(vec![1, 2, 3])) as ArrayRef,
            true,
        ),
        ("t", Arc::new(texts), true),
        ("d", Arc::new(keys), true),
        ("l", Arc::new(lists), true),
        ("s", Arc::new(structs), true),
        ("v", Arc::new(views), true),
        ("n", Arc::new(NullArray::new(3)), true),
    ])
    .unwrap()
}

/// The bytes that the batches of a file take in memory.
fn memory(folder: &Folder, name: &str) -> Result<usize, Error> {
    let mut source = Source::open(&folder.path(name), &Options::default())?;
    let mut most = 0;
    while let Some(batch) = source.next_batch()? {
        most = most.max(batch.get_array_memory_size());
    }
    Ok(most)
}

#[test]
fn old_and_new_messages_are_read() {
    let folder = Folder::default();
    let batch = layouts();
    let table = (batch.schema(), vec![batch.clone()]);
    let legacy = IpcWriteOptions::try_new(8, true, MetadataVersion::V4).unwrap();
    for compression in [
        None,
        Some(CompressionType::ZSTD),
        Some(CompressionType::LZ4_FRAME),
    ] {
        folder.write("f.arrow", file(&batch, options(compression)));
        assert_same_table(&read_table(&folder.path("f.arrow")), &table);
        folder.write("s.arrow", stream(&batch, options(compression)));
        assert_same_table(&read_table(&folder.path("s.arrow")), &table);
    }
    folder.write("s.arrow", stream(&batch, legacy.clone()));
    assert_same_table(&read_table(&folder.path("s.arrow")), &table);
    folder.write("f.arrow", file(&batch, legacy));
    assert_same_table(&read_table(&folder.path("f.arrow")), &table);
    // Long runs, which both codecs make small, and noise.
    let runs = Int64Array::from_iter_values((0..300_000).map(|i| i / 100_000));
    let noise = Int64Array::from_iter_values(
        (0..300_000_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).cast_signed()),
    );
    let columns: [(&str, ArrayRef); 2] = [("r", Arc::new(runs)), ("n", Arc::new(noise))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let table = (batch.schema(), vec![batch.clone()]);
    for codec in [CompressionType::ZSTD, CompressionType::LZ4_FRAME] {
        folder.write("r.arrow", file(&batch, options(Some(codec))));
        assert_same_table(&read_table(&folder.path("r.arrow")), &table);
    }
}

#[test]
fn no_changed_byte_ends_the_process_or_takes_much_memory() {
    const MEMORY_MAX: usize = 8 << 20;
    quiet_foreign_panics();
    let folder = Folder::default();
    let batch = layouts();
    let column = |i: usize| batch.project(&[i]).unwrap();
    let sources = [
        file(&column(2), options(None)),
        file(&column(1), options(Some(CompressionType::ZSTD))),
        stream(&column(1), options(Some(CompressionType::LZ4_FRAME))),
        stream(&column(5), options(None)),
        stream(&column(3), options(None)),
    ];
    let mut refused = 0;
    for (n, bytes) in sources.iter().enumerate() {
        folder.write("m.arrow", bytes);
        assert!(memory(&folder, "m.arrow").unwrap() < MEMORY_MAX);
        let mut changed = bytes.clone();
        for at in 0..bytes.len() {
            for value in [0x7f, bytes[at] ^ 0x01] {
                changed[at] = value;
                folder.write("m.arrow", &changed);
                match memory(&folder, "m.arrow") {
                    Ok(n_bytes) => assert!(
                        n_bytes < MEMORY_MAX,
                        "source {n}, byte {at} is {value}: {n_bytes} bytes"
                    ),
                    Err(error) => {
                        refused += 1;
                        let line = error.to_string();
                        assert!(line.contains("m.arrow: "), "{line}");
                    }
                }
            }
            changed[at] = bytes[at];
        }
        for end in (0..bytes.len()).step_by(7) {
            folder.write("m.arrow", &bytes[..end]);
            assert!(
                memory(&folder, "m.arrow").is_err() || end > bytes.len() - 9,
                "{n}: {end}"
            );
        }
    }
    assert!(refused > 1_000, "{refused}");
}

#[test]
fn lengths_that_no_bytes_stand_for_name_their_place() {
    let folder = Folder::default();
    let batch = layouts().project(&[0]).unwrap();
    let fails = |bytes: &[u8]| {
        folder.write("m.arrow", bytes);
        folder.run(&["import", "m.arrow", "o.tarsia"]).fails(1)
    };
    // The batch of a stream follows the schema.
    let bytes = stream(&batch, options(None));
    let schema_bytes = 8 + u32::from_le_bytes(bytes[4..8].try_into().unwrap()) as usize;
    let mut changed = bytes.clone();
    changed[schema_bytes + 6] = 0x7f;
    let line = fails(&changed);
    let what = format!("error: m.arrow: message at byte {schema_bytes}: states ");
    assert!(line.starts_with(&what), "{line}");
    let line = fails(&bytes[..schema_bytes + 6]);
    assert_eq!(
        line,
        format!("error: m.arrow: message at byte {schema_bytes}: cut off\n")
    );

    // A compressed buffer begins with its length; 24 bytes of numbers are stored as they are, a text is not.
    let batch = layouts().project(&[1]).unwrap();
    for codec in [CompressionType::ZSTD, CompressionType::LZ4_FRAME] {
        let mut bytes = stream(&batch, options(Some(codec)));
        let length = 340_u64.to_le_bytes();
        let at = bytes.windows(8).rposition(|bytes| bytes == length).unwrap();
        bytes[at + 5] = 0x7f;
        let line = fails(&bytes);
        assert!(
            line.contains(": buffer 2: states 139637976727892 bytes, its "),
            "{line}"
        );
    }
    assert_eq!(folder.names(), ["m.arrow"]);
}

#[test]
fn deep_columns_name_themselves() {
    let folder = Folder::default();
    let deep = |n: usize| {
        let data_type = (1..n).fold(DataType::Int32, |item, _| {
            DataType::List(Arc::new(Field::new_list_field(item, true)))
        });
        let schema = Arc::new(Schema::new(vec![Field::new(
            "deep",
            data_type.clone(),
            true,
        )]));
        RecordBatch::try_new(schema, vec![new_null_array(&data_type, 1)]).unwrap()
    };
    for n in [62, 64] {
        folder.write("fine.arrow", file(&deep(n), options(None)));
        folder.run(&["import", "fine.arrow", "t.tarsia"]).ok();
        folder.write("fine.arrow", stream(&deep(n), options(None)));
        folder.run(&["import", "fine.arrow", "t.tarsia"]).ok();
    }
    for bytes in [
        file(&deep(70), options(None)),
        stream(&deep(70), options(None)),
    ] {
        folder.write("deep.arrow", bytes);
        let line = folder.run(&["import", "deep.arrow", "o.tarsia"]).fails(1);
        let what = "column `deep`: 70 types inside each other, at most 64 are stored";
        assert_eq!(line, format!("error: deep.arrow: {what}\n"));
    }
    folder.write("deep.arrow", file(&deep(200), options(None)));
    let line = folder.run(&["import", "deep.arrow", "o.tarsia"]).fails(1);
    assert_eq!(
        line,
        "error: deep.arrow: footer: columns are nested deeper than 124\n"
    );
}

/// A schema with a value of metadata at the table, at a column and inside a column.
fn with_metadata(value: &str) -> SchemaRef {
    let metadata = || {
        [
            ("key".to_owned(), value.to_owned()),
            ("a".to_owned(), "b".to_owned()),
        ]
        .into()
    };
    let inner = Field::new("x", DataType::Int32, true).with_metadata(metadata());
    let outer = Field::new_struct("s", vec![inner], true).with_metadata(metadata());
    Arc::new(Schema::new_with_metadata(vec![outer], metadata()))
}

#[test]
fn metadata_that_are_no_text_are_kept_as_base64() {
    let folder = Folder::default();
    let (text, binary) = ("a value to find", [0xff_u8; 15]);
    let schema = with_metadata(text);
    let batch = RecordBatch::new_empty(schema.clone());
    let patched = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        while let Some(at) = bytes.windows(15).position(|bytes| bytes == text.as_bytes()) {
            bytes[at..at + 15].copy_from_slice(&binary);
        }
        bytes
    };
    folder.write("f.arrow", patched(&file(&batch, options(None))));
    folder.write("s.arrow", patched(&stream(&batch, options(None))));
    let arrow_schema = STANDARD.decode(parquet::arrow::encode_arrow_schema(&schema));
    let arrow_schema = STANDARD.encode(patched(&arrow_schema.unwrap()));
    let pair = KeyValue::new("ARROW:schema".to_owned(), arrow_schema);
    let properties = WriterProperties::builder().set_key_value_metadata(Some(vec![pair]));
    let options = ArrowWriterOptions::new()
        .with_skip_arrow_metadata(true)
        .with_properties(properties.build());
    let mut bytes = Vec::new();
    let plain = RecordBatch::new_empty(with_metadata("plain"));
    let writer = ArrowWriter::try_new_with_options(&mut bytes, plain.schema(), options).unwrap();
    writer.close().unwrap();
    folder.write("p.parquet", bytes);
    for name in ["f.arrow", "s.arrow", "p.parquet"] {
        folder.run(&["import", name, "t.tarsia"]).ok();
        folder.run(&["export", "t.tarsia", "t.arrow"]).ok();
        let (schema, _) = read_table(&folder.path("t.arrow"));
        let outer = schema.field(0);
        let DataType::Struct(inner) = outer.data_type() else {
            panic!("{outer}");
        };
        for metadata in [schema.metadata(), outer.metadata(), inner[0].metadata()] {
            assert_eq!(
                metadata.get("key.base64"),
                Some(&STANDARD.encode(binary)),
                "{name}"
            );
            assert_eq!(metadata.get("a").map(String::as_str), Some("b"));
            assert!(!metadata.contains_key("key"));
        }
    }
}

#[test]
fn a_name_that_is_no_text_is_an_error_with_its_place() {
    let folder = Folder::default();
    let schema = Schema::new(vec![Field::new("a name to find", DataType::Int32, true)]);
    let batch = RecordBatch::new_empty(Arc::new(schema));
    let mut bytes = file(&batch, options(None));
    let places = bytes.windows(14).enumerate();
    let places: Vec<usize> = places
        .filter(|(_, b)| b == b"a name to find")
        .map(|(i, _)| i)
        .collect();
    for at in places {
        bytes[at] = 0xff;
    }
    folder.write("n.arrow", bytes);
    let line = folder.run(&["import", "n.arrow", "o.tarsia"]).fails(1);
    assert!(
        line.starts_with("error: n.arrow: footer: the `name` at byte ")
            && line.ends_with(" is not UTF-8\n"),
        "{line}"
    );
}

#[test]
fn feather_version_1_and_pipes_say_what_to_do() {
    let folder = Folder::default();
    folder.write("old.feather", b"FEA1\0\0\0\0rows\0\0\0\0FEA1");
    let line = folder.run(&["import", "old.feather", "o.tarsia"]).fails(1);
    let what = "Feather version 1 is not read; write it as version 2, which is Arrow IPC";
    assert_eq!(line, format!("error: old.feather: {what}\n"));
    #[cfg(unix)]
    for name in ["pipe.csv", "pipe.jsonl", "pipe.arrow", "pipe.parquet"] {
        let made = std::process::Command::new("mkfifo")
            .arg(folder.path(name))
            .status();
        assert!(made.unwrap().success());
        let line = folder.run(&["import", name, "o.tarsia"]).fails(1);
        let what = "is a pipe or a device; a file is read more than once, so write it to a regular file first";
        assert_eq!(line, format!("error: {name}: {what}\n"));
    }
}

#[test]
fn all_columns_of_a_name_are_explained() {
    let fields = ["a", "b", "a"].map(|name| Field::new(name, DataType::Int64, false));
    let columns = [1, 2, 3].map(|value| Arc::new(Int64Array::from(vec![value; 4])) as ArrayRef);
    let schema = Arc::new(Schema::new(fields.to_vec()));
    let batch = RecordBatch::try_new(schema, columns.to_vec()).unwrap();
    let folder = Folder::default();
    folder.write("t.arrow", file(&batch, options(None)));
    let explained = |name| folder.run(&["explain", "t.arrow", "--json", "--column", name]);
    assert_eq!(explained("a").json().as_array().unwrap().len(), 2);
    assert_eq!(explained("b").json().as_array().unwrap().len(), 1);
    assert!(explained("c").fails(2).contains("no column `c`"));
}
