//! Frozen bytes, both directions.

use tarsia_codec::{DecodeCost, Registry};
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;

fn check(name: &str, case: &Case) {
    let mut registry = Registry::new();
    registry
        .add_writer(&tarsia_bytes::BYTES, DecodeCost::default())
        .add_writer(&tarsia_plain::PLAIN, DecodeCost::default());
    let tree = tarsia_bytes::tree(tarsia_plain::tree());
    units::check_golden(env!("CARGO_MANIFEST_DIR"), &registry, &tree, name, case);
}

#[test]
fn frozen_bytes_stay() {
    check(
        "words",
        &Case::strings("", &["wood", "", "Grüße", "a longer piece of text", "\0"]),
    );
    check("empty_strings", &Case::strings("", &["", "", ""]));
    check("none", &Case::strings::<&str>("", &[]));
}
