//! The machine and the versions that the numbers were measured with.

use std::path::PathBuf;

use anyhow::Result;

#[path = "../../shared/machine.rs"]
mod shared;

pub(crate) use shared::repository;

/// Names of packages whose versions are printed.
const NAMED: [&str; 4] = ["arrow-array", "object_store", "parquet", "tarsia"];

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
    let versions = versions(include_str!("../Cargo.lock")).join(", ");
    format!("{}; {versions}", shared::line())
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
