//! Frozen bytes, in both directions. `TARSIA_BLESS=1` writes missing files; existing files never change.

use tarsia_codec::{DecodeCost, Registry};
use tarsia_roaring::{ROARING, tree};
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;

fn check(name: &str, n: usize, bit: impl Fn(usize) -> bool) {
    let mut registry = Registry::new();
    registry.add_writer(&ROARING, DecodeCost::default());
    let bits: Vec<bool> = (0..n).map(bit).collect();
    let case = Case::bits("", &bits);
    units::check_golden(env!("CARGO_MANIFEST_DIR"), &registry, &tree(), name, &case);
}

#[test]
fn frozen_bytes_stay() {
    check("set", 700, |i| [0, 5, 64, 699].contains(&i));
    check("unset", 700, |i| ![1, 63, 511].contains(&i));
    check("set_runs", 700, |i| (3..90).contains(&i) || i > 640);
    check("unset_runs", 700, |i| !(128..512).contains(&i));
    check("bits", 77, |i| i * i % 5 < 2);
    check("two", 65_600, |i| i == 0x0201 || i > 65_535 + 20);
    check("ones", 64, |_| true);
    check("none", 0, |_| true);
}
