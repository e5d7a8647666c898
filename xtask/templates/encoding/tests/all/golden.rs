//! Frozen bytes, in both directions. `TARSIA_BLESS=1` writes missing files; existing files never change.

use tarsia_codec::{DecodeCost, Registry};
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;

fn check(name: &str, case: &Case) {
    let mut registry = Registry::new();
    registry
        .add_writer(&{{crate}}::{{STATIC}}, DecodeCost::default())
        .add_writer(&tarsia_plain::PLAIN, DecodeCost::default());
    let tree = {{crate}}::tree(tarsia_plain::tree());
    units::check_golden(env!("CARGO_MANIFEST_DIR"), &registry, &tree, name, case);
}

#[test]
fn frozen_bytes_stay() {
    // FILL IN: values that need every field. Write their files once the layout is final.
    check("numbers", &Case::numbers("", 4, &[0, 1, 0x0403_0201, u128::MAX]));
    check("none", &Case::numbers("", 8, &[]));
}
