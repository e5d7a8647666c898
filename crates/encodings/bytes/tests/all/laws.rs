//! The laws of all encodings, for bytes over plain lengths.

use tarsia_codec::{
    DecodeCost, Output, Registry, Scratch, Selection, Tree, Unit, ValueType, build_decoder,
};
use tarsia_testkit::cases::Case;
use tarsia_testkit::laws::{cases, check_cases};
use tarsia_testkit::units;

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry
        .add_writer(&tarsia_bytes::BYTES, DecodeCost::default())
        .add_writer(&tarsia_plain::PLAIN, DecodeCost::default());
    registry
}

fn tree() -> Tree {
    tarsia_bytes::tree(tarsia_plain::tree())
}

#[test]
fn byte_strings_obey_the_laws() {
    check_cases(&registry(), &tree(), &cases(ValueType::Bytes));
}

#[test]
fn one_row_of_more_values_than_a_chunk_of_lengths() {
    let n = (1 << 20) + 77;
    let strings: Vec<&[u8]> = (0..n).map(|i| &b"abcdefg"[..i % 7]).collect();
    let case = Case::strings("", &strings);
    let values = case.values();
    let (encoded, _) = units::encode(&registry(), &tree(), values).unwrap();
    let unit = units::unit_of(&encoded, &values);
    let decoder = build_decoder(&registry(), &tree(), ValueType::Bytes, &[]).unwrap();
    let indices = [0, 5, 5, 1 << 20, (1 << 20) + 3, n as u32 - 1];
    let mut expected = vec![];
    for i in indices {
        expected.extend_from_slice(strings[i as usize]);
    }
    let mut ends = [0; 6];
    let mut data = [0; 64];
    let mut scratch = Scratch::new();
    let out = Output::Bytes {
        ends: &mut ends,
        base: 0,
        data: &mut data,
    };
    let written = decoder
        .decode(unit, Selection::Indices(&indices), &mut scratch, out)
        .unwrap();
    assert_eq!(&data[..written], expected);
    let range = Selection::Range {
        start: (1 << 20) + 20,
        len: 3,
    };
    let out = Output::Bytes {
        ends: &mut ends[..3],
        base: 10,
        data: &mut data,
    };
    let written = decoder.decode(unit, range, &mut scratch, out).unwrap();
    let expected = strings[(1 << 20) + 20..][..3].concat();
    assert_eq!(&data[..written], expected);
    assert_eq!(ends[2] as usize, 10 + written);
}

#[test]
fn ends_never_wrap() {
    let case = Case::strings("", &["abc", "de"]);
    let values = case.values();
    let (encoded, _) = units::encode(&registry(), &tree(), values).unwrap();
    let decoder = build_decoder(&registry(), &tree(), ValueType::Bytes, &[]).unwrap();
    for selection in [Selection::All, Selection::Indices(&[0, 1])] {
        for (base, fits) in [
            (u32::MAX - 5, true),
            (u32::MAX - 4, false),
            (u32::MAX, false),
        ] {
            let unit: Unit<'_> = units::unit_of(&encoded, &values);
            let out = Output::Bytes {
                ends: &mut [0; 2],
                base,
                data: &mut [0; 5],
            };
            let got = decoder.decode(unit, selection, &mut Scratch::new(), out);
            assert_eq!(got.is_ok(), fits, "{selection:?} {base}");
        }
    }
}
