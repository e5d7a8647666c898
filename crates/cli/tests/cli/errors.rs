//! Errors: exit codes 1 and 2, one line each, and nothing left behind.

use std::io::Read;
use std::process::Stdio;
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use tarsia_testkit::effort::some_or_all;
use tarsia_testkit::seal::Seals;

use crate::run::{Folder, small_table, write_table};

const COMMANDS: [&str; 9] = [
    "import",
    "export",
    "schema",
    "head",
    "take",
    "scan",
    "inspect",
    "verify",
    "encodings",
];

/// The commands that read a Tarsia file of this name.
fn readers(file: &str) -> Vec<Vec<&str>> {
    vec![
        vec!["export", file, "out.csv"],
        vec!["schema", file],
        vec!["head", file],
        vec!["take", file, "--rows", "0"],
        vec!["scan", file],
        vec!["scan", file, "--count"],
        vec!["scan", file, "--json"],
        vec!["inspect", file],
        vec!["inspect", file, "--column", "id"],
        vec!["verify", file],
        vec!["verify", file, "--column", "id", "--page", "0"],
    ]
}

#[test]
fn help_of_every_command_has_an_example() {
    let folder = Folder::default();
    let all = folder.run(&["--help"]).ok();
    for command in COMMANDS {
        assert!(all.contains(command));
        for flag in ["--help", "-h"] {
            let help = folder.run(&[command, flag]).ok();
            assert!(
                help.contains(&format!("Example:\n  tarsia {command} ")),
                "{help}"
            );
        }
    }
    for code in ["0  done", "1  a file", "2  wrong usage"] {
        assert!(all.contains(code), "{all}");
    }
    assert!(folder.run(&["--version"]).ok().starts_with("tarsia "));
}

#[test]
fn wrong_usage_exits_with_2() {
    let folder = Folder::default();
    folder.write("a.csv", "a\n1\n");
    for args in [
        &[][..],
        &["unknown"],
        &["import", "a.csv"],
        &["import", "a.csv", "a.tarsia", "--preset", "best"],
        &["import", "a.csv", "a.tarsia", "--kernels", "some"],
        &["head", "t.tarsia", "-n", "-1"],
        &["scan", "t.tarsia", "--rows", "20..10"],
        &["scan", "t.tarsia", "--rows", "10..=20"],
        &["scan", "t.tarsia", "--rows", "ten"],
        &["scan", "t.tarsia", "--columns", ""],
        &["scan", "t.tarsia", "--count", "--json"],
        &["scan", "t.tarsia", "--count", "--force-kernels"],
        &["take", "t.tarsia"],
        &["take", "t.tarsia", "--rows", "1,,2"],
        &["take", "t.tarsia", "--rows", "1..2"],
        &["verify", "t.tarsia", "--page", "0"],
    ] {
        let done = folder.run(args);
        assert_eq!(
            (done.code, done.stdout.as_str()),
            (2, ""),
            "{args:?}: {done:?}"
        );
        assert!(!done.stderr.is_empty(), "{args:?}");
        // Without a command there is help.
        if !args.is_empty() {
            let line = done.fails(2);
            assert!(line.ends_with("; try '--help'\n"), "{line}");
        }
    }
    for (args, expected) in [
        (
            &["import", "a.csv"][..],
            "error: the following required arguments were not provided: <IN>...; try '--help'\n",
        ),
        (
            &["import", "a.csv", "a.tarsia", "--preset", "best\nUsage"],
            "error: invalid value 'best Usage' for '--preset <PRESET>' [possible values: fast, balanced, compact]; try \
             '--help'\n",
        ),
    ] {
        assert_eq!(folder.run(args).fails(2), expected);
    }
    for args in [
        &["import", "a.txt", "a.tarsia"][..],
        &["import", "a", "a.tarsia"],
        &["import", "a.csv", "a.parquet"],
        &["export", "a.tarsia", "a.xlsx"],
    ] {
        folder.run(args).fails(2);
    }
    assert_eq!(folder.names(), ["a.csv"]);
}

#[test]
fn missing_and_foreign_files_exit_with_1() {
    let folder = Folder::default();
    folder.write(
        "text.tarsia",
        "this is no Tarsia file, although it has more bytes than a header of one would have, "
            .repeat(9),
    );
    folder.write("empty.tarsia", "");
    std::fs::create_dir(folder.path("dir.tarsia")).unwrap();
    for file in [
        "missing.tarsia",
        "text.tarsia",
        "empty.tarsia",
        "dir.tarsia",
    ] {
        for args in readers(file) {
            let line = folder.run(&args).fails(1);
            assert!(
                line.starts_with(&format!("error: {file}: ")),
                "{args:?}: {line}"
            );
            assert_eq!(line.matches(file).count(), 1, "{line}");
        }
    }
    std::fs::create_dir(folder.path("dir.csv")).unwrap();
    folder.write("text.parquet", "text");
    folder.write("text.arrow", "text");
    folder.write("empty.csv", "");
    folder.write("empty.jsonl", "");
    for file in [
        "missing.csv",
        "dir.csv",
        "text.parquet",
        "text.arrow",
        "empty.csv",
        "empty.jsonl",
    ] {
        let line = folder.run(&["import", file, "out.tarsia"]).fails(1);
        assert!(line.starts_with(&format!("error: {file}: ")), "{line}");
    }
    assert!(
        !folder.names().iter().any(|name| name.contains("out")),
        "{:?}",
        folder.names()
    );
}

#[test]
fn a_folder_that_is_not_there_exits_with_1() {
    let folder = Folder::default();
    let (schema, batches) = small_table();
    folder.import(&schema, &batches);
    folder.write("a.csv", "a\n1\n");
    let line = folder
        .run(&["import", "a.csv", "nowhere/a.tarsia"])
        .fails(1);
    assert!(line.contains("nowhere"), "{line}");
    let line = folder
        .run(&["export", "t.tarsia", "nowhere/a.parquet"])
        .fails(1);
    assert!(line.contains("nowhere"), "{line}");
}

#[test]
fn columns_and_rows_that_are_not_there_exit_with_2() {
    let folder = Folder::default();
    let (schema, batches) = small_table();
    folder.import(&schema, &batches);
    let file = "t.tarsia";
    for args in [
        &["export", file, "out.csv", "--columns", "id,nothing"][..],
        &["head", file, "--columns", "nothing"],
        &["take", file, "--rows", "0", "--columns", "nothing"],
        &["scan", file, "--columns", "nothing"],
        &["scan", file, "--columns", "nothing", "--count"],
        &["inspect", file, "--column", "nothing"],
        &["verify", file, "--column", "nothing", "--json"],
        &["verify", file, "--column", "nothing", "--page", "0"],
    ] {
        let done = folder.run(args);
        assert_eq!(done.stdout, "", "{args:?}");
        let line = done.fails(2);
        assert!(line.contains(file) && line.contains("nothing"), "{line}");
    }
    for args in [
        &["export", file, "out.csv", "--rows", "0..6"][..],
        &["export", file, "out.csv", "--rows", "6.."],
        &["take", file, "--rows", "0,5"],
        &["scan", file, "--rows", "0..6"],
        &["scan", file, "--rows", "6..6"],
        &["scan", file, "--rows", "0..6", "--count"],
        &["verify", file, "--column", "id", "--page", "1"],
        &[
            "verify",
            file,
            "--column",
            "id",
            "--page",
            "18446744073709551615",
        ],
    ] {
        let done = folder.run(args);
        assert_eq!(done.stdout, "", "{args:?}");
        let line = done.fails(2);
        assert!(line.starts_with("error: t.tarsia: "), "{line}");
    }
    assert_eq!(folder.names(), [file]);
    folder.write("s.csv", "id\n1\n");
    for option in [
        ["--erasure", "nothing=2"],
        ["--encode", "nothing=plain"],
        ["--round", "nothing=bf16"],
        ["--layout", "nothing=full-zip"],
        ["--types", "nothing=int64"],
    ] {
        let args = ["import", "s.csv", "new.tarsia", option[0], option[1]];
        let line = folder.run(&args).fails(2);
        assert!(line.contains("column `nothing`"), "{line}");
        assert_eq!(folder.names(), ["s.csv", file]);
    }
}

#[test]
fn elements_that_are_not_there_exit_with_2() {
    let folder = Folder::default();
    folder.write("a.jsonl", "{\"n\":1,\"ids\":[1,2],\"user\":{\"id\":7}}\n");
    folder.run(&["import", "a.jsonl", "a.tarsia"]).ok();
    let take = |path| folder.run(&["take", "a.tarsia", "--rows", "0", "--element", path]);
    for (path, what) in [
        ("nobody[0]", "no column is named `nobody`"),
        ("n[0]", "Int64 is no list"),
        ("n", "the column is not nested"),
        ("ids.x", "Int64 has no field `x`"),
        ("ids[0].x", "Int64 has no field `x`"),
        ("ids[0][1]", "Int64 is no list"),
        ("user.nobody", "no field `nobody`"),
        ("user[0]", "is no list"),
    ] {
        let done = take(path);
        assert_eq!(done.stdout, "");
        let line = done.fails(2);
        assert!(
            line.starts_with("error: a.tarsia: ") && line.contains(what),
            "{line}"
        );
    }
    for (path, what) in [
        ("ids[", "`[` without `]`"),
        ("ids[0..2][1]", "`[` after a range"),
    ] {
        let done = take(path);
        assert_eq!((done.code, done.stdout.as_str()), (2, ""));
        assert!(done.stderr.contains(what), "{}", done.stderr);
    }
}

#[test]
fn names_asked_for_twice_have_no_json() {
    let folder = Folder::default();
    let (schema, batches) = small_table();
    folder.import(&schema, &batches);
    for args in [
        &["scan", "t.tarsia", "--columns", "id,id", "--json"][..],
        &["head", "t.tarsia", "--columns", "id,id", "--json"],
        &[
            "take",
            "t.tarsia",
            "--rows",
            "0",
            "--columns",
            "id,id",
            "--json",
        ],
    ] {
        let line = folder.run(args).fails(2);
        assert!(line.contains("column `id`"), "{line}");
    }
    let table = folder
        .run(&["take", "t.tarsia", "--rows", "0", "--columns", "id,id"])
        .ok();
    assert!(table.starts_with("| id | id |"), "{table}");
}

#[test]
fn truncated_files_exit_with_1() {
    let folder = Folder::default();
    let (schema, batches) = small_table();
    folder.import(&schema, &batches);
    let bytes = std::fs::read(folder.path("t.tarsia")).unwrap();
    for n in [
        1,
        63,
        64,
        191,
        192,
        bytes.len() / 2,
        bytes.len() - 64,
        bytes.len() - 1,
    ] {
        folder.write("cut.tarsia", &bytes[..n]);
        for args in readers("cut.tarsia") {
            let line = folder.run(&args).fails(1);
            assert!(line.starts_with("error: cut.tarsia: "), "{line}");
        }
    }
    assert!(
        !folder.names().iter().any(|name| name.contains("out")),
        "{:?}",
        folder.names()
    );
}

#[test]
fn a_changed_byte_in_a_page_is_found_with_its_place() {
    let folder = Folder::default();
    // Mixed twice: the differences of multiples are all the same.
    let noise = |i: u64| {
        let mixed = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) as i64
    };
    let values = Int64Array::from_iter_values((0..100_000).map(noise));
    let batch = RecordBatch::try_from_iter([("noise", Arc::new(values) as ArrayRef)]).unwrap();
    folder.import(&batch.schema(), &[batch]);
    let mut bytes = std::fs::read(folder.path("t.tarsia")).unwrap();
    // Incompressible values fill the file between header and metadata, so its middle is one of them.
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    folder.write("bad.tarsia", &bytes);
    for args in [
        &["verify", "bad.tarsia"][..],
        &["verify", "bad.tarsia", "--column", "noise"],
        &["scan", "bad.tarsia"],
        &["scan", "bad.tarsia", "--json"],
        &["export", "bad.tarsia", "out.parquet"],
    ] {
        let done = folder.run(args);
        assert_eq!(done.stdout, "");
        let line = done.fails(1);
        assert!(
            line.starts_with("error: bad.tarsia: column `noise`, page 0, block "),
            "{line}"
        );
    }
    let done = folder.run(&["verify", "bad.tarsia", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(document["ok"], false);
    assert_eq!(document["column"], "noise");
    assert_eq!(document["page"], 0);
    assert!(document["block"].is_u64(), "{document}");
    done.fails(1);
    assert_eq!(folder.names(), ["bad.tarsia", "t.tarsia"]);
}

#[test]
fn metadata_that_are_no_text_are_named() {
    let folder = Folder::default();
    let (schema, batches) = small_table();
    folder.import(&schema, &batches);
    let good = std::fs::read(folder.path("t.tarsia")).unwrap();
    for (text, what) in [
        (
            "a test",
            "the value of the key `made by` in the metadata of the schema",
        ),
        (
            "none",
            "the value of the key `unit` in the metadata of field `id`",
        ),
    ] {
        // Behind a length of four bytes.
        let stored = [&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat();
        let at = good
            .windows(stored.len())
            .position(|it| it == stored)
            .unwrap();
        let mut bad = good.clone();
        bad[at + 4] = 0xff;
        Seals::of(&good).reseal(&mut bad);
        folder.write("bad.tarsia", &bad);
        for args in [
            &["schema", "bad.tarsia"][..],
            &["verify", "bad.tarsia"],
            &["scan", "bad.tarsia", "--columns", "id"],
        ] {
            let line = folder.run(args).fails(1);
            assert!(line.starts_with("error: bad.tarsia: "), "{line}");
            assert!(
                line.contains(&format!("{what} is no UTF-8, at byte {}", at + 4)),
                "{line}"
            );
        }
    }
}

#[test]
fn conflicts_in_text_files_name_their_line() {
    let folder = Folder::default();
    let mut csv = String::from("n,t\n");
    let mut json = String::new();
    for i in 0..20_000 {
        csv.push_str(&format!("{i},x\n"));
        json.push_str(&format!("{{\"n\":{i}}}\n"));
    }
    folder.write("late.csv", format!("{csv}oops,x\n"));
    folder.write("late.jsonl", format!("{json}{{\"n\":1.5}}\n"));
    folder.write("short.csv", format!("{csv}1\n"));
    folder.write("open.csv", "n,t\n1,\"x\n2,y\n");
    folder.write("bad.jsonl", "{\"n\":1}\n{\"n\":}\n");
    folder.write("nested.jsonl", "{\"n\":1}\n{\"n\":[1]}\n");
    for (file, what) in [
        ("late.csv", "line 20002: column `n`: \"oops\" is no Int64"),
        ("late.jsonl", "line 20001: column `n`: 1.5 is no Int64"),
        ("short.csv", "line 20002: 1 fields, but the header has 2"),
        ("open.csv", "line 2: a quoted field is never closed"),
        ("bad.jsonl", "line 2, byte 6: expected value"),
        ("nested.jsonl", "line 2: column `n`: an array"),
    ] {
        let line = folder.run(&["import", file, "out.tarsia"]).fails(1);
        assert!(
            line.starts_with(&format!("error: {file}: {what}")),
            "{line}"
        );
    }
    assert!(
        !folder.names().iter().any(|name| name.contains("out")),
        "{:?}",
        folder.names()
    );
}

#[test]
fn types_that_cannot_be_held_name_their_column() {
    let folder = Folder::default();
    let (schema, batches) = small_table();
    folder.import(&schema, &batches);
    let line = folder.run(&["export", "t.tarsia", "out.csv"]).fails(1);
    assert!(
        line.contains("out.csv: column `raw`: type Binary cannot be written as CSV"),
        "{line}"
    );
    folder
        .run(&["export", "t.tarsia", "fine.csv", "--columns", "id,name"])
        .ok();

    let mut lists = ListBuilder::new(Int32Builder::new());
    lists.append_value([Some(1)]);
    let batch =
        RecordBatch::try_from_iter([("tokens", Arc::new(lists.finish()) as ArrayRef)]).unwrap();
    write_table(&folder.path("lists.parquet"), &batch.schema(), &[batch]);
    folder.run(&["import", "lists.parquet", "l.tarsia"]).ok();
    let line = folder.run(&["export", "l.tarsia", "out.csv"]).fails(1);
    assert!(
        line.contains("out.csv: column `tokens`: type List(Int32) cannot be written as CSV"),
        "{line}"
    );
    let names = ["fine.csv", "l.tarsia", "lists.parquet", "t.tarsia"];
    assert_eq!(folder.names(), names);
}

#[test]
fn a_failed_import_keeps_the_old_file() {
    let folder = Folder::default();
    let (schema, batches) = small_table();
    folder.import(&schema, &batches);
    let before = std::fs::read(folder.path("t.tarsia")).unwrap();
    folder.write("bad.csv", "a\n".to_owned() + &"1\n".repeat(10_001) + "x\n");
    folder.run(&["import", "bad.csv", "t.tarsia"]).fails(1);
    assert_eq!(std::fs::read(folder.path("t.tarsia")).unwrap(), before);
    assert_eq!(folder.names(), ["bad.csv", "t.tarsia"]);
    folder.write("good.csv", "a\n1\n");
    folder.run(&["import", "good.csv", "t.tarsia"]).ok();
    assert_eq!(folder.run(&["scan", "t.tarsia", "--count"]).ok(), "1\n");
}

#[test]
fn a_closed_pipe_is_no_error() {
    let folder = Folder::default();
    let texts = StringArray::from_iter_values(
        (0..50_000).map(|i| format!("row number {i} of a table that no pipe holds")),
    );
    let batch = RecordBatch::try_from_iter([("t", Arc::new(texts) as ArrayRef)]).unwrap();
    folder.import(&batch.schema(), &[batch]);
    for args in [
        &["scan", "t.tarsia", "--json"][..],
        &["head", "t.tarsia", "-n", "50000", "--json"],
        &["head", "t.tarsia", "-n", "50000"],
    ] {
        let mut child = folder
            .command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = [0; 10];
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut first).unwrap();
        drop(stdout);
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            (output.status.code(), output.stderr.as_slice()),
            (Some(0), &b""[..]),
            "{args:?}"
        );
    }
    // Closed before the first byte.
    for args in [
        &["schema", "t.tarsia"][..],
        &["inspect", "t.tarsia", "--json"],
        &["verify", "t.tarsia"],
        &["--help"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = folder
            .command(args)
            .stdout(writer)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
            .wait_with_output()
            .unwrap();
        assert_eq!(
            (output.status.code(), output.stderr.as_slice()),
            (Some(0), &b""[..]),
            "{args:?}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let folder = Folder::default();
    let (schema, batches) = small_table();
    folder.import(&schema, &batches);
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = folder
        .command(&["schema", "t.tarsia"])
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        output.stderr.starts_with(b"error: standard output: "),
        "{:?}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn verify_finds_a_changed_byte_anywhere() {
    let folder = Folder::default();
    let (schema, batches) = small_table();
    folder.import(&schema, &batches);
    let bytes = std::fs::read(folder.path("t.tarsia")).unwrap();
    // The second state slot, bytes 128 to 192, was never written; a torn write there is allowed.
    for n in (0..bytes.len())
        .step_by(some_or_all(149, 29))
        .filter(|n| !(128..192).contains(n))
    {
        let mut changed = bytes.clone();
        changed[n] ^= 0x10;
        folder.write("bad.tarsia", &changed);
        for args in [
            &["verify", "bad.tarsia"][..],
            &["verify", "bad.tarsia", "--digests"],
        ] {
            let line = folder.run(args).fails(1);
            assert!(line.starts_with("error: bad.tarsia: "), "byte {n}: {line}");
        }
    }
}
