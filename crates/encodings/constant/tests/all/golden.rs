//! Frozen bytes, both directions.

use tarsia_codec::{DecodeCost, Registry};
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;

fn check(name: &str, case: &Case) {
    let mut registry = Registry::new();
    registry.add_writer(&tarsia_constant::CONSTANT, DecodeCost::default());
    let folder = env!("CARGO_MANIFEST_DIR");
    units::check_golden(folder, &registry, &tarsia_constant::tree(), name, case);
}

#[test]
fn frozen_bytes_stay() {
    check("bits_true", &Case::bits("", &[true; 11]));
    check("bits_false", &Case::bits("", &[false; 3]));
    check("u64", &Case::numbers("", 8, &[0x0807_0605_0403_0201; 4]));
    check("strings", &Case::strings("", &["Grüße"; 7]));
    check("empty_strings", &Case::strings("", &[""; 9]));
    check("none", &Case::numbers("", 8, &[]));
}
