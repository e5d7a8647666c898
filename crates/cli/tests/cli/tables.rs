//! `tarsia table`: tables of many files in a local folder.

use serde_json::Value;

use crate::run::Folder;

/// A folder with two files of rows and a table of the first one.
fn folder() -> Folder {
    let folder = Folder::default();
    folder.write("april.csv", "country,clicks\nNL,3\nBE,9\nNL,12\nDE,1\n");
    folder.write("may.csv", "clicks,country\n7,NL\n2,FR\n");
    let create = [
        "table",
        "create",
        "ads",
        "--like",
        "april.csv",
        "--partition-by",
        "country",
        "--author",
        "ada",
    ];
    assert!(folder.run(&create).ok().contains("partitioned by"));
    append(&folder, "april.csv", "main", "clicks of April");
    folder
}

fn append(folder: &Folder, file: &str, branch: &str, message: &str) {
    let args = [
        "table", "append", "ads", file, "--branch", branch, "-m", message, "--author", "ada",
    ];
    folder.run(&args).ok();
}

fn count(folder: &Folder, at: &str) -> String {
    folder
        .run(&["table", "scan", "ads", "--at", at, "--count"])
        .ok()
}

#[test]
fn rows_commits_and_branches_from_the_command_line() {
    let folder = folder();
    folder.run(&["table", "branch", "ads", "exp"]).ok();
    let delete = [
        "table",
        "delete",
        "ads",
        "--branch",
        "exp",
        "--where",
        "clicks < 5",
        "-m",
        "noise",
    ];
    assert!(
        folder
            .run(&[&delete[..], &["--dry-run"]].concat())
            .ok()
            .contains('2')
    );
    assert_eq!(count(&folder, "exp"), "4\n");
    folder.run(&delete).ok();
    append(&folder, "may.csv", "main", "clicks of May");
    assert_eq!(
        (count(&folder, "exp"), count(&folder, "main")),
        ("2\n".into(), "6\n".into())
    );
    let diff = folder
        .run(&["table", "diff", "ads", "main", "exp", "--json"])
        .json();
    assert_eq!(
        (&diff["first"][0]["op"], &diff["second"][0]["op"]),
        (&"append".into(), &"delete".into())
    );
    folder
        .run(&["table", "merge", "ads", "exp", "-m", "exp is good"])
        .ok();
    assert_eq!(count(&folder, "main"), "4\n");
    folder
        .run(&["table", "tag", "ads", "v1", "-m", "trained on this"])
        .ok();
    let rows = [
        "table",
        "scan",
        "ads",
        "--at",
        "tag:v1",
        "--where",
        "country = 'NL'",
        "--columns",
        "clicks",
        "--json",
    ];
    let mut clicks: Vec<_> = folder
        .run(&rows)
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["clicks"].as_i64())
        .collect();
    clicks.sort();
    assert_eq!(clicks, [Some(7), Some(12)]);
    let log = folder.run(&["table", "log", "ads", "--json"]).json();
    let what: Vec<_> = log
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["what"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(what, ["merge of 1 change", "append", "append", "create"]);
    assert!(
        folder
            .run(&["table", "log", "ads"])
            .ok()
            .contains("exp is good")
    );
    folder.run(&["table", "reset", "ads", "main~1"]).ok();
    assert_eq!(count(&folder, "main"), "6\n");
    folder
        .run(&["table", "rebase", "ads", "exp", "--onto", "main"])
        .ok();
    assert_eq!(count(&folder, "exp"), "4\n");
    folder
        .run(&["table", "branch", "ads", "exp", "--delete"])
        .ok();
    let branches = folder.run(&["table", "branch", "ads", "--json"]).json();
    assert_eq!(branches.as_array().map(Vec::len), Some(1));
    assert!(
        folder
            .run(&["table", "tag", "ads"])
            .ok()
            .contains("trained on this")
    );
}

#[test]
fn columns_are_renamed_dropped_and_added() {
    let folder = folder();
    folder.write("scores.csv", "clicks,score\n1,0.5\n");
    let args = [
        "table",
        "alter",
        "ads",
        "--rename",
        "clicks=n",
        "--add-like",
        "scores.csv",
    ];
    folder.run(&args).ok();
    let info = folder.run(&["table", "info", "ads", "--json"]).json();
    let names: Vec<_> = info["fields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|field| field["name"].clone())
        .collect();
    assert_eq!(
        Value::from(names),
        serde_json::json!(["country", "n", "score"])
    );
    assert_eq!(info["rows"], 4);
    let text = folder.run(&["table", "info", "ads"]).ok();
    assert!(
        text.contains("score") && text.contains("partitioned by"),
        "{text}"
    );
    folder
        .run(&[
            "table",
            "scan",
            "ads",
            "--where",
            "n > 5 AND score IS NULL",
            "-n",
            "1",
        ])
        .ok();
    let refused = folder
        .run(&["table", "alter", "ads", "--drop", "country"])
        .fails(2);
    assert!(
        refused.contains("partitioned by field `country`"),
        "{refused}"
    );
}

#[test]
fn a_job_that_is_started_again_adds_its_rows_once() {
    let folder = folder();
    for expect in ["6\n", "6\n"] {
        let args = ["table", "append", "ads", "may.csv", "--idempotent", "job=1"];
        folder.run(&args).ok();
        assert_eq!(count(&folder, "main"), expect);
    }
    folder.run(&["import", "may.csv", "may.tarsia"]).ok();
    folder
        .run(&["table", "append", "ads", "may.tarsia", "april.csv"])
        .ok();
    assert_eq!(count(&folder, "main"), "12\n");
}

#[test]
fn what_is_wrong_is_one_line() {
    let folder = folder();
    folder.write("other.csv", "a,b\n1,2\n");
    std::fs::create_dir(folder.path("empty")).unwrap();
    for (args, code, why) in [
        (&["table", "log", "nothing"][..], 1, "nothing"),
        (&["table", "log", "empty"], 1, "there is no table"),
        (
            &["table", "create", "ads", "--like", "april.csv"],
            2,
            "a table already",
        ),
        (
            &[
                "table",
                "create",
                "x",
                "--like",
                "april.csv",
                "--partition-by",
                "day(clicks)",
            ],
            2,
            "no date",
        ),
        (
            &["table", "append", "ads", "other.csv"],
            1,
            "the table has no field `a`",
        ),
        (
            &["table", "append", "ads", "april.csv", "--branch", "exp"],
            2,
            "no branch `exp`",
        ),
        (
            &["table", "append", "ads", "april.csv", "--idempotent", "x"],
            2,
            "idempotent",
        ),
        (&["table", "scan", "ads", "--at", "tag:x"], 2, "no tag `x`"),
        (
            &["table", "scan", "ads", "--columns", "x"],
            2,
            "no field `x`",
        ),
        (&["table", "branch", "ads", "a..b"], 2, "is refused"),
        (&["table", "alter", "ads"], 2, "nothing is to be changed"),
        (&["table", "merge", "ads", "exp"], 2, "exp"),
    ] {
        let line = folder.run(args).fails(code);
        assert!(line.contains(why), "{args:?}: {line}");
    }
}

#[test]
fn a_scan_says_which_files_a_condition_leaves() {
    let folder = folder();
    let scan = ["table", "scan", "ads", "--count", "--explain-filter"];
    let found = folder.run(&[&scan[..], &["--where", "country = 'NL'"]].concat());
    assert_eq!((found.code, found.stdout.trim()), (0, "2"));
    let numbers = |line: &str| -> Vec<u64> {
        let cells = line.split('|').map(str::trim);
        cells.filter_map(|cell| cell.parse().ok()).collect()
    };
    let lines = |what: &str| {
        let mut lines = found.stderr.lines();
        numbers(lines.find(|line| line.contains(what)).unwrap())
    };
    assert_eq!(lines("all")[..2], [3, 4]);
    assert_eq!(lines("partitions leave")[..2], [1, 2]);
    assert!(folder.run(&scan).fails(2).contains("--where"));
}

#[test]
fn defaults_may_be_negative_and_messages_long() {
    let folder = folder();
    let append = |message: &str| folder.run(&["table", "append", "ads", "may.csv", "-m", message]);
    let refused = append(&"x".repeat(8_193)).fails(2);
    assert!(refused.contains("8193 bytes"), "{refused}");
    append(&"x".repeat(8_192)).ok();
    let add = [
        "table",
        "add-column",
        "ads",
        "n",
        "--type",
        "Int64",
        "--default",
        "-5",
    ];
    folder.run(&add).ok();
    let count = ["table", "scan", "ads", "--count", "--where", "n = -5"];
    assert_eq!(folder.run(&count).ok().trim(), "6");
}

#[test]
fn a_check_of_a_table_names_what_is_missing() {
    let folder = folder();
    let checked = folder
        .run(&["table", "fsck", "ads", "--digests", "--json"])
        .json();
    assert_eq!(
        (&checked["ok"], &checked["files"]),
        (&Value::from(true), &Value::from(3))
    );
    folder.run(&["table", "fsck", "ads"]).ok();
    let data = folder.path("ads").join("data");
    let first = std::fs::read_dir(data).unwrap().next().unwrap().unwrap();
    std::fs::remove_dir_all(first.path()).unwrap();
    let line = folder.run(&["table", "fsck", "ads"]).fails(1);
    assert!(line.contains("the file is missing"), "{line}");
}

#[test]
fn columns_are_updated_and_files_compacted() {
    let folder = folder();
    append(&folder, "may.csv", "main", "clicks of May");
    let update = [
        "table",
        "update",
        "ads",
        "--set",
        "clicks=-1",
        "--where",
        "clicks > 8",
        "--author",
        "ada",
    ];
    let dry = folder.run(&[&update[..], &["--dry-run"]].concat()).ok();
    assert!(dry.contains("rows to update") && dry.contains('2'), "{dry}");
    let done: Value = folder.run(&[&update[..], &["--json"]].concat()).json();
    assert_eq!(done["rows"], 2);
    let of_partition = [
        "table",
        "update",
        "ads",
        "--set",
        "country='FR'",
        "--where",
        "clicks = -1",
    ];
    assert!(
        folder
            .run(&of_partition)
            .fails(2)
            .contains("partitioned by")
    );
    let no_literal = [
        "table",
        "update",
        "ads",
        "--set",
        "clicks=x",
        "--where",
        "clicks = 1",
    ];
    folder.run(&no_literal).code_is(2);
    let add = [
        "table",
        "add-column",
        "ads",
        "score",
        "--type",
        "Float32",
        "--default",
        "0.5",
    ];
    folder.run(&add).ok();
    let count = |condition: &str| {
        let scan = ["table", "scan", "ads", "--count", "--where", condition];
        folder.run(&scan).ok().trim().to_owned()
    };
    assert_eq!(count("clicks = -1"), "2");
    assert_eq!(count("score = 0.5"), "6");
    let compact = ["table", "compact", "ads", "--json"];
    let due: Value = folder.run(&[&compact[..], &["--dry-run"]].concat()).json();
    assert_eq!(
        (&due["files_before"], &due["files_after"]),
        (&3.into(), &2.into())
    );
    let only = ["--partition", "country = 'BE'"];
    let some: Value = folder.run(&[&compact[..], &only[..]].concat()).json();
    assert_eq!(some["files_before"], 1);
    let done: Value = folder.run(&compact).json();
    assert_eq!(
        (&done["files_before"], &done["files_after"]),
        (&2.into(), &1.into())
    );
    assert_eq!(count("clicks = -1"), "2");
    assert_eq!(count("clicks IN (3, 1, 7, 2)"), "4");
    folder.run(&["table", "fsck", "ads", "--digests"]).ok();
}

#[test]
fn descriptions_of_files_become_one_run() {
    let folder = Folder::default();
    let rows = |first: u64| {
        (first..first + 300)
            .map(|n| format!("{n},{n}\n"))
            .collect::<String>()
    };
    folder.write("low.csv", format!("p,v\n{}", rows(0)));
    folder.write("high.csv", format!("p,v\n{}", rows(200)));
    let create = [
        "table",
        "create",
        "t",
        "--like",
        "low.csv",
        "--partition-by",
        "p",
    ];
    folder.run(&create).ok();
    for file in ["low.csv", "high.csv"] {
        folder.run(&["table", "append", "t", file]).ok();
    }
    let compact = ["table", "compact", "t", "--metadata", "--json"];
    let run = |more: &[&str]| folder.run(&[&compact[..], more].concat()).json();
    let due = run(&["--dry-run"]);
    assert_eq!(
        (&due["runs_before"], &due["commit"]),
        (&2.into(), &Value::Null)
    );
    let done = run(&[]);
    assert_eq!(
        (&done["runs_before"], &done["runs_after"]),
        (&2.into(), &1.into())
    );
    assert_eq!(
        (&done["manifests_before"], &done["manifests_after"]),
        (&2.into(), &1.into())
    );
    let log = folder.run(&["table", "log", "t", "--json"]).json();
    assert_eq!(
        (&log[0]["entry"]["commit"], &log[0]["what"]),
        (&done["commit"], &"compact".into())
    );
    let scan = ["table", "scan", "t", "--count", "--where", "p = 250"];
    assert_eq!(folder.run(&scan).ok(), "2\n");
    // There is nothing left to do, and that is no error.
    let again = run(&["--dry-run"]);
    assert_eq!(again["runs_before"], 1);
    assert_eq!(run(&[])["commit"], Value::Null);
    let text = folder.run(&["table", "compact", "t", "--metadata"]).ok();
    assert!(text.contains("one run already"), "{text}");
    let both = ["table", "compact", "t", "--metadata", "--max-bytes", "5"];
    assert!(folder.run(&both).fails(2).contains("--max-bytes"));
}

#[test]
fn rows_get_the_values_of_a_file_by_their_keys() {
    let folder = folder();
    append(&folder, "may.csv", "main", "clicks of May");
    folder.write(
        "new.csv",
        "clicks,country,note\n90,NL,bot\n5,BE,\n1,XX,nobody\n",
    );
    folder
        .run(&["table", "add-column", "ads", "note", "--type", "Utf8"])
        .ok();
    let update = |more: &[&str]| {
        let args = [
            "table", "update", "ads", "--from", "new.csv", "--by", "clicks",
        ];
        folder.run(&[&args[..], more].concat())
    };
    // A key that is a column of partitions is no obstacle, new values of one are.
    assert!(
        update(&[])
            .fails(2)
            .contains("partitioned by field `country`")
    );
    folder.write("new.csv", "country,note\nNL,bot\nBE,\nXX,nobody\n");
    let by = [
        "table", "update", "ads", "--by", "country", "--from", "new.csv",
    ];
    let update = |more: &[&str]| folder.run(&[&by[..], more].concat());
    let refused = update(&[]).fails(2);
    assert!(refused.contains("key `country` of row 2"), "{refused}");
    let dry: Value = update(&["--skip-unmatched", "--dry-run", "--json"]).json();
    let counts = |it: &Value| (it["rows"].clone(), it["unmatched"].clone());
    assert_eq!(counts(&dry), (4.into(), 1.into()));
    assert_eq!(dry["commit"], Value::Null);
    let count = |condition: &str| {
        let scan = ["table", "scan", "ads", "--count", "--where", condition];
        folder.run(&scan).ok().trim().to_owned()
    };
    assert_eq!(count("note = 'bot'"), "0");
    let done = update(&["--skip-unmatched", "-m", "notes"]).ok();
    assert!(done.contains("rows of the file left out"), "{done}");
    assert_eq!(count("note = 'bot'"), "3");
    assert_eq!(count("note IS NULL"), "3");
    folder.write("twice.csv", "clicks,country,note\n3,NL,x\n3,NL,y\n");
    let twice = [
        "table",
        "update",
        "ads",
        "--by",
        "country,clicks",
        "--from",
        "twice.csv",
    ];
    let refused = folder.run(&twice).fails(2);
    assert!(
        refused.contains("row 1 has the same keys `country`, `clicks` as row 0"),
        "{refused}"
    );
    for wrong in [&["--set", "clicks=1"][..], &["--where", "clicks = 1"]] {
        update(wrong).fails(2);
    }
    folder
        .run(&["table", "update", "ads", "--by", "country"])
        .fails(2);
    folder
        .run(&["table", "update", "ads", "--set", "clicks=1"])
        .fails(2);
}
