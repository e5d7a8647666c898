//! Frozen bytes, in both directions. `TARSIA_BLESS=1` writes missing files; existing files never change.

use tarsia_codec::{DecodeCost, Registry};
use tarsia_lz4::{LZ4, tree};
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;

use crate::text;

fn check(name: &str, case: &Case) {
    let mut registry = Registry::new();
    registry.add_writer(&LZ4, DecodeCost::default());
    let folder = env!("CARGO_MANIFEST_DIR");
    units::check_golden(folder, &registry, &tree(), name, case);
}

#[test]
fn frozen_bytes_stay() {
    check("none", &Case::numbers("", 8, &[]));
    check("one", &Case::numbers("", 4, &[0x0403_0201]));
    check("equal", &Case::numbers("", 8, &[7; 1000]));
    let squares: Vec<u128> = (0..600).map(|i| i * i % 50).collect();
    check("numbers", &Case::numbers("", 4, &squares));
    check("text", &Case::fixed("", 1, 3000, text(3000, 1)));
}
