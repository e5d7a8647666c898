//! Frozen bytes, in both directions. `TARSIA_BLESS=1` writes missing files; existing files never change.

use tarsia_codec::Tree;
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;

use crate::{packed, plain, registry};

fn check(name: &str, tree: &Tree, case: &Case) {
    units::check_golden(env!("CARGO_MANIFEST_DIR"), &registry(), tree, name, case);
}

#[test]
fn frozen_bytes_stay() {
    check(
        "words",
        &plain(),
        &Case::strings("", &["a", "", "bc", "Grüße"]),
    );
    check(
        "digits",
        &packed(),
        &Case::strings("", &["17", "4", "", "2026"]),
    );
    let none: [&str; 0] = [];
    check("none", &plain(), &Case::strings("", &none));
}
