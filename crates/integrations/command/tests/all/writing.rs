//! Commands that write: files appear in a store when they are complete, and nothing is left of others.

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tarsia_store_testing::{Fault, Server};

use crate::run::{Done, Folder, csv, csv_of_parts, served};

fn rows(folder: &Folder, file: &str) -> String {
    folder.run(&["scan", file, "--json"]).ok()
}

#[test]
fn what_is_imported_to_a_store_is_what_was_imported() {
    let (server, folder) = served();
    let url = "s3://bucket/new/day-1.tarsia";
    let said = folder.run(&["import", "t.csv", url]).ok();
    assert!(said.contains("rows       30000\n"), "{said}");
    folder.run(&["verify", url]).ok();
    assert!(rows(&folder, url) == rows(&folder, "t.tarsia"));
    let bytes = server.content("/bucket/new/day-1.tarsia").unwrap();
    assert_eq!(bytes.len(), folder.bytes("t.tarsia").len());

    folder.run(&["export", url, "s3://bucket/t.csv"]).ok();
    assert!(*server.content("/bucket/t.csv").unwrap() == folder.bytes("t.csv"));
    folder.run(&["compact", url, "s3://bucket/c.tarsia"]).ok();
    assert!(rows(&folder, "s3://bucket/c.tarsia") == rows(&folder, url));
    assert_eq!(server.n_uploads(), 0);
    // A server that takes whole files.
    folder
        .run(&["import", "t.csv", &server.url("/put.tarsia")])
        .ok();
    folder.run(&["verify", &server.url("/put.tarsia")]).ok();
}

#[test]
fn rows_are_erased_by_writing_another_object() {
    let folder = Folder::with_table();
    let server = Server::new();
    let folder = folder.of_endpoint(server.url(""));
    let (old, new) = ("s3://bucket/e.tarsia", "s3://bucket/n.tarsia");
    folder.run(&["import", "t.csv", old, "--erasure", "2"]).ok();
    let said = folder
        .run(&["erase", old, "--where", "id = 5", "--dry-run"])
        .ok();
    assert!(said.contains("nothing was changed (--dry-run)"), "{said}");
    let line = folder.run(&["erase", old, "--where", "id = 5"]).fails(2);
    assert!(
        line.contains("cannot be changed in place; --rewrite"),
        "{line}"
    );
    let line = folder.run(&["recover", old]).fails(2);
    assert!(line.contains("cannot be changed in place"), "{line}");
    let same = ["erase", old, "--where", "id = 5", "--rewrite", old];
    let line = folder.run(&same).fails(2);
    assert!(line.contains("is the file that is read"), "{line}");
    let erase = [
        "erase",
        old,
        "--where",
        "id = 5",
        "--rewrite",
        new,
        "--certificate",
        "c.json",
    ];
    assert_eq!(folder.run(&erase).code, Some(0));
    let left = rows(&folder, new);
    assert!(left.lines().count() == 29_999 && !left.contains("{\"id\":5,"));
    let audit = folder.run(&["audit", new, "--json"]).ok();
    let audit: serde_json::Value = serde_json::from_str(&audit).unwrap();
    assert_eq!(
        (&audit["clean"], &audit["erased_rows"]),
        (&true.into(), &1.into())
    );
    // Unsigned, but true.
    let done = folder.run(&["verify-certificate", "c.json", new]);
    assert_eq!(done.code, Some(3), "{done:?}");
    let to_store = [
        "erase",
        old,
        "--rows",
        "1",
        "--rewrite",
        new,
        "--certificate",
        "s3://bucket/c",
    ];
    let line = folder.run(&to_store).fails(2);
    assert!(line.contains("has to be a local one"), "{line}");
}

#[test]
fn an_import_that_fails_leaves_nothing() {
    let server = Server::new();
    let folder = Folder::new().of_endpoint(server.url(""));
    // The first part is full when the last line is read.
    let text = csv(1_200_000) + "x,y,z\n";
    std::fs::write(folder.path("bad.csv"), text).unwrap();
    let args = [
        "import",
        "bad.csv",
        "s3://bucket/t.tarsia",
        "--preset",
        "fast",
    ];
    let line = folder.run(&args).fails(1);
    assert!(line.contains("bad.csv: "), "{line}");
    let began = server
        .requests()
        .iter()
        .any(|it| it.target.contains("?uploads"));
    assert!(began);
    assert_eq!(server.n_uploads(), 0);
    assert!(server.content("/bucket/t.tarsia").is_none());
}

#[test]
fn a_store_that_refuses_a_part_is_named() {
    let server = Server::new();
    let folder = Folder::new().of_endpoint(server.url(""));
    std::fs::write(folder.path("t.csv"), csv_of_parts()).unwrap();
    server.fail(|request| match request.target.contains("partNumber") {
        true => Fault::Status(403),
        false => Fault::None,
    });
    let args = [
        "import",
        "t.csv",
        "s3://bucket/t.tarsia",
        "--preset",
        "fast",
    ];
    let line = folder.run(&args).fails(1);
    let expected = "error: s3://bucket/t.tarsia: no permission: status 403";
    assert!(
        line.starts_with(expected) && !line.contains("SECRET"),
        "{line}"
    );
    assert_eq!(server.n_uploads(), 0);
    assert!(server.content("/bucket/t.tarsia").is_none());
}

/// A signal in the middle of an upload, whose parts do not come to their end, has it given up. Shells have what runs in
/// the background ignore SIGINT.
#[cfg(unix)]
#[test]
fn a_signal_gives_the_upload_up() {
    let server = Server::new();
    let folder = Folder::new().of_endpoint(server.url(""));
    std::fs::write(folder.path("t.csv"), csv_of_parts()).unwrap();
    server.fail(|request| match request.target.contains("partNumber") {
        true => Fault::StallBefore,
        false => Fault::None,
    });
    let has_part = || {
        let requests = server.requests();
        requests.iter().any(|it| it.target.contains("partNumber"))
    };
    let args = [
        "import",
        "t.csv",
        "s3://bucket/t.tarsia",
        "--preset",
        "fast",
    ];
    let mut command = folder.command(&args);
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let began = Instant::now();
    while !has_part() {
        assert!(
            began.elapsed() < Duration::from_secs(120),
            "no part is sent"
        );
        thread::sleep(Duration::from_millis(20));
    }
    let signal = ["-TERM", &child.id().to_string()];
    assert!(
        Command::new("kill")
            .args(signal)
            .status()
            .unwrap()
            .success()
    );
    let signalled = Instant::now();
    let done = Done::from(child.wait_with_output().unwrap());
    assert!(signalled.elapsed() < Duration::from_secs(10));
    assert_eq!((done.code, done.stderr.as_str()), (None, ""), "{done:?}");
    assert_eq!(server.n_uploads(), 0);
    assert!(server.content("/bucket/t.tarsia").is_none());
}
