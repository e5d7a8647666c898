//! One broken unit per field, with the exact error.

use tarsia_codec::{Error, ErrorKind, Registry, Tree, Unit, ValueType};
use tarsia_testkit::units;
use tarsia_window::{ID, Reference, VERSION};

/// The result of decoding a unit of `len` values.
fn decode(tree: &Tree, value_type: ValueType, bytes: &[u8], len: u32) -> Result<(), Error> {
    let mut registry = Registry::new();
    registry
        .add(&tarsia_window::WINDOW)
        .add(&tarsia_plain::PLAIN);
    let unit = Unit {
        bytes,
        len,
        decoded_bytes: 0,
    };
    units::decode(&registry, tree, value_type, unit, &[]).map(|_| ())
}

/// The unit of steps of (new, all, stored distance), over plain children, and new values of one byte.
fn unit(steps: &[[u32; 3]], values: &[u8]) -> Vec<u8> {
    let n_bytes = steps.len() as u32 * 4;
    let header = [
        steps.len() as u32,
        values.len() as u32,
        n_bytes,
        n_bytes,
        n_bytes,
    ];
    let child = |i: usize| steps.iter().map(move |step| step[i]);
    let numbers = header
        .into_iter()
        .chain(child(0))
        .chain(child(1))
        .chain(child(2));
    let mut bytes: Vec<u8> = numbers.flat_map(u32::to_le_bytes).collect();
    bytes.extend_from_slice(values);
    bytes
}

fn tree(reference: Reference) -> Tree {
    let plain = tarsia_plain::tree;
    tarsia_window::tree(reference, plain(), plain(), plain(), plain())
}

fn check(reference: Reference, bytes: &[u8], len: u32, expected: Result<(), Error>) {
    let found = decode(&tree(reference), ValueType::Fixed(1), bytes, len);
    assert_eq!(found, expected);
}

/// Three new values, then two copied from the start, then one more and the last two again.
const STEPS: [[u32; 3]; 3] = [[3, 3, 0], [0, 2, 2], [1, 3, 2]];

fn good() -> Vec<u8> {
    unit(&STEPS, &[7, 8, 9, 1])
}

#[test]
fn every_field_is_checked() {
    let at = Reference::Copied;
    check(at, &good(), 8, Ok(()));
    check(at, &unit(&[], &[]), 0, Ok(()));
    let bytes = good();
    let truncated = |field, needed, have| Err(Error::truncated(field, needed, have));
    check(at, &bytes[..3], 8, truncated("window.n_steps", 4, 3));
    check(at, &bytes[..7], 8, truncated("window.n_new", 8, 7));
    check(at, &bytes[..19], 8, truncated("window.lens", 20, 19));
    check(at, &bytes[..31], 8, truncated("window.new", 32, 31));
    check(at, &bytes[..43], 8, truncated("window.steps", 44, 43));
    check(at, &bytes[..55], 8, truncated("window.distances", 56, 55));
    check(at, &bytes[..59], 8, truncated("plain.values", 4, 3));
    let counts = "1 ..= number of values, 0 without values";
    let n_steps = |found: u8| Err(Error::corrupt("window.n_steps", 0, found, counts));
    check(at, &bytes, 2, n_steps(3));
    check(at, &unit(&[], &[]), 1, n_steps(0));
    let mut many = bytes.clone();
    many[4] = 9;
    let n_new = Err(Error::corrupt("window.n_new", 4, 9u8, counts));
    check(at, &many, 8, n_new);
    // A number of new values that is not what the steps have.
    let after = "numbers that add up to the number of new values";
    let sum = Err(Error::corrupt("window.new", 0, 3u8, after));
    check(at, &unit(&[[3, 3, 0]], &[7, 8, 9, 1]), 4, {
        let allowed = "numbers that add up to the number of values";
        Err(Error::corrupt("window.steps", 0, 3u8, allowed))
    });
    check(at, &unit(&[[3, 3, 0], [0, 1, 2]], &[7, 8, 9, 1]), 4, sum);
}

#[test]
fn steps_stay_inside_the_unit() {
    let at = Reference::Copied;
    let steps = |i: usize, found: u32| {
        let allowed = "1 ..= the values that are left";
        Err(Error::corrupt("window.steps", i, found, allowed))
    };
    check(
        at,
        &unit(&[[0, 0, 0], [3, 3, 0]], &[7, 8, 9]),
        3,
        steps(0, 0),
    );
    check(at, &unit(&[[3, 4, 0]], &[7, 8, 9]), 3, steps(0, 4));
    check(
        at,
        &unit(&[[3, u32::MAX, 0]], &[7, 8, 9]),
        3,
        steps(0, u32::MAX),
    );
    // Steps behind the last value.
    check(
        at,
        &unit(&[[3, 3, 0], [0, 1, 0]], &[7, 8, 9]),
        3,
        steps(1, 1),
    );
    let new = |i: usize, found: u32| {
        let allowed = "at most the step's values and the new values that are left";
        Err(Error::corrupt("window.new", i, found, allowed))
    };
    check(at, &unit(&[[3, 2, 0], [0, 1, 0]], &[7, 8, 9]), 3, new(0, 3));
    check(at, &unit(&[[2, 2, 0], [1, 1, 0]], &[7, 8]), 3, new(1, 1));
}

#[test]
fn distances_reach_what_was_decoded() {
    let bad = |i: usize, found: u32| {
        let allowed = "a distance of at least the copy's length that stays inside";
        Err(Error::corrupt("window.distances", i, found, allowed))
    };
    // From before the unit, and from the copy itself.
    let step = |stored| unit(&[[2, 2, 0], [0, 2, stored]], &[7, 8]);
    let at = Reference::Copied;
    check(at, &step(0), 4, Ok(()));
    check(at, &step(2), 4, bad(1, 2));
    check(at, &step(1), 4, bad(1, 1));
    check(at, &step(u32::MAX), 4, bad(1, u32::MAX));
    let at = Reference::Step;
    check(at, &step(0), 4, Ok(()));
    check(at, &step(2), 4, bad(1, 2));
    // There is no distance before.
    let at = Reference::Distance;
    check(at, &step(0), 4, bad(1, 0));
    check(at, &step(4), 4, Ok(()));
    let first = unit(&[[0, 2, 4], [2, 2, 0]], &[7, 8]);
    check(at, &first, 4, bad(0, 4));
    let none = Err(Error::corrupt(
        "window.distances",
        0,
        1u8,
        "0 in a step that copies nothing",
    ));
    check(at, &unit(&[[2, 2, 1]], &[7, 8]), 2, none);
}

#[test]
fn parameters_and_other_types_are_refused() {
    let children = vec![tarsia_plain::tree(); 4];
    let with = |params: &[u8]| Tree::node(ID, VERSION, params, children.clone());
    let numbers = ValueType::Fixed(4);
    let unknown = Error::corrupt("window.reference", 0, 3u8, "0, 1 or 2");
    assert_eq!(decode(&with(&[3]), numbers, &[], 0), Err(unknown));
    let none = Error::truncated("window.reference", 1, 0);
    assert_eq!(decode(&with(&[]), numbers, &[], 0), Err(none));
    assert!(decode(&with(&[1, 0]), numbers, &[], 0).is_err());
    for other in [ValueType::Bytes, ValueType::Bits, ValueType::Fixed(0)] {
        let found = decode(&with(&[1]), other, &[], 0);
        let kind = found.as_ref().map_err(Error::kind);
        let is_refused = matches!(kind, Err(ErrorKind::Unsupported { .. }));
        assert!(is_refused, "{other:?}: {found:?}");
    }
}
