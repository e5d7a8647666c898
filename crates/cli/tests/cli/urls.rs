//! URLs in the default build: those of local files are local files, others are refused in one line.

use crate::run::Folder;

fn folder() -> Folder {
    let folder = Folder::default();
    folder.write("t.csv", "n,s\n1,one\n2,\n3,three\n");
    folder.run(&["import", "t.csv", "t.tarsia"]).ok();
    folder
}

#[test]
fn urls_of_stores_are_refused_with_a_word_about_the_build_that_knows_them() {
    let folder = folder();
    for url in [
        "s3://b/t.tarsia",
        "https://host/t.tarsia?sig=SECRET",
        "ftp://h/y",
    ] {
        for args in [
            &["schema", url][..],
            &["head", url],
            &["take", url, "--rows", "0"],
            &["scan", url],
            &["inspect", url],
            &["verify", "--json", url],
            &["audit", url],
            &["export", url, "t.csv"],
            &["export", "t.tarsia", url, "--format", "csv"],
            &["import", "t.csv", url],
            &["import", "t.csv", "u.tarsia", "--like", url],
            &["compact", url, "c.tarsia"],
            &["compact", "t.tarsia", url],
            &["reorder", url, "c.tarsia", "--columns", "n"],
            &["reorder", "t.tarsia", url, "--columns", "n"],
            &["erase", url, "--rows", "1", "--dry-run"],
            &["erase", url, "--rows", "1", "--rewrite", "e.tarsia"],
        ] {
            let done = folder.run(args);
            assert_eq!(done.stdout, "", "{args:?}");
            let line = done.fails(2);
            let what = "this build reads and writes local files alone; `cargo install --path";
            assert!(line.contains(what), "{args:?}: {line}");
            assert!(!line.contains("SECRET"), "{line}");
        }
    }
}

#[test]
fn what_has_to_be_local_is_named() {
    let folder = folder();
    let url = "https://host/a?sig=SECRET";
    for (args, what) in [
        (&["import", url, "u.tarsia"][..], "has to be a local one"),
        (&["explain", url], "has to be a local one"),
        (
            &["verify-certificate", url, "t.tarsia"],
            "has to be a local one",
        ),
        (
            &["erase", url, "--rows", "1"],
            "cannot be changed in place; --rewrite",
        ),
        (&["recover", url], "cannot be changed in place; download"),
        (&["scan", url, "--map"], "--map is for local files"),
        (
            &["take", "t.tarsia", "--rows", "@https://host/a?sig=SECRET"],
            "has to be a local file",
        ),
        (
            &["erase", "t.tarsia", "--where", "@https://host/a?sig=SECRET"],
            "has to be a local file",
        ),
        (
            &["erase", "t.tarsia", "--rows", "1", "--certificate", url],
            "has to be a local one",
        ),
        (
            &[
                "erase",
                "t.tarsia",
                "--rows",
                "1",
                "--certificate",
                "c",
                "--key",
                url,
            ],
            "has to be a local one",
        ),
        (&["schema", "t.tarsia", url], "unexpected argument"),
    ] {
        let line = folder.run(args).fails(2);
        assert!(line.contains(what), "{args:?}: {line}");
        assert!(!line.contains("SECRET"), "{line}");
    }
}

#[test]
fn urls_of_local_files_are_local_files() {
    let folder = folder();
    let url = |name: &str| format!("file://{}/{name}", folder.root().display());
    folder
        .run(&["import", &url("t.csv"), &url("a%20b.tarsia")])
        .ok();
    let rows = folder.run(&["scan", "a b.tarsia", "--json"]).ok();
    assert_eq!(
        folder.run(&["scan", &url("a%20b.tarsia"), "--json"]).ok(),
        rows
    );
    folder.write("rows", "2,0");
    let at = format!("@{}", url("rows"));
    let taken = folder
        .run(&["take", &url("t.tarsia"), "--rows", &at, "--json"])
        .ok();
    assert!(taken.contains("three"), "{taken}");
    let line = folder.run(&["import", "t.csv", &url("t.csv")]).fails(2);
    assert!(line.contains("t.csv: the file to write would be"), "{line}");
    let line = folder
        .run(&["export", "t.tarsia", &url("t.tarsia"), "--format", "csv"])
        .fails(2);
    assert!(line.contains("is the file that is read"), "{line}");
    let line = folder.run(&["scan", "file://elsewhere/t.tarsia"]).fails(2);
    assert!(line.contains("no absolute path of this machine"), "{line}");
}
