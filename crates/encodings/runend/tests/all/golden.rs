//! Frozen bytes, in both directions. `TARSIA_BLESS=1` writes missing files; existing files never change.

use tarsia_codec::{DecodeCost, Registry, Tree};
use tarsia_runend::{EndBytes, tree};
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;

fn check(name: &str, end_bytes: EndBytes, values: Tree, case: &Case) {
    let mut registry = Registry::new();
    registry
        .add_writer(&tarsia_runend::RUNEND, DecodeCost::default())
        .add_writer(&tarsia_bitmap::BITMAP, DecodeCost::default())
        .add_writer(&tarsia_bytes::BYTES, DecodeCost::default())
        .add_writer(&tarsia_plain::PLAIN, DecodeCost::default());
    let tree = tree(end_bytes, tarsia_plain::tree(), values);
    units::check_golden(env!("CARGO_MANIFEST_DIR"), &registry, &tree, name, case);
}

#[test]
fn frozen_bytes_stay() {
    let plain = tarsia_plain::tree;
    let numbers = Case::numbers("", 4, &[1, 1, 1, 0x0403_0201, 9, 9]);
    check("numbers", EndBytes::Two, plain(), &numbers);
    check("wide_ends", EndBytes::Four, plain(), &numbers);
    check("none", EndBytes::Two, plain(), &Case::numbers("", 8, &[]));
    let bits = Case::bits("", &[true, true, false, false, false, true]);
    check("bits", EndBytes::Two, tarsia_bitmap::tree(), &bits);
    let strings = Case::strings("", &["oak", "oak", "", "", "elm"]);
    let of_bytes = tarsia_bytes::tree(plain());
    check("strings", EndBytes::Two, of_bytes, &strings);
}
