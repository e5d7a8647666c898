//! Values that belong together have a type with names for its parts.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::{Files, Violation, sources};
use crate::modules::is_test_only;
use crate::repository::is_generated;

/// Parts of a tuple that a function may return; one more needs a type.
const RETURNED_MAX: usize = 2;

/// No parameter is a tuple, and none of more than [`RETURNED_MAX`] parts is returned. An `impl` of a trait is left out:
/// the trait decides.
pub(super) fn parameters_have_names(files: &Files) -> Vec<Violation> {
    let ours = sources(files).filter(|(path, _)| {
        (path.starts_with("crates/") && path.contains("/src/")) && !is_generated(path)
    });
    ours.flat_map(|(path, source)| {
        let mut found = Tuples {
            path,
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

struct Tuples<'a> {
    path: &'a str,
    violations: Vec<Violation>,
}

impl Tuples<'_> {
    fn check(&mut self, signature: &syn::Signature) {
        for input in &signature.inputs {
            if let syn::FnArg::Typed(input) = input
                && n_parts(&input.ty) > 0
            {
                self.violations.push(Violation {
                    path: self.path.to_owned(),
                    line: input.ty.span().start().line,
                    what: format!("a parameter of `{}` is a tuple", signature.ident),
                    repair: "give it a struct with named fields, or make its parts parameters of their own".to_owned(),
                });
            }
        }
        if let syn::ReturnType::Type(_, output) = &signature.output
            && n_parts(output) > RETURNED_MAX
        {
            self.violations.push(Violation {
                path: self.path.to_owned(),
                line: output.span().start().line,
                what: format!(
                    "`{}` returns a tuple of more than {RETURNED_MAX} parts",
                    signature.ident
                ),
                repair: "return a struct with named fields".to_owned(),
            });
        }
    }
}

impl<'ast> Visit<'ast> for Tuples<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test_only(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_test_only(&item.attrs) {
            self.check(&item.sig);
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if is_test_only(&item.attrs) {
            return;
        }
        for part in &item.items {
            if let (syn::ImplItem::Fn(function), None) = (part, &item.trait_)
                && !is_test_only(&function.attrs)
            {
                self.check(&function.sig);
            }
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.check(&item.sig);
        visit::visit_trait_item_fn(self, item);
    }
}

/// Parts of a tuple, also behind references and in the `Ok`, `Some` or `Err` of what is returned; 0 for other types.
fn n_parts(ty: &syn::Type) -> usize {
    match ty {
        syn::Type::Tuple(it) => it.elems.len(),
        syn::Type::Reference(it) => n_parts(&it.elem),
        syn::Type::Paren(it) => n_parts(&it.elem),
        syn::Type::Path(it) => {
            let Some(last) = it.path.segments.last() else {
                return 0;
            };
            let is_wrapper = last.ident == "Result" || last.ident == "Option";
            let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else {
                return 0;
            };
            let parts = arguments.args.iter().map(|argument| match argument {
                syn::GenericArgument::Type(ty) if is_wrapper => n_parts(ty),
                _ => 0,
            });
            parts.max().unwrap_or(0)
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_one;
    use super::*;

    #[test]
    fn tuples_in_signatures_are_found() {
        let check = |source: &str, expect: &[usize]| {
            check_one(parameters_have_names, "crates/x/src/lib.rs", source, expect);
        };
        check("fn f(a: (u8, u8)) {}", &[1]);
        check("fn f(\n    a: u8,\n    b: &(u8, u8),\n) {}", &[3]);
        check("fn f(a: Option<(u8, u8)>) {}", &[1]);
        check(
            "struct S; impl S { fn f(&self, (a, b): (u8, u8)) {} }",
            &[1],
        );
        check("trait T { fn f(&self, a: (u8, u8)); }", &[1]);
        check("fn f() { fn g(a: (u8, u8)) {} }", &[1]);
        check("fn f() -> (u8, u8, u8) { (1, 2, 3) }", &[1]);
        check("fn f() -> Result<Option<(u8, u8, u8)>, E> { x() }", &[1]);
        for fine in [
            "fn f(a: ()) {}",
            "fn f() -> (u8, u8) { (1, 2) }",
            "fn f(a: &[(u8, u8)], b: impl Fn((u8, u8))) {}",
            "fn f() { let g = |(a, b): (u8, u8)| a + b; }",
            "impl T for S { fn f(&self, a: (u8, u8)) {} }",
            "#[cfg(test)] mod tests { fn f(a: (u8, u8)) {} }",
        ] {
            check(fine, &[]);
        }
        let tuple = "fn f(a: (u8, u8)) {}";
        for path in ["crates/x/tests/a.rs", "fuzz/src/lib.rs"] {
            check_one(parameters_have_names, path, tuple, &[]);
        }
    }
}
