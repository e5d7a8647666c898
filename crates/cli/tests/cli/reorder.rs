//! `tarsia reorder`, and `--column-order` of the commands that write.

use crate::erasure;
use crate::run::Folder;

/// A table of four columns, `a` to `d`.
fn folder() -> Folder {
    let folder = Folder::default();
    let rows = (0..900).map(|row| format!("{row},{},x{row},{}\n", row * row % 77, row % 5));
    let table = std::iter::once("a,b,c,d\n".to_owned()).chain(rows);
    folder.write("t.csv", table.collect::<String>());
    folder.run(&["import", "t.csv", "t.tarsia"]).ok();
    folder
}

/// The columns in the order of their first pages.
fn order(folder: &Folder, file: &str) -> String {
    let inspected = folder.run(&["inspect", file, "--json"]).json();
    let columns = inspected["columns"].as_array().unwrap().iter();
    let mut columns: Vec<_> = columns
        .map(|column| {
            let place = column["place"].as_u64().unwrap();
            (place, column["name"].as_str().unwrap().to_owned())
        })
        .collect();
    columns.sort();
    columns.into_iter().map(|(_, name)| name).collect()
}

#[test]
fn columns_lie_in_the_order_asked_for_and_rows_are_the_same() {
    let folder = folder();
    assert_eq!(order(&folder, "t.tarsia"), "abcd");
    let rows = folder.run(&["scan", "t.tarsia", "--json"]).ok();
    folder.write(
        "reads.jsonl",
        "[\"b\",\"d\"]\n\n{\"columns\":[\"d\",\"a\"],\"count\":3}\r\n[]",
    );
    for (args, expected) in [
        (["--columns", "d,b"], "dbac"),
        (["--log", "reads.jsonl"], "dabc"),
    ] {
        let said = folder.run(&[&["reorder", "t.tarsia", "r.tarsia"], &args[..]].concat());
        assert!(said.ok().contains("pages"));
        assert_eq!(order(&folder, "r.tarsia"), expected);
        folder.run(&["verify", "r.tarsia"]).ok();
        assert_eq!(folder.run(&["scan", "r.tarsia", "--json"]).ok(), rows);
    }
    let args = ["import", "t.csv", "i.tarsia", "--column-order", "c,a"];
    folder.run(&args).ok();
    assert_eq!(order(&folder, "i.tarsia"), "cabd");
    folder
        .run(&["compact", "i.tarsia", "k.tarsia", "--column-order", "d"])
        .ok();
    assert_eq!(order(&folder, "k.tarsia"), "dabc");
}

#[test]
fn wrong_input_is_one_line_and_leaves_no_file() {
    let folder = folder();
    let log = |text: &str| folder.write("reads.jsonl", text);
    let refused = |args: &[&str], code: i32, what: &str| {
        let args = [&["reorder", "t.tarsia", "r.tarsia"], args].concat();
        let line = folder.run(&args).fails(code);
        assert!(line.contains(what), "{line}");
        assert!(!folder.path("r.tarsia").exists());
    };
    refused(&[], 2, "--columns");
    refused(
        &["--columns", "a", "--log", "reads.jsonl"],
        2,
        "cannot be used with",
    );
    refused(&["--columns", "a,e"], 2, "`e`");
    refused(&["--columns", "a,a"], 1, "twice");
    refused(&["--columns", ""], 2, "--columns");
    refused(&["--log", "reads.jsonl"], 1, "reads.jsonl");
    log("[\"a\"]\n[\"b\",\"e\"]\n");
    refused(
        &["--log", "reads.jsonl"],
        2,
        "reads.jsonl: line 2: no column is named `e`",
    );
    log("[\"a\"]\n\n{\"columns\":[\"a\"],\"n\":1}");
    refused(&["--log", "reads.jsonl"], 1, "reads.jsonl: line 3: ");
    log("a,b\n");
    refused(&["--log", "reads.jsonl"], 1, "line 1: is neither an array");
    log(&"[".repeat(200_000));
    refused(&["--log", "reads.jsonl"], 1, "line 1: ");
    log(&" ".repeat(17 << 20));
    refused(
        &["--log", "reads.jsonl"],
        1,
        "line 1: is longer than 16 MiB",
    );
    let same = ["reorder", "t.tarsia", "./t.tarsia", "--columns", "a"];
    let line = folder.run(&same).fails(2);
    assert!(line.contains("is the file that is read"), "{line}");
    for args in [
        &["import", "t.csv", "r.tarsia", "--column-order", "e"][..],
        &["compact", "t.tarsia", "r.tarsia", "--column-order", "e"],
    ] {
        assert!(folder.run(args).fails(2).contains("`e`"));
    }
}

#[test]
fn damage_is_named_and_leaves_no_file() {
    let folder = folder();
    let mut bytes = std::fs::read(folder.path("t.tarsia")).unwrap();
    bytes[192 + 40] ^= 1;
    folder.write("bad.tarsia", bytes);
    let args = ["reorder", "bad.tarsia", "r.tarsia", "--columns", "c"];
    let line = folder.run(&args).fails(1);
    assert!(
        line.contains("bad.tarsia") && line.contains("checksum"),
        "{line}"
    );
    assert!(line.contains("column `a`"), "{line}");
    assert!(!folder.path("r.tarsia").exists());
}

/// The input is not blamed for the disk of the output; a log may begin with a mark of its byte order.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_that_of_the_output() {
    let folder = folder();
    folder.write("reads.jsonl", "\u{feff}[\"a\"]\n[\"b\"]\n");
    let line = folder.run(&["reorder", "t.tarsia", "/dev/full", "--log", "reads.jsonl"]);
    let line = line.fails(1);
    assert!(line.starts_with("error: /dev/full: "), "{line}");
}

#[test]
fn deleted_rows_stay_so_and_more_are_erased() {
    let folder = erasure::folder(&["2"]);
    folder
        .run(&["erase", "t.tarsia", "--where", "user = 42"])
        .code_is(0);
    folder
        .run(&["reorder", "t.tarsia", "r.tarsia", "--columns", "score"])
        .ok();
    folder.run(&["verify", "r.tarsia"]).ok();
    assert_eq!(folder.run(&["scan", "r.tarsia", "--count"]).ok(), "4950\n");
    folder
        .run(&["erase", "r.tarsia", "--where", "user = 41"])
        .code_is(0);
    folder.run(&["verify", "r.tarsia"]).ok();
    assert_eq!(folder.run(&["scan", "r.tarsia", "--count"]).ok(), "4900\n");
}
