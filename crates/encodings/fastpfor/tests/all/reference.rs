//! The page, bit by bit and without a thought for speed, against the encoder and the decoder.

use tarsia_codec::{Output, Scratch, Selection, ValueType, build_decoder};
use tarsia_fastpfor::{Scheme, tree};
use tarsia_testkit::cases::{Case, CaseValues, cases};
use tarsia_testkit::units;

use crate::laws::{encoded, grouped, registry};

fn bytes_of(bits: &[bool]) -> Vec<u8> {
    let byte = |eight: &[bool]| {
        eight
            .iter()
            .rev()
            .fold(0, |byte, bit| byte << 1 | u8::from(*bit))
    };
    bits.chunks(8).map(byte).collect()
}

/// The lowest `width` bits of numbers, one behind the other.
fn stream(numbers: &[u64], width: u32) -> Vec<bool> {
    let bits = |number: &u64| {
        let number = *number;
        (0..width).map(move |i| number >> i & 1 == 1)
    };
    numbers.iter().flat_map(bits).collect()
}

/// Each lane is a stream, of which the words take turns.
fn interleaved(numbers: &[u64], width: u32, value_bits: usize, n_lanes: usize) -> Vec<u8> {
    let lane = |lane: usize| {
        let numbers: Vec<u64> = numbers
            .iter()
            .skip(lane)
            .step_by(n_lanes)
            .copied()
            .collect();
        stream(&numbers, width)
    };
    let lanes: Vec<Vec<bool>> = (0..n_lanes).map(lane).collect();
    let words = (0..width as usize).flat_map(|word| {
        let of_lane = move |lane: &Vec<bool>| lane[word * value_bits..][..value_bits].to_vec();
        lanes.iter().flat_map(of_lane)
    });
    bytes_of(&words.collect::<Vec<bool>>())
}

fn packed(numbers: &[u64], width: u32, value_bits: usize) -> Vec<u8> {
    if numbers.len() == 128 {
        return interleaved(numbers, width, value_bits, 128 / value_bits);
    }
    let (runs, rest) = numbers.as_chunks::<64>();
    let runs = runs.iter();
    let runs = runs.flat_map(|run| interleaved(run, width, value_bits, 64 / value_bits));
    runs.chain(bytes_of(&stream(rest, width))).collect()
}

fn stored_bits(high_width: u32) -> u32 {
    if high_width == 1 { 0 } else { high_width }
}

/// The width that takes the fewest bytes, of equals the widest.
fn width_of(numbers: &[u64], scheme: Scheme) -> u32 {
    let bits = |number: &u64| 64 - number.leading_zeros();
    let widest = numbers.iter().map(bits).max().unwrap();
    let cost = |width: u32| {
        let n = numbers.iter().filter(|it| bits(it) > width).count();
        let of_highs = (n * stored_bits(widest - width) as usize).div_ceil(8);
        let of_exceptions = if n == 0 { 0 } else { 1 + n + of_highs };
        (numbers.len() * width as usize).div_ceil(8) + of_exceptions
    };
    match scheme {
        Scheme::Bp128 => widest,
        Scheme::FastPfor => (0..=widest).rev().min_by_key(|width| cost(*width)).unwrap(),
    }
}

fn unit(case: &Case, scheme: Scheme) -> Vec<u8> {
    let CaseValues::Fixed { bytes, width, .. } = &case.values else {
        panic!("numbers");
    };
    let number = |bytes: &[u8]| {
        let mut wide = [0; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(wide)
    };
    let numbers: Vec<u64> = bytes.chunks(*width).map(number).collect();
    let (mut widths, mut counts, mut high_widths) = (vec![], vec![], vec![]);
    let (mut positions, mut highs, mut groups) = (vec![], vec![vec![]; 65], vec![]);
    for group in numbers.chunks(128) {
        let width_bits = width_of(group, scheme);
        widths.push(width_bits as u8);
        let high = |number: &u64| number.checked_shr(width_bits).unwrap_or(0);
        let exceptions: Vec<usize> = (0..group.len()).filter(|i| high(&group[*i]) > 0).collect();
        let highest = group.iter().map(high).max().unwrap();
        let high_width = (64 - highest.leading_zeros()) as usize;
        counts.push(exceptions.len() as u8);
        if high_width > 0 {
            high_widths.push(high_width as u8);
        }
        for i in exceptions {
            positions.push(i as u8);
            highs[high_width].push(high(&group[i]));
        }
        groups.extend(packed(group, width_bits, width * 8));
    }
    let highs = (0u32..).zip(&highs);
    let highs = highs.flat_map(|(width, highs)| bytes_of(&stream(highs, stored_bits(width))));
    match scheme {
        Scheme::Bp128 => [widths, groups].concat(),
        Scheme::FastPfor => [
            widths,
            counts,
            high_widths,
            positions,
            highs.collect(),
            groups,
        ]
        .concat(),
    }
}

fn check(case: &Case) {
    let CaseValues::Fixed { bytes, width, .. } = &case.values else {
        panic!("numbers");
    };
    for scheme in Scheme::ALL {
        let expected = unit(case, scheme);
        let found = encoded(case, scheme);
        assert!(
            found == expected,
            "{}, {width} bytes, {scheme:?}",
            case.name
        );
        let (tree, value_type) = (tree(scheme), ValueType::Fixed(*width as u32));
        let unit = units::unit_of(&expected, &case.values());
        let decoded = units::decode(&registry(), &tree, value_type, unit, &[]).unwrap();
        let CaseValues::Fixed { bytes: all, .. } = decoded else {
            panic!("numbers");
        };
        assert!(all == *bytes, "{}, {width} bytes, {scheme:?}", case.name);
        // One value of a group, two, and more.
        let decoder = build_decoder(&registry(), &tree, value_type, &[]).unwrap();
        for step in [131, 64, 7] {
            let indices: Vec<u32> = (0..case.len() as u32).step_by(step).collect();
            let values = bytes.chunks(*width).step_by(step);
            let selected: Vec<u8> = values.flatten().copied().collect();
            let mut found = vec![0; selected.len()];
            let out = Output::Fixed(&mut found);
            let selection = Selection::Indices(&indices);
            decoder
                .decode(unit, selection, &mut Scratch::new(), out)
                .unwrap();
            assert!(
                found == selected,
                "{}, every {step}th, {scheme:?}",
                case.name
            );
        }
    }
}

#[test]
fn units_are_what_the_page_says() {
    for width in [1, 2, 4, 8] {
        for case in cases(ValueType::Fixed(width)) {
            if case.len() <= 3000 {
                check(&case);
            }
        }
        grouped(width as usize).iter().for_each(check);
    }
}

/// Two whole groups and a part of one, each width in all of them, with and without an exception.
#[test]
fn every_width_is_packed_and_unpacked() {
    for width in [1usize, 2, 4, 8] {
        for bits in 0..=width as u32 * 8 {
            let mask = u64::MAX.checked_shr(64 - bits).unwrap_or(0);
            let mixed = |i: u64| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
            let number = |i: u64| u128::from((mixed(i) | 1 << (i % 64)) & mask);
            let mut numbers: Vec<u128> = (0..300).map(number).collect();
            check(&Case::numbers(&format!("{bits} bits"), width, &numbers));
            numbers[200] = u128::MAX;
            check(&Case::numbers(
                &format!("{bits} bits, one of all"),
                width,
                &numbers,
            ));
        }
    }
}
