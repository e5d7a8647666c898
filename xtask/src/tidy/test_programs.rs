//! Rules about the programs that tests are linked into.

use std::collections::BTreeMap;

use super::{Files, Violation, code_only, find_word, sources, text};

/// The crate and what follows its tests folder, of a path such as `crates/NAME/tests/all/a.rs`.
fn in_tests(path: &str) -> Option<(&str, &str)> {
    let (owner, rest) = path.split_once("/tests/")?;
    owner.starts_with("crates/").then_some((owner, rest))
}

/// Linking takes most of the time of a cold test run, so the tests of a crate are modules of one program.
pub(super) fn crates_have_one_test_program(files: &Files) -> Vec<Violation> {
    let mut programs: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (path, _) in sources(files) {
        let Some((owner, rest)) = in_tests(path) else {
            continue;
        };
        let is_program = match rest.split_once('/') {
            None => true,
            Some((_, file)) => file == "main.rs",
        };
        if is_program {
            programs.entry(owner).or_default().push(path);
        }
    }
    let more = |(owner, programs): (&str, Vec<&str>)| {
        let of_owner = programs.into_iter().skip(1);
        let violation = |path: &str| Violation {
            path: path.to_owned(),
            line: 0,
            what: format!("a second test program of {owner}"),
            repair: "make both modules of one program, tests/all/main.rs".to_owned(),
        };
        of_owner.map(violation).collect::<Vec<_>>()
    };
    programs.into_iter().flat_map(more).collect()
}

/// A file of tests that its program does not name is never compiled, and nobody notices.
pub(super) fn test_modules_are_linked(files: &Files) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, _) in sources(files) {
        let Some((folder, file)) = in_tests(path).and_then(|(_, rest)| rest.split_once('/')) else {
            continue;
        };
        if file == "main.rs" || file.contains('/') {
            continue;
        }
        let main = format!("{}main.rs", path.strip_suffix(file).unwrap_or(path));
        let module = format!("mod {};", file.strip_suffix(".rs").unwrap_or(file));
        let is_named = sources(files)
            .find(|(other, _)| *other == main)
            .is_some_and(|(_, source)| find_word(&code_only(source), &module));
        if !is_named {
            violations.push(Violation {
                path: path.to_owned(),
                line: 0,
                what: format!("tests/{folder}/main.rs does not name this module"),
                repair: format!("add `{module}` to it: tests that are not linked never run"),
            });
        }
    }
    violations
}

/// Libraries without unit tests or examples in their docs say so in their manifest (`test = false`, `doctest = false`):
/// then no empty program is linked for them. Tests that are added later would never run.
pub(super) fn tests_of_libraries_run(files: &Files) -> Vec<Violation> {
    let is_test = |line: &str| line.contains("#[test]") || line.contains("#[cfg(test)]");
    let is_example = |line: &str| {
        let doc = line.strip_prefix("///").or(line.strip_prefix("//!"));
        doc.and_then(|doc| doc.trim().strip_prefix("```"))
            .is_some_and(|language| matches!(language, "" | "rust" | "no_run" | "should_panic"))
    };
    let mut violations = Vec::new();
    for (manifest, content) in files {
        let (Some(folder), Some(content)) = (manifest.strip_suffix("Cargo.toml"), text(content))
        else {
            continue;
        };
        let says = |key: &str| content.lines().any(|line| line == format!("{key} = false"));
        let source_folder = format!("{folder}src/");
        for (path, source) in sources(files).filter(|(path, _)| path.starts_with(&source_folder)) {
            let lines = || source.lines().map(str::trim_start);
            let has_test = says("test") && lines().any(is_test);
            let mut is_open = false;
            // Of the fences of a block of text, the second has no language.
            let has_example = says("doctest")
                && lines().any(|line| {
                    let is_fence = line.starts_with("//") && line.contains("```");
                    let starts = is_fence && !is_open && is_example(line);
                    is_open ^= is_fence;
                    starts
                });
            for (found, key) in [(has_test, "test"), (has_example, "doctest")] {
                if found {
                    violations.push(Violation {
                        path: path.to_owned(),
                        line: 0,
                        what: format!("tests that never run: {manifest} says `{key} = false`"),
                        repair: "remove that line from the manifest".to_owned(),
                    });
                }
            }
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::super::tests::files;
    use super::*;

    fn paths(violations: &[Violation]) -> Vec<&str> {
        violations.iter().map(|it| it.path.as_str()).collect()
    }

    #[test]
    fn a_second_program_is_found() {
        let list = files(&[
            ("crates/x/tests/all/a.rs", ""),
            ("crates/x/tests/all/main.rs", ""),
            ("crates/x/tests/alone.rs", ""),
            ("crates/y/tests/a.rs", ""),
            ("fuzz/tests/a.rs", ""),
            ("fuzz/tests/b.rs", ""),
        ]);
        let found = crates_have_one_test_program(&list);
        assert_eq!(paths(&found), ["crates/x/tests/alone.rs"]);
    }

    #[test]
    fn tests_that_a_manifest_turns_off_are_found() {
        let manifest = "[lib]\ntest = false\ndoctest = false\n\n[[example]]\ntest = true\n";
        let list = files(&[
            ("crates/x/Cargo.toml", manifest),
            (
                "crates/x/src/a.rs",
                "fn a() {}\n    #[test]\n    fn b() {}\n",
            ),
            (
                "crates/x/src/b.rs",
                "/// ```text\n/// x\n/// ```\nfn b() {}\n",
            ),
            ("crates/x/src/c.rs", "//! ```\n//! x();\n//! ```\n"),
            ("crates/xx/src/a.rs", "#[cfg(test)]\nmod tests {}\n"),
            ("crates/y/Cargo.toml", "[lib]\n"),
            (
                "crates/y/src/a.rs",
                "#[test]\nfn a() {}\n/// ```\nfn b() {}",
            ),
        ]);
        let found = tests_of_libraries_run(&list);
        assert_eq!(paths(&found), ["crates/x/src/a.rs", "crates/x/src/c.rs"]);
    }

    #[test]
    fn modules_that_no_program_names_are_found() {
        let list = files(&[
            ("crates/x/tests/all/a.rs", ""),
            ("crates/x/tests/all/b.rs", ""),
            ("crates/x/tests/all/main.rs", "mod a;\n// mod b;\nmod bb;"),
            ("crates/y/tests/other/a.rs", ""),
            ("crates/y/tests/single.rs", ""),
        ]);
        let found = test_modules_are_linked(&list);
        let expect = ["crates/x/tests/all/b.rs", "crates/y/tests/other/a.rs"];
        assert_eq!(paths(&found), expect);
    }
}
