//! Frozen bytes, in both directions. `TARSIA_BLESS=1` writes missing files; existing files never change.

use tarsia_codec::{DecodeCost, Registry};
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;
use tarsia_zstd::{ZSTD, tree};

use crate::shapes::{small_offsets, text};

fn check(name: &str, case: &Case) {
    let mut registry = Registry::new();
    registry.add_writer(&ZSTD, DecodeCost::default());
    let folder = env!("CARGO_MANIFEST_DIR");
    units::check_golden(folder, &registry, &tree(), name, case);
}

#[test]
fn frozen_bytes_stay() {
    check("none", &Case::numbers("", 8, &[]));
    check("one", &Case::numbers("", 4, &[0x0403_0201]));
    check("equal", &Case::numbers("", 8, &[7; 1000]));
    let squares: Vec<u128> = (0..2000).map(|i| i * i % 1000).collect();
    check("numbers", &Case::numbers("", 4, &squares));
    check("text", &Case::fixed("", 1, 5000, text(5000, 1)));
    let offsets = small_offsets();
    check(
        "offsets",
        &Case::fixed("", 1, 9000, offsets[..9000].to_vec()),
    );
}
