//! The laws of all encodings, for bitshuffle over plain and over packed planes.

use tarsia_bitshuffle::{BITSHUFFLE, GROUP_VALUES, VERSION, tree};
use tarsia_codec::{
    DecodeCost, EncodingWriter, Facts, LogicalType, Output, Proposals, Registry, Scratch,
    Selection, Statistics, Tree, ValueType, build_decoder,
};
use tarsia_testkit::cases::{Case, CaseValues};
use tarsia_testkit::laws::{cases, check_cases};
use tarsia_testkit::rng::Rng;
use tarsia_testkit::units::{self, unit_of};

fn registry() -> Registry {
    let mut registry = Registry::new();
    let cost = DecodeCost::default();
    registry
        .add_writer(&BITSHUFFLE, cost)
        .add_writer(&tarsia_bitpack::BITPACK, cost)
        .add_writer(&tarsia_plain::PLAIN, cost);
    registry
}

/// Samples of a slow signal with noise in the low bits: what the encoding is made for.
fn samples(width: usize, n: usize) -> Case {
    let mut rng = Rng::new(n as u64);
    let sample = |i: usize| (1000 + (i / 50) as u128) << 3 | u128::from(rng.u64() & 7);
    let numbers: Vec<u128> = (0..n).map(sample).collect();
    Case::numbers("samples", width, &numbers)
}

#[test]
fn numbers_obey_the_laws() {
    for child in [tarsia_plain::tree(), tarsia_bitpack::tree()] {
        for width in [1, 2, 4, 8] {
            let tree = tree(child.clone());
            check_cases(&registry(), &tree, &cases(ValueType::Fixed(width)));
            // Groups and tiles of 128 values that end anywhere.
            let sizes = [120, 127, 128, 129, 136, 1024 + 128, 2048, 3 * 1024 + 5];
            let samples = sizes.map(|n| samples(width as usize, n));
            check_cases(&registry(), &tree, &samples);
        }
    }
}

/// The planes of a unit, bit by bit as the layout says.
fn planes_of(case: &Case, width: usize) -> Vec<u8> {
    let CaseValues::Fixed { bytes, .. } = &case.values else {
        panic!("numbers");
    };
    let values: Vec<&[u8]> = bytes.chunks(width).collect();
    let mut planes = Vec::new();
    for group in values.chunks(GROUP_VALUES) {
        for plane in 0..8 * width {
            let mut bits = vec![0; group.len().div_ceil(8)];
            for (j, value) in group.iter().enumerate() {
                bits[j / 8] |= (value[plane / 8] >> (plane % 8) & 1) << (j % 8);
            }
            planes.extend(bits);
        }
    }
    planes
}

#[test]
fn the_planes_are_those_of_the_layout() {
    let mut rng = Rng::new(7);
    for width in [1, 2, 4, 8] {
        for n in [0, 1, 8, 13, 127, 128, 1000, 1024, 1025, 2500] {
            let bytes = rng.bytes(n * width);
            let case = Case::fixed("random", width, n, bytes);
            let tree = tree(tarsia_plain::tree());
            let (unit, _) = units::encode(&registry(), &tree, case.values()).unwrap();
            assert_eq!(unit, planes_of(&case, width), "{n} values of {width} bytes");
        }
    }
}

/// Single values far from each other are found in their rows, close ones in their groups; both are the values of the
/// unit.
#[test]
fn few_and_many_single_values_are_those_of_the_unit() {
    let n = 5 * 1024 + 3;
    for width in [1, 2, 4, 8] {
        let bytes = Rng::new(width as u64).bytes(n * width);
        let case = Case::fixed("random", width, n, bytes.clone());
        for child in [tarsia_plain::tree(), tarsia_bitpack::tree()] {
            let tree = tree(child);
            let (unit, _) = units::encode(&registry(), &tree, case.values()).unwrap();
            let value_type = ValueType::Fixed(width as u32);
            let decoder = build_decoder(&registry(), &tree, value_type, &[]).unwrap();
            for step in [1, 7, 100, 128, 129, 300, 1024, 2500, n] {
                let selected = (0..n as u32).step_by(step).flat_map(|i| [i, i]);
                let mut indices: Vec<u32> = selected.collect();
                indices.push(n as u32 - 1);
                let mut out = vec![0; indices.len() * width];
                let done = decoder.decode(
                    unit_of(&unit, &case.values()),
                    Selection::Indices(&indices),
                    &mut Scratch::new(),
                    Output::Fixed(&mut out),
                );
                assert_eq!(done, Ok(0));
                let expected = indices.iter().flat_map(|i| {
                    let at = *i as usize * width;
                    bytes[at..at + width].to_vec()
                });
                assert!(expected.eq(out), "each {step}th of {width} bytes as {tree}");
            }
        }
    }
}

/// The values of the child that is proposed, where one is.
fn proposed_child(case: &Case, is_named: bool) -> Option<Vec<u8>> {
    let statistics = Statistics::new(case.values(), Facts::of(LogicalType::Signed));
    let mut proposals = Proposals::new(u64::MAX, VERSION).of_named(is_named);
    BITSHUFFLE.propose(&statistics, &mut proposals).unwrap();
    let proposal = proposals.into_vec().pop()?;
    assert_eq!((proposal.bytes, proposal.params.len()), (0, 0));
    let values = proposal.children[0].values().unwrap();
    Some(values.as_fixed().unwrap().bytes().to_vec())
}

#[test]
fn planes_are_proposed_where_it_is_named() {
    for width in [1, 2, 4, 8] {
        let case = samples(width, 3000);
        assert_eq!(
            proposed_child(&case, true),
            Some(planes_of(&case, width)),
            "{width} bytes"
        );
        assert_eq!(proposed_child(&case, false), None);
    }
    assert_eq!(proposed_child(&Case::numbers("", 4, &[]), true), None);
    let wide = Case::numbers("", 16, &[1, 2]);
    assert_eq!(proposed_child(&wide, true), None);
    assert_eq!(proposed_child(&Case::strings("", &["a"]), true), None);
}

/// Planes that are all zero take nearly nothing under a child that makes them shorter.
#[test]
fn bits_that_are_all_zero_are_left_to_the_child() {
    let case = samples(8, 8192);
    let bytes = |tree: &Tree| {
        units::encode(&registry(), tree, case.values())
            .unwrap()
            .0
            .len()
    };
    assert_eq!(bytes(&tree(tarsia_plain::tree())), 8 * 8192);
    // Two of eight bytes have bits.
    let packed = bytes(&tree(tarsia_bitpack::tree()));
    assert!(packed < 2 * 8192 + 1000, "{packed}");
}
