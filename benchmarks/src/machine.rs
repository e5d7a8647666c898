//! The machine and the versions that the numbers were measured with. Printed and stored beside them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde::Serialize;

/// Machine, commit and versions of one run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Environment {
    pub(crate) cpu: String,
    pub(crate) threads: usize,
    pub(crate) memory_gib: Option<u64>,
    pub(crate) system: String,
    pub(crate) rustc: String,
    /// Short commit of the repository, `+changes` if files differ from it.
    pub(crate) commit: String,
    /// Exact versions from this crate's lock file.
    pub(crate) versions: BTreeMap<String, String>,
}

/// The repository that this crate is a folder of.
pub(crate) fn repository() -> Result<&'static Path> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("the crate has no parent folder")
}

/// The folder of tables: the one named, else TARSIA_DATA, else shared/data beside the repository.
pub(crate) fn data_folder(named: Option<&PathBuf>) -> Result<PathBuf> {
    if let Some(folder) = named {
        return Ok(folder.clone());
    }
    Ok(match std::env::var_os("TARSIA_DATA") {
        Some(folder) => folder.into(),
        None => repository()?.join("../shared/data"),
    })
}

impl Environment {
    pub(crate) fn here() -> Self {
        let repository = env!("CARGO_MANIFEST_DIR");
        let unknown = || "unknown".to_owned();
        let git = |arguments: &[&str]| {
            output(Command::new("git").current_dir(repository).args(arguments))
        };
        let commit = match git(&["rev-parse", "--short=12", "HEAD"]) {
            // Results of earlier runs are no change to what is measured.
            Some(commit) => match git(&[
                "status",
                "--porcelain",
                "--",
                ":/",
                ":/!benchmarks/results",
                ":/!docs",
            ]) {
                Some(changes) if changes.is_empty() => commit,
                _ => format!("{commit}+changes"),
            },
            None => unknown(),
        };
        Self {
            cpu: proc_field("/proc/cpuinfo", "model name").unwrap_or_else(unknown),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            memory_gib: proc_field("/proc/meminfo", "MemTotal")
                .and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok())
                .map(|kib| (kib + (1 << 19)) >> 20),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            rustc: output(
                Command::new("rustc")
                    .current_dir(repository)
                    .arg("--version"),
            )
            .unwrap_or_else(unknown),
            commit,
            versions: versions(include_str!("../Cargo.lock")),
        }
    }

    /// One line for people.
    pub(crate) fn line(&self) -> String {
        let memory = self
            .memory_gib
            .map_or_else(String::new, |gib| format!(", {gib} GiB"));
        let versions: Vec<_> = self
            .versions
            .iter()
            .map(|(name, version)| format!("{name} {version}"))
            .collect();
        format!(
            "{}, {} threads{memory}, {}; {}; commit {}; {}",
            self.cpu,
            self.threads,
            self.system,
            self.rustc,
            self.commit,
            versions.join(", ")
        )
    }
}

fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn proc_field(file: &str, field: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(field))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The load: the mean number of running threads in the last minute. `None` if the system does not tell. If it is above
/// the number of processors, other programs took part of the time that was measured.
pub(crate) fn load() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// The crates whose version says what was measured.
const NAMED: [&str; 4] = ["arrow-array", "parquet", "tarsia", "vortex"];

fn versions(lock: &str) -> BTreeMap<String, String> {
    let mut versions = BTreeMap::new();
    let mut name = "";
    for line in lock.lines() {
        if let Some(value) = line.strip_prefix("name = ") {
            name = value.trim_matches('"');
        } else if let Some(value) = line.strip_prefix("version = ")
            && NAMED.contains(&name)
            && (name != "tarsia" || cfg!(feature = "tarsia"))
        {
            versions.insert(name.to_owned(), value.trim_matches('"').to_owned());
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
        assert_eq!(versions["vortex"], "0.90.0");
        assert!(versions["parquet"].starts_with("59."));
        assert_eq!(versions.contains_key("tarsia"), cfg!(feature = "tarsia"));
    }
}
