//! Failures of URLs: one line, the right exit code, nothing secret, and no wait without end.

use std::time::{Duration, Instant};

use tarsia_store_testing::Fault;

use crate::run::{Folder, served};

#[test]
fn wrong_urls_are_wrong_usage() {
    let folder = Folder::with_table();
    for (url, what) in [
        ("s3://", "no name of a bucket"),
        ("s3://bucket", "it names no object"),
        ("s3://bucket/a//b", "empty part"),
        ("ftp://host/a", "unknown kind of store"),
        ("https://me:PASSWORD@host/a", "user names and passwords"),
        ("https://host/?X-Amz-Signature=SECRET", "it names no object"),
    ] {
        for args in [
            &["scan", url][..],
            &["import", "t.csv", url],
            &["verify", "--json", url],
            &["compact", url, "c.tarsia"],
        ] {
            let done = folder.run(args);
            assert!(done.stdout.is_empty(), "{done:?}");
            let line = done.fails(2);
            assert!(line.contains(what), "{args:?}: {line}");
            assert!(
                !line.contains("PASSWORD") && !line.contains("SECRET"),
                "{line}"
            );
        }
    }
}

#[test]
fn files_of_other_formats_are_local() {
    let (server, folder) = served();
    for args in [
        &["import", "s3://bucket/t.csv", "u.tarsia"][..],
        &["explain", "https://host/t.csv?sig=SECRET"],
        &["verify-certificate", "s3://bucket/c.json", "t.tarsia"],
    ] {
        let line = folder.run(args).fails(2);
        assert!(line.contains("has to be a local one"), "{args:?}: {line}");
        assert!(!line.contains("SECRET"), "{line}");
    }
    let line = folder
        .run(&["scan", "s3://bucket/t.tarsia", "--map"])
        .fails(2);
    assert!(line.contains("--map is for local files"), "{line}");
    let rows = [
        "take",
        "t.tarsia",
        "--rows",
        "@https://host/rows?sig=SECRET",
    ];
    let line = folder.run(&rows).fails(2);
    assert!(
        line.contains("has to be a local file") && !line.contains("SECRET"),
        "{line}"
    );
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn what_is_missing_or_forbidden_is_named() {
    let (server, folder) = served();
    let missing = server.url("/no.tarsia?sig=SECRET");
    let shown = server.url("/no.tarsia?…");
    let line = folder.run(&["head", &missing]).fails(1);
    assert_eq!(line, format!("error: {shown}: not found\n"));
    let line = folder.run(&["head", "s3://bucket/no.tarsia"]).fails(1);
    assert_eq!(line, "error: s3://bucket/no.tarsia: not found\n");
    let done = folder.run(&["verify", "s3://bucket/no.tarsia", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(document["ok"], false);
    assert_eq!(document["error"], "s3://bucket/no.tarsia: not found");
    done.fails(1);

    server.fail(|_| Fault::Status(403));
    for url in [&server.url("/t.tarsia"), "s3://bucket/t.tarsia"] {
        let line = folder.run(&["scan", url]).fails(1);
        let expected = format!("error: {url}: no permission: status 403");
        assert!(
            line.starts_with(&expected) && !line.contains("SECRET"),
            "{line}"
        );
    }
    let import = ["import", "t.csv", "s3://bucket/n.tarsia"];
    let line = folder.run(&import).fails(1);
    assert!(
        line.starts_with("error: s3://bucket/n.tarsia: no permission"),
        "{line}"
    );
}

#[test]
fn an_object_that_changes_is_named_and_no_row_of_another_is_shown() {
    let (server, folder) = served();
    // As a server answers whose object has another ETag than the one that was opened.
    server.fail(|request| match request.header("if-match") {
        Some(_) => Fault::Status(412),
        None => Fault::None,
    });
    for url in [&server.url("/t.tarsia"), "s3://bucket/t.tarsia"] {
        let done = folder.run(&["scan", url, "--columns", "hash", "--json"]);
        assert!(done.stdout.is_empty());
        let line = done.fails(1);
        assert!(line.contains(url) && line.contains("was changed"), "{line}");
    }
}

#[test]
fn what_is_no_tarsia_file_is_named() {
    let (server, folder) = served();
    server.put("/t.csv", folder.bytes("t.csv"), None);
    server.put("/empty", Vec::new(), None);
    for name in ["/t.csv", "/empty"] {
        let url = server.url(name);
        let line = folder.run(&["schema", &url]).fails(1);
        assert!(line.starts_with(&format!("error: {url}: ")), "{line}");
    }
}

#[test]
fn a_server_that_is_not_there_is_not_waited_for_long() {
    let folder = Folder::new();
    let began = Instant::now();
    // Nothing listens at a port that was just free.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/t.tarsia", free.local_addr().unwrap());
    drop(free);
    let line = folder.run(&["scan", &url]).fails(1);
    assert!(
        line.starts_with(&format!("error: {url}: no connection")),
        "{line}"
    );
    assert!(began.elapsed() < Duration::from_secs(20));
}
