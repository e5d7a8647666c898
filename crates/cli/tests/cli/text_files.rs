//! CSV and JSON lines: numbers that do not fit, types that are asked for, ends of lines.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::DataType;

use crate::run::{Folder, read_table};

/// Writes the same values as CSV and as JSON lines, in a column `n`.
fn write_numbers(folder: &Folder, values: &[&str]) {
    let lines: String = values.iter().map(|value| format!("{value}\n")).collect();
    folder.write("n.csv", format!("n\n{lines}"));
    let lines = values.iter().map(|value| format!("{{\"n\":{value}}}\n"));
    folder.write("n.jsonl", lines.collect::<String>());
}

#[test]
fn numbers_that_no_type_holds_are_text_in_csv_and_json_lines() {
    let folder = Folder::default();
    for values in [
        &["123456789012345678901234567890", "1"][..],
        &["9007199254740993", "1.5"],
        &["-1", "18446744073709551615"],
        &["1e400", "0.10"],
    ] {
        write_numbers(&folder, values);
        for file in ["n.csv", "n.jsonl"] {
            let (schema, batches) = read_table(&folder.path(file));
            assert_eq!(schema.field(0).data_type(), &DataType::Utf8, "{values:?}");
            let texts: Vec<_> = batches[0].column(0).as_string::<i32>().iter().collect();
            let expected: Vec<_> = values.iter().copied().map(Some).collect();
            assert_eq!(texts, expected, "{file}");
        }
    }
    write_numbers(&folder, &["9007199254740992", "0.1", "1e23"]);
    for file in ["n.csv", "n.jsonl"] {
        let (schema, _) = read_table(&folder.path(file));
        assert_eq!(schema.field(0).data_type(), &DataType::Float64, "{file}");
    }
}

#[test]
fn a_later_number_that_does_not_fit_is_an_error_with_its_line_or_text_on_request() {
    let folder = Folder::default();
    for (usual, late, data_type) in [
        ("1.5", "9007199254740993", "Float64"),
        ("1.5", "1e400", "Float64"),
        ("1.5", "18446744073709551616", "Float64"),
        ("1", "18446744073709551615", "Int64"),
    ] {
        let mut values = vec![usual; 10_000];
        values.push(late);
        write_numbers(&folder, &values);
        for (file, line, value) in [
            ("n.csv", 10_002, format!("\"{late}\"")),
            ("n.jsonl", 10_001, late.to_owned()),
        ] {
            let error = folder.run(&["import", file, "o.tarsia"]).fails(1);
            let expected = format!(
                "error: {file}: line {line}: column `n`: {value} is no {data_type}, the type that the first 10000 \
                 rows have; with --types n=utf8 the column is text\n"
            );
            assert_eq!(error, expected);
            let asked = ["import", file, "o.tarsia", "--types", "n=utf8"];
            folder.run(&asked).ok();
            let row = ["take", "o.tarsia", "--rows", "10000", "--json"];
            let row = folder.run(&row).json();
            assert_eq!(row, serde_json::json!([{ "n": late }]));
            std::fs::remove_file(folder.path("o.tarsia")).unwrap();
        }
    }
}

#[test]
fn types_that_make_no_sense_exit_with_2() {
    let folder = Folder::default();
    folder.write("a.csv", "a,b\n1,2\n");
    folder.write("a.jsonl", "{\"a\":{\"b\":[1]}}\n");
    folder.run(&["import", "a.csv", "t.tarsia"]).ok();
    folder.run(&["export", "t.tarsia", "t.parquet"]).ok();
    folder.run(&["export", "t.tarsia", "t.arrow"]).ok();
    for (file, asked, what) in [
        ("a.csv", "c=int8", "a.csv: --types: no column `c`"),
        ("a.jsonl", "a.c=int8", "a.jsonl: --types: no column `a.c`"),
        ("a.jsonl", "b=int8", "a.jsonl: --types: no column `b`"),
        (
            "t.parquet",
            "a=int8",
            "t.parquet: --types is for CSV and JSON lines",
        ),
        (
            "t.arrow",
            "a=int8",
            "t.arrow: --types is for CSV and JSON lines",
        ),
    ] {
        let line = folder
            .run(&["import", file, "o.tarsia", "--types", asked])
            .fails(2);
        assert!(line.starts_with(&format!("error: {what}")), "{line}");
    }
    let twice = ["--types", "a=int8", "--types", "a=utf8"];
    let line = folder
        .run(&[&["import", "a.csv", "o.tarsia"][..], &twice].concat())
        .fails(2);
    assert_eq!(line, "error: --types: column `a` is there twice\n");
    for (asked, what) in [
        ("a=int7", "no type `int7`; there are bool, int8 to int64"),
        ("a", "a column, `=` and a type"),
    ] {
        let done = folder.run(&["import", "a.csv", "o.tarsia", "--types", asked]);
        assert_eq!(done.code, 2);
        assert!(done.stderr.contains(what), "{}", done.stderr);
    }
    assert!(!folder.names().contains(&"o.tarsia".to_owned()));
}

#[test]
fn tables_without_rows_go_through_json_lines_with_their_types() {
    let folder = Folder::default();
    folder.write("a.csv", "z,a\n");
    folder.run(&["import", "a.csv", "t.tarsia"]).ok();
    let done = folder.run(&["export", "t.tarsia", "t.jsonl"]);
    let what = "JSON lines without rows do not say the columns; an import needs --types for them";
    assert_eq!(
        (done.code, done.stderr),
        (0, format!("note: t.jsonl: {what}\n"))
    );
    let line = folder.run(&["import", "t.jsonl", "o.tarsia"]).fails(1);
    assert!(line.contains("--types COLUMN=TYPE names them"), "{line}");
    let types = ["--types", "z=utf8", "--types", "a=int8"];
    folder
        .run(&[&["import", "t.jsonl", "o.tarsia"][..], &types].concat())
        .ok();
    let schema = folder.run(&["schema", "o.tarsia", "--json"]).json();
    let names = [&schema["fields"][0]["name"], &schema["fields"][1]["name"]];
    assert_eq!(names, ["z", "a"]);
}

#[test]
fn every_type_that_can_be_asked_for_is_imported() {
    let folder = Folder::default();
    let types = [
        ("bool", "true", "Boolean"),
        ("int8", "-1", "Int8"),
        ("int16", "300", "Int16"),
        ("int32", "70000", "Int32"),
        ("int64", "-5000000000", "Int64"),
        ("uint8", "255", "UInt8"),
        ("uint16", "65535", "UInt16"),
        ("uint32", "4294967295", "UInt32"),
        ("uint64", "18446744073709551615", "UInt64"),
        ("float32", "0.1", "Float32"),
        ("float64", "0.1", "Float64"),
        (
            "decimal(30,2)",
            "123456789012345678901234567.89",
            "Decimal128(30, 2)",
        ),
        ("date32", "2024-02-29", "Date32"),
        ("timestamp-s", "2024-02-29T01:02:03", "Timestamp(s)"),
        ("timestamp-ms", "2024-02-29T01:02:03.456", "Timestamp(ms)"),
        (
            "timestamp-us-utc",
            "2024-02-29T01:02:03.456789Z",
            "Timestamp(µs, \"UTC\")",
        ),
        (
            "timestamp-ns",
            "2024-02-29T01:02:03.123456789",
            "Timestamp(ns)",
        ),
        ("utf8", "007", "Utf8"),
    ];
    let column = |i: usize| format!("c{i}");
    let names: Vec<String> = (0..types.len()).map(column).collect();
    let values = types.map(|(_, value, _)| value);
    folder.write(
        "t.csv",
        format!("{}\n{}\n", names.join(","), values.join(",")),
    );
    let json = names
        .iter()
        .zip(values)
        .map(|(n, v)| format!("\"{n}\":\"{v}\""));
    folder.write(
        "t.jsonl",
        format!("{{{}}}\n", json.collect::<Vec<_>>().join(",")),
    );
    for file in ["t.csv", "t.jsonl"] {
        let mut args = vec!["import".to_owned(), file.to_owned(), "t.tarsia".to_owned()];
        for (name, (data_type, ..)) in names.iter().zip(types) {
            args.extend(["--types".to_owned(), format!("{name}={data_type}")]);
        }
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        folder.run(&args).ok();
        let schema = folder.run(&["schema", "t.tarsia", "--json"]).json();
        for (i, (_, _, shown)) in types.iter().enumerate() {
            assert_eq!(schema["fields"][i]["type"], *shown);
        }
        folder.run(&["export", "t.tarsia", "back.csv"]).ok();
        assert_eq!(folder.read("back.csv"), folder.read("t.csv"));
    }
}

#[test]
fn lines_that_end_with_carriage_returns_are_lines() {
    let folder = Folder::default();
    folder.write("mac.csv", "a,b\r1,\"x\ry\"\r2,z\r");
    folder.run(&["import", "mac.csv", "t.tarsia"]).ok();
    let rows = folder.run(&["head", "t.tarsia", "--json"]).json();
    assert_eq!(
        rows,
        serde_json::json!([{"a": 1, "b": "x\ry"}, {"a": 2, "b": "z"}])
    );
    folder.write("mixed.csv", "a,b\n1,x\ry\n");
    let line = folder.run(&["import", "mixed.csv", "o.tarsia"]).fails(1);
    let what =
        "line 2: a carriage return outside of quotes, in a file whose lines end with line feeds";
    assert_eq!(line, format!("error: mixed.csv: {what}\n"));
}

#[test]
fn json_lines_nested_too_deep_name_their_line() {
    let folder = Folder::default();
    let nested = |n: usize| format!("{{\"a\":{}1{}}}\n", "[".repeat(n), "]".repeat(n));
    folder.write("fine.jsonl", nested(63));
    folder.run(&["import", "fine.jsonl", "t.tarsia"]).ok();
    for n in [64, 65, 200] {
        folder.write("deep.jsonl", format!("{{\"a\":null}}\n{}", nested(n)));
        let line = folder.run(&["import", "deep.jsonl", "o.tarsia"]).fails(1);
        let what = "line 2, byte 69: nested deeper than 63 arrays and objects";
        assert_eq!(line, format!("error: deep.jsonl: {what}\n"));
    }
}

/// JSON allows some control characters in strings that terminals obey; they are escaped.
#[test]
fn control_characters_are_escaped_in_json() {
    let folder = Folder::default();
    let text = "a\u{7f}b\u{85}c\u{9f}d\u{a0}";
    let column: ArrayRef = Arc::new(StringArray::from(vec![text]));
    let batch = RecordBatch::try_from_iter([("n\u{9b}", column)]).unwrap();
    folder.import(&batch.schema(), &[batch]);
    let row = folder.run(&["scan", "t.tarsia", "--json"]).ok();
    let expected = "{\"n\\u009b\":\"a\\u007fb\\u0085c\\u009fd\u{a0}\"}\n";
    assert_eq!(row, expected);
    let schema = folder.run(&["schema", "t.tarsia", "--json"]).ok();
    assert!(schema.contains(r#""name": "n\u009b""#), "{schema}");
    folder.run(&["export", "t.tarsia", "back.jsonl"]).ok();
    let (schema, batches) = read_table(&folder.path("back.jsonl"));
    assert_eq!(schema.field(0).name(), "n\u{9b}");
    assert_eq!(batches[0].column(0).as_string::<i32>().value(0), text);
}
