//! Certificates: what they say, what they prove and to whom, and that none is lost or written over something else.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::erasure::{count, folder};
use crate::run::Folder;

/// Erases rows with a certificate, signed by the key in the file `key`; the file `public` has its other half.
fn certified(folder: &Folder, args: &[&str]) -> Value {
    folder.write("key", [7; 32]);
    // A certificate replaces nothing.
    let _ = fs::remove_file(folder.path("c.json"));
    let to_file = ["--certificate", "c.json", "--key", "key", "--json"];
    let done = folder.run(&[&["erase", "t.tarsia"], args, &to_file].concat());
    let done = done.json();
    if folder.path("c.json").exists() {
        let certificate = document(folder);
        let key = certificate["signature"]["public_key"].as_str().unwrap();
        folder.write("public", key);
    }
    done
}

fn document(folder: &Folder) -> Value {
    serde_json::from_str(&folder.read("c.json")).unwrap()
}

const CHECK: [&str; 5] = [
    "verify-certificate",
    "c.json",
    "t.tarsia",
    "--signed-by",
    "public",
];

#[test]
fn a_certificate_says_what_happened_and_which_columns_keep_values() {
    let folder = folder(&["2", "name=1", "score=0"]);
    folder
        .run(&["erase", "t.tarsia", "--rows", "5..15", "--level", "1"])
        .code_is(0);
    let done = certified(&folder, &["--rows", "10..30"]);
    assert_eq!(done["rows"], 20);
    assert_eq!(
        (&done["rows_deleted"], &done["rows_erased"]),
        (&json!(15), &json!(20))
    );
    assert_eq!(done["columns_holding_values"], json!(["name", "score"]));
    let certificate = document(&folder);
    let rows = &certificate["rows"];
    for (what, text, count) in [
        ("asked", "10..30", 20),
        ("newly_deleted", "15..30", 15),
        ("erased_now", "10..30", 20),
        ("erased_before", "", 0),
    ] {
        assert_eq!(rows[what], json!({"count": count, "rows": text}), "{what}");
    }
    assert_eq!(certificate["deleted_after"]["count"], 25);
    assert_eq!(certificate["erased_after"]["count"], 20);
    let columns = certificate["columns"].as_array().unwrap();
    let said = columns
        .iter()
        .map(|it| json!([it["name"], it["level"], it["holds_values"]]));
    let expect = json!([["user", 2, false], ["name", 1, true], ["score", 0, true]]);
    assert_eq!(Value::from_iter(said), expect);
    let text = folder.run(&CHECK).ok();
    assert!(
        text.starts_with("ok: the file is as the erasure left it; signed by "),
        "{text}"
    );
    for line in [
        "holds values     column `name` (level 1) still holds the values of these rows",
        "level            2: rows were deleted, and erased from some of the columns",
    ] {
        assert!(text.lines().any(|it| it == line), "{text}");
    }
    let plain = folder.run(&["erase", "t.tarsia", "--rows", "50..52"]);
    let line = "column `name` (level 1) still holds the values of these rows";
    assert!(plain.stdout.contains(line), "{plain:?}");
    assert!(!plain.stdout.contains("removed of"), "{plain:?}");
    // Rows that level 1 left in a column at level 2.
    let done = certified(&folder, &["--rows", "5..8", "--level", "1"]);
    assert_eq!(done["changed"], false);
    assert_eq!(
        done["columns_holding_values"],
        json!(["user", "name", "score"])
    );
    let text = folder.run(&CHECK).ok();
    assert!(
        text.contains("their values are still in the file"),
        "{text}"
    );
    assert!(
        !text.contains("rows erased") && !text.contains("erased in all"),
        "{text}"
    );
}

#[test]
fn an_erasure_that_adds_nothing_changes_no_byte() {
    let folder = folder(&["2"]);
    certified(&folder, &["--rows", "10..30"]);
    let bytes = fs::read(folder.path("t.tarsia")).unwrap();
    let modified = || {
        fs::metadata(folder.path("t.tarsia"))
            .unwrap()
            .modified()
            .unwrap()
    };
    let before = modified();
    fs::remove_file(folder.path("c.json")).unwrap();
    let none = folder.run(&[
        "erase",
        "t.tarsia",
        "--where",
        "user = 7777",
        "--certificate",
        "c.json",
    ]);
    assert_eq!(none.code, 0);
    assert!(
        none.stdout
            .contains("nothing was changed: no rows were asked for"),
        "{none:?}"
    );
    assert!(
        none.stderr.contains("no certificate is written"),
        "{none:?}"
    );
    assert!(!folder.path("c.json").exists());
    let done = certified(&folder, &["--rows", "12..20"]);
    assert_eq!(done["changed"], false);
    assert_eq!(
        (&done["rows_erased"], &done["rows_erased_before"]),
        (&json!(0), &json!(8))
    );
    let certificate = document(&folder);
    assert_eq!(certificate["old_root"], certificate["new_root"]);
    assert_eq!(
        certificate["rows"]["erased_before"],
        json!({"count": 8, "rows": "12..20"})
    );
    assert_eq!(
        folder.run(&[&CHECK[..], &["--json"]].concat()).json()["verdict"],
        "ok"
    );
    assert_eq!(fs::read(folder.path("t.tarsia")).unwrap(), bytes);
    assert_eq!(modified(), before);
    // Of a later state it is still true.
    folder
        .run(&["erase", "t.tarsia", "--rows", "400", "--json"])
        .json();
    assert_eq!(
        folder.run(&[&CHECK[..], &["--json"]].concat()).json()["unchanged"],
        false
    );
}

#[test]
fn ok_is_said_only_of_what_a_named_key_has_signed() {
    let folder = folder(&["2"]);
    certified(&folder, &["--rows", "10..30"]);
    assert!(folder.run(&CHECK).ok().starts_with("ok: "));
    let without = &CHECK[..3];
    let strangers = folder.run(without);
    assert!(
        strangers.stdout.starts_with("signed by an unknown key: "),
        "{strangers:?}"
    );
    strangers.fails(3);
    folder.write(
        "other",
        [9; 32].map(|byte: u8| format!("{byte:02x}")).concat(),
    );
    // One of several keys is enough.
    let several = [&CHECK[..], &["--signed-by", "public"]].concat();
    folder.run(&several).ok();
    let signed = folder.read("c.json");
    let mut unsigned = document(&folder);
    unsigned.as_object_mut().unwrap().remove("signature");
    folder.write("c.json", unsigned.to_string());
    for args in [&CHECK[..], without] {
        let done = folder.run(args);
        assert!(done.stdout.starts_with("unsigned: "), "{done:?}");
        done.fails(3);
        let done = folder.run(&[args, &["--json"]].concat());
        let said: Value = serde_json::from_str(&done.stdout).unwrap();
        assert_eq!(
            (&said["ok"], &said["verdict"]),
            (&json!(false), &json!("unsigned"))
        );
        assert_eq!(done.code, 3);
    }
    folder.write(
        "c.json",
        signed.replace(
            "\"level\": 2,\n  \"rows\"",
            "\"level\": 2, \"note\": \"x\",\n  \"rows\"",
        ),
    );
    assert!(folder.run(&CHECK).fails(1).contains("signature"));
}

#[test]
fn what_is_not_true_of_the_file_is_refuted_whoever_signed_it() {
    let folder = folder(&["2"]);
    let backup = fs::read(folder.path("t.tarsia")).unwrap();
    certified(&folder, &["--rows", "10..30"]);
    let left = fs::read(folder.path("t.tarsia")).unwrap();
    let refuted = |what: &str| {
        let line = folder.run(&CHECK).fails(1);
        assert!(line.contains(what), "{line}");
        let done = folder.run(&[&CHECK[..], &["--json"]].concat());
        assert_eq!(done.code, 1);
        let said: Value = serde_json::from_str(&done.stdout).unwrap();
        assert_eq!(
            (&said["ok"], &said["verdict"]),
            (&json!(false), &json!("refuted"))
        );
    };
    // The state before, and a fork of it.
    folder.write("t.tarsia", &backup);
    refuted("are not erased in this file");
    for rows in ["1000..1040", "2000..2010"] {
        folder
            .run(&[
                "erase", "t.tarsia", "--rows", rows, "--level", "1", "--json",
            ])
            .json();
    }
    refuted("are not erased in this file");
    // A fork in which the same rows are erased, and others.
    folder
        .run(&["erase", "t.tarsia", "--rows", "10..30", "--json"])
        .json();
    refuted("does not descend");
    // Further erasures, and a state before the certificate's.
    folder.write("t.tarsia", &left);
    for rows in ["100..200", "4000"] {
        folder
            .run(&["erase", "t.tarsia", "--rows", rows, "--json"])
            .json();
        let text = folder.run(&CHECK).ok();
        assert!(text.starts_with("ok: the file descends from"), "{text}");
    }
    let first = folder.read("c.json");
    certified(&folder, &["--rows", "500"]);
    folder.run(&CHECK).ok();
    folder.write("t.tarsia", &left);
    refuted("are not erased in this file");
    folder.write("c.json", first);
    folder.run(&CHECK).ok();
    // A damaged file is no proof.
    let mut damaged = left.clone();
    damaged[400] ^= 1;
    folder.write("t.tarsia", damaged);
    assert_ne!(folder.run(&CHECK).code, 0);
}

#[test]
fn a_certificate_replaces_neither_table_nor_key_nor_output() {
    let folder = folder(&["2"]);
    let before = fs::read(folder.path("t.tarsia")).unwrap();
    folder.write("key", [7; 32]);
    folder.write("rows", "7");
    fs::hard_link(folder.path("t.tarsia"), folder.path("hard")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.path("t.tarsia"), folder.path("soft")).unwrap();
    let erase = ["erase", "t.tarsia", "--rows", "@rows", "--key", "key"];
    let refused = |args: &[&str]| {
        folder.run(&[&erase[..], args].concat()).fails(2);
        assert_eq!(fs::read(folder.path("t.tarsia")).unwrap(), before);
        assert_eq!(fs::read(folder.path("key")).unwrap(), [7; 32]);
    };
    for path in ["t.tarsia", "./t.tarsia", "hard", "key", "rows"] {
        refused(&["--certificate", path]);
        refused(&["--certificate", "c.json", "--rewrite", path]);
    }
    #[cfg(unix)]
    {
        refused(&["--certificate", "soft"]);
        refused(&["--certificate", "c.json", "--rewrite", "soft"]);
    }
    refused(&["--certificate", "new", "--rewrite", "./new"]);
    // Another table, an older certificate, a device, the standard output.
    folder.write("older", b"{}");
    for path in ["older", "/dev/null", "-"] {
        refused(&["--certificate", path]);
    }
    assert_eq!(folder.read("older"), "{}");
    assert!(!folder.path("-").exists());
    assert!(
        folder.names().iter().all(|name| !name.contains(".tmp")),
        "{:?}",
        folder.names()
    );
    assert!(!folder.path("c.json").exists() && !folder.path("new").exists());
}

#[test]
fn bytes_behind_the_end_are_named_and_no_certificate_covers_them() {
    let folder = folder(&["2"]);
    let original = fs::read(folder.path("t.tarsia")).unwrap();
    certified(&folder, &["--rows", "10..30"]);
    let left = fs::read(folder.path("t.tarsia")).unwrap();
    folder.write("t.tarsia", [&left[..], &original].concat());
    let line = folder.run(&CHECK).fails(1);
    assert!(line.contains("bytes lie behind the end"), "{line}");
    let said = folder.run(&["verify", "t.tarsia"]).ok();
    assert!(said.contains("not checked: "), "{said}");
    let audited = folder.run(&["audit", "t.tarsia", "--json"]).json();
    assert_eq!(audited["clean"], false);
    folder.run(&["recover", "t.tarsia"]).ok();
    assert!(fs::read(folder.path("t.tarsia")).unwrap() == left);
    folder.run(&CHECK).ok();
}

#[test]
fn a_signer_cannot_say_what_the_history_refutes() {
    let folder = folder(&["2"]);
    certified(&folder, &["--rows", "10..30"]);
    let key = tarsia::compliance::certificate::SecretKey::parse(&[7; 32]).unwrap();
    let signed = folder.read("c.json");
    let other = |change: &dyn Fn(&mut Value)| {
        let mut document: Value = serde_json::from_str(&signed).unwrap();
        document.as_object_mut().unwrap().remove("signature");
        change(&mut document);
        let text = document.to_string();
        let parsed = tarsia::compliance::certificate::Certificate::parse(text.as_bytes());
        let mut parsed = parsed.unwrap();
        parsed.sign(&key).unwrap();
        folder.write("c.json", parsed.to_json().unwrap());
        folder.run(&CHECK)
    };
    other(&|_| {}).ok();
    let line = other(&|it| it["new_epoch"] = json!(it["new_epoch"].as_u64().unwrap() + 2)).fails(1);
    assert!(line.contains("epoch"), "{line}");
    let line = other(&|it| it["old_root"] = json!("ab".repeat(32))).fails(1);
    assert!(line.contains("state before"), "{line}");
    let line = other(&|it| it["old_epoch"] = json!(0)).fails(1);
    assert!(line.contains("state before"), "{line}");
}

#[test]
fn an_erasure_behind_an_interrupted_one_says_that_it_finished_it() {
    let folder = folder(&["2"]);
    let options = tarsia::OpenOptions::new();
    let on_busy = tarsia::io::OnBusy::Refuse;
    let eraser = tarsia::Eraser::open(folder.path("t.tarsia"), on_busy, options).unwrap();
    let rows: tarsia::RowSet = (10..30).collect();
    let plan = eraser.plan(&rows, tarsia::ErasureLevel::Erase).unwrap();
    let mut state = Vec::new();
    let mut publish = || {
        state = fs::read(folder.path("t.tarsia")).unwrap();
        Ok(())
    };
    eraser.commit_with(plan, Vec::new(), &mut publish).unwrap();
    folder.write("t.tarsia", &state);
    let said = folder.run(&["erase", "t.tarsia", "--rows", "10..30"]).ok();
    assert!(
        said.contains("an interrupted erasure was finished"),
        "{said}"
    );
    folder.write("t.tarsia", &state);
    let said = folder.run(&["erase", "t.tarsia", "--rows", "10..30", "--json"]);
    assert_eq!(said.json()["recovered"], "finished");
}

#[test]
fn a_file_written_to_the_standard_output_has_no_words_in_it() {
    let folder = folder(&["2"]);
    let args = ["erase", "t.tarsia", "--rows", "7", "--rewrite", "-"];
    let done = folder.command(&args).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let words = String::from_utf8(done.stderr).unwrap();
    assert!(words.contains("erased now"), "{words}");
    folder.write("new.tarsia", done.stdout);
    let audited = folder.run(&["audit", "new.tarsia", "--json"]).json();
    assert_eq!(
        (&audited["clean"], &audited["bytes_behind"]),
        (&json!(true), &json!(0))
    );
}

#[test]
fn a_condition_is_read_from_a_file() {
    let folder = folder(&["2"]);
    let ids: Vec<String> = (0..100_000).map(|id| (id + 95).to_string()).collect();
    folder.write(
        "ids",
        format!("user IN (\n{}\n) AND\n  score = 3\n", ids.join(",\n")),
    );
    let planned = folder.run(&[
        "erase",
        "t.tarsia",
        "--where",
        "@ids",
        "--dry-run",
        "--json",
    ]);
    assert_eq!(
        planned.json()["rows"],
        (4750..5000).filter(|row| row % 7 == 3).count()
    );
    folder.write("bad", "user == 3");
    let line = folder
        .run(&["erase", "t.tarsia", "--where", "@bad"])
        .fails(1);
    assert!(
        line.contains("bad: ") && line.contains("character 6"),
        "{line}"
    );
    let line = folder
        .run(&["erase", "t.tarsia", "--where", "@none"])
        .fails(1);
    assert!(line.contains("none: "), "{line}");
    folder
        .run(&["erase", "t.tarsia", "--where", "@"])
        .code_is(2);
}

#[test]
fn marks_of_direction_do_not_reach_the_terminal() {
    let folder = Folder::default();
    folder.write("t.csv", "a\u{202e}b,c\n1,2\n3,4\n");
    folder
        .run(&["import", "t.csv", "t.tarsia", "--erasure", "1"])
        .ok();
    let marks = ['\u{202e}', '\u{2066}', '\u{200f}', '\u{1b}'];
    let note = "x\u{2066}y\u{200f}\u{1b}[1m";
    let erase = [
        "erase",
        "t.tarsia",
        "--rows",
        "1",
        "--level",
        "1",
        "--certificate",
        "c.json",
        "--note",
        note,
    ];
    for args in [
        &erase[..],
        &["verify-certificate", "c.json", "t.tarsia"],
        &["verify-certificate", "c.json", "t.tarsia", "--json"],
        &["schema", "t.tarsia"],
        &["audit", "t.tarsia"],
        &["erase", "t.tarsia", "--rows", "0", "--level", "1", "--json"],
    ] {
        let done = folder.run(args);
        let said = format!("{}{}", done.stdout, done.stderr);
        assert!(!said.contains(marks), "{args:?}: {said}");
        assert!(
            said.contains("\\u{202e}") || said.contains("\\u202e"),
            "{args:?}: {said}"
        );
    }
    assert_eq!(document(&folder)["note"], note);
}

/// Whatever moment a signal ends the command at: if the rows are erased, the certificate is there, or `recover` writes
/// it. Signals that can be caught leave no temporary file. `TARSIA_KILLS` says how often.
#[test]
fn no_signal_loses_a_certificate() {
    let folder = folder(&["2"]);
    let original = fs::read(folder.path("t.tarsia")).unwrap();
    let erase = ["--where", "score = 3"];
    let started = std::time::Instant::now();
    certified(&folder, &erase);
    let whole = started.elapsed();
    let after = count(&folder);
    let kills = std::env::var("TARSIA_KILLS").ok();
    let kills: u32 = kills.and_then(|text| text.parse().ok()).unwrap_or(30);
    let (mut n_after, mut n_recovered) = (0, 0);
    for kill in 0..kills {
        folder.write("t.tarsia", &original);
        let _ = fs::remove_file(folder.path("c.json"));
        let signal = ["KILL", "TERM", "INT", "HUP"][kill as usize % 4];
        let all = [
            &["erase", "t.tarsia"],
            &erase[..],
            &["--certificate", "c.json", "--key", "key"],
        ];
        let mut command = folder.command(&all.concat());
        let command = command.stdout(std::process::Stdio::null());
        let mut child = command.stderr(std::process::Stdio::null()).spawn().unwrap();
        let part = f64::from(kill * 7919 % kills) / f64::from(kills);
        std::thread::sleep(whole.mul_f64(0.2 + 0.9 * part));
        let pid = child.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &pid]).output();
        sent.unwrap();
        child.wait().unwrap();
        let temporary = |name: &String| name.contains(".tmp");
        if signal == "KILL" {
            folder
                .names()
                .iter()
                .filter(|name| temporary(name))
                .for_each(|name| {
                    fs::remove_file(folder.path(name)).unwrap();
                });
        }
        assert!(
            !folder.names().iter().any(temporary),
            "{signal}: {:?}",
            folder.names()
        );
        let is_after = count(&folder) == after;
        let recover = [
            "recover",
            "t.tarsia",
            "--certificate",
            "again.json",
            "--json",
        ];
        let recovered = folder.run(&recover).json();
        if !is_after {
            assert!(!folder.path("c.json").exists() && !folder.path("again.json").exists());
            continue;
        }
        n_after += 1;
        if recovered["certificate"] == "again.json" {
            n_recovered += 1;
            fs::rename(folder.path("again.json"), folder.path("c.json")).unwrap();
        }
        assert!(folder.run(&CHECK).ok().starts_with("ok: "));
    }
    println!("{n_after} of {kills} erasures counted, {n_recovered} certificates were recovered");
}

/// An erasure that was interrupted behind its commit point: the journal has the certificate.
#[test]
fn recover_writes_the_certificate_of_an_interrupted_erasure() {
    let folder = folder(&["2"]);
    let original = fs::read(folder.path("t.tarsia")).unwrap();
    let interrupted = |record: &[u8]| {
        folder.write("t.tarsia", &original);
        let options = tarsia::OpenOptions::new();
        let on_busy = tarsia::io::OnBusy::Refuse;
        let eraser = tarsia::Eraser::open(folder.path("t.tarsia"), on_busy, options).unwrap();
        let rows: tarsia::RowSet = (10..30).collect();
        let plan = eraser.plan(&rows, tarsia::ErasureLevel::Erase).unwrap();
        let certificate = plan
            .report()
            .certificate("t", "2026-01-31T00:00:00Z", Some("first"));
        let mut certificate = certificate.unwrap();
        certificate
            .sign(&tarsia::compliance::certificate::SecretKey::parse(&[7; 32]).unwrap())
            .unwrap();
        let text = certificate.to_json().unwrap();
        let record = if record.is_empty() {
            Vec::new()
        } else {
            text.clone().into_bytes()
        };
        // What is published sees the file as a crash at this moment would leave it.
        let mut state = Vec::new();
        let mut publish = || {
            state = fs::read(folder.path("t.tarsia")).unwrap();
            Ok(())
        };
        eraser.commit_with(plan, record, &mut publish).unwrap();
        folder.write("t.tarsia", &state);
        let key = certificate.signature.unwrap().public_key.to_string();
        folder.write("public", key);
        text
    };
    folder.write("key", [8; 32]);
    let text = interrupted(b"record");
    assert_eq!(count(&folder), "4980\n");
    let line = folder.run(&["erase", "t.tarsia", "--rows", "50"]).fails(1);
    assert!(line.contains("recover"), "{line}");
    // Refused before anything changes, and then written as it was signed.
    for path in ["t.tarsia", "./t.tarsia"] {
        folder
            .run(&["recover", "t.tarsia", "--certificate", path])
            .fails(2);
    }
    let to_file = ["recover", "t.tarsia", "--certificate", "c.json"];
    let line = folder
        .run(&[&to_file[..], &["--note", "second"]].concat())
        .fails(1);
    assert!(line.contains("--key"), "{line}");
    assert!(!folder.path("c.json").exists());
    // The state before: what readers are shown is not what the file holds.
    let audited = folder.run(&["audit", "t.tarsia", "--json"]).json();
    assert_eq!(
        (&audited["clean"], &audited["erasure_is_pending"]),
        (&json!(false), &json!(true))
    );
    for command in ["audit", "verify", "inspect"] {
        let said = folder.run(&[command, "t.tarsia"]).ok();
        assert!(said.contains("an erasure was interrupted"), "{said}");
    }
    folder.write("c.json", &text);
    let line = folder.run(&CHECK).fails(1);
    assert!(line.contains("recover the file first"), "{line}");
    // The name is taken by something else, or by what the run before it wrote.
    folder.write("c.json", b"{}");
    folder.run(&to_file).fails(1);
    assert_eq!(folder.read("c.json"), "{}");
    folder.write("c.json", &text);
    let said = folder.run(&to_file).ok();
    assert!(said.contains("its certificate was written"), "{said}");
    assert_eq!(folder.read("c.json"), text);
    folder.run(&CHECK).ok();
    assert!(
        folder
            .run(&to_file)
            .ok()
            .contains("there was no erasure to finish")
    );
    // With another note and another key.
    interrupted(b"record");
    fs::remove_file(folder.path("c.json")).unwrap();
    let other = ["--key", "key", "--note", "second", "--json"];
    let said = folder.run(&[&to_file[..], &other].concat()).json();
    assert_eq!(
        (&said["state"], &said["certificate"]),
        (&json!("finished"), &json!("c.json"))
    );
    assert_eq!(document(&folder)["note"], "second");
    folder.run(&CHECK).fails(3);
    // Without the option it is dropped, and that is said.
    interrupted(b"record");
    let said = folder.run(&["recover", "t.tarsia"]).ok();
    assert!(said.contains("which was not written"), "{said}");
    // There was none.
    interrupted(b"");
    fs::remove_file(folder.path("c.json")).unwrap();
    assert!(
        folder
            .run(&to_file)
            .ok()
            .contains("was started without one")
    );
    assert!(!folder.path("c.json").exists());
    assert_eq!(count(&folder), "4980\n");
}

/// The Python in which `scripts/check-certificate.py` runs; `None` where there is none.
fn python() -> Option<Command> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // The target folder may be anywhere; the command lies in a folder of it.
    let target = Path::new(env!("CARGO_BIN_EXE_tarsia")).ancestors().nth(2)?;
    let venv = target.join("certificate-venv/bin/python");
    let works = |program: &Path| {
        let import = ["-c", "import cryptography, blake3"];
        let done = Command::new(program).args(import).output();
        done.is_ok_and(|done| done.status.success())
    };
    let program = [venv.as_path(), Path::new("python3")];
    let program = program.into_iter().find(|program| works(program))?;
    let mut command = Command::new(program);
    command.arg(root.join("scripts/check-certificate.py"));
    Some(command)
}

#[test]
fn a_third_party_checks_it_without_our_code() {
    let folder = folder(&["2", "name=1"]);
    let backup = fs::read(folder.path("t.tarsia")).unwrap();
    let check = || {
        let mut python = python()?;
        python.current_dir(folder.path("."));
        let done = python
            .args(["c.json", "t.tarsia", "public"])
            .output()
            .unwrap();
        let said = String::from_utf8(done.stdout).unwrap();
        Some((done.status.success(), said))
    };
    certified(
        &folder,
        &["--where", "score = 3", "--note", "Zoë \u{202e}x"],
    );
    let Some(found) = check() else {
        println!(
            "skipped: no Python with the packages cryptography and blake3 (scripts/setup-python)"
        );
        return;
    };
    assert_eq!(found, (true, "ok: as the erasure left it\n".to_owned()));
    let left = fs::read(folder.path("t.tarsia")).unwrap();
    let certificate = folder.read("c.json");
    let wrong = |what: &str| {
        let (ok, said) = check().unwrap();
        assert!(!ok && !said.contains("ok"), "{what}: {said}");
    };
    for (from, to) in [
        ("\"level\": 2", "\"level\": 1"),
        ("\"holds_values\": true", "\"holds_values\": false"),
        ("Zoë", "Zoe"),
        ("\"moved\": false", "\"moved\": true"),
    ] {
        folder.write("c.json", certificate.replacen(from, to, 1));
        assert_ne!(folder.read("c.json"), certificate, "{from}");
        wrong(from);
    }
    folder.write("c.json", &certificate);
    let block = document(&folder)["columns"][0]["blocks"][0]["place"]
        .as_u64()
        .unwrap() as usize;
    for place in [20, block + 40, left.len() - 100, left.len() - 30] {
        let mut damaged = left.clone();
        damaged[place] ^= 1;
        folder.write("t.tarsia", damaged);
        wrong(&format!("byte {place}"));
    }
    folder.write("t.tarsia", &backup);
    wrong("the state before");
    for rows in ["0..2000", "2000..5000"] {
        folder
            .run(&["erase", "t.tarsia", "--rows", rows, "--json"])
            .json();
    }
    wrong("a fork");
    folder.write("t.tarsia", &left);
    for rows in ["0..1000", "4500"] {
        folder
            .run(&["erase", "t.tarsia", "--rows", rows, "--json"])
            .json();
        assert_eq!(
            check(),
            Some((true, "ok: erased further since\n".to_owned()))
        );
    }
    assert!(count(&folder).trim().parse::<u64>().unwrap() < 4000);
}
