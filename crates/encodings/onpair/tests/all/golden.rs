//! Frozen bytes, in both directions. `TARSIA_BLESS=1` writes missing files; existing files never change.

use tarsia_codec::{DecodeCost, Registry};
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;

fn check(name: &str, case: &Case) {
    let mut registry = Registry::new();
    registry
        .add_writer(&tarsia_onpair::ONPAIR, DecodeCost::default())
        .add_writer(&tarsia_plain::PLAIN, DecodeCost::default());
    let tree = tarsia_onpair::tree(tarsia_plain::tree(), tarsia_plain::tree());
    units::check_golden(env!("CARGO_MANIFEST_DIR"), &registry, &tree, name, case);
}

#[test]
fn frozen_bytes_stay() {
    let words: Vec<String> = (0..40).map(|i| format!("oak and elm {}", i % 7)).collect();
    check("words", &Case::strings("", &words));
    check("empty_strings", &Case::strings("", &["", "", ""]));
    check("none", &Case::strings::<&str>("", &[]));
}
