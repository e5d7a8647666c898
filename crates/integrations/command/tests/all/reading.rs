//! Commands that read: they say of a URL what they say of the local file.

use tarsia_store_testing::Fault;

use crate::run::{Folder, ROWS, served};

/// The lines that commands print of the file, without the times that they took.
fn said(folder: &Folder, command: &[&str], file: &str) -> String {
    let args: Vec<&str> = command
        .iter()
        .map(|arg| if *arg == "FILE" { file } else { arg })
        .collect();
    let text = folder.run(&args).done();
    let lines = text.lines().filter(|line| {
        let is_time = line.starts_with("seconds") || line.starts_with("GB/s");
        !is_time
    });
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    text.replace(file, "FILE")
}

#[test]
fn commands_say_of_a_url_what_they_say_of_the_file() {
    let (server, folder) = served();
    let http = server.url("/t.tarsia");
    for command in [
        &["schema", "FILE"][..],
        &["schema", "FILE", "--json"],
        &["head", "FILE"],
        &["head", "FILE", "-n", "3", "--columns", "word", "--json"],
        &["take", "FILE", "--rows", "29999,5,5,17000"],
        &["scan", "FILE"],
        &["scan", "FILE", "--json", "--rows", "15000..15100"],
        &["scan", "FILE", "--force-kernels", "--columns", "hash"],
        &["scan", "FILE", "--count"],
        &["inspect", "FILE"],
        &["inspect", "FILE", "--column", "hash", "--json"],
        &["verify", "FILE"],
        &["verify", "FILE", "--digests", "--json"],
        &["verify", "FILE", "--column", "word", "--page", "0"],
        &["audit", "FILE", "--json"],
        &["export", "FILE", "-", "--format", "csv", "--rows", "10..20"],
    ] {
        let local = said(&folder, command, "t.tarsia");
        for url in [&http, "s3://bucket/t.tarsia"] {
            assert_eq!(said(&folder, command, url), local, "{command:?} {url}");
        }
    }
    let written = said(&folder, &["compact", "FILE", "c.tarsia"], &http);
    assert!(
        written.contains(&format!("rows          {ROWS}\n")),
        "{written}"
    );
    let like = ["import", "t.csv", "l.tarsia", "--like", &http];
    folder.run(&like).ok();
    for copy in ["c.tarsia", "l.tarsia"] {
        let rows = |file: &str| folder.run(&["scan", file, "--json"]).ok();
        assert!(rows(copy) == rows("t.tarsia"), "{copy}");
    }
}

#[test]
fn urls_of_local_files_are_local_files() {
    let folder = Folder::with_table();
    let url = format!("file://{}", folder.path("a%20b.tarsia").display());
    folder.run(&["import", "t.csv", &url]).ok();
    let rows = folder.run(&["scan", "a b.tarsia", "--json"]).ok();
    assert!(folder.run(&["scan", &url, "--json"]).ok() == rows);
    folder
        .run(&["erase", &url, "--rows", "1", "--level", "1"])
        .done();
    let line = folder.run(&["scan", "file://elsewhere/a"]).fails(2);
    assert!(line.contains("no absolute path of this machine"), "{line}");
}

#[test]
fn few_requests_are_made() {
    let (server, folder) = served();
    let url = server.url("/t.tarsia");
    let requests = |args: &[&str]| {
        let before = server.requests().len();
        folder.run(args).ok();
        server.requests().len() - before
    };
    assert_eq!(requests(&["scan", &url, "--count"]), 1);
    let bytes = folder.bytes("t.tarsia").len();
    for args in [
        &["scan", &url][..],
        &["take", &url, "--rows", "7,20000"],
        &["inspect", &url],
        &["verify", &url],
        &["verify", "--digests", &url],
        &["audit", &url],
    ] {
        let n = requests(args);
        println!("{args:?}: {n} requests of {bytes} bytes");
        // One for each block, of about 8 KiB, would be three times as many.
        assert!(n <= bytes / (24 << 10), "{args:?}: {n} requests");
    }
}

/// `python -m http.server` is one.
#[test]
fn a_server_without_ranges_sends_small_files_whole() {
    let (server, folder) = served();
    server.fail(|_| Fault::NoRanges);
    let rows = folder.run(&["scan", "t.tarsia", "--json"]).ok();
    let url = server.url("/t.tarsia");
    assert!(folder.run(&["scan", &url, "--json"]).ok() == rows);
    server.put("/large", vec![0; 9 << 20], None);
    let line = folder.run(&["scan", &server.url("/large")]).fails(1);
    assert!(line.contains("ignores ranges"), "{line}");
}
