//! Frozen bytes, in both directions. `TARSIA_BLESS=1` writes missing files; existing files never change.

use tarsia_codec::{DecodeCost, Registry};
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;
use tarsia_window::Reference;

fn check(name: &str, reference: Reference, case: &Case) {
    let mut registry = Registry::new();
    registry
        .add_writer(&tarsia_window::WINDOW, DecodeCost::default())
        .add_writer(&tarsia_plain::PLAIN, DecodeCost::default());
    let plain = tarsia_plain::tree;
    let tree = tarsia_window::tree(reference, plain(), plain(), plain(), plain());
    units::check_golden(env!("CARGO_MANIFEST_DIR"), &registry, &tree, name, case);
}

#[test]
fn frozen_bytes_stay() {
    // Twenty values, then the first twelve of them again behind two others, then the last nine.
    let first: Vec<u128> = (1..21).map(|i| i * 0x0101).collect();
    let numbers = [&first[..], &[7, 9], &first[..12], &first[11..]].concat();
    for (name, reference) in ["copied", "step", "distance"]
        .into_iter()
        .zip(Reference::ALL)
    {
        check(name, reference, &Case::numbers("", 4, &numbers));
    }
    check("none", Reference::Step, &Case::numbers("", 8, &[]));
    let wide = [first, vec![1, 2, 3, 4, 5, 6, 7, 8]].concat();
    let again = [&wide[..], &wide[..]].concat();
    check("wide", Reference::Step, &Case::numbers("", 16, &again));
}
