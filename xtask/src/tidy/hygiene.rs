//! Rules about single files: descriptions, placeholders, paths of a machine, golden files.

use super::{Files, Violation, code_only, find_word, sources, text};

/// Code that says "not done", and what to do about it.
const PLACEHOLDERS: [(&str, &str); 4] = [
    (
        "todo!",
        "write the code, or return an error that says what is not supported",
    ),
    (
        "unimplemented!",
        "write the code, or return an error that says what is not supported",
    ),
    ("dbg!", "remove it"),
    (
        "#[ignore",
        "make the test pass, or assert today's wrong result and say so",
    ),
];

/// Folders of a machine; spelled so that this file does not break its own rule.
const MACHINE_FOLDERS: [&str; 4] = [
    concat!("/", "home"),
    concat!("/", "root"),
    concat!("/", "tmp"),
    concat!("/", "work"),
];

pub(super) fn crates_are_described(files: &Files) -> Vec<Violation> {
    let manifests = files.iter().filter(|(path, _)| {
        path.as_str() == "xtask/Cargo.toml"
            || (path.starts_with("crates/") && path.ends_with("/Cargo.toml"))
    });
    let manifests = manifests.filter(|(_, content)| {
        let has = |header| {
            text(content)
                .unwrap_or_default()
                .lines()
                .any(|it| it == header)
        };
        has("[package]") || !has("[workspace]")
    });
    let undescribed = manifests.filter(|(_, content)| {
        let described = text(content).unwrap_or_default().lines().any(|line| {
            let value = line.strip_prefix("description = ").unwrap_or_default();
            value.trim_matches('"').len() > 10
        });
        !described
    });
    undescribed
        .map(|(path, _)| Violation {
            path: path.clone(),
            line: 0,
            what: "the crate has no description".to_owned(),
            repair: "say in one line what it is for: description = \"…\"".to_owned(),
        })
        .collect()
}

pub(super) fn nothing_is_left_to_do(files: &Files) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, source) in sources(files).filter(|(path, _)| path.starts_with("crates/")) {
        for (i, line) in code_only(source).lines().enumerate() {
            for (placeholder, repair) in PLACEHOLDERS {
                if find_word(line, placeholder) {
                    violations.push(Violation {
                        path: path.to_owned(),
                        line: i + 1,
                        what: format!("`{placeholder}`"),
                        repair: repair.to_owned(),
                    });
                }
            }
        }
    }
    violations
}

pub(super) fn no_paths_of_a_machine(files: &Files) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, content) in files {
        for (i, line) in text(content).unwrap_or_default().lines().enumerate() {
            if let Some(folder) = MACHINE_FOLDERS
                .iter()
                .find(|folder| names_folder(line, folder))
            {
                violations.push(Violation {
                    path: path.clone(),
                    line: i + 1,
                    what: format!("a path below {folder} exists on one machine only"),
                    repair:
                        "use a path relative to the repository, or a temporary folder of the test"
                            .to_owned(),
                });
            }
        }
    }
    violations
}

pub(super) fn golden_files_are_tested(files: &Files) -> Vec<Violation> {
    let mut violations = Vec::new();
    for path in files.keys() {
        let Some((owner, rest)) = path.split_once("/golden/") else {
            continue;
        };
        if path.ends_with(".rs") || path.ends_with(".md") {
            continue;
        }
        let name = rest.rsplit('/').next().unwrap_or(rest);
        let stem = name.split('.').next().unwrap_or(name);
        // Golden files of a crate are named in its own tests, shared ones anywhere.
        let owner = owner.strip_suffix("/tests").unwrap_or("crates");
        let named = sources(files)
            .filter(|(source, _)| source.starts_with(owner))
            .any(|(_, source)| find_word(source, name) || find_word(source, stem));
        if !named {
            violations.push(Violation {
                path: path.clone(),
                line: 0,
                what: "no test names this golden file".to_owned(),
                repair: format!("name {name:?} in a test of {owner}, or remove the file"),
            });
        }
    }
    violations
}

/// Whether `line` names a path in `folder`: not as part of a longer path or address.
fn names_folder(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line.get(..at).and_then(|before| before.chars().next_back());
        let after = line
            .get(at + folder.len()..)
            .and_then(|after| after.chars().next());
        let starts = before.is_none_or(|c| !(c.is_alphanumeric() || "_-./~*}>)]".contains(c)));
        starts && after == Some('/')
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_one, files};
    use super::*;

    #[test]
    fn crates_without_description_are_found() {
        let rule = crates_are_described;
        check_one(
            rule,
            "crates/x/Cargo.toml",
            "description = \"What it is for.\"\n",
            &[],
        );
        check_one(
            rule,
            "crates/x/Cargo.toml",
            "description = \"TODO\"\n",
            &[0],
        );
        check_one(
            rule,
            "crates/encodings/x/Cargo.toml",
            "name = \"x\"\n",
            &[0],
        );
        check_one(rule, "xtask/Cargo.toml", "", &[0]);
        check_one(rule, "crates/x/Cargo.toml", "[workspace]\n", &[]);
        check_one(
            rule,
            "crates/x/Cargo.toml",
            "[workspace]\n[package]\n",
            &[0],
        );
        check_one(rule, "fuzz/Cargo.toml", "", &[]);
    }

    #[test]
    fn placeholders_are_found_in_code_only() {
        let rule = nothing_is_left_to_do;
        check_one(
            rule,
            "crates/x/src/lib.rs",
            "fn a() {\n    todo!()\n}\n",
            &[2],
        );
        check_one(
            rule,
            "crates/x/src/lib.rs",
            "std::unimplemented!(\"x\")",
            &[1],
        );
        check_one(
            rule,
            "crates/x/src/lib.rs",
            "#[ignore = \"slow\"]\nfn a() {}",
            &[1],
        );
        check_one(rule, "crates/x/src/lib.rs", "dbg!(1); dbg!(2);", &[1]);
        check_one(
            rule,
            "crates/x/src/lib.rs",
            "// todo!\n/* dbg! */ \"unimplemented!\"",
            &[],
        );
        check_one(
            rule,
            "crates/x/src/lib.rs",
            "my_todo!(); let r = r#\"todo!()\"#;",
            &[],
        );
        check_one(rule, "xtask/src/tidy.rs", "todo!()", &[]);
    }

    #[test]
    fn paths_of_a_machine_are_found() {
        let rule = no_paths_of_a_machine;
        let [home, root, tmp, work] = MACHINE_FOLDERS;
        check_one(rule, "README.md", &format!("fine\nsee {home}/me/x\n"), &[2]);
        check_one(rule, "a.rs", &format!("\"{tmp}/x\" and `{root}/y`"), &[1]);
        check_one(rule, "a.toml", &format!("path={work}/main"), &[1]);
        check_one(
            rule,
            "README.md",
            &format!("https://example.org{home}/x, .github{work}flows/a"),
            &[],
        );
        check_one(
            rule,
            "README.md",
            &format!("children{root}/x, ${{x}}{tmp}/y, {root} alone"),
            &[],
        );
    }

    #[test]
    fn golden_files_that_no_test_names_are_found() {
        let bin = ("crates/x/tests/golden/v1/one_two.bin", "");
        let named = |source| {
            let test = ("crates/x/tests/golden.rs", source);
            golden_files_are_tested(&files(&[bin, test])).is_empty()
        };
        assert!(named("check(\"v1/one_two.bin\")"));
        assert!(named("check(\"one_two\")"));
        assert!(!named("check(\"one_two_three\")"));
        assert!(!named("check(\"one\")"));
        let other_crate = ("crates/y/tests/golden.rs", "one_two.bin");
        assert_eq!(
            golden_files_are_tested(&files(&[bin, other_crate])).len(),
            1
        );
        let shared = ("testdata/golden/file.tarsia", "");
        assert_eq!(golden_files_are_tested(&files(&[shared])).len(), 1);
        let test = ("crates/y/tests/golden.rs", "file.tarsia");
        assert_eq!(golden_files_are_tested(&files(&[shared, test])), []);
    }
}
