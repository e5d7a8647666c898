//! One broken unit per field, with the exact error.

use tarsia_codec::{Error, Registry, Tree, Unit, ValueType};
use tarsia_runend::{EndBytes, ID, VERSION, tree};
use tarsia_testkit::units;

/// The result of decoding a unit of `len` values.
fn decode(tree: &Tree, value_type: ValueType, bytes: &[u8], len: u32) -> Result<(), Error> {
    let mut registry = Registry::new();
    registry
        .add(&tarsia_runend::RUNEND)
        .add(&tarsia_bytes::BYTES)
        .add(&tarsia_plain::PLAIN);
    let unit = Unit {
        bytes,
        len,
        decoded_bytes: 6,
    };
    units::decode(&registry, tree, value_type, unit, &[]).map(|_| ())
}

fn check(bytes: &[u8], len: u32, expected: Result<(), Error>) {
    let tree = tree(EndBytes::Two, tarsia_plain::tree(), tarsia_plain::tree());
    assert_eq!(decode(&tree, ValueType::Fixed(1), bytes, len), expected);
}

#[test]
fn every_field_is_checked() {
    let good = [3, 0, 0, 0, 4, 0, 0, 0, 2, 0, 5, 0, 7, 8, 9];
    check(&good, 6, Ok(()));
    check(&good[..3], 6, Err(Error::truncated("runend.n_runs", 4, 3)));
    check(
        &good[..7],
        6,
        Err(Error::truncated("runend.ends_len", 8, 7)),
    );
    check(&good[..11], 6, Err(Error::truncated("runend.ends", 12, 11)));
    check(&good[..14], 6, Err(Error::truncated("plain.values", 3, 2)));
    let allowed = "1 ..= number of values, 0 without values";
    check(
        &good,
        2,
        Err(Error::corrupt("runend.n_runs", 0, 3u8, allowed)),
    );
    let none = Err(Error::corrupt("runend.n_runs", 0, 0u8, allowed));
    check(&[0; 8], 1, none);
    check(&[0; 8], 0, Ok(()));
    let after = "no bytes after the last value";
    check(
        &[0; 9],
        0,
        Err(Error::corrupt("plain.values", 0, 1u8, after)),
    );
    let mut short = good;
    short[4] = 3;
    check(&short, 6, Err(Error::truncated("plain.values", 4, 3)));
}

#[test]
fn ends_rise_inside_the_unit() {
    let with = |first: u8, second: u8| [3, 0, 0, 0, 4, 0, 0, 0, first, 0, second, 0, 7, 8, 9];
    let bad = |run: usize, end: u8| {
        let allowed = "rising numbers above 0 and below the number of values";
        Err(Error::corrupt("runend.ends", run, end, allowed))
    };
    check(&with(1, 5), 6, Ok(()));
    check(&with(0, 5), 6, bad(0, 0));
    check(&with(5, 5), 6, bad(1, 5));
    check(&with(5, 4), 6, bad(1, 4));
    check(&with(2, 6), 6, bad(1, 6));
    check(&with(2, 9), 6, bad(1, 9));
}

#[test]
fn strings_add_up() {
    let strings = tarsia_bytes::tree(tarsia_plain::tree());
    let tree = tree(EndBytes::Two, tarsia_plain::tree(), strings);
    // "ab" twice and "cd" once: 6 bytes.
    let mut registry = Registry::new();
    let cost = Default::default();
    registry
        .add_writer(&tarsia_runend::RUNEND, cost)
        .add_writer(&tarsia_bytes::BYTES, cost)
        .add_writer(&tarsia_plain::PLAIN, cost);
    let case = tarsia_testkit::cases::Case::strings("", &["ab", "ab", "cd"]);
    let (good, _) = units::encode(&registry, &tree, case.values()).unwrap();
    let decode = |bytes: &[u8], len| decode(&tree, ValueType::Bytes, bytes, len);
    assert_eq!(decode(&good, 3), Ok(()));
    let truncated = Error::truncated("runend.values_bytes", 12, 11);
    assert_eq!(decode(&good[..11], 3), Err(truncated));
    let mut many = good.clone();
    many[8] = 7;
    let allowed = "at most the unit's decoded bytes";
    let bad = Error::corrupt("runend.values_bytes", 8, 7u8, allowed);
    assert_eq!(decode(&many, 3), Err(bad));
    let allowed = "strings that add up to the unit's decoded bytes";
    let bad = Error::corrupt("runend.values", 0, 7u8, allowed);
    assert_eq!(decode(&good, 4), Err(bad));
    let bad = Error::corrupt("runend.values", 0, 4u8, allowed);
    let two = [&[2, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 1, 0], &good[14..]].concat();
    assert_eq!(decode(&two, 2), Err(bad));
}

#[test]
fn bad_parameters_are_refused() {
    let with = |params: &[u8]| {
        let children = vec![tarsia_plain::tree(), tarsia_plain::tree()];
        let tree = Tree::node(ID, VERSION, params, children);
        decode(&tree, ValueType::Fixed(4), &[0; 8], 0)
    };
    assert_eq!(with(&[2]), Ok(()));
    assert_eq!(with(&[]), Err(Error::truncated("runend.end_bytes", 1, 0)));
    let bad = Error::corrupt("runend.end_bytes", 0, 3u8, "2 or 4");
    assert_eq!(with(&[3]), Err(bad));
    let after = "no bytes after the last field";
    assert_eq!(
        with(&[2, 0]),
        Err(Error::corrupt("runend.params", 1, 1u8, after))
    );
}
