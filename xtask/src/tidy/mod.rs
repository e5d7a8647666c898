//! The project's rules as tests. Each violation says how to repair it.
//!
//! A rule is a function from the repository's files to what breaks it; [`RULES`] lists all of them by name.

mod calls;
mod circles;
mod encodings;
mod hygiene;
mod lengths;
mod not_yet;
mod rust_text;
mod signatures;
mod unsafe_code;
mod violation;

use std::path::Path;

use crate::outcome::Outcome;

// What the rules share.
use crate::repository::{Files, load, sources, text};
#[cfg(test)]
pub(crate) use encodings::ENCODING_FILES;
use rust_text::{code_only, find_word};
use violation::Violation;

/// A rule: its name in [`not_yet::NOT_YET`], and what finds violations.
struct Rule {
    name: &'static str,
    find: fn(&Files) -> Vec<Violation>,
}

const RULES: [Rule; 17] = [
    Rule::new("encodings", encodings::encodings_are_complete),
    Rule::new("encoding rows", encodings::encodings_have_rows),
    Rule::new("encoding pages", encodings::pages_are_complete),
    Rule::new("fill in", encodings::nothing_is_left_to_fill_in),
    Rule::new("kernels", encodings::kernels_are_of_the_table),
    Rule::new("one table", encodings::encodings_are_known_by_the_table),
    Rule::new("description", hygiene::crates_are_described),
    Rule::new("placeholder", hygiene::nothing_is_left_to_do),
    Rule::new("machine path", hygiene::no_paths_of_a_machine),
    Rule::new("golden", hygiene::golden_files_are_tested),
    Rule::new("unsafe", unsafe_code::unsafe_is_listed),
    Rule::new("circle", circles::files_need_each_other_one_way),
    Rule::new("length", lengths::files_are_short),
    Rule::new("prose line", lengths::prose_lines_are_short),
    Rule::new("comment line", lengths::comment_lines_are_short),
    Rule::new("tuple", signatures::parameters_have_names),
    Rule::new("read", calls::files_are_read_by_the_source),
];

impl Rule {
    const fn new(name: &'static str, find: fn(&Files) -> Vec<Violation>) -> Self {
        Self { name, find }
    }
}

/// Checks all rules.
pub(crate) fn run(root: &Path) -> Outcome {
    let files = load(root)?;
    let mut violations = Vec::new();
    let mut postponed = not_yet::Postponed::default();
    for rule in RULES {
        let found = (rule.find)(&files);
        violations.extend(postponed.without(rule.name, found));
    }
    violations.extend(postponed.stale());
    if violations.is_empty() {
        return Ok(());
    }
    let list: Vec<String> = violations.iter().map(Violation::to_string).collect();
    Err(format!("{}\n{} violations", list.join("\n"), list.len()))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        if let Err(violations) = run(&crate::root()) {
            panic!("\n{violations}");
        }
    }

    pub(super) fn files(list: &[(&str, &str)]) -> Files {
        let owned =
            |(path, content): &(&str, &str)| ((*path).to_owned(), content.as_bytes().to_vec());
        list.iter().map(owned).collect()
    }

    pub(super) fn check_one(
        rule: fn(&Files) -> Vec<Violation>,
        path: &str,
        content: &str,
        expect: &[usize],
    ) {
        let found = rule(&files(&[(path, content)]));
        let lines: Vec<_> = found.iter().map(|violation| violation.line).collect();
        assert_eq!(lines, expect, "{path}: {content:?}: {found:?}");
        assert!(
            found
                .iter()
                .all(|violation| violation.to_string().contains("repair: "))
        );
    }
}
