//! Which part of a crate may call what.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::{Files, Violation, sources};
use crate::modules::is_test_only;

/// Where positional reads are called: the crate that defines them, and the layer through which all else reads a file.
/// That layer counts what is read and applies the reader's policy, so a read beside it would be neither counted nor
/// planned.
const READERS: [&str; 3] = [
    "crates/io/",
    "crates/format/src/source/",
    "crates/format/src/erase/",
];

/// Functions of `tarsia_io` that read.
const READS: [&str; 3] = ["read_range", "read_ranges", "read_once"];

/// Calls of `ReadAt::read_at` and of [`READS`] stand in [`READERS`] only. A reader that wraps another one
/// (`impl ReadAt for …`) passes calls on.
pub(super) fn files_are_read_by_the_source(files: &Files) -> Vec<Violation> {
    let ours = sources(files).filter(|(path, _)| {
        let is_reader = READERS.iter().any(|reader| path.starts_with(reader));
        path.starts_with("crates/") && path.contains("/src/") && !is_reader
    });
    ours.flat_map(|(path, source)| {
        let mut found = Calls {
            path,
            imported: Vec::new(),
            violations: Vec::new(),
        };
        // What is not Rust is found by the rule about circles.
        if let Ok(file) = syn::parse_file(source) {
            found.visit_file(&file);
        }
        found.violations
    })
    .collect()
}

struct Calls<'a> {
    path: &'a str,
    /// Names of [`READS`] that `use tarsia_io::…` brought in.
    imported: Vec<String>,
    violations: Vec<Violation>,
}

impl Calls<'_> {
    fn found(&mut self, what: &str, span: proc_macro2::Span) {
        self.violations.push(Violation {
            path: self.path.to_owned(),
            line: span.start().line,
            what: format!("`{what}` is called outside of the layer that reads files"),
            repair: format!("ask that layer for the bytes: {}", READERS[1]),
        });
    }

    fn import(&mut self, tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Name(it) if is_read(&it.ident) => {
                self.imported.push(it.ident.to_string());
            }
            syn::UseTree::Rename(it) if is_read(&it.ident) => {
                self.imported.push(it.rename.to_string());
            }
            syn::UseTree::Group(it) => it.items.iter().for_each(|tree| self.import(tree)),
            _ => {}
        }
    }
}

fn is_read(name: &syn::Ident) -> bool {
    READS.iter().any(|read| name == read)
}

impl<'ast> Visit<'ast> for Calls<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if let syn::UseTree::Path(path) = &item.tree
            && path.ident == "tarsia_io"
        {
            self.import(&path.tree);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test_only(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let last = item.trait_.as_ref().and_then(|it| it.0.segments.last());
        if last.is_none_or(|name| name.ident != "ReadAt") {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if call.method == "read_at" {
            self.found("read_at", call.method.span());
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        let names: Vec<String> = path
            .path
            .segments
            .iter()
            .map(|it| it.ident.to_string())
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let is_call = match names.as_slice() {
            [.., "ReadAt", "read_at"] => true,
            ["tarsia_io", name] => READS.contains(name),
            [name] => self.imported.iter().any(|imported| imported == name),
            _ => false,
        };
        if is_call {
            self.found(&names.join("::"), path.span());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_one;
    use super::*;

    #[test]
    fn reads_beside_the_source_are_found() {
        let rule = files_are_read_by_the_source;
        let calls = "use tarsia_io::{ReadAt, read_range as range};\n\
                     fn f(a: &dyn ReadAt) {\n\
                     a.read_at(0, &mut []);\n\
                     tarsia_io::read_once(a, 0..1);\n\
                     range(a, 0..1);\n\
                     ReadAt::read_at(a, 0, &mut []);\n\
                     }";
        check_one(rule, "crates/format/src/file.rs", calls, &[3, 4, 5, 6]);
        check_one(rule, "crates/cli/src/deep/a.rs", calls, &[3, 4, 5, 6]);
        check_one(rule, "crates/format/src/source/mod.rs", calls, &[]);
        check_one(rule, "crates/io/src/seek.rs", calls, &[]);
        check_one(rule, "crates/format/tests/a.rs", calls, &[]);
        for fine in [
            "impl ReadAt for A { fn read_at(&self) { self.inner.read_at() } }",
            "#[cfg(test)] mod tests { fn f() { a.read_at() } }",
            "fn f(file: &Source) { file.read_once(0..1); read_range(1); }",
        ] {
            check_one(rule, "crates/x/src/lib.rs", fine, &[]);
        }
    }
}
