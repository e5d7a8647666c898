//! Frozen bytes, in both directions. `TARSIA_BLESS=1` writes missing files; existing files never change.

use tarsia_codec::{DecodeCost, Registry};
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;

fn check(name: &str, case: &Case) {
    let mut registry = Registry::new();
    registry
        .add_writer(&tarsia_frequency::FREQUENCY, DecodeCost::default())
        .add_writer(&tarsia_plain::PLAIN, DecodeCost::default());
    let tree = tarsia_frequency::tree(tarsia_plain::tree(), tarsia_plain::tree());
    units::check_golden(env!("CARGO_MANIFEST_DIR"), &registry, &tree, name, case);
}

#[test]
fn frozen_bytes_stay() {
    let wide = [0, 0, 9, 0, 0, u128::MAX, 0, 0, 0, 7];
    check("wide", &Case::numbers("", 8, &wide));
    check("narrow", &Case::numbers("", 2, &[0x105, 6, 0x105]));
    check("no_exceptions", &Case::numbers("", 1, &[3, 3]));
    check("none", &Case::numbers("", 4, &[]));
}
