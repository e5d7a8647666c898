//! `tarsia table`: what commands say with `--json`, all rows, names in quotes, types, names that are refused.

use serde_json::{Value, json};

use crate::run::Folder;

/// A folder with a table `t` of the columns `n`, `a=b` and `c,d`, and a file of its four rows.
fn folder() -> Folder {
    let folder = Folder::default();
    folder.write(
        "rows.csv",
        "n,a=b,\"c,d\"\n1,10,x\n2,20,y\n3,30,x\n4,40,y\n",
    );
    folder
        .run(&["table", "create", "t", "--like", "rows.csv"])
        .ok();
    folder
}

fn json_of(folder: &Folder, args: &[&str]) -> Value {
    folder.run(&[&["table"], args, &["--json"]].concat()).json()
}

fn keys(document: &Value) -> Vec<&str> {
    let fields = document.as_object().unwrap().keys();
    fields.map(String::as_str).collect()
}

fn count(folder: &Folder, state: &str, condition: &str) -> String {
    let args = ["table", "scan", "t", "--at", state, "--count"];
    let condition = match condition {
        "" => vec![],
        _ => vec!["--where", condition],
    };
    let found = folder.run(&[&args[..], &condition].concat()).ok();
    found.trim().to_owned()
}

#[test]
fn each_command_that_changes_something_says_so_in_json() {
    let folder = folder();
    let made = json_of(&folder, &["create", "u", "--like", "rows.csv"]);
    assert_eq!(
        keys(&made),
        ["branch", "columns", "commit", "partitioned_by", "table"]
    );
    assert_eq!(
        (&made["branch"], &made["columns"]),
        (&json!("main"), &json!(3))
    );

    let append = [
        "append",
        "t",
        "rows.csv",
        "rows.csv",
        "--idempotent",
        "job=1",
    ];
    let appended = json_of(&folder, &append);
    assert_eq!(
        keys(&appended),
        ["branch", "bytes", "commit", "files", "rows", "was_there"]
    );
    assert_eq!(
        (&appended["rows"], &appended["files"]),
        (&json!(8), &json!(2))
    );
    assert!(appended["bytes"].as_u64().unwrap() > 100);
    let again = json_of(&folder, &append);
    assert_eq!(
        (&again["rows"], &again["was_there"]),
        (&json!(0), &json!(true))
    );
    assert_eq!(again["commit"], appended["commit"]);

    let branch = json_of(&folder, &["branch", "t", "exp"]);
    assert_eq!(
        branch,
        json!({"branch": "exp", "is": "made", "commit": appended["commit"]})
    );
    let tag = json_of(&folder, &["tag", "t", "v1"]);
    assert_eq!(
        tag,
        json!({"tag": "v1", "of": "main", "commit": appended["commit"]})
    );

    let delete = ["delete", "t", "--where", "n = 1", "--branch", "exp"];
    let dry = json_of(&folder, &[&delete[..], &["--dry-run"]].concat());
    assert_eq!(
        dry,
        json!({"branch": "exp", "commit": null, "rows": 2, "dry_run": true})
    );
    let deleted = json_of(&folder, &delete);
    assert_eq!(
        (&deleted["rows"], &deleted["dry_run"]),
        (&json!(2), &json!(false))
    );
    assert_eq!(deleted["commit"].as_str().map(str::len), Some(64));

    let update = ["update", "t", "--set", "n=9", "--all", "--branch", "exp"];
    let updated = json_of(&folder, &update);
    assert_eq!(
        keys(&updated),
        ["branch", "bytes", "commit", "dry_run", "files", "rows"]
    );
    assert_eq!(
        (&updated["rows"], &updated["files"]),
        (&json!(6), &json!(1))
    );
    assert_eq!(count(&folder, "exp", "n = 9"), "6");

    let altered = json_of(&folder, &["alter", "t", "--rename", "n=m"]);
    assert_eq!(keys(&altered), ["branch", "changes", "commit"]);
    let rebased = json_of(&folder, &["rebase", "t", "exp", "--onto", "main"]);
    assert_eq!(keys(&rebased), ["branch", "changes", "commit", "onto"]);
    assert_eq!(rebased["changes"], 2);
    let merged = json_of(&folder, &["merge", "t", "exp"]);
    assert_eq!(keys(&merged), ["branch", "commit", "source", "was_there"]);
    assert_eq!(
        (&merged["commit"], &merged["was_there"]),
        (&rebased["commit"], &json!(false))
    );
    let reset = json_of(&folder, &["reset", "t", "tag:v1"]);
    assert_eq!(
        reset,
        json!({"branch": "main", "state": "tag:v1", "commit": appended["commit"]})
    );
    let gone = json_of(&folder, &["branch", "t", "exp", "--delete"]);
    assert_eq!(
        gone,
        json!({"branch": "exp", "is": "deleted", "commit": null})
    );
    let pin = json_of(&folder, &["pin", "t", "main"]);
    let id = pin["id"].as_str().unwrap();
    let unpinned = json_of(&folder, &["unpin", "t", id]);
    assert_eq!(unpinned, json!({"id": id, "is": "removed"}));
}

#[test]
fn all_rows_are_asked_for_by_name() {
    let folder = folder();
    folder.run(&["table", "append", "t", "rows.csv"]).ok();
    for args in [
        &["table", "delete", "t"][..],
        &["table", "delete", "t", "--all", "--where", "n = 1"],
        &["table", "update", "t", "--set", "n=1"],
        &[
            "table", "update", "t", "--set", "n=1", "--all", "--where", "n = 1",
        ],
        &["table", "update", "t", "--all"],
    ] {
        let line = folder.run(args).fails(2);
        assert!(line.contains("--all") || line.contains("--set"), "{line}");
    }
    assert_eq!(count(&folder, "main", ""), "4");
    folder.run(&["table", "delete", "t", "--all"]).ok();
    assert_eq!(count(&folder, "main", ""), "0");
    assert_eq!(count(&folder, "main~1", ""), "4");
}

#[test]
fn names_stand_in_double_quotes_everywhere() {
    let folder = folder();
    folder.run(&["table", "append", "t", "rows.csv"]).ok();
    let shown = folder.run(&[
        "table",
        "scan",
        "t",
        "--columns",
        "\"c,d\",a=b",
        "-n",
        "1",
        "--json",
    ]);
    assert_eq!(shown.json(), json!([{"c,d": "x", "a=b": 10}]));
    assert_eq!(
        count(&folder, "main", "\"a=b\" > 10 AND \"c,d\" = 'x'"),
        "1"
    );
    let set = [
        "table",
        "update",
        "t",
        "--set",
        "\"a=b\"=0",
        "--where",
        "\"c,d\" = 'y'",
    ];
    folder.run(&set).ok();
    assert_eq!(count(&folder, "main", "\"a=b\" = 0"), "2");
    folder.write("new.csv", "\"c,d\",a=b,n\nx,7,1\n");
    let by = [
        "table",
        "update",
        "t",
        "--by",
        "\"c,d\",n",
        "--from",
        "new.csv",
    ];
    folder.run(&by).ok();
    assert_eq!(count(&folder, "main", "\"a=b\" = 7 AND n = 1"), "1");
    let alter = [
        "table",
        "alter",
        "t",
        "--rename",
        "\"a=b\"=\"say \"\"hi\"\"\"",
        "--drop",
        "\"c,d\"",
    ];
    folder.run(&alter).ok();
    assert_eq!(count(&folder, "main", "\"say \"\"hi\"\"\" = 7"), "1");
    let add = ["table", "add-column", "t", "\"x\"", "--type", "INT8"];
    folder.run(&add).ok();
    let line = folder
        .run(&["table", "alter", "t", "--drop", "\"x"])
        .fails(2);
    assert!(line.contains("closing quote"), "{line}");
}

#[test]
fn types_are_known_in_any_case() {
    let folder = folder();
    for (name, data_type, shown) in [
        ("c1", "int64", "Int64"),
        ("c2", "Int64", "Int64"),
        ("c3", "BOOL", "Boolean"),
        ("c4", "Boolean", "Boolean"),
        ("c5", "Decimal(10,2)", "Decimal128(10, 2)"),
        ("c6", "timestamp-us-utc", "Timestamp(µs, \"UTC\")"),
    ] {
        let args = ["add-column", "t", name, "--type", data_type];
        assert_eq!(json_of(&folder, &args)["type"], shown, "{data_type}");
    }
    let args = ["table", "add-column", "t", "c7", "--type", "int65"];
    let line = folder.run(&args).fails(2);
    assert!(line.contains("no type `int65`; there are bool"), "{line}");
}

#[test]
fn a_column_is_added_with_the_values_of_a_file() {
    let folder = folder();
    folder.run(&["table", "append", "t", "rows.csv"]).ok();
    folder.write("scores.csv", "n,score,other\n1,0.5,a\n3,1.5,b\n");
    let add = [
        "add-column",
        "t",
        "score",
        "--from",
        "scores.csv",
        "--by",
        "n",
    ];
    let dry = json_of(&folder, &[&add[..], &["--dry-run"]].concat());
    assert_eq!((&dry["rows"], &dry["commit"]), (&json!(2), &Value::Null));
    let added = json_of(&folder, &add);
    assert_eq!(
        (&added["type"], &added["rows"]),
        (&json!("Float64"), &json!(2))
    );
    assert_eq!(added["files"], 1);
    assert_eq!(count(&folder, "main", "score >= 0.5"), "2");
    assert_eq!(count(&folder, "main", "score IS NULL"), "2");
    // The type that is asked for counts, and so does the default of rows that the file does not name.
    let typed = [
        "add-column",
        "t",
        "rank",
        "--type",
        "int8",
        "--default",
        "-1",
        "--from",
        "ranks.csv",
        "--by",
        "n",
    ];
    folder.write("ranks.csv", "n,rank\n1,5\n8,6\n");
    let line = folder.run(&[&["table"], &typed[..]].concat()).fails(2);
    assert!(line.contains("no row"), "{line}");
    let skipped = json_of(&folder, &[&typed[..], &["--skip-unmatched"]].concat());
    assert_eq!(
        (&skipped["type"], &skipped["unmatched"]),
        (&json!("Int8"), &json!(1))
    );
    assert_eq!(count(&folder, "main", "rank = -1"), "3");
    for (args, why) in [
        (&["table", "add-column", "t", "x"][..], "--type"),
        (
            &["table", "add-column", "t", "x", "--from", "ranks.csv"],
            "--by",
        ),
        (
            &[
                "table",
                "add-column",
                "t",
                "x",
                "--from",
                "ranks.csv",
                "--by",
                "n",
            ],
            "no column `x`",
        ),
    ] {
        let line = folder.run(args).fails(2);
        assert!(line.contains(why), "{line}");
    }
}

#[test]
fn a_branch_is_not_named_as_a_commit() {
    let folder = folder();
    for name in ["deadbeef", "20260501", "main~1", "tag:v1", "a@b"] {
        let line = folder.run(&["table", "branch", "t", name]).fails(2);
        assert!(line.contains("is refused"), "{line}");
    }
    let line = folder.run(&["table", "branch", "t", "deadbeef"]).fails(2);
    assert!(line.contains("digest of its commit"), "{line}");
    folder.run(&["table", "branch", "t", "beef"]).ok();
}

#[test]
fn errors_of_a_file_are_told_as_they_are() {
    let folder = folder();
    folder.write("broken.csv", "n,a=b,\"c,d\"\n1,10,x\n2,20\n");
    let line = folder.run(&["table", "append", "t", "broken.csv"]).fails(1);
    assert!(!line.contains("External error"), "{line}");
    assert!(
        line.contains("broken.csv") && line.contains("line 3"),
        "{line}"
    );
}

#[test]
fn a_folder_in_the_place_of_a_ref_is_named() {
    let folder = folder();
    folder.run(&["table", "branch", "t", "exp"]).ok();
    let next = "refs/heads/exp/fffffffffffff/ffe";
    std::fs::create_dir_all(folder.path("t").join(next)).unwrap();
    let args = ["table", "append", "t", "rows.csv", "--branch", "exp"];
    let line = folder.run(&args).fails(1);
    assert!(line.contains(next), "{line}");
    let line = folder.run(&["table", "fsck", "t"]).fails(1);
    assert!(line.contains(next), "{line}");
    // So is one in the place of a ref that was there.
    let tag = folder.path("t").join("refs/tags/v1");
    std::fs::create_dir_all(&tag).unwrap();
    let line = folder.run(&["table", "tag", "t", "v1"]).fails(1);
    assert!(line.contains("refs/tags/v1"), "{line}");
    let found = folder.run(&["table", "fsck", "t", "--json"]);
    assert_eq!(found.code, 1);
    let found: Value = serde_json::from_str(&found.stdout).unwrap();
    let objects = found["findings"].as_array().unwrap().iter();
    let objects: Vec<&Value> = objects.map(|it| &it["object"]).collect();
    assert_eq!(
        (&found["ok"], objects),
        (&json!(false), vec![&json!(next), &json!("refs/tags/v1")])
    );
}

#[test]
fn a_table_is_partitioned_by_columns_whose_names_stand_in_quotes() {
    let folder = folder();
    let create = |by: &str| {
        let args = [
            "table",
            "create",
            "p",
            "--like",
            "rows.csv",
            "--partition-by",
            by,
        ];
        folder.run(&[&args[..], &["--json", "--force"]].concat())
    };
    let wrong = [
        "\"c,d",
        "truncate(\"c,d, 1)",
        "\"c,d\"x",
        "\"e\"",
        "",
        "n,",
        "n,\"n\"",
        "truncate(n, 0)",
    ];
    for by in wrong {
        let line = create(by).fails(2);
        assert!(line.contains("partition `"), "{by}: {line}");
    }
    let made = create("truncate(\"c,d\", 1), \"a=b\"").json();
    assert_eq!(made["partitioned_by"], "truncate(\"c,d\", 1), a=b");
}

/// The names of fields at any depth. Keys that are names of branches are none.
fn all_keys<'a>(document: &'a Value, found: &mut std::collections::BTreeSet<&'a str>) {
    match document {
        Value::Array(items) => items.iter().for_each(|item| all_keys(item, found)),
        Value::Object(fields) => {
            for (name, value) in fields {
                found.insert(name);
                if name != "branches" {
                    all_keys(value, found);
                }
            }
        }
        _ => {}
    }
}

#[test]
fn commands_that_show_something_have_the_fields_of_the_manual() {
    let folder = folder();
    folder.run(&["table", "append", "t", "rows.csv"]).ok();
    for args in [
        &["branch", "t", "exp"][..],
        &["tag", "t", "v1"],
        &["pin", "t", "main"],
    ] {
        folder.run(&[&["table"], args].concat()).ok();
    }
    folder
        .run(&["table", "delete", "t", "--where", "n = 1"])
        .ok();
    let manual = include_str!("../../../../docs/tables.md");
    let codes = |cell: &str| -> Vec<String> {
        cell.split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect()
    };
    let (_, entry) = manual.split_once("An `entry` of a branch has").unwrap();
    let entry = codes(entry.split_once(". Times").unwrap().0);
    for (name, args) in [
        ("info", &["info", "t"][..]),
        ("log", &["log", "t"]),
        ("branch", &["branch", "t"]),
        ("tag", &["tag", "t"]),
        ("diff", &["diff", "t", "exp", "main"]),
        ("pin", &["pin", "t"]),
        ("protect", &["protect", "t"]),
        ("fsck", &["fsck", "t"]),
    ] {
        if name == "fsck" {
            // Findings have fields, too.
            std::fs::create_dir_all(folder.path("t").join("refs/tags/v2")).unwrap();
        }
        let shown = folder.run(&[&["table"], args, &["--json"]].concat());
        let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
        let mut found = std::collections::BTreeSet::new();
        all_keys(&shown, &mut found);
        let row = manual
            .lines()
            .find(|line| line.starts_with(&format!("| `{name}` |")));
        let (_, fields) = row.unwrap()[1..].split_once('|').unwrap();
        let mut known = codes(fields);
        if matches!(name, "log" | "branch") {
            known.extend(entry.iter().cloned());
        }
        let known = known.iter().map(String::as_str).collect();
        assert_eq!(found, known, "{name}");
    }
}
