//! Frozen bytes, in both directions, under given symbols: which ones are found may change, what they mean may not.
//! `TARSIA_BLESS=1` writes missing files; existing files never change.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use tarsia_codec::{
    Block, DecodeCost, OwnedValues, Registry, SharedBuffer, SharedKind, build_encoder,
};
use tarsia_testkit::cases::Case;
use tarsia_testkit::laws::existing;
use tarsia_testkit::units;

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
    let values = case.values();
    let encoder = build_encoder(&registry, &tree, values, &mut existing(&shared)).expect("prepare");
    let mut encoded = vec![];
    let block = Block::all(values).expect("a block");
    encoder.encode(block, &mut encoded).expect("encode");

    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1");
    let path = folder.join(format!("{name}.bin"));
    if std::env::var_os("TARSIA_BLESS").is_some() && !path.exists() {
        fs::create_dir_all(&folder).expect("create the folder");
        fs::write(&path, &encoded).expect("write the golden file");
    }
    let frozen = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(encoded, frozen, "{name}: the encoder's bytes changed");
    let unit = units::unit_of(&frozen, &values);
    let decoded = units::decode(&registry, &tree, values.value_type(), unit, &shared)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let expected = &case.values;
    assert_eq!(
        format!("{decoded:?}"),
        format!("{expected:?}"),
        "{name}: the frozen bytes decode to other values"
    );
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
