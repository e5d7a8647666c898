//! The repository, the processor and the commit that numbers were measured with. The crates of benchmarks that are
//! packages of their own each have this file as a module.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

/// The repository that this crate is in.
pub(crate) fn repository() -> Result<&'static Path> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .context("the crate has no parent folder")
}

/// The processor, the threads and the commit, with `+changes` where files differ from it.
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
    format!("{cpu}, {threads} threads; commit {commit}{changes}")
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
