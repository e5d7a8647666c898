//! Frozen bytes, in both directions. `TARSIA_BLESS=1` writes missing files; existing files never change.

use tarsia_bitshuffle::{BITSHUFFLE, tree};
use tarsia_codec::{DecodeCost, Registry};
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;

fn check(name: &str, width: usize, numbers: &[u128]) {
    let mut registry = Registry::new();
    registry
        .add_writer(&BITSHUFFLE, DecodeCost::default())
        .add_writer(&tarsia_plain::PLAIN, DecodeCost::default());
    let case = Case::numbers("", width, numbers);
    let tree = tree(tarsia_plain::tree());
    units::check_golden(env!("CARGO_MANIFEST_DIR"), &registry, &tree, name, &case);
}

#[test]
fn frozen_bytes_stay() {
    check("bytes", 1, &[1, 2, 4, 8, 16, 32, 64, 128, 255]);
    check("shorts", 2, &[0x8001, 0x0102, 0x7fff, 0]);
    check("ints", 4, &[0, 1, 0x0403_0201, u128::MAX]);
    check(
        "longs",
        8,
        &[1 << 63, 1, 1 << 40, u128::MAX, 7, 8, 9, 10, 11],
    );
    // A full group and a short one.
    let squares: Vec<u128> = (0..1024 + 21).map(|i| i * i).collect();
    check("groups", 4, &squares);
    check("none", 8, &[]);
}
