//! Frozen bytes, in both directions, under given bins: which ones are found may change, what they mean may not.
//! `TARSIA_BLESS=1` writes missing files; existing files never change.

use tarsia_bins::NUMBER_BITS_MAX;
use tarsia_testkit::cases::Case;
use tarsia_testkit::units::Golden;

use super::tables::{registry, table};

fn check(name: &str, bins: &[(u64, u8)], case: &Case) {
    let width = case.values().as_fixed().expect("numbers").width();
    let golden = Golden {
        folder: env!("CARGO_MANIFEST_DIR"),
        registry: &registry(),
        tree: &tarsia_bins::tree(NUMBER_BITS_MAX, tarsia_plain::tree()),
        shared: &[table(width, bins)],
    };
    golden.check(name, case);
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
