//! `tarsia erase` and the commands around it.

use std::fmt::Write;
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;

use crate::run::Folder;

/// A table of 5,000 rows of 100 users, each with a name that nothing else has.
pub(crate) fn folder(levels: &[&str]) -> Folder {
    let folder = Folder::default();
    let mut table = String::from("user,name,score\n");
    for row in 0..5000 {
        let user = row / 50;
        let _ = writeln!(table, "{user},name{user:04}x{row},{}", row % 7);
    }
    folder.write("t.csv", &table);
    let levels = levels.iter().flat_map(|level| ["--erasure", level]);
    let args: Vec<&str> = ["import", "t.csv", "t.tarsia"]
        .into_iter()
        .chain(levels)
        .collect();
    folder.run(&args).ok();
    folder
}

pub(crate) fn count(folder: &Folder) -> String {
    folder.run(&["scan", "t.tarsia", "--count"]).ok()
}

#[test]
fn a_user_is_erased_and_the_certificate_proves_it() {
    let folder = folder(&["2"]);
    let before = std::fs::read(folder.path("t.tarsia")).unwrap();
    let erase = ["erase", "t.tarsia", "--where", "user = 42", "--json"];
    let planned = folder.run(&[&erase[..], &["--dry-run"]].concat()).json();
    assert_eq!(std::fs::read(folder.path("t.tarsia")).unwrap(), before);
    folder.write("key", [7; 32]);
    let signed = [
        "--certificate",
        "c.json",
        "--key",
        "key",
        "--note",
        "request 1",
    ];
    let done = folder.run(&[&erase[..], &signed].concat()).json();
    assert_eq!(done["rows_erased"], 50);
    for field in ["rows", "blocks", "bytes_written", "file_bytes_after"] {
        assert_eq!(done[field], planned[field], "{field}");
    }
    assert_eq!(count(&folder), "4950\n");
    folder.run(&["verify", "t.tarsia"]).ok();
    let rows = folder.run(&["scan", "t.tarsia", "--json"]).ok();
    assert!(!rows.contains("name0042x") && rows.contains("name0041x"));
    let bytes = std::fs::read(folder.path("t.tarsia")).unwrap();
    assert!(!bytes.windows(9).any(|window| window == b"name0042x"));

    let audit = folder.run(&["audit", "t.tarsia", "--json"]).json();
    assert_eq!(audit["clean"], true);
    assert_eq!(audit["erased_rows"], 50);
    let certificate: serde_json::Value = serde_json::from_str(&folder.read("c.json")).unwrap();
    let public = certificate["signature"]["public_key"].as_str().unwrap();
    folder.write("public", public);
    let signed = ["--signed-by", "public", "--json"];
    let check = [&["verify-certificate", "c.json", "t.tarsia"][..], &signed].concat();
    let checked = folder.run(&check).json();
    assert_eq!(checked["unchanged"], true);
    assert!(checked["signed_by"].is_string());
    let certificate = folder.read("c.json");
    folder.write("c.json", certificate.replace("request 1", "request 2"));
    let line = folder.run(&check).fails(1);
    assert!(line.contains("signature"), "{line}");
    folder.write("c.json", &certificate);
    // The condition still finds what it should, now that rows are missing.
    let more = [
        "erase",
        "t.tarsia",
        "--where",
        "user BETWEEN 40 AND 44",
        "--json",
    ];
    assert_eq!(folder.run(&more).json()["rows_erased"], 200);
    assert_eq!(count(&folder), "4750\n");
    assert_eq!(folder.run(&check).json()["unchanged"], false);
    folder.run(&["import", "t.csv", "other.tarsia"]).ok();
    let other = ["verify-certificate", "c.json", "other.tarsia"];
    assert!(folder.run(&other).fails(1).contains("another file"));
}

#[test]
fn rows_are_hidden_shown_and_compacted() {
    let folder = folder(&["1", "name=2"]);
    let hide = [
        "erase",
        "t.tarsia",
        "--rows",
        "0..10,4999",
        "--level",
        "1",
        "--json",
    ];
    let done = folder.run(&hide).json();
    assert_eq!(
        (&done["rows_deleted"], &done["rows_erased"]),
        (&json!(11), &json!(0))
    );
    let head = folder.run(&["head", "t.tarsia", "-n", "2", "--json"]).ok();
    assert!(
        head.matches("user").count() == 2 && head.contains("name0000x10"),
        "{head}"
    );
    let line = folder.run(&["take", "t.tarsia", "--rows", "3"]).fails(2);
    assert!(line.contains("row 3 was deleted"), "{line}");
    let audit = folder.run(&["audit", "t.tarsia", "--json"]).json();
    assert_eq!(audit["clean"], false);
    assert_eq!(audit["columns"][0]["rows_held"], 11);
    folder.run(&["compact", "t.tarsia", "small.tarsia"]).ok();
    let rows = folder.run(&["scan", "small.tarsia", "--json"]).ok();
    assert_eq!(rows, folder.run(&["scan", "t.tarsia", "--json"]).ok());
    let audit = folder.run(&["audit", "small.tarsia", "--json"]).json();
    assert_eq!(
        (&audit["rows"], &audit["deleted_rows"]),
        (&json!(4989), &json!(0))
    );
    assert_eq!(audit["columns"][1]["level"], 2);
    let rewrite = [
        "erase",
        "t.tarsia",
        "--rows",
        "20",
        "--rewrite",
        "new.tarsia",
        "--json",
    ];
    assert_eq!(folder.run(&rewrite).json()["rows_erased"], 1);
    assert_eq!(count(&folder), "4989\n");
    assert_eq!(
        folder.run(&["scan", "new.tarsia", "--count"]).ok(),
        "4988\n"
    );
    folder.run(&["verify", "new.tarsia"]).ok();
}

/// Rows that were hidden at level 1 still have their values: the same condition finds them at level 2.
#[test]
fn hidden_rows_are_found_by_a_condition_and_erased() {
    let folder = folder(&["2"]);
    let at = |level: &str, condition: &str| {
        let erase = [
            "erase", "t.tarsia", "--where", condition, "--level", level, "--json",
        ];
        folder.run(&erase).json()
    };
    assert_eq!(at("1", "user = 42")["rows_deleted"], 50);
    let is_found = || {
        let bytes = std::fs::read(folder.path("t.tarsia")).unwrap();
        bytes.windows(9).any(|window| window == b"name0042x")
    };
    // At level 1 nothing is left to hide.
    assert_eq!(at("1", "user = 42")["rows"], 0);
    assert_eq!(at("1", "user = 7")["rows_deleted"], 50);
    let erased = at("2", "user BETWEEN 42 AND 43");
    assert_eq!(
        (&erased["rows_erased"], &erased["rows_deleted"]),
        (&json!(100), &json!(50))
    );
    assert!(!is_found());
    assert_eq!(count(&folder), "4850\n");
    let audit = folder.run(&["audit", "t.tarsia", "--json"]).json();
    assert_eq!(
        (&audit["clean"], &audit["columns"][0]["rows_held"]),
        (&json!(false), &json!(50))
    );
    assert_eq!(at("2", "user = 7")["rows_erased"], 50);
    let before = std::fs::read(folder.path("t.tarsia")).unwrap();
    assert_eq!(at("2", "user = 42")["changed"], false);
    assert_eq!(std::fs::read(folder.path("t.tarsia")).unwrap(), before);
    let audit = folder.run(&["audit", "t.tarsia"]).ok();
    assert!(audit.contains("dictionary entries were decoded"), "{audit}");
}

#[test]
fn what_cannot_be_erased_is_refused() {
    let folder = folder(&["0"]);
    let refused = |args: &[&str], code: i32, what: &str| {
        let line = folder
            .run(&[&["erase", "t.tarsia"], args].concat())
            .fails(code);
        assert!(line.contains(what), "{line}");
    };
    refused(&["--rows", "5"], 1, "no column is at erasure level 2");
    refused(
        &["--rows", "5", "--level", "1"],
        1,
        "no column is at erasure level 1",
    );
    refused(&["--rows", "5000"], 2, "row 5000");
    refused(&["--where", "nobody = 1"], 2, "no column `nobody`");
    refused(&["--where", "user = 'x'"], 2, "user");
    folder.write("key", "no key");
    let signed = ["--rows", "5", "--certificate", "c.json", "--key", "key"];
    refused(&signed, 1, "key");
    assert!(!folder.path("c.json").exists());
    assert!(
        folder
            .run(&["recover", "t.tarsia"])
            .ok()
            .contains("nothing")
    );
    assert!(folder.run(&["recover", "t.csv"]).fails(1).contains("t.csv"));
}

/// A process that is killed at any moment leaves the file as before or as after; `TARSIA_KILLS` says how often.
#[test]
fn a_killed_erasure_is_undone_or_finished() {
    let folder = folder(&["2"]);
    let original = std::fs::read(folder.path("t.tarsia")).unwrap();
    let kills = std::env::var("TARSIA_KILLS").ok();
    let kills: u32 = kills.and_then(|text| text.parse().ok()).unwrap_or(20);
    let erase = ["erase", "t.tarsia", "--where", "score = 3", "--json"];
    let started = std::time::Instant::now();
    folder.run(&erase).json();
    let whole = started.elapsed();
    let after = count(&folder);
    let mut n_after = 0;
    for kill in 0..kills {
        folder.write("t.tarsia", &original);
        let mut child = folder.command(&erase);
        let mut child = child.stdout(Stdio::null()).spawn().unwrap();
        let part = f64::from(kill * 7919 % kills) / f64::from(kills);
        std::thread::sleep(whole.mul_f64(0.3 + 0.7 * part) + Duration::from_micros(50));
        child.kill().unwrap();
        child.wait().unwrap();
        // A reader sees one or the other before anything is recovered.
        let read = count(&folder);
        folder.run(&["verify", "t.tarsia"]).ok();
        folder.run(&["recover", "t.tarsia"]).ok();
        assert_eq!(count(&folder), read);
        folder.run(&["verify", "t.tarsia"]).ok();
        match read == after {
            true => n_after += 1,
            false => {
                assert_eq!(read, "5000\n");
                assert_eq!(std::fs::read(folder.path("t.tarsia")).unwrap(), original);
            }
        }
    }
    println!("{n_after} of {kills} erasures had come to their commit point");
}
