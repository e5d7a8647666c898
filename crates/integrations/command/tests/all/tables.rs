//! Tables at URLs.

use tarsia_store_testing::{Moto, Server};

use crate::run::Folder;

fn folder(endpoint: String) -> Folder {
    let folder = Folder::new().of_endpoint(endpoint);
    std::fs::write(folder.path("a.csv"), "country,clicks\nNL,3\nBE,9\n").unwrap();
    std::fs::write(folder.path("b.csv"), "country,clicks\nNL,5\n").unwrap();
    folder
}

/// A table's life in a bucket, and copies from and to a folder.
fn life(folder: &Folder) {
    let url = "s3://bucket/tables/ads";
    let count = |table: &str, at: &str| {
        let args = ["table", "scan", table, "--at", at, "--count"];
        folder.run(&args).ok()
    };
    let create = [
        "table",
        "create",
        url,
        "--like",
        "a.csv",
        "--partition-by",
        "country",
    ];
    folder.run(&create).ok();
    let line = folder.run(&create).fails(2);
    assert!(line.contains("a table already"), "{line}");
    folder.run(&["table", "append", url, "a.csv"]).ok();
    folder.run(&["table", "branch", url, "exp"]).ok();
    folder
        .run(&["table", "append", url, "b.csv", "--branch", "exp"])
        .ok();
    folder
        .run(&["table", "delete", url, "--where", "clicks = 9"])
        .ok();
    folder.run(&["table", "merge", url, "exp"]).ok();
    folder.run(&["table", "tag", url, "v1"]).ok();
    assert_eq!(count(url, "tag:v1"), "2\n");
    assert_eq!(count(url, "main~2"), "2\n");
    folder.run(&["table", "pin", url, "main"]).ok();
    folder
        .run(&["table", "protect", url, "main", "--rule", "no-reset"])
        .ok();
    folder.run(&["table", "reset", url, "main~1"]).fails(1);
    let report = folder.run(&["table", "gc", url, "--json"]).ok();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["removed_objects"], 0);
    folder.run(&["table", "fsck", url, "--digests"]).ok();

    folder.run(&["table", "copy", url, "copy"]).ok();
    assert_eq!(count("copy", "main"), "2\n");
    folder
        .run(&["table", "copy", "copy", "s3://bucket/back"])
        .ok();
    folder
        .run(&["table", "fsck", "s3://bucket/back", "--digests"])
        .ok();
    assert_eq!(count("s3://bucket/back", "tag:v1"), "2\n");
    let line = folder.run(&["table", "log", "s3://bucket/none"]).fails(1);
    assert!(line.contains("there is no table"), "{line}");
}

#[test]
fn tables_live_in_buckets() {
    let server = Server::new();
    life(&folder(server.url("")));
    assert!(server.content("/bucket/tables/ads/TABLE").is_some());
}

#[test]
fn tables_live_in_buckets_of_moto() {
    let Some(moto) = Moto::start() else { return };
    life(&folder(moto.endpoint()));
}

#[test]
fn servers_that_cannot_create_have_no_tables() {
    let server = Server::new();
    let folder = folder(server.url(""));
    let url = server.url("/tables/ads");
    let line = folder
        .run(&["table", "create", &url, "--like", "a.csv"])
        .fails(1);
    assert!(
        line.contains("only if there is none of that name"),
        "{line}"
    );
    folder
        .run(&["table", "create", "s3://bucket/t", "--like", "a.csv"])
        .ok();
    // A table that is served by HTTP is not written to.
    let url = server.url("/bucket/t");
    let line = folder.run(&["table", "append", &url, "a.csv"]).fails(1);
    assert!(
        line.contains("only if there is none of that name"),
        "{line}"
    );
}
