//! Components that the toolchain must have besides a compiler.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::outcome::Outcome;

/// Makes sure that the toolchain which runs us can build for `target`; rustup installs the target if it is missing.
///
/// # Errors
/// One line that says what is missing and how to get it.
pub(crate) fn need_target(root: &Path, target: &str) -> Outcome {
    let has_target = || libraries(root, target).is_some_and(|folder| folder.is_dir());
    if has_target() {
        return Ok(());
    }
    // Asked explicitly: a build installs nothing by itself where RUSTUP_AUTO_INSTALL=0.
    let mut install = Command::new("rustup");
    install.args(["target", "add", target]).current_dir(root);
    let reason = match install.output() {
        Ok(_) if has_target() => return Ok(()),
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr);
            format!("rustup says: {}", said(&text))
        }
        Err(_) => "there is no rustup to install it, get one at https://rustup.rs".to_owned(),
    };
    Err(missing(target, &reason))
}

/// The error in what rustup printed, else its first line.
fn said(text: &str) -> &str {
    let error = text.lines().find(|line| line.starts_with("error: "));
    error.or_else(|| text.lines().next()).unwrap_or("nothing")
}

fn missing(target: &str, reason: &str) -> String {
    format!(
        "missing: the target {target} of the toolchain; {reason}; then: rustup target add {target}"
    )
}

/// Where the compiler looks for the libraries of a target.
fn libraries(root: &Path, target: &str) -> Option<PathBuf> {
    let mut rustc = Command::new(compiler());
    rustc.args(["--print", "target-libdir", "--target", target]);
    let output = rustc.current_dir(root).output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    let is_path = output.status.success() && !path.trim().is_empty();
    is_path.then(|| PathBuf::from(path.trim()))
}

/// The compiler beside the `cargo` that runs us, else the one in the path.
fn compiler() -> PathBuf {
    let cargo = std::env::var_os("CARGO").map(PathBuf::from);
    let beside = cargo.map(|cargo| cargo.with_file_name("rustc"));
    beside
        .filter(|rustc| rustc.is_file())
        .unwrap_or_else(|| "rustc".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_the_own_target_are_there_and_unknown_targets_have_none() {
        let root = crate::root();
        let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        if cfg!(all(target_os = "linux", target_env = "gnu")) {
            assert!(libraries(&root, &host).unwrap().is_dir());
        }
        assert_eq!(libraries(&root, "no-such-target"), None);
    }

    #[test]
    fn the_error_is_picked_from_what_rustup_prints() {
        let text = "info: syncing\nerror: could not download\n\nCaused by:\n    0: x\n";
        assert_eq!(said(text), "error: could not download");
        assert_eq!(said("info: up to date\n"), "info: up to date");
        assert_eq!(said(""), "nothing");
    }

    #[test]
    fn one_line_says_what_is_missing_and_how_to_get_it() {
        let line = missing("wasm32v1-none", "there is no rustup");
        assert!(!line.contains('\n'));
        assert!(line.starts_with("missing: the target wasm32v1-none"));
        assert!(line.ends_with("rustup target add wasm32v1-none"));
    }
}
