//! Sets that round trip, behave as sets, and hostile bytes.

use std::collections::BTreeSet;

use proptest::prelude::*;
use roaring::RoaringTreemap;

use super::*;

/// Ranges of rows near the borders of containers and bitmaps, and elsewhere.
fn parts() -> impl Strategy<Value = Vec<Range<u64>>> {
    let borders = vec![0, 1 << 16, 5 << 16, 1 << 32, 2 << 32, (1 << 32) + (1 << 16)];
    let start = (prop::sample::select(borders), -70i64..70)
        .prop_map(|(border, off)| u64::saturating_add_signed(border, off));
    let length = prop_oneof![4 => 1..4u64, 2 => 1..200u64, 1 => 1..10_000u64];
    let part = (start, length).prop_map(|(start, length)| start..start + length);
    proptest::collection::vec(part, 0..30)
}

fn model(parts: &[Range<u64>]) -> BTreeSet<u64> {
    parts.iter().flat_map(Clone::clone).collect()
}

fn set(parts: &[Range<u64>]) -> RowSet {
    let mut set = RowSet::new();
    for part in parts {
        set.insert_range(part.clone());
    }
    set
}

fn runs(rows: impl Iterator<Item = u64>) -> Vec<Range<u64>> {
    let mut runs: Vec<Range<u64>> = vec![];
    for row in rows {
        match runs.last_mut() {
            Some(last) if last.end == row => last.end += 1,
            _ => runs.push(row..row + 1),
        }
    }
    runs
}

/// Returns the bytes that another implementation writes for the rows.
fn others_bytes(rows: impl Iterator<Item = u64>) -> Vec<u8> {
    let mut treemap: RoaringTreemap = rows.collect();
    treemap.optimize();
    let mut bytes = vec![];
    treemap.serialize_into(&mut bytes).unwrap();
    bytes
}

proptest! {
    #[test]
    fn a_set_is_the_rows_that_were_put_in(a in parts(), b in parts(), ask in parts()) {
        let (rows, set_a) = (model(&a), set(&a));
        prop_assert_eq!(&rows.iter().rev().copied().collect::<RowSet>(), &set_a);
        prop_assert_eq!(set_a.len(), rows.len() as u64);
        prop_assert_eq!(set_a.is_empty(), rows.is_empty());
        prop_assert_eq!(set_a.last(), rows.last().copied());
        prop_assert!(set_a.iter().eq(rows.iter().copied()));
        for range in ask.iter().cloned().chain([0..0, 7..7, 0..u64::MAX, 1 << 32..3 << 32]) {
            let inside = rows.range(range.clone());
            prop_assert_eq!(set_a.count(range.clone()), inside.clone().count() as u64);
            let found: Vec<_> = set_a.ranges(range.clone()).collect();
            prop_assert_eq!(found, runs(inside.copied()));
            for row in [range.start, range.end] {
                prop_assert_eq!(set_a.contains(row), rows.contains(&row));
            }
        }
        let (other, set_b) = (model(&b), set(&b));
        prop_assert!(set_a.union(&set_b).iter().eq(rows.union(&other).copied()));
        let less = set_a.difference(&set_b);
        prop_assert!(less.iter().eq(rows.difference(&other).copied()));
        prop_assert_eq!(less.is_empty(), rows.is_subset(&other));
        prop_assert_eq!(set_a.is_subset(&set_b), rows.is_subset(&other));
        prop_assert!(less.is_subset(&set_a) && set_b.is_subset(&set_a.union(&set_b)));
        prop_assert_eq!(less.union(&set_a), set_a);
    }

    #[test]
    fn equal_sets_have_equal_bytes_which_others_read_and_write(a in parts(), b in parts()) {
        let (set_a, set_b) = (set(&a), set(&b));
        let bytes = set_a.to_bytes();
        let end = set_a.last().map_or(0, |last| last + 1);
        prop_assert_eq!(&RowSet::parse(&bytes, end), &Ok(set_a.clone()));
        prop_assert_eq!(&bytes, &others_bytes(set_a.iter()));
        let again = set_a.union(&set_b).difference(&set_b.difference(&set_a));
        prop_assert_eq!(&again, &set_a);
        prop_assert_eq!(&again.to_bytes(), &bytes);
        prop_assert_eq!(again.digest(), set_a.digest());
        if let Some(last) = set_a.last() {
            let refused = RowSet::parse(&bytes, last);
            prop_assert_eq!(refused, Err(RowSetError::Row { row: last, rows: last }));
        }
    }

    #[test]
    fn damaged_bytes_are_refused_or_another_set(
        a in parts(),
        at in any::<prop::sample::Index>(),
        bit in 0..8u8,
        cut in any::<prop::sample::Index>(),
    ) {
        let set = set(&a);
        let good = set.to_bytes();
        let prefix = &good[..cut.index(good.len())];
        prop_assert!(RowSet::parse(prefix, u64::MAX).is_err());
        let longer = [&good[..], &[0]].concat();
        prop_assert!(RowSet::parse(&longer, u64::MAX).is_err());
        let mut bad = good.clone();
        bad[at.index(good.len())] ^= 1 << bit;
        if let Ok(other) = RowSet::parse(&bad, u64::MAX) {
            prop_assert_ne!(&other, &set);
            prop_assert_eq!(&RowSet::parse(&other.to_bytes(), u64::MAX), &Ok(other.clone()));
            prop_assert_eq!(other.iter().count() as u64, other.len());
            let rows = other.ranges(0..u64::MAX).map(|range| range.end - range.start);
            prop_assert_eq!(rows.sum::<u64>(), other.len());
        }
    }

    #[test]
    fn any_bytes_are_refused_or_a_set(
        bytes in proptest::collection::vec(any::<u8>(), 0..80),
        cookie in prop::sample::select(vec![12346u32, 12347, 12347 | 3 << 16]),
    ) {
        let mut likely = vec![1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0];
        likely.extend_from_slice(&cookie.to_le_bytes());
        likely.extend_from_slice(&bytes);
        for bytes in [bytes, likely] {
            if let Ok(set) = RowSet::parse(&bytes, u64::MAX) {
                prop_assert!(set.iter().is_sorted());
            }
        }
    }
}

/// One bitmap with these bytes behind the upper half 0.
fn one(parts: &[&[u16]]) -> Vec<u8> {
    let mut bytes = vec![1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    for number in parts.concat() {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes
}

#[test]
fn the_layout_is_that_of_roaring() {
    let set: RowSet = [1, 2, 3, 4, 5, 70_000].into_iter().collect();
    let mut expect = one(&[&[COOKIE_RUNS, 1]]);
    expect.push(0b01);
    for number in [0u16, 4, 1, 0, 1, 1, 4, 70_000u32 as u16] {
        expect.extend_from_slice(&number.to_le_bytes());
    }
    assert_eq!(set.to_bytes(), expect);
    // As short as runs: positions.
    let set: RowSet = [1, 2, 3].into_iter().collect();
    assert_eq!(
        set.to_bytes(),
        one(&[
            &[COOKIE_PLAIN as u16, 0, 1, 0],
            &[0, 2],
            &[16, 0],
            &[1, 2, 3]
        ])
    );
    assert_eq!(RowSet::new().to_bytes(), [0; 8]);
    assert_eq!(RowSet::parse(&[0; 8], 0), Ok(RowSet::new()));
}

#[test]
fn the_digest_is_the_documented_one() {
    let mut input = vec![8];
    input.resize(16, 0);
    for row in [3u64, 1 << 40] {
        input.extend_from_slice(&row.to_le_bytes());
    }
    let set: RowSet = [1 << 40, 3].into_iter().collect();
    assert_eq!(set.digest(), *blake3::hash(&input).as_bytes());
    assert_eq!(
        RowSet::new().digest(),
        *blake3::hash(&input[..16]).as_bytes()
    );
    let long = set_of(0..5000);
    let input: Vec<u8> = input[..16]
        .iter()
        .copied()
        .chain((0..5000u64).flat_map(u64::to_le_bytes))
        .collect();
    assert_eq!(long.digest(), *blake3::hash(&input).as_bytes());
}

fn set_of(range: Range<u64>) -> RowSet {
    set(&[range])
}

/// Refuses bytes that no writer writes, and that a reader might take for other rows.
#[test]
fn lies_are_refused() {
    let (plain, runs) = (COOKIE_PLAIN as u16, COOKIE_RUNS);
    // One container of runs: cookie and number, the flag as a byte, the rest.
    let run = |flag: u8, rest: &[u16]| {
        let mut bytes = one(&[&[runs, 0]]);
        bytes.push(flag);
        for number in rest {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes
    };
    assert_eq!(
        RowSet::parse(&run(1, &[0, 3, 1, 5, 3]), 9),
        Ok(set_of(5..9))
    );
    for (bytes, what) in [
        (run(1, &[0, 4, 1, 5, 3]), "runs"),
        (run(1, &[0, 2, 1, 5, 3]), "runs"),
        (run(1, &[0, 0, 0]), "runs"),
        (run(1, &[0, 1, 2, 5, 0, 6, 0]), "a bitmap"),
        (run(1, &[0, 1, 2, 5, 0, 4, 0]), "a bitmap"),
        (run(1, &[0, 3, 2, 5, 1, 6, 1]), "a bitmap"),
        (run(1, &[0, 1, 1, 65535, 1]), "a bitmap"),
        (run(3, &[0, 3, 1, 5, 3]), "flags of runs"),
        (one(&[&[plain, 0, 0, 0]]), "the number of containers"),
        (one(&[&[plain, 0, 1, 1]]), "the number of containers"),
        (one(&[&[plain, 1, 1, 0]]), "a cookie"),
        (
            one(&[&[plain, 0, 1, 0], &[0, 1], &[16, 0], &[2, 2]]),
            "a bitmap",
        ),
        (
            one(&[&[plain, 0, 1, 0], &[0, 1], &[16, 0], &[3, 2]]),
            "a bitmap",
        ),
        (
            one(&[&[plain, 0, 1, 0], &[0, 1], &[18, 0], &[2, 3]]),
            "an offset",
        ),
        (
            one(&[&[plain, 0, 2, 0], &[4, 0, 4, 0], &[24, 0, 26, 0], &[1, 1]]),
            "a key",
        ),
        (
            one(&[&[plain, 0, 1, 0], &[0, 4096], &[16, 0], &[u16::MAX; 4096]]),
            "a bitmap",
        ),
        (
            [
                &[2, 0, 0, 0, 0, 0, 0, 0],
                &run(1, &[0, 0, 1, 5, 0])[8..],
                &[0; 4],
            ]
            .concat(),
            "the upper half of rows",
        ),
    ] {
        match RowSet::parse(&bytes, u64::MAX) {
            Err(RowSetError::Corrupt { what: found, .. }) => assert_eq!(found, what),
            other => panic!("{what}: {other:?}"),
        }
    }
    let many = [&[0xff; 8][..], &[0; 4]].concat();
    assert!(matches!(
        RowSet::parse(&many, 1),
        Err(RowSetError::Truncated { at: 12, .. })
    ));
}

#[test]
fn forms_that_are_not_the_smallest_are_read() {
    let positions = one(&[
        &[COOKIE_PLAIN as u16, 0, 1, 0],
        &[0, 3],
        &[16, 0],
        &[5, 6, 7, 8],
    ]);
    let set = RowSet::parse(&positions, 9).unwrap();
    assert_eq!(set, set_of(5..9));
    assert_ne!(set.to_bytes(), positions);
    assert_eq!(set.to_bytes(), set_of(5..9).to_bytes());
}

#[test]
fn long_runs_take_little_memory_and_few_bytes() {
    let mut set = set_of(5..1 << 35);
    assert_eq!(set.len(), (1 << 35) - 5);
    assert_eq!(set.count(1 << 33..1 << 34), 1 << 33);
    assert!(set.ranges(0..u64::MAX).eq(std::iter::once(5..1 << 35)));
    let bytes = set.to_bytes();
    assert!(bytes.len() < 8 << 20, "{}", bytes.len());
    assert_eq!(RowSet::parse(&bytes, 1 << 35).as_ref(), Ok(&set));
    set.insert_range(u64::MAX - 1..u64::MAX);
    assert_eq!(set.last(), Some(u64::MAX - 1));
}
