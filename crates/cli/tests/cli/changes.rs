//! Files that another program changes while they are read.

use std::io::Read;
use std::os::unix::fs::FileExt;
use std::process::Stdio;

use crate::run::Folder;

/// Rows that take far more text than a pipe and the batches that are read ahead hold.
fn folder() -> Folder {
    let folder = Folder::default();
    let mut state = 7_u64;
    let mut text = String::from("a,b\n");
    for i in 0..600_000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        text += &format!("{i},{state}\n");
    }
    folder.write("t.csv", text);
    folder.run(&["import", "t.csv", "t.tarsia"]).ok();
    folder
}

/// Reads the first rows of a scan, lets `change` work on the file, and reads the rest; the error of the scan.
fn change_while_scanned(change: impl Fn(&std::fs::File)) -> String {
    let folder = folder();
    let mut command = folder.command(&["scan", "t.tarsia", "--json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    let mut rows = child.stdout.take().unwrap();
    rows.read_exact(&mut [0; 1000]).unwrap();
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(folder.path("t.tarsia"));
    change(&file.unwrap());
    let mut rest = Vec::new();
    rows.read_to_end(&mut rest).unwrap();
    let done = child.wait_with_output().unwrap();
    let line = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(1), "{line}");
    assert!(
        line.starts_with("error: t.tarsia: ") && line.lines().count() == 1,
        "{line}"
    );
    line
}

/// A map of the file would end the process by SIGBUS.
#[test]
fn a_file_that_is_cut_short_while_it_is_scanned_is_an_error() {
    let line = change_while_scanned(|file| file.set_len(4096).unwrap());
    assert!(line.contains("changed"), "{line}");
}

#[test]
fn a_file_that_is_overwritten_while_it_is_scanned_is_an_error() {
    let line = change_while_scanned(|file| {
        let len = file.metadata().unwrap().len();
        file.write_all_at(&vec![0x55; 1 << 20], len / 2).unwrap();
    });
    assert!(line.contains("changed"), "{line}");
}

/// As the writers of Tarsia do it: who reads the old file keeps it.
#[test]
fn a_file_that_is_replaced_while_it_is_scanned_is_read_to_its_end() {
    let folder = folder();
    let mut command = folder.command(&["scan", "t.tarsia", "--json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut rows = child.stdout.take().unwrap();
    let mut text = vec![0; 1000];
    rows.read_exact(&mut text).unwrap();
    folder.write("small.csv", "a,b\n1,2\n");
    folder.run(&["import", "small.csv", "t.tarsia"]).ok();
    rows.read_to_end(&mut text).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(text.iter().filter(|byte| **byte == b'\n').count(), 600_000);
}
