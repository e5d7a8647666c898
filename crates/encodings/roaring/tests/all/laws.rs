//! The laws of all encodings, for roaring.

use tarsia_codec::{
    DecodeCost, EncodingWriter, Facts, LogicalType, Output, Proposals, Registry, Scratch,
    Selection, Statistics, Unit, ValueType, build_decoder,
};
use tarsia_roaring::{CONTAINER_VALUES, ROARING, VERSION, tree};
use tarsia_testkit::cases::Case;
use tarsia_testkit::laws::{cases, check_cases};
use tarsia_testkit::rng::Rng;
use tarsia_testkit::units;

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.add_writer(&ROARING, DecodeCost::default());
    registry
}

fn encoded(bits: &[bool]) -> Vec<u8> {
    let case = Case::bits("", bits);
    let (bytes, _) = units::encode(&registry(), &tree(), case.values()).unwrap();
    bytes
}

/// Bits of which one in `one_in` begins a run, with runs of up to `run_max`.
fn runs(n: usize, one_in: usize, run_max: usize, rng: &mut Rng) -> Vec<bool> {
    let mut left = 0;
    let mut bit = |_| {
        if left == 0 && rng.below(one_in) == 0 {
            left = rng.between(1, run_max + 1);
        }
        left = left.saturating_sub(1);
        left > 0 || run_max == 1 && rng.below(one_in) == 0
    };
    (0..n).map(&mut bit).collect()
}

#[test]
fn bits_obey_the_laws() {
    check_cases(&registry(), &tree(), &cases(ValueType::Bits));
}

#[test]
fn sparse_and_clustered_bits_obey_the_laws() {
    let mut rng = Rng::new(3);
    let mut all = vec![];
    for n in [63, 64, 1000, 9000, CONTAINER_VALUES] {
        for (one_in, run_max) in [(1000, 1), (60, 1), (20, 1), (200, 50), (2000, 3000)] {
            let bits = runs(n, one_in, run_max, &mut rng);
            let unset: Vec<bool> = bits.iter().map(|bit| !bit).collect();
            all.push(Case::bits(&format!("{one_in} {run_max}"), &bits));
            all.push(Case::bits(&format!("not {one_in} {run_max}"), &unset));
        }
    }
    check_cases(&registry(), &tree(), &all);
}

/// The number of the kind of each container.
fn kinds(bytes: &[u8], n: usize) -> Vec<u8> {
    let heads = &bytes[..3 * n.div_ceil(CONTAINER_VALUES)];
    heads.chunks(3).map(|head| head[0]).collect()
}

/// A row of a list may hold more values than a container.
#[test]
fn units_of_several_containers_are_read_in_any_part() {
    let mut rng = Rng::new(4);
    let n = 5 * CONTAINER_VALUES + 777;
    let mut bits = runs(CONTAINER_VALUES, 900, 1, &mut rng);
    bits.extend(
        runs(CONTAINER_VALUES, 900, 1, &mut rng)
            .iter()
            .map(|bit| !bit),
    );
    bits.extend(runs(CONTAINER_VALUES, 3000, 1000, &mut rng));
    bits.extend((0..CONTAINER_VALUES).map(|_| rng.flip()));
    bits.extend(vec![false; CONTAINER_VALUES]);
    bits.extend((0..777).map(|i| i > 13));
    let bytes = encoded(&bits);
    let found = kinds(&bytes, n);
    assert_eq!((found[0], found[1], found[3], found[4]), (0, 1, 4, 0));
    assert!(
        [2, 3].contains(&found[2]) && [2, 3].contains(&found[5]),
        "{found:?}"
    );
    let unit = Unit {
        bytes: &bytes,
        len: n as u32,
        decoded_bytes: 0,
    };
    let registry = registry();
    let decoder = build_decoder(&registry, &tree(), ValueType::Bits, &[]).unwrap();
    let check = |selection: Selection<'_>, expected: &[bool], offset: usize| {
        let mut out = vec![0; (offset + expected.len()).div_ceil(8)];
        let to = Output::Bits {
            bytes: &mut out,
            offset,
        };
        let done = decoder.decode(unit, selection, &mut Scratch::new(), to);
        assert_eq!(done, Ok(0));
        let places = offset..offset + expected.len();
        let got = places.map(|at| out[at / 8] >> (at % 8) & 1 == 1);
        let wrong = got
            .zip(expected)
            .position(|(got, expected)| got != *expected);
        assert_eq!(wrong, None, "{offset}");
    };
    check(Selection::All, &bits, 3);
    for _ in 0..300 {
        let start = rng.below(n);
        let len = rng.below(n - start + 1).min(1 + rng.below(200_000));
        let range = Selection::Range {
            start: start as u32,
            len: len as u32,
        };
        check(range, &bits[start..start + len], rng.below(9));
    }
    for count in [1, 300, 20_000] {
        let mut indices: Vec<u32> = (0..count).map(|_| rng.below(n) as u32).collect();
        indices.sort_unstable();
        let expected: Vec<bool> = indices.iter().map(|i| bits[*i as usize]).collect();
        check(Selection::Indices(&indices), &expected, 5);
    }
}

/// The bytes that are proposed.
fn proposed(bits: &[bool], bytes_to_beat: u64) -> Option<u64> {
    let case = Case::bits("", bits);
    let statistics = Statistics::new(case.values(), Facts::of(LogicalType::Boolean));
    let mut proposals = Proposals::new(bytes_to_beat, VERSION);
    ROARING.propose(&statistics, &mut proposals).unwrap();
    let first = proposals.into_vec().into_iter().next();
    first.map(|it| it.bytes)
}

#[test]
fn what_is_proposed_is_what_a_page_takes() {
    let mut rng = Rng::new(5);
    for n in [1, 64, 5000, CONTAINER_VALUES, CONTAINER_VALUES + 1, 200_000] {
        for (one_in, run_max) in [(1000, 1), (30, 1), (3, 1), (40, 9), (300, 600)] {
            let bits = runs(n, one_in, run_max, &mut rng);
            let bytes = encoded(&bits).len() as u64;
            assert_eq!(proposed(&bits, u64::MAX), Some(bytes));
            assert_eq!(proposed(&bits, bytes), None);
        }
    }
    assert_eq!(proposed(&[], u64::MAX), None);
}

#[test]
fn each_kind_takes_what_it_holds() {
    let n = 10_000;
    let of = |bit: &dyn Fn(usize) -> bool| {
        let bytes = encoded(&(0..n).map(bit).collect::<Vec<bool>>());
        (kinds(&bytes, n), bytes.len())
    };
    assert_eq!(of(&|i| i % 100 == 7), (vec![0], 3 + 2 * 100));
    assert_eq!(of(&|i| i % 100 != 7), (vec![1], 3 + 2 * 100));
    assert_eq!(of(&|i| i % 1000 > 500), (vec![2], 3 + 4 * 10));
    // A run of unset bits fewer than of set ones.
    assert_eq!(of(&|i| (i + 600) % 1000 > 500), (vec![3], 3 + 4 * 10));
    assert_eq!(of(&|i| !(100..9000).contains(&i)), (vec![3], 3 + 4));
    assert_eq!(of(&|i| i % 3 == 0), (vec![4], 3 + 1250));
    assert_eq!(of(&|_| false), (vec![0], 3));
    assert_eq!(of(&|_| true), (vec![1], 3));
}
