//! One broken unit per field, with the exact error.

use tarsia_alp::{ALP, ID, VERSION, tree};
use tarsia_codec::{Error, ErrorKind, Registry, Tree, Unit, ValueType};
use tarsia_testkit::units;

/// The result of decoding a unit of `len` values.
fn decode(tree: &Tree, value_type: ValueType, bytes: &[u8], len: u32) -> Result<(), Error> {
    let mut registry = Registry::new();
    registry.add(&ALP).add(&tarsia_plain::PLAIN);
    let unit = Unit {
        bytes,
        len,
        decoded_bytes: 0,
    };
    units::decode(&registry, tree, value_type, unit, &[]).map(|_| ())
}

/// A unit of three numbers of 4 bytes with exceptions at these positions.
fn unit(n_exceptions: u32, positions: &[u16]) -> Vec<u8> {
    let mut bytes = n_exceptions.to_le_bytes().to_vec();
    bytes.extend(positions.iter().flat_map(|it| it.to_le_bytes()));
    bytes.extend(vec![7; 4 * positions.len()]);
    bytes.extend([0; 12]);
    bytes
}

#[test]
fn every_field_is_checked() {
    let tree = tree(2, tarsia_plain::tree());
    let three = |bytes: &[u8]| decode(&tree, ValueType::Fixed(4), bytes, 3);
    let whole = unit(2, &[0, 2]);
    assert_eq!(three(&whole), Ok(()));
    assert_eq!(
        three(&whole[..3]),
        Err(Error::truncated("alp.n_exceptions", 4, 3))
    );
    let too_many = Error::corrupt("alp.n_exceptions", 0, 4u32, "at most the number of values");
    assert_eq!(three(&unit(4, &[0, 1, 2, 3])), Err(too_many));
    assert_eq!(
        three(&whole[..7]),
        Err(Error::truncated("alp.positions", 8, 7))
    );
    assert_eq!(
        three(&whole[..15]),
        Err(Error::truncated("alp.exceptions", 16, 15))
    );
    for (positions, found) in [([2, 2], 2u32), ([1, 0], 0), ([0, 3], 3)] {
        let allowed = "rising, below the number of values";
        let error = Error::corrupt("alp.positions", 6, found, allowed);
        assert_eq!(three(&unit(2, &positions)), Err(error), "{positions:?}");
    }
    let plain = Error::truncated("plain.values", 12, 11);
    assert_eq!(three(&whole[..whole.len() - 1]), Err(plain));
}

#[test]
fn long_units_have_positions_of_four_bytes() {
    let tree = tree(0, tarsia_plain::tree());
    let n = 65_537;
    let mut bytes = 1u32.to_le_bytes().to_vec();
    bytes.extend(65_536u32.to_le_bytes());
    bytes.extend([7; 4]);
    bytes.extend(vec![0; n * 4]);
    assert_eq!(decode(&tree, ValueType::Fixed(4), &bytes, n as u32), Ok(()));
}

#[test]
fn parameters_and_other_types_are_refused() {
    let of = |params: &[u8], value_type| {
        let tree = Tree::node(ID, VERSION, params, vec![tarsia_plain::tree()]);
        decode(&tree, value_type, &[0; 4], 0)
    };
    let wide = ValueType::Fixed(8);
    assert_eq!(of(&[22], wide), Ok(()));
    let decimals = Error::corrupt("alp.decimals", 0, 23u8, "0 ..= 22");
    assert_eq!(of(&[23], wide), Err(decimals));
    assert_eq!(of(&[], wide), Err(Error::truncated("alp.decimals", 1, 0)));
    assert!(of(&[2, 0], wide).is_err());
    for value_type in [ValueType::Bytes, ValueType::Bits, ValueType::Fixed(2)] {
        let refused = of(&[2], value_type);
        let kind = refused.as_ref().map_err(Error::kind);
        assert!(
            matches!(kind, Err(ErrorKind::Unsupported { .. })),
            "{refused:?}"
        );
    }
}
