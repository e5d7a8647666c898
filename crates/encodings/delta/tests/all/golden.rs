//! Frozen bytes, both directions.

use tarsia_codec::Registry;
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;

fn check(name: &str, case: &Case) {
    let mut registry = Registry::new();
    let cost = Default::default();
    registry
        .add_writer(&tarsia_delta::DELTA, cost)
        .add_writer(&tarsia_plain::PLAIN, cost);
    let tree = tarsia_delta::tree(tarsia_plain::tree());
    units::check_golden(env!("CARGO_MANIFEST_DIR"), &registry, &tree, name, case);
}

#[test]
fn frozen_bytes_stay() {
    check("none", &Case::numbers("", 4, &[]));
    check("one", &Case::numbers("", 2, &[0x1234]));
    check("wrapping", &Case::numbers("", 1, &[250, 4, 0, 255, 128]));
    let groups: Vec<u128> = (0..1030).map(|i| (1 << 50) + i * 77).collect();
    check("two_groups", &Case::numbers("", 8, &groups));
}
