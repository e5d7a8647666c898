//! Several files that one import reads.

use crate::run::Folder;

/// A table of text, in CSV.
fn csv(first: usize) -> String {
    let row = |i: usize| {
        format!(
            "{i},the {}th of many words that all files have\n",
            i * i % 97
        )
    };
    let rows: String = (first..first + 900).map(row).collect();
    format!("number,text\n{rows}")
}

fn folder() -> Folder {
    let folder = Folder::default();
    for (name, first) in [("a.csv", 0), ("b.csv", 900), ("c.d.csv", 5_000)] {
        folder.write(name, csv(first));
    }
    std::fs::create_dir(folder.path("out")).unwrap();
    folder
}

#[test]
fn each_file_becomes_one_in_the_folder() {
    let folder = folder();
    let done = folder.run(&["import", "a.csv", "b.csv", "c.d.csv", "out"]);
    let said = done.ok();
    for (name, first) in [("a", 0), ("b", 900), ("c.d", 5_000)] {
        let path = format!("out/{name}.tarsia");
        assert!(said.contains(&path), "{said}");
        folder.run(&["verify", &path]).ok();
        folder.run(&["export", &path, "back.csv"]).ok();
        let back = std::fs::read_to_string(folder.path("back.csv")).unwrap();
        assert_eq!(back, csv(first));
    }
    // A folder is one for a single file, too.
    std::fs::create_dir(folder.path("one")).unwrap();
    folder.run(&["import", "a.csv", "one/"]).ok();
    folder.run(&["verify", "one/a.tarsia"]).ok();
}

#[test]
fn what_cannot_be_is_said_before_anything_is_written() {
    let folder = folder();
    std::fs::create_dir(folder.path("more")).unwrap();
    folder.write("more/a.csv", csv(3));
    for (args, expected) in [
        (
            vec!["a.csv", "more/a.csv", "out"],
            "a.csv and more/a.csv would both become a.tarsia",
        ),
        (vec!["a.csv", "b.csv", "t.tarsia"], "t.tarsia: is no folder"),
        (
            vec!["a.csv", "b.csv", "none/"],
            "none/: there is no such folder",
        ),
        (vec!["a.csv", "b.csv", "-"], "-: is no folder"),
    ] {
        let line = folder.run(&[vec!["import"], args].concat()).fails(2);
        assert!(line.contains(expected), "{line}");
    }
    assert!(
        std::fs::read_dir(folder.path("out"))
            .unwrap()
            .next()
            .is_none()
    );
}

#[test]
fn files_before_one_that_fails_are_whole() {
    let folder = folder();
    folder.write("bad.csv", "number,text\n1,2,3\n");
    let line = folder.run(&["import", "a.csv", "bad.csv", "b.csv", "out"]);
    assert_eq!(line.code, 1, "{line:?}");
    assert!(line.stderr.contains("bad.csv"), "{line:?}");
    folder.run(&["verify", "out/a.tarsia"]).ok();
    assert!(!folder.path("out/bad.tarsia").exists() && !folder.path("out/b.tarsia").exists());
}
