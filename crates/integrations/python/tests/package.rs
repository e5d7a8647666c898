//! The compiled module and the Python code around it name the same. What they do is tested from Python:
//! `scripts/test-python`.

use std::fs;
use std::path::Path;

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

#[test]
fn every_exception_that_is_raised_is_a_class() {
    let (raised, classes) = (read("src/error.rs"), read("python/tarsia/_errors.py"));
    let arms = raised
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Self::")?.split_once(" => \""));
    let names: Vec<&str> = arms
        .filter_map(|(_, name)| name.strip_suffix("\","))
        .collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        assert!(classes.contains(&format!("class {name}(")), "{name}");
    }
}

#[test]
fn the_oldest_python_is_the_same_in_both_manifests() {
    assert!(read("Cargo.toml").contains("\"abi3-py311\""));
    assert!(read("pyproject.toml").contains("requires-python = \">=3.11\""));
}
