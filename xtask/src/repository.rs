//! The files of the repository, as git lists them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The files that belong to the repository, by path.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// Tracked files, and new ones that git does not ignore.
pub(crate) fn load(root: &Path) -> Result<Files, String> {
    let output = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(root)
        .output()
        .map_err(|error| format!("git ls-files: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "git ls-files: {}",
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    let paths = String::from_utf8_lossy(&output.stdout);
    // A file that was removed but is still tracked cannot be read, and breaks no rule.
    let file = |path: &str| Some((path.to_owned(), fs::read(root.join(path)).ok()?));
    Ok(paths
        .split('\0')
        .filter(|path| !path.is_empty())
        .filter_map(file)
        .collect())
}

/// The content as text; `None` if it is not UTF-8.
pub(crate) fn text(content: &[u8]) -> Option<&str> {
    std::str::from_utf8(content).ok()
}

/// Rust sources with their text.
pub(crate) fn sources(files: &Files) -> impl Iterator<Item = (&str, &str)> {
    let rust = files.iter().filter(|(path, _)| path.ends_with(".rs"));
    rust.filter_map(|(path, content)| Some((path.as_str(), text(content)?)))
}

/// The root files of the crates below `crates/`, and of those in `xtask`: libraries and programs, not tests or benches.
pub(crate) fn crate_roots(files: &Files) -> impl Iterator<Item = &str> {
    files.keys().map(String::as_str).filter(|path| {
        let Some((folder, file)) = path.split_once("/src/") else {
            return false;
        };
        let manifest = format!("{folder}/Cargo.toml");
        let is_ours = matches!(
            folder,
            "xtask" | "xtask/attack" | "xtask/driving" | "xtask/mutate"
        ) || folder.starts_with("crates/");
        let is_root = matches!(file, "lib.rs" | "main.rs")
            || file
                .strip_prefix("bin/")
                .is_some_and(|it| !it.contains('/'));
        is_ours && is_root && files.contains_key(&manifest)
    })
}

/// True for a file that a tool wrote: its folder or its own name says so.
pub(crate) fn is_generated(path: &str) -> bool {
    path.split('/')
        .any(|part| part == "generated" || part == "generated.rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_those_of_libraries_and_programs() {
        let paths = [
            "crates/a/Cargo.toml",
            "crates/a/src/deep/lib.rs",
            "crates/a/src/lib.rs",
            "crates/a/src/main.rs",
            "crates/a/tests/main.rs",
            "crates/b/src/lib.rs",
            "fuzz/Cargo.toml",
            "fuzz/src/lib.rs",
            "xtask/Cargo.toml",
            "xtask/attack/Cargo.toml",
            "xtask/attack/src/main.rs",
            "xtask/mutate/Cargo.toml",
            "xtask/mutate/src/main.rs",
            "xtask/src/bin/x.rs",
            "xtask/src/main.rs",
        ];
        let files: Files = paths.iter().map(|it| ((*it).to_owned(), vec![])).collect();
        let roots: Vec<&str> = crate_roots(&files).collect();
        let expect = [
            "crates/a/src/lib.rs",
            "crates/a/src/main.rs",
            "xtask/attack/src/main.rs",
            "xtask/mutate/src/main.rs",
            "xtask/src/bin/x.rs",
            "xtask/src/main.rs",
        ];
        assert_eq!(roots, expect);
    }

    #[test]
    fn generated_files_are_known_by_name() {
        assert!(is_generated("crates/a/src/generated/b.rs"));
        assert!(is_generated("crates/a/src/generated.rs"));
        assert!(!is_generated("crates/a/src/generator.rs"));
    }
}
