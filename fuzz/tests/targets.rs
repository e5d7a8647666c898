//! The list, the folder and the manifest agree; every target runs; a planted panic is found.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use tarsia_fuzz::{CANARY, TARGETS, minimise, run};
use tarsia_testkit::fuzzing::{n_accepted, smoke_inputs};

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn listed() -> BTreeSet<String> {
    let names: Vec<_> = TARGETS
        .iter()
        .chain([&CANARY])
        .map(|(name, _)| (*name).to_owned())
        .collect();
    let set: BTreeSet<_> = names.iter().cloned().collect();
    assert_eq!(set.len(), names.len(), "two targets of one name");
    set
}

#[test]
fn every_target_has_its_glue_and_every_glue_its_target() {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder().join("fuzz_targets")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let glue = fs::read_to_string(&path).unwrap();
        assert!(
            glue.contains(&format!("run_named(\"{name}\", bytes)")),
            "{} runs another target",
            path.display()
        );
        found.insert(name);
    }
    assert_eq!(found, listed(), "fuzz_targets/ and TARGETS differ");
}

#[test]
fn the_manifest_has_every_target() {
    let manifest = fs::read_to_string(folder().join("Cargo.toml")).unwrap();
    let found: BTreeSet<_> = manifest
        .lines()
        .filter_map(|line| {
            line.strip_prefix("path = \"fuzz_targets/")?
                .strip_suffix(".rs\"")
        })
        .map(str::to_owned)
        .collect();
    assert_eq!(
        found,
        listed(),
        "the [[bin]] entries of Cargo.toml and TARGETS differ"
    );
}

/// The versions of each package of a lock file.
fn versions(path: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let text = fs::read_to_string(path).unwrap();
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let value = |line: &str, key: &str| Some(line.strip_prefix(key)?.trim_matches('"').to_owned());
    let mut name = String::new();
    for line in text.lines() {
        if let Some(this) = value(line, "name = ") {
            name = this;
        } else if let Some(version) = value(line, "version = ")
            && !name.is_empty()
        {
            found.entry(name.clone()).or_default().insert(version);
        }
    }
    found
}

#[test]
fn dependencies_have_the_versions_of_the_root() {
    let root = versions(&folder().join("../Cargo.lock"));
    for (name, ours) in versions(&folder().join("Cargo.lock")) {
        if let Some(theirs) = root.get(&name) {
            assert!(
                ours.is_subset(theirs),
                "{name}: {ours:?} here, {theirs:?} in the root; copy the root's Cargo.lock to fuzz/Cargo.lock and build"
            );
        }
    }
}

#[test]
fn every_target_passes_and_accepts_some_of_a_few_inputs() {
    for (name, body) in TARGETS {
        let before = n_accepted();
        for input in smoke_inputs(7).take(150) {
            if let Err(find) = run(*body, &input) {
                panic!("{name}: {find} for {input:02x?}");
            }
        }
        assert!(n_accepted() > before, "{name} accepts nothing");
    }
}

#[test]
fn the_planted_panic_is_found_and_made_plain() {
    let (_, body) = CANARY;
    let found = smoke_inputs(7)
        .take(2000)
        .find_map(|input| Some((run(body, &input).err()?, input)));
    let (find, input) = found.expect("a run that does not find it finds nothing");
    assert_eq!(find.message, "the planted panic");
    let small = minimise(body, &input, &find, 3000);
    assert_eq!(run(body, &small), Err(find));
    // Its length is in its first byte, so nothing can be cut out; but all else can be cleared.
    assert_eq!(small.len(), input.len());
    assert!(small[1..].iter().all(|byte| *byte == 0), "{small:?}");
}

#[test]
fn a_panic_that_is_caught_on_its_way_is_found_too() {
    fn body(_: &[u8]) {
        let caught = std::panic::catch_unwind(|| panic!("inside"));
        assert!(caught.is_err());
    }
    assert_eq!(run(body, &[]).unwrap_err().message, "inside");
}
