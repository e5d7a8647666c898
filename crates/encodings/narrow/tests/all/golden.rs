//! Frozen bytes, in both directions. `TARSIA_BLESS=1` writes missing files; existing files never change.

use tarsia_codec::{DecodeCost, Registry};
use tarsia_narrow::{Extension, NARROW, tree};
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;

fn check(name: &str, child_bytes: u8, extension: Extension, case: &Case) {
    let mut registry = Registry::new();
    registry
        .add_writer(&NARROW, DecodeCost::default())
        .add_writer(&tarsia_plain::PLAIN, DecodeCost::default());
    let tree = tree(child_bytes, extension, tarsia_plain::tree());
    units::check_golden(env!("CARGO_MANIFEST_DIR"), &registry, &tree, name, case);
}

#[test]
fn frozen_bytes_stay() {
    let signed = [0, 1, u128::MAX, 0x7fff, -0x8000i128 as u128];
    check(
        "signed",
        2,
        Extension::Sign,
        &Case::numbers("", 16, &signed),
    );
    let unsigned = [0, 0xff, 0x80];
    check(
        "unsigned",
        1,
        Extension::Zero,
        &Case::numbers("", 16, &unsigned),
    );
    let mut wide = vec![0xff; 64];
    wide[32..40].copy_from_slice(&7u64.to_le_bytes());
    wide[40..].fill(0);
    check("wide", 8, Extension::Sign, &Case::fixed("", 32, 2, wide));
    check("none", 4, Extension::Sign, &Case::numbers("", 16, &[]));
}
