//! `tarsia table gc`, `pin`, `unpin`, `protect` and `copy`, and what `create` and `append` look at first.

use std::time::Duration;

use crate::run::Folder;

fn folder() -> Folder {
    let folder = Folder::default();
    folder.write("april.csv", "country,clicks\nNL,3\nBE,9\n");
    let create = ["table", "create", "ads", "--like", "april.csv"];
    folder.run(&create).ok();
    folder.run(&["table", "append", "ads", "april.csv"]).ok();
    folder
}

/// Makes everything in a folder older.
fn age(folder: &std::path::Path, by: Duration) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            age(&path, by);
            continue;
        }
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        let time = file.metadata().unwrap().modified().unwrap();
        file.set_modified(time - by).unwrap();
    }
}

#[test]
fn old_states_go_and_pinned_ones_stay() {
    let folder = folder();
    folder
        .run(&["table", "delete", "ads", "--where", "clicks < 5"])
        .ok();
    let pin = ["table", "pin", "ads", "main~1", "-m", "training", "--json"];
    let made = folder.run(&pin).json();
    folder.run(&["table", "append", "ads", "april.csv"]).ok();
    folder
        .run(&["table", "delete", "ads", "--where", "clicks < 5"])
        .ok();
    folder
        .run(&["table", "delete", "ads", "--where", "clicks = 9"])
        .ok();
    folder.write("ads/notes.txt", "mine");
    std::fs::create_dir_all(folder.path("ads/data/00")).unwrap();
    folder.write("ads/data/00/x.tmp0123456789abcdef", "left");
    let nothing = folder.run(&["table", "gc", "ads", "--json"]).json();
    assert_eq!(
        (&nothing["removed_objects"], &nothing["young_objects"]),
        (&0.into(), &1.into())
    );
    age(&folder.path("ads"), Duration::from_secs(30 * 24 * 3600));
    let line = folder
        .run(&["table", "tag", "ads", "v", "--at", "main~1"])
        .fails(1);
    assert!(line.contains("older than 84 hours"), "{line}");
    // The pin is younger than what it keeps.
    let dry = folder
        .run(&["table", "gc", "ads", "--dry-run", "--json"])
        .json();
    assert!(dry["removed_objects"].as_u64().unwrap() > 3, "{dry}");
    assert_eq!(dry["temporary_files_left"], 1);
    let checked = folder.run(&["table", "fsck", "ads", "--json"]).json();
    assert_eq!(
        (&checked["pins"], &checked["temporary_files_left"]),
        (&1.into(), &1.into())
    );
    let keys: Vec<&str> = dry["removed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["key"].as_str().unwrap())
        .collect();
    assert!(keys.contains(&"notes.txt"));
    assert!(folder.path("ads/notes.txt").exists());
    let said = folder.run(&["table", "gc", "ads"]).ok();
    assert!(
        said.contains(&format!("objects deleted    {}", keys.len())),
        "{said}"
    );
    assert!(!folder.path("ads/notes.txt").exists());
    let at = made["commit"].as_str().unwrap();
    let count = |at: &str| folder.run(&["table", "scan", "ads", "--at", at, "--count"]);
    assert_eq!(
        (count(at).ok(), count("main").ok()),
        ("2\n".to_owned(), "0\n".to_owned())
    );
    count("main~1").fails(1);
    folder.run(&["table", "fsck", "ads", "--deep"]).ok();

    let pins = folder.run(&["table", "pin", "ads", "--json"]).json();
    let id = pins[0]["id"].as_str().unwrap();
    assert_eq!(
        (&pins[0]["message"], Some(id)),
        (&"training".into(), made["id"].as_str())
    );
    assert!(folder.run(&["table", "pin", "ads"]).ok().contains(id));
    folder.run(&["table", "unpin", "ads", id]).ok();
    let line = folder.run(&["table", "unpin", "ads", id]).fails(2);
    assert!(line.contains("there is no pin"), "{line}");
    folder.run(&["table", "unpin", "ads", "x"]).fails(2);
    folder
        .run(&["table", "pin", "ads", "main", "--dry-run"])
        .ok();
    for days in ["500", "0"] {
        let pin = ["table", "pin", "ads", "main", "--dry-run", "--days", days];
        let line = folder.run(&pin).fails(2);
        assert!(line.contains("not from 1 to 400"), "{line}");
    }
    assert_eq!(folder.run(&["table", "pin", "ads", "--json"]).ok(), "[]\n");
    folder
        .run(&["table", "gc", "ads", "--keep-days", "1"])
        .fails(2);
}

#[test]
fn protected_branches_are_merged_into() {
    let folder = folder();
    let protect = [
        "table",
        "protect",
        "ads",
        "main",
        "--rule",
        "merge-only",
        "--rule",
        "no-reset",
    ];
    folder.run(&protect).ok();
    let line = folder
        .run(&["table", "append", "ads", "april.csv"])
        .fails(1);
    assert!(line.contains("branch `main` is protected"), "{line}");
    folder.run(&["table", "reset", "ads", "main~1"]).fails(1);
    folder.run(&["table", "branch", "ads", "exp"]).ok();
    folder
        .run(&["table", "append", "ads", "april.csv", "--branch", "exp"])
        .ok();
    folder.run(&["table", "merge", "ads", "exp"]).ok();
    let set = ["table", "protect", "ads", "--keep-days", "30", "--json"];
    let policy = folder.run(&set).json();
    assert_eq!(policy["keep_days"], 30);
    assert_eq!(
        policy["branches"]["main"],
        serde_json::json!(["merge_only", "no_reset"])
    );
    assert!(
        folder
            .run(&["table", "protect", "ads"])
            .ok()
            .contains("merge_only, no_reset")
    );
    folder.run(&["table", "protect", "ads", "main"]).fails(2);
    folder
        .run(&["table", "protect", "ads", "--keep-days", "0"])
        .fails(2);
    folder
        .run(&["table", "protect", "ads", "main", "--none"])
        .ok();
    folder.run(&["table", "append", "ads", "april.csv"]).ok();
}

#[test]
fn copies_are_tables() {
    let folder = folder();
    let copy = |more: &[&str]| folder.run(&[&["table", "copy", "ads", "copy"], more].concat());
    let plan = copy(&["--dry-run", "--json"]).json();
    assert!(!folder.path("copy").exists());
    let report = copy(&["--json"]).json();
    assert_eq!(report["objects"], plan["objects"]);
    let scan = ["table", "scan", "copy", "--count"];
    assert_eq!(folder.run(&scan).ok(), "2\n");
    folder.run(&["table", "append", "ads", "april.csv"]).ok();
    assert!(copy(&[]).ok().contains("objects copied  2"));
    folder.run(&["table", "append", "copy", "april.csv"]).ok();
    let line = copy(&[]).fails(1);
    assert!(line.contains("branch `main`"), "{line}");
    folder.run(&["table", "fsck", "copy", "--digests"]).ok();
    for alias in ["./ads/", "copy/../ads"] {
        let line = folder.run(&["table", "copy", "ads", alias]).fails(2);
        assert!(line.contains("it is the table that is copied"), "{line}");
    }
}

#[test]
fn tables_are_not_made_among_other_files() {
    let folder = folder();
    std::fs::create_dir(folder.path("mixed")).unwrap();
    folder.write("mixed/photo.jpg", "x");
    let create = ["table", "create", "mixed", "--like", "april.csv"];
    let line = folder.run(&create).fails(2);
    assert!(
        line.contains("photo.jpg") && line.contains("--force"),
        "{line}"
    );
    folder.run(&[&create[..], &["--force"]].concat()).ok();
}

#[test]
fn no_table_lies_in_another_one() {
    let folder = folder();
    let objects = || folder.run(&["table", "fsck", "ads", "--json"]).json();
    let before = objects();
    let inside = [
        vec!["copy", "ads", "ads/sub"],
        vec!["copy", "ads", "ads/sub", "--dry-run"],
        vec!["create", "ads/data/inner", "--like", "april.csv"],
        vec!["create", "ads/a/b/c", "--like", "april.csv", "--force"],
    ];
    for words in inside {
        let line = folder.run(&[&["table"], &words[..]].concat()).fails(2);
        assert!(line.contains("it lies in the table"), "{line}");
    }
    assert_eq!(objects(), before);
    assert!(!folder.path("ads/sub").exists() && !folder.path("ads/a").exists());
    // One that lies there all the same is brought out, but not to the table that it lies in.
    folder.run(&["table", "copy", "ads", "copy"]).ok();
    std::fs::rename(folder.path("copy"), folder.path("ads/copy")).unwrap();
    folder.run(&["table", "copy", "ads/copy", "out"]).ok();
    let line = folder.run(&["table", "copy", "ads/copy", "ads"]).fails(2);
    assert!(line.contains("the table lies in it"), "{line}");
}

#[test]
fn dry_runs_are_refused_as_the_commands_are() {
    let folder = folder();
    let where_all = ["--where", "clicks > 0"];
    let commands: [Vec<&str>; 4] = [
        [&["delete", "ads"], &where_all[..]].concat(),
        [&["update", "ads", "--set", "clicks=1"], &where_all[..]].concat(),
        vec!["compact", "ads"],
        vec!["compact", "ads", "--metadata"],
    ];
    let run = |words: &[&str]| folder.run(&[&["table"], words, &["--dry-run"]].concat());
    for words in &commands {
        run(words).ok();
    }
    let protect = ["table", "protect", "ads", "main", "--rule", "merge-only"];
    folder.run(&protect).ok();
    for words in &commands {
        let line = run(words).fails(1);
        assert!(line.contains("branch `main` is protected"), "{line}");
    }
}

/// Whatever is written in a folder, or removed, changes the folder's time.
#[cfg(unix)]
#[test]
fn a_check_writes_nothing() {
    let folder = folder();
    folder.write("ads/data/x.tmp0123456789abcdef", "young");
    let old = std::time::SystemTime::now() - Duration::from_secs(3600);
    let opened = std::fs::File::open(folder.path("ads")).unwrap();
    opened.set_modified(old).unwrap();
    let before = opened.metadata().unwrap().modified().unwrap();
    let checked = folder.run(&["table", "fsck", "ads", "--json"]).json();
    folder.run(&["table", "copy", "ads", "copy"]).ok();
    let dry = folder.run(&["table", "gc", "ads", "--dry-run", "--json"]);
    assert_eq!(dry.json()["temporary_files_left"], 0);
    assert_eq!(opened.metadata().unwrap().modified().unwrap(), before);
    // A writer may be alive.
    assert_eq!(checked["temporary_files"], 1);
    assert_eq!(checked["temporary_files_left"], 0);
    folder.run(&["table", "gc", "ads"]).ok();
    assert!(opened.metadata().unwrap().modified().unwrap() > before);
}

#[test]
fn what_is_appended_is_looked_at_first() {
    let folder = folder();
    // Without the table's types `country` would be a number.
    folder.write("numbers.csv", "country,clicks\n17,4\n18,\n");
    folder.run(&["table", "append", "ads", "numbers.csv"]).ok();
    folder.write("numbers.jsonl", "{\"clicks\":5,\"country\":\"19\"}\n");
    folder
        .run(&["table", "append", "ads", "numbers.jsonl"])
        .ok();
    let count = || folder.run(&["table", "scan", "ads", "--count"]).ok();
    assert_eq!(count(), "5\n");
    // A file that fails is named, and nothing of the others is added.
    folder.write("bad.csv", "country,clicks\nNL,many\n");
    let line = folder
        .run(&["table", "append", "ads", "april.csv", "bad.csv"])
        .fails(1);
    assert!(line.contains("bad.csv"), "{line}");
    folder.write("bad.tarsia", "no file");
    let line = folder
        .run(&["table", "append", "ads", "april.csv", "bad.tarsia"])
        .fails(1);
    assert!(line.contains("bad.tarsia"), "{line}");
    assert_eq!(count(), "5\n");
    folder.write("empty.csv", "country,clicks\n");
    let said = folder.run(&["table", "append", "ads", "empty.csv"]).ok();
    assert!(said.contains("none, since there are no rows"), "{said}");
    // What was committed is not written again.
    let again = [
        "table",
        "append",
        "ads",
        "april.csv",
        "--idempotent",
        "job=1",
    ];
    folder.run(&again).ok();
    let files = || std::fs::read_dir(folder.path("ads/data")).unwrap().count();
    let n_files = files();
    assert!(folder.run(&again).ok().contains("was there already  yes"));
    assert_eq!((files(), count()), (n_files, "7\n".to_owned()));
}
