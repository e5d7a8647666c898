//! Frozen bytes, in both directions. `TARSIA_BLESS=1` writes missing files; existing files never change.

use tarsia_codec::{DecodeCost, Registry};
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;

fn check(name: &str, widths: &[u8], case: &Case) {
    let mut registry = Registry::new();
    registry
        .add_writer(&tarsia_split::SPLIT, DecodeCost::default())
        .add_writer(&tarsia_plain::PLAIN, DecodeCost::default());
    let tree = tarsia_split::tree(widths, vec![tarsia_plain::tree(); widths.len()]);
    units::check_golden(env!("CARGO_MANIFEST_DIR"), &registry, &tree, name, case);
}

#[test]
fn frozen_bytes_stay() {
    let wide = [7, u128::MAX, 0x1122_3344_5566_7788_99aa_bbcc_ddee_ff00];
    check("halves", &[8, 8], &Case::numbers("", 16, &wide));
    let numbers = [0x0403_0201, 0x1413_1211, 0];
    check("bytes", &[1; 4], &Case::numbers("", 4, &numbers));
    check("uneven", &[1, 3], &Case::numbers("", 4, &numbers));
    check("none", &[1, 1], &Case::numbers("", 2, &[]));
}
