//! The laws of all encodings, for bins whose numbers are plain and packed.

use tarsia_bins::NUMBER_BITS_MAX;
use tarsia_codec::{
    BlockValues, EncodingWriter, ErrorKind, Node, Output, Result, Scratch, Selection, SharedBuffer,
    SharedBuffers, Tree, ValueType, build_decoder, build_encoder,
};
use tarsia_testkit::cases::Case;
use tarsia_testkit::laws::{LawCase, cases, check_cases, check_encoding, existing};
use tarsia_testkit::rng::Rng;
use tarsia_testkit::units;

use super::tables::{normal, registry, table};

fn plain() -> Tree {
    tarsia_bins::tree(NUMBER_BITS_MAX, tarsia_plain::tree())
}

fn packed(number_bits: u8) -> Tree {
    tarsia_bins::tree(number_bits, tarsia_bitpack::tree())
}

#[test]
fn numbers_obey_the_laws() {
    for width in [1, 2, 4, 8] {
        let mut all = cases(ValueType::Fixed(width));
        // Larger ones test nothing else, and take long.
        all.retain(|case| case.values().len() <= 20_000);
        check_cases(&registry(), &plain(), &all);
    }
}

/// Numbers of many bins: lognormal ones, of which some are frequent, and normal ones as floating-point numbers.
fn skewed(width: usize, n: usize) -> Vec<Case> {
    let mut rng = Rng::new(width as u64);
    let mut lognormal = || {
        let number = (width as f64 + 2.0 * normal(&mut rng)).exp() as u128;
        match rng.below(4) {
            0 => 77,
            _ => number.min(u128::MAX >> (128 - 8 * width)),
        }
    };
    let mut all = vec![Case::numbers(
        "lognormal",
        width,
        &(0..n).map(|_| lognormal()).collect::<Vec<_>>(),
    )];
    let mut rng = Rng::new(3);
    let mut float = || match width {
        4 => (normal(&mut rng) as f32).to_bits().into(),
        _ => normal(&mut rng).to_bits().into(),
    };
    if matches!(width, 4 | 8) {
        let floats: Vec<u128> = (0..n).map(|_| float()).collect();
        all.push(Case::numbers("normal", width, &floats));
    }
    all
}

#[test]
fn skewed_numbers_obey_the_laws() {
    for width in [1, 2, 4, 8] {
        for number_bits in [1, 2, 5, NUMBER_BITS_MAX] {
            check_cases(&registry(), &packed(number_bits), &skewed(width, 5000));
        }
    }
}

/// Bins that a sample cannot tell: one of all bits, one that others lie in, one that reaches beyond all numbers.
#[test]
fn bins_that_exist_are_used() {
    let numbers = [0, 5, 90, 99, 100, 101, 130, 200, 255];
    let case = Case::numbers("", 1, &numbers.repeat(30));
    let shared = [table(1, &[(0, 8), (100, 0), (101, 5), (200, 7)])];
    let (registry, tree) = (registry(), plain());
    check_encoding(&LawCase {
        shared: &shared,
        ..LawCase::new("existing bins", &registry, &tree, case.values())
    });
    let case = Case::numbers("", 1, &[99, 100, 132, 255]);
    // 8, 0, 5 and 7 bits.
    let bits: u32 = 99 | 31 << 8 | 55 << 13;
    let header = [4, 0, 0, 0, 0, 1, 2, 3];
    let expected = [&header[..], &bits.to_le_bytes()[..3]].concat();
    assert_eq!(encode(&case, &shared), Ok(expected));
    for bits in [0, 1, 28, 29, 57, 58, 64] {
        let mut rng = Rng::new(bits.into());
        let lower = 1u64 << 40;
        let offset = |rng: &mut Rng| rng.u64().checked_shr(64 - u32::from(bits)).unwrap_or(0);
        let mut number = || u128::from(lower.saturating_add(offset(&mut rng)));
        let all: Vec<u128> = (0..1000).map(|_| number()).collect();
        let case = Case::numbers("", 8, &all);
        let shared = [table(8, &[(lower, bits)])];
        check_encoding(&LawCase {
            shared: &shared,
            ..LawCase::new("offsets of one width", &registry, &tree, case.values())
        });
    }
}

fn encode(case: &Case, shared: &[SharedBuffer]) -> Result<Vec<u8>> {
    let values = case.values();
    let encoder = build_encoder(&registry(), &plain(), values, &mut existing(shared))?;
    let mut out = vec![];
    encoder.encode(BlockValues::all(values)?, &mut out)?;
    Ok(out)
}

fn is_invalid<T>(got: Result<T>) -> bool {
    let kind = got.map(|_| ()).map_err(|error| error.into_kind());
    matches!(kind, Err(ErrorKind::InvalidInput { .. }))
}

#[test]
fn values_in_no_bin_and_bad_tables_are_refused() {
    for width in [1, 2, 4, 8] {
        let n_bits = width as u8 * 8;
        let max = u128::MAX >> (128 - n_bits);
        let bins = [(10, 2), (20, 0), (30, n_bits)];
        let with = |number, bins: &[(u64, u8)]| {
            encode(
                &Case::numbers("", width, &[10, 20, number]),
                &[table(width, bins)],
            )
        };
        for number in [10, 13, 20, 30, 31, max] {
            assert!(with(number, &bins).is_ok(), "{number}");
        }
        for number in [0, 9, 14, 19, 21, 29] {
            assert!(is_invalid(with(number, &bins)), "{number}");
        }
        assert!(is_invalid(with(10, &[])));
        assert!(is_invalid(with(10, &[(20, 8), (10, 8)])));
        assert!(is_invalid(with(10, &[(10, n_bits + 1)])));
    }
    let bins: Vec<_> = (0..257).map(|i| (i, 0)).collect();
    let case = Case::numbers("", 2, &[3]);
    assert!(is_invalid(encode(&case, &[table(2, &bins)])));
    assert!(encode(&case, &[table(2, &bins[..256])]).is_ok());
    assert!(is_invalid(encode(&case, &[])));
    let none = Case::numbers("", 2, &[]);
    assert_eq!(encode(&none, &[table(2, &[])]), Ok(vec![0; 4]));
}

/// Fewer bins than the numbers would have otherwise; each number takes no more bits than the parameter says.
#[test]
fn there_are_no_more_bins_than_numbers() {
    for case in skewed(8, 3000) {
        let mut bytes = vec![];
        for number_bits in 1..=NUMBER_BITS_MAX {
            let tree = packed(number_bits);
            let (encoded, shared) = units::encode(&registry(), &tree, case.values()).unwrap();
            let n_bins = shared[0].values().len();
            assert!((2..=1 << number_bits).contains(&n_bins), "{n_bins}");
            bytes.push(encoded.len());
        }
        // Offsets get smaller by more than numbers get larger.
        assert!(bytes[..3].is_sorted_by(|a, b| a > b), "{bytes:?}");
    }
}

/// A parent that derives its child's values per block passes values at other positions of the page.
#[test]
fn values_at_other_positions_are_encoded_as_they_are() {
    let case = &skewed(4, 3000)[0];
    let (tree, mut buffers) = (packed(NUMBER_BITS_MAX), SharedBuffers::new());
    let encoder = build_encoder(&registry(), &tree, case.values(), &mut buffers).unwrap();
    let shared = buffers.to_decode().unwrap();
    let bytes = case.values().as_fixed().unwrap().bytes();
    let reversed: Vec<u128> = bytes
        .rchunks(4)
        .map(|it| u32::from_le_bytes(it.try_into().unwrap()).into())
        .collect();
    let twice = [reversed.clone(), reversed].concat();
    let other = Case::numbers("", 4, &twice);
    for range in [0..3000, 1..3, 2000..2000, 2500..4000, 5000..6000] {
        let block = BlockValues::new(other.values(), range.clone()).unwrap();
        let mut out = vec![];
        encoder.encode(block, &mut out).unwrap();
        let values = block.values();
        let unit = units::unit_of(&out, &values);
        let got = units::decode(&registry(), &tree, ValueType::Fixed(4), unit, &shared).unwrap();
        let got = Case {
            name: String::new(),
            values: got,
        };
        let bytes = |values: tarsia_codec::Values<'_>| values.as_fixed().unwrap().bytes().to_vec();
        assert_eq!(bytes(got.values()), bytes(values), "{range:?}");
    }
    let outside = Case::numbers("", 4, &[u128::MAX]);
    let block = BlockValues::all(outside.values()).unwrap();
    assert!(is_invalid(encoder.encode(block, &mut vec![])));
}

/// Their numbers are decoded in parts of 2^20.
#[test]
fn units_of_one_long_row_are_decoded() {
    let n = (1 << 20) + 5000;
    let value = |i: u32| 3 * (i % 8) + 1000 * (i / 7 % 2);
    let numbers: Vec<u128> = (0..n).map(|i| value(i).into()).collect();
    let case = Case::numbers("", 2, &numbers);
    let shared = [table(2, &[(0, 5), (1000, 5)])];
    let unit = encode(&case, &shared).unwrap();
    let decoder = build_decoder(&registry(), &plain(), ValueType::Fixed(2), &shared).unwrap();
    let check = |selection: Selection<'_>, expected: &mut dyn Iterator<Item = u32>| {
        let expected: Vec<u8> = expected
            .flat_map(|i| (value(i) as u16).to_le_bytes())
            .collect();
        let mut to = vec![0; expected.len()];
        let unit = units::unit_of(&unit, &case.values());
        let out = Output::Fixed(&mut to);
        let done = decoder.decode(unit, selection, &mut Scratch::new(), out);
        assert_eq!(done, Ok(0));
        assert!(to == expected, "{selection:?}");
    };
    check(Selection::All, &mut (0..n));
    for (start, len) in [(0, n), (n - 3, 3), ((1 << 20) - 3, 7), (1 << 20, 9), (5, 9)] {
        check(Selection::Range { start, len }, &mut (start..start + len));
    }
    let part = 1 << 20;
    let indices = [3, 3, part - 1, part, part, part + 1, n - 1];
    check(Selection::Indices(&indices), &mut indices.into_iter());
}

#[test]
fn the_largest_units_are_as_large_as_the_bound() {
    for width in [1, 2, 4, 8] {
        for n in [0, 1, 100] {
            let case = Case::numbers("", width, &vec![0; n]);
            let shared = [table(width, &[(0, width as u8 * 8)])];
            let node = Node {
                value_type: ValueType::Fixed(width as u32),
                version: tarsia_bins::VERSION,
                params: &[NUMBER_BITS_MAX],
            };
            // Plain numbers of one byte.
            let child = |_, _, n, _| n;
            let (n, bytes) = (n as u64, case.values().decoded_bytes());
            let bound = tarsia_bins::BINS.encoded_bytes_max(&node, n, bytes, &child);
            assert_eq!(encode(&case, &shared).unwrap().len() as u64, bound);
        }
    }
}
