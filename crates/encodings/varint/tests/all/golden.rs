//! Frozen bytes, in both directions. `TARSIA_BLESS=1` writes missing files; existing files never change.

use tarsia_codec::{DecodeCost, Registry};
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;
use tarsia_varint::{VARINT, tree};

fn check(name: &str, width: usize, numbers: &[u128]) {
    let mut registry = Registry::new();
    registry.add_writer(&VARINT, DecodeCost::default());
    let case = Case::numbers("", width, numbers);
    units::check_golden(env!("CARGO_MANIFEST_DIR"), &registry, &tree(), name, &case);
}

#[test]
fn frozen_bytes_stay() {
    check("shorts", 2, &[0, 1, 127, 128, 300, 16_383, 16_384, 0xffff]);
    check("ints", 4, &[0, 0x0403_0201, u32::MAX.into(), 128, 5]);
    check("longs", 8, &[0, 1 << 40, (1 << 63) - 1, u64::MAX.into(), 9]);
    // A full group and a short one.
    let squares: Vec<u128> = (0..256 + 21).map(|i| i * i).collect();
    check("groups", 4, &squares);
    check("none", 8, &[]);
}
