//! Metadata about dictionaries, and files that somebody has changed meanwhile.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int64Array, RecordBatch, StringArray, StructArray,
};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, Fields, Schema};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parquet::arrow::arrow_writer::ArrowWriter;
use parquet::file::properties::WriterProperties;
use tarsia_convert::source::{Options, Source};

use crate::run::Folder;

fn dictionary(codes: &[i8], values: &[&str]) -> ArrayRef {
    let values = Arc::new(StringArray::from(values.to_vec()));
    Arc::new(DictionaryArray::<Int8Type>::new(
        codes.to_vec().into(),
        values,
    ))
}

fn field(name: &str, array: &ArrayRef, ordered: bool) -> Field {
    Field::new(name, array.data_type().clone(), true).with_dict_is_ordered(ordered)
}

fn batch(fields: Vec<Field>, columns: Vec<ArrayRef>, metadata: &[(&str, &str)]) -> RecordBatch {
    let pairs = metadata
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let schema = Schema::new_with_metadata(fields, pairs.collect());
    RecordBatch::try_new(Arc::new(schema), columns).unwrap()
}

fn arrow(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

fn parquet(batch: &RecordBatch, created_by: &str) -> Vec<u8> {
    let properties = WriterProperties::builder().set_created_by(created_by.to_owned());
    let mut writer =
        ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties.build())).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

/// Metadata of the schema, metadata known at the end, and notes.
struct Read {
    metadata: HashMap<String, String>,
    late: HashMap<String, String>,
    notes: String,
}

fn read(name: &str, bytes: Vec<u8>) -> Read {
    let folder = Folder::default();
    folder.write(name, bytes);
    let mut source = Source::open(&folder.path(name), &Options::default()).unwrap();
    let schema = source.schema();
    while let Some(batch) = source.next_batch().unwrap() {
        assert_eq!(batch.schema(), schema);
    }
    let late = source.late_metadata().unwrap();
    Read {
        metadata: schema.metadata().clone(),
        late: late
            .into_iter()
            .map(|late| (late.key, late.value))
            .collect(),
        notes: source
            .notes()
            .iter()
            .map(|note| format!("{note}\n"))
            .collect(),
    }
}

/// The text for the ordered categories lo, hi, u1.
fn stated() -> String {
    let column = dictionary(&[1, 0], &["lo", "hi", "u1"]);
    let batch = batch(vec![field("c", &column, true)], vec![column], &[]);
    read("x.arrow", arrow(&batch)).late["dictionary:c"].clone()
}

#[test]
fn the_dictionaries_of_an_arrow_file_count_and_not_its_metadata() {
    let stated = stated();
    let own = dictionary(&[0, 1], &["hi", "lo", "new"]);
    let changed = batch(
        vec![field("c", &own, true)],
        vec![own],
        &[("dictionary:c", &stated), ("k", "v")],
    );
    let found = read("x.arrow", arrow(&changed));
    assert_eq!(
        found.metadata,
        HashMap::from([("k".to_owned(), "v".to_owned())])
    );
    assert_ne!(found.late["dictionary:c"], stated);
    assert!(
        found.notes.contains("`dictionary:c` is left out"),
        "{}",
        found.notes
    );
    // Of an unordered one nothing is said, and it does not become ordered.
    let own = dictionary(&[0, 1], &["x", "y"]);
    let changed = batch(
        vec![field("c", &own, false)],
        vec![own],
        &[("dictionary:c", &stated)],
    );
    let found = read("x.arrow", arrow(&changed));
    assert!(found.metadata.is_empty() && found.late.is_empty());
}

#[test]
fn metadata_of_a_parquet_export_count_unless_the_file_was_changed() {
    let stated = stated();
    let column = dictionary(&[1, 0], &["lo", "hi"]);
    let export = batch(
        vec![field("c", &column, false)],
        vec![column.clone()],
        &[("dictionary:c", &stated)],
    );
    let found = read("x.parquet", parquet(&export, "parquet-rs version 59.3.2"));
    assert_eq!(
        (found.metadata.len(), &found.late["dictionary:c"]),
        (0, &stated)
    );
    // Another program passed the metadata on.
    let found = read(
        "x.parquet",
        parquet(&export, "parquet-cpp-arrow version 26.0.1"),
    );
    assert!(found.metadata.is_empty() && found.late.is_empty());
    assert!(
        found.notes.contains("`dictionary:c` is left out"),
        "{}",
        found.notes
    );
    // Values that the metadata do not have, and a column that is not there any more.
    let other = dictionary(&[0, 1], &["lo", "new"]);
    let changed = batch(
        vec![field("c", &other, false)],
        vec![other],
        &[
            ("dictionary:c", &stated),
            ("dictionary:gone", &stated),
            ("dictionary:mine", "a text"),
        ],
    );
    let found = read("x.parquet", parquet(&changed, "parquet-rs version 59.3.2"));
    assert_eq!(
        found.metadata.keys().collect::<Vec<_>>(),
        ["dictionary:mine"]
    );
    assert!(found.late.is_empty());
    assert!(
        found.notes.contains("`dictionary:gone` is left out"),
        "{}",
        found.notes
    );
}

#[test]
fn fields_that_share_a_path_do_not_share_categories() {
    let (outer, inner) = (
        dictionary(&[0, 1], &["lo", "hi", "never"]),
        dictionary(&[0, 1], &["s", "t", "u"]),
    );
    let inner_field = field("y", &inner, true);
    let structs = StructArray::new(Fields::from(vec![inner_field]), vec![inner], None);
    let structs: ArrayRef = Arc::new(structs);
    let table = batch(
        vec![
            field("x.y", &outer, true),
            Field::new("x", structs.data_type().clone(), true),
        ],
        vec![outer.clone(), structs],
        &[],
    );
    let found = read("x.arrow", arrow(&table));
    assert!(found.late.is_empty());
    assert!(
        found.notes.contains("several fields have this path"),
        "{}",
        found.notes
    );
    let same = batch(
        vec![field("a", &outer, true), field("a", &outer, false)],
        vec![outer.clone(), outer],
        &[],
    );
    assert!(read("x.arrow", arrow(&same)).late.is_empty());
}

#[test]
fn a_stream_without_its_end_and_keys_that_are_there_twice_are_noted() {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let table = batch(
        vec![Field::new("i", DataType::Int64, true)],
        vec![numbers],
        &[],
    );
    let mut bytes = arrow(&table);
    assert_eq!(read("x.arrow", bytes.clone()).notes, "");
    // The mark of the end.
    bytes.truncate(bytes.len() - 8);
    let notes = read("x.arrow", bytes).notes;
    assert!(notes.contains("no mark of its end"), "{notes}");
}

#[test]
fn checksums_of_parquet_pages_are_compared() {
    // The numbers 7, 8, 9, as pyarrow writes them with checksums; the `parquet` crate writes none.
    let mut bytes = STANDARD
        .decode(
            "UEFSMRUAFTwVPBXt59+CCBwVBhUAFQYVBhwAAAACAAAABgEHAAAAAAAAAAgAAAAAAAAACQAAAAAAAAAVBBksNQAYBnNjaGVtYRUC\
             ABUEJQIYAWkAFgYZHBkcJgAcFQQZJQYAGRgBaRUAFgYWbhZuJghJHBUAFQAVAgA8KQYZJgAGAAAAFm4WBiYIFm4AKCBwYXJxdWV0\
             LWNwcC1hcnJvdyB2ZXJzaW9uIDI2LjAuMRkcHAAAAHoAAABQQVIx",
        )
        .unwrap();
    read("x.parquet", bytes.clone());
    let at = bytes
        .windows(8)
        .position(|window| window == 8i64.to_le_bytes())
        .unwrap();
    bytes[at] ^= 1;
    let folder = Folder::default();
    folder.write("x.parquet", bytes);
    let read = || {
        Source::open(&folder.path("x.parquet"), &Options::default())?.collect::<Result<Vec<_>, _>>()
    };
    let error = read().unwrap_err().to_string();
    assert!(error.to_lowercase().contains("crc"), "{error}");
}
