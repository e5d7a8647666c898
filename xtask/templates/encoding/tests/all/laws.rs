//! The laws of all encodings, for {{name}} over plain values.

use tarsia_codec::{DecodeCost, Registry, ValueType};
use tarsia_testkit::laws::{cases, check_cases};

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry
        .add_writer(&{{crate}}::{{STATIC}}, DecodeCost::default())
        .add_writer(&tarsia_plain::PLAIN, DecodeCost::default());
    registry
}

#[test]
fn numbers_obey_the_laws() {
    let tree = {{crate}}::tree(tarsia_plain::tree());
    for width in [1, 2, 4, 8] {
        check_cases(&registry(), &tree, &cases(ValueType::Fixed(width)));
    }
}
