//! One broken unit, symbol table or tree per rule, with the exact error.

use tarsia_codec::{
    Error, ErrorKind, OwnedPredicate, Predicate, Registry, Selection, Unit, ValueType,
};
use tarsia_testkit::tokens::{TokenLimits, TokenUnit, dictionary};
use tarsia_testkit::units;

/// The place of the codes in [`unit`].
const CODES_AT: usize = 24;

/// The strings "abxc" and "ab", of the symbols "ab" and "c".
fn unit() -> TokenUnit {
    let mut registry = Registry::new();
    registry.add(&tarsia_fsst::FSST).add(&tarsia_plain::PLAIN);
    let mut bytes = vec![8, 0, 0, 0, 8, 0, 0, 0];
    bytes.extend([4, 0, 0, 0, 2, 0, 0, 0]);
    bytes.extend([4, 0, 0, 0, 1, 0, 0, 0]);
    bytes.extend([0, 255, b'x', 1, 0]);
    TokenUnit {
        registry,
        tree: tarsia_fsst::tree(tarsia_plain::tree(), tarsia_plain::tree()),
        bytes,
    }
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
    let unit = unit();
    let check = |change: &dyn Fn(&mut Vec<u8>), expected| unit.check(change, expected);
    assert_eq!(unit.decode(&unit.bytes, 6), Ok(()));
    let truncated = Error::truncated;
    check(&|it| it.truncate(3), truncated("fsst.lengths_len", 4, 3));
    check(&|it| it.truncate(7), truncated("fsst.counts_len", 8, 7));
    check(&|it| it.truncate(15), truncated("fsst.lengths", 16, 15));
    check(&|it| it.truncate(23), truncated("fsst.counts", 24, 23));
    for (i, field) in [(0, "fsst.lengths"), (4, "fsst.counts")] {
        let before = if i == 0 { 8 } else { 16 };
        let huge = Error::from(ErrorKind::Truncated {
            field,
            needed_bytes: u64::from(u32::MAX) + before,
            have_bytes: 29,
        });
        check(&|it| it[i..i + 4].fill(255), huge);
        check(&|it| it[i] = 7, truncated("plain.values", 8, 7));
    }
    let lengths = |found: u64| {
        let allowed = "a sum equal to the unit's decoded bytes";
        Error::corrupt("fsst.lengths", 8, found, allowed)
    };
    check(&|it| it[8] = 5, lengths(7));
    check(&|it| it[12] = 1, lengths(5));
    // 1 in 32 bits.
    check(&|it| it[8..12].fill(255), lengths(u64::from(u32::MAX) + 2));
    let counts = |found: u64| {
        let allowed = "a sum equal to the bytes of codes";
        Error::corrupt("fsst.counts", 16, found, allowed)
    };
    check(&|it| it[16] = 5, counts(6));
    check(&|it| it[20] = 0, counts(4));
    check(&|it| it[16..20].fill(255), counts(u64::from(u32::MAX) + 1));
    check(&|it| it.push(0), counts(5));
    check(&|it| it.truncate(28), counts(5));
    check(&|it| it[CODES_AT + 3] = 2, no_symbol(CODES_AT + 3, 2));
    check(&|it| it[CODES_AT + 4] = 254, no_symbol(CODES_AT + 4, 254));
    check(&|it| it[CODES_AT + 4] = 255, bad_escape(CODES_AT + 4));
}

#[test]
fn strings_are_as_long_as_they_say() {
    let unit = unit();
    let check = |change: &dyn Fn(&mut Vec<u8>), expected| unit.check(change, expected);
    check(&|it| it[CODES_AT + 4] = 1, bad_lengths(CODES_AT, 5));
    // What was written before the end of the output counts.
    check(&|it| it[CODES_AT + 3] = 0, bad_lengths(CODES_AT + 4, 7));
    // "ab", "xc", "" and the literal "b", with no room for the last.
    let more = |it: &mut Vec<u8>| {
        it[16] = 6;
        it.truncate(CODES_AT);
        it.extend([0, 0, 0, 255, b'x', 255, b'x']);
    };
    check(&more, bad_lengths(CODES_AT + 3, 7));
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
    let shared = [dictionary(&["abcdefgh", "c", ""])];
    let TokenUnit { registry, tree, .. } = self::unit();
    units::decode(&registry, &tree, ValueType::Bytes, unit, &shared).map(|_| ())
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
    let unit = unit();
    unit.check_room();
    let range = |start| Selection::Range { start, len: 1 };
    let counts = |found: u8| {
        let allowed = "a sum equal to the bytes of codes";
        Err(Error::corrupt("fsst.counts", 16, found, allowed))
    };
    let mut bad = unit.bytes.clone();
    bad[16] = 6;
    assert_eq!(unit.get(&bad, range(0), 20), counts(6));
    assert_eq!(unit.get(&bad, range(1), 20), counts(7));
    assert_eq!(unit.get(&bad, Selection::Indices(&[1]), 20), counts(7));
    // Each value alone is as long as its length says.
    let mut bad = unit.bytes.clone();
    (bad[8], bad[12]) = (3, 3);
    assert_eq!(unit.decode(&bad, 6), Ok(()));
    for selection in [range(0), Selection::Indices(&[0])] {
        assert_eq!(unit.get(&bad, selection, 20), Err(bad_lengths(CODES_AT, 4)));
        assert_eq!(
            unit.get(&bad, selection, 3),
            Err(bad_lengths(CODES_AT + 3, 4))
        );
    }
    let mut bad = unit.bytes.clone();
    bad[8] = 7;
    let allowed = "a sum equal to the unit's decoded bytes";
    let lengths = Err(Error::corrupt("fsst.lengths", 8, 7u8, allowed));
    for selection in [range(0), Selection::Indices(&[0])] {
        assert_eq!(unit.get(&bad, selection, 20), lengths);
    }
    let mut bad = unit.bytes.clone();
    bad[CODES_AT + 4] = 9;
    assert_eq!(unit.get(&bad, range(0), 20), Ok(4));
    let code = Err(no_symbol(CODES_AT + 4, 9));
    assert_eq!(unit.get(&bad, range(1), 20), code);
    assert_eq!(unit.get(&bad, Selection::Indices(&[1]), 20), code);
    // An escape does not reach into the codes of the next value.
    let mut bad = unit.bytes.clone();
    bad[CODES_AT + 3] = 255;
    let escape = Err(bad_escape(CODES_AT + 3));
    assert_eq!(unit.get(&bad, range(0), 20), escape);
    assert_eq!(unit.get(&bad, Selection::Indices(&[0]), 20), escape);
}

#[test]
fn symbol_tables_nodes_and_types_are_checked() {
    unit().check_dictionaries(&TokenLimits {
        field: "fsst.symbols",
        token_bytes: 8,
        tokens: 255,
        allowed_bytes: "at most 8 bytes",
        allowed_tokens: "at most 255",
    });
    unit().check_nodes("fsst.params_len");
}

#[test]
fn strings_are_found_by_their_codes() {
    let unit = unit();
    let find = |predicate: &OwnedPredicate| {
        let predicate = predicate.as_predicate().unwrap();
        unit.find(&unit.bytes, &predicate)
    };
    let equals = |string: &str| find(&OwnedPredicate::in_strings([string.as_bytes()]).unwrap());
    let begins = |prefix: &str| find(&OwnedPredicate::StartsWith(prefix.into()));
    assert_eq!(equals("ab"), Ok([false, true]));
    assert_eq!(equals("abxc"), Ok([true, false]));
    assert_eq!(equals("abxcc"), Ok([false; 2]));
    assert_eq!(equals(""), Ok([false; 2]));
    assert_eq!(begins(""), Ok([true; 2]));
    assert_eq!(begins("a"), Ok([true; 2]));
    assert_eq!(begins("abx"), Ok([true, false]));
    assert_eq!(begins("b"), Ok([false; 2]));
    // Codes are looked at no further than a string that is looked for.
    let mut bytes = unit.bytes.clone();
    bytes[CODES_AT + 3] = 7;
    let found = |prefix: &'static [u8]| unit.find(&bytes, &Predicate::StartsWith(prefix));
    assert_eq!(found(b"ab"), Ok([true; 2]));
    assert_eq!(found(b"abxc"), Err(no_symbol(CODES_AT + 3, 7)));
    // An escape without a byte behind it.
    let mut bytes = unit.bytes.clone();
    bytes[CODES_AT + 4] = 255;
    let cut = unit.find(&bytes, &Predicate::StartsWith(b"a"));
    assert_eq!(cut, Err(bad_escape(CODES_AT + 4)));
}
