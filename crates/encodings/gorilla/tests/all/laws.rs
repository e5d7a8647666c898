//! The laws of all encodings, for both schemes.

use tarsia_codec::{
    DecodeCost, EncodingWriter, Facts, LogicalType, Node, Output, Proposals, Registry, Scratch,
    Selection, Statistics, ValueType, Version, build_decoder,
};
use tarsia_gorilla::{GORILLA, Scheme, VERSION, tree};
use tarsia_testkit::cases::{Case, CaseValues};
use tarsia_testkit::laws::{cases, check_cases};
use tarsia_testkit::rng::Rng;
use tarsia_testkit::units;

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.add_writer(&GORILLA, DecodeCost::default());
    registry
}

/// The bits of a floating-point number of `width` bytes.
fn float(width: usize, number: f64) -> u128 {
    match width {
        4 => (number as f32).to_bits().into(),
        _ => number.to_bits().into(),
    }
}

/// Cases that the encoding is made for: measurements that stay, step by whole numbers, or drift.
fn series(width: usize) -> Vec<Case> {
    let mut rng = Rng::new(width as u64);
    let mut all = Vec::new();
    for n in [3, 1024, 1025, 4096, 10_000] {
        let mut at = 1000.0;
        let mut walk = |steps: &[f64]| -> Vec<u128> {
            let step = |_| {
                at += steps[rng.below(steps.len())];
                float(width, at)
            };
            (0..n).map(step).collect()
        };
        let of = |name, numbers: &[u128]| Case::numbers(name, width, numbers);
        all.push(of("whole steps", &walk(&[0.0, 0.0, 1.0, -1.0, 3.0])));
        all.push(of("decimal steps", &walk(&[0.0, 0.1, -0.1])));
        all.push(of(
            "rare steps",
            &walk(&[&[0.0; 500][..], &[17.5]].concat()),
        ));
        let quarters: Vec<u128> = (0..n).map(|i| float(width, i as f64 / 4.0)).collect();
        all.push(of("quarters", &quarters));
    }
    all
}

#[test]
fn numbers_obey_the_laws() {
    for scheme in Scheme::ALL {
        for width in [4, 8] {
            check_cases(&registry(), &tree(scheme), &cases(ValueType::Fixed(width)));
        }
    }
}

#[test]
fn series_obey_the_laws() {
    for scheme in Scheme::ALL {
        for width in [4, 8] {
            check_cases(&registry(), &tree(scheme), &series(width));
        }
    }
}

/// Both papers, bit by bit and without a thought for speed.
mod reference {
    use super::*;

    fn push(bits: &mut Vec<bool>, number: u128, n: u32) {
        bits.extend((0..n).map(|i| number >> i & 1 == 1));
    }

    /// Section 4.1.2 of "Gorilla".
    fn gorilla(bits: &mut Vec<bool>, xors: &[u128], n_bits: u32) {
        let mut before: Option<(u32, u32)> = None;
        for xor in xors {
            if *xor == 0 {
                push(bits, 0, 1);
                continue;
            }
            let lead = (xor.leading_zeros() + n_bits - 128).min(31);
            let trail = xor.trailing_zeros();
            bits.push(true);
            if let Some((lead_before, trail_before)) = before
                && lead_before <= lead
                && trail_before <= trail
            {
                bits.push(false);
                push(
                    bits,
                    xor >> trail_before,
                    n_bits - lead_before - trail_before,
                );
                continue;
            }
            bits.push(true);
            push(bits, lead.into(), 5);
            let len = n_bits - lead - trail;
            match n_bits {
                32 => push(bits, u128::from(len - 1), 5),
                _ => push(bits, u128::from(len), 6),
            }
            push(bits, xor >> trail, len);
            before = Some((lead, trail));
        }
    }

    /// "Chimp", but that leading zeros are kept across equal values and those with many trailing zeros.
    fn chimp(bits: &mut Vec<bool>, xors: &[u128], n_bits: u32) {
        let len_bits = if n_bits == 32 { 5 } else { 6 };
        let mut before = 0;
        for xor in xors {
            if *xor == 0 {
                push(bits, 0, 2);
                continue;
            }
            let lead = match xor.leading_zeros() + n_bits - 128 {
                0..8 => 0,
                8..12 => 8,
                12..16 => 12,
                zeros @ 16..24 => zeros / 2 * 2,
                _ => 24,
            };
            let number = [0, 8, 12, 16, 18, 20, 22, 24]
                .iter()
                .position(|it| *it == lead);
            let number = number.unwrap() as u128;
            let trail = xor.trailing_zeros();
            if trail > len_bits {
                push(bits, 1, 2);
                push(bits, number, 3);
                let len = n_bits - lead - trail;
                push(bits, len.into(), len_bits);
                push(bits, xor >> trail, len);
            } else if lead == before {
                push(bits, 2, 2);
                push(bits, *xor, n_bits - lead);
            } else {
                push(bits, 3, 2);
                push(bits, number, 3);
                push(bits, *xor, n_bits - lead);
            }
            before = lead;
        }
    }

    fn unit(case: &Case, scheme: Scheme) -> Vec<u8> {
        let CaseValues::Fixed { bytes, width, .. } = &case.values else {
            panic!("numbers");
        };
        let number = |bytes: &[u8]| {
            let mut wide = [0; 16];
            wide[..*width].copy_from_slice(bytes);
            u128::from_le_bytes(wide)
        };
        let (mut ends, mut streams) = (Vec::new(), Vec::new());
        for group in bytes.chunks(1024 * width) {
            streams.extend_from_slice(&group[..*width]);
            let numbers: Vec<u128> = group.chunks(*width).map(number).collect();
            let xors: Vec<u128> = numbers.windows(2).map(|pair| pair[0] ^ pair[1]).collect();
            let mut bits = Vec::new();
            match scheme {
                Scheme::Gorilla => gorilla(&mut bits, &xors, *width as u32 * 8),
                Scheme::Chimp => chimp(&mut bits, &xors, *width as u32 * 8),
            }
            for eight in bits.chunks(8) {
                let byte = eight
                    .iter()
                    .rev()
                    .fold(0, |byte, bit| byte << 1 | u8::from(*bit));
                streams.push(byte);
            }
            ends.extend_from_slice(&(streams.len() as u32).to_le_bytes());
        }
        [ends, streams].concat()
    }

    #[test]
    fn units_are_what_the_papers_say_bit_by_bit() {
        for width in [4, 8] {
            for case in cases(ValueType::Fixed(width))
                .into_iter()
                .chain(series(width as usize))
            {
                for scheme in Scheme::ALL {
                    let encoded = units::encode(&registry(), &tree(scheme), case.values());
                    let (encoded, _) = encoded.unwrap();
                    let (name, expected) = (&case.name, unit(&case, scheme));
                    assert!(encoded == expected, "{name}, {width} bytes, {scheme:?}");
                    if let Some((_, bytes)) = proposed(&case) {
                        assert!(bytes <= expected.len() as u64, "{name}, {width} bytes");
                    }
                }
            }
        }
    }
}

/// The values 12, 12 and 24, worked out by hand: 64 bits, 1 bit, and 2 + 5 + 6 + 1 bits for 11 leading zeros and one
/// meaningful bit.
#[test]
fn three_values_take_the_bits_that_section_4_1_2_says() {
    let numbers = [12.0, 12.0, 24.0].map(|it| float(8, it));
    let case = Case::numbers("three", 8, &numbers);
    let (encoded, _) = units::encode(&registry(), &tree(Scheme::Gorilla), case.values()).unwrap();
    let (ends, stream) = encoded.split_at(4);
    assert_eq!(ends, 10u32.to_le_bytes());
    let (first, codes) = stream.split_at(8);
    assert_eq!(first, 12f64.to_le_bytes());
    // From the lowest bit: 0, then 11, 11 in five bits, 1 in six bits, and the bit 1.
    let bits: u16 = 0b11 << 1 | 11 << 3 | 1 << 8 | 1 << 14;
    assert_eq!(codes, bits.to_le_bytes());
}

/// The scheme and the bytes that are proposed.
fn proposed(case: &Case) -> Option<(Vec<u8>, u64)> {
    let mut proposals = Proposals::new(u64::MAX, Version::new(1, 0)).of_named(true);
    let values = Statistics::new(case.values(), Facts::of(LogicalType::Float));
    GORILLA.propose(&values, &mut proposals).unwrap();
    let mut proposals = proposals.into_vec();
    assert!(proposals.len() < 2);
    proposals.pop().map(|it| (it.params, it.bytes))
}

#[test]
fn the_smaller_scheme_is_proposed_with_its_bytes() {
    let mut found = [0; 2];
    for width in [4, 8] {
        for case in series(width) {
            let bytes_of = |scheme| {
                let encoded = units::encode(&registry(), &tree(scheme), case.values());
                encoded.unwrap().0.len() as u64
            };
            let sizes = Scheme::ALL.map(bytes_of);
            let (params, bytes) = proposed(&case).unwrap();
            assert_eq!(bytes, sizes[0].min(sizes[1]), "{}", case.name);
            assert_eq!(bytes, sizes[usize::from(params[0])], "{}", case.name);
            found[usize::from(params[0])] += 1;
        }
    }
    assert!(found[0] > 0 && found[1] > 0, "{found:?}");
    for other in [
        Case::numbers("none", 8, &[]),
        Case::numbers("short", 2, &[1, 2]),
        Case::strings("strings", &["a", "b"]),
    ] {
        assert_eq!(proposed(&other), None, "{}", other.name);
    }
}

/// Values whose XORs are these in turn.
fn with_xors(width: usize, n: usize, xor: impl Fn(usize) -> u128) -> Case {
    let mut at = 0;
    let value = |i| {
        at ^= if i == 0 { 0 } else { xor(i) };
        at
    };
    let numbers: Vec<u128> = (0..n).map(value).collect();
    Case::numbers("the largest", width, &numbers)
}

#[test]
fn the_largest_units_are_as_large_as_the_bound() {
    for width in [4, 8] {
        let top = 1u128 << (width * 8 - 1);
        for n in [0usize, 1, 2, 3, 1023, 1024, 1025, 1026, 3000] {
            let bound = |scheme: Scheme| {
                let node = Node {
                    value_type: ValueType::Fixed(width as u32),
                    version: VERSION,
                    params: &[u8::from(scheme == Scheme::Chimp)],
                };
                let child = |_, _, _, _| panic!("there are no children");
                GORILLA.encoded_bytes_max(&node, n as u64, (n * width) as u64, &child)
            };
            let check = |scheme: Scheme, case: &Case| {
                let (encoded, _) =
                    units::encode(&registry(), &tree(scheme), case.values()).unwrap();
                assert_eq!(
                    encoded.len() as u64,
                    bound(scheme),
                    "{scheme:?}, {n} of {width} bytes"
                );
            };
            // All bits but the last, then all but the first; all bits at the end of a group.
            let case = with_xors(width, n, |i| match i {
                _ if i % 1024 == 1023 || i == n - 1 => top | 1,
                _ if i % 2 == 0 => top | 2,
                _ => top >> 1 | 1,
            });
            check(Scheme::Gorilla, &case);
            let trailing = if width == 4 { 6 } else { 7 };
            check(Scheme::Chimp, &with_xors(width, n, |_| top | 1 << trailing));
        }
    }
}

#[test]
fn single_values_come_from_their_group_alone() {
    let numbers: Vec<u128> = (0..4000).map(|i| float(8, i as f64)).collect();
    let case = Case::numbers("a count", 8, &numbers);
    for scheme in Scheme::ALL {
        let (mut encoded, _) = units::encode(&registry(), &tree(scheme), case.values()).unwrap();
        let end = |i: usize| {
            let end = encoded[i * 4..].first_chunk().unwrap();
            16 + u32::from_le_bytes(*end) as usize
        };
        let (start, end) = (end(1), end(2));
        encoded[16..start].fill(0xff);
        encoded[end..].fill(0xff);
        let decoder = build_decoder(&registry(), &tree(scheme), ValueType::Fixed(8), &[]).unwrap();
        let values = case.values();
        let decode = |selection, to: &mut [u8]| {
            let unit = units::unit_of(&encoded, &values);
            decoder.decode(unit, selection, &mut Scratch::new(), Output::Fixed(to))
        };
        let mut to = [0; 24];
        decode(Selection::Indices(&[2048, 2500, 3071]), &mut to).unwrap();
        let expected = [2048.0, 2500.0, 3071f64].map(f64::to_le_bytes);
        assert_eq!(to, *expected.as_flattened());
        let range = |start, len| Selection::Range { start, len };
        decode(range(2499, 3), &mut to).unwrap();
        let expected = [2499.0, 2500.0, 2501f64].map(f64::to_le_bytes);
        assert_eq!(to, *expected.as_flattened());
        assert!(decode(range(2046, 3), &mut to).is_err());
    }
}
