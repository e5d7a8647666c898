//! Kernels: every level of the CPU gives what the portable code gives, and that is what a naive model says.
//!
//! The level is a setting of the process, so these targets must not run beside each other where the level under test
//! matters; results do not depend on it, so nothing else minds.

use tarsia_bits::{Level, Word, limit_level};
use tarsia_codec::{ValueType, Values};
use tarsia_testkit::fuzzing::{Input, accepted};

const LEVELS: [Level; 3] = [Level::Baseline, Level::Avx2, Level::Avx512];

/// Returns what `call` gives at each level; all must be equal.
fn at_all_levels<R: PartialEq + std::fmt::Debug>(what: &str, call: impl Fn() -> R) -> R {
    limit_level(Level::Baseline);
    let portable = call();
    for level in LEVELS {
        let level = limit_level(level);
        let got = call();
        assert!(
            got == portable,
            "{what}: {level:?} differs from the portable code"
        );
    }
    portable
}

/// Bit-packing of words of all sizes.
pub fn pack(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    match input.below(4) {
        0 => pack_words::<u8>(&mut input),
        1 => pack_words::<u16>(&mut input),
        2 => pack_words::<u32>(&mut input),
        _ => pack_words::<u64>(&mut input),
    }
}

fn pack_words<T: Word>(input: &mut Input<'_>) {
    let case = input.values(ValueType::Fixed(T::BYTES as u32), 9000);
    let Values::Fixed(values) = case.values() else {
        return;
    };
    let n = values.len();
    let width = input.below(T::BITS as usize + 1) as u32;
    let base = T::from_u64(input.number());
    let packed_bytes = tarsia_bits::packed_bytes(n as u64, width) as usize;
    let packed = at_all_levels("pack", || {
        let mut packed = vec![0xa5; packed_bytes];
        tarsia_bits::pack(values.bytes(), base, width, &mut packed).map(|()| packed)
    })
    .expect("lengths fit");
    let spare = tarsia_bits::spare_bits(n as u64, width);
    if let Some(last) = packed.last() {
        assert!(
            spare == 0 || last >> (8 - spare) == 0,
            "spare bits are not zero"
        );
    }
    // What is kept of each value: its low bits above the base.
    let kept = |i: usize| {
        let value = T::read_le(values.get(i)).expect("a value");
        let low = match width {
            0 => 0,
            width => value.wrapping_sub(base).to_u64() << (64 - width) >> (64 - width),
        };
        T::from_u64(low).wrapping_add(base)
    };
    let start = input.below(n + 1);
    let len = input.below(n - start + 1);
    let range = at_all_levels("unpack_range", || {
        let mut out = vec![0x5a; len * T::BYTES];
        tarsia_bits::unpack_range(&packed, n, width, base, start, &mut out).map(|()| out)
    })
    .expect("lengths fit");
    for (i, value) in range.chunks_exact(T::BYTES).enumerate() {
        assert_eq!(
            T::read_le(value),
            Some(kept(start + i)),
            "value {} of {n} at {width} bits",
            start + i
        );
    }
    for _ in 0..8.min(n) {
        let at = input.below(n);
        assert_eq!(
            tarsia_bits::unpack_one(&packed, n, width, base, at),
            Ok(kept(at)),
            "value {at} of {n} at {width} bits"
        );
    }
    // Lengths that do not fit are refused, and any packed bytes unpack to something, the same at each level.
    let other = input.take(packed_bytes).to_vec();
    let unpacked = at_all_levels("unpack_bytes", || {
        let mut out = vec![0x5a; n * T::BYTES];
        tarsia_bits::unpack_bytes(&other, width, base, &mut out).map(|()| out)
    });
    assert_eq!(unpacked.is_ok(), other.len() == packed_bytes);
    let beyond = tarsia_bits::unpack_range(
        &packed,
        n,
        width,
        base,
        start,
        &mut vec![0; (n - start + 1) * T::BYTES],
    );
    assert!(beyond.is_err(), "a range beyond the run");
    let too_wide =
        tarsia_bits::unpack_range::<T>(&packed, n, T::BITS + 1 + width, base, 0, &mut []);
    assert!(n == 0 || too_wide.is_err(), "more bits than the type has");
    accepted();
}

/// Bitmaps, gathering, prefix sums, statistics.
pub fn values(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    match input.below(5) {
        0 => bitmap(&mut input),
        1 => expand_compact(&mut input),
        2 => gather(&mut input),
        3 => prefix_sum(&mut input),
        _ => match input.below(4) {
            0 => statistics::<u8>(&mut input),
            1 => statistics::<u16>(&mut input),
            2 => statistics::<u32>(&mut input),
            _ => statistics::<u64>(&mut input),
        },
    }
}

fn bit(bytes: &[u8], at: usize) -> bool {
    bytes[at / 8] >> (at % 8) & 1 == 1
}

fn bitmap(input: &mut Input<'_>) {
    let (from, to) = (input.below(200), input.below(200));
    let len = input.count(3000);
    // Sometimes a little too short.
    let src = input.values(ValueType::Fixed(1), 500);
    let Values::Fixed(src) = src.values() else {
        return;
    };
    let src = src.bytes();
    let dst = vec![0x96; input.below(500)];
    let copied = at_all_levels("copy_bits", || {
        let mut dst = dst.clone();
        tarsia_bits::copy_bits(&mut dst, to, src, from, len).map(|()| dst)
    });
    let fits = from + len <= src.len() * 8 && to + len <= dst.len() * 8;
    assert_eq!(copied.is_ok(), fits, "{len} bits from {from} to {to}");
    if let Ok(copied) = copied {
        for at in 0..dst.len() * 8 {
            let expected = match at.checked_sub(to) {
                Some(i) if i < len => bit(src, from + i),
                _ => bit(&dst, at),
            };
            assert_eq!(
                bit(&copied, at),
                expected,
                "bit {at} of {len} from {from} to {to}"
            );
        }
        accepted();
    }
    let counted = at_all_levels("count_ones", || tarsia_bits::count_ones(src, from, len));
    if from + len <= src.len() * 8 {
        assert_eq!(
            counted,
            Ok((from..from + len).filter(|at| bit(src, *at)).count())
        );
    } else {
        assert!(counted.is_err());
    }
}

fn expand_compact(input: &mut Input<'_>) {
    let width = *input.pick(&[1, 2, 4, 8, 16, 3, 33, 0]);
    let validity = input.values(ValueType::Fixed(1), 300);
    let Values::Fixed(validity) = validity.values() else {
        return;
    };
    let n_bits = validity.bytes().len() * 8;
    let offset = input.below(9).min(n_bits);
    let n_slots = n_bits - offset;
    let valid: Vec<bool> = (0..n_slots)
        .map(|i| bit(validity.bytes(), offset + i))
        .collect();
    let n_valid = valid.iter().filter(|valid| **valid).count();
    let mut dense = input.take(n_valid * width).to_vec();
    dense.resize(n_valid * width, 0x3c);
    let expanded = at_all_levels("expand", || {
        let mut out = vec![0x99; n_slots * width];
        tarsia_bits::expand(validity.bytes(), offset, n_slots, width, &dense, &mut out)
            .map(|()| out)
    })
    .expect("lengths fit");
    let mut next = 0;
    for (i, valid) in valid.iter().enumerate() {
        let got = &expanded[i * width..(i + 1) * width];
        if *valid {
            assert_eq!(
                got,
                &dense[next * width..(next + 1) * width],
                "slot {i} of width {width}"
            );
            next += 1;
        } else {
            assert!(
                got.iter().all(|byte| *byte == 0),
                "slot {i} of width {width} is not zero"
            );
        }
    }
    let compacted = at_all_levels("compact", || {
        let mut out = vec![0x99; dense.len()];
        tarsia_bits::compact(
            validity.bytes(),
            offset,
            n_slots,
            width,
            &expanded,
            &mut out,
        )
        .map(|()| out)
    });
    assert_eq!(
        compacted.as_deref(),
        Ok(&dense[..]),
        "compact undoes expand"
    );
    if width > 0 {
        let mut long = vec![0; dense.len() + 1];
        assert!(
            tarsia_bits::compact(
                validity.bytes(),
                offset,
                n_slots,
                width,
                &expanded,
                &mut long
            )
            .is_err()
        );
    }
    accepted();
}

fn gather(input: &mut Input<'_>) {
    match input.below(3) {
        0 => gather_codes::<u8>(input),
        1 => gather_codes::<u16>(input),
        _ => gather_codes::<u32>(input),
    }
}

fn gather_codes<C: Word>(input: &mut Input<'_>) {
    let width = *input.pick(&[1, 2, 4, 8, 16, 3, 33]);
    let n_entries = input.below(300);
    let mut entries = input.take(n_entries * width).to_vec();
    entries.resize(n_entries * width, 0x3c);
    let codes = input.values(ValueType::Fixed(C::BYTES as u32), 2000);
    let Values::Fixed(codes) = codes.values() else {
        return;
    };
    let mut all: Vec<u8> = codes.bytes().to_vec();
    // Half of the time codes that all exist.
    if n_entries > 0 && input.one_in(2) {
        for code in all.chunks_exact_mut(C::BYTES) {
            let number = C::read_le(code).expect("a code").to_u64() % n_entries as u64;
            C::from_u64(number).write_le(code);
        }
    }
    let n_codes = all.len() / C::BYTES;
    let gathered = at_all_levels("gather", || {
        let mut out = vec![0x99; n_codes * width];
        tarsia_bits::gather::<C>(&entries, width, &all, &mut out).map(|()| out)
    });
    let numbers: Vec<u64> = all
        .chunks_exact(C::BYTES)
        .map(|code| C::read_le(code).expect("a code").to_u64())
        .collect();
    assert_eq!(
        gathered.is_ok(),
        numbers.iter().all(|code| *code < n_entries as u64)
    );
    if let Ok(gathered) = gathered {
        for (got, code) in gathered.chunks_exact(width).zip(numbers) {
            assert_eq!(
                got,
                &entries[code as usize * width..][..width],
                "code {code}"
            );
        }
        accepted();
    }
}

fn prefix_sum(input: &mut Input<'_>) {
    let n = input.count(3000);
    let base = input.number() as u32;
    let small = input.one_in(2);
    let lengths: Vec<u32> = (0..n)
        .map(|_| {
            if small {
                input.u8().into()
            } else {
                input.u32() >> 8
            }
        })
        .collect();
    let sum = lengths
        .iter()
        .fold(u64::from(base), |sum, length| sum + u64::from(*length));
    let mut ends = lengths.clone();
    match tarsia_bits::prefix_sum(&mut ends, base) {
        Ok(last) => {
            assert_eq!(u64::from(last), sum);
            let mut at = base;
            for (end, length) in ends.iter().zip(&lengths) {
                at += length;
                assert_eq!(*end, at);
            }
            accepted();
        }
        Err(_) => assert!(sum > u64::from(u32::MAX), "a sum of {sum} fits"),
    }
}

fn statistics<T: Word>(input: &mut Input<'_>) {
    let case = input.values(ValueType::Fixed(T::BYTES as u32), 5000);
    let Values::Fixed(values) = case.values() else {
        return;
    };
    let base = T::from_u64(input.number());
    let numbers: Vec<u64> = (0..values.len())
        .map(|i| T::read_le(values.get(i)).expect("a value").to_u64())
        .collect();
    let extent =
        at_all_levels("extent", || tarsia_bits::extent::<T>(values.bytes())).expect("whole values");
    let signed = |number: u64| (number << (64 - T::BITS)) as i64;
    match extent {
        None => assert!(numbers.is_empty()),
        Some(extent) => {
            assert_eq!(
                Some(extent.unsigned.0.to_u64()),
                numbers.iter().copied().min()
            );
            assert_eq!(
                Some(extent.unsigned.1.to_u64()),
                numbers.iter().copied().max()
            );
            let of = |value: T| signed(value.to_u64());
            assert_eq!(
                Some(of(extent.signed.0)),
                numbers.iter().map(|number| signed(*number)).min()
            );
            assert_eq!(
                Some(of(extent.signed.1)),
                numbers.iter().map(|number| signed(*number)).max()
            );
            let (least, span) = extent.base_and_span();
            for number in &numbers {
                assert!(
                    T::from_u64(*number).wrapping_sub(least).to_u64() <= span.to_u64(),
                    "{number} is outside the span"
                );
            }
        }
    }
    let histogram = at_all_levels("width_histogram", || {
        tarsia_bits::width_histogram(values.bytes(), base)
    })
    .expect("whole values");
    let mut expected = [0; 65];
    for number in numbers {
        let offset = T::from_u64(number).wrapping_sub(base).to_u64();
        expected[(64 - offset.leading_zeros()) as usize] += 1;
    }
    assert_eq!(histogram, expected);
    let widest = expected.iter().rposition(|n| *n > 0).unwrap_or(0);
    let above = at_all_levels("counts_above", || {
        tarsia_bits::counts_above(values.bytes(), base, widest as u32)
    })
    .expect("whole values");
    for (width, found) in above.iter().enumerate() {
        assert_eq!(*found, expected[width + 1..].iter().sum::<u32>());
    }
    accepted();
}
