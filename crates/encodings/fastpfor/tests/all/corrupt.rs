//! One broken unit for each rule, with the exact error.

use tarsia_codec::{
    Error, ErrorKind, Output, Registry, Scratch, Selection, Tree, Unit, ValueType, build_decoder,
};
use tarsia_fastpfor::{FASTPFOR, ID, Scheme, VERSION, tree};

/// The selected values of a unit.
fn select(
    tree: &Tree,
    value_type: ValueType,
    unit: Unit<'_>,
    selection: Selection<'_>,
) -> Result<Vec<u8>, Error> {
    let mut registry = Registry::new();
    registry.add(&FASTPFOR);
    let decoder = build_decoder(&registry, tree, value_type, &[])?;
    let width = match value_type {
        ValueType::Fixed(width) => width as usize,
        _ => 1,
    };
    let mut to = vec![0; selection.check(unit.len)? * width];
    let out = Output::Fixed(&mut to);
    decoder.decode(unit, selection, &mut Scratch::new(), out)?;
    Ok(to)
}

/// The numbers of 2 bytes in a unit of `len`.
fn decode(scheme: Scheme, bytes: &[u8], len: u32) -> Result<Vec<u16>, Error> {
    let found = select(
        &tree(scheme),
        ValueType::Fixed(2),
        unit(bytes, len),
        Selection::All,
    )?;
    let (numbers, _) = found.as_chunks();
    Ok(numbers.iter().map(|it| u16::from_le_bytes(*it)).collect())
}

fn unit(bytes: &[u8], len: u32) -> Unit<'_> {
    Unit {
        bytes,
        len,
        decoded_bytes: 0,
    }
}

const AFTER: &str = "no bytes after the last field";

#[test]
fn widths_and_groups_are_checked() {
    let at = Scheme::Bp128;
    // The width 3, and 5, 2 and 7 in 9 bits.
    let good = [3, 0b1101_0101, 0b1];
    assert_eq!(decode(at, &good, 3), Ok(vec![5, 2, 7]));
    assert_eq!(decode(at, &[], 0), Ok(vec![]));
    let none = Error::truncated("fastpfor.widths", 1, 0);
    assert_eq!(decode(at, &[], 3), Err(none));
    let wide = Error::corrupt("fastpfor.widths", 0, 17u8, "at most the bits of a value");
    assert_eq!(decode(at, &[17, 0, 0], 3), Err(wide));
    let short = Error::truncated("fastpfor.packed", 3, 2);
    assert_eq!(decode(at, &good[..2], 3), Err(short));
    let long = Error::corrupt("fastpfor.packed", 3, 1u8, AFTER);
    assert_eq!(decode(at, &[3, 0, 0, 0], 3), Err(long));
    let not_empty = Error::corrupt("fastpfor.packed", 0, 1u8, AFTER);
    assert_eq!(decode(at, &[0], 0), Err(not_empty));
    let spare = Error::corrupt("fastpfor.packed", 2, 0b10u8, "spare bits zero");
    assert_eq!(decode(at, &[3, 0, 0b10], 3), Err(spare));
    // Two groups: 128 values of no bits, and one of 16.
    let two = [0, 16, 0x34, 0x12];
    let values = decode(at, &two, 129).unwrap();
    assert_eq!(
        (values[..128].iter().max(), values[128]),
        (Some(&0), 0x1234)
    );
    let wide = Error::corrupt("fastpfor.widths", 1, 200u8, "at most the bits of a value");
    assert_eq!(decode(at, &[0, 200], 129), Err(wide));
    let short = Error::truncated("fastpfor.packed", 2 + 16 + 2, 4);
    assert_eq!(decode(at, &[1, 16, 0, 0], 129), Err(short));
}

/// Three values of width 3, whose second is 2 and 5 * 8, and whose third is 7 and 6 * 8: the width, two exceptions with
/// highs of 3 bits, positions, highs, values.
const EXCEPTIONS: [u8; 8] = [3, 2, 3, 1, 2, 0b11_0101, 0b1101_0101, 0b1];

/// Returns the bytes of the unit with one changed.
fn with(i: usize, byte: u8) -> [u8; 8] {
    let mut bytes = EXCEPTIONS;
    bytes[i] = byte;
    bytes
}

#[test]
fn exceptions_are_checked() {
    let at = Scheme::FastPfor;
    assert_eq!(decode(at, &EXCEPTIONS, 3), Ok(vec![5, 42, 55]));
    assert_eq!(decode(at, &[], 0), Ok(vec![]));
    let short = |field, needed, have| Err(Error::truncated(field, needed, have));
    for (have, field) in [
        "fastpfor.widths",
        "fastpfor.counts",
        "fastpfor.high_widths",
        "fastpfor.positions",
        "fastpfor.positions",
        "fastpfor.highs",
        "fastpfor.packed",
        "fastpfor.packed",
    ]
    .into_iter()
    .enumerate()
    {
        let needed = [1, 2, 3, 5, 5, 6, 8, 8][have];
        assert_eq!(
            decode(at, &EXCEPTIONS[..have], 3),
            short(field, needed, have)
        );
    }
    let long = Error::corrupt("fastpfor.packed", 8, 1u8, AFTER);
    assert_eq!(decode(at, &[&EXCEPTIONS[..], &[0]].concat(), 3), Err(long));
    let counted = "at most the values of the group";
    let many = Error::corrupt("fastpfor.counts", 1, 4u8, counted);
    assert_eq!(decode(at, &with(1, 4), 3), Err(many));
    // Of two groups the first, which is whole, and the second.
    let many = Error::corrupt("fastpfor.counts", 2, 129u8, counted);
    assert_eq!(decode(at, &[0, 0, 129, 0], 129), Err(many));
    let many = Error::corrupt("fastpfor.counts", 3, 2u8, counted);
    assert_eq!(decode(at, &[0, 0, 0, 2], 129), Err(many));
    for found in [0, 14, 65, 255] {
        let allowed = "1 or more, and with the group's width at most the bits of a value";
        let bad = Error::corrupt("fastpfor.high_widths", 2, found, allowed);
        assert_eq!(decode(at, &with(2, found), 3), Err(bad));
    }
    let spare = Error::corrupt("fastpfor.highs", 5, 0b111_0101u8, "spare bits zero");
    assert_eq!(decode(at, &with(5, 0b111_0101), 3), Err(spare));
    let spare = Error::corrupt("fastpfor.packed", 7, 0b11u8, "spare bits zero");
    assert_eq!(decode(at, &with(7, 0b11), 3), Err(spare));
    // A high of all 16 bits, and one of one bit, which takes none.
    let whole = [0, 1, 16, 2, 0xcd, 0xab];
    assert_eq!(decode(at, &whole, 3), Ok(vec![0, 0, 0xabcd]));
    assert_eq!(decode(at, &[0, 1, 1, 2], 3), Ok(vec![0, 0, 1]));
}

#[test]
fn positions_rise_and_lie_in_their_group() {
    let at = Scheme::FastPfor;
    let bad = |i: usize, found: u8| {
        let allowed = "strictly rising and below the number of values of the group";
        Error::corrupt("fastpfor.positions", 3 + i, found, allowed)
    };
    assert_eq!(decode(at, &with(3, 2), 3), Err(bad(1, 2)));
    assert_eq!(decode(at, &with(4, 0), 3), Err(bad(1, 0)));
    assert_eq!(decode(at, &with(3, 3), 3), Err(bad(0, 3)));
    assert_eq!(decode(at, &with(4, 255), 3), Err(bad(1, 255)));
    // In a whole group, and only where a value of it is selected: widths, counts, the width of highs, the position.
    let whole = [0, 0, 1, 0, 1, 128];
    let place = |found: u8| {
        let allowed = "strictly rising and below the number of values of the group";
        Error::corrupt("fastpfor.positions", 5, found, allowed)
    };
    assert_eq!(decode(at, &whole, 129), Err(place(128)));
    let found = |selection| {
        let unit = unit(&whole, 129);
        select(&tree(at), ValueType::Fixed(2), unit, selection)
    };
    assert_eq!(found(Selection::Indices(&[5])), Err(place(128)));
    assert_eq!(found(Selection::Indices(&[5, 6, 7])), Err(place(128)));
    assert_eq!(found(Selection::Indices(&[128])), Ok(vec![0, 0]));
    assert_eq!(
        found(Selection::Range { start: 127, len: 2 }),
        Err(place(128))
    );
    assert_eq!(
        found(Selection::Range { start: 128, len: 1 }),
        Ok(vec![0, 0])
    );
}

#[test]
fn parameters_and_other_types_are_refused() {
    let with = |params: &[u8]| Tree::leaf(ID, VERSION, params);
    let check = |tree: &Tree, value_type| select(tree, value_type, unit(&[], 0), Selection::All);
    let numbers = ValueType::Fixed(8);
    let unknown = Error::corrupt("fastpfor.scheme", 0, 2u8, "0 or 1");
    assert_eq!(check(&with(&[2]), numbers), Err(unknown));
    let none = Error::truncated("fastpfor.scheme", 1, 0);
    assert_eq!(check(&with(&[]), numbers), Err(none));
    let more = Error::corrupt("fastpfor.params", 1, 1u8, AFTER);
    assert_eq!(check(&with(&[1, 0]), numbers), Err(more));
    for other in [
        ValueType::Fixed(3),
        ValueType::Fixed(16),
        ValueType::Bits,
        ValueType::Bytes,
    ] {
        let found = check(&with(&[1]), other);
        let kind = found.as_ref().map_err(Error::kind);
        let is_refused = matches!(kind, Err(ErrorKind::Unsupported { .. }));
        assert!(is_refused, "{other:?}: {found:?}");
    }
}
