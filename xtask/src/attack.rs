//! The adversary: a program of its own (`xtask/attack`), since it needs the facade and all below it, which no other
//! task should wait for.

use std::path::Path;

use crate::outcome::Outcome;
use crate::process::{self, cargo};

/// Builds the adversary and runs it.
pub(crate) fn run(root: &Path, options: &[&str]) -> Outcome {
    let mut adversary = cargo(root);
    adversary.args(["run", "--quiet", "--package", "tarsia-attack", "--"]);
    adversary.args(options);
    process::run(&mut adversary)
}
