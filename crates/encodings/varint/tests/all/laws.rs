//! The laws of all encodings, for varint.

use tarsia_codec::{
    DecodeCost, EncodingWriter, EraseFit, Facts, LogicalType, Proposals, Registry, Statistics,
    TreeWriter, ValueType,
};
use tarsia_testkit::cases::Case;
use tarsia_testkit::laws::{cases, check_cases};
use tarsia_testkit::rng::Rng;
use tarsia_testkit::units;
use tarsia_varint::{GROUP_VALUES, VARINT, VERSION, tree};

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.add_writer(&VARINT, DecodeCost::default());
    registry
}

/// Numbers of 0 to `bits` bits each.
fn skewed(width: usize, bits: usize, n: usize) -> Case {
    let mut rng = Rng::new((bits * 1000 + n) as u64);
    let mut number = |_| u128::from(rng.u64()) >> (64 - rng.below(bits + 1));
    let numbers: Vec<u128> = (0..n).map(&mut number).collect();
    Case::numbers(&format!("up to {bits} bits"), width, &numbers)
}

#[test]
fn numbers_obey_the_laws() {
    for width in [2, 4, 8] {
        let value_type = ValueType::Fixed(width);
        check_cases(&registry(), &tree(), &cases(value_type));
        // Groups that end anywhere in a word, of values of each number of bytes.
        let width = width as usize;
        let sizes = [255, 256, 257, 500, 2000];
        let bits = [7, 8, 14, 15, 21, 22, 28, 40, 56, 57, 63, 64];
        let of_bits = bits.into_iter().filter(|bits| *bits <= 8 * width);
        let skewed: Vec<Case> = of_bits
            .flat_map(|bits| sizes.map(|n| skewed(width, bits, n)))
            .collect();
        check_cases(&registry(), &tree(), &skewed);
    }
}

#[test]
fn survivors_always_fit() {
    for width in [2, 4, 8] {
        let writer = TreeWriter::new(&registry(), &tree(), ValueType::Fixed(width)).unwrap();
        assert_eq!(writer.erase_fit(), EraseFit::Always);
    }
}

fn encode(case: &Case) -> Vec<u8> {
    units::encode(&registry(), &tree(), case.values())
        .unwrap()
        .0
}

#[test]
fn values_have_the_bytes_of_protocol_buffers() {
    // The examples of its documentation, after the one end.
    let of = |number: u128| encode(&Case::numbers("", 8, &[number]))[4..].to_vec();
    assert_eq!(of(1), [1]);
    assert_eq!(of(150), [0x96, 1]);
    let minus_two = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
    assert_eq!(of((-2_i64 as u64).into()), minus_two);
}

/// The bytes of values that have `n` bits each: exact, and no more than the bound.
#[test]
fn each_seven_bits_take_a_byte() {
    for width in [2, 4, 8] {
        let value_type = ValueType::Fixed(width as u32);
        let writer = TreeWriter::new(&registry(), &tree(), value_type).unwrap();
        let n = 2 * GROUP_VALUES + 10;
        for bits in 0..=8 * width {
            let number = match bits {
                0 => 0,
                _ => 1 << (bits - 1),
            };
            let case = Case::numbers("", width, &vec![number; n]);
            let exact = 3 * 4 + n * bits.div_ceil(7).max(1);
            assert_eq!(encode(&case).len(), exact, "{bits} bits");
            assert_eq!(proposed_bytes(&case, true), Some(exact as u64));
            let max = writer.encoded_bytes_max(n as u64, (n * width) as u64);
            assert!(exact as u64 <= max);
            // The widest values reach the bound.
            assert_eq!(
                exact as u64 == max,
                bits.div_ceil(7) == (8 * width).div_ceil(7)
            );
        }
    }
}

fn proposed_bytes(case: &Case, is_named: bool) -> Option<u64> {
    let statistics = Statistics::new(case.values(), Facts::of(LogicalType::Unsigned));
    let mut proposals = Proposals::new(u64::MAX, VERSION).of_named(is_named);
    VARINT.propose(&statistics, &mut proposals).unwrap();
    let proposal = proposals.into_vec().pop()?;
    assert!(proposal.children.is_empty() && proposal.params.is_empty());
    Some(proposal.bytes)
}

#[test]
fn it_is_proposed_where_it_is_named() {
    let case = skewed(4, 20, 1000);
    let exact = encode(&case).len() as u64;
    assert_eq!(proposed_bytes(&case, true), Some(exact));
    assert_eq!(proposed_bytes(&case, false), None);
    assert_eq!(proposed_bytes(&Case::numbers("", 4, &[]), true), None);
    for width in [1, 3, 16] {
        let case = Case::numbers("", width, &[1, 2]);
        assert_eq!(proposed_bytes(&case, true), None, "{width} bytes");
    }
    assert_eq!(proposed_bytes(&Case::strings("", &["a"]), true), None);
}
