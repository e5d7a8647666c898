//! Files of text: what is none, files without rows, names with dots.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int64Type};
use arrow_array::{Array, ArrayRef, Int8Array, RecordBatch, StructArray};
use arrow_schema::{DataType, Field, Fields, Schema};
use tarsia_convert::source::{Options, Source, Types};
use tarsia_convert::target::Plan;
use tarsia_convert::{Error, ErrorKind, Format};

use crate::run::{Folder, read_table, refused, write_table};

fn asked(types: &[(&str, DataType)]) -> Options {
    let types = types.iter().map(|(name, data_type)| (*name, data_type));
    Options {
        types: Types::new(types).unwrap(),
        ..Options::default()
    }
}

#[track_caller]
fn check_refused(folder: &Folder, name: &str, bytes: &[u8], expected: &str) {
    folder.write(name, bytes);
    let error = refused(folder, name);
    let path = folder.path(name);
    assert_eq!(error.to_string(), format!("{}: {expected}", path.display()));
    assert_eq!(error.kind(), ErrorKind::Data);
}

#[test]
fn files_that_are_no_such_text_are_named() {
    let folder = Folder::default();
    for name in ["x.csv", "x.jsonl", "x.parquet", "x.arrow"] {
        let gzip = "the file is compressed with gzip: decompress it first";
        check_refused(&folder, name, b"\x1f\x8b\x08\x00\x00\x00\x00\x00", gzip);
        let zip = "the file is a ZIP archive: take the table out of it first";
        check_refused(&folder, name, b"PK\x03\x04\x14\x00\x06\x00", zip);
    }
    let utf16: Vec<u8> = "\u{feff}a,b\n1,2\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    for name in ["x.csv", "x.jsonl"] {
        let what = "the file is UTF-16 text: convert it to UTF-8 first";
        check_refused(&folder, name, &utf16, what);
    }
}

#[test]
fn json_that_is_no_json_lines_is_named() {
    let folder = Folder::default();
    let array = "the file begins with a JSON array; JSON lines are one object in each line, without an array around \
                 them";
    for (text, line) in [
        ("[{\"a\":1},{\"a\":2}]", 1),
        ("\n [\n  {\"a\": 1}\n]\n", 2),
        ("[\n", 1),
        ("[]\n", 1),
        ("\u{feff}[{\n", 1),
    ] {
        let expected = format!("line {line}: {array}");
        check_refused(&folder, "x.jsonl", text.as_bytes(), &expected);
    }
    let indented = "the file has a JSON value in several lines; JSON lines are one object in each line, so write each \
                    without line ends";
    for (text, line) in [
        ("{\n  \"a\": 1\n}\n", 1),
        ("\n{\"a\":\n1}", 2),
        ("{\"a\": [1,\n2]}\n", 1),
        ("{\"a\": {\"b\": 1,\n\n\n\"c\": 2}}\n", 1),
    ] {
        let expected = format!("line {line}: {indented}");
        check_refused(&folder, "x.jsonl", text.as_bytes(), &expected);
    }
    // A file that was cut, and lines behind one that is right.
    for (text, expected) in [
        ("{\"a\":", "line 1, byte 6: EOF while parsing a value"),
        ("{\"a\":\n \n", "line 1, byte 7: EOF while parsing a value"),
        (
            "{\"a\":1}\n{\"a\":\n1}",
            "line 2, byte 7: EOF while parsing a value",
        ),
        ("{\"a\":1}\n[1]\n", "line 2, byte 1: an array is no object"),
    ] {
        check_refused(&folder, "x.jsonl", text.as_bytes(), expected);
    }
}

#[test]
fn json_lines_without_rows_say_no_columns_and_types_do() {
    let folder = Folder::default();
    let fields = vec![
        Field::new("z", DataType::Int16, true),
        Field::new("a", DataType::Utf8, true),
    ];
    let batch = RecordBatch::new_empty(Arc::new(Schema::new(fields)));
    let plan = Plan::new(Format::JsonLines, batch.schema()).unwrap();
    let mut target = plan.write_to(Vec::new()).unwrap();
    target.write(&batch).unwrap();
    let notes = target.notes();
    assert_eq!(
        notes.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["JSON lines without rows do not say the columns; an import needs --types for them"]
    );
    let (bytes, _) = target.finish().unwrap();
    check_refused(
        &folder,
        "x.jsonl",
        &bytes,
        "no JSON object with a key in it, so there are no columns; --types COLUMN=TYPE names them",
    );
    let open = |types: &[(&str, DataType)]| -> Result<Source, Error> {
        Source::open(&folder.path("x.jsonl"), &asked(types))
    };
    let types = [
        ("z", DataType::Int16),
        ("a", DataType::Utf8),
        ("user.age", DataType::Int8),
        ("user.at.day", DataType::Date32),
        ("", DataType::Boolean),
    ];
    let mut source = open(&types).unwrap();
    let object = |fields: Vec<Field>| DataType::Struct(fields.into());
    let at = object(vec![Field::new("day", DataType::Date32, true)]);
    let user = object(vec![
        Field::new("age", DataType::Int8, true),
        Field::new("at", at, true),
    ]);
    let expected: Fields = vec![
        Field::new("z", DataType::Int16, true),
        Field::new("a", DataType::Utf8, true),
        Field::new("user", user, true),
        Field::new("", DataType::Boolean, true),
    ]
    .into();
    assert_eq!(source.schema().fields(), &expected);
    assert!(source.next_batch().unwrap().is_none());
    // A column cannot have values and objects.
    let both = [("u.v", DataType::Int8), ("u", DataType::Int8)];
    let error = open(&both).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Request);
    assert!(error.to_string().contains("`u` holds objects"), "{error}");
    let deep = ["a"; 64].join(".");
    let error = open(&[(deep.as_str(), DataType::Int8)]).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Request);
    assert!(error.to_string().contains("deeper than 63"), "{error}");
    assert!(open(&[(&deep[2..], DataType::Int8)]).is_ok());
    // Rows without keys are rows.
    folder.write("x.jsonl", "{}\n{}\n");
    let batch = open(&types[..1]).unwrap().next_batch().unwrap().unwrap();
    assert_eq!((batch.num_rows(), batch.column(0).null_count()), (2, 2));
    // Where a row says columns, there are no others.
    folder.write("x.jsonl", "{\"a\":1}\n");
    assert!(open(&types[..1]).is_err());
}

#[test]
fn names_with_dots_beside_fields_of_the_same_path() {
    let folder = Folder::default();
    let numbers = |value: i8| -> ArrayRef { Arc::new(Int8Array::from(vec![value])) };
    let inner = Arc::new(Field::new("b", DataType::Int8, true));
    let object: ArrayRef = Arc::new(StructArray::from(vec![(inner, numbers(2))]));
    let columns = [("a.b", numbers(1), true), ("a", object, true)];
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    write_table(
        &folder.path("t.jsonl"),
        &batch.schema(),
        std::slice::from_ref(&batch),
    );
    assert_eq!(folder.read("t.jsonl"), "{\"a.b\":1,\"a\":{\"b\":2}}\n");
    let (_, batches) = read_table(&folder.path("t.jsonl"));
    assert_eq!(batches[0].column(0).as_primitive::<Int64Type>().value(0), 1);
    let inside = batches[0].column(1).as_struct().column(0);
    assert_eq!(inside.as_primitive::<Int64Type>().value(0), 2);
    // One name counts for both.
    let options = asked(&[("a.b", DataType::Int8)]);
    let mut source = Source::open(&folder.path("t.jsonl"), &options).unwrap();
    let read = source.next().unwrap().unwrap();
    assert_eq!(read, batch);
    assert_eq!(read.column(0).as_primitive::<Int8Type>().value(0), 1);
    for name in ["t.parquet", "t.arrow"] {
        write_table(
            &folder.path(name),
            &batch.schema(),
            std::slice::from_ref(&batch),
        );
        let (_, batches) = read_table(&folder.path(name));
        assert_eq!(batches, std::slice::from_ref(&batch));
    }
    // In CSV a name is a name.
    folder.write("t.csv", "a.b,a\n1,x\n");
    let mut source = Source::open(&folder.path("t.csv"), &options).unwrap();
    let read = source.next().unwrap().unwrap();
    assert_eq!(read.column(0).as_primitive::<Int8Type>().value(0), 1);
}
