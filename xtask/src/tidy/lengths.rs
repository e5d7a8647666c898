//! Files and lines that are read at once are short.

use super::rust_text::comment_lines;
use super::{Files, Violation, sources, text};
use crate::repository::is_generated;

/// Most lines of a file of Rust, its tests included.
const FILE_LINES_MAX: usize = 800;

/// Begins the line that says why a file is longer; among the first [`REASON_LINES`] of the file.
const REASON: &str = "//! Length:";
const REASON_LINES: usize = 10;
const REASON_BYTES_MIN: usize = 20;

/// Most characters of a line of prose or of a comment.
const LINE_CHARS_MAX: usize = 120;

pub(super) fn files_are_short(files: &Files) -> Vec<Violation> {
    let ours = sources(files).filter(|(path, _)| !is_generated(path));
    ours.filter_map(|(path, source)| {
        let n_lines = source.lines().count();
        let mut first = source.lines().take(REASON_LINES);
        let reason = first.find_map(|line| line.strip_prefix(REASON));
        let (what, repair) = match (n_lines > FILE_LINES_MAX, reason) {
            (true, None) => (
                format!("{n_lines} lines, more than {FILE_LINES_MAX}"),
                format!(
                    "split it where it has two jobs; if it has one, say so among the first {REASON_LINES} lines: \
                     `{REASON} reason`"
                ),
            ),
            (true, Some(reason)) if reason.trim().len() < REASON_BYTES_MIN => (
                format!("`{REASON}` without a reason"),
                "say why its parts belong in one file".to_owned(),
            ),
            (false, Some(_)) => (
                format!("`{REASON}`, but the file has only {n_lines} lines"),
                "remove that line".to_owned(),
            ),
            _ => return None,
        };
        Some(Violation {
            path: path.to_owned(),
            line: 0,
            what,
            repair,
        })
    })
    .collect()
}

/// Prose for readers of the repository. Tables, code and generated sections cannot be wrapped.
pub(super) fn prose_lines_are_short(files: &Files) -> Vec<Violation> {
    const PAGES: [&str; 4] = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
    ];
    let is_prose =
        |path: &str| PAGES.contains(&path) || (path.starts_with("docs/") && path.ends_with(".md"));
    let pages = files.iter().filter(|(path, _)| is_prose(path));
    let pages = pages.filter_map(|(path, content)| Some((path.as_str(), text(content)?)));
    pages
        .flat_map(|(path, page)| {
            let mut is_code = false;
            let mut is_generated = false;
            let lines = page.lines().enumerate();
            let long = lines.filter(move |(_, line)| {
                let start = line.trim_start();
                is_code ^= start.starts_with("```");
                is_generated |=
                    start.ends_with(":begin -->") || start.starts_with("<!-- generated:");
                is_generated &= !start.ends_with(":end -->") && start != "<!-- end -->";
                !is_code && !is_generated && is_too_long(line, start)
            });
            long.map(|(i, line)| too_long(path, i, line))
        })
        .collect()
}

/// Comments of Rust; tables and code in them cannot be wrapped.
pub(super) fn comment_lines_are_short(files: &Files) -> Vec<Violation> {
    let ours = sources(files).filter(|(path, _)| !is_generated(path));
    ours.flat_map(|(path, source)| {
        let comments = comment_lines(source);
        let mut is_code = false;
        let lines = source.lines().enumerate();
        let long = lines.filter(move |(i, line)| {
            let start = line.trim_start();
            let doc = ["///", "//!"]
                .iter()
                .find_map(|mark| start.strip_prefix(mark));
            let Some(doc) = doc else {
                is_code = false;
                return comments.contains(i) && is_too_long(line, start);
            };
            let text = doc.trim_start();
            is_code ^= text.starts_with("```");
            comments.contains(i) && !is_code && is_too_long(line, text)
        });
        long.map(|(i, line)| too_long(path, i, line))
    })
    .collect()
}

/// `text` is the line without indentation and comment marks. An address alone cannot be wrapped.
fn is_too_long(line: &str, text: &str) -> bool {
    let is_table = text.starts_with('|');
    let can_be_wrapped = text
        .trim_start_matches(['-', '/', ' '])
        .contains(char::is_whitespace);
    line.chars().count() > LINE_CHARS_MAX && !is_table && can_be_wrapped
}

fn too_long(path: &str, i: usize, line: &str) -> Violation {
    Violation {
        path: path.to_owned(),
        line: i + 1,
        what: format!(
            "{} characters in a line, more than {LINE_CHARS_MAX}",
            line.chars().count()
        ),
        repair: "wrap it".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_one;
    use super::*;

    #[test]
    fn long_files_without_a_reason_are_found() {
        let rule = files_are_short;
        let short = "\n".repeat(FILE_LINES_MAX);
        let long = "\n".repeat(FILE_LINES_MAX + 1);
        let reason = "//! Length: one state machine, and its tests.\n";
        check_one(rule, "a.rs", &short, &[]);
        check_one(rule, "a.rs", &long, &[0]);
        check_one(rule, "a.md", &long, &[]);
        check_one(rule, "crates/x/src/generated/a.rs", &long, &[]);
        check_one(rule, "a.rs", &format!("//! A.\n//!\n{reason}{long}"), &[]);
        // Too late, too short, no longer needed.
        check_one(
            rule,
            "a.rs",
            &format!("{}{reason}{long}", "\n".repeat(10)),
            &[0],
        );
        check_one(rule, "a.rs", &format!("//! Length: long.\n{long}"), &[0]);
        check_one(rule, "a.rs", reason, &[0]);
    }

    #[test]
    fn long_lines_of_prose_are_found() {
        let rule = prose_lines_are_short;
        let most = format!("word {}", "é".repeat(LINE_CHARS_MAX - 5));
        let more = format!("{most}.");
        for path in ["README.md", "docs/a.md", "docs/deep/a.md"] {
            check_one(rule, path, &format!("{most}\n\n{more}\n"), &[3]);
        }
        check_one(rule, "crates/x/README.md", &more, &[]);
        let made = format!("<!-- list:begin -->\n{more}\n<!-- list:end -->\n{more}\n");
        check_one(rule, "README.md", &made, &[4]);
        let made = format!("<!-- generated: list -->\n{more}\n<!-- end -->\n{more}\n");
        check_one(rule, "README.md", &made, &[4]);
        let code = format!("```text\n{more}\n```\n{more}\n| {more} |\n");
        check_one(rule, "README.md", &code, &[4]);
        let address = format!("- https://example.org/{}\n", "a".repeat(LINE_CHARS_MAX));
        check_one(rule, "README.md", &address, &[]);
    }

    #[test]
    fn long_comments_are_found() {
        let rule = comment_lines_are_short;
        let long = "word ".repeat(LINE_CHARS_MAX / 5);
        check_one(rule, "a.rs", &format!("// {long}"), &[1]);
        check_one(rule, "a.rs", &format!("fn a() {{}}\n    /// {long}"), &[2]);
        check_one(rule, "a.rs", &format!("//! {long}"), &[1]);
        check_one(rule, "a.rs", &format!("let a = 1; // {long}"), &[1]);
        check_one(rule, "a.rs", &format!("/*\n{long}.\n*/"), &[2]);
        check_one(rule, "a.rs", &format!("let a = \"// {long}\";"), &[]);
        check_one(rule, "a.rs", &format!("//! | {long} |"), &[]);
        check_one(
            rule,
            "a.rs",
            &format!("/// ```\n/// {long}\n/// ```\n/// {long}"),
            &[4],
        );
        check_one(
            rule,
            "crates/x/src/generated.rs",
            &format!("// {long}"),
            &[],
        );
    }
}
