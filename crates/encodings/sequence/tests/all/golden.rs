//! Frozen bytes, in both directions. `TARSIA_BLESS=1` writes missing files; existing files never change.

use tarsia_codec::{DecodeCost, Registry};
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;

fn check(name: &str, case: &Case) {
    let mut registry = Registry::new();
    registry.add_writer(&tarsia_sequence::SEQUENCE, DecodeCost::default());
    let folder = env!("CARGO_MANIFEST_DIR");
    units::check_golden(folder, &registry, &tarsia_sequence::tree(), name, case);
}

#[test]
fn frozen_bytes_stay() {
    check("rising", &Case::numbers("", 8, &[1000, 1060, 1120, 1180]));
    check("falling", &Case::numbers("", 2, &[2, 1, 0, 0xffff]));
    check("other", &Case::numbers("", 4, &[0, 1, 0x0403_0201]));
    check("one", &Case::numbers("", 1, &[9]));
    check("none", &Case::numbers("", 8, &[]));
}
