//! One broken field each, with the exact error; prefixes; seeded mutations.

use tarsia_bitpack::{BITPACK, ID, Mode, VERSION, tree, tree_of};
use tarsia_codec::{
    BlockValues, DecodeCost, Error, ErrorKind, FixedSlice, Output, Registry, Scratch, Selection,
    SharedBuffers, Tree, Unit, ValueType, Values, build_decoder, build_encoder,
};
use tarsia_testkit::rng::Rng;

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.add_writer(&BITPACK, DecodeCost::default());
    registry
}

fn decode_as(
    tree: &Tree,
    bytes: &[u8],
    width: usize,
    n: u32,
    selection: Selection<'_>,
) -> Result<Vec<u8>, Error> {
    let value_type = ValueType::Fixed(width as u32);
    let decoder = build_decoder(&registry(), tree, value_type, &[])?;
    let unit = Unit {
        bytes,
        len: n,
        decoded_bytes: 0,
    };
    let mut out = vec![0; selection.check(n)? * width];
    decoder.decode(
        unit,
        selection,
        &mut Scratch::new(),
        Output::Fixed(&mut out),
    )?;
    Ok(out)
}

fn decode(bytes: &[u8], width: usize, n: u32) -> Result<Vec<u8>, Error> {
    decode_as(&tree(), bytes, width, n, Selection::All)
}

fn encode(values: &[u64], width: usize) -> Vec<u8> {
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes()[..width].to_vec())
        .collect();
    let values = Values::Fixed(FixedSlice::new(&bytes, width, values.len()).unwrap());
    let encoder = build_encoder(&registry(), &tree(), values, &mut SharedBuffers::new()).unwrap();
    let mut out = vec![];
    encoder
        .encode(BlockValues::all(values).unwrap(), &mut out)
        .unwrap();
    out
}

/// Three u16 values at 3 bits over base 5, by hand.
const PLAIN: [u8; 6] = [0, 3, 1, 5, 0b10_001_000, 0b0];
/// The unit with value 1 patched by `1 << 3`.
const PATCHED: [u8; 11] = [0x10, 3, 1, 5, 0, 0, 1, 0, 1, 0b10_001_000, 0b0];
/// Group widths and deltas for one group of two u8 values: width 4, base 1 + 2.
const GROUPED: [u8; 7] = [1, 0, 0x11, 1, 4, 2, 0x21];

#[test]
fn hand_written_units_are_read() {
    assert_eq!(decode(&PLAIN, 2, 3), Ok(vec![5, 0, 6, 0, 7, 0]));
    assert_eq!(decode(&PATCHED, 2, 3), Ok(vec![5, 0, 14, 0, 7, 0]));
    assert_eq!(decode(&GROUPED, 1, 2), Ok(vec![4, 5]));
    // Longer than a writer writes, but valid: a base with a zero byte.
    assert_eq!(decode(&[0, 0, 2, 5, 0], 2, 3), Ok(vec![5, 0, 5, 0, 5, 0]));
}

#[track_caller]
fn check(unit: &[u8], change: (usize, u8), width: usize, n: u32, expect: Error) {
    let mut broken = unit.to_vec();
    broken[change.0] = change.1;
    assert_eq!(decode(&broken, width, n), Err(expect));
}

#[test]
fn one_broken_field_each() {
    let corrupt = Error::corrupt;
    check(
        &PLAIN,
        (0, 4),
        2,
        3,
        corrupt("bitpack.form", 0, 4, "bits 2 and 3 zero"),
    );
    check(
        &PLAIN,
        (0, 8),
        2,
        3,
        corrupt("bitpack.form", 0, 8, "bits 2 and 3 zero"),
    );
    let error = corrupt("bitpack.form", 0, 0x30, "patches no wider than a value");
    check(&PLAIN, (0, 0x30), 2, 3, error);
    let error = corrupt("bitpack.width", 1, 17, "at most the bits of a value");
    check(&PLAIN, (1, 17), 2, 3, error);
    let error = corrupt("bitpack.width", 1, 3, "0 where groups have widths");
    check(&PLAIN, (0, 1), 2, 3, error);
    let allowed = "a base and deltas no wider than a value";
    check(
        &PLAIN,
        (2, 3),
        2,
        3,
        corrupt("bitpack.sizes", 2, 3, allowed),
    );
    check(
        &PLAIN,
        (2, 0x31),
        2,
        3,
        corrupt("bitpack.sizes", 2, 0x31, allowed),
    );
    let error = corrupt("bitpack.packed", 5, 2, "spare bits zero");
    check(&PLAIN, (5, 2), 2, 3, error);
    let error = corrupt("bitpack.group_widths", 4, 9, "at most the bits of a value");
    check(&GROUPED, (4, 9), 1, 2, error);
    let allowed = "at most one per value, in units of at most 65,536 values";
    check(
        &PATCHED,
        (4, 3),
        2,
        3,
        corrupt("bitpack.n_patches", 4, 4, allowed),
    );
    let rising = "strictly rising and below the number of values";
    check(
        &PATCHED,
        (6, 3),
        2,
        3,
        corrupt("bitpack.positions", 6, 3, rising),
    );
    let beyond = "no bits beyond those of a value";
    let mut wide = PATCHED.to_vec();
    wide[0] = 0x20;
    wide.insert(9, 0x20);
    assert_eq!(
        decode(&wide, 2, 3),
        Err(corrupt("bitpack.patch_highs", 8, 0x2001, beyond))
    );
}

#[test]
fn lengths_must_fit() {
    let truncated = Error::truncated;
    assert_eq!(
        decode(&PLAIN[..5], 2, 3),
        Err(truncated("bitpack.packed", 6, 5))
    );
    assert_eq!(
        decode(&PLAIN[..3], 2, 3),
        Err(truncated("bitpack.base", 4, 3))
    );
    assert_eq!(
        decode(&PLAIN[..2], 2, 3),
        Err(truncated("bitpack.sizes", 3, 2))
    );
    assert_eq!(
        decode(&PATCHED[..7], 2, 3),
        Err(truncated("bitpack.positions", 8, 7))
    );
    assert_eq!(
        decode(&PATCHED[..8], 2, 3),
        Err(truncated("bitpack.patch_highs", 9, 8))
    );
    assert_eq!(
        decode(&GROUPED[..4], 1, 2),
        Err(truncated("bitpack.group_widths", 5, 4))
    );
    assert_eq!(
        decode(&GROUPED[..5], 1, 2),
        Err(truncated("bitpack.group_deltas", 6, 5))
    );
    let mut long = PLAIN.to_vec();
    long.push(0);
    let error = Error::corrupt("bitpack.packed", 6, 1, "no bytes after the last field");
    assert_eq!(decode(&long, 2, 3), Err(error));
    let error = Error::corrupt(
        "bitpack.unit of no values",
        0,
        6,
        "no bytes after the last field",
    );
    assert_eq!(decode(&PLAIN, 2, 0), Err(error));
    // Billions of values from a few bytes: refused before anything of that size is touched.
    let parse = |unit: &[u8]| decode_as(&tree(), unit, 8, 1 << 31, Selection::Indices(&[0]));
    assert!(matches!(
        parse(&[0, 64, 0]).as_ref().map_err(|error| error.kind()),
        Err(ErrorKind::Truncated { .. })
    ));
    assert!(matches!(
        parse(&[1, 0, 0]).as_ref().map_err(|error| error.kind()),
        Err(ErrorKind::Truncated { .. })
    ));
    assert!(matches!(
        parse(&[0, 0, 0x80]).as_ref().map_err(|error| error.kind()),
        Err(ErrorKind::Truncated { .. })
    ));
    assert_eq!(parse(&[0, 0, 1, 7]), Ok(7u64.to_le_bytes().to_vec()));
}

#[test]
fn patches_must_rise_and_be_few() {
    let two = |a: u8, b: u8| vec![0x10, 3, 1, 5, 1, 0, a, 0, b, 0, 1, 1, 0b10_001_000, 0];
    assert_eq!(decode(&two(0, 2), 2, 3), Ok(vec![13, 0, 6, 0, 15, 0]));
    let rising = "strictly rising and below the number of values";
    let error = Error::corrupt("bitpack.positions", 8, 1, rising);
    assert_eq!(decode(&two(1, 1), 2, 3), Err(error.clone()));
    assert_eq!(decode(&two(2, 1), 2, 3), Err(error));
    // Positions are 16 bits, so longer units have no patches.
    let unit = [0x10, 0, 0, 0, 0, 5, 0, 1];
    assert!(decode(&unit, 1, 1 << 16).is_ok());
    let allowed = "at most one per value, in units of at most 65,536 values";
    let error = Error::corrupt("bitpack.n_patches", 3, 1, allowed);
    assert_eq!(decode(&unit, 1, (1 << 16) + 1), Err(error));
    // A value stored at full width has nothing to patch.
    let unit = [0x10, 8, 0, 0, 0, 0, 0, 0, 9];
    let error = Error::corrupt(
        "bitpack.patch_highs",
        7,
        0,
        "no bits beyond those of a value",
    );
    assert_eq!(decode(&unit, 1, 1), Err(error));
}

#[test]
fn parameters_are_a_promise() {
    let uniform = tree_of(Mode::Uniform);
    let got = decode_as(&uniform, &PLAIN, 2, 3, Selection::All);
    assert_eq!(got, Ok(vec![5, 0, 6, 0, 7, 0]));
    let allowed = "one width and one base, as the node's parameters promise";
    let got = decode_as(&uniform, &GROUPED, 1, 2, Selection::All);
    assert_eq!(got, Err(Error::corrupt("bitpack.form", 0, 1, allowed)));
    let other = Tree::leaf(ID, VERSION, &[2]);
    let got = decode_as(&other, &PLAIN, 2, 3, Selection::All);
    assert_eq!(got, Err(Error::corrupt("bitpack.params", 0, 2, "0 or 1")));
    let other = Tree::leaf(ID, VERSION, &[0, 0]);
    let got = decode_as(&other, &PLAIN, 2, 3, Selection::All);
    assert_eq!(
        got,
        Err(Error::corrupt("bitpack.params", 1, 2, "at most one byte"))
    );
    for width in [0, 3, 5, 16] {
        assert!(decode_as(&tree(), &PLAIN, width, 3, Selection::All).is_err());
    }
}

fn units() -> Vec<(Vec<u8>, usize, u32)> {
    let mut rng = Rng::new(3);
    let mut units = vec![
        (PLAIN.to_vec(), 2, 3),
        (PATCHED.to_vec(), 2, 3),
        (GROUPED.to_vec(), 1, 2),
    ];
    for width in [1, 2, 4, 8] {
        for n in [1usize, 70, 1025, 2500] {
            let values: Vec<u64> = (0..n)
                .map(|i| {
                    let large = if rng.percent(1) { rng.u64() } else { 0 };
                    ((i / 1024) as u64 * 99)
                        .wrapping_add(rng.u64() % 13)
                        .wrapping_add(large)
                })
                .collect();
            units.push((encode(&values, width), width, n as u32));
        }
    }
    units
}

#[test]
fn every_prefix_is_an_error() {
    for (unit, width, n) in units() {
        for len in 0..unit.len() {
            let got = decode(&unit[..len], width, n);
            assert!(
                matches!(
                    got.as_ref().map_err(|error| error.kind()),
                    Err(ErrorKind::Truncated { .. })
                ),
                "{len} of {}: {got:?}",
                unit.len()
            );
        }
    }
}

#[test]
fn mutations_do_not_panic_and_selections_stay_inside() {
    let mut rng = Rng::new(11);
    for (unit, width, n) in units() {
        for _ in 0..400 {
            let mut broken = unit.clone();
            for _ in 0..rng.between(1, 4) {
                // Mostly in the header, where errors have the most effect.
                let most = if rng.flip() {
                    broken.len().min(16)
                } else {
                    broken.len()
                };
                let at = rng.below(most);
                broken[at] = rng.u8();
            }
            if rng.percent(20) {
                broken.truncate(rng.below(broken.len() + 1));
            }
            let n = if rng.percent(20) {
                rng.u32() % 70_000
            } else {
                n
            };
            let start = rng.below(n as usize + 1) as u32;
            let all: Vec<u32> = (0..n).collect();
            let some: Vec<u32> = (0..n).step_by(rng.between(1, 300)).collect();
            let whole = decode(&broken, width, n);
            for selection in [
                Selection::Range {
                    start,
                    len: n - start,
                },
                Selection::Indices(&all),
                Selection::Indices(&some),
            ] {
                let got = decode_as(&tree(), &broken, width, n, selection);
                // Every selection decodes to the same values as the whole unit.
                if let (Ok(whole), Ok(got)) = (&whole, &got) {
                    let first = |i: usize| match selection {
                        Selection::Indices(indices) => indices[i] as usize,
                        _ => start as usize + i,
                    };
                    for (i, value) in got.chunks(width).enumerate() {
                        assert_eq!(value, &whole[first(i) * width..][..width]);
                    }
                }
                assert!(whole.is_err() || got.is_ok(), "{got:?}");
            }
        }
    }
}
