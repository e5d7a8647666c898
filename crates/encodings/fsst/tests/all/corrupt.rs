//! One broken unit, symbol table or tree per rule, with the exact error.

use std::sync::Arc;

use tarsia_codec::{
    Error, ErrorKind, Output, OwnedValues, Registry, Scratch, Selection, SharedBuffer, SharedKind,
    Tree, Unit, ValueType, build_decoder,
};
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;

/// The place of the codes in [`good`].
const CODES_AT: usize = 24;

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.add(&tarsia_fsst::FSST).add(&tarsia_plain::PLAIN);
    registry
}

fn tree() -> Tree {
    tarsia_fsst::tree(tarsia_plain::tree(), tarsia_plain::tree())
}

fn symbols<S: AsRef<[u8]>>(symbols: &[S]) -> SharedBuffer {
    let values = OwnedValues::copy_of(Case::strings("", symbols).values());
    SharedBuffer::new(SharedKind::TokenDictionary, Arc::new(values))
}

/// The strings "abxc" and "ab", of the symbols "ab" and "c".
fn good() -> Vec<u8> {
    let mut bytes = vec![8, 0, 0, 0, 8, 0, 0, 0];
    bytes.extend([4, 0, 0, 0, 2, 0, 0, 0]);
    bytes.extend([4, 0, 0, 0, 1, 0, 0, 0]);
    bytes.extend([0, 255, b'x', 1, 0]);
    bytes
}

fn decode(bytes: &[u8], decoded_bytes: u32) -> Result<(), Error> {
    let unit = Unit {
        bytes,
        len: 2,
        decoded_bytes,
    };
    let shared = [symbols(&["ab", "c"])];
    units::decode(&registry(), &tree(), ValueType::Bytes, unit, &shared).map(|_| ())
}

fn check(change: impl FnOnce(&mut Vec<u8>), expected: Error) {
    let mut bytes = good();
    change(&mut bytes);
    assert_eq!(decode(&bytes, 6), Err(expected));
}

fn bad_lengths(at: usize, found: u8) -> Error {
    let allowed = "codes of as many bytes as the lengths say";
    Error::corrupt("fsst.codes", at, found, allowed)
}

fn no_symbol(at: usize, found: u8) -> Error {
    let allowed = "below the number of symbols, or 255";
    Error::corrupt("fsst.codes", at, found, allowed)
}

fn bad_escape(at: usize) -> Error {
    let allowed = "a code that is followed by a byte";
    Error::corrupt("fsst.codes", at, 255u8, allowed)
}

#[test]
fn every_field_is_checked() {
    assert_eq!(decode(&good(), 6), Ok(()));
    let truncated = Error::truncated;
    check(|it| it.truncate(3), truncated("fsst.lengths_len", 4, 3));
    check(|it| it.truncate(7), truncated("fsst.counts_len", 8, 7));
    check(|it| it.truncate(15), truncated("fsst.lengths", 16, 15));
    check(|it| it.truncate(23), truncated("fsst.counts", 24, 23));
    for (i, field) in [(0, "fsst.lengths"), (4, "fsst.counts")] {
        let before = if i == 0 { 8 } else { 16 };
        let huge = Error::from(ErrorKind::Truncated {
            field,
            needed_bytes: u64::from(u32::MAX) + before,
            have_bytes: 29,
        });
        check(|it| it[i..i + 4].fill(255), huge);
        check(|it| it[i] = 7, truncated("plain.values", 8, 7));
    }
    let lengths = |found: u64| {
        let allowed = "a sum equal to the unit's decoded bytes";
        Error::corrupt("fsst.lengths", 8, found, allowed)
    };
    check(|it| it[8] = 5, lengths(7));
    check(|it| it[12] = 1, lengths(5));
    // 1 in 32 bits.
    check(|it| it[8..12].fill(255), lengths(u64::from(u32::MAX) + 2));
    let counts = |found: u64| {
        let allowed = "a sum equal to the bytes of codes";
        Error::corrupt("fsst.counts", 16, found, allowed)
    };
    check(|it| it[16] = 5, counts(6));
    check(|it| it[20] = 0, counts(4));
    check(|it| it[16..20].fill(255), counts(u64::from(u32::MAX) + 1));
    check(|it| it.push(0), counts(5));
    check(|it| it.truncate(28), counts(5));
    check(|it| it[CODES_AT + 3] = 2, no_symbol(CODES_AT + 3, 2));
    check(|it| it[CODES_AT + 4] = 254, no_symbol(CODES_AT + 4, 254));
    check(|it| it[CODES_AT + 4] = 255, bad_escape(CODES_AT + 4));
}

#[test]
fn strings_are_as_long_as_they_say() {
    check(|it| it[CODES_AT + 4] = 1, bad_lengths(CODES_AT, 5));
    // What was written before the end of the output counts.
    check(|it| it[CODES_AT + 3] = 0, bad_lengths(CODES_AT + 4, 7));
    // "ab", "xc", "" and the literal "b", with no room for the last.
    let more = |it: &mut Vec<u8>| {
        it[16] = 6;
        it.truncate(CODES_AT);
        it.extend([0, 0, 0, 255, b'x', 255, b'x']);
    };
    check(more, bad_lengths(CODES_AT + 3, 7));
}

/// A unit of one string, whose codes are long enough for the loop over groups.
fn one(codes: &[u8], decoded_bytes: u32) -> Result<(), Error> {
    let mut bytes = vec![4, 0, 0, 0, 4, 0, 0, 0];
    bytes.extend(decoded_bytes.to_le_bytes());
    bytes.extend((codes.len() as u32).to_le_bytes());
    bytes.extend(codes);
    let unit = Unit {
        bytes: &bytes,
        len: 1,
        decoded_bytes,
    };
    let shared = [symbols(&["abcdefgh", "c", ""])];
    units::decode(&registry(), &tree(), ValueType::Bytes, unit, &shared).map(|_| ())
}

#[test]
fn codes_of_groups_are_checked() {
    const ONE_CODES_AT: usize = 16;
    let good = [0; 40];
    assert_eq!(one(&good, 320), Ok(()));
    for i in 0..40 {
        let at = ONE_CODES_AT + i;
        for bad in [3, 100, 254] {
            let mut codes = good;
            codes[i] = bad;
            assert_eq!(one(&codes, 320), Err(no_symbol(at, bad)));
            // Behind an escape it is a byte, not a code.
            if i > 0 {
                codes[i - 1] = 255;
                assert_eq!(one(&codes, 305), Ok(()));
            }
        }
        let mut codes = good;
        codes[i] = 255;
        if i == 39 {
            assert_eq!(one(&codes, 312), Err(bad_escape(at)));
        } else {
            assert_eq!(one(&codes, 305), Ok(()));
            // A code without a symbol before an escape.
            if i > 0 {
                codes[i - 1] = 9;
                assert_eq!(one(&codes, 305), Err(no_symbol(at - 1, 9)));
            }
        }
        // An empty symbol was wiped.
        let mut codes = good;
        codes[i] = 2;
        assert_eq!(one(&codes, 312), Ok(()));
        let short = one(&codes, 313);
        assert_eq!(
            short,
            Err(Error::corrupt(
                "fsst.codes",
                ONE_CODES_AT,
                312u64,
                "codes of as many bytes as the lengths say"
            ))
        );
    }
    // Only escapes, of which one lies at each place of a group.
    for n in 1..20 {
        let mut codes = vec![1; n % 8];
        codes.extend([255; 2].repeat(n));
        assert_eq!(one(&codes, (n % 8 + n) as u32), Ok(()));
        codes.push(255);
        let at = ONE_CODES_AT + codes.len() - 1;
        assert_eq!(one(&codes, (n % 8 + n) as u32), Err(bad_escape(at)));
    }
}

#[test]
fn ranges_and_single_values_are_checked() {
    let shared = [symbols(&["ab", "c"])];
    let decoder = build_decoder(&registry(), &tree(), ValueType::Bytes, &shared).unwrap();
    let get = |bytes: &[u8], selection: Selection<'_>, room: usize| {
        let unit = Unit {
            bytes,
            len: 2,
            decoded_bytes: 6,
        };
        let out = Output::Bytes {
            ends: &mut [0],
            base: 0,
            data: &mut vec![0; room],
        };
        decoder.decode(unit, selection, &mut Scratch::new(), out)
    };
    let range = |start| Selection::Range { start, len: 1 };
    let short = Err(Error::invalid("the output is too short for the selection"));
    for (i, bytes) in [(0, 4), (1, 2)] {
        let one = [i];
        for selection in [range(i), Selection::Indices(&one)] {
            assert_eq!(get(&good(), selection, bytes), Ok(bytes));
            assert_eq!(get(&good(), selection, 100), Ok(bytes));
            assert_eq!(get(&good(), selection, bytes - 1), short);
        }
    }
    let counts = |found: u8| {
        let allowed = "a sum equal to the bytes of codes";
        Err(Error::corrupt("fsst.counts", 16, found, allowed))
    };
    let mut bad = good();
    bad[16] = 6;
    assert_eq!(get(&bad, range(0), 20), counts(6));
    assert_eq!(get(&bad, range(1), 20), counts(7));
    assert_eq!(get(&bad, Selection::Indices(&[1]), 20), counts(7));
    // Each value alone is as long as its length says.
    let mut bad = good();
    (bad[8], bad[12]) = (3, 3);
    assert_eq!(decode(&bad, 6), Ok(()));
    for selection in [range(0), Selection::Indices(&[0])] {
        assert_eq!(get(&bad, selection, 20), Err(bad_lengths(CODES_AT, 4)));
        assert_eq!(get(&bad, selection, 3), Err(bad_lengths(CODES_AT + 3, 4)));
    }
    let mut bad = good();
    bad[8] = 7;
    let allowed = "a sum equal to the unit's decoded bytes";
    let lengths = Err(Error::corrupt("fsst.lengths", 8, 7u8, allowed));
    for selection in [range(0), Selection::Indices(&[0])] {
        assert_eq!(get(&bad, selection, 20), lengths);
    }
    let mut bad = good();
    bad[CODES_AT + 4] = 9;
    assert_eq!(get(&bad, range(0), 20), Ok(4));
    let code = Err(no_symbol(CODES_AT + 4, 9));
    assert_eq!(get(&bad, range(1), 20), code);
    assert_eq!(get(&bad, Selection::Indices(&[1]), 20), code);
    // An escape does not reach into the codes of the next value.
    let mut bad = good();
    bad[CODES_AT + 3] = 255;
    let escape = Err(bad_escape(CODES_AT + 3));
    assert_eq!(get(&bad, range(0), 20), escape);
    assert_eq!(get(&bad, Selection::Indices(&[0]), 20), escape);
}

#[test]
fn ends_never_wrap() {
    let shared = [symbols(&["ab", "c"])];
    let decoder = build_decoder(&registry(), &tree(), ValueType::Bytes, &shared).unwrap();
    for selection in [Selection::All, Selection::Indices(&[0, 1])] {
        for (base, fits) in [(u32::MAX - 6, true), (u32::MAX - 5, false)] {
            let unit = Unit {
                bytes: &good(),
                len: 2,
                decoded_bytes: 6,
            };
            let out = Output::Bytes {
                ends: &mut [0; 2],
                base,
                data: &mut [0; 6],
            };
            let got = decoder.decode(unit, selection, &mut Scratch::new(), out);
            assert_eq!(got.is_ok(), fits, "{selection:?} {base}");
        }
    }
}

fn init(tree: &Tree, value_type: ValueType, shared: SharedBuffer) -> Result<(), Error> {
    build_decoder(&registry(), tree, value_type, &[shared]).map(|_| ())
}

#[test]
fn symbol_tables_are_checked() {
    let with = |symbols| init(&tree(), ValueType::Bytes, symbols);
    assert_eq!(with(symbols(&["", "01234567", ""])), Ok(()));
    let long = Error::corrupt("fsst.symbols", 1, 9u8, "at most 8 bytes");
    assert_eq!(with(symbols(&["", "012345678"])), Err(long));
    assert_eq!(with(symbols(&["a"; 255])), Ok(()));
    let many = Error::corrupt("fsst.symbols", 0, 256u32, "at most 255");
    assert_eq!(with(symbols(&["a"; 256])), Err(many));
    for kind in SharedKind::ALL {
        let buffer = SharedBuffer::new(kind, symbols(&["a"]).values().clone());
        let is_right = kind == SharedKind::TokenDictionary;
        assert_eq!(with(buffer).is_ok(), is_right, "{kind:?}");
    }
}

#[test]
fn parameters_and_other_types_are_refused() {
    let children = vec![tarsia_plain::tree(), tarsia_plain::tree()];
    let with_params = Tree::node(tarsia_fsst::ID, tarsia_fsst::VERSION, &[3], children);
    let params = Error::corrupt("fsst.params_len", 0, 1u8, "0 (no parameters)");
    let got = init(
        &with_params.with_shared(&[0]),
        ValueType::Bytes,
        symbols(&["a"]),
    );
    assert_eq!(got, Err(params));
    let got = init(&tree(), ValueType::Fixed(4), symbols(&["a"]));
    let kind = got.as_ref().map_err(Error::kind);
    assert!(
        matches!(kind, Err(ErrorKind::Unsupported { .. })),
        "{got:?}"
    );
}
