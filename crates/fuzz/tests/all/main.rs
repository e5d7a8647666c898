//! The list, the folder and the manifest agree; every target runs; a planted panic is found.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use tarsia_fuzz::smoke::Smoke;
use tarsia_fuzz::{CANARY, TARGETS, minimise, run};
use tarsia_testkit::fuzzing::smoke_inputs;

/// The folder of the glue.
fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
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

/// Seconds of the smoke run: a moment by default, TARSIA_SMOKE_SECONDS otherwise.
fn smoke_time() -> Duration {
    let default = Duration::from_secs(5);
    std::env::var("TARSIA_SMOKE_SECONDS").map_or(default, |text| {
        let seconds = text
            .parse()
            .expect("TARSIA_SMOKE_SECONDS is a number of seconds");
        Duration::from_secs(seconds)
    })
}

#[test]
fn every_target_passes_a_smoke_run() {
    let smoke = Smoke {
        time: smoke_time(),
        inputs_max: u64::MAX,
        seed: 1,
    };
    assert!(smoke.run_all(), "the lines above name the finds");
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
