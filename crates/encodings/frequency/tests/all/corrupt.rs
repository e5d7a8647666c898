//! One broken unit per field, with the exact error.

use tarsia_codec::{Error, ErrorKind, Registry, Selection, Tree, Unit, ValueType};
use tarsia_frequency::{FREQUENCY, ID, VERSION, tree};
use tarsia_testkit::units;

/// The result of decoding a unit of `len` values.
fn decode(tree: &Tree, value_type: ValueType, bytes: &[u8], len: u32) -> Result<(), Error> {
    let mut registry = Registry::new();
    registry.add(&FREQUENCY).add(&tarsia_plain::PLAIN);
    let unit = Unit {
        bytes,
        len,
        decoded_bytes: 0,
    };
    units::decode(&registry, tree, value_type, unit, &[]).map(|_| ())
}

/// Four values, of which the second and the last are exceptions.
const GOOD: [u8; 12] = [2, 0, 0, 0, 1, 0, 0, 0, 9, 0b1010, 7, 8];

fn bytes_tree() -> Tree {
    tree(tarsia_plain::tree(), tarsia_plain::tree())
}

#[test]
fn every_field_is_checked() {
    let check = |bytes: &[u8], expected| {
        assert_eq!(
            decode(&bytes_tree(), ValueType::Fixed(1), bytes, 4),
            expected
        );
    };
    check(&GOOD, Ok(()));
    check(
        &GOOD[..3],
        Err(Error::truncated("frequency.n_exceptions", 4, 3)),
    );
    check(
        &GOOD[..7],
        Err(Error::truncated("frequency.mask_len", 8, 7)),
    );
    check(&GOOD[..8], Err(Error::truncated("frequency.top", 9, 8)));
    check(&GOOD[..9], Err(Error::truncated("frequency.mask", 10, 9)));
    check(&GOOD[..11], Err(Error::truncated("plain.values", 2, 1)));

    let bad_count =
        |found: u8, allowed| Err(Error::corrupt("frequency.n_exceptions", 0, found, allowed));
    let with_count = |count| {
        let mut bytes = GOOD;
        bytes[0] = count;
        bytes
    };
    check(&with_count(5), bad_count(5, "at most the number of values"));
    let allowed = "the number of set bits in the mask";
    check(&with_count(1), bad_count(1, allowed));
    check(&with_count(3), bad_count(3, allowed));
    let mut long = GOOD;
    long[4] = 4;
    check(&long, Err(Error::truncated("frequency.mask", 13, 12)));
}

/// Where a part is decoded, the bits behind it are not.
#[test]
fn selected_exceptions_must_exist() {
    let mut registry = Registry::new();
    registry.add(&FREQUENCY).add(&tarsia_plain::PLAIN);
    let value_type = ValueType::Fixed(1);
    let decoder = tarsia_codec::build_decoder(&registry, &bytes_tree(), value_type, &[]).unwrap();
    let mut bytes = GOOD[..11].to_vec();
    bytes[0] = 1;
    let unit = Unit {
        bytes: &bytes,
        len: 4,
        decoded_bytes: 4,
    };
    let decode = |selection, to: &mut [u8]| {
        let out = tarsia_codec::Output::Fixed(to);
        decoder.decode(unit, selection, &mut Default::default(), out)
    };
    let mut to = [0; 2];
    decode(Selection::Range { start: 0, len: 2 }, &mut to).unwrap();
    assert_eq!(to, [9, 7]);
    decode(Selection::Indices(&[1, 2]), &mut to).unwrap();
    assert_eq!(to, [7, 9]);
    let allowed = "at least the number of set bits in the mask";
    let refused = Err(Error::corrupt("frequency.n_exceptions", 0, 1u8, allowed));
    let range = Selection::Range { start: 2, len: 2 };
    assert_eq!(decode(range, &mut to), refused);
    assert_eq!(decode(Selection::Indices(&[1, 3]), &mut to), refused);
}

#[test]
fn parameters_and_other_types_are_refused() {
    let of = |params: &[u8], value_type| {
        let children = vec![tarsia_plain::tree(), tarsia_plain::tree()];
        decode(
            &Tree::node(ID, VERSION, params, children),
            value_type,
            &[0; 40],
            0,
        )
    };
    assert_eq!(of(&[], ValueType::Fixed(32)), Ok(()));
    let trailing = of(&[1], ValueType::Fixed(4)).unwrap_err();
    assert!(
        trailing.to_string().contains("frequency.params"),
        "{trailing}"
    );
    let others = [
        ValueType::Bytes,
        ValueType::Bits,
        ValueType::Fixed(0),
        ValueType::Fixed(33),
    ];
    for value_type in others {
        let refused = of(&[], value_type);
        let kind = refused.as_ref().map_err(Error::kind);
        assert!(
            matches!(kind, Err(ErrorKind::Unsupported { .. })),
            "{refused:?}"
        );
    }
}
