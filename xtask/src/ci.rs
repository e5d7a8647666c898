//! Lints, docs, rules, generated code: all that each change must pass besides the tests and the groups of `scripts/ci`.

use std::path::Path;

use crate::outcome::Outcome;
use crate::process::{self, cargo, show};
use crate::{codegen, deps, docs, tidy};

/// All checks in order, cheapest first; stops at the first that fails.
pub(crate) fn run(root: &Path) -> Outcome {
    let checks: [&[&str]; 3] = [
        &["fmt", "--all", "--check"],
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ],
        // The facade without the engine that runs kernels.
        &[
            "clippy",
            "--package",
            "tarsia",
            "--no-default-features",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ],
    ];
    for args in checks {
        let mut command = cargo(root);
        command.args(args);
        println!("$ {}", show(&command));
        process::run(&mut command)?;
    }
    let mut doc = cargo(root);
    doc.args(["doc", "--workspace", "--no-deps", "--quiet"]);
    doc.env("RUSTDOCFLAGS", "-D warnings");
    println!("$ RUSTDOCFLAGS=\"-D warnings\" {}", show(&doc));
    process::run(&mut doc)?;
    println!("$ cargo xtask tidy");
    tidy::run(root)?;
    println!("$ cargo xtask docs --check");
    docs::check(root)?;
    println!("$ cargo xtask deps");
    deps::run(root)?;
    println!("$ cargo xtask codegen --check-digest");
    codegen::check_digest(root)
}
