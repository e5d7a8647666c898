//! Doc comments are sentences, or begin with the noun that they describe.

use super::rust_text::comments;
use super::{Files, Violation, sources};
use crate::repository::is_generated;

/// Beginnings that point at something that a reader has not seen yet, or that leave a sentence without its verb.
const BEGINNINGS: [&str; 5] = ["Of", "That", "Those", "The same", "What"];

/// The first words of each doc comment, of items and of files.
pub(super) fn doc_comments_begin_with_a_verb_or_noun(files: &Files) -> Vec<Violation> {
    let ours = sources(files).filter(|(path, _)| !is_generated(path));
    ours.flat_map(|(path, source)| {
        let mut before = None;
        let mut violations = Vec::new();
        for (i, line) in comments(source) {
            let Some((mark, words)) = doc(line) else {
                before = None;
                continue;
            };
            // A comment goes on where the line before it is of the same one, unless nothing was said yet.
            let goes_on = before.is_some_and(|(line, known)| line + 1 == i && known == mark);
            if goes_on || words.is_empty() {
                before = goes_on.then_some((i, mark));
                continue;
            }
            before = Some((i, mark));
            if let Some(beginning) = BEGINNINGS.iter().find(|it| begins_with(words, it)) {
                violations.push(Violation {
                    path: path.to_owned(),
                    line: i + 1,
                    what: format!("a doc comment that begins with {beginning:?}"),
                    repair: "begin with what a function does (\"Returns …\", \"Decodes …\"), or with the noun that a \
                             type or field is"
                        .to_owned(),
                });
            }
        }
        violations
    })
    .collect()
}

/// The mark and the words of a line of a doc comment.
fn doc(line: &str) -> Option<(&str, &str)> {
    ["///", "//!"].into_iter().find_map(|mark| {
        let words = line.strip_prefix(mark)?;
        // More slashes are a rule across the page.
        (!words.starts_with('/')).then_some((mark, words.trim()))
    })
}

fn begins_with(words: &str, beginning: &str) -> bool {
    let rest = words.strip_prefix(beginning);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '\''))
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_one;
    use super::*;

    #[test]
    fn beginnings_without_a_verb_are_found() {
        let check = |source: &str, expect: &[usize]| {
            check_one(
                doc_comments_begin_with_a_verb_or_noun,
                "a.rs",
                source,
                expect,
            );
        };
        check(
            "/// Returns what is left.\n/// Of all, it is one.\nfn a() {}\n",
            &[],
        );
        check("/// What is left.\nfn a() {}\n", &[1]);
        check("//! What is left.\n\nfn a() {}\n", &[1]);
        check(
            "a {\n    /// The same, of two.\n    b: u8,\n    /// Of three.\n    c: u8,\n}\n",
            &[2, 4],
        );
        check("/// That it works.\n", &[1]);
        check("/// Those of a.\n", &[1]);
        check("///\n/// Those of a.\n", &[2]);
        check("//! A file.\n/// Of it.\nfn a() {}", &[2]);
        // Later paragraphs, other words, other comments, strings.
        check("/// A.\n///\n/// What is left.\n", &[]);
        check("/// Often.\n", &[]);
        check("/// Thatched roofs.\n", &[]);
        check("// What is left.\n", &[]);
        check("let a = \"/// What is left.\";\n", &[]);
        check("//// What is left.\n", &[]);
    }
}
