//! Frozen bytes, in both directions. `TARSIA_BLESS=1` writes missing files; existing files never change.

use tarsia_pseudodecimal::tree;
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;

use super::laws::{mixed, narrow, registry, wide};

fn check(name: &str, case: &Case) {
    let tree = tree(tarsia_plain::tree(), tarsia_plain::tree());
    let folder = env!("CARGO_MANIFEST_DIR");
    units::check_golden(folder, &registry(), &tree, name, case);
}

#[test]
fn frozen_bytes_stay() {
    check(
        "wide",
        &wide([
            1.25,
            -0.0,
            99.999,
            f64::NAN,
            -7.5,
            f64::INFINITY,
            0.1,
            300.0,
            1e-22,
        ]),
    );
    check(
        "narrow",
        &narrow([1.25, -0.0, 99.9, f32::NAN, -7.5, 1e-30, 1e-8]),
    );
    check("decimals", &wide(mixed(20, 0)));
    check("none", &wide([]));
}
