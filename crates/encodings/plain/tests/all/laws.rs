//! The laws of all encodings, for plain.

use tarsia_codec::{DecodeCost, Registry, ValueType};
use tarsia_testkit::laws::{cases, check_cases};

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.add_writer(&tarsia_plain::PLAIN, DecodeCost::default());
    registry
}

#[test]
fn bits_obey_the_laws() {
    check_cases(&registry(), &tarsia_plain::tree(), &cases(ValueType::Bits));
}

#[test]
fn fixed_widths_obey_the_laws() {
    for width in [1, 2, 3, 4, 8, 16, 33] {
        let all = cases(ValueType::Fixed(width));
        check_cases(&registry(), &tarsia_plain::tree(), &all);
    }
}

#[test]
fn width_zero_obeys_the_laws() {
    let all = cases(ValueType::Fixed(0));
    check_cases(&registry(), &tarsia_plain::tree(), &all);
}
