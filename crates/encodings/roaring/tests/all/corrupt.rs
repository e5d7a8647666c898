//! One broken unit per rule, with the exact error.

use tarsia_codec::{
    DecodeCost, Error, ErrorKind, Output, Registry, Scratch, Selection, Tree, Unit, ValueType,
    build_decoder,
};
use tarsia_roaring::{CONTAINER_VALUES, ID, ROARING, VERSION, tree};
use tarsia_testkit::cases::Case;
use tarsia_testkit::mutate::mutate;
use tarsia_testkit::rng::Rng;
use tarsia_testkit::units;

const RISING: &str = "rising numbers below the number of values";

/// The result of decoding a unit of `len` values.
fn decode(tree: &Tree, value_type: ValueType, bytes: &[u8], len: u32) -> Result<(), Error> {
    let mut registry = Registry::new();
    registry.add(&ROARING);
    let unit = Unit {
        bytes,
        len,
        decoded_bytes: 0,
    };
    units::decode(&registry, tree, value_type, unit, &[]).map(|_| ())
}

fn check(len: u32, bytes: &[u8], expected: Result<(), Error>) {
    let got = decode(&tree(), ValueType::Bits, bytes, len);
    assert_eq!(got, expected, "{bytes:?}");
}

#[test]
fn heads_are_checked() {
    check(0, &[], Ok(()));
    let after = "no bytes after the last field";
    let none = Error::corrupt("roaring.bodies", 0, 1u8, after);
    check(0, &[0], Err(none));
    check(9, &[0, 0, 0], Ok(()));
    check(9, &[0, 0], Err(Error::truncated("roaring.heads", 3, 2)));
    // Two containers.
    check(65_537, &[1, 0, 0, 0, 0, 0], Ok(()));
    let second = Error::truncated("roaring.heads", 6, 5);
    check(65_537, &[0, 0, 0, 0, 0], Err(second));
    let kind = Error::corrupt("roaring.kind", 3, 5u8, "0 ..= 4");
    check(65_537, &[0, 0, 0, 5, 0, 0], Err(kind));
    let many = Error::truncated("roaring.heads", 65_536 * 3, 3);
    check(u32::MAX, &[0, 0, 0], Err(many));
    let count = Error::corrupt("roaring.count", 1, 0x0201u16, "0 (a bitmap has no count)");
    check(8, &[4, 1, 2, 0xff], Err(count));
}

#[test]
fn bodies_have_their_bytes() {
    let after = "no bytes after the last field";
    let long = |at: usize| Err(Error::corrupt("roaring.bodies", at, 1u8, after));
    for kind in [0, 1] {
        check(9, &[kind, 2, 0, 1, 0, 8, 0], Ok(()));
        let short = Error::truncated("roaring.positions", 7, 6);
        check(9, &[kind, 2, 0, 1, 0, 8], Err(short));
        check(9, &[kind, 1, 0, 1, 0, 8], long(5));
    }
    for kind in [2, 3] {
        check(9, &[kind, 1, 0, 1, 0, 8, 0], Ok(()));
        let short = Error::truncated("roaring.runs", 7, 6);
        check(9, &[kind, 1, 0, 1, 0, 8], Err(short));
        check(9, &[kind, 1, 0, 1, 0, 8, 0, 9], long(7));
    }
    check(9, &[4, 0, 0, 0xff, 1], Ok(()));
    let short = Error::truncated("roaring.bits", 5, 4);
    check(9, &[4, 0, 0, 0xff], Err(short));
    check(9, &[4, 0, 0, 0xff, 1, 0], long(5));
    let spare = Error::corrupt("roaring.spare_bits", 4, 0x40u8, "zero");
    check(9, &[4, 0, 0, 0xff, 0x81], Err(spare));
}

#[test]
fn positions_rise_and_are_inside() {
    let bad = |at: usize, found: u32| Err(Error::corrupt("roaring.positions", at, found, RISING));
    check(9, &[0, 2, 0, 3, 0, 3, 0], bad(5, 3));
    check(9, &[1, 2, 0, 3, 0, 2, 0], bad(5, 2));
    check(9, &[0, 1, 0, 9, 0], bad(3, 9));
    check(9, &[0, 3, 0, 9, 0, 1, 0, 2, 0], bad(3, 9));
    // In the second container, which has one value.
    check(65_537, &[0, 1, 0, 0, 1, 0, 0xff, 0xff, 1, 0], bad(8, 1));
    check(65_537, &[0, 1, 0, 0, 1, 0, 0xff, 0xff, 0, 0], Ok(()));
}

#[test]
fn runs_rise_and_are_inside() {
    let bad = |at: usize, found: u32| Err(Error::corrupt("roaring.runs", at, found, RISING));
    check(9, &[2, 2, 0, 0, 0, 3, 0, 4, 0, 4, 0], Ok(()));
    check(9, &[2, 2, 0, 0, 0, 3, 0, 3, 0, 4, 0], bad(7, 3));
    check(9, &[3, 2, 0, 5, 0, 6, 0, 0, 0, 1, 0], bad(7, 0));
    check(9, &[2, 1, 0, 3, 0, 2, 0], bad(5, 2));
    check(9, &[2, 1, 0, 3, 0, 9, 0], bad(5, 9));
    check(9, &[2, 1, 0, 9, 0, 9, 0], bad(3, 9));
    check(65_536, &[2, 1, 0, 0, 0, 0xff, 0xff], Ok(()));
}

/// A part of a unit may decode although another part is broken, but writes no bit outside of its own.
#[test]
fn broken_places_leave_other_bits_alone() {
    let mut registry = Registry::new();
    registry.add(&ROARING);
    let decoder = build_decoder(&registry, &tree(), ValueType::Bits, &[]).unwrap();
    let places = [900u16, 3, 3, 40, 39, 2, 0xffff, 17];
    let body: Vec<u8> = places.iter().flat_map(|it| it.to_le_bytes()).collect();
    for kind in 0..4 {
        let count = if kind < 2 { 8 } else { 4 };
        let bytes = [&[kind, count, 0], body.as_slice()].concat();
        let unit = Unit {
            bytes: &bytes,
            len: 60,
            decoded_bytes: 0,
        };
        for start in 0..60 {
            for len in 0..=60 - start {
                let (mut ones, mut zeros) = ([0xff; 10], [0; 10]);
                for to in [&mut ones, &mut zeros] {
                    let out = Output::Bits {
                        bytes: to,
                        offset: 5,
                    };
                    let range = Selection::Range { start, len };
                    let _ = decoder.decode(unit, range, &mut Scratch::new(), out);
                }
                for at in (0..5).chain(5 + len as usize..80) {
                    let bit = |bytes: &[u8]| bytes[at / 8] >> (at % 8) & 1;
                    assert_eq!((bit(&ones), bit(&zeros)), (1, 0), "{kind} {start} {len}");
                }
            }
        }
    }
}

#[test]
fn parameters_and_other_types_are_refused() {
    let with_params = Tree::leaf(ID, VERSION, &[3]);
    let params = Error::corrupt("roaring.params_len", 0, 1u8, "0 (no parameters)");
    let refused = decode(&with_params, ValueType::Bits, &[], 0);
    assert_eq!(refused, Err(params));
    for value_type in [ValueType::Bytes, ValueType::Fixed(1)] {
        let refused = decode(&tree(), value_type, &[], 0);
        let kind = refused.as_ref().map_err(Error::kind);
        assert!(
            matches!(kind, Err(ErrorKind::Unsupported { .. })),
            "{refused:?}"
        );
    }
}

/// Where all of a changed unit decodes, its parts decode to the same; nothing panics.
#[test]
fn parts_of_changed_units_agree_with_all() {
    let mut registry = Registry::new();
    registry.add_writer(&ROARING, DecodeCost::default());
    let decoder = build_decoder(&registry, &tree(), ValueType::Bits, &[]).unwrap();
    let n = CONTAINER_VALUES + 1000;
    let of = |i: usize| match i % 7000 {
        place @ 0..40 => place != 17,
        _ => i > CONTAINER_VALUES && i % 90 == 1,
    };
    let case = Case::bits("", &(0..n).map(of).collect::<Vec<bool>>());
    let (bytes, _) = units::encode(&registry, &tree(), case.values()).unwrap();
    let mut rng = Rng::new(6);
    let mut n_whole = 0;
    for _ in 0..2000 {
        let mut changed = bytes.clone();
        mutate(&mut rng, &mut changed);
        let unit = Unit {
            bytes: &changed,
            len: n as u32,
            decoded_bytes: 0,
        };
        let decode = |selection: Selection<'_>, n_bits: usize| {
            let mut out = vec![0; n_bits.div_ceil(8)];
            let to = Output::Bits {
                bytes: &mut out,
                offset: 0,
            };
            let done = decoder.decode(unit, selection, &mut Scratch::new(), to);
            done.map(|_| (0..n_bits).map(|at| out[at / 8] >> (at % 8) & 1).collect())
        };
        let all: Result<Vec<u8>, Error> = decode(Selection::All, n);
        n_whole += usize::from(all.is_ok());
        let start = rng.below(n);
        let len = rng.below(n - start);
        let part = decode(
            Selection::Range {
                start: start as u32,
                len: len as u32,
            },
            len,
        );
        let count = [3, 500][rng.below(2)];
        let mut indices: Vec<u32> = (0..count).map(|_| rng.below(n) as u32).collect();
        indices.sort_unstable();
        let picked = decode(Selection::Indices(&indices), count);
        if let Ok(all) = all {
            assert_eq!(part.unwrap(), all[start..start + len]);
            let expected: Vec<u8> = indices.iter().map(|i| all[*i as usize]).collect();
            assert_eq!(picked.unwrap(), expected);
        }
    }
    assert!(n_whole > 50, "{n_whole} changed units decoded");
}
