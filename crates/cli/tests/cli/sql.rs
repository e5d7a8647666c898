//! `tarsia sql` runs another program.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

/// Runs a copy of the program, beside which nothing else lies.
fn run(folder: &Path, path: &Path) -> Output {
    let program = folder.join("tarsia");
    if !program.exists() {
        std::fs::copy(env!("CARGO_BIN_EXE_tarsia"), &program).unwrap();
    }
    let mut command = Command::new(program);
    command.args(["sql", "select 1", "--format", "csv"]);
    command.env("PATH", path).output().unwrap()
}

fn write_program(path: &Path, says: &str) {
    std::fs::write(path, format!("#!/bin/sh\necho {says} \"$@\"\nexit 7\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_program_that_is_not_installed_is_told_how_to_install() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), folder.path());
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(
        error.starts_with("error: tarsia-sql is not installed"),
        "{error}"
    );
    assert!(error.contains("cargo install --path crates/integrations/sql"));
}

#[test]
fn the_program_beside_comes_before_one_on_the_path() {
    let folder = tempfile::tempdir().unwrap();
    let on_path = tempfile::tempdir().unwrap();
    write_program(&on_path.path().join("tarsia-sql"), "path");
    let output = run(folder.path(), on_path.path());
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(output.stdout, b"path select 1 --format csv\n");
    write_program(&folder.path().join("tarsia-sql"), "beside");
    let output = run(folder.path(), on_path.path());
    assert_eq!(output.stdout, b"beside select 1 --format csv\n");
}
