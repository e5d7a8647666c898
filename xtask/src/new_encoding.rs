//! `cargo xtask new-encoding NAME`: a crate that compiles and passes values through, and its places in the repository.
//! What has to be written is marked: `tidy` refuses the marks, and a test that panics says what it wants.

use std::fs;
use std::path::Path;

use crate::Outcome;
use crate::process::{self, cargo};

/// The files of a crate, relative to its folder.
const CRATE_FILES: [(&str, &str); 11] = [
    (
        "Cargo.toml",
        include_str!("../templates/encoding/Cargo.toml"),
    ),
    (
        "src/lib.rs",
        include_str!("../templates/encoding/src/lib.rs"),
    ),
    (
        "src/layout.rs",
        include_str!("../templates/encoding/src/layout.rs"),
    ),
    (
        "src/decode.rs",
        include_str!("../templates/encoding/src/decode.rs"),
    ),
    (
        "src/encode.rs",
        include_str!("../templates/encoding/src/encode.rs"),
    ),
    (
        "tests/all/main.rs",
        include_str!("../templates/encoding/tests/all/main.rs"),
    ),
    (
        "tests/all/laws.rs",
        include_str!("../templates/encoding/tests/all/laws.rs"),
    ),
    (
        "tests/all/golden.rs",
        include_str!("../templates/encoding/tests/all/golden.rs"),
    ),
    (
        "tests/all/corrupt.rs",
        include_str!("../templates/encoding/tests/all/corrupt.rs"),
    ),
    (
        "examples/standalone.rs",
        include_str!("../templates/encoding/examples/standalone.rs"),
    ),
    (
        "benches/codec.rs",
        include_str!("../templates/encoding/benches/codec.rs"),
    ),
];

const SPEC: &str = include_str!("../templates/encoding/spec.md");

const WORKSPACE: &str = "Cargo.toml";
const TABLE: &str = "crates/all-encodings/src/lib.rs";
const TABLE_MANIFEST: &str = "crates/all-encodings/Cargo.toml";
const CHANGELOG: &str = "CHANGELOG.md";

/// Longest name: the id `tarsia.NAME` stays below the 64 bytes that a tree has for it.
const NAME_BYTES_MAX: usize = 40;

/// Files that a new encoding adds to the repository.
#[derive(Debug)]
struct Plan {
    /// Files that there are not yet, with their content.
    create: Vec<(String, String)>,
    /// Files that there are, with their new content.
    edit: Vec<(String, String)>,
}

/// Makes the crate `crates/encodings/NAME` and what belongs to it.
pub(crate) fn run(root: &Path, name: &str) -> Outcome {
    let read = |path: &str| {
        fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"))
    };
    let plan = plan(name, &read)?;
    let folder = folder(name);
    let created = plan.create.iter().map(|(path, _)| path.as_str());
    for path in created.chain([folder.as_str()]) {
        if root.join(path).exists() {
            return Err(format!(
                "{path} exists already: choose another name, or remove it"
            ));
        }
    }
    for (path, content) in plan.create.iter().chain(&plan.edit) {
        let path = root.join(path);
        let failed = |error| format!("{}: {error}", path.display());
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        fs::write(&path, content).map_err(failed)?;
    }
    // Names of some lengths break lines in other places.
    process::run(cargo(root).args(["fmt", "--package", &format!("tarsia-{name}")]))?;
    println!("{}", report(name, &plan));
    Ok(())
}

/// Says what there is now, and what comes next.
fn report(name: &str, plan: &Plan) -> String {
    let list = |files: &[(String, String)]| {
        let lines = files.iter().map(|(path, _)| format!("  {path}\n"));
        lines.collect::<String>()
    };
    format!(
        "made:\n{}edited:\n{}\
         next:\n  \
         1. docs/spec/encodings/{name}.md: the layout, its rules, fit and residue of an erasure; have it reviewed\n  \
         2. {folder}/src: layout, decoder, encoder, proposals, in this order\n  \
         3. {folder}/tests: corrupt, laws; golden at last: TARSIA_BLESS=1 cargo test -p tarsia-{name}\n  \
         4. cargo bench -p tarsia-{name}, and what it measures in the row of {TABLE}\n  \
         5. cargo xtask build-wasm, cargo xtask docs, cargo xtask tidy: they find what is left to fill in",
        list(&plan.create),
        list(&plan.edit),
        folder = folder(name),
    )
}

fn folder(name: &str) -> String {
    format!("crates/encodings/{name}")
}

/// All files of the encoding `name`. `read` gives the text of files of the repository.
fn plan(name: &str, read: &dyn Fn(&str) -> Result<String, String>) -> Result<Plan, String> {
    check_name(name)?;
    let package = format!("tarsia-{name}");
    let of_workspace = read(WORKSPACE)?;
    if of_workspace
        .lines()
        .any(|line| line.starts_with(&format!("{package} = ")))
    {
        return Err(format!(
            "{package} is a crate of the workspace already: choose another name"
        ));
    }
    let folder = folder(name);
    let mut create: Vec<_> = CRATE_FILES
        .iter()
        .map(|(path, template)| (format!("{folder}/{path}"), fill(template, name)))
        .collect();
    create.push((format!("docs/spec/encodings/{name}.md"), fill(SPEC, name)));
    let edit = [
        (TABLE, add_row(&read(TABLE)?, name)),
        (TABLE_MANIFEST, add_dependency(&read(TABLE_MANIFEST)?, name)),
        (CHANGELOG, add_change(&read(CHANGELOG)?, name)),
    ];
    let edit = edit.into_iter().map(|(path, content)| match content {
        Ok(content) => Ok((path.to_owned(), content)),
        Err(lacks) => Err(format!(
            "{path} {lacks}\nrepair: put it back, or change xtask/src/new_encoding.rs with it"
        )),
    });
    Ok(Plan {
        create,
        edit: edit.collect::<Result<_, _>>()?,
    })
}

fn check_name(name: &str) -> Outcome {
    let is_part = |part: &str| {
        let mut chars = part.chars();
        chars
            .next()
            .is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
            && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase());
    if !starts || !name.split('-').all(is_part) || name.len() > NAME_BYTES_MAX {
        return Err(format!(
            "{name:?} is no name for an encoding: lower-case letters, digits and single `-` between them, a letter first, at most \
             {NAME_BYTES_MAX} of them"
        ));
    }
    // The type's name must not be that of something that the crate uses.
    let type_name = type_name(name);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut templates = CRATE_FILES
        .iter()
        .filter(|(path, _)| path.starts_with("src/"));
    let uses = |text: &str| text.split(|c| !is_word(c)).any(|word| word == type_name);
    if type_name == "Self" || templates.any(|(_, template)| uses(template)) {
        return Err(format!(
            "the type of {name:?} would be called {type_name}, which is taken: choose another name"
        ));
    }
    Ok(())
}

/// `frame-of-reference` is `FrameOfReference`.
fn type_name(name: &str) -> String {
    let parts = name.split('-').map(|part| match part.split_at_checked(1) {
        Some((first, rest)) => first.to_uppercase() + rest,
        None => String::new(),
    });
    parts.collect()
}

/// `tarsia-frame-of-reference` as Rust writes it.
fn crate_name(name: &str) -> String {
    format!("tarsia_{}", name.replace('-', "_"))
}

fn static_name(name: &str) -> String {
    name.replace('-', "_").to_uppercase()
}

fn fill(template: &str, name: &str) -> String {
    let values = [
        ("{{name}}", name.to_owned()),
        ("{{Type}}", type_name(name)),
        ("{{STATIC}}", static_name(name)),
        ("{{crate}}", crate_name(name)),
    ];
    let filled = |text: String, (key, value): &(&str, String)| text.replace(key, value);
    values.iter().fold(template.to_owned(), filled)
}

/// The table with a last row in `CORE`.
fn add_row(table: &str, name: &str) -> Result<String, String> {
    let row = format!(
        "    // FILL IN: what benches/codec.rs measures, and another place if it is cheaper to propose than those above.\n    \
         row!({}::{}, value_ps: 1000, byte_ps: 0, Always),\n",
        crate_name(name),
        static_name(name)
    );
    let start = table.find("pub static CORE: &[Row] = &[\n");
    let start = start.ok_or("lacks the static CORE")?;
    let end = table.get(start..).and_then(|rows| rows.find("\n];"));
    let end = start + end.ok_or("lacks the end of CORE")? + 1;
    Ok(inserted(table, end, &row))
}

/// The table's manifest with the crate among its dependencies, and its features in those of the table.
fn add_dependency(manifest: &str, name: &str) -> Result<String, String> {
    let mut manifest = manifest.to_owned();
    for feature in ["encode", "kernel"] {
        manifest = add_to_list(&manifest, feature, &format!("tarsia-{name}/{feature}"))?;
    }
    let line = format!(
        "tarsia-{name} = {{ path = \"../encodings/{name}\", version = \"0.1.0\", default-features = false }}\n"
    );
    let section = "[dependencies]\n";
    let start = manifest.find(section).ok_or("lacks [dependencies]")? + section.len();
    let mut at = start;
    // Sorted as the others are.
    for other in manifest
        .get(start..)
        .unwrap_or_default()
        .split_inclusive('\n')
    {
        if other.trim().is_empty() || other.starts_with('[') || other > line.as_str() {
            break;
        }
        at += other.len();
    }
    Ok(inserted(&manifest, at, &line))
}

/// A manifest with `item` in the list `key`, which is sorted.
fn add_to_list(manifest: &str, key: &str, item: &str) -> Result<String, String> {
    let opening = format!("\n{key} = [");
    let start = manifest
        .find(&opening)
        .ok_or_else(|| format!("lacks the list {key}"))?;
    let start = start + opening.len();
    let rest = manifest.get(start..).unwrap_or_default();
    let len = rest
        .find(']')
        .ok_or_else(|| format!("does not close the list {key}"))?;
    let (list, after) = rest.split_at(len);
    let items = list.split(',').map(|item| item.trim().trim_matches('"'));
    let mut items: Vec<&str> = items
        .filter(|item| !item.is_empty())
        .chain([item])
        .collect();
    items.sort_unstable();
    let list = match list.contains('\n') {
        true => {
            let lines = items.iter().map(|item| format!("    \"{item}\",\n"));
            format!("\n{}", lines.collect::<String>())
        }
        false => {
            let items: Vec<_> = items.iter().map(|item| format!("\"{item}\"")).collect();
            items.join(", ")
        }
    };
    let before = manifest.get(..start).unwrap_or_default();
    Ok(format!("{before}{list}{after}"))
}

/// The list of changes with a line at the end of what the next version adds.
fn add_change(changes: &str, name: &str) -> Result<String, String> {
    let version = changes
        .find("(unreleased)")
        .ok_or("lacks an unreleased version")?;
    let added = changes
        .get(version..)
        .and_then(|rest| rest.find("\n### Added\n"));
    let added =
        version + added.ok_or("lacks what the unreleased version adds")? + "\n### Added\n".len();
    // Up to the next heading, without the empty lines in front of it.
    let rest = changes.get(added..).unwrap_or_default();
    let len = rest.find("\n#").unwrap_or(rest.len());
    let list = rest.get(..len).unwrap_or_default().trim_end();
    let line = format!("- The encoding `tarsia.{name}`: FILL IN.");
    Ok(inserted(changes, added + list.len(), &format!("\n{line}")))
}

fn inserted(text: &str, at: usize, more: &str) -> String {
    let (before, after) = text.split_at(at.min(text.len()));
    format!("{before}{more}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str) -> Result<String, String> {
        fs::read_to_string(crate::root().join(path)).map_err(|error| format!("{path}: {error}"))
    }

    #[test]
    fn a_skeleton_has_all_files_and_no_placeholder() {
        let plan = plan("sample-test", &read).unwrap();
        let folder = "crates/encodings/sample-test/";
        for file in crate::tidy::ENCODING_FILES {
            let path = format!("{folder}{file}");
            assert!(plan.create.iter().any(|(made, _)| *made == path), "{path}");
        }
        let marks = |text: &str| text.matches("{{").count() + text.matches("}}").count();
        for (path, content) in plan.create.iter().chain(&plan.edit) {
            // What stood in an edited file before is no placeholder, `columns={"a": {}}` for one.
            let before = read(path).map_or(0, |text| marks(&text));
            assert_eq!(marks(content), before, "{path}");
            assert!(
                content.ends_with('\n') && !content.contains("todo!"),
                "{path}"
            );
        }
        let (_, lib) = &plan.create[1];
        assert!(
            lib.contains("pub static SAMPLE_TEST: SampleTest = SampleTest;"),
            "{lib}"
        );
        let paths = plan.create.iter().map(|(path, _)| path);
        let mut paths: Vec<_> = paths.collect();
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), plan.create.len());
        let report = report("sample-test", &plan);
        assert!(
            report.contains("docs/spec/encodings/sample-test.md"),
            "{report}"
        );
    }

    #[test]
    fn edits_insert_one_thing_once() {
        let plan = plan("sample-test", &read).unwrap();
        let wanted: [(&str, &[&str]); 3] = [
            (TABLE, &["row!(tarsia_sample_test::SAMPLE_TEST, "]),
            (
                TABLE_MANIFEST,
                &[
                    "\"tarsia-sample-test/encode\"",
                    "\"tarsia-sample-test/kernel\"",
                    "\ntarsia-sample-test = { path = \"../encodings/sample-test\", version = \"0.1.0\", default-features = false }\n",
                ],
            ),
            (CHANGELOG, &["\n- The encoding `tarsia.sample-test`: "]),
        ];
        assert_eq!(plan.edit.len(), wanted.len());
        for ((path, after), (wanted_path, texts)) in plan.edit.iter().zip(wanted) {
            assert_eq!(path, wanted_path);
            let before = read(path).unwrap();
            for text in texts {
                assert_eq!(before.matches(text).count(), 0, "{path}: {text}");
                assert_eq!(after.matches(text).count(), 1, "{path}: {text}");
            }
            // All that was there still is, in its order.
            let mut rest = after.lines();
            for line in before.lines().filter(|line| !line.contains(" = [")) {
                assert!(rest.any(|other| other == line), "{path}: {line}");
            }
        }
    }

    #[test]
    fn edits_go_where_they_belong() {
        let table =
            "x\npub static CORE: &[Row] = &[\n    row!(a),\n];\n\npub static B: &[Row] = &[\n];\n";
        let table = add_row(table, "x").unwrap();
        let (core, _) = table.split_once("];\n\npub static B").unwrap();
        assert!(
            core.contains("row!(a),\n") && core.contains("row!(tarsia_x::X, "),
            "{table}"
        );
        let manifest = "[features]\nencode = [\"tarsia-a/encode\", \"tarsia-z/encode\"]\nkernel = [\n    \"tarsia-a/kernel\",\n]\n\n\
                        [dependencies]\ntarsia-a = 1\ntarsia-z = 1\n\n[lints]\n";
        let manifest = add_dependency(manifest, "m").unwrap();
        let expect = "[features]\nencode = [\"tarsia-a/encode\", \"tarsia-m/encode\", \"tarsia-z/encode\"]\n\
                      kernel = [\n    \"tarsia-a/kernel\",\n    \"tarsia-m/kernel\",\n]\n\n\
                      [dependencies]\ntarsia-a = 1\ntarsia-m = { path = \"../encodings/m\", version = \"0.1.0\", default-features = false }\n\
                      tarsia-z = 1\n\n[lints]\n";
        assert_eq!(manifest, expect);
        let changes = "# C\n\n## 0.2 (unreleased)\n\n### Added\n- a\n\n### Fixed\n- b\n";
        let expect = "# C\n\n## 0.2 (unreleased)\n\n### Added\n- a\n- The encoding `tarsia.m`: FILL IN.\n\n### Fixed\n- b\n";
        assert_eq!(add_change(changes, "m").unwrap(), expect);
        assert!(add_change("# C\n", "m").is_err());
    }

    #[test]
    fn names_are_checked() {
        for name in ["delta", "frame-of-reference", "alp2", "fsst-12"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        let long = "a".repeat(NAME_BYTES_MAX + 1);
        for name in [
            "", "-a", "a-", "a--b", "A", "a_b", "2a", "a b", "../a", "é", &long,
        ] {
            assert!(check_name(name).is_err(), "{name}");
        }
        // `Self`, `Box` and `Decoder` mean something else in the crate.
        for name in ["self", "box", "decoder"] {
            assert!(check_name(name).unwrap_err().contains("is taken"), "{name}");
        }
        assert!(plan("bytes", &read).unwrap_err().contains("already"));
        assert_eq!(type_name("frame-of-reference"), "FrameOfReference");
    }
}
