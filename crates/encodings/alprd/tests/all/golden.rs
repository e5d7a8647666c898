//! Frozen bytes, in both directions. `TARSIA_BLESS=1` writes missing files; existing files never change.

use tarsia_codec::{DecodeCost, Registry};
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;

fn check(name: &str, right_bits: u8, case: &Case) {
    let mut registry = Registry::new();
    registry
        .add_writer(&tarsia_alprd::ALPRD, DecodeCost::default())
        .add_writer(&tarsia_plain::PLAIN, DecodeCost::default());
    let tree = tarsia_alprd::tree(right_bits, tarsia_plain::tree(), tarsia_plain::tree());
    units::check_golden(env!("CARGO_MANIFEST_DIR"), &registry, &tree, name, case);
}

#[test]
fn frozen_bytes_stay() {
    let wide = [1.0 / 3.0, -2.0 / 3.0, f64::NAN, -0.0].map(|it: f64| u128::from(it.to_bits()));
    check("wide", 52, &Case::numbers("", 8, &wide));
    let narrow = [1.0 / 3.0, -2.0 / 3.0, f32::MAX].map(|it: f32| u128::from(it.to_bits()));
    check("narrow", 20, &Case::numbers("", 4, &narrow));
    check("none", 16, &Case::numbers("", 4, &[]));
}
