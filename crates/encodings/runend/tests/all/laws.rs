//! The laws of all encodings, for runs over plain and over packed children.

use tarsia_codec::{
    DecodeCost, Facts, Output, Proposals, Registry, Scratch, Selection, Statistics, Tree,
    ValueType, Values, build_decoder,
};
use tarsia_runend::{EndBytes, tree};
use tarsia_testkit::cases::Case;
use tarsia_testkit::laws::{cases, check_cases_with};
use tarsia_testkit::units;

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry
        .add_writer(&tarsia_runend::RUNEND, DecodeCost::default())
        .add_writer(&tarsia_bitmap::BITMAP, DecodeCost::default())
        .add_writer(&tarsia_bitpack::BITPACK, DecodeCost::default())
        .add_writer(&tarsia_bytes::BYTES, DecodeCost::default())
        .add_writer(&tarsia_plain::PLAIN, DecodeCost::default());
    registry
}

fn values_tree(value_type: ValueType) -> Tree {
    match value_type {
        ValueType::Bits => tarsia_bitmap::tree(),
        ValueType::Fixed(_) => tarsia_plain::tree(),
        ValueType::Bytes => tarsia_bytes::tree(tarsia_plain::tree()),
    }
}

fn check(value_type: ValueType, ends: Tree) {
    let mut all = cases(value_type);
    // Large cases and all bit widths test nothing of runs that a few small cases do not.
    all.retain(|case| case.values().decoded_bytes() <= 1 << 16 && !case.name.contains(" bits"));
    check_cases_with(&registry(), &all, |case| {
        let end_bytes = EndBytes::for_units_of(case.len());
        Some(tree(end_bytes, ends.clone(), values_tree(value_type)))
    });
    check_cases_with(&registry(), &runs(value_type), |_| {
        Some(tree(EndBytes::Four, ends.clone(), values_tree(value_type)))
    });
}

/// Runs of 1 to 200 values.
fn runs(value_type: ValueType) -> Vec<Case> {
    let numbers = (0..300).flat_map(|i| vec![i as u128 % 251; i * i % 200 + 1]);
    let numbers: Vec<u128> = numbers.collect();
    vec![match value_type {
        ValueType::Bits => {
            let bits: Vec<bool> = numbers.iter().map(|it| it % 2 == 1).collect();
            Case::bits("runs", &bits)
        }
        ValueType::Fixed(width) => Case::numbers("runs", width as usize, &numbers),
        ValueType::Bytes => {
            let strings = numbers.iter().map(|it| vec![*it as u8; *it as usize % 5]);
            Case::strings("runs", &strings.collect::<Vec<_>>())
        }
    }]
}

#[test]
fn numbers_obey_the_laws() {
    for width in [1, 2, 4, 8] {
        check(ValueType::Fixed(width), tarsia_bitpack::tree());
    }
}

#[test]
fn other_widths_obey_the_laws() {
    for width in [0, 3, 16] {
        let all: Vec<Case> = cases(ValueType::Fixed(width));
        check_cases_with(&registry(), &all, |case| {
            let end_bytes = EndBytes::for_units_of(case.len());
            let small = case.values().decoded_bytes() <= 1 << 16;
            small.then(|| tree(end_bytes, tarsia_plain::tree(), tarsia_plain::tree()))
        });
    }
}

#[test]
fn bits_obey_the_laws() {
    check(ValueType::Bits, tarsia_plain::tree());
}

#[test]
fn byte_strings_obey_the_laws() {
    check(ValueType::Bytes, tarsia_plain::tree());
}

#[test]
fn a_run_takes_one_value() {
    let case = Case::numbers("runs", 8, &[[5; 1000], [7; 1000], [5; 1000]].concat());
    let tree = tree(EndBytes::Two, tarsia_plain::tree(), tarsia_plain::tree());
    let (encoded, _) = units::encode(&registry(), &tree, case.values()).unwrap();
    assert_eq!(encoded.len(), 8 + 2 * 2 + 3 * 8);
    let long = Case::numbers("long", 1, &vec![1; (1 << 16) + 1]);
    assert!(units::encode(&registry(), &tree, long.values()).is_err());
}

#[test]
fn single_values_come_from_their_run_alone() {
    let numbers: Vec<u128> = (0..3000).map(|i| i / 10).collect();
    let case = Case::numbers("runs", 4, &numbers);
    let tree = tree(EndBytes::Two, tarsia_plain::tree(), tarsia_plain::tree());
    let (mut encoded, _) = units::encode(&registry(), &tree, case.values()).unwrap();
    // The bytes of other values do not matter.
    let values_at = 8 + 299 * 2;
    encoded[values_at..values_at + 100 * 4].fill(0xff);
    encoded[values_at + 101 * 4..].fill(0xff);
    let decoder = build_decoder(&registry(), &tree, ValueType::Fixed(4), &[]).unwrap();
    let mut to = [0; 12];
    let unit = units::unit_of(&encoded, &case.values());
    let indices = Selection::Indices(&[1000, 1000, 1009]);
    let out = Output::Fixed(&mut to);
    decoder
        .decode(unit, indices, &mut Scratch::new(), out)
        .unwrap();
    assert_eq!(to, *[100u32.to_le_bytes(); 3].as_flattened());
}

/// A unit of one row may have more runs than are decoded at a time.
#[test]
fn units_of_many_runs_decode_in_chunks() {
    let numbers = (0..150_000usize).flat_map(|i| vec![i as u128 * 7; i % 2 + 1]);
    let numbers: Vec<u128> = numbers.collect();
    let n = numbers.len();
    let case = Case::numbers("many runs", 4, &numbers);
    let strings: Vec<Vec<u8>> = numbers.iter().map(|it| it.to_string().into()).collect();
    let strings = Case::strings("many runs", &strings);
    for case in [case, strings] {
        // Checked once: each call looks at all offsets.
        let values = case.values();
        let values_tree = values_tree(case.value_type());
        let tree = tree(EndBytes::Four, tarsia_plain::tree(), values_tree);
        let (encoded, _) = units::encode(&registry(), &tree, case.values()).unwrap();
        let decoder = build_decoder(&registry(), &tree, case.value_type(), &[]).unwrap();
        let unit = units::unit_of(&encoded, &case.values());
        let places: Vec<u32> = (0..n as u32)
            .filter(|i| i % 5 < 2 || *i > 200_000)
            .collect();
        let ranges = [
            0..n,
            5..n - 3,
            98_000..99_500,
            98_303..98_304,
            130_000..215_000,
        ];
        let selections = ranges.iter().map(|it| Selection::Range {
            start: it.start as u32,
            len: it.len() as u32,
        });
        let all = [Selection::All, Selection::Indices(&places)];
        for selection in selections.chain(all) {
            let wanted: Vec<usize> = match selection {
                Selection::All => (0..n).collect(),
                Selection::Range { start, len } => {
                    (start..start + len).map(|i| i as usize).collect()
                }
                Selection::Indices(places) => places.iter().map(|i| *i as usize).collect(),
            };
            let value = |i: usize| match values {
                Values::Fixed(fixed) => fixed.get(i),
                Values::Bytes(strings) => strings.get(i),
                Values::Bits(_) => &[],
            };
            let expect: Vec<u8> = wanted.iter().flat_map(|i| value(*i)).copied().collect();
            let mut ends = vec![0; wanted.len()];
            let mut data = vec![0; expect.len()];
            let out = match case.value_type() {
                ValueType::Bytes => Output::Bytes {
                    ends: &mut ends,
                    base: 10,
                    data: &mut data,
                },
                _ => Output::Fixed(&mut data),
            };
            decoder
                .decode(unit, selection, &mut Scratch::new(), out)
                .unwrap();
            assert!(data == expect, "{selection:?}");
            if case.value_type() == ValueType::Bytes {
                let mut end = 10;
                for (i, got) in wanted.iter().zip(ends) {
                    end += value(*i).len() as u32;
                    assert_eq!(got, end);
                }
            }
        }
    }
}

#[test]
fn only_long_runs_are_proposed() {
    let n_proposed = |run: u128, n: u128| {
        let numbers: Vec<u128> = (0..n).map(|i| i / run).collect();
        let case = Case::numbers("", 4, &numbers);
        let statistics = Statistics::new(case.values(), Facts::default());
        let mut proposals = Proposals::new(n as u64 * 4, tarsia_runend::VERSION);
        let writer: &dyn tarsia_codec::EncodingWriter = &tarsia_runend::RUNEND;
        writer.propose(&statistics, &mut proposals).unwrap();
        let list = proposals.into_vec();
        if let [proposal] = list.as_slice() {
            let [ends, values] = proposal.children.as_slice() else {
                panic!("two children");
            };
            let (ends, values) = (ends.values().unwrap(), values.values().unwrap());
            // A run may be cut by a block, and the last end of a block is not stored.
            let n_units = n.div_ceil(1 << 16) as usize;
            assert_eq!(values.len(), ends.len() + n_units);
            assert!(values.len() - statistics.run_starts().len() < n_units);
        }
        list.len()
    };
    assert_eq!(n_proposed(1, 100_000), 0);
    assert_eq!(n_proposed(7, 100_000), 1);
    assert_eq!(n_proposed(10_000, 1_000_000), 1);
}
