//! Micro-crates stay micro: how much depending on one encoding alone pulls in.

use std::collections::BTreeSet;
use std::path::Path;

use crate::outcome::Outcome;
use crate::process::{cargo, show};

/// The crate that stands for all encodings, and the most crates that it may depend on.
const CRATE: &str = "tarsia-bitpack";
const DIRECT_MAX: usize = 5;
const TOTAL_MAX: usize = 15;

/// Counts the crates behind [`CRATE`].
pub(crate) fn run(root: &Path) -> Outcome {
    let total = count(root, &[])?;
    let direct = count(root, &["--depth", "1"])?;
    println!(
        "{CRATE}: {direct} direct dependencies (at most {DIRECT_MAX}), {total} in total (at most {TOTAL_MAX})"
    );
    if direct > DIRECT_MAX || total > TOTAL_MAX {
        return Err(format!(
            "{CRATE} depends on too many crates: take one out, or say in DESIGN why it has to be"
        ));
    }
    Ok(())
}

/// Crates in the tree, the root not counted.
fn count(root: &Path, args: &[&str]) -> Result<usize, String> {
    let mut command = cargo(root);
    command
        .args([
            "tree",
            "-p",
            CRATE,
            "--no-default-features",
            "--features",
            "encode,std",
        ])
        .args(["-e", "normal", "--prefix", "none", "--locked"])
        .args(args);
    let shown = show(&command);
    let output = command
        .output()
        .map_err(|error| format!("`{shown}` did not start: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "`{shown}` failed: {}",
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    let tree = String::from_utf8_lossy(&output.stdout);
    let crates: BTreeSet<&str> = tree
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != CRATE)
        .collect();
    Ok(crates.len())
}
