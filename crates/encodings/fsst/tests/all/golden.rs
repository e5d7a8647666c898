//! Frozen bytes, in both directions, under given symbols: which ones are found may change, what they mean may not.
//! `TARSIA_BLESS=1` writes missing files; existing files never change.

use std::sync::Arc;

use tarsia_codec::{DecodeCost, OwnedValues, Registry, SharedBuffer, SharedKind};
use tarsia_testkit::cases::Case;
use tarsia_testkit::units::Golden;

fn check(name: &str, symbols: &[&str], case: &Case) {
    let mut registry = Registry::new();
    registry
        .add_writer(&tarsia_fsst::FSST, DecodeCost::default())
        .add_writer(&tarsia_plain::PLAIN, DecodeCost::default());
    let tree = tarsia_fsst::tree(tarsia_plain::tree(), tarsia_plain::tree());
    let symbols = OwnedValues::copy_of(Case::strings("", symbols).values());
    let shared = [SharedBuffer::new(
        SharedKind::TokenDictionary,
        Arc::new(symbols),
    )];
    let golden = Golden {
        folder: env!("CARGO_MANIFEST_DIR"),
        registry: &registry,
        tree: &tree,
        shared: &shared,
    };
    golden.check(name, case);
}

#[test]
fn frozen_bytes_stay() {
    let words: Vec<String> = (0..40).map(|i| format!("oak and elm {}", i % 7)).collect();
    let symbols = [" and elm", "a", "oak", "oa", " 5"];
    check("words", &symbols, &Case::strings("", &words));
    check("escapes", &[], &Case::strings("", &["ÿ", "", "elm"]));
    check("empty_strings", &["a"], &Case::strings("", &["", "", ""]));
    check("none", &["a"], &Case::strings::<&str>("", &[]));
}
