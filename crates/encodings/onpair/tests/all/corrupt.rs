//! One broken unit, dictionary or tree per rule, with the exact error.

use tarsia_codec::{Error, ErrorKind, OwnedPredicate, Predicate, Registry, Selection};
use tarsia_testkit::tokens::{TokenLimits, TokenUnit};

/// The strings "abcc" and "ab", of the tokens "ab" and "c".
fn unit() -> TokenUnit {
    let mut registry = Registry::new();
    registry
        .add(&tarsia_onpair::ONPAIR)
        .add(&tarsia_plain::PLAIN);
    let mut bytes = vec![4, 0, 0, 0, 8, 0, 0, 0];
    bytes.extend([3, 0, 0, 0, 1, 0, 0, 0]);
    bytes.extend([0, 0, 1, 0, 1, 0, 0, 0]);
    TokenUnit {
        registry,
        tree: tarsia_onpair::tree(tarsia_plain::tree(), tarsia_plain::tree()),
        bytes,
    }
}

#[test]
fn every_field_is_checked() {
    let unit = unit();
    let check = |change: fn(&mut Vec<u8>), expected| unit.check(change, expected);
    assert_eq!(unit.decode(&unit.bytes, 6), Ok(()));
    let truncated = Error::truncated;
    check(|it| it.truncate(3), truncated("onpair.n_codes", 4, 3));
    check(|it| it.truncate(7), truncated("onpair.counts_len", 8, 7));
    check(|it| it.truncate(15), truncated("onpair.counts", 16, 15));
    check(|it| it.truncate(23), truncated("plain.values", 8, 7));
    let more = Error::corrupt("plain.values", 8, 1u8, "no bytes after the last value");
    check(|it| it.push(0), more);
    let allowed = "at most the unit's decoded bytes";
    let n_codes = Error::corrupt("onpair.n_codes", 0, 7u8, allowed);
    check(|it| it[0] = 7, n_codes);
    let huge = Error::from(ErrorKind::Truncated {
        field: "onpair.counts",
        needed_bytes: u64::from(u32::MAX) + 8,
        have_bytes: 24,
    });
    check(|it| it[4..8].fill(255), huge);
    let sum = |found: u64| {
        let allowed = "a sum equal to the number of codes";
        Error::corrupt("onpair.counts", 8, found, allowed)
    };
    check(|it| it[12] = 2, sum(5));
    check(|it| it[12] = 0, sum(3));
    // 2 in 32 bits.
    check(|it| it[8..12].fill(255), sum(u64::from(u32::MAX) + 1));
    let code = |found: u16| {
        let allowed = "below the number of tokens";
        Error::corrupt("onpair.codes", 0, found, allowed)
    };
    check(|it| it[22] = 2, code(2));
    check(|it| it[23] = 1, code(256));
}

#[test]
fn strings_add_up() {
    let unit = unit();
    let allowed = "tokens that add up to the unit's decoded bytes";
    let sum = |found: u8| Err(Error::corrupt("onpair.codes", 0, found, allowed));
    assert_eq!(unit.decode(&unit.bytes, 7), sum(6));
    assert_eq!(unit.decode(&unit.bytes, 5), sum(6));
    // What was written before the end of the output counts.
    let mut longer = unit.bytes.clone();
    longer[20] = 0;
    assert_eq!(unit.decode(&longer, 6), sum(7));
}

#[test]
fn ranges_and_single_values_are_checked() {
    let unit = unit();
    unit.check_room();
    let range = |start| Selection::Range { start, len: 1 };
    let mut bad = unit.bytes.clone();
    bad[8] = 5;
    let sum = |found: u8| {
        let allowed = "a sum equal to the number of codes";
        Err(Error::corrupt("onpair.counts", 8, found, allowed))
    };
    assert_eq!(unit.get(&bad, range(0), 20), sum(5));
    assert_eq!(unit.get(&bad, range(1), 20), sum(6));
    assert_eq!(unit.get(&bad, Selection::Indices(&[1]), 20), sum(6));
    let mut bad = unit.bytes.clone();
    bad[22] = 9;
    assert_eq!(unit.get(&bad, range(0), 20), Ok(4));
    assert!(unit.get(&bad, range(1), 20).is_err());
    assert!(unit.get(&bad, Selection::Indices(&[1]), 20).is_err());
}

#[test]
fn dictionaries_nodes_and_types_are_checked() {
    unit().check_dictionaries(&TokenLimits {
        field: "onpair.tokens",
        token_bytes: 16,
        tokens: 1 << 16,
        allowed_bytes: "at most 16 bytes",
        allowed_tokens: "at most 65,536",
    });
    unit().check_nodes("onpair.params_len");
}

#[test]
fn strings_are_found_by_their_tokens() {
    let unit = unit();
    let find = |predicate: &OwnedPredicate| {
        let predicate = predicate.as_predicate().unwrap();
        unit.find(&unit.bytes, &predicate)
    };
    let equals = |string: &str| find(&OwnedPredicate::in_strings([string.as_bytes()]).unwrap());
    let begins = |prefix: &str| find(&OwnedPredicate::StartsWith(prefix.into()));
    assert_eq!(equals("ab"), Ok([false, true]));
    assert_eq!(equals("abcc"), Ok([true, false]));
    assert_eq!(equals("abccc"), Ok([false; 2]));
    assert_eq!(equals(""), Ok([false; 2]));
    assert_eq!(begins(""), Ok([true; 2]));
    assert_eq!(begins("a"), Ok([true; 2]));
    assert_eq!(begins("abc"), Ok([true, false]));
    assert_eq!(begins("b"), Ok([false; 2]));
    // Codes are looked at no further than a string that is looked for.
    let mut bytes = unit.bytes.clone();
    bytes[18] = 7;
    let found = |prefix: &'static [u8]| unit.find(&bytes, &Predicate::StartsWith(prefix));
    assert_eq!(found(b"ab"), Ok([true; 2]));
    assert_eq!(
        found(b"abc"),
        Err(Error::corrupt(
            "onpair.codes",
            0,
            7u64,
            "below the number of tokens"
        ))
    );
}
