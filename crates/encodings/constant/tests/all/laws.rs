//! The laws of all encodings, for constant.

use tarsia_codec::toolbox::is_constant;
use tarsia_codec::{
    BlockValues, DecodeCost, ErrorKind, Registry, SharedBuffers, ValueType, build_encoder,
};
use tarsia_testkit::cases::Case;
use tarsia_testkit::laws::{cases, check_cases_with};
use tarsia_testkit::units;

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.add_writer(&tarsia_constant::CONSTANT, DecodeCost::default());
    registry
}

/// A slow reference implementation.
fn all_equal(case: &Case) -> bool {
    let values = case.values();
    (1..values.len()).all(|i| {
        let (first, this) = (values.slice(0..1), values.slice(i..i + 1));
        match (values.as_bits(), values.as_fixed(), values.as_bytes()) {
            (Ok(bits), _, _) => bits.get(0) == bits.get(i),
            (_, Ok(fixed), _) => fixed.get(0) == fixed.get(i),
            (_, _, Ok(strings)) => strings.get(0) == strings.get(i),
            _ => panic!("{first:?} {this:?}"),
        }
    })
}

fn check_type(value_type: ValueType) {
    let mut n_refused = 0;
    let tree = tarsia_constant::tree();
    check_cases_with(&registry(), &cases(value_type), |case| {
        assert_eq!(is_constant(case.values()), all_equal(case), "{}", case.name);
        if all_equal(case) {
            return Some(tree.clone());
        }
        let got = units::encode(&registry(), &tree, case.values());
        assert!(
            matches!(
                got.as_ref().map_err(|error| error.kind()),
                Err(ErrorKind::InvalidInput { .. })
            ),
            "{}",
            case.name
        );
        n_refused += 1;
        None
    });
    assert!(n_refused > 0 || value_type == ValueType::Fixed(0));
}

#[test]
fn bits_obey_the_laws() {
    check_type(ValueType::Bits);
}

#[test]
fn fixed_widths_obey_the_laws() {
    for width in [0, 1, 2, 3, 4, 8, 16, 100] {
        check_type(ValueType::Fixed(width));
    }
}

#[test]
fn byte_strings_obey_the_laws() {
    check_type(ValueType::Bytes);
}

#[test]
fn a_difference_anywhere_is_seen() {
    for n in [2, 63, 64, 65, 200] {
        for at in 0..n {
            for bit in [false, true] {
                let mut bits = vec![bit; n];
                assert!(is_constant(Case::bits("", &bits).values()));
                bits[at] = !bit;
                assert!(!is_constant(Case::bits("", &bits).values()), "{n} {at}");
            }
            let mut numbers = vec![7u128; n];
            numbers[at] ^= 1 << 23;
            assert!(!is_constant(Case::numbers("", 4, &numbers).values()));
            assert!(is_constant(Case::numbers("", 2, &numbers).values()));
            let mut strings = vec!["ab"; n];
            strings[at] = "ac";
            assert!(!is_constant(Case::strings("", &strings).values()));
            strings[at] = "aba";
            assert!(!is_constant(Case::strings("", &strings).values()));
        }
    }
    // The data repeats with the period of the first string, the lengths do not.
    assert!(!is_constant(Case::strings("", &["a", "aa", ""]).values()));
    assert!(!is_constant(Case::strings("", &["", "a"]).values()));
}

#[test]
fn blocks_of_a_page_may_hold_different_values() {
    let page = Case::numbers("", 4, &[5, 5, 6, 6]);
    let values = page.values();
    let tree = tarsia_constant::tree();
    let encoder = build_encoder(&registry(), &tree, values, &mut SharedBuffers::new()).unwrap();
    let mut out = vec![];
    let mut encode = |range| encoder.encode(BlockValues::new(values, range)?, &mut out);
    encode(0..2).unwrap();
    encode(2..4).unwrap();
    assert!(encode(1..3).is_err());
    assert_eq!(out, [5, 0, 0, 0, 6, 0, 0, 0]);
}
