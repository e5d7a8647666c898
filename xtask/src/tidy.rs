//! The project's rules as tests. Each violation says how to repair it.

mod encodings;

#[cfg(test)]
pub(crate) use encodings::ENCODING_FILES;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::Outcome;

/// The folders below `src/` whose files may use `unsafe`: loops that are dispatched at run time, and Arrow arrays from parts
/// that were checked.
const UNSAFE_FOLDERS: [&str; 2] = ["loops", "kernels"];

/// Files with `unsafe` outside of [`UNSAFE_FOLDERS`], each with the reason.
const UNSAFE_ALLOWED: [(&str, &str); 11] = [
    (
        "benchmarks/src/peers/mod.rs",
        "maps the peers' files, as Tarsia maps its own",
    ),
    (
        "benchmarks/src/speed/cold.rs",
        "asks the kernel of the machine to forget a file, and whether it did",
    ),
    (
        "benchmarks/src/speed/memory.rs",
        "counts what every format allocates",
    ),
    (
        "crates/bits/benches/loops.rs",
        "calls the peer it is measured against",
    ),
    ("crates/io/src/mapped.rs", "a file cannot be mapped safely"),
    (
        "crates/kernel-guest/src/allocator.rs",
        "the allocator of kernels: links in free blocks",
    ),
    (
        "crates/kernel-guest/src/export.rs",
        "exports, and the one instance of a module without threads",
    ),
    (
        "crates/kernel-guest/src/memory.rs",
        "addresses of the module's own memory become slices",
    ),
    (
        "crates/metadata/src/generated/column.rs",
        "written by flatc",
    ),
    (
        "crates/metadata/src/generated/footer.rs",
        "written by flatc",
    ),
    ("crates/testkit/src/memory.rs", "an allocator that counts"),
];

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

/// One broken rule.
#[derive(Debug, PartialEq, Eq)]
struct Violation {
    path: String,
    /// 0 for the whole file.
    line: usize,
    what: String,
    repair: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: ", self.path)?,
            line => write!(f, "{}:{line}: ", self.path)?,
        }
        write!(f, "{}\n    repair: {}", self.what, self.repair)
    }
}

/// The files that belong to the repository, by path.
type Files = BTreeMap<String, Vec<u8>>;

/// Checks all rules.
pub(crate) fn run(root: &Path) -> Outcome {
    let violations = check(&load(root)?);
    if violations.is_empty() {
        return Ok(());
    }
    let list: Vec<String> = violations.iter().map(Violation::to_string).collect();
    Err(format!("{}\n{} violations", list.join("\n"), list.len()))
}

fn check(files: &Files) -> Vec<Violation> {
    let rules: [fn(&Files) -> Vec<Violation>; 11] = [
        encodings::encodings_are_complete,
        encodings::encodings_have_rows,
        encodings::pages_are_complete,
        encodings::nothing_is_left_to_fill_in,
        encodings::kernels_are_of_the_table,
        encodings::encodings_are_known_by_the_table,
        crates_are_described,
        nothing_is_left_to_do,
        no_paths_of_a_machine,
        unsafe_is_in_loops,
        golden_files_are_tested,
    ];
    rules.iter().flat_map(|rule| rule(files)).collect()
}

/// Tracked files, and new ones that git does not ignore.
fn load(root: &Path) -> Result<Files, String> {
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

fn text(content: &[u8]) -> Option<&str> {
    std::str::from_utf8(content).ok()
}

/// Rust sources with their text.
fn sources(files: &Files) -> impl Iterator<Item = (&str, &str)> {
    let rust = files.iter().filter(|(path, _)| path.ends_with(".rs"));
    rust.filter_map(|(path, content)| Some((path.as_str(), text(content)?)))
}

fn crates_are_described(files: &Files) -> Vec<Violation> {
    let manifests = files.iter().filter(|(path, _)| {
        path.as_str() == "xtask/Cargo.toml"
            || (path.starts_with("crates/") && path.ends_with("/Cargo.toml"))
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

fn nothing_is_left_to_do(files: &Files) -> Vec<Violation> {
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

fn no_paths_of_a_machine(files: &Files) -> Vec<Violation> {
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

fn unsafe_is_in_loops(files: &Files) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut used = Vec::new();
    for (path, source) in sources(files) {
        let below_src = path.split_once("/src/").map_or("", |(_, below)| below);
        let mut folders = below_src.split('/').rev().skip(1);
        let in_folder = folders.any(|folder| UNSAFE_FOLDERS.contains(&folder));
        let allowed = UNSAFE_ALLOWED.iter().any(|(listed, _)| *listed == path);
        let code = code_only(source);
        let mut lines = code
            .lines()
            .enumerate()
            .filter(|(_, line)| find_word(line, "unsafe"));
        if let Some((i, _)) = lines.next() {
            used.push(path);
            if !in_folder && !allowed {
                violations.push(Violation {
                    path: path.to_owned(),
                    line: i + 1,
                    what: "`unsafe` outside a loops/ folder".to_owned(),
                    repair: "move it into src/loops/ beside a safe twin, or list the file with a reason in \
                             xtask/src/tidy.rs, UNSAFE_ALLOWED"
                        .to_owned(),
                });
            }
        }
    }
    for (listed, reason) in UNSAFE_ALLOWED {
        // Only of files there are: the rules are also run on excerpts.
        if files.contains_key(listed) && !used.contains(&listed) {
            violations.push(Violation {
                path: listed.to_owned(),
                line: 0,
                what: format!("listed as using `unsafe` ({reason}), but it does not"),
                repair: "remove it from xtask/src/tidy.rs, UNSAFE_ALLOWED".to_owned(),
            });
        }
    }
    violations
}

fn golden_files_are_tested(files: &Files) -> Vec<Violation> {
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

/// Whether `word` stands in `line` and is not part of a longer one.
fn find_word(line: &str, word: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).and_then(|before| before.chars().next_back());
        let after = line
            .get(at + word.len()..)
            .and_then(|after| after.chars().next());
        let starts = !before.is_some_and(is_word) || !word.starts_with(is_word);
        let ends = !after.is_some_and(is_word) || !word.ends_with(is_word);
        starts && ends
    })
}

/// The source with comments, strings and characters blanked, line by line as before.
fn code_only(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let skipped = comment_len(rest)
            .or_else(|| raw_string_len(rest, out.chars().next_back()))
            .or_else(|| quoted_len(rest));
        match skipped {
            Some(len) => {
                let (blank, after) = rest.split_at(len.min(rest.len()));
                out.push(' ');
                out.extend(blank.chars().filter(|c| *c == '\n'));
                rest = after;
            }
            None => {
                out.push(first);
                rest = rest.get(first.len_utf8()..).unwrap_or_default();
            }
        }
    }
    out
}

/// Length of the comment that `rest` starts with; block comments nest.
fn comment_len(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    let mut depth = 0usize;
    let bytes = rest.as_bytes();
    let mut at = 0;
    loop {
        match bytes.get(at..at + 2) {
            Some(b"/*") => {
                depth += 1;
                at += 2;
            }
            Some(b"*/") if depth > 0 => {
                depth -= 1;
                at += 2;
            }
            Some(_) if depth > 0 => at += 1,
            None if depth > 0 => return Some(rest.len()),
            _ => return None,
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

/// Length of the raw string that `rest` starts with.
fn raw_string_len(rest: &str, before: Option<char>) -> Option<usize> {
    if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let prefix = ["br", "cr", "r"]
        .iter()
        .find(|prefix| rest.starts_with(**prefix))?;
    let after = rest.get(prefix.len()..)?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let body = after.get(hashes..)?.strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let body_len = body.find(&end).map_or(body.len(), |at| at + end.len());
    Some(prefix.len() + hashes + 1 + body_len)
}

/// Length of the string or character literal that `rest` starts with; `'a` alone is a lifetime.
fn quoted_len(rest: &str) -> Option<usize> {
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return Some(at + 1),
            // A character literal is one character or one escape.
            _ if quote == '\'' && !rest.starts_with("'\\") => {
                let end = at + c.len_utf8();
                return rest.get(end..)?.starts_with('\'').then_some(end + 1);
            }
            _ => {}
        }
    }
    (quote == '"').then_some(rest.len())
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
    fn unsafe_outside_loops_is_found() {
        let rule = unsafe_is_in_loops;
        check_one(
            rule,
            "crates/x/src/lib.rs",
            "fn a() {\n    unsafe { b() }\n}",
            &[2],
        );
        check_one(rule, "crates/x/src/loops/avx2.rs", "unsafe fn a() {}", &[]);
        check_one(rule, "crates/x/src/loops.rs", "unsafe fn a() {}", &[1]);
        check_one(rule, "crates/loops/src/a.rs", "unsafe fn a() {}", &[1]);
        check_one(
            rule,
            "crates/x/src/lib.rs",
            "#![forbid(unsafe_code)] // unsafe\n",
            &[],
        );
        check_one(rule, UNSAFE_ALLOWED[0].0, "unsafe fn a() {}", &[]);
        check_one(rule, UNSAFE_ALLOWED[0].0, "fn a() {}", &[0]);
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

    #[test]
    fn code_is_told_from_text() {
        for (source, code) in [
            ("a // b\nc", "a  \nc"),
            ("a /* b /* c */ d */ e", "a   e"),
            ("a /* b", "a  "),
            ("a / b * c", "a / b * c"),
            ("f(\"x\\\"y\", 1)", "f( , 1)"),
            ("f('\"', 'a', '\\'', b)", "f( ,  ,  , b)"),
            ("fn a<'a>(x: &'a str) {}", "fn a<'a>(x: &'a str) {}"),
            ("r#\"a\"b\"# c", "  c"),
            ("var\"x\"", "var "),
            ("\"two\nlines\" x", " \n x"),
            ("'é' é", "  é"),
            ("\"open", " "),
        ] {
            assert_eq!(code_only(source), code, "{source:?}");
        }
    }
}
