//! For which values a page of codes is proposed, and how large it says it is.

use tarsia_codec::{
    BlockValues, DecodeCost, EncodingWriter, Facts, LogicalType, Proposal, Proposals, Registry,
    SharedBuffers, Statistics, Values, Version, build_encoder, limits,
};
use tarsia_huffman::{HUFFMAN, tree};
use tarsia_testkit::cases::Case;
use tarsia_testkit::rng::Rng;
use tarsia_testkit::units;

fn propose<'v>(statistics: &Statistics<'v>, bytes_to_beat: u64) -> Option<Proposal<'v>> {
    let mut proposals = Proposals::new(bytes_to_beat, Version::new(1, 0));
    HUFFMAN.propose(statistics, &mut proposals).unwrap();
    let mut all = proposals.into_vec();
    assert!(all.len() < 2);
    all.pop()
}

fn statistics(values: Values<'_>) -> Statistics<'_> {
    Statistics::new(values, Facts::of(LogicalType::Code))
}

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.add_writer(&HUFFMAN, DecodeCost::default());
    registry
}

/// Numbers below `odds` or so, small ones more often.
fn skewed(n: usize, odds: usize) -> Case {
    let mut rng = Rng::new(n as u64);
    let value = |_| rng.below(odds).min(rng.below(odds)) as u8;
    Case::fixed("", 1, n, (0..n).map(value).collect())
}

#[test]
fn one_unit_takes_the_bytes_that_are_proposed() {
    for n in [2048, 2049, 5000, 8000] {
        for odds in [2, 5, 30, 256] {
            let case = skewed(n, odds);
            let values = case.values();
            let proposal = propose(&statistics(values), u64::MAX).unwrap();
            let (encoded, shared) = units::encode(&registry(), &tree(), values).unwrap();
            assert_eq!(proposal.bytes, encoded.len() as u64, "{n} below {odds}");
            assert!(proposal.children.is_empty() && proposal.params.is_empty());
            let [part] = &proposal.shared[..] else {
                panic!("{proposal:?}");
            };
            let stored = part.values().unwrap();
            let written = shared[0].values().as_values().unwrap();
            assert_eq!(
                stored.as_fixed().unwrap().bytes(),
                written.as_fixed().unwrap().bytes()
            );
        }
    }
}

#[test]
fn many_units_take_about_the_bytes_that_are_proposed() {
    let case = skewed(1 << 18, 60);
    let values = case.values();
    let proposed = propose(&statistics(values), u64::MAX).unwrap().bytes;
    let mut buffers = SharedBuffers::new();
    let encoder = build_encoder(&registry(), &tree(), values, &mut buffers).unwrap();
    let n_units = proposed / limits::UNIT_BYTES_TARGET as u64 + 1;
    let unit_values = case.len() / n_units as usize + 1;
    let mut bytes = 0;
    for start in (0..case.len()).step_by(unit_values) {
        let mut out = vec![];
        let block = BlockValues::new(values, start..case.len().min(start + unit_values));
        encoder.encode(block.unwrap(), &mut out).unwrap();
        bytes += out.len() as u64;
    }
    assert!(
        bytes <= proposed && bytes + n_units > proposed,
        "{bytes} of {proposed}"
    );
}

#[test]
fn nothing_is_proposed_that_cannot_win() {
    let of = |case: &Case, to_beat| propose(&statistics(case.values()), to_beat).map(|it| it.bytes);
    let case = skewed(10_000, 20);
    let bytes = of(&case, u64::MAX).unwrap();
    assert_eq!(of(&case, bytes + 1), Some(bytes));
    assert_eq!(of(&case, bytes), None);
    // Not even with codes of one bit.
    assert_eq!(of(&skewed(10_000, 2), 10_000 / 8), None);
    assert_eq!(of(&skewed(2047, 20), u64::MAX), None);
    let mut rng = Rng::new(2);
    let random = Case::fixed("", 1, 1 << 16, rng.bytes(1 << 16));
    assert_eq!(of(&random, 1 << 16), None);
    assert_eq!(of(&Case::numbers("", 2, &[7; 4096]), u64::MAX), None);
    assert_eq!(of(&Case::strings("", &["a"; 4096]), u64::MAX), None);
    assert_eq!(of(&Case::bits("", &[true; 4096]), u64::MAX), None);
}

/// Checks values that codes of one bit each would suit, and a page of text, against a bound by entropy.
#[test]
fn codes_are_close_to_the_entropy() {
    for (odds, percent) in [(3, 6), (20, 1), (200, 1)] {
        let case = skewed(1 << 16, odds);
        let values = case.values();
        let mut counts = [0f64; 256];
        for value in values.as_fixed().unwrap().bytes() {
            counts[usize::from(*value)] += 1.0;
        }
        let n = case.len() as f64;
        let used = counts.iter().filter(|count| **count > 0.0);
        let bits: f64 = used.map(|count| count * (n / count).log2()).sum();
        let bytes = propose(&statistics(values), u64::MAX).unwrap().bytes as f64;
        let most = bits / 8.0 * (1.0 + f64::from(percent) / 100.0) + 100.0;
        assert!(
            bytes <= most && bytes >= bits / 8.0,
            "{bytes} of {bits} bits"
        );
    }
}

/// Lengths of codes tell of a value that one row had alone, unless rows may be erased.
#[test]
fn codes_of_values_that_may_be_erased_do_not_tell_of_rare_ones() {
    let lengths = |values: &[u8], erasable| {
        let case = Case::fixed("", 1, values.len(), values.to_vec());
        let facts = Facts {
            erasable,
            ..Facts::of(LogicalType::Code)
        };
        let statistics = Statistics::new(case.values(), facts);
        let proposal = propose(&statistics, u64::MAX).unwrap();
        let proposed = proposal.shared[0].values().unwrap();
        let proposed = proposed.as_fixed().unwrap().bytes().to_vec();
        // What is written is what is proposed.
        let mut shared = SharedBuffers::for_values(erasable);
        build_encoder(&registry(), &tree(), case.values(), &mut shared).unwrap();
        let written = shared.to_vec().unwrap();
        let written = written[0].1.as_values().unwrap();
        assert_eq!(written.as_fixed().unwrap().bytes(), proposed);
        proposed
    };
    let common: Vec<u8> = skewed(20_000, 60)
        .values()
        .as_fixed()
        .unwrap()
        .bytes()
        .to_vec();
    let absent = *[61, 62, 63]
        .iter()
        .find(|value| !common.contains(value))
        .unwrap();
    for secret in [absent, 63] {
        let mut twin = common.clone();
        twin[777] = secret;
        assert_eq!(lengths(&common, true), lengths(&twin, true), "{secret}");
        assert_ne!(lengths(&common, false), lengths(&twin, false), "{secret}");
    }
    // It costs a 43rd of a bit for each value at most.
    let bits = |lengths: &[u8]| -> f64 {
        common
            .iter()
            .map(|value| f64::from(lengths[usize::from(*value)]))
            .sum()
    };
    let (with, without) = (
        bits(&lengths(&common, true)),
        bits(&lengths(&common, false)),
    );
    assert!(
        with - without < common.len() as f64 / 43.0,
        "{with} {without}"
    );
}
