//! Lists of row numbers from files and from the standard input, and tables of many rows.

use std::io::Write;
use std::process::Stdio;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, ListArray, RecordBatch, StringArray};
use serde_json::json;

use crate::run::{Folder, small_table};

const MANY: i64 = 1_000_000;

/// A table of a number and a text that grows.
fn many(folder: &Folder, rows: i64) {
    let numbers = Int64Array::from_iter_values(0..rows);
    let texts = StringArray::from_iter_values((0..rows).map(|i| format!("text {i}")));
    let columns: [(&str, ArrayRef); 2] = [("n", Arc::new(numbers)), ("t", Arc::new(texts))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    folder.import(&batch.schema(), &[batch]);
}

/// Runs a take whose standard input is this text.
fn take_with_input(folder: &Folder, args: &[&str], input: String) -> std::process::Output {
    let mut command = folder.command(&[&["take", "t.tarsia"], args].concat());
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = pipes.stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A command that stops early closes its end.
    let writer = std::thread::spawn(move || {
        let _ = stdin.write_all(input.as_bytes());
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

#[test]
fn a_million_rows_are_taken_from_a_file_and_from_standard_input() {
    let folder = Folder::default();
    many(&folder, MANY);
    // Each row once, in no order, one number per line; then all on one line.
    let shuffled = |i: i64| i * 7_919 % MANY;
    let lines: String = (0..MANY).map(|i| format!("{}\n", shuffled(i))).collect();
    folder.write("rows.txt", &lines);
    let args = ["--columns", "n", "--json"];
    let from_file = [&["take", "t.tarsia", "--rows", "@rows.txt"], &args[..]].concat();
    let text = folder.run(&from_file).ok();
    let expected: Vec<String> = (0..MANY)
        .map(|i| format!("{{\"n\":{}}}", shuffled(i)))
        .collect();
    assert!(text == format!("[\n{}\n]\n", expected.join(",\n")));
    let input = lines.trim_end().replace('\n', ",");
    let output = take_with_input(&folder, &[&["--rows", "-"], &args[..]].concat(), input);
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout == text.as_bytes());
}

#[test]
fn files_of_rows_may_be_empty_and_errors_name_their_line() {
    let folder = Folder::default();
    let (schema, batches) = small_table();
    folder.import(&schema, &batches);
    let take = |rows: &str| {
        folder.write("rows.txt", rows);
        folder.run(&[
            "take",
            "t.tarsia",
            "--rows",
            "@rows.txt",
            "--columns",
            "id",
            "--json",
        ])
    };
    assert_eq!(
        take("4, 0\n1 1\n").json(),
        json!([{"id": 5}, {"id": 1}, {"id": 2}, {"id": 2}])
    );
    assert_eq!(take("\n").json(), json!([]));
    let line = take("1\n2\n\u{1b}[31m\n").fails(1);
    assert!(line.starts_with("error: rows.txt: line 3: `"), "{line}");
    let line = take("1\n2,5\n").fails(2);
    assert_eq!(
        line,
        "error: rows.txt: line 2: t.tarsia: row 5 is not one of its 5 rows\n"
    );
    let line = folder
        .run(&["take", "t.tarsia", "--rows", "@none.txt"])
        .fails(1);
    assert!(line.starts_with("error: none.txt: "), "{line}");
    let output = take_with_input(&folder, &["--rows", "-"], "0\n9\n".into());
    assert_eq!(output.status.code(), Some(2));
    assert!(
        output
            .stderr
            .starts_with(b"error: standard input: line 2: t.tarsia: row 9 ")
    );
}

#[test]
fn a_table_of_many_rows_is_one_table() {
    let folder = Folder::default();
    many(&folder, 120_000);
    let table = folder.run(&["head", "t.tarsia", "-n", "120000"]).ok();
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("|     n | t          |"));
    let rule = lines.next().unwrap();
    assert!(rule.starts_with("|--") && rule.ends_with("-|"), "{rule}");
    let mut n_rows = 0;
    let mut width = rule.len();
    for (i, line) in lines.enumerate() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let (n, t) = (i.to_string(), format!("text {i}"));
        assert_eq!(cells, ["", n.as_str(), t.as_str(), ""]);
        // No line is narrower than those before.
        assert!(line.len() >= width, "{line}");
        width = line.len();
        n_rows += 1;
    }
    assert_eq!(n_rows, 120_000);
}

#[test]
fn elements_are_taken_with_one_request() {
    let folder = Folder::default();
    let values = ListArray::from_iter_primitive::<arrow_array::types::Int32Type, _, _>([
        Some(vec![Some(1), None]),
        None,
    ]);
    let batch = RecordBatch::try_from_iter([("l", Arc::new(values) as ArrayRef)]).unwrap();
    folder.import(&batch.schema(), std::slice::from_ref(&batch));
    let take = [
        "take",
        "t.tarsia",
        "--rows",
        "1,0",
        "--json",
        "--stats",
        "--element",
        "l[0]",
    ];
    let taken = folder.run(&take);
    let stats: serde_json::Value = serde_json::from_str(&taken.stderr).unwrap();
    assert_eq!(stats["requests"], 1);
    assert!(stats["bytes"].as_u64().unwrap() > 0);
    let rows: serde_json::Value = serde_json::from_str(&taken.stdout).unwrap();
    assert_eq!(rows, serde_json::json!([{"l[0]": null}, {"l[0]": 1}]));
}
