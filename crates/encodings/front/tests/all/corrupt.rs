//! One broken unit per field, with the exact error.

use tarsia_codec::{
    Children, Decoder, Encoding, Error, ErrorKind, Node, NodeSpec, Output, Registry, Result,
    Scratch, Selection, SharedBuffer, Tree, Unit, ValueType, Version, build_decoder,
};
use tarsia_testkit::cases::CaseValues;
use tarsia_testkit::units;

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry
        .add(&tarsia_front::FRONT)
        .add(&Liar)
        .add(&tarsia_bytes::BYTES)
        .add(&tarsia_plain::PLAIN);
    registry
}

fn tree() -> Tree {
    let plain = tarsia_plain::tree;
    tarsia_front::tree(plain(), tarsia_bytes::tree(plain()))
}

/// The data of a unit that decodes to `decoded_bytes` in strings.
fn decode(bytes: &[u8], len: u32, decoded_bytes: u32) -> Result<Vec<u8>, Error> {
    let unit = Unit {
        bytes,
        len,
        decoded_bytes,
    };
    let values = units::decode(&registry(), &tree(), ValueType::Bytes, unit, &[])?;
    match values {
        CaseValues::Bytes { data, .. } => Ok(data),
        _ => panic!("other values than strings"),
    }
}

/// A unit over plain prefixes, and suffixes with plain lengths.
fn unit(strings: &[(u32, &str)]) -> Vec<u8> {
    let n_bytes = strings.len() as u32 * 4;
    let data: String = strings.iter().map(|(_, suffix)| *suffix).collect();
    let prefixes = strings.iter().map(|(prefix, _)| *prefix);
    let lengths = strings.iter().map(|(_, suffix)| suffix.len() as u32);
    let header = [n_bytes, data.len() as u32];
    let numbers = header.into_iter().chain(prefixes).chain([n_bytes]);
    let numbers = numbers.chain(lengths).flat_map(u32::to_le_bytes);
    numbers.chain(data.into_bytes()).collect()
}

/// `abc`, `abd`, `abd`, `ef`.
const STRINGS: [(u32, &str); 4] = [(0, "abc"), (2, "d"), (3, ""), (0, "ef")];

const SHARED: &str = "at most the bytes of the string before, 0 for the first of each group";

#[test]
fn every_field_is_checked() {
    let good = unit(&STRINGS);
    assert_eq!(decode(&good, 4, 11), Ok(b"abcabdabdef".to_vec()));
    assert_eq!(decode(&unit(&[]), 0, 0), Ok(vec![]));
    let cut = |n: usize| decode(&good[..n], 4, 11);
    let truncated = |field, needed, have| Err(Error::truncated(field, needed, have));
    assert_eq!(cut(3), truncated("front.prefixes_len", 4, 3));
    assert_eq!(cut(7), truncated("front.suffix_bytes", 8, 7));
    assert_eq!(cut(23), truncated("front.prefixes", 24, 23));
    assert_eq!(cut(27), truncated("bytes.lengths_len", 4, 3));
    assert_eq!(cut(49), truncated("bytes.data", 26, 25));
    let mut huge = good.clone();
    huge[..4].fill(0xff);
    let needed = Error::from(ErrorKind::Truncated {
        field: "front.prefixes",
        needed_bytes: u64::from(u32::MAX) + 8,
        have_bytes: 50,
    });
    assert_eq!(decode(&huge, 4, 11), Err(needed));
    let allowed = "at most the unit's decoded bytes";
    let too_many = Error::corrupt("front.suffix_bytes", 4, 6u8, allowed);
    assert_eq!(decode(&good, 4, 5), Err(too_many));
    // The prefixes are those of three strings.
    assert_eq!(
        decode(&good, 3, 11),
        Err(Error::corrupt(
            "plain.values",
            12,
            4u8,
            "no bytes after the last value"
        ))
    );
}

#[test]
fn prefixes_are_those_of_the_string_before() {
    let bad = |i: usize, found: u32| Err(Error::corrupt("front.prefixes", i, found, SHARED));
    assert_eq!(decode(&unit(&[(1, "abc")]), 1, 4), bad(0, 1));
    assert_eq!(decode(&unit(&[(0, "abc"), (4, "")]), 2, 7), bad(1, 4));
    let most = unit(&[(0, "abc"), (u32::MAX, "d")]);
    assert_eq!(decode(&most, 2, 7), bad(1, u32::MAX));
    // The string before is the prefix alone.
    let strings = [(0, "abc"), (2, ""), (3, "d")];
    assert_eq!(decode(&unit(&strings), 3, 9), bad(2, 3));
    // In groups behind the first, in the middle and at the end of one.
    let mut strings = vec![(1, ""); 40];
    for i in [0, 16, 32] {
        strings[i] = (0, "a");
    }
    assert_eq!(decode(&unit(&strings), 40, 40), Ok(vec![b'a'; 40]));
    for i in [16, 17, 25, 31, 32, 33, 39] {
        let mut broken = strings.clone();
        let found = if i % 16 == 0 { 1 } else { 2 };
        broken[i] = (found, "");
        assert_eq!(decode(&unit(&broken), 40, 40), bad(i, found), "{i}");
    }
}

#[test]
fn bytes_add_up() {
    let good = unit(&STRINGS);
    let sum = "prefixes that make up the unit's decoded bytes with the suffixes";
    for said in [10, 12] {
        let bad = Error::corrupt("front.prefixes", 8, 11u8, sum);
        assert_eq!(decode(&good, 4, said), Err(bad));
    }
    // A byte more than the unit says, in the second group.
    let mut strings = vec![(0, "a")];
    strings.resize(16, (1, ""));
    strings.push((0, "bc"));
    let many = unit(&strings);
    assert!(decode(&many, 17, 18).is_ok());
    let bad = Error::corrupt("front.prefixes", 8, 18u8, sum);
    assert_eq!(decode(&many, 17, 17), Err(bad));
}

/// A child of another crate that checks nothing: its unit is an end for each string, one byte each.
struct Liar;

const LIAR: &str = "org.example.liar";

impl Encoding for Liar {
    fn id(&self) -> &'static str {
        LIAR
    }

    fn version(&self) -> Version {
        Version::new(1, 0)
    }

    fn check(&self, _: &Node<'_>) -> Result<NodeSpec> {
        Ok(NodeSpec::LEAF)
    }

    fn init(&self, _: &Node<'_>, _: Children, _: &[SharedBuffer]) -> Result<Box<dyn Decoder>> {
        Ok(Box::new(Self))
    }
}

impl Decoder for Liar {
    fn decode(
        &self,
        unit: Unit<'_>,
        _: Selection<'_>,
        _: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let out = out.into_bytes(unit.bytes.len())?;
        for (end, stored) in out.ends.iter_mut().zip(unit.bytes) {
            *end = u32::from(*stored);
        }
        Ok(unit.bytes.last().copied().unwrap_or_default().into())
    }
}

#[test]
fn suffixes_are_what_the_header_says() {
    let of_liar = Tree::leaf(LIAR, Version::new(1, 0), &[]);
    let tree = tarsia_front::tree(tarsia_plain::tree(), of_liar);
    let decoder = build_decoder(&registry(), &tree, ValueType::Bytes, &[]).unwrap();
    let decode = |ends: [u8; 3]| {
        let header = [12, 3, 0, 0, 0].map(u32::to_le_bytes);
        let bytes = [header.as_flattened(), &ends].concat();
        let unit = Unit {
            bytes: &bytes,
            len: 3,
            decoded_bytes: 3,
        };
        let out = Output::Bytes {
            ends: &mut [0; 3],
            base: 0,
            data: &mut [0; 3],
        };
        decoder.decode(unit, Selection::All, &mut Scratch::new(), out)
    };
    assert_eq!(decode([1, 1, 3]), Ok(3));
    let allowed = "what the suffixes decode to";
    let other = Err(Error::corrupt("front.suffix_bytes", 4, 3u8, allowed));
    assert_eq!(decode([1, 1, 2]), other);
    assert_eq!(decode([1, 1, 4]), other);
    let falling = Err(Error::invalid("a decoder returned bad ends"));
    assert_eq!(decode([2, 1, 3]), falling);
}

/// A range or a single value looks at its group alone, and never leaves the output.
#[test]
fn parts_of_a_broken_unit() {
    let mut strings = vec![(1, "b"); 40];
    for i in [0, 16, 32] {
        strings[i] = (0, "a");
    }
    strings[20] = (9, "");
    let bytes = unit(&strings);
    let unit = Unit {
        bytes: &bytes,
        len: 40,
        decoded_bytes: 87,
    };
    let decoder = build_decoder(&registry(), &tree(), ValueType::Bytes, &[]).unwrap();
    let get = |selection: Selection<'_>, room: usize| {
        let n = selection.check(40).unwrap();
        let out = Output::Bytes {
            ends: &mut vec![0; n],
            base: 0,
            data: &mut vec![0; room],
        };
        decoder.decode(unit, selection, &mut Scratch::new(), out)
    };
    let range = |start, len| Selection::Range { start, len };
    let bad = Err(Error::corrupt("front.prefixes", 20, 9u8, SHARED));
    let short = Err(Error::invalid("the output is too short for the selection"));
    assert_eq!(get(range(0, 20), 38), Ok(38));
    assert_eq!(get(range(0, 20), 37), short);
    assert_eq!(get(range(0, 21), 99), bad);
    assert_eq!(get(range(25, 1), 99), bad);
    assert_eq!(get(range(33, 7), 99), Ok(14));
    assert_eq!(get(Selection::Indices(&[3, 19, 19, 32]), 7), Ok(7));
    assert_eq!(get(Selection::Indices(&[3, 19, 19, 32]), 6), short);
    assert_eq!(get(Selection::Indices(&[20]), 99), bad);
    assert_eq!(get(Selection::Indices(&[3, 31]), 99), bad);
}

#[test]
fn parameters_and_other_types_are_refused() {
    let init =
        |tree: &Tree, value_type| build_decoder(&registry(), tree, value_type, &[]).map(drop);
    let children = tree().children;
    let with = Tree::node(tarsia_front::ID, tarsia_front::VERSION, &[3], children);
    let params = Error::corrupt("front.params_len", 0, 1u8, "0 (no parameters)");
    assert_eq!(init(&with, ValueType::Bytes), Err(params));
    for other in [ValueType::Bits, ValueType::Fixed(0), ValueType::Fixed(4)] {
        let found = init(&tree(), other);
        let kind = found.as_ref().map_err(Error::kind);
        let is_refused = matches!(kind, Err(ErrorKind::Unsupported { .. }));
        assert!(is_refused, "{other:?}: {found:?}");
    }
}
