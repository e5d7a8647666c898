//! Frozen bytes, in both directions. `TARSIA_BLESS=1` writes missing files; existing files never change.

use tarsia_codec::{DecodeCost, Registry};
use tarsia_gorilla::{GORILLA, Scheme, tree};
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;

fn check(name: &str, scheme: Scheme, case: &Case) {
    let mut registry = Registry::new();
    registry.add_writer(&GORILLA, DecodeCost::default());
    let folder = env!("CARGO_MANIFEST_DIR");
    units::check_golden(folder, &registry, &tree(scheme), name, case);
}

#[test]
fn frozen_bytes_stay() {
    let none = Case::numbers("", 8, &[]);
    check("none_gorilla", Scheme::Gorilla, &none);
    check("none_chimp", Scheme::Chimp, &none);
    let one = Case::numbers("", 4, &[0x0403_0201]);
    check("one_gorilla", Scheme::Gorilla, &one);
    check("one_chimp", Scheme::Chimp, &one);
    let numbers = [21.5, 21.5, 21.75, 22.0, -3.1, -3.1, -3.2, 1e300, 0.0, 21.5];
    let wide: Vec<u128> = numbers.map(|it: f64| it.to_bits().into()).into();
    let wide = Case::numbers("", 8, &wide);
    check("doubles_gorilla", Scheme::Gorilla, &wide);
    check("doubles_chimp", Scheme::Chimp, &wide);
    let narrow: Vec<u128> = numbers.map(|it| (it as f32).to_bits().into()).into();
    let narrow = Case::numbers("", 4, &narrow);
    check("floats_gorilla", Scheme::Gorilla, &narrow);
    check("floats_chimp", Scheme::Chimp, &narrow);
    let steps = |i: u32| f64::from(i / 3 * 7).to_bits().into();
    let groups: Vec<u128> = (0..1030).map(steps).collect();
    let groups = Case::numbers("", 8, &groups);
    check("two_groups_gorilla", Scheme::Gorilla, &groups);
    check("two_groups_chimp", Scheme::Chimp, &groups);
}
