//! Frozen bytes, both directions.

use tarsia_codec::{DecodeCost, Registry, Tree};
use tarsia_dict::{CodeBytes, block_tree, page_tree};
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;

fn check(name: &str, tree: &Tree, case: &Case) {
    let mut registry = Registry::new();
    registry
        .add_writer(&tarsia_dict::DICT, DecodeCost::default())
        .add_writer(&tarsia_bytes::BYTES, DecodeCost::default())
        .add_writer(&tarsia_plain::PLAIN, DecodeCost::default());
    units::check_golden(env!("CARGO_MANIFEST_DIR"), &registry, tree, name, case);
}

#[test]
fn frozen_bytes_stay() {
    let plain = tarsia_plain::tree;
    let words = Case::strings("", &["oak", "elm", "", "oak", "Grüße", "elm", "oak", ""]);
    let numbers: Vec<u128> = (0..20).map(|i| ((i * i % 7) << 60) | (i % 2)).collect();
    let numbers = Case::numbers("", 8, &numbers);
    let strings = block_tree(CodeBytes::One, plain(), tarsia_bytes::tree(plain()));
    check("block_words", &strings, &words);
    check("block_no_words", &strings, &Case::strings::<&str>("", &[]));
    check(
        "block_u64",
        &block_tree(CodeBytes::Two, plain(), plain()),
        &numbers,
    );
    check("page_words", &page_tree(CodeBytes::One, plain()), &words);
    check("page_u64", &page_tree(CodeBytes::Four, plain()), &numbers);
}
