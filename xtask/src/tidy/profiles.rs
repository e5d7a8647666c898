//! One place for the profile of tests, so that workspaces share what they build.

use super::{Files, Violation, text};

/// Refuses `[profile.dev]`, and profiles of its packages, in manifests.
pub(super) fn profiles_of_tests_are_in_one_place(files: &Files) -> Vec<Violation> {
    let manifests = files
        .iter()
        .filter(|(path, _)| path.ends_with("Cargo.toml"));
    let violations = manifests.flat_map(|(path, content)| {
        let lines = text(content).unwrap_or_default().lines().enumerate();
        let profiles = lines.filter(|(_, line)| line.trim_start().starts_with("[profile.dev"));
        profiles.map(|(i, _)| Violation {
            path: path.clone(),
            line: i + 1,
            what: "a profile of tests that holds for one workspace".to_owned(),
            repair: "write it into .cargo/config.toml, which holds for all".to_owned(),
        })
    });
    violations.collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_one;
    use super::*;

    #[test]
    fn profiles_of_tests_in_manifests_are_found() {
        let rule = profiles_of_tests_are_in_one_place;
        check_one(rule, "fuzz/Cargo.toml", "[profile.dev]\n", &[1]);
        check_one(rule, "Cargo.toml", "\n[profile.dev.package.syn]\n", &[2]);
        check_one(rule, "Cargo.toml", "[profile.release]\n", &[]);
        check_one(rule, ".cargo/config.toml", "[profile.dev]\n", &[]);
    }
}
