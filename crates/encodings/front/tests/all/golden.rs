//! Frozen bytes, in both directions. `TARSIA_BLESS=1` writes missing files; existing files never change.

use tarsia_codec::{DecodeCost, Registry};
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;

fn check(name: &str, case: &Case) {
    let mut registry = Registry::new();
    registry
        .add_writer(&tarsia_front::FRONT, DecodeCost::default())
        .add_writer(&tarsia_bytes::BYTES, DecodeCost::default())
        .add_writer(&tarsia_plain::PLAIN, DecodeCost::default());
    let plain = tarsia_plain::tree;
    let tree = tarsia_front::tree(plain(), tarsia_bytes::tree(plain()));
    units::check_golden(env!("CARGO_MANIFEST_DIR"), &registry, &tree, name, case);
}

#[test]
fn frozen_bytes_stay() {
    // More than a group.
    let keys: Vec<String> = (0..20).map(|i| format!("key/{:04}", i * 7)).collect();
    check("keys", &Case::strings("", &keys));
    // A shorter string, none, an equal one, and a suffix that starts inside a character.
    let mixed = ["wooden", "wood", "", "", "Grüße", "Gröbe", "Gröbe", "\0"];
    check("mixed", &Case::strings("", &mixed));
    check("none", &Case::strings::<&str>("", &[]));
}
