//! The command under test.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// The repository.
pub fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap_or(own).to_owned()
}

/// Builds the command and returns where it is.
///
/// # Errors
/// Where it does not build.
pub fn build(release: bool) -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root());
    command.args([
        "build",
        "--quiet",
        "--package",
        "tarsia-cli",
        "--bin",
        "tarsia",
    ]);
    command.args(["--message-format", "json-render-diagnostics"]);
    if release {
        command.arg("--release");
    }
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cargo build did not start: {error}"))?;
    if !output.status.success() {
        return Err("the command does not build".to_owned());
    }
    executable(&String::from_utf8_lossy(&output.stdout))
        .ok_or_else(|| "cargo did not say where the command is".to_owned())
}

/// The program among the lines that cargo prints.
fn executable(messages: &str) -> Option<PathBuf> {
    messages.lines().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_tarsia = message["target"]["name"] == "tarsia";
        let path = message["executable"].as_str().filter(|_| is_tarsia)?;
        Some(PathBuf::from(path))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_found_in_what_cargo_prints() {
        let messages = concat!(
            "{\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"tarsia\"},\"executable\":null}\n",
            "{\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"tarsia\"},\"executable\":\"t/tarsia\"}\n",
            "{\"reason\":\"build-finished\",\"success\":true}\n",
        );
        assert_eq!(executable(messages), Some(PathBuf::from("t/tarsia")));
        assert_eq!(executable("no JSON\n{}\n"), None);
    }

    #[test]
    fn the_root_is_that_of_the_workspace() {
        assert!(root().join("xtask/driving/Cargo.toml").is_file());
    }
}
