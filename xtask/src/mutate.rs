//! The mutation driver: a program of its own (`xtask/mutate`), since it needs the crates that read and write other
//! formats, which no other task should wait for.

use std::path::Path;

use crate::outcome::Outcome;
use crate::process::{self, cargo};

/// Builds the driver and runs it.
pub(crate) fn run(root: &Path, options: &[&str]) -> Outcome {
    let mut driver = cargo(root);
    driver.args(["run", "--quiet", "--package", "tarsia-mutate", "--"]);
    driver.args(options);
    process::run(&mut driver)
}
