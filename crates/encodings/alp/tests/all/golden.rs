//! Frozen bytes, in both directions. `TARSIA_BLESS=1` writes missing files; existing files never change.

use tarsia_alp::{ALP, tree};
use tarsia_codec::{DecodeCost, Registry};
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;

fn check(name: &str, decimals: u8, case: &Case) {
    let mut registry = Registry::new();
    registry
        .add_writer(&ALP, DecodeCost::default())
        .add_writer(&tarsia_plain::PLAIN, DecodeCost::default());
    let tree = tree(decimals, tarsia_plain::tree());
    units::check_golden(env!("CARGO_MANIFEST_DIR"), &registry, &tree, name, case);
}

#[test]
fn frozen_bytes_stay() {
    let wide = [1.25, -0.0, 99.99, f64::NAN, -7.5, f64::INFINITY, 0.1].map(f64::to_le_bytes);
    check("wide", 2, &Case::fixed("", 8, 7, wide.concat()));
    let narrow = [1.25f32, -0.0, 99.9, f32::NAN, -7.5, 1e-30].map(f32::to_le_bytes);
    check("narrow", 3, &Case::fixed("", 4, 6, narrow.concat()));
    check("none", 0, &Case::fixed("", 8, 0, vec![]));
}
