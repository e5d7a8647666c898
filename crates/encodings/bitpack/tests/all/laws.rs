//! The laws of all encodings, and the properties of this one.

use tarsia_bitpack::{BITPACK, Mode, estimate, tree, tree_of};
use tarsia_codec::{
    BlockValues, DecodeCost, FixedSlice, Registry, SharedBuffers, Tree, ValueType, Values,
    build_encoder,
};
use tarsia_testkit::laws::{Case, LawCase, check_cases, check_encoding, fixed_cases};
use tarsia_testkit::rng::Rng;

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.add_writer(&BITPACK, DecodeCost::default());
    registry
}

fn encode(tree: &Tree, values: Values<'_>) -> Vec<u8> {
    let encoder = build_encoder(&registry(), tree, values, &mut SharedBuffers::new()).unwrap();
    let mut out = vec![];
    encoder
        .encode(BlockValues::all(values).unwrap(), &mut out)
        .unwrap();
    out
}

#[test]
fn laws_of_1_byte() {
    check_cases(&registry(), &tree(), &fixed_cases(1));
    check_cases(&registry(), &tree_of(Mode::Uniform), &fixed_cases(1));
}

#[test]
fn laws_of_2_bytes() {
    check_cases(&registry(), &tree(), &fixed_cases(2));
    check_cases(&registry(), &tree_of(Mode::Uniform), &fixed_cases(2));
}

#[test]
fn laws_of_4_bytes() {
    check_cases(&registry(), &tree(), &fixed_cases(4));
    check_cases(&registry(), &tree_of(Mode::Uniform), &fixed_cases(4));
}

#[test]
fn laws_of_8_bytes() {
    check_cases(&registry(), &tree(), &fixed_cases(8));
    check_cases(&registry(), &tree_of(Mode::Uniform), &fixed_cases(8));
}

/// Values for each form of a unit: name, width of values, values.
fn shaped(seed: u64, width: usize, n: usize) -> Vec<(String, Vec<u64>)> {
    let mut rng = Rng::new(seed);
    let bits = 8 * width as u32;
    let mask = u64::MAX >> (64 - bits);
    let mut shapes: Vec<(String, Vec<u64>)> = vec![];
    for kept in 0..=bits {
        let values = (0..n).map(|_| rng.u64() & mask & (u128::MAX >> (128 - kept)) as u64);
        let values = if kept == 0 {
            vec![0; n]
        } else {
            values.collect()
        };
        shapes.push((format!("{kept} bits"), values));
    }
    let mut push = |name: &str, values: Vec<u64>| shapes.push((name.into(), values));
    push(
        "small signed",
        (0..n)
            .map(|_| rng.u64() % 100)
            .map(|v| v.wrapping_sub(50))
            .collect(),
    );
    push("all ones", vec![u64::MAX; n]);
    push(
        "extremes",
        (0..n)
            .map(|_| *rng.pick(&[0, u64::MAX, mask >> 1, (mask >> 1) + 1]))
            .collect(),
    );
    push(
        "rising",
        (0..n).map(|i| (i as u64).wrapping_mul(37)).collect(),
    );
    push(
        "falling",
        (0..n)
            .map(|i| (i as u64).wrapping_mul(3).wrapping_neg())
            .collect(),
    );
    push(
        "rare large",
        (0..n)
            .map(|_| {
                if rng.percent(1) {
                    rng.u64()
                } else {
                    rng.u64() % 8
                }
            })
            .collect(),
    );
    push(
        "rare middling",
        (0..n)
            .map(|_| if rng.percent(2) { rng.u64() % 3000 } else { 7 })
            .collect(),
    );
    push(
        "rare small",
        (0..n)
            .map(|_| match rng.percent(2) {
                true => rng.u64() % 3,
                false => mask / 3 + rng.u64() % 50,
            })
            .collect(),
    );
    push(
        "mostly near the top",
        (0..n)
            .map(|_| {
                (mask / 5).wrapping_sub((rng.u64() & mask) >> (bits / 4 + rng.u64() as u32 % 8))
            })
            .collect(),
    );
    push(
        "groups at their own height",
        (0..n)
            .map(|i| ((i / 1024) as u64 * 0x1234_5677).wrapping_add(rng.u64() % 16))
            .collect(),
    );
    push(
        "groups of their own width",
        (0..n).map(|i| rng.u64() >> (63 - (i / 1024) % 8)).collect(),
    );
    push(
        "groups of both, with patches",
        (0..n)
            .map(|i| {
                let large = if rng.percent(1) { rng.u64() >> 40 } else { 0 };
                ((i / 1024) as u64 * 999)
                    .wrapping_add(rng.u64() >> (60 - (i / 1024) % 4))
                    .wrapping_add(large)
            })
            .collect(),
    );
    shapes
}

#[test]
fn every_form_and_size() {
    for width in [1usize, 2, 4, 8] {
        for n in [
            0, 1, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025, 5000, 65_536,
        ] {
            for (name, values) in shaped(n as u64 + 1, width, n) {
                let numbers: Vec<u128> = values.iter().map(|v| u128::from(*v)).collect();
                let mask = u128::MAX >> (128 - 8 * width);
                let numbers: Vec<u128> = numbers.iter().map(|v| v & mask).collect();
                let case = Case::numbers(&format!("{name} x {n}"), width, &numbers);
                check_round_trip(&case, width, Mode::Free);
                check_round_trip(&case, width, Mode::Uniform);
            }
        }
    }
}

fn check_round_trip(case: &Case, width: usize, mode: Mode) {
    let tree = tree_of(mode);
    let values = case.values();
    let unit = encode(&tree, values);
    let bytes = values.as_fixed().unwrap().bytes();
    let bound = tarsia_bitpack::encoded_bytes_max(values.len() as u64, width as u64);
    assert!(
        unit.len() as u64 <= bound,
        "{}: {} > {bound}",
        case.name,
        unit.len()
    );
    let of_all = FixedSlice::new(bytes, width, values.len()).unwrap();
    let block = values.len().max(1);
    assert_eq!(
        estimate(of_all, block, mode),
        Ok(unit.len() as u64),
        "{}",
        case.name
    );
    let node = tarsia_codec::build_decoder(&registry(), &tree, ValueType::Fixed(width as u32), &[])
        .unwrap();
    let mut out = vec![0; bytes.len()];
    let read = tarsia_codec::Unit {
        bytes: &unit,
        len: values.len() as u32,
        decoded_bytes: 0,
    };
    node.decode(
        read,
        tarsia_codec::Selection::All,
        &mut tarsia_codec::Scratch::new(),
        tarsia_codec::Output::Fixed(&mut out),
    )
    .unwrap_or_else(|error| panic!("{}: {error}", case.name));
    assert!(
        out == bytes,
        "{} {mode:?}: other values came back",
        case.name
    );
}

/// The laws once more over values that have patches, and widths and bases per group.
#[test]
fn laws_of_every_form() {
    for (width, n) in [(4, 5000), (8, 3100)] {
        for (name, values) in shaped(77, width, n) {
            if name.ends_with("bits") {
                continue;
            }
            let mask = u128::MAX >> (128 - 8 * width);
            let numbers: Vec<u128> = values.iter().map(|v| u128::from(*v) & mask).collect();
            let case = Case::numbers(&name, width, &numbers);
            for tree in [tree(), tree_of(Mode::Uniform)] {
                check_encoding(&LawCase::new(&name, &registry(), &tree, case.values()));
            }
        }
    }
}

#[test]
fn survivors_fit_whatever_is_removed() {
    let mut rng = Rng::new(9);
    let tree = tree_of(Mode::Uniform);
    for round in 0..400 {
        let width = *rng.pick(&[1usize, 2, 4, 8]);
        let n = rng.between(1, 300);
        let shapes = shaped(round, width, n);
        let (name, values) = rng.pick(&shapes).clone();
        let bytes = |values: &[u64]| -> Vec<u8> {
            values
                .iter()
                .flat_map(|v| v.to_le_bytes()[..width].to_vec())
                .collect()
        };
        let all = bytes(&values);
        let slice = |bytes, n| Values::Fixed(FixedSlice::new(bytes, width, n).unwrap());
        let place = encode(&tree, slice(&all, n)).len();
        let percent = rng.between(1, 99) as u32;
        let left: Vec<u64> = values
            .iter()
            .copied()
            .filter(|_| rng.percent(percent))
            .collect();
        let left_bytes = bytes(&left);
        let needed = encode(&tree, slice(&left_bytes, left.len())).len();
        assert!(
            needed <= place,
            "{name} of {width} bytes: {n} -> {}: {place} -> {needed}",
            left.len()
        );
    }
}

#[test]
fn small_units_are_small() {
    let bytes: Vec<u8> = (0..100u32).flat_map(|i| (i % 32).to_le_bytes()).collect();
    let values = Values::Fixed(FixedSlice::new(&bytes, 4, 100).unwrap());
    assert_eq!(
        encode(&tree(), values).len(),
        3 + (100 * 5usize).div_ceil(8)
    );
}

#[test]
fn rare_small_values_are_patched() {
    // Seconds since 1970, of which one in a hundred is unknown.
    let values = (0..5000u32).map(|i| match i % 100 {
        0 => 0,
        _ => 1_700_000_000 + i * 7 % 4096,
    });
    let bytes: Vec<u8> = values.flat_map(u32::to_le_bytes).collect();
    let values = Values::Fixed(FixedSlice::new(&bytes, 4, 5000).unwrap());
    // 12 bits per value, and position and high part of the patches.
    let size = encode(&tree(), values).len();
    assert_eq!(size, 3 + 4 + 2 + 5000 * 12 / 8 + 50 * (2 + 3));
}

#[test]
fn rare_values_on_both_sides_are_patched() {
    let core = |i: i64| i * 7 % 16 - 8;
    let numbers = |far: fn(i64) -> i64| -> Vec<i64> {
        let is_rare = |i: &i64| i % 500 == 250;
        (0..8192)
            .map(|i| if is_rare(&i) { far(i) } else { core(i) })
            .collect()
    };
    let far = numbers(|i| if i % 1000 < 500 { -1 << 40 } else { 1 << 40 });
    // Nearly all outliers on one side, so that their width is far from the one that the others need.
    let uneven = numbers(|i| if i == 250 { -5000 } else { 1 << 40 });
    for values in [far, uneven] {
        let n_patches = values.iter().filter(|it| it.abs() > 8).count();
        assert_eq!(n_patches, 16);
        let bytes: Vec<u8> = values.iter().flat_map(|it| it.to_le_bytes()).collect();
        let values = Values::Fixed(FixedSlice::new(&bytes, 8, 8192).unwrap());
        // 4 bits per value; a base of a byte; number, positions and high parts of the patches.
        let size = encode(&tree(), values).len();
        assert_eq!(size, 3 + 1 + 8192 * 4 / 8 + 2 + n_patches * (2 + 8));
    }
}

#[test]
fn an_estimate_is_the_sum_over_blocks() {
    for (name, values) in shaped(5, 8, 10_000) {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let all = FixedSlice::new(&bytes, 8, values.len()).unwrap();
        for block in [100, 1024, 4096, 20_000] {
            let sum: usize = (0..values.len())
                .step_by(block)
                .map(|at| encode(&tree(), Values::Fixed(all.slice(at..at + block))).len())
                .sum();
            assert_eq!(
                estimate(all, block, Mode::Free),
                Ok(sum as u64),
                "{name} {block}"
            );
        }
    }
}
