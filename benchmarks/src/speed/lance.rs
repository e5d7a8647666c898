//! Where Lance's Python package comes from: a virtual environment in the target folder, made once.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Exact versions of what is installed.
const REQUIREMENTS: &str = include_str!("../../lance/requirements.txt");

/// The interpreter of an environment that has the package, which may have to be fetched.
pub(crate) fn python() -> Result<PathBuf> {
    let exe = std::env::current_exe()?;
    // The target folder has a folder per profile, in which the command lies.
    let target = exe.parent().and_then(|profile| profile.parent());
    let folder = target.context("no target folder")?.join("lance-venv");
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("lance/venv.sh");
    eprintln!("lance: the environment is {}", folder.display());
    let output = Command::new("sh")
        .arg(&script)
        .arg(&folder)
        .output()
        .context("running lance/venv.sh")?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = errors.lines().map(str::trim).collect();
        // Pip's first error is the cause.
        let cause = lines.iter().find(|line| line.starts_with("ERROR"));
        let why = cause.or(lines.last()).copied().unwrap_or("no message");
        bail!("lance/venv.sh: {}: {why}", output.status);
    }
    Ok(folder.join("bin/python"))
}

/// Names and versions of the packages.
pub(super) fn versions() -> impl Iterator<Item = (String, String)> {
    REQUIREMENTS.lines().filter_map(|line| {
        let (name, version) = line.split_once("==")?;
        Some((name.to_owned(), version.to_owned()))
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn versions_are_exact() {
        let names: Vec<_> = super::versions().map(|(name, _)| name).collect();
        assert_eq!(names, ["pylance", "pyarrow", "numpy"]);
    }
}
