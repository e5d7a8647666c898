//! One broken unit for each rule, with the exact error.

use core::num::NonZero;

use tarsia_codec::{Error, ErrorKind, Tree, Unit, ValueType};
use tarsia_quantized::{Format, ID, VERSION, page_tree, tree, vector_tree, wide_page_tree};
use tarsia_testkit::cases::CaseValues;
use tarsia_testkit::units;

use crate::laws::registry;

/// The values of a unit.
fn decode(tree: &Tree, width: u32, bytes: &[u8], len: u32) -> Result<Vec<u8>, Error> {
    let unit = Unit {
        bytes,
        len,
        decoded_bytes: len * width,
    };
    match units::decode(&registry(), tree, ValueType::Fixed(width), unit, &[])? {
        CaseValues::Fixed { bytes, .. } => Ok(bytes),
        other => panic!("{other:?}"),
    }
}

fn of(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|it| it.to_le_bytes()).collect()
}

#[test]
fn numbers_are_those_of_the_child() {
    let halves = tree(Format::Bf16, tarsia_plain::tree());
    let unit = [0x80, 0x3f, 0, 0xc0];
    assert_eq!(decode(&halves, 4, &unit, 2), Ok(of(&[1.0, -2.0])));
    let short = Error::truncated("plain.values", 4, 3);
    assert_eq!(decode(&halves, 4, &unit[..3], 2), Err(short));
    let long = Error::corrupt("plain.values", 2, 2u8, "no bytes after the last value");
    assert_eq!(decode(&halves, 4, &unit, 1), Err(long));
}

#[test]
fn integers_of_4_bits_are_checked() {
    let int4 = page_tree(Format::Int4, 0.5, tarsia_plain::tree());
    assert_eq!(decode(&int4, 4, &[0xf8, 7], 2), Ok(of(&[-4.0, 3.5])));
    let allowed = "-8 ..= 7 in two's complement";
    for bad in [8u8, 0x7f, 0x80, 0xf7] {
        let error = Error::corrupt("quantized.numbers", 0, bad, allowed);
        assert_eq!(decode(&int4, 4, &[0, bad], 2), Err(error));
    }
    let int8 = page_tree(Format::Int8, 0.5, tarsia_plain::tree());
    assert_eq!(decode(&int8, 4, &[0x80, 0x7f], 2), Ok(of(&[-64.0, 63.5])));
}

/// A unit of vectors: scales, then integers.
fn unit(scales: &[f32], integers: &[i8]) -> Vec<u8> {
    let mut bytes = (scales.len() as u32 * 4).to_le_bytes().to_vec();
    bytes.extend(of(scales));
    bytes.extend(integers.iter().map(|it| *it as u8));
    bytes
}

#[test]
fn vectors_are_checked() {
    let pairs = |format| {
        let dim = NonZero::new(2).unwrap();
        vector_tree(format, dim, tarsia_plain::tree(), tarsia_plain::tree())
    };
    let int4 = pairs(Format::Int4);
    let four = |bytes: &[u8]| decode(&int4, 4, bytes, 4);
    let good = unit(&[0.5, 2.0], &[7, -8, 1, 0]);
    assert_eq!(four(&good), Ok(of(&[3.5, -4.0, 2.0, 0.0])));
    let part = Error::corrupt(
        "quantized.n_values",
        0,
        3u8,
        "a multiple of the values of a vector",
    );
    assert_eq!(decode(&int4, 4, &good, 3), Err(part));
    let truncated = |field, needed, have| Err(Error::truncated(field, needed, have));
    assert_eq!(four(&good[..3]), truncated("quantized.scales_len", 4, 3));
    assert_eq!(four(&good[..11]), truncated("quantized.scales", 12, 11));
    assert_eq!(four(&good[..15]), truncated("plain.values", 4, 3));
    let few = unit(&[0.5], &[7, -8, 1, 0]);
    assert_eq!(four(&few), truncated("plain.values", 8, 4));
    let allowed = "-8 ..= 7 in two's complement";
    let wide = Error::corrupt("quantized.numbers", 12, 9u8, allowed);
    assert_eq!(four(&unit(&[0.5, 2.0], &[7, -8, 9, 0])), Err(wide));
    let wide = decode(
        &pairs(Format::Int8),
        4,
        &unit(&[0.5, 2.0], &[7, -8, 9, 0]),
        4,
    );
    assert_eq!(wide, Ok(of(&[3.5, -4.0, 18.0, 0.0])));
    for scale in [0.0, -0.0, -1.0, f32::INFINITY, f32::NAN] {
        let allowed = "the bits of a finite number above 0";
        let error = Error::corrupt("quantized.scale", 4, scale.to_bits(), allowed);
        assert_eq!(four(&unit(&[0.5, scale], &[7, -8, 1, 0])), Err(error));
    }
    // Values of 2 and 8 bytes have the same units.
    let halves = [3.5, -4.0, 2.0, 0.0].map(|it| half::f16::from_f32(it).to_le_bytes());
    assert_eq!(decode(&int4, 2, &good, 4), Ok(halves.concat()));
    let doubles = [3.5, -4.0, 2.0, 0.0].map(f64::to_le_bytes);
    assert_eq!(decode(&int4, 8, &good, 4), Ok(doubles.concat()));
}

#[test]
fn products_are_rounded_in_the_type_of_the_values() {
    // In 4 bytes the product of 3 and 0.1 is rounded, in 8 bytes not, as the scale has 4 bytes.
    let dim = NonZero::new(1).unwrap();
    let vectors = vector_tree(
        Format::Int8,
        dim,
        tarsia_plain::tree(),
        tarsia_plain::tree(),
    );
    let good = unit(&[0.1], &[3]);
    assert_eq!(decode(&vectors, 4, &good, 1), Ok(of(&[3.0 * 0.1])));
    let wide = (3.0 * f64::from(0.1f32)).to_le_bytes();
    assert_eq!(decode(&vectors, 8, &good, 1), Ok(wide.to_vec()));
    let narrow = half::f16::from_f32(3.0 * 0.1).to_le_bytes();
    assert_eq!(decode(&vectors, 2, &good, 1), Ok(narrow.to_vec()));
    // The largest products: to infinity where the type of the product has no larger number, else to the largest.
    let large = unit(&[f32::MAX], &[-127]);
    assert_eq!(decode(&vectors, 4, &large, 1), Ok(of(&[f32::NEG_INFINITY])));
    assert_eq!(decode(&vectors, 2, &large, 1), Ok(vec![0, 0xfc]));
    let large = unit(&[1000.0], &[127]);
    assert_eq!(decode(&vectors, 2, &large, 1), Ok(vec![0xff, 0x7b]));
}

#[test]
fn parameters_and_other_types_are_refused() {
    let with = |params: &[u8], n_children: usize, width: u32| {
        let tree = Tree::node(ID, VERSION, params, vec![tarsia_plain::tree(); n_children]);
        decode(&tree, width, &[], 0)
    };
    let truncated = |field, needed, have| Err(Error::truncated(field, needed, have));
    assert_eq!(with(&[], 1, 4), truncated("quantized.format", 1, 0));
    let unknown = Error::corrupt("quantized.format", 0, 7u8, "0 ..= 6");
    assert_eq!(with(&[7], 1, 4), Err(unknown));
    let wide = |found: u8| {
        let allowed = "a format of fewer bytes than the values";
        Err(Error::corrupt("quantized.format", 0, found, allowed))
    };
    assert_eq!(with(&[0], 1, 8), Ok(vec![]));
    assert_eq!(with(&[0], 1, 4), wide(0));
    assert_eq!(with(&[1], 1, 2), wide(1));
    assert_eq!(with(&[2], 1, 2), wide(2));
    assert_eq!(with(&[3], 1, 2), Ok(vec![]));
    // A scale of a format that has none.
    let after = "no bytes after the last field";
    let vectors = Error::corrupt("quantized.params", 1, 5u8, after);
    assert_eq!(with(&[2, 1, 4, 0, 0, 0], 1, 4), Err(vectors));
    assert_eq!(with(&[5], 1, 4), truncated("quantized.scope", 2, 1));
    let scope = Error::corrupt("quantized.scope", 1, 2u8, "0 or 1");
    assert_eq!(with(&[6, 2, 0, 0, 0, 0], 1, 4), Err(scope));
    let page = |scale: &[u8]| [&[5, 0], scale].concat();
    let half = 0.5f32.to_le_bytes();
    assert_eq!(with(&page(&half), 1, 4), Ok(vec![]));
    assert_eq!(with(&page(&half), 1, 2), Ok(vec![]));
    assert_eq!(
        with(&page(&half[..3]), 1, 4),
        truncated("quantized.scale", 6, 5)
    );
    assert_eq!(
        with(&page(&half), 1, 8),
        truncated("quantized.scale", 10, 6)
    );
    let longer = Error::corrupt("quantized.params", 6, 4u8, after);
    assert_eq!(with(&page(&[half, half].concat()), 1, 4), Err(longer));
    let allowed = "the bits of a finite number above 0";
    for scale in [0.0, -0.0, -1.0, f32::INFINITY, f32::NAN] {
        let narrow = Error::corrupt("quantized.scale", 2, scale.to_bits(), allowed);
        assert_eq!(with(&page(&scale.to_le_bytes()), 1, 4), Err(narrow));
        let scale = f64::from(scale);
        let wide = Error::corrupt("quantized.scale", 2, scale.to_bits(), allowed);
        assert_eq!(with(&page(&scale.to_le_bytes()), 1, 8), Err(wide));
    }
    let zero = Error::corrupt("quantized.dim", 2, 0u8, "at least 1");
    assert_eq!(with(&[5, 1, 0, 0, 0, 0], 2, 4), Err(zero));
    assert_eq!(
        with(&[5, 1, 2, 0, 0], 2, 4),
        truncated("quantized.dim", 6, 5)
    );
    for other in [
        ValueType::Fixed(1),
        ValueType::Fixed(16),
        ValueType::Bits,
        ValueType::Bytes,
    ] {
        let plain = tarsia_plain::tree;
        for tree in [
            tree(Format::Bf16, plain()),
            page_tree(Format::Int8, 1.0, plain()),
            wide_page_tree(Format::Int8, 1.0, plain()),
        ] {
            let unit = Unit {
                bytes: &[],
                len: 0,
                decoded_bytes: 0,
            };
            let found = units::decode(&registry(), &tree, other, unit, &[]);
            let kind = found.as_ref().map_err(Error::kind);
            let is_refused = matches!(kind, Err(ErrorKind::Unsupported { .. }));
            assert!(is_refused, "{other:?}: {found:?}");
        }
    }
}
