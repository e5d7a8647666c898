//! Frozen bytes, in both directions. `TARSIA_BLESS=1` writes missing files; existing files never change.

use tarsia_codec::{DecodeCost, Registry, Tree};
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;

fn check(name: &str, tree: &Tree, case: &Case) {
    let mut registry = Registry::new();
    registry
        .add_writer(&tarsia_divisor::DIVISOR, DecodeCost::default())
        .add_writer(&tarsia_plain::PLAIN, DecodeCost::default());
    units::check_golden(env!("CARGO_MANIFEST_DIR"), &registry, tree, name, case);
}

#[test]
fn frozen_bytes_stay() {
    let tree = |width, divisor, remainder| {
        tarsia_divisor::tree(width, divisor, remainder, tarsia_plain::tree())
    };
    let minutes = [59, 119, 60 * 0x0403_0201 + 59, (-1i128) as u128];
    check("minutes", &tree(4, 60, 59), &Case::numbers("", 4, &minutes));
    let seconds = [7, 1_000_000_007, (7 - 3_000_000_000i128) as u128];
    let tree_of_seconds = tree(8, 1_000_000_000, 7);
    check("seconds", &tree_of_seconds, &Case::numbers("", 8, &seconds));
    // No multiples as numbers, but modulo 2^16.
    check("odd", &tree(2, 3, 0), &Case::numbers("", 2, &[1, 2, 3]));
    check("none", &tree(1, 2, 1), &Case::numbers("", 1, &[]));
}
