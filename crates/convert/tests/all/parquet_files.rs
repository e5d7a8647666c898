//! Files of Parquet that are two in one, or say what is no text.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, LargeStringArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parquet::arrow::arrow_writer::{ArrowWriter, ArrowWriterOptions};
use parquet::arrow::{ARROW_SCHEMA_META_KEY, encode_arrow_schema};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use tarsia_convert::source::{Options, Source};

use crate::run::{Folder, read_table, refused};

fn batch(values: Vec<i64>) -> RecordBatch {
    RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(values)) as ArrayRef)]).unwrap()
}

fn file_with(batch: &RecordBatch, properties: WriterProperties) -> Vec<u8> {
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

fn file(values: Vec<i64>) -> Vec<u8> {
    file_with(&batch(values), WriterProperties::builder().build())
}

/// Puts bytes between the pages of a file and its footer.
fn padded(file: &[u8], padding: &[u8]) -> Vec<u8> {
    let tail = file.len() - 8;
    let length = u32::from_le_bytes(file[tail..tail + 4].try_into().unwrap()) as usize;
    let (pages, footer) = file.split_at(tail - length);
    [pages, padding, footer].concat()
}

#[test]
fn two_files_back_to_back_are_refused_with_the_byte_of_the_second() {
    let folder = Folder::default();
    let (short, long) = (file(vec![1, 2, 3]), file((0..5_000).collect()));
    let none = file(Vec::new());
    let indexed = WriterProperties::builder().set_bloom_filter_enabled(true);
    let indexed = file_with(&batch(vec![7; 100]), indexed.build());
    let padding = padded(&short, &[0; 1_000]);
    for first in [&short, &long, &none, &indexed, &padding] {
        for second in [&short, &long, &none, &indexed, &padding] {
            folder.write("x.parquet", [&first[..], second].concat());
            let error = refused(&folder, "x.parquet").to_string();
            let expected = format!(
                "x.parquet: two Parquet files lie back to back, the second from byte {} on; a file holds one table, so \
                 take them apart",
                first.len()
            );
            assert!(error.ends_with(&expected), "{error}");
        }
    }
    // The last of three.
    folder.write("x.parquet", [&short[..], &long, &short].concat());
    let error = refused(&folder, "x.parquet").to_string();
    let expected = format!("from byte {} on", short.len() + long.len());
    assert!(error.contains(&expected), "{error}");
}

#[test]
fn one_file_is_read_whatever_lies_before_its_footer() {
    let folder = Folder::default();
    let sound = file(vec![1, 2, 3]);
    for padding in [
        &[0; 5_000][..],
        b"PAR1PAR1",
        &b"PAR1".repeat(1_000),
        // A footer of ten bytes that is none.
        &[&b"0123456789\x0a\0\0\0PAR1PAR1"[..], &[0; 5_000]].concat(),
    ] {
        folder.write("x.parquet", padded(&sound, padding));
        let (_, batches) = read_table(&folder.path("x.parquet"));
        assert_eq!(batches, [batch(vec![1, 2, 3])]);
    }
    // Values that hold files are values.
    let both = [&sound[..], &sound].concat();
    let values = arrow_array::BinaryArray::from(vec![&both[..], &sound]);
    let column: ArrayRef = Arc::new(values);
    let table = RecordBatch::try_from_iter([("files", column)]).unwrap();
    let plain = WriterProperties::builder().set_dictionary_enabled(false);
    folder.write("x.parquet", file_with(&table, plain.build()));
    let (_, batches) = read_table(&folder.path("x.parquet"));
    assert_eq!(batches, [table]);
}

/// The bytes with others for a text, which has as many.
fn patched(bytes: &[u8], text: &str, binary: &[u8]) -> Vec<u8> {
    let n = text.len();
    assert_eq!(n, binary.len());
    let mut bytes = bytes.to_vec();
    let mut is_there = false;
    while let Some(at) = bytes.windows(n).position(|bytes| bytes == text.as_bytes()) {
        bytes[at..at + n].copy_from_slice(binary);
        is_there = true;
    }
    assert!(is_there);
    bytes
}

const KEY: &str = "a key to find";
const VALUE: &str = "a value to find";
const BINARY_KEY: &[u8] = b"a key \xff\xfe find";
const BINARY_VALUE: &[u8] = b"\x80\x04\x95 and a \xff\0\xc3..";

/// A file as pyarrow writes it: the metadata of the schema are in the footer and in the Arrow schema, those of fields
/// in the Arrow schema.
fn binary_metadata(pairs: &[(&str, &str)]) -> Vec<u8> {
    let metadata = || {
        let pairs = pairs.iter();
        let owned = pairs.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        owned.collect::<std::collections::HashMap<_, _>>()
    };
    let field = Field::new("t", DataType::LargeUtf8, true).with_metadata(metadata());
    let schema = Arc::new(Schema::new_with_metadata(vec![field], metadata()));
    let column: ArrayRef = Arc::new(LargeStringArray::from(vec!["x", "y"]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![column]).unwrap();
    let replaced = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        for (text, binary) in [(KEY, BINARY_KEY), (VALUE, BINARY_VALUE)] {
            if pairs
                .iter()
                .any(|(key, value)| [*key, *value].contains(&text))
            {
                bytes = patched(&bytes, text, binary);
            }
        }
        bytes
    };
    let arrow_schema = STANDARD.decode(encode_arrow_schema(&schema)).unwrap();
    let arrow_schema = STANDARD.encode(replaced(&arrow_schema));
    let mut footer = vec![KeyValue::new(
        ARROW_SCHEMA_META_KEY.to_owned(),
        arrow_schema,
    )];
    footer.extend(
        metadata()
            .into_iter()
            .map(|(key, value)| KeyValue::new(key, value)),
    );
    let properties = WriterProperties::builder().set_key_value_metadata(Some(footer));
    let options = ArrowWriterOptions::new()
        .with_skip_arrow_metadata(true)
        .with_properties(properties.build());
    let plain = RecordBatch::try_from_iter([("t", batch.column(0).clone())]).unwrap();
    let mut writer =
        ArrowWriter::try_new_with_options(Vec::new(), plain.schema(), options).unwrap();
    writer.write(&plain).unwrap();
    replaced(&writer.into_inner().unwrap())
}

#[test]
fn metadata_of_footers_that_are_no_text_are_kept_as_base64() {
    let folder = Folder::default();
    let key = format!("base64:{}", STANDARD.encode(BINARY_KEY));
    let value = STANDARD.encode(BINARY_VALUE);
    for (pairs, key, value) in [
        (&[("k", VALUE), ("a", "b")][..], "k.base64", value.as_str()),
        (&[("a", "b"), (KEY, "v")], key.as_str(), "v"),
        (
            &[(KEY, VALUE), ("a", "b")],
            format!("{key}.base64").as_str(),
            value.as_str(),
        ),
    ] {
        folder.write("x.parquet", binary_metadata(pairs));
        let mut source = Source::open(&folder.path("x.parquet"), &Options::default()).unwrap();
        let schema = source.schema();
        let field = schema.field(0);
        // The type is one that the Arrow schema says.
        assert_eq!(field.data_type(), &DataType::LargeUtf8);
        for metadata in [schema.metadata(), field.metadata()] {
            assert_eq!(metadata.len(), 2, "{metadata:?}");
            assert_eq!(metadata.get(key).map(String::as_str), Some(value));
            assert_eq!(metadata.get("a").map(String::as_str), Some("b"));
        }
        assert_eq!(source.next().unwrap().unwrap().num_rows(), 2);
        assert_eq!(source.notes(), Vec::new());
    }
}

#[test]
fn a_footer_of_lists_inside_each_other_is_an_error() {
    let folder = Folder::default();
    let footer = vec![0x19; 4 << 20];
    let length = u32::try_from(footer.len()).unwrap().to_le_bytes();
    folder.write(
        "x.parquet",
        [b"PAR1", &footer[..], &length, b"PAR1"].concat(),
    );
    assert!(refused(&folder, "x.parquet").file().is_some());
}
