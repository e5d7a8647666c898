//! The laws of all encodings, for bitmap.

use tarsia_codec::{DecodeCost, Registry, ValueType};
use tarsia_testkit::laws::{cases, check_cases};

#[test]
fn bits_obey_the_laws() {
    let mut registry = Registry::new();
    registry.add_writer(&tarsia_bitmap::BITMAP, DecodeCost::default());
    check_cases(&registry, &tarsia_bitmap::tree(), &cases(ValueType::Bits));
}
