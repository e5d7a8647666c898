//! One broken unit per field, with the exact error.

use tarsia_codec::{Error, ErrorKind, Registry, Tree, Unit, ValueType};
use tarsia_pseudodecimal::{ID, PSEUDODECIMAL, VERSION, tree};
use tarsia_testkit::cases::CaseValues;
use tarsia_testkit::units;

fn over_plain() -> Tree {
    tree(tarsia_plain::tree(), tarsia_plain::tree())
}

/// The values of a unit of `len` values.
fn values(tree: &Tree, value_type: ValueType, bytes: &[u8], len: u32) -> Result<CaseValues, Error> {
    let mut registry = Registry::new();
    registry.add(&PSEUDODECIMAL).add(&tarsia_plain::PLAIN);
    let unit = Unit {
        bytes,
        len,
        decoded_bytes: 0,
    };
    units::decode(&registry, tree, value_type, unit, &[])
}

/// The result of decoding a unit of `len` values.
fn decode(tree: &Tree, value_type: ValueType, bytes: &[u8], len: u32) -> Result<(), Error> {
    values(tree, value_type, bytes, len).map(|_| ())
}

/// A unit of four numbers of 4 bytes with exceptions at these positions, and with these exponents.
fn unit(n_exceptions: u32, positions: &[u16], exponents: &[u8]) -> Vec<u8> {
    let mut bytes = n_exceptions.to_le_bytes().to_vec();
    bytes.extend(positions.iter().flat_map(|it| it.to_le_bytes()));
    bytes.extend(vec![7; 4 * positions.len()]);
    bytes.extend((exponents.len() as u32).to_le_bytes());
    bytes.extend(exponents);
    bytes.extend(exponents.iter().flat_map(|_| 5i32.to_le_bytes()));
    bytes
}

#[test]
fn every_field_is_checked() {
    let tree = over_plain();
    let four = |bytes: &[u8]| decode(&tree, ValueType::Fixed(4), bytes, 4);
    let whole = unit(2, &[0, 2], &[1, 22]);
    assert_eq!(four(&whole), Ok(()));
    let cut = |field, needed: usize, at: usize| {
        let error = Error::truncated(field, needed, at);
        assert_eq!(four(&whole[..at]), Err(error), "{field}");
    };
    cut("pseudodecimal.n_exceptions", 4, 3);
    cut("pseudodecimal.positions", 8, 7);
    cut("pseudodecimal.exceptions", 16, 15);
    cut("pseudodecimal.exponents_len", 20, 19);
    cut("pseudodecimal.exponents", 22, 21);
    let allowed = "at most the number of values";
    let too_many = Error::corrupt("pseudodecimal.n_exceptions", 0, 5u32, allowed);
    assert_eq!(four(&unit(5, &[0, 1, 2, 3, 4], &[])), Err(too_many));
    for (positions, found) in [([2, 2], 2u32), ([1, 0], 0), ([0, 4], 4)] {
        let allowed = "rising, below the number of values";
        let error = Error::corrupt("pseudodecimal.positions", 6, found, allowed);
        assert_eq!(
            four(&unit(2, &positions, &[1, 2])),
            Err(error),
            "{positions:?}"
        );
    }
    let exponent = Error::corrupt("pseudodecimal.exponents", 20, 23u8, "0 ..= 22");
    assert_eq!(four(&unit(2, &[0, 2], &[1, 23])), Err(exponent));
    // The children's units have as many values as there are decimals.
    let plain = Error::truncated("plain.values", 8, 7);
    assert_eq!(four(&whole[..whole.len() - 1]), Err(plain));
    let mut one_exponent = unit(2, &[0, 2], &[1]);
    one_exponent.extend(5i32.to_le_bytes());
    let plain = Error::truncated("plain.values", 2, 1);
    assert_eq!(four(&one_exponent), Err(plain));
}

#[test]
fn every_exponent_and_integer_is_a_number() {
    for exponent in 0..=22u8 {
        for digits in [i64::MIN, -1, 0, 1, (1 << 53) + 1, i64::MAX] {
            let mut bytes = vec![0; 4];
            bytes.extend(1u32.to_le_bytes());
            bytes.push(exponent);
            bytes.extend(digits.to_le_bytes());
            let decoded = values(&over_plain(), ValueType::Fixed(8), &bytes, 1).unwrap();
            let nearest = digits as f64;
            // Powers up to 10^22 are exact, and so is what is parsed.
            let power: f64 = format!("1e{exponent}").parse().unwrap();
            let expected = CaseValues::Fixed {
                bytes: (nearest / power).to_le_bytes().to_vec(),
                width: 8,
                len: 1,
            };
            assert_eq!(format!("{decoded:?}"), format!("{expected:?}"));
        }
    }
}

#[test]
fn long_units_have_positions_of_four_bytes() {
    let n = 65_537;
    let mut bytes = 1u32.to_le_bytes().to_vec();
    bytes.extend(65_536u32.to_le_bytes());
    bytes.extend([7; 4]);
    bytes.extend(65_536u32.to_le_bytes());
    bytes.extend(vec![0; 65_536]);
    bytes.extend(vec![0; 65_536 * 4]);
    assert_eq!(
        decode(&over_plain(), ValueType::Fixed(4), &bytes, n),
        Ok(())
    );
}

#[test]
fn parameters_and_other_types_are_refused() {
    let children = vec![tarsia_plain::tree(); 2];
    let tree = Tree::node(ID, VERSION, &[3], children);
    let params = Error::corrupt("pseudodecimal.params_len", 0, 1u8, "0 (no parameters)");
    assert_eq!(decode(&tree, ValueType::Fixed(4), &[], 0), Err(params));
    for value_type in [ValueType::Bytes, ValueType::Bits, ValueType::Fixed(2)] {
        let refused = decode(&over_plain(), value_type, &[0; 8], 0);
        let kind = refused.as_ref().map_err(Error::kind);
        assert!(
            matches!(kind, Err(ErrorKind::Unsupported { .. })),
            "{refused:?}"
        );
    }
}
