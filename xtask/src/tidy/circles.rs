//! The files of a crate need each other in one direction only.

use super::{Files, Violation, text};
use crate::modules::{Graph, round};
use crate::repository::crate_roots;

/// The path of a violation is the crate's root file.
pub(super) fn files_need_each_other_one_way(files: &Files) -> Vec<Violation> {
    let mut violations = Vec::new();
    for root in crate_roots(files) {
        let violation = |what: String, repair: &str| Violation {
            path: root.to_owned(),
            line: 0,
            what,
            repair: repair.to_owned(),
        };
        match Graph::of(root, |path| text(files.get(path)?)) {
            Ok(graph) => {
                for circle in graph.circles() {
                    let round = round(&graph, &circle, |file| &graph.files[file]);
                    violations.push(violation(
                        format!("{} files form a circle: {round}", circle.len()),
                        "move what both need into a file below them; `cargo xtask modules CRATE` shows all files and \
                         names",
                    ));
                }
            }
            Err(error) => violations.push(violation(error, "write Rust that the compiler accepts")),
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::super::tests::files;
    use super::*;

    #[test]
    fn circles_are_found_with_their_names() {
        let manifest = ("crates/x/Cargo.toml", "");
        let root = ("crates/x/src/lib.rs", "mod a; mod b;");
        let a = ("crates/x/src/a.rs", "use crate::b::{B, C}; pub struct A;");
        let check = |b: &str| {
            let b = ("crates/x/src/b.rs", b);
            files_need_each_other_one_way(&files(&[manifest, root, a, b]))
        };
        assert_eq!(check("pub struct B; pub struct C;"), []);
        let found = check("pub struct B(super::a::A); pub struct C;");
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].to_string(),
            "crates/x/src/lib.rs: 2 files form a circle: crates/x/src/a.rs -(B, C)-> crates/x/src/b.rs -(A)-> \
             crates/x/src/a.rs\n    repair: move what both need into a file below them; `cargo xtask modules CRATE` \
             shows all files and names"
        );
        // Attributes of derived errors name constants.
        let found = check("#[error(\"{N}\", N = crate::a::A)] pub struct B; pub struct C;");
        assert_eq!(found.len(), 1);
        let found = check("pub struct");
        assert!(found[0].to_string().contains("repair: write Rust"));
    }
}
