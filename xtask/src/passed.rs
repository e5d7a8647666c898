//! `.ci/passed`: the commits in which groups of checks passed. `scripts/ci` writes it; here it is compared with the commits.

use std::path::Path;
use std::process::Command;

use crate::outcome::Outcome;

/// Asks `scripts/ci` whether each line names a commit with the digest that the line has.
///
/// # Errors
/// The first line that does not.
pub(crate) fn check(root: &Path) -> Outcome {
    let mut command = Command::new("bash");
    command.args(["scripts/ci", "--check-passed"]).current_dir(root);
    let output = command
        .output()
        .map_err(|error| format!("scripts/ci --check-passed did not start: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
    }
}
