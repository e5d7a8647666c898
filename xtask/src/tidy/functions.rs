//! Functions are read at once.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::{Files, Violation, sources};
use crate::modules::is_test_only;
use crate::repository::is_generated;

/// Most lines of a function, without blank lines and comments. A longer one does two things, or has a table that
/// belongs into a constant.
const FUNCTION_LINES_MAX: usize = 100;

/// Looks at libraries and programs, not at tests.
pub(super) fn functions_are_short(files: &Files) -> Vec<Violation> {
    let ours = sources(files).filter(|(path, _)| {
        let is_ours = path.starts_with("crates/") || path.starts_with("xtask/");
        is_ours && path.contains("/src/") && !is_generated(path)
    });
    ours.flat_map(|(path, source)| {
        let mut found = Long {
            path,
            lines: source.lines().collect(),
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

struct Long<'a> {
    path: &'a str,
    lines: Vec<&'a str>,
    violations: Vec<Violation>,
}

impl Long<'_> {
    fn check(&mut self, name: &syn::Ident, from: Span, to: Span) {
        let (first, last) = (from.start().line, to.end().line);
        let lines = self.lines.get(first.saturating_sub(1)..last);
        let code = lines.unwrap_or_default().iter().filter(|line| {
            let line = line.trim_start();
            !line.is_empty() && !line.starts_with("//")
        });
        let n_lines = code.count();
        if n_lines > FUNCTION_LINES_MAX {
            self.violations.push(Violation {
                path: self.path.to_owned(),
                line: first,
                what: format!("`{name}` has {n_lines} lines, more than {FUNCTION_LINES_MAX}"),
                repair: "make functions of its steps".to_owned(),
            });
        }
    }
}

impl<'ast> Visit<'ast> for Long<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test_only(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_test_only(&item.attrs) {
            self.check(&item.sig.ident, item.sig.span(), item.block.span());
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_test_only(&item.attrs) {
            self.check(&item.sig.ident, item.sig.span(), item.block.span());
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.check(&item.sig.ident, item.sig.span(), block.span());
        }
        visit::visit_trait_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_one;
    use super::*;

    #[test]
    fn long_functions_are_found() {
        let check = |source: &str, expect: &[usize]| {
            let path = "crates/x/src/a.rs";
            check_one(functions_are_short, path, source, expect);
            check_one(functions_are_short, "crates/x/tests/all/a.rs", source, &[]);
        };
        // With the first and the last line.
        let most = "    a();\n".repeat(FUNCTION_LINES_MAX - 2);
        let more = format!("{most}    a();\n");
        check(&format!("fn b() {{\n{most}}}\n"), &[]);
        check(&format!("fn b() {{\n{more}}}\n"), &[1]);
        check(&format!("fn b() {{\n{most}\n    // Why.\n}}\n"), &[]);
        check(
            &format!("struct A;\nimpl A {{\nfn b() {{\n{more}}}\n}}\n"),
            &[3],
        );
        check(
            &format!("trait A {{\n/// B.\nfn b() {{\n{more}}}\n}}\n"),
            &[3],
        );
        check(&format!("#[test]\nfn b() {{\n{more}}}\n"), &[]);
        check(
            &format!("#[cfg(test)]\nmod tests {{\nfn b() {{\n{more}}}\n}}\n"),
            &[],
        );
        check(&format!("mod c {{\nfn b() {{\n{more}}}\n}}\n"), &[2]);
    }
}
