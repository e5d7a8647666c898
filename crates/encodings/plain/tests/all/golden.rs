//! Frozen bytes, both directions.

use tarsia_codec::{DecodeCost, Registry};
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;

fn check(name: &str, case: &Case) {
    let mut registry = Registry::new();
    registry.add_writer(&tarsia_plain::PLAIN, DecodeCost::default());
    let folder = env!("CARGO_MANIFEST_DIR");
    units::check_golden(folder, &registry, &tarsia_plain::tree(), name, case);
}

#[test]
fn frozen_bytes_stay() {
    let bits: Vec<bool> = (0..21).map(|i| i % 3 == 0).collect();
    check("bits21", &Case::bits("", &bits));
    check(
        "i32",
        &Case::numbers("", 4, &[0, 1, 0x0403_0201, u128::MAX]),
    );
    check("fixed3", &Case::fixed("", 3, 2, b"abcdef".to_vec()));
    check("fixed0", &Case::fixed("", 0, 5, vec![]));
}
