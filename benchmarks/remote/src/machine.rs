//! The machine and the versions that the numbers were measured with.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

/// Names of packages whose versions are printed.
const NAMED: [&str; 4] = ["arrow-array", "object_store", "parquet", "tarsia"];

/// The repository that this crate is in.
pub(crate) fn repository() -> Result<&'static Path> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .context("the crate has no parent folder")
}

/// The folder of tables: the one named, else `TARSIA_DATA`, else `shared/data` beside the repository.
pub(crate) fn data_folder(named: Option<&PathBuf>) -> Result<PathBuf> {
    if let Some(folder) = named {
        return Ok(folder.clone());
    }
    Ok(match std::env::var_os("TARSIA_DATA") {
        Some(folder) => folder.into(),
        None => repository()?.join("../shared/data"),
    })
}

/// One line: processor, threads, commit and versions.
pub(crate) fn line() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name"));
    let cpu = cpu.map_or("unknown processor", |name| {
        name.trim_start_matches([' ', '\t', ':'])
    });
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
    // Results of earlier runs are no change to what is measured.
    let measured = [
        "status",
        "--porcelain",
        "--",
        ":/",
        ":/!benchmarks/results",
        ":/!docs",
    ];
    let changes = match git(&measured) {
        Some(changes) if changes.is_empty() => "",
        _ => "+changes",
    };
    let versions = versions(include_str!("../Cargo.lock")).join(", ");
    format!("{cpu}, {threads} threads; commit {commit}{changes}; {versions}")
}

fn git(arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    command
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(arguments);
    let output = command.output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(text)
}

fn versions(lock: &str) -> Vec<String> {
    let mut versions = Vec::new();
    let mut name = "";
    for line in lock.lines() {
        if let Some(value) = line.strip_prefix("name = ") {
            name = value.trim_matches('"');
        } else if let Some(value) = line.strip_prefix("version = ")
            && NAMED.contains(&name)
        {
            versions.push(format!("{name} {}", value.trim_matches('"')));
        }
    }
    versions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_file_names_the_peers() {
        let versions = versions(include_str!("../Cargo.lock"));
        assert_eq!(versions.len(), NAMED.len(), "{versions:?}");
        assert!(
            versions
                .iter()
                .any(|version| version.starts_with("parquet 59."))
        );
    }

    #[test]
    fn repository_has_the_docs() {
        assert!(repository().unwrap().join("docs/benchmarks.md").exists());
    }
}
