//! One broken unit for each rule, with the exact error.

use tarsia_codec::{Error, ErrorKind, Registry, Tree, Unit, ValueType};
use tarsia_gorilla::{GORILLA, ID, Scheme, VERSION, tree};
use tarsia_testkit::units;

/// The values of a unit.
fn decode(tree: &Tree, value_type: ValueType, bytes: &[u8], len: u32) -> Result<Vec<u8>, Error> {
    let mut registry = Registry::new();
    registry.add(&GORILLA);
    let unit = Unit {
        bytes,
        len,
        decoded_bytes: 0,
    };
    let values = units::decode(&registry, tree, value_type, unit, &[])?;
    match values {
        tarsia_testkit::cases::CaseValues::Fixed { bytes, .. } => Ok(bytes),
        other => panic!("{other:?}"),
    }
}

/// One group of values of `width` bytes: the first, which is 7, and fields of (number, bits).
fn group(width: usize, fields: &[(u64, u32)]) -> Vec<u8> {
    let mut bits = Vec::new();
    for (number, n) in fields {
        bits.extend((0..*n).map(|i| (number.checked_shr(i).unwrap_or(0) & 1) as u8));
    }
    let mut bytes = vec![0; width];
    bytes[0] = 7;
    let byte = |bits: &[u8]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | bit);
    bytes.extend(bits.chunks(8).map(byte));
    bytes
}

/// A unit of these groups.
fn unit(groups: &[Vec<u8>]) -> Vec<u8> {
    let mut end = 0;
    let ends = groups.iter().flat_map(|group| {
        end += group.len() as u32;
        end.to_le_bytes()
    });
    ends.chain(groups.concat()).collect()
}

fn check(scheme: Scheme, width: u32, bytes: &[u8], len: u32, expected: Result<&[u64], Error>) {
    let found = decode(&tree(scheme), ValueType::Fixed(width), bytes, len);
    let number = |it: &u64| it.to_le_bytes().into_iter().take(width as usize);
    let expected = expected.map(|numbers| numbers.iter().flat_map(number).collect());
    assert_eq!(found, expected);
}

/// The value before, and the same with bit 4 changed, which has 59 leading zeros: 31 are said.
const CODES: [(u64, u32); 5] = [(0, 1), (0b11, 2), (31, 5), (29, 6), (1, 29)];

#[test]
fn the_table_of_ends_is_checked() {
    let at = Scheme::Gorilla;
    let good = unit(&[group(8, &CODES)]);
    let values = [7, 7, 7 ^ 1 << 4];
    check(at, 8, &good, 3, Ok(&values));
    check(at, 8, &[], 0, Ok(&[]));
    let truncated = |field, needed, have| Err(Error::truncated(field, needed, have));
    check(at, 8, &good[..3], 3, truncated("gorilla.ends", 4, 3));
    let n = good.len();
    let short = truncated("gorilla.streams", n, n - 1);
    check(at, 8, &good[..n - 1], 3, short);
    let after = "no bytes after the last field";
    let long = Err(Error::corrupt("gorilla.streams", n, 1u8, after));
    check(at, 8, &[&good[..], &[0]].concat(), 3, long);
    let none = Err(Error::corrupt("gorilla.streams", 0, 1u8, after));
    check(at, 8, &[0], 0, none);
    // No first value, an end that falls, and one behind the last.
    let bad = |i: usize, found: u32| {
        let allowed = "a value or more behind the end before, not behind the last end";
        Err(Error::corrupt("gorilla.ends", i * 4, found, allowed))
    };
    check(at, 8, &unit(&[vec![0; 7]]), 1, bad(0, 7));
    let whole = group(4, &[(0, 1023)]);
    let two = unit(&[whole.clone(), vec![7, 0, 0, 0]]);
    assert_eq!(
        decode(&tree(at), ValueType::Fixed(4), &two, 1025).map(|it| it.len()),
        Ok(4100)
    );
    let with_ends = |first: u32, last: u32| {
        let ends = [first.to_le_bytes(), last.to_le_bytes()].concat();
        [&ends[..], &two[8..8 + last as usize]].concat()
    };
    check(at, 4, &with_ends(132, 131), 1025, bad(0, 132));
    check(at, 4, &with_ends(132, 135), 1025, bad(1, 135));
    check(at, 4, &with_ends(3, 136), 1025, bad(0, 3));
}

#[test]
fn codes_fill_their_streams() {
    let bad = |at_byte: usize, found: usize| {
        let allowed = "as many bytes as the codes of the group take";
        Err(Error::corrupt("gorilla.stream", at_byte, found, allowed))
    };
    let at = Scheme::Gorilla;
    let codes = group(8, &CODES);
    let n = codes.len();
    check(at, 8, &unit(&[codes[..n - 1].to_vec()]), 3, bad(4, n - 1));
    let long = [&codes[..], &[0]].concat();
    check(at, 8, &unit(&[long]), 3, bad(4, n + 1));
    // Ends of two groups at once, of which the second is longer than its codes.
    let whole = group(4, &[(0, 1023)]);
    let longer = [&whole[..], &[0]].concat();
    let two = unit(&[whole.clone(), longer]);
    check(at, 4, &two, 2048, bad(8 + 132, 133));
    for (scheme, used) in [(at, 1), (Scheme::Chimp, 2)] {
        let spare = Error::corrupt("gorilla.spare_bits", 8, 1u8 << (7 - used), "zero");
        let set = unit(&[group(4, &[(0, used), (1 << (7 - used), 8 - used)])]);
        check(scheme, 4, &set, 2, Err(spare));
    }
    // Also where two groups are decoded at once.
    let mut set = whole.clone();
    set[131] |= 0x80;
    let spare = Error::corrupt("gorilla.spare_bits", 8 + 131, 1u8, "zero");
    check(at, 4, &unit(&[set, whole]), 2048, Err(spare));
}

#[test]
fn windows_lie_in_the_value() {
    let bad = |at_byte: usize, found: u32| {
        let allowed = "at most the bits behind the leading zeros";
        Err(Error::corrupt("gorilla.len", at_byte, found, allowed))
    };
    let at = Scheme::Gorilla;
    // One bit behind 31 zeros, and two; all bits, and all behind one zero.
    let of = |width, fields: &[(u64, u32)]| unit(&[group(width, fields)]);
    let narrow = |len: u64, bits: u32| of(4, &[(0b11, 2), (31, 5), (len - 1, 5), (1, bits)]);
    check(at, 4, &narrow(1, 1), 2, Ok(&[7, 6]));
    check(at, 4, &narrow(2, 2), 2, bad(8, 2));
    let wide = |lead: u64| of(8, &[(0b11, 2), (lead, 5), (0, 6), (1, 64)]);
    check(at, 8, &wide(0), 2, Ok(&[7, 6]));
    check(at, 8, &wide(1), 2, bad(12, 64));
    // The place is where the code starts, behind eight values that are equal.
    let later = of(8, &[(0, 8), (0b11, 2), (1, 5), (0, 6), (1, 64)]);
    check(at, 8, &later, 10, bad(13, 64));
    // Before the first window a value is stored whole.
    check(at, 8, &of(8, &[(0b01, 2), (1, 64)]), 2, Ok(&[7, 6]));
    let at = Scheme::Chimp;
    let center = |width: usize, number: u64, len: u64| {
        let len_bits = if width == 4 { 5 } else { 6 };
        of(
            width,
            &[(0b01, 2), (number, 3), (len, len_bits), (1, len as u32)],
        )
    };
    // A bit above 39 zeros, then windows of 24 leading zeros.
    check(at, 8, &center(8, 7, 1), 2, Ok(&[7, 7 ^ 1 << 39]));
    check(at, 8, &center(8, 7, 40), 2, Ok(&[7, 6]));
    check(at, 8, &center(8, 7, 41), 2, bad(12, 41));
    check(at, 4, &center(4, 7, 8), 2, Ok(&[7, 6]));
    check(at, 4, &center(4, 7, 9), 2, bad(8, 9));
    // A length of 0 stands for all bits.
    let all = |width: usize, number: u64| {
        let (len_bits, bits) = if width == 4 { (5, 32) } else { (6, 64) };
        of(width, &[(0b01, 2), (number, 3), (0, len_bits), (1, bits)])
    };
    check(at, 8, &all(8, 0), 2, Ok(&[7, 6]));
    check(at, 8, &all(8, 1), 2, bad(12, 64));
    check(at, 4, &all(4, 0), 2, Ok(&[7, 6]));
    check(at, 4, &all(4, 1), 2, bad(8, 32));
    // Two groups at once, the second with a bad window.
    let whole = group(8, &[(0, 2046)]);
    let broken = group(8, &[(0, 2), (0b01, 2), (7, 3), (41, 6), (1, 41), (0, 2042)]);
    let first = whole.len();
    check(at, 8, &unit(&[whole, broken]), 2048, bad(8 + first + 8, 41));
}

#[test]
fn parameters_and_other_types_are_refused() {
    let with = |params: &[u8]| Tree::leaf(ID, VERSION, params);
    let numbers = ValueType::Fixed(8);
    let unknown = Error::corrupt("gorilla.scheme", 0, 2u8, "0 or 1");
    assert_eq!(decode(&with(&[2]), numbers, &[], 0), Err(unknown));
    let none = Error::truncated("gorilla.scheme", 1, 0);
    assert_eq!(decode(&with(&[]), numbers, &[], 0), Err(none));
    let more = Error::corrupt("gorilla.params", 1, 1u8, "no bytes after the last field");
    assert_eq!(decode(&with(&[1, 0]), numbers, &[], 0), Err(more));
    for other in [
        ValueType::Fixed(1),
        ValueType::Fixed(2),
        ValueType::Fixed(16),
        ValueType::Bits,
        ValueType::Bytes,
    ] {
        let found = decode(&with(&[1]), other, &[], 0);
        let kind = found.as_ref().map_err(Error::kind);
        let is_refused = matches!(kind, Err(ErrorKind::Unsupported { .. }));
        assert!(is_refused, "{other:?}: {found:?}");
    }
}
