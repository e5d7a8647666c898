//! Frozen bytes, in both directions. `TARSIA_BLESS=1` writes missing files; existing files never change.

use tarsia_codec::{DecodeCost, Registry};
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;
use tarsia_zigzag::{ZIGZAG, tree};

fn check(name: &str, width: usize, numbers: &[i128]) {
    let mut registry = Registry::new();
    registry
        .add_writer(&ZIGZAG, DecodeCost::default())
        .add_writer(&tarsia_plain::PLAIN, DecodeCost::default());
    let numbers: Vec<u128> = numbers.iter().map(|it| *it as u128).collect();
    let case = Case::numbers("", width, &numbers);
    let tree = tree(tarsia_plain::tree());
    units::check_golden(env!("CARGO_MANIFEST_DIR"), &registry, &tree, name, &case);
}

#[test]
fn frozen_bytes_stay() {
    check("bytes", 1, &[0, -1, 1, -2, 2, 127, -128]);
    check("shorts", 2, &[0, -1, 0x0102, -0x8000, 0x7fff]);
    check(
        "ints",
        4,
        &[0, -1, 0x0102_0304, i32::MIN.into(), i32::MAX.into()],
    );
    check(
        "longs",
        8,
        &[0, -1, 1 << 40, i64::MIN.into(), i64::MAX.into()],
    );
    check("none", 8, &[]);
}
