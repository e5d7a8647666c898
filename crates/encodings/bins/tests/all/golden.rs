//! Frozen bytes, in both directions, under given bins: which ones are found may change, what they mean may not.
//! `TARSIA_BLESS=1` writes missing files; existing files never change.

use std::fs;
use std::path::Path;

use tarsia_bins::NUMBER_BITS_MAX;
use tarsia_codec::{Block, build_encoder};
use tarsia_testkit::cases::Case;
use tarsia_testkit::laws::existing;
use tarsia_testkit::units;

use super::tables::{registry, table};

fn check(name: &str, bins: &[(u64, u8)], case: &Case) {
    let (registry, values) = (registry(), case.values());
    let tree = tarsia_bins::tree(NUMBER_BITS_MAX, tarsia_plain::tree());
    let width = values.as_fixed().expect("numbers").width();
    let shared = [table(width, bins)];
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
    check("none", &[], &Case::numbers("", 8, &[]));
    let bytes = Case::numbers("", 1, &[0, 3, 255, 200, 128]);
    check("bytes", &[(0, 2), (128, 7)], &bytes);
    let shorts: Vec<u128> = (0..20).map(|i| 300 + i * i).collect();
    let bins = [(300, 4), (310, 7), (381, 0), (400, 9)];
    check("shorts", &bins, &Case::numbers("", 2, &shorts));
    let prices = [199, 299, 250, 1_000_000, 201, 199].repeat(5);
    let bins = [(199, 0), (200, 6), (299, 0), (300, 30)];
    check("ints", &bins, &Case::numbers("", 4, &prices));
    let floats = [0.0, 1.5, -1.5, 1e-300, f64::NAN, f64::INFINITY, 2.25, -0.0];
    let longs = floats.map(|it: f64| it.to_bits().into()).repeat(3);
    let bins = [
        (0, 62),
        (1f64.to_bits(), 53),
        (f64::INFINITY.to_bits(), 64),
        (1 << 63, 63),
    ];
    check("longs", &bins, &Case::numbers("", 8, &longs));
}
