//! Frozen bytes, in both directions. `TARSIA_BLESS=1` writes missing files; existing files never change.

use tarsia_codec::{DecodeCost, Registry};
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;

fn check(name: &str, top: &[u8], case: &Case) {
    let mut registry = Registry::new();
    registry
        .add_writer(&tarsia_frequency::FREQUENCY, DecodeCost::default())
        .add_writer(&tarsia_plain::PLAIN, DecodeCost::default());
    let tree = tarsia_frequency::tree(top, tarsia_plain::tree(), tarsia_plain::tree());
    units::check_golden(env!("CARGO_MANIFEST_DIR"), &registry, &tree, name, case);
}

#[test]
fn frozen_bytes_stay() {
    let wide = [0, 0, 9, 0, 0, u128::MAX, 0, 0, 0, 7];
    check("wide", &[0; 8], &Case::numbers("", 8, &wide));
    check("narrow", &[5, 1], &Case::numbers("", 2, &[0x105, 6, 0x105]));
    check("no_exceptions", &[3], &Case::numbers("", 1, &[3, 3]));
    check("none", &[0; 4], &Case::numbers("", 4, &[]));
}
