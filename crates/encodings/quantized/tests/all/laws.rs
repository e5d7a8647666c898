//! The laws of all encodings, for values that numbers stand for.

use core::num::NonZero;

use tarsia_codec::{
    BlockValues, DecodeCost, Encoding, EncodingWriter, EraseFit, ErrorKind, Node, Registry, Sample,
    SharedBuffers, Tree, TreeWriter, ValueType,
};
use tarsia_quantized::{
    Format, ID, QUANTIZED, VERSION, page_tree, round_f32, tree, vector_tree, wide_page_tree,
};
use tarsia_testkit::cases::Case;
use tarsia_testkit::fuzzing::{Input, decode_anything};
use tarsia_testkit::laws::{LawCase, cases, check_cases, check_if_held};
use tarsia_testkit::mutate::mutate;
use tarsia_testkit::rng::Rng;
use tarsia_testkit::trees::fitted;
use tarsia_testkit::units;

pub(crate) fn registry() -> Registry {
    let mut registry = Registry::new();
    let cost = DecodeCost::default();
    registry
        .add_writer(&QUANTIZED, cost)
        .add_writer(&tarsia_bitpack::BITPACK, cost)
        .add_writer(&tarsia_plain::PLAIN, cost);
    registry
}

/// Values of 4 bytes.
pub(crate) fn floats(numbers: &[f32]) -> Case {
    let bytes = numbers.iter().flat_map(|it| it.to_le_bytes()).collect();
    Case::fixed("floats", 4, numbers.len(), bytes)
}

/// Values of 8 bytes.
pub(crate) fn doubles(numbers: &[f64]) -> Case {
    let bytes = numbers.iter().flat_map(|it| it.to_le_bytes()).collect();
    Case::fixed("doubles", 8, numbers.len(), bytes)
}

/// The tree of a sample, all of whose children are `child`.
fn tree_of(sample: &Sample, child: &Tree) -> Tree {
    let node = Node {
        value_type: sample.value_type,
        version: VERSION,
        params: &sample.params,
    };
    let n_children = QUANTIZED.check(&node).unwrap().children.len();
    Tree::node(ID, VERSION, &sample.params, vec![child.clone(); n_children])
}

fn check(child: &Tree, n_max: usize) {
    for sample in QUANTIZED.samples() {
        let all = cases(sample.value_type).into_iter();
        let held = all.filter(|case| case.len() <= n_max);
        let held: Vec<Case> = held.map(|case| fitted(&case, sample.fit)).collect();
        check_cases(&registry(), &tree_of(&sample, child), &held);
    }
}

#[test]
fn all_formats_obey_the_laws_over_plain() {
    check(&tarsia_plain::tree(), 20_000);
}

#[test]
fn all_formats_obey_the_laws_over_bitpack() {
    check(&tarsia_bitpack::tree(), 1025);
}

/// Values of whole vectors, rounded.
fn vectors(n_vectors: usize, dim: usize, format: Format) -> Case {
    let mut rng = Rng::new(dim as u64);
    let mut number = |i: usize| match i / dim % 3 {
        0 => 0.0,
        _ => (rng.below(2001) as f32 - 1000.0) * [1e-20, 0.7, 3e8][rng.below(3)],
    };
    let mut numbers: Vec<f32> = (0..n_vectors * dim).map(&mut number).collect();
    round_f32(&mut numbers, format, Some(dim)).unwrap();
    floats(&numbers)
}

fn tree_of_vectors(dim: usize, format: Format) -> Tree {
    let dim = NonZero::new(dim as u32).unwrap();
    vector_tree(format, dim, tarsia_bitpack::tree(), tarsia_plain::tree())
}

#[test]
fn vectors_of_many_values_obey_the_laws() {
    for format in [Format::Int8, Format::Int4] {
        for (n_vectors, dim) in [(0, 3), (1, 1), (500, 2), (70, 3), (30, 64), (4, 768)] {
            let case = vectors(n_vectors, dim, format);
            let tree = tree_of_vectors(dim, format);
            units::encode(&registry(), &tree, case.values()).unwrap();
            // Blocks that cut vectors are refused.
            let is_held =
                check_if_held(&LawCase::new("vectors", &registry(), &tree, case.values()));
            assert_eq!(is_held, case.is_empty() || dim == 1, "{dim}");
        }
    }
}

#[test]
fn bad_units_of_vectors_are_refused_or_decoded() {
    let mut rng = Rng::new(1);
    let mut n_decoded = 0;
    for format in [Format::Int8, Format::Int4] {
        let case = vectors(40, 7, format);
        let tree = tree_of_vectors(7, format);
        let (encoded, _) = units::encode(&registry(), &tree, case.values()).unwrap();
        let decode = |bytes: &[u8], len: u32| {
            let unit = tarsia_codec::Unit {
                len,
                ..units::unit_of(bytes, &case.values())
            };
            units::decode(&registry(), &tree, ValueType::Fixed(4), unit, &[])
        };
        for len in 0..encoded.len() {
            assert!(decode(&encoded[..len], 280).is_err(), "{len} bytes");
        }
        for round in 0..500 {
            let mut bytes = encoded.clone();
            mutate(&mut rng, &mut bytes);
            let unit = units::unit_of(&bytes, &case.values());
            let choices = rng.bytes(40);
            let mut choices = Input::new(&choices);
            let value_type = ValueType::Fixed(4);
            decode_anything(&registry(), &tree, value_type, &[], unit, &mut choices);
            n_decoded += usize::from(decode(&bytes, 280 - 7 * (round % 2)).is_ok());
        }
    }
    assert!(n_decoded > 0);
}

#[test]
fn rows_of_vectors_that_remain_fit_the_old_place() {
    let dim = 24;
    let case = vectors(100, dim, Format::Int8);
    let tree = tree_of_vectors(dim, Format::Int8);
    let (all, _) = units::encode(&registry(), &tree, case.values()).unwrap();
    let values = case.values().as_fixed().unwrap();
    for step in [2, 3, 10] {
        let rows = (0..100).filter(|row| row % step == 1);
        let rows: Vec<u8> = rows
            .flat_map(|row| values.slice(row * dim..(row + 1) * dim).bytes())
            .copied()
            .collect();
        let rows = Case::fixed("rows", 4, rows.len() / 4, rows);
        let (encoded, _) = units::encode(&registry(), &tree, rows.values()).unwrap();
        assert!(encoded.len() < all.len());
    }
    let fit = |tree: &Tree| {
        let writer = TreeWriter::new(&registry(), tree, ValueType::Fixed(4));
        writer.unwrap().erase_fit()
    };
    assert_eq!(fit(&tree), EraseFit::MayGrow);
    let plain = tarsia_plain::tree;
    assert_eq!(
        fit(&page_tree(Format::Int8, 1.0, plain())),
        EraseFit::Always
    );
    assert_eq!(fit(&tree_of_format(Format::F16)), EraseFit::Always);
}

/// As by a parent that derives its child's values from those of a block.
#[test]
fn blocks_of_other_values_are_encoded() {
    let dim = 3;
    let page = vectors(50, dim, Format::Int8);
    let of_page = page.values().as_fixed().unwrap();
    let reversed = of_page.bytes().chunks(dim * 4).rev().flatten().copied();
    let reversed = Case::fixed("reversed", 4, of_page.len(), reversed.collect());
    let plain = tarsia_plain::tree;
    let dim = NonZero::new(dim as u32).unwrap();
    let of_vectors = vector_tree(Format::Int8, dim, plain(), plain());
    let mut halves: Vec<f32> = (0..100).map(|i| i as f32 / 3.0).collect();
    round_f32(&mut halves, Format::F16, None).unwrap();
    let page_of_halves = floats(&halves);
    halves.reverse();
    for (tree, page, other) in [
        (of_vectors, page, reversed),
        (tree_of_format(Format::F16), page_of_halves, floats(&halves)),
    ] {
        let writer = TreeWriter::new(&registry(), &tree, ValueType::Fixed(4)).unwrap();
        let shared = &mut SharedBuffers::new();
        let encoder = writer.prepare(page.values(), shared, None).unwrap();
        let mut found = Vec::new();
        let block = BlockValues::all(other.values()).unwrap();
        encoder.encode(block, &mut found).unwrap();
        let (expected, _) = units::encode(&registry(), &tree, other.values()).unwrap();
        assert!(found == expected, "{tree}");
        // What is refused leaves the output as it is.
        let cut = BlockValues::new(page.values(), 1..3).unwrap();
        if encoder.encode(cut, &mut found).is_err() {
            assert!(found == expected, "{tree}");
        }
    }
}

fn tree_of_format(format: Format) -> Tree {
    tree(format, tarsia_plain::tree())
}

fn is_held(tree: &Tree, case: &Case) -> bool {
    let writer = TreeWriter::new(&registry(), tree, case.value_type()).unwrap();
    let prepared = writer.prepare(case.values(), &mut SharedBuffers::new(), None);
    match prepared.map(|_| ()).map_err(|error| error.into_kind()) {
        Ok(()) => true,
        Err(ErrorKind::InvalidInput { .. }) => false,
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn values_for_which_no_number_stands_are_refused() {
    let check = |tree: &Tree, number: f64, in_f32: bool, in_f64: bool| {
        let narrow = is_held(tree, &floats(&[0.5, number as f32]));
        assert_eq!(narrow, in_f32, "{tree:?} {number}");
        let wide = is_held(tree, &doubles(&[0.5, number]));
        assert_eq!(wide, in_f64, "{tree:?} {number}");
    };
    for (format, yes, no) in [
        (Format::Bf16, 1.0078125, 1.00390625),
        (Format::Bf16, -0.0, 1e39),
        (Format::F16, 65504.0, 65536.0),
        (Format::F16, 5.960464477539063e-8, 2.9802322387695313e-8),
        (Format::E4m3, -448.0, 480.0),
        (Format::E4m3, 0.001953125, f64::INFINITY),
        (Format::E5m2, 57344.0, 65536.0),
        (Format::E5m2, f64::NEG_INFINITY, 1.125),
    ] {
        check(&tree_of_format(format), yes, true, true);
        let is_infinite_in_f32 = no == 1e39;
        check(&tree_of_format(format), no, is_infinite_in_f32, false);
    }
    let single = tree_of_format(Format::F32);
    assert!(is_held(
        &single,
        &doubles(&[1e-45f32.into(), f32::MAX.into()])
    ));
    assert!(!is_held(&single, &doubles(&[0.1])));
    assert!(!is_held(&single, &doubles(&[1e300])));
    // The payload of a NaN that has as many bits, and one that has more.
    let nan = |payload: u64| f64::from_bits(0x7ff0_0000_0000_0000 | payload);
    assert!(is_held(&single, &doubles(&[nan(1 << 29)])));
    assert!(!is_held(&single, &doubles(&[nan(1 << 28)])));
    let half = tree_of_format(Format::F16);
    let nan = |payload: u32| f32::from_bits(0xff80_0000 | payload);
    assert!(is_held(&half, &floats(&[nan(1 << 13)])));
    assert!(!is_held(&half, &floats(&[nan(1 << 12 | 1 << 22)])));
    // OCP E4M3 has one NaN of each sign.
    let e4m3 = tree_of_format(Format::E4m3);
    assert!(is_held(&e4m3, &floats(&[nan(1 << 22)])));
    assert!(!is_held(&e4m3, &floats(&[nan(1 << 21)])));
    let plain = tarsia_plain::tree;
    let int8 = page_tree(Format::Int8, 0.5, plain());
    assert!(is_held(&int8, &floats(&[-64.0, 63.5, 0.0])));
    for number in [64.0, -64.5, 0.25, -0.0, f32::NAN, f32::INFINITY] {
        assert!(!is_held(&int8, &floats(&[number])), "{number}");
    }
    let int4 = wide_page_tree(Format::Int4, 0.1, plain());
    assert!(is_held(&int4, &doubles(&[3.0 * 0.1, -8.0 * 0.1])));
    for number in [0.3, 0.8, -0.9] {
        assert!(!is_held(&int4, &doubles(&[number])), "{number}");
    }
    let pairs = tree_of_vectors(2, Format::Int4);
    assert!(is_held(&pairs, &floats(&[7.0, -3.0, 0.0, 0.0])));
    assert!(!is_held(&pairs, &floats(&[7.0, -3.0, 1.0])));
    assert!(!is_held(&pairs, &floats(&[7.0, 2.5])));
}

#[test]
fn integers_of_4_bits_are_packed_in_4_bits() {
    let mut rng = Rng::new(4);
    let numbers: Vec<f32> = (0..1024).map(|_| rng.below(16) as f32 - 8.0).collect();
    let tree = page_tree(Format::Int4, 1.0, tarsia_bitpack::tree());
    let (encoded, _) = units::encode(&registry(), &tree, floats(&numbers).values()).unwrap();
    assert!(encoded.len() <= 512 + 4, "{}", encoded.len());
}
