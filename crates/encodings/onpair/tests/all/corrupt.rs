//! One broken unit, dictionary or tree per rule, with the exact error.

use std::sync::Arc;

use tarsia_codec::{
    Error, ErrorKind, Output, OwnedValues, Registry, Scratch, Selection, SharedBuffer, SharedKind,
    Tree, Unit, ValueType, build_decoder,
};
use tarsia_testkit::cases::Case;
use tarsia_testkit::units;

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry
        .add(&tarsia_onpair::ONPAIR)
        .add(&tarsia_plain::PLAIN);
    registry
}

fn tree() -> Tree {
    tarsia_onpair::tree(tarsia_plain::tree(), tarsia_plain::tree())
}

fn tokens<S: AsRef<[u8]>>(tokens: &[S]) -> SharedBuffer {
    let values = OwnedValues::copy_of(Case::strings("", tokens).values());
    SharedBuffer::new(SharedKind::TokenDictionary, Arc::new(values))
}

/// The strings "abcc" and "ab", of the tokens "ab" and "c".
fn good() -> Vec<u8> {
    let mut bytes = vec![4, 0, 0, 0, 8, 0, 0, 0];
    bytes.extend([3, 0, 0, 0, 1, 0, 0, 0]);
    bytes.extend([0, 0, 1, 0, 1, 0, 0, 0]);
    bytes
}

fn decode(bytes: &[u8], decoded_bytes: u32) -> Result<(), Error> {
    let unit = Unit {
        bytes,
        len: 2,
        decoded_bytes,
    };
    let shared = [tokens(&["ab", "c"])];
    units::decode(&registry(), &tree(), ValueType::Bytes, unit, &shared).map(|_| ())
}

fn check(change: impl FnOnce(&mut Vec<u8>), expected: Error) {
    let mut bytes = good();
    change(&mut bytes);
    assert_eq!(decode(&bytes, 6), Err(expected));
}

#[test]
fn every_field_is_checked() {
    assert_eq!(decode(&good(), 6), Ok(()));
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
    let allowed = "tokens that add up to the unit's decoded bytes";
    let sum = |found: u8| Err(Error::corrupt("onpair.codes", 0, found, allowed));
    assert_eq!(decode(&good(), 7), sum(6));
    assert_eq!(decode(&good(), 5), sum(6));
    // What was written before the end of the output counts.
    let mut longer = good();
    longer[20] = 0;
    assert_eq!(decode(&longer, 6), sum(7));
}

#[test]
fn ranges_and_single_values_are_checked() {
    let shared = [tokens(&["ab", "c"])];
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
            assert_eq!(get(&good(), selection, 20), Ok(bytes));
            assert_eq!(get(&good(), selection, bytes - 1), short);
        }
    }
    let mut bad = good();
    bad[8] = 5;
    let sum = |found: u8| {
        let allowed = "a sum equal to the number of codes";
        Err(Error::corrupt("onpair.counts", 8, found, allowed))
    };
    assert_eq!(get(&bad, range(0), 20), sum(5));
    assert_eq!(get(&bad, range(1), 20), sum(6));
    assert_eq!(get(&bad, Selection::Indices(&[1]), 20), sum(6));
    let mut bad = good();
    bad[22] = 9;
    assert_eq!(get(&bad, range(0), 20), Ok(4));
    assert!(get(&bad, range(1), 20).is_err());
    assert!(get(&bad, Selection::Indices(&[1]), 20).is_err());
}

#[test]
fn ends_never_wrap() {
    let shared = [tokens(&["ab", "c"])];
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
fn dictionaries_are_checked() {
    let with = |tokens| init(&tree(), ValueType::Bytes, tokens);
    assert_eq!(with(tokens(&["", "0123456789abcdef", ""])), Ok(()));
    let long = Error::corrupt("onpair.tokens", 1, 17u8, "at most 16 bytes");
    assert_eq!(with(tokens(&["", "0123456789abcdefg"])), Err(long));
    assert_eq!(with(tokens(&vec!["a"; 1 << 16])), Ok(()));
    let n = (1 << 16) + 1;
    let many = Error::corrupt("onpair.tokens", 0, n as u32, "at most 65,536");
    assert_eq!(with(tokens(&vec!["a"; n])), Err(many));
    for kind in SharedKind::ALL {
        let buffer = SharedBuffer::new(kind, tokens(&["a"]).values().clone());
        let is_right = kind == SharedKind::TokenDictionary;
        assert_eq!(with(buffer).is_ok(), is_right, "{kind:?}");
    }
}

#[test]
fn parameters_and_other_types_are_refused() {
    let children = vec![tarsia_plain::tree(), tarsia_plain::tree()];
    let with_params = Tree::node(tarsia_onpair::ID, tarsia_onpair::VERSION, &[3], children);
    let params = Error::corrupt("onpair.params_len", 0, 1u8, "0 (no parameters)");
    let got = init(
        &with_params.with_shared(&[0]),
        ValueType::Bytes,
        tokens(&["a"]),
    );
    assert_eq!(got, Err(params));
    let got = init(&tree(), ValueType::Fixed(4), tokens(&["a"]));
    let kind = got.as_ref().map_err(Error::kind);
    assert!(
        matches!(kind, Err(ErrorKind::Unsupported { .. })),
        "{got:?}"
    );
}
