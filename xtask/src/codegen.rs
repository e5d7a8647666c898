//! Rust code from the FlatBuffers schemas in `fbs/`.
//!
//! The code is committed, so that building needs neither C++ nor a download. Each generated file carries the BLAKE3 of
//! its schema: [`check_digest`] finds stale code without flatc, [`check`] compares with what flatc makes.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::outcome::Outcome;
use crate::process;

/// Schemas in `fbs/`, and the folder that has the module made of each.
const SCHEMAS: [(&str, &str); 3] = [
    ("footer", "crates/metadata/src/generated"),
    ("column", "crates/metadata/src/generated"),
    ("table", "crates/table-meta/src/generated"),
];
const DIGEST_PREFIX: &str = "// source-blake3: ";
const REPAIR: &str = "run `cargo xtask codegen` and commit what it writes";

/// Regenerates and writes.
pub(crate) fn write(root: &Path) -> Outcome {
    let Some(flatc) = flatc(root, "codegen", &[])? else {
        return Ok(());
    };
    for (schema, folder) in SCHEMAS {
        let path = generated_path(root, folder, schema);
        let code = generate(&flatc, root, schema)?;
        fs::write(&path, code).map_err(|error| format!("{}: {error}", path.display()))?;
        println!(
            "wrote {}",
            path.strip_prefix(root).unwrap_or(&path).display()
        );
    }
    Ok(())
}

/// Regenerates and compares.
pub(crate) fn check(root: &Path) -> Outcome {
    let Some(flatc) = flatc(root, "codegen", &["--check"])? else {
        return Ok(());
    };
    for (schema, folder) in SCHEMAS {
        let path = generated_path(root, folder, schema);
        let committed = read(&path)?;
        let made = generate(&flatc, root, schema)?;
        if let Some(difference) = first_difference(&committed, &made) {
            return Err(format!(
                "{folder}/{schema}.rs is not what flatc makes of fbs/{schema}.fbs: {difference}\n\
                 repair: {REPAIR}"
            ));
        }
    }
    println!("the generated code is fresh");
    Ok(())
}

/// Compares the digests that the generated files carry with the schemas.
pub(crate) fn check_digest(root: &Path) -> Outcome {
    for (schema, folder) in SCHEMAS {
        let stored = read(&generated_path(root, folder, schema))?;
        let stored = stored
            .lines()
            .find_map(|line| line.strip_prefix(DIGEST_PREFIX));
        let source = read(&schema_path(root, schema))?;
        if stored != Some(digest(&source).as_str()) {
            return Err(format!(
                "{folder}/{schema}.rs was made from another fbs/{schema}.fbs\nrepair: {REPAIR}"
            ));
        }
    }
    Ok(())
}

fn schema_path(root: &Path, schema: &str) -> PathBuf {
    root.join("fbs").join(schema).with_extension("fbs")
}

fn generated_path(root: &Path, folder: &str, schema: &str) -> PathBuf {
    root.join(folder).join(schema).with_extension("rs")
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Hashes the text with Unix line ends, so that a checkout on Windows agrees.
fn digest(source: &str) -> String {
    blake3::hash(source.replace("\r\n", "\n").as_bytes())
        .to_hex()
        .to_string()
}

/// Where the first line differs, and how.
fn first_difference(committed: &str, made: &str) -> Option<String> {
    let (mut old, mut new) = (committed.lines(), made.lines());
    for line in 1.. {
        match (old.next(), new.next()) {
            (None, None) => return None,
            (old, new) if old != new => {
                return Some(format!(
                    "line {line}\n  committed: {}\n  flatc:     {}",
                    old.unwrap_or("(end of file)"),
                    new.unwrap_or("(end of file)")
                ));
            }
            _ => {}
        }
    }
    None
}

/// Where flatc is; `None` where another run of this program, which has it, did the task.
#[cfg(feature = "codegen")]
fn flatc(_root: &Path, _task: &str, _args: &[&str]) -> Result<Option<PathBuf>, String> {
    Ok(Some(flatc::flatc().to_owned()))
}

#[cfg(not(feature = "codegen"))]
fn flatc(root: &Path, task: &str, args: &[&str]) -> Result<Option<PathBuf>, String> {
    let cmake = Command::new("cmake")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    if !cmake.is_ok_and(|status| status.success()) {
        return Err(
            "codegen needs cmake and a C++ compiler to build flatc: install cmake and try again"
                .to_owned(),
        );
    }
    let mut again = process::cargo(root);
    again.args([
        "run",
        "--quiet",
        "--package",
        "xtask",
        "--features",
        "codegen",
        "--",
        task,
    ]);
    again.args(args);
    process::run(&mut again)?;
    Ok(None)
}

/// The formatted code of one schema, with its head.
fn generate(flatc: &Path, root: &Path, schema: &str) -> Result<String, String> {
    let folder = std::env::temp_dir().join(format!("tarsia-codegen-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let source = schema_path(root, schema);
    let made = process::run(
        Command::new(flatc)
            .args(["--rust", "-o"])
            .arg(&folder)
            .arg(&source),
    )
    .and_then(|()| read(&folder.join(format!("{schema}_generated.rs"))));
    let _ = fs::remove_dir_all(&folder);
    let head = format!(
        "// @generated by `cargo xtask codegen` from fbs/{schema}.fbs; do not edit.\n{DIGEST_PREFIX}{}\n",
        digest(&read(&source)?)
    );
    rustfmt(&format!("{head}{}", made?))
}

fn rustfmt(code: &str) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("rustfmt: {error}");
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let Some(mut input) = rustfmt.stdin.take() {
        input.write_all(code.as_bytes()).map_err(failed)?;
    }
    let output = rustfmt.wait_with_output().map_err(failed)?;
    if !output.status.success() {
        return Err("rustfmt refused the code that flatc made".to_owned());
    }
    String::from_utf8(output.stdout).map_err(|error| format!("rustfmt: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn committed_code_is_of_the_committed_schemas() {
        check_digest(&crate::root()).unwrap();
    }

    #[test]
    fn stale_code_is_found() {
        let folder = std::env::temp_dir().join(format!("tarsia-stale-{}", std::process::id()));
        fs::create_dir_all(folder.join("fbs")).unwrap();
        for (schema, generated) in SCHEMAS {
            fs::create_dir_all(folder.join(generated)).unwrap();
            let source = format!("table {schema} {{}}\n");
            let code = format!("// head\n{DIGEST_PREFIX}{}\ncode\n", digest(&source));
            fs::write(schema_path(&folder, schema), source).unwrap();
            fs::write(generated_path(&folder, generated, schema), code).unwrap();
        }
        check_digest(&folder).unwrap();
        fs::write(schema_path(&folder, "column"), "table column { a: int; }\n").unwrap();
        let error = check_digest(&folder).unwrap_err();
        assert!(
            error.contains("fbs/column.fbs") && error.contains("repair"),
            "{error}"
        );
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn differences_name_the_line() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        let difference = first_difference("a\nb\n", "a\nc\n").unwrap();
        assert!(difference.starts_with("line 2") && difference.contains("committed: b"));
        assert!(
            first_difference("a\n", "a\nb\n")
                .unwrap()
                .contains("(end of file)")
        );
    }

    #[test]
    fn line_ends_do_not_change_the_digest() {
        assert_eq!(digest("a\r\nb\r\n"), digest("a\nb\n"));
        assert_ne!(digest("a\nb\n"), digest("a\nc\n"));
    }
}
