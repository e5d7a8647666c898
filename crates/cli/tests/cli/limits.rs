//! The command where a process may not reserve much address space.

use std::process::Command;

use crate::run::{Folder, small_table_without};

/// Less than one instance of a kernel takes, and enough for everything else.
const ADDRESSES_KIB: &str = "2000000";

/// Runs the command under `ulimit -v`; its exit code, output and errors.
fn limited(folder: &Folder, args: &[&str]) -> (Option<i32>, String, String) {
    let mut shell = Command::new("sh");
    let script = format!("ulimit -v {ADDRESSES_KIB} && exec \"$0\" \"$@\"");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_tarsia")]);
    let output = shell.args(args).current_dir(folder.path(".")).output();
    let output = output.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn native_decoders_need_no_addresses_for_kernels() {
    let folder = Folder::default();
    let (schema, batches) = small_table_without(&["raw"]);
    folder.import(&schema, &batches);
    let scan = ["scan", "t.tarsia", "--json"];
    let rows = folder.run(&scan).ok();
    assert_eq!(
        limited(&folder, &scan),
        (Some(0), rows.clone(), String::new())
    );
    for args in [
        &["verify", "t.tarsia"][..],
        &["inspect", "t.tarsia"],
        &["take", "t.tarsia", "--rows", "4,0"],
        &["export", "t.tarsia", "t.csv"],
        &["import", "t.csv", "u.tarsia"],
    ] {
        let (code, _, stderr) = limited(&folder, args);
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{args:?}");
    }
    let forced = [&scan[..], &["--force-kernels"]].concat();
    assert_eq!(folder.run(&forced).ok(), rows);
    let (code, stdout, stderr) = limited(&folder, &forced);
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    for what in [
        "error: t.tarsia: column `id`, page 0: ",
        "the process may not reserve 4 GiB of addresses",
        "`ulimit -v unlimited`",
        "or decode natively",
    ] {
        assert!(stderr.contains(what), "{stderr}");
    }
    assert!(!stderr.contains("not a kernel"), "{stderr}");
}
