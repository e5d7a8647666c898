//! Frozen bytes, both directions.

use tarsia_codec::{DecodeCost, Registry};
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;

fn check(name: &str, case: &Case) {
    let mut registry = Registry::new();
    registry.add_writer(&tarsia_bitmap::BITMAP, DecodeCost::default());
    let folder = env!("CARGO_MANIFEST_DIR");
    units::check_golden(folder, &registry, &tarsia_bitmap::tree(), name, case);
}

#[test]
fn frozen_bytes_stay() {
    let bits: Vec<bool> = (0..77).map(|i| i * i % 5 < 2).collect();
    check("bits77", &Case::bits("", &bits));
    check("ones8", &Case::bits("", &[true; 8]));
    check("none", &Case::bits("", &[]));
}
