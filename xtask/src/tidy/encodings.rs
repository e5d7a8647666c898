//! Rules about encodings: one row, one page and one set of files each, and nobody but the table knows them by name.

use std::collections::BTreeSet;

use tarsia_encodings::KERNELS;

use super::{Files, Violation, code_only, find_word, sources, text};
use crate::spec;

/// Files that every encoding crate has, relative to its folder.
pub(crate) const ENCODING_FILES: [&str; 10] = [
    "src/lib.rs",
    "src/layout.rs",
    "src/decode.rs",
    "src/encode.rs",
    "tests/all/laws.rs",
    "tests/all/golden.rs",
    "tests/all/corrupt.rs",
    "tests/all/main.rs",
    "examples/standalone.rs",
    "benches/codec.rs",
];

const TABLE: &str = "crates/all-encodings/src/lib.rs";
const KERNELS_CODE: &str = "crates/kernels/src/generated.rs";

/// Marks what a skeleton leaves open; spelled so that this file does not break its own rule.
const MARK: &str = concat!("FILL", " IN");

/// The encodings that have a folder.
fn names(files: &Files) -> BTreeSet<&str> {
    let names = files.keys().filter_map(|path| {
        let rest = path.strip_prefix("crates/encodings/")?;
        rest.strip_suffix("/Cargo.toml")
            .filter(|name| !name.contains('/'))
    });
    names.collect()
}

pub(super) fn encodings_are_complete(files: &Files) -> Vec<Violation> {
    let mut violations = Vec::new();
    for name in names(files) {
        let folder = format!("crates/encodings/{name}");
        let mut wanted: Vec<String> = ENCODING_FILES
            .iter()
            .map(|file| format!("{folder}/{file}"))
            .collect();
        wanted.push(format!("{}{name}.md", spec::FOLDER));
        for path in wanted.into_iter().filter(|path| !files.contains_key(path)) {
            violations.push(Violation {
                what: format!("the encoding {name} lacks this file"),
                repair: "write it; STYLE: every encoding has the same files".to_owned(),
                line: 0,
                path,
            });
        }
        let golden = format!("{folder}/tests/golden/");
        if !files.keys().any(|path| path.starts_with(&golden)) {
            violations.push(Violation {
                path: golden,
                line: 0,
                what: format!("the encoding {name} has no golden files"),
                repair: "add frozen bytes and name them in tests/all/golden.rs".to_owned(),
            });
        }
    }
    violations
}

/// Each folder has a row of the table, and each row a folder.
pub(super) fn encodings_have_rows(files: &Files) -> Vec<Violation> {
    let Some(table) = files.get(TABLE).and_then(|content| text(content)) else {
        return Vec::new();
    };
    let table = code_only(table);
    let mut rows = BTreeSet::new();
    let mut violations = Vec::new();
    let folders: BTreeSet<String> = names(files)
        .iter()
        .map(|name| name.replace('-', "_"))
        .collect();
    for (i, line) in table.lines().enumerate() {
        let row = line.trim_start().strip_prefix("row!(tarsia_");
        let Some((name, _)) = row.and_then(|row| row.split_once("::")) else {
            continue;
        };
        if !folders.contains(name) || !rows.insert(name) {
            violations.push(Violation {
                path: TABLE.to_owned(),
                line: i + 1,
                what: format!("a row of an encoding without a folder, or with two rows: {name}"),
                repair: "remove the row; encodings that are registered from outside need none"
                    .to_owned(),
            });
        }
    }
    for name in names(files)
        .iter()
        .filter(|name| !rows.contains(name.replace('-', "_").as_str()))
    {
        violations.push(Violation {
            path: format!("crates/encodings/{name}"),
            line: 0,
            what: format!("the encoding {name} is not in the table"),
            repair: format!("add its row to {TABLE}; `cargo xtask new-encoding` does"),
        });
    }
    violations
}

/// Each page of the specification is of an encoding, and says what the others say.
pub(super) fn pages_are_complete(files: &Files) -> Vec<Violation> {
    let mut violations = Vec::new();
    let names = names(files);
    for (path, content) in files {
        let Some(name) = spec::encoding_of(path) else {
            continue;
        };
        let mut violation = |what: String, repair: String| {
            violations.push(Violation {
                path: path.clone(),
                line: 0,
                what,
                repair,
            });
        };
        if !names.contains(name) {
            violation(
                "a page without an encoding".to_owned(),
                format!("remove it, or make the crate: cargo xtask new-encoding {name}"),
            );
        }
        let page = text(content).unwrap_or_default();
        for wanted in spec::PARAGRAPHS {
            if spec::paragraph(page, wanted).is_none() {
                violation(
                    format!("no paragraph starts with **{wanted}.**"),
                    "write it; all pages of encodings have the same paragraphs".to_owned(),
                );
            }
        }
        if spec::paragraph(page, "Erasure").is_some() && spec::erasure(page).is_none() {
            violation(
                "does not say what an erasure leaves in the form that tables are made of".to_owned(),
                "write `**Erasure.** Fit: <sentence>. Residue: <sentence>.`, and all else in further paragraphs".to_owned(),
            );
        }
    }
    violations
}

/// Finds what `cargo xtask new-encoding` left open.
pub(super) fn nothing_is_left_to_fill_in(files: &Files) -> Vec<Violation> {
    let mut violations = Vec::new();
    let looked_at = files.iter().filter(|(path, _)| {
        *path == "CHANGELOG.md" || path.starts_with("docs/") || path.starts_with("crates/")
    });
    for (path, content) in looked_at {
        for (i, line) in text(content).unwrap_or_default().lines().enumerate() {
            if line.contains(MARK) {
                violations.push(Violation {
                    path: path.clone(),
                    line: i + 1,
                    what: format!("`{MARK}`"),
                    repair: "write what the line asks for, and remove the mark".to_owned(),
                });
            }
        }
    }
    violations
}

/// The committed kernels decode what the table says.
pub(super) fn kernels_are_of_the_table(files: &Files) -> Vec<Violation> {
    let Some(code) = files.get(KERNELS_CODE).and_then(|content| text(content)) else {
        return Vec::new();
    };
    let kernels = KERNELS.iter().map(|kernel| {
        let rows = kernel.rows();
        (kernel.name, rows.map(|row| row.encoding.id()).collect())
    });
    compare_kernels(code, kernels.collect())
}

/// Compares the ids in the code that `build-wasm` made with those of each kernel of the table.
fn compare_kernels(code: &str, table: Vec<(&str, BTreeSet<&str>)>) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut violation = |what: String| {
        violations.push(Violation {
            path: KERNELS_CODE.to_owned(),
            line: 0,
            what,
            repair: "run `cargo xtask build-wasm` and commit what it writes".to_owned(),
        });
    };
    let between = |text: &str, start: &str| -> Option<String> {
        let (_, rest) = text.split_once(start)?;
        rest.split_once('"').map(|(found, _)| found.to_owned())
    };
    let mut built = Vec::new();
    for part in code.split(": Kernel = Kernel {").skip(1) {
        let ids = part.split("KernelEncoding::new(").skip(1);
        let ids: BTreeSet<String> = ids.filter_map(|part| between(part, "\"")).collect();
        let name = between(part, "name: Cow::Borrowed(\"").unwrap_or_default();
        built.push((name, ids));
    }
    for (name, wanted) in &table {
        match built.iter().find(|(built, _)| built == name) {
            None => violation(format!("the kernel {name} is not built")),
            Some((_, ids)) => {
                let ids: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
                for id in ids.symmetric_difference(wanted) {
                    violation(match wanted.contains(id) {
                        true => {
                            format!("the kernel {name} does not decode {id}, as the table says")
                        }
                        false => {
                            format!("the kernel {name} decodes {id}, which the table does not say")
                        }
                    });
                }
            }
        }
    }
    for (name, _) in built
        .iter()
        .filter(|(built, _)| table.iter().all(|(name, _)| name != built))
    {
        violation(format!("the kernel {name} is not in the table"));
    }
    violations
}

/// All others ask the table, so that a new encoding needs no change of theirs.
pub(super) fn encodings_are_known_by_the_table(files: &Files) -> Vec<Violation> {
    let repair = |name: &str| {
        format!(
            "take encodings of tarsia-encodings (rows(), registry()) or of a registry that is handed in, instead of {name}; tests may \
             name it: as a dev-dependency"
        )
    };
    let names = names(files);
    let looked_at = |path: &str| {
        path.starts_with("crates/")
            && !path.starts_with("crates/encodings/")
            && !path.starts_with("crates/all-encodings/")
    };
    let mut violations = Vec::new();
    let manifests = files
        .iter()
        .filter(|(path, _)| looked_at(path) && path.ends_with("/Cargo.toml"));
    for (path, content) in manifests {
        let mut section = "";
        for (i, line) in text(content).unwrap_or_default().lines().enumerate() {
            if line.starts_with('[') {
                section = line;
            }
            let is_dependency = section.ends_with("dependencies]") && !section.contains("dev-");
            let package = line.split([' ', '=', '.']).next().unwrap_or_default();
            let name = package.strip_prefix("tarsia-").unwrap_or_default();
            if is_dependency && names.contains(name) {
                violations.push(Violation {
                    path: path.clone(),
                    line: i + 1,
                    what: format!("depends on the encoding {name}"),
                    repair: repair(package),
                });
            }
        }
    }
    for (path, source) in
        sources(files).filter(|(path, _)| looked_at(path) && path.contains("/src/"))
    {
        let code = code_only(source);
        // Tests stand at the end of a file.
        let lines = code.lines().take_while(|line| {
            !line.starts_with("#[cfg(test)]") && !line.starts_with("#[cfg(all(test,")
        });
        for (i, line) in lines.enumerate() {
            for name in &names {
                let package = format!("tarsia_{}", name.replace('-', "_"));
                if find_word(line, &package) {
                    violations.push(Violation {
                        path: path.to_owned(),
                        line: i + 1,
                        what: format!("uses the encoding {name}"),
                        repair: repair(&package),
                    });
                }
            }
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_one, files};
    use super::*;

    #[test]
    fn an_encoding_without_its_files_is_found() {
        let mut list = vec![("crates/encodings/x/Cargo.toml".to_owned(), String::new())];
        for file in ENCODING_FILES {
            list.push((format!("crates/encodings/x/{file}"), String::new()));
        }
        list.push(("docs/spec/encodings/x.md".to_owned(), String::new()));
        list.push((
            "crates/encodings/x/tests/golden/v1/a.bin".to_owned(),
            String::new(),
        ));
        let all: Vec<_> = list
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        assert_eq!(encodings_are_complete(&files(&all)), []);
        for missing in 1..all.len() {
            let mut some = all.clone();
            let (path, _) = some.remove(missing);
            let found = encodings_are_complete(&files(&some));
            assert_eq!(found.len(), 1, "{path}");
            assert!(path.starts_with(&found[0].path), "{path}");
        }
    }

    #[test]
    fn rows_and_folders_belong_together() {
        let rows = |table: &str| {
            let list = [
                ("crates/encodings/a/Cargo.toml", ""),
                ("crates/encodings/b-c/Cargo.toml", ""),
                (TABLE, table),
            ];
            let found = encodings_have_rows(&files(&list));
            assert!(found.iter().all(|it| it.to_string().contains("repair: ")));
            found
                .into_iter()
                .map(|it| (it.path, it.line))
                .collect::<Vec<_>>()
        };
        let both = "    row!(tarsia_a::A, value_ps: 1),\n    row!(tarsia_b_c::B_C, value_ps: 1),\n";
        assert_eq!(rows(both), []);
        let commented = both.replace("    row!(tarsia_b", "    // row!(tarsia_b");
        assert_eq!(rows(&commented), [("crates/encodings/b-c".to_owned(), 0)]);
        let more = format!(
            "{both}    row!(tarsia_d::D, value_ps: 1),\n    row!(tarsia_a::A, value_ps: 1),\n"
        );
        assert_eq!(rows(&more), [(TABLE.to_owned(), 3), (TABLE.to_owned(), 4)]);
    }

    #[test]
    fn pages_that_lack_something_are_found() {
        let page = "# a\n\n**Wins on.** 0.\n\n**Limits.** 1.\n\n**Corrupt.** 2.\n\n**Erasure.** Fit: always. Residue: none.\n";
        let check = |path: &str, page: &str| {
            let list = [("crates/encodings/a/Cargo.toml", ""), (path, page)];
            let found = pages_are_complete(&files(&list));
            assert!(found.iter().all(|it| it.to_string().contains("repair: ")));
            found.len()
        };
        assert_eq!(check("docs/spec/encodings/a.md", page), 0);
        assert_eq!(check("docs/spec/encodings/b.md", page), 1);
        assert_eq!(check("docs/spec/encodings/README.md", ""), 0);
        for (from, to) in [
            ("**Limits.**", "Limits."),
            ("**Corrupt.**", "## Corrupt\n"),
            ("**Erasure.**", "Erasure."),
            ("Fit: ", "They fit "),
            ("Residue: ", "Left: "),
        ] {
            let page = page.replace(from, to);
            assert_eq!(check("docs/spec/encodings/a.md", &page), 1, "{page}");
        }
    }

    #[test]
    fn what_is_to_be_filled_in_is_found() {
        let rule = nothing_is_left_to_fill_in;
        let open = format!("a\n| x | {MARK}: y |\n");
        for path in [
            "docs/spec/encodings/x.md",
            "CHANGELOG.md",
            "crates/x/Cargo.toml",
        ] {
            check_one(rule, path, &open, &[2]);
        }
        check_one(rule, "xtask/templates/encoding/spec.md", &open, &[]);
        check_one(
            rule,
            "crates/x/tests/corrupt.rs",
            "panic!(\"fill in: x\")",
            &[],
        );
    }

    #[test]
    fn kernels_that_differ_from_the_table_are_found() {
        let code = "pub static CORE: Kernel = Kernel {\n    name: Cow::Borrowed(\"core\"),\n    encodings: Cow::Borrowed(&[\n        \
                    KernelEncoding::new(\"tarsia.a\", 1, 0),\n        KernelEncoding::new(\"tarsia.b\", 1, 0),\n    ]),\n};\n";
        let compare = |table: &[(&'static str, &[&'static str])]| {
            let table = table
                .iter()
                .map(|(name, ids)| (*name, ids.iter().copied().collect()));
            compare_kernels(code, table.collect()).len()
        };
        assert_eq!(compare(&[("core", &["tarsia.b", "tarsia.a"])]), 0);
        assert_eq!(compare(&[("core", &["tarsia.a"])]), 1);
        assert_eq!(compare(&[("core", &["tarsia.a", "tarsia.c"])]), 2);
        assert_eq!(compare(&[("nested", &["tarsia.a", "tarsia.b"])]), 2);
        let missing = kernels_are_of_the_table(&files(&[(KERNELS_CODE, "")]));
        assert_eq!(missing.len(), KERNELS.len());
    }

    #[test]
    fn encodings_named_outside_of_the_table_are_found() {
        let check = |path: &str, content: &str, expect: &[usize]| {
            let list = [("crates/encodings/b-c/Cargo.toml", ""), (path, content)];
            let found = encodings_are_known_by_the_table(&files(&list));
            assert!(found.iter().all(|it| it.to_string().contains("repair: ")));
            let lines: Vec<_> = found.iter().map(|it| it.line).collect();
            assert_eq!(lines, expect, "{path}: {content:?}");
        };
        let source = "use tarsia_b_c::B_C;\n// tarsia_b_c\n\n#[cfg(test)]\nmod tests {\n    use tarsia_b_c::B_C;\n}\n";
        check("crates/x/src/lib.rs", source, &[1]);
        check("crates/x/src/deep/a.rs", "\n\n    tarsia_b_c::tree()", &[3]);
        check("crates/x/tests/a.rs", source, &[]);
        check("crates/x/benches/a.rs", source, &[]);
        check("crates/encodings/x/src/lib.rs", source, &[]);
        check(TABLE, source, &[]);
        check("benchmarks/src/main.rs", source, &[]);
        check(
            "crates/x/src/lib.rs",
            "tarsia_b_code(); tarsia_bits::a()",
            &[],
        );
        let manifest = "[dependencies]\ntarsia-b-c = { workspace = true }\ntarsia-codec = 1\n\n[dev-dependencies]\ntarsia-b-c = 1\n\n\
                        [target.'cfg(unix)'.dependencies]\ntarsia-b-c.workspace = true\n";
        check("crates/x/Cargo.toml", manifest, &[2, 9]);
        check("fuzz/Cargo.toml", manifest, &[]);
    }
}
