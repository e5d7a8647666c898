//! Bloom filters: each value that is there is found; of others few seem to be there; the bytes are those of the
//! specification, and depend on nothing but the values and the number of rows.

use std::collections::BTreeSet;

use proptest::prelude::*;
use tarsia_codec::{BitSlice, BytesSlice, FixedSlice, Values};
use tarsia_zones::{
    BLOOM_ROWS_MAX, BloomCollector, BloomLie, BloomShape, Collect, KeyHash, KeyHashes, bloom_bytes,
    bloom_runs,
};

/// Whether a filter says of a value that it may be there.
fn may_hold(filter: &[u8], rows: u32, value: &[u8]) -> bool {
    let (shape, key) = (BloomShape::of_rows(rows), KeyHash::of(value));
    let shard = shape.shard_of(key);
    let shard = &filter[shard.start as usize..shard.end as usize];
    shape.may_hold(shard, key).unwrap()
}

/// The filter of numbers, in a run of so many rows.
fn filter_of(numbers: &[u64], rows: u32) -> BloomCollector {
    let bytes: Vec<u8> = numbers.iter().flat_map(|it| it.to_le_bytes()).collect();
    let values = FixedSlice::new(&bytes, 8, numbers.len()).unwrap();
    let mut filter = BloomCollector::new(rows);
    filter.add(Values::Fixed(values), None).unwrap();
    filter
}

/// Numbers that do not repeat for a long time.
fn scattered(n: u64, seed: u64) -> Vec<u64> {
    let number = |i: u64| (i + seed * 1_000_000_007).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..n).map(number).collect()
}

#[test]
fn hashes_are_those_of_the_specification() {
    // Of XXH64's own tests.
    assert_eq!(
        format!("{:?}", KeyHash::of(b"")),
        format!("KeyHash({})", 0xef46_db37_51d8_e999_u64)
    );
    assert_eq!(
        format!("{:?}", KeyHash::of(b"abc")),
        format!("KeyHash({})", 0x44bc_2cf5_ad77_0999_u64)
    );
}

/// The example of the specification, which another program can compute.
#[test]
fn the_example_of_the_specification_is_right() {
    let filter = filter_of(&[7, 1 << 40], 3).to_bytes();
    let hex: Vec<String> = filter
        .chunks(8)
        .map(|bytes| bytes.iter().map(|byte| format!("{byte:02x}")).collect())
        .collect();
    let page = include_str!("../../../../docs/spec/blooms.md");
    let example = page.split("```").nth(1).unwrap();
    assert_eq!(example.split_whitespace().collect::<Vec<_>>(), hex);
}

#[test]
fn sizes_depend_on_rows_alone() {
    for (rows, bytes) in [
        (0, 40),
        (1, 40),
        (25, 40),
        (26, 72),
        (3_276, 4_104),
        (3_277, 4_144),
        (65_536, 20 * 4_104),
    ] {
        let shape = BloomShape::of_rows(rows);
        assert_eq!(shape.bytes(), bytes, "{rows}");
        assert_eq!(BloomCollector::new(rows).to_bytes().len() as u64, bytes);
    }
    for rows in [0, 1, 65_535, 65_536, 65_537, 200_000, u32::MAX] {
        let (mut next_row, mut next_place) = (0, 0);
        for run in bloom_runs(rows) {
            assert_eq!((run.rows.start, run.place.start), (next_row, next_place));
            let n = run.rows.end - run.rows.start;
            assert!(n == BLOOM_ROWS_MAX || run.rows.end == rows);
            assert_eq!(run.shape, BloomShape::of_rows(n));
            assert_eq!(run.place.end - run.place.start, run.shape.bytes());
            (next_row, next_place) = (run.rows.end, run.place.end);
        }
        assert_eq!((next_row, next_place), (rows, bloom_bytes(rows)));
    }
}

#[test]
fn few_values_that_are_not_there_seem_to_be() {
    for rows in [1_000, 20_000, 65_536] {
        let there = scattered(rows.into(), 1);
        let filter = filter_of(&there, rows).to_bytes();
        assert!(
            there
                .iter()
                .all(|it| may_hold(&filter, rows, &it.to_le_bytes()))
        );
        let there: BTreeSet<u64> = there.into_iter().collect();
        let absent: Vec<u64> = scattered(200_000, 2)
            .into_iter()
            .filter(|it| !there.contains(it))
            .collect();
        let seem = absent
            .iter()
            .filter(|it| may_hold(&filter, rows, &it.to_le_bytes()))
            .count();
        let share = seem as f64 / absent.len() as f64;
        assert!((0.005..0.018).contains(&share), "{rows} rows: {share}");
    }
}

#[test]
fn every_changed_bit_of_a_shard_is_found() {
    let rows = 5_000;
    let filter = filter_of(&scattered(100, 3), rows);
    let bytes = filter.to_bytes();
    let shape = BloomShape::of_rows(rows);
    assert_eq!(shape.check(&bytes), Ok(()));
    let key = KeyHash::of(&scattered(1, 3)[0].to_le_bytes());
    let shard = shape.shard_of(key);
    let shard = &bytes[shard.start as usize..shard.end as usize];
    assert_eq!(shape.may_hold(shard, key), Ok(true));
    for at in 0..shard.len() {
        let mut bad = shard.to_vec();
        bad[at] ^= 1 << (at % 8);
        assert!(shape.may_hold(&bad, key).is_err(), "{at}");
    }
    for len in 0..shard.len() {
        assert!(shape.may_hold(&shard[..len], key).is_err(), "{len}");
    }
    for at in (0..bytes.len()).step_by(7) {
        let mut bad = bytes.clone();
        bad[at] ^= 1;
        assert!(shape.check(&bad).is_err() && filter.compare(&bad).is_err());
    }
    assert!(shape.check(&bytes[1..]).is_err());
}

#[test]
fn lies_are_told_apart() {
    let (some, more) = (scattered(300, 4), scattered(301, 4));
    let (less, whole) = (filter_of(&some, 400), filter_of(&more, 400));
    assert_eq!(whole.compare(&whole.to_bytes()), Ok(None));
    assert_eq!(whole.compare(&less.to_bytes()), Ok(Some(BloomLie::Lacks)));
    assert_eq!(less.compare(&whole.to_bytes()), Ok(Some(BloomLie::HasMore)));
    let other = filter_of(&scattered(300, 5), 400);
    assert_eq!(whole.compare(&other.to_bytes()), Ok(Some(BloomLie::Lacks)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Values of any width, nulls among them: all others are found, in one part or in several.
    #[test]
    fn each_value_is_found(
        strings in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..300),
        width in prop::sample::select(vec![1_usize, 2, 4, 8, 16, 32, 40]),
        nulls in prop::collection::vec(prop::bool::weighted(0.2), 300),
        rows_beside in 0_u32..3_000,
        cut in 0_usize..300,
    ) {
        let n = strings.len();
        let fixed: Vec<u8> = strings
            .iter()
            .flat_map(|it| {
                let mut value = it.clone();
                value.resize(width, 0);
                value
            })
            .collect();
        let mut offsets = vec![0_u32];
        strings.iter().for_each(|it| offsets.push(offsets[offsets.len() - 1] + it.len() as u32));
        let data: Vec<u8> = strings.concat();
        let mut valid = vec![0_u8; n.div_ceil(8)];
        for i in (0..n).filter(|i| !nulls[*i]) {
            valid[i / 8] |= 1 << (i % 8);
        }
        let validity = BitSlice::new(&valid, 0, n).unwrap();
        let rows = n as u32 + rows_beside;
        for values in [
            Values::Fixed(FixedSlice::new(&fixed, width, n).unwrap()),
            Values::Bytes(BytesSlice::new(&offsets, &data).unwrap()),
        ] {
            let mut whole = BloomCollector::new(rows);
            whole.add(values, Some(validity)).unwrap();
            whole.add_nulls(rows_beside.into());
            let cut = cut.min(n);
            let mut parts = BloomCollector::new(rows);
            parts.add(values.slice(0..cut), Some(validity.slice(0..cut))).unwrap();
            let mut rest = BloomCollector::new(rows);
            rest.add(values.slice(cut..n), Some(validity.slice(cut..n))).unwrap();
            parts.merge(&rest);
            prop_assert_eq!(&parts, &whole);
            let filter = whole.to_bytes();
            let mut hashes = KeyHashes::default();
            hashes.add(values, Some(validity)).unwrap();
            prop_assert_eq!(hashes.hashes.len(), n);
            for (i, hash) in hashes.hashes.iter().enumerate() {
                let value = match values {
                    Values::Bytes(strings) => strings.get(i),
                    Values::Fixed(fixed) => fixed.get(i),
                    Values::Bits(_) => unreachable!("no bits"),
                };
                prop_assert_eq!(*hash, (!nulls[i]).then(|| KeyHash::of(value)));
                prop_assert!(nulls[i] || may_hold(&filter, rows, value));
            }
        }
    }
}

#[test]
fn booleans_have_none() {
    let bits = BitSlice::new(&[1], 0, 8).unwrap();
    assert!(
        BloomCollector::new(8)
            .add(Values::Bits(bits), None)
            .is_err()
    );
}
