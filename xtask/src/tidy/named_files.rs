//! A file that a page or a comment names exists.

use std::collections::BTreeSet;

use super::rust_text::comments;
use super::{Files, Violation, sources, text};
use crate::repository::is_generated;

/// Endings of names of files that belong to a repository. Data, such as JSON, may be the reader's own.
const ENDINGS: [&str; 7] = [".rs", ".md", ".toml", ".fbs", ".py", ".yml", ".sh"];

/// Parts of a path that stand for other names.
const PLACEHOLDERS: [&str; 2] = ["NAME", "TARGET"];

/// Names of nothing in this repository.
const ELSEWHERE: [&str; 4] = [
    // The site with the documentation of crates.
    "docs.rs",
    // A page of the LZ4 project.
    "lz4_Block_format.md",
    // The generator beside the real tables, whose folder is not part of the repository.
    "make_ml.py",
    // Written by scripts/ci, and absent until a group has passed.
    ".ci/passed",
];

/// Looks at pages, and at comments of Rust and of schemas. A name is a path from the root, from the folder of the page,
/// or the end of a path: `layout.rs` is a file of each encoding.
pub(super) fn named_files_exist(files: &Files) -> Vec<Violation> {
    let known = Known::new(files);
    // Templates name files of the crates that are made of them.
    let is_page = |path: &str| path.ends_with(".md") && !path.starts_with("xtask/templates/");
    let pages = files.iter().filter(|(path, _)| is_page(path));
    let pages = pages.filter_map(|(path, content)| Some((path.as_str(), text(content)?)));
    let lines_of_pages = pages.flat_map(|(path, page)| {
        let lines = page.lines().enumerate();
        lines.map(move |(i, line)| (path, i, line))
    });
    let rust = sources(files).filter(|(path, _)| !is_generated(path));
    let lines_of_rust = rust.flat_map(|(path, source)| {
        let lines = comments(source).into_iter();
        lines.map(move |(i, line)| (path, i, line))
    });
    lines_of_pages
        .chain(lines_of_rust)
        .flat_map(|(path, i, line)| {
            let absent = names(line).filter(|name| !known.has(path, name));
            let violations = absent.map(|name| Violation {
                path: path.to_owned(),
                line: i + 1,
                what: format!("`{name}` is no file or folder of the repository"),
                repair: "name one that exists, or say it without a name".to_owned(),
            });
            violations.collect::<Vec<_>>()
        })
        .collect()
}

/// The paths of the repository, in the forms in which they may be named.
struct Known<'a> {
    folders: BTreeSet<&'a str>,
    /// Each file, and each end of its path.
    ends: BTreeSet<&'a str>,
}

impl<'a> Known<'a> {
    fn new(files: &'a Files) -> Self {
        let mut known = Self {
            folders: BTreeSet::new(),
            ends: BTreeSet::new(),
        };
        for path in files.keys() {
            known.ends.insert(path);
            for (at, _) in path.match_indices('/') {
                known.folders.extend(path.get(..at));
                known.ends.extend(path.get(at + 1..));
            }
        }
        known
    }

    /// True if `name` needs no file, or if there is one, seen from the page `path`.
    fn has(&self, path: &str, name: &str) -> bool {
        let is_file = ENDINGS.iter().any(|end| {
            let stem = name.strip_suffix(end);
            stem.is_some_and(|stem| !stem.is_empty() && !stem.ends_with('/'))
        });
        let top = name.split_once('/').map(|(top, _)| top);
        let is_below = top.is_some_and(|top| self.folders.contains(top));
        if !is_file && !is_below {
            return true;
        }
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let relative = resolved(folder, name);
        let is_known = |path: &str| self.folders.contains(path) || self.ends.contains(path);
        is_known(name) || relative.is_some_and(|path| is_known(&path))
    }
}

/// `name` as seen from `folder`; `None` if that is outside of the repository.
fn resolved(folder: &str, name: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in name.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Words of a line that may name a file: no addresses, patterns, or names that stand for others.
fn names(line: &str) -> impl Iterator<Item = &str> {
    let is_of_name = |c: char| c.is_alphanumeric() || "_./-*{}<>$".contains(c);
    let words = line.split(move |c| !is_of_name(c));
    let words = words.map(|word| {
        let word = word.trim_end_matches(['.', '/']);
        // A comment mark without a space behind it, and the start of an address.
        word.strip_prefix("./").unwrap_or(word)
    });
    words.filter(|word| {
        let is_pattern = word.contains(['*', '{', '}', '<', '>', '$']);
        let is_placeholder = word.split('/').any(|part| {
            let stem = part.split('.').next().unwrap_or(part);
            PLACEHOLDERS.contains(&stem)
        });
        let is_address = word.starts_with('/') || word.contains("...");
        !is_pattern && !is_placeholder && !is_address && !ELSEWHERE.contains(word)
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::files;
    use super::*;

    fn check(path: &str, content: &str, expect: &[(usize, &str)]) {
        let all = files(&[
            ("README.md", ""),
            ("docs/spec/file.md", ""),
            ("crates/x/src/layout.rs", ""),
            ("scripts/demo", ""),
            (path, content),
        ]);
        let found = named_files_exist(&all);
        let found: Vec<_> = found.iter().map(|it| (it.line, it.what.as_str())).collect();
        let expect: Vec<_> = expect
            .iter()
            .map(|(line, name)| {
                (
                    *line,
                    format!("`{name}` is no file or folder of the repository"),
                )
            })
            .collect();
        let expect: Vec<_> = expect.iter().map(|(line, what)| (*line, &**what)).collect();
        assert_eq!(found, expect, "{path}: {content:?}");
    }

    #[test]
    fn names_of_absent_files_are_found_in_pages() {
        let page = "docs/design/a.md";
        check(page, "See [file.md](../spec/file.md), `layout.rs`.\n", &[]);
        check(
            page,
            "See `docs/spec/file.md`, docs/spec/ and scripts/demo.",
            &[],
        );
        check(
            page,
            "See `src/layout.rs`, ../../README.md and ./a.md.",
            &[],
        );
        check(
            page,
            "a\nSee [it](../spec/fil.md).",
            &[(2, "../spec/fil.md")],
        );
        check(page, "(design notes, `NOTES.md`)", &[(1, "NOTES.md")]);
        check(
            page,
            "Run scripts/demos, or `tests/layout.rs`.",
            &[(1, "scripts/demos"), (1, "tests/layout.rs")],
        );
        check(page, "It lies in ../../../x.md.", &[(1, "../../../x.md")]);
        // A folder of no repository, and what is no name of one file.
        check(
            page,
            "numbers and/or times, e.g. 1/2, `a.json`, docs.rs",
            &[],
        );
        check(
            page,
            "docs/spec/*.md, crates/NAME, NAME.rs, {a}.rs, `.rs`",
            &[],
        );
        check(page, "https://example.org/x.md and //example.org/y.md", &[]);
    }

    #[test]
    fn names_of_absent_files_are_found_in_comments() {
        let source = "crates/x/src/lib.rs";
        check(
            source,
            "//! See `docs/spec/file.md`.\nlet a = \"b.md\"; // c.md\n",
            &[(2, "c.md")],
        );
        check(source, "/* See\n`crates/y` */", &[(2, "crates/y")]);
        check("crates/x/src/generated.rs", "// See b.md", &[]);
    }
}
