//! The project's rules as tests. Each violation says how to repair it.
//!
//! A rule is a function from the repository's files to what breaks it; [`RULES`] lists all of them.

mod calls;
mod circles;
mod doc_comments;
mod encodings;
mod functions;
mod hygiene;
mod lengths;
mod named_files;
mod profiles;
mod rust_text;
mod signatures;
mod test_programs;
mod unsafe_code;
mod violation;

use std::path::Path;

use crate::outcome::Outcome;
use crate::passed;

// What the rules share.
use crate::repository::{Files, load, sources, text};
#[cfg(test)]
pub(crate) use encodings::ENCODING_FILES;
use rust_text::{code_only, find_word};
use violation::Violation;

/// Finds what breaks a rule.
type Rule = fn(&Files) -> Vec<Violation>;

const RULES: [Rule; 24] = [
    encodings::encodings_are_complete,
    encodings::encodings_have_rows,
    encodings::pages_are_complete,
    encodings::nothing_is_left_to_fill_in,
    encodings::kernels_are_of_the_table,
    encodings::encodings_are_known_by_the_table,
    hygiene::crates_are_described,
    hygiene::nothing_is_left_to_do,
    hygiene::no_paths_of_a_machine,
    hygiene::golden_files_are_tested,
    named_files::named_files_exist,
    unsafe_code::unsafe_is_listed,
    circles::files_need_each_other_one_way,
    lengths::files_are_short,
    lengths::prose_lines_are_short,
    lengths::comment_lines_are_short,
    functions::functions_are_short,
    doc_comments::doc_comments_begin_with_a_verb_or_noun,
    profiles::profiles_of_tests_are_in_one_place,
    signatures::parameters_have_names,
    calls::files_are_read_by_the_source,
    test_programs::crates_have_one_test_program,
    test_programs::test_modules_are_linked,
    test_programs::tests_of_libraries_run,
];

/// Checks all rules.
pub(crate) fn run(root: &Path) -> Outcome {
    let files = load(root)?;
    passed::check(root)?;
    let violations: Vec<Violation> = RULES.iter().flat_map(|rule| rule(&files)).collect();
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
