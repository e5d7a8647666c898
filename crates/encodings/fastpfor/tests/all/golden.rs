//! Frozen bytes, in both directions. `TARSIA_BLESS=1` writes missing files; existing files never change.

use tarsia_fastpfor::{Scheme, tree};
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;

use crate::laws::registry;

/// Checks the units of both schemes.
fn check([bp128, fast_pfor]: [&str; 2], case: &Case) {
    let folder = env!("CARGO_MANIFEST_DIR");
    for (scheme, name) in [(Scheme::Bp128, bp128), (Scheme::FastPfor, fast_pfor)] {
        units::check_golden(folder, &registry(), &tree(scheme), name, case);
    }
}

/// Three groups of their own widths, the last of 64 and 8 values. In the second, values of seven bits among those of
/// two; in the last, of three among those of two, and one of all bits.
fn groups(width: usize) -> Case {
    let number = |i: u128| match i {
        0..128 => i % 5,
        _ if i == 320 => u128::MAX,
        _ if i % 40 == 7 => (i % 27 + 100) >> (i / 256 * 4),
        _ => i % 4,
    };
    let numbers: Vec<u128> = (0..328).map(number).collect();
    Case::numbers("", width, &numbers)
}

#[test]
fn frozen_bytes_stay() {
    let none = Case::numbers("", 8, &[]);
    check(["none_bp128", "none_fast_pfor"], &none);
    let one = Case::numbers("", 4, &[0x0403_0201]);
    check(["one_bp128", "one_fast_pfor"], &one);
    check(["groups_1_bp128", "groups_1_fast_pfor"], &groups(1));
    check(["groups_2_bp128", "groups_2_fast_pfor"], &groups(2));
    check(["groups_4_bp128", "groups_4_fast_pfor"], &groups(4));
    check(["groups_8_bp128", "groups_8_fast_pfor"], &groups(8));
}
