//! For which values bins are proposed, how large the page says it is, and how large it is.

use tarsia_bins::{BINS, NUMBER_BITS_MAX, tree};
use tarsia_codec::{
    BlockValues, EncodingWriter, Facts, LogicalType, Proposal, Proposals, SharedBuffers,
    Statistics, Values, Version, build_encoder,
};
use tarsia_testkit::cases::Case;
use tarsia_testkit::rng::Rng;

use super::tables::{normal, registry};

/// Facts that a search is told besides the values.
#[derive(Clone, Copy)]
struct Asked {
    logical_type: LogicalType,
    bytes_to_beat: u64,
    is_named: bool,
}

impl Asked {
    fn of(logical_type: LogicalType) -> Self {
        Self {
            logical_type,
            bytes_to_beat: u64::MAX,
            is_named: false,
        }
    }
}

/// Passes the proposals to `with`.
fn propose<T>(case: &Case, asked: Asked, with: impl FnOnce(&[Proposal<'_>]) -> T) -> T {
    let statistics = Statistics::new(case.values(), Facts::of(asked.logical_type));
    let proposals = Proposals::new(asked.bytes_to_beat, Version::new(1, 0));
    let mut proposals = proposals.of_named(asked.is_named);
    BINS.propose(&statistics, &mut proposals).unwrap();
    with(&proposals.into_vec())
}

fn n_proposals(case: &Case, asked: Asked) -> usize {
    propose(case, asked, |found| found.len())
}

/// The entries of a proposal's table, as they are stored.
fn table(proposal: &Proposal<'_>) -> Vec<u8> {
    let table = proposal.shared[0].values().unwrap();
    table.as_fixed().unwrap().bytes().to_vec()
}

fn n_bins(proposal: &Proposal<'_>) -> usize {
    proposal.shared[0].values().unwrap().len()
}

fn numbers(proposal: &Proposal<'_>) -> Vec<u8> {
    let numbers = proposal.children[0].values().unwrap();
    numbers.as_fixed().unwrap().bytes().to_vec()
}

fn case_of(width: usize, n: usize, mut number: impl FnMut(&mut Rng) -> u64) -> Case {
    let mut rng = Rng::new(n as u64);
    let numbers: Vec<u128> = (0..n).map(|_| number(&mut rng).into()).collect();
    Case::numbers("", width, &numbers)
}

fn lognormal(width: usize, n: usize) -> Case {
    case_of(width, n, |rng| (7.0 + normal(rng)).exp() as u64)
}

#[test]
fn skewed_numbers_are_proposed_with_the_bytes_of_their_offsets() {
    for width in [2, 4, 8] {
        for n in [4096, 5000, 70_000] {
            let case = lognormal(width, n);
            let asked = Asked {
                bytes_to_beat: case.values().decoded_bytes(),
                ..Asked::of(LogicalType::Unsigned)
            };
            propose(&case, asked, |found| {
                let params: Vec<_> = found.iter().map(|it| it.params[0]).collect();
                assert!(
                    matches!(params[..], [1..NUMBER_BITS_MAX, NUMBER_BITS_MAX]),
                    "{params:?}"
                );
                found.iter().for_each(|it| check_bytes(case.values(), it));
            });
        }
    }
}

/// Encodes a page in units as large as the proposal assumes.
fn check_bytes(values: Values<'_>, proposal: &Proposal<'_>) {
    let tree = tree(proposal.params[0], tarsia_plain::tree());
    let mut buffers = SharedBuffers::new();
    let encoder = build_encoder(&registry(), &tree, values, &mut buffers).unwrap();
    let unit_values = proposal.children[0].unit_values.min(values.len());
    let starts = (0..values.len()).step_by(unit_values);
    let unit_bytes = |start: usize| {
        let end = values.len().min(start + unit_values);
        let mut unit = vec![];
        let block = BlockValues::new(values, start..end).unwrap();
        encoder.encode(block, &mut unit).unwrap();
        // Without the child's.
        (unit.len() - (end - start)) as u64
    };
    let n_units = starts.len() as u64;
    let bytes: u64 = starts.map(unit_bytes).sum();
    // Each unit ends with a whole byte.
    let expected = bytes - n_units..=bytes;
    assert!(expected.contains(&proposal.bytes), "{n_units} units");
    let made = buffers.to_vec().unwrap();
    let made = made[0].1.as_values().unwrap().as_fixed().unwrap().bytes();
    assert_eq!(made, table(proposal));
    let n_bins = n_bins(proposal);
    assert!((2..60).contains(&n_bins), "{n_bins} bins");
    let number_max = numbers(proposal).into_iter().max();
    assert_eq!(number_max, Some(n_bins as u8 - 1));
}

/// The bits of a value by the entropy of the numbers of bins, as a child of codes could store them.
fn entropy(numbers: &[u8]) -> f64 {
    let n = numbers.len() as f64;
    let share = |number: u8| numbers.iter().filter(|it| **it == number).count() as f64 / n;
    let shares = (0..=255).map(share).filter(|share| *share > 0.0);
    -shares.map(|share| share * share.log2()).sum::<f64>()
}

/// Table, offsets and numbers, the latter at their entropy or packed, beside the least that `bits` says.
fn check_bits(case: &Case, logical_type: LogicalType, bits: f64) {
    propose(case, Asked::of(logical_type), |found| {
        let more = |proposal: &Proposal<'_>| {
            let numbers = numbers(proposal);
            let of_number = match proposal.params[0] {
                NUMBER_BITS_MAX => entropy(&numbers),
                number_bits => number_bits.into(),
            };
            let bytes = proposal.bytes as usize + table(proposal).len();
            (8.0 * bytes as f64 + of_number * numbers.len() as f64) / bits
        };
        let [packed, coded] = found else {
            panic!("{} proposals", found.len());
        };
        let (packed, coded) = (more(packed), more(coded));
        assert!((1.0..1.01).contains(&coded), "{coded} of the entropy");
        assert!((coded..1.035).contains(&packed), "{packed} of the entropy");
    });
}

#[test]
fn pages_are_near_the_entropy_of_their_distribution() {
    let n = 50_000;
    let density = |x: f64| (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt();
    let mut bits = 0.0;
    let longs = case_of(8, n, |rng| {
        let number = (14.0 + 1.5 * normal(rng)).exp().floor();
        let x = ((number + 0.5).ln() - 14.0) / 1.5;
        bits -= (density(x) / (1.5 * (number + 0.5))).log2();
        number as u64
    });
    check_bits(&longs, LogicalType::Unsigned, bits);
    bits = 0.0;
    let doubles = case_of(8, n, |rng| {
        let x = normal(rng);
        bits -= (density(x) * (f64::EPSILON * x.abs().log2().floor().exp2())).log2();
        x.to_bits()
    });
    check_bits(&doubles, LogicalType::Float, bits);
    bits = 0.0;
    let floats = case_of(4, n, |rng| {
        let number = normal(rng) as f32;
        let (x, step) = (f64::from(number), f64::from(f32::EPSILON));
        bits -= (density(x) * (step * x.abs().log2().floor().exp2())).log2();
        number.to_bits().into()
    });
    check_bits(&floats, LogicalType::Float, bits);
    // Zipf: the number k has a share of 1 / k.
    let mut until: Vec<f64> = (1..=100_000).map(|k| 1.0 / f64::from(k)).collect();
    for k in 1..until.len() {
        until[k] += until[k - 1];
    }
    let all = until[until.len() - 1];
    bits = 0.0;
    let ranks = case_of(4, n, |rng| {
        let share = rng.u64() as f64 / 2f64.powi(64);
        let rank = until.partition_point(|it| *it < share * all) as u64;
        bits += ((rank + 1) as f64 * all).log2();
        rank
    });
    check_bits(&ranks, LogicalType::Unsigned, bits);
}

#[test]
fn nothing_is_proposed_that_cannot_win() {
    let case = lognormal(4, 20_000);
    let all = Asked::of(LogicalType::Signed);
    let least = propose(&case, all, |found| found.iter().map(|it| it.bytes).min());
    for bytes_to_beat in [0, 1, 1000, least.unwrap()] {
        let asked = Asked {
            bytes_to_beat,
            ..all
        };
        assert_eq!(n_proposals(&case, asked), 0);
    }
    let none = |case: &Case, logical_type| {
        let n = n_proposals(case, Asked::of(logical_type));
        assert_eq!(n, 0, "{logical_type:?}");
    };
    none(&case, LogicalType::Boolean);
    none(&case, LogicalType::Binary);
    none(&lognormal(4, 4000), LogicalType::Unsigned);
    none(&lognormal(1, 20_000), LogicalType::Unsigned);
    none(&Case::strings("", &["a"; 5000]), LogicalType::Text);
    let wide = Case::fixed("", 16, 5000, vec![7; 80_000]);
    none(&wide, LogicalType::Decimal { scale: 2 });
    // One bin is best.
    none(&Case::numbers("", 4, &[7; 5000]), LogicalType::Unsigned);
    let uniform = case_of(4, 20_000, |rng| rng.below(1 << 12) as u64);
    none(&uniform, LogicalType::Unsigned);
    none(&case_of(8, 20_000, Rng::u64), LogicalType::Unsigned);
}

#[test]
fn where_a_user_names_it_all_numbers_are_proposed() {
    let named = Asked {
        is_named: true,
        ..Asked::of(LogicalType::Unknown)
    };
    for width in [1, 2, 4, 8] {
        for numbers in [&[7; 3][..], &[1, 2, 1 << 7], &[0, (1 << (8 * width)) - 1]] {
            let n = n_proposals(&Case::numbers("", width, numbers), named);
            assert!(n > 0, "{width}, {numbers:?}");
        }
        assert_eq!(n_proposals(&Case::numbers("", width, &[]), named), 0);
        assert!(n_proposals(&lognormal(width, 1000), named) > 0);
    }
    assert_eq!(n_proposals(&Case::strings("", &["a", "b"]), named), 0);
}

/// A few numbers far away, which no sample has, take bins of their own and widen no others.
#[test]
fn outliers_widen_no_bin() {
    let far = 1 << 60;
    let mut i = 0;
    let case = case_of(8, 100_000, |rng| {
        i += 1;
        match i {
            30_000 | 60_000 => far + rng.below(1000) as u64,
            _ => 50 + rng.below(20) as u64,
        }
    });
    propose(&case, Asked::of(LogicalType::Signed), |found| {
        assert_eq!(found.len(), 2);
        for proposal in found {
            // 20 numbers take at most 5 bits.
            let bytes = proposal.bytes;
            assert!(bytes <= 100_000 * 5 / 8 + 100, "{bytes}");
        }
    });
}

/// More frequent numbers than bins: the least frequent share some.
#[test]
fn there_are_at_most_256_bins() {
    let case = case_of(8, 200_000, |rng| {
        let rank = rng.below(600) as u64;
        rank.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    });
    let most = propose(&case, Asked::of(LogicalType::Signed), |found| {
        found.iter().map(n_bins).max()
    });
    assert_eq!(most, Some(256));
}

#[test]
fn the_same_numbers_have_the_same_bins() {
    let tables = || {
        propose(
            &lognormal(8, 30_000),
            Asked::of(LogicalType::Signed),
            |found| found.iter().map(table).collect::<Vec<_>>(),
        )
    };
    assert_eq!(tables(), tables());
}
