//! A small sample of values that says which encodings are worth asking about all.

use tarsia_codec::{
    AlignedBuf, Asked, Facts, FixedSlice, OwnedValues, Proposal, Result, Statistics, Values,
};

use crate::ask::{Asking, Place, SHARED_BUFFER_OVERHEAD_BYTES, decode_ps};
use crate::scouted::{Node, Scouted};

/// Runs of a sample: of large pages, and of others.
const RUNS: usize = 8;
const RUNS_OF_OTHERS: usize = 4;

/// Pages with more values are large.
const LARGE_VALUES: usize = 1 << 17;

/// One value in so many is in a run, but at least and at most so many. Longer ones tell no more of how values change
/// from one to the next.
const RUN_ONE_IN: usize = 64;
const RUN_VALUES_MIN: usize = 256;
const RUN_VALUES_MAX: usize = 1024;

/// Fewer values are all looked at.
const VALUES_MIN: usize = 8 * RUNS_OF_OTHERS * RUN_VALUES_MIN;

/// Costs of a sample that are a quarter above the least are not found out exactly.
const NEAR_ONE_IN: u64 = 4;

/// Bytes of a unit that do not depend on how many values it has. Units of a sample are short.
const BYTES_OF_UNIT: u64 = 8;

/// The cost of a tree for a sample, in picoseconds.
#[derive(Clone, Copy)]
struct Cost {
    /// With shared buffers, each as large as a page would have it.
    sure: u64,
    /// Without: they count less, the more values a page has.
    hoped: u64,
}

/// The most that an encoding may cost beside one of `least_ps`.
fn near(least_ps: u64, of_units_ps: u64) -> u64 {
    let most = least_ps.saturating_add(least_ps / NEAR_ONE_IN);
    most.saturating_add(of_units_ps)
}

/// Tries all encodings for a sample of the values, as a search would for all. `None` where there are too few values.
pub(crate) fn scout(
    of_all: &Asking<'_>,
    values: &Statistics<'_>,
    place: Place<'_>,
) -> Result<Option<Scouted>> {
    let Some((run_values, sample)) = sample(values.values()) else {
        return Ok(None);
    };
    let facts = Facts {
        rows: None,
        memory: None,
        ..*values.facts()
    };
    let sample = Statistics::new(sample.as_values()?, facts).in_units_of(run_values);
    let of_units = sample.n_units() * BYTES_OF_UNIT;
    let mut scout = Scout {
        asking: Asking::of_sample(of_all),
        all: Scouted {
            nodes: vec![Node::default()],
            n_values: values.len(),
            n_sample: sample.len(),
            of_units_ps: of_units.saturating_mul(of_all.encoders.weights.byte_ps),
        },
    };
    scout.node(0, &sample, place, u64::MAX)?;
    if scout.asking.is_exhausted() {
        // What is not noted may cost anything.
        for node in &mut scout.all.nodes {
            node.others_ps = None;
        }
    }
    Ok(Some(scout.all))
}

struct Scout<'a> {
    asking: Asking<'a>,
    all: Scouted,
}

impl Scout<'_> {
    /// Notes what each encoding costs that is near the best and costs less than `to_beat_ps`. Returns the least.
    fn node(
        &mut self,
        node: usize,
        values: &Statistics<'_>,
        place: Place<'_>,
        to_beat_ps: u64,
    ) -> Result<Option<Cost>> {
        if !self.asking.enters(place) {
            return Ok(None);
        }
        let encoders = self.asking.encoders;
        let mut least: Option<Cost> = None;
        let mut bound_ps = to_beat_ps;
        for (i, known) in encoders.registry.writers().iter().enumerate() {
            if known.writer.asked() == Asked::Last {
                continue;
            }
            let decode_ps = decode_ps(known, values);
            let mut of_encoding: Option<Cost> = None;
            for proposal in self.asking.ask(known, values, place, bound_ps, true)? {
                if self.asking.may_use(known, &proposal, values, place) {
                    let left_ps = bound_ps.saturating_sub(decode_ps);
                    let cost = self.cost(node, i, &proposal, values, place, left_ps)?;
                    of_encoding = min(of_encoding, cost.map(|it| it.plus(decode_ps)));
                }
            }
            if let Some(cost) = of_encoding {
                self.all.nodes[node].costs.push((cost.hoped, i));
                least = min(least, Some(cost));
                bound_ps = bound_ps.min(near(cost.sure, self.all.of_units_ps));
            }
        }
        let others_ps = &mut self.all.nodes[node].others_ps;
        *others_ps = Some(others_ps.map_or(bound_ps, |before| before.min(bound_ps)));
        Ok(least)
    }

    /// The cost of a proposal with the cheapest children, without its own decoder.
    fn cost(
        &mut self,
        node: usize,
        encoding: usize,
        proposal: &Proposal<'_>,
        values: &Statistics<'_>,
        place: Place<'_>,
        to_beat_ps: u64,
    ) -> Result<Option<Cost>> {
        let worth = |bytes: u64| bytes.saturating_mul(self.asking.encoders.weights.byte_ps);
        let mut cost = Cost {
            sure: worth(proposal.bytes),
            hoped: worth(proposal.bytes),
        };
        for part in &proposal.shared {
            let bytes = part.values()?.decoded_bytes() + SHARED_BUFFER_OVERHEAD_BYTES;
            cost.sure = cost.sure.saturating_add(worth(bytes));
        }
        let id = self.asking.encoders.registry.writers()[encoding]
            .writer
            .id();
        for (i, part) in proposal.children.iter().enumerate() {
            let child = values.of_part(part, None)?;
            if child.is_empty() {
                continue;
            }
            let to_beat_ps = to_beat_ps.saturating_sub(cost.hoped);
            let of_child = self.child(node, [encoding, i]);
            let place = place.of_child(id, part, i);
            let Some(found) = self.node(of_child, &child, place, to_beat_ps)? else {
                return Ok(None);
            };
            cost = Cost {
                sure: cost.sure.saturating_add(found.sure),
                hoped: cost.hoped.saturating_add(found.hoped),
            };
        }
        Ok((cost.hoped < to_beat_ps).then_some(cost))
    }

    /// The node of a child, which is made if need be.
    fn child(&mut self, node: usize, key: [usize; 2]) -> usize {
        let next = self.all.nodes.len();
        let children = &mut self.all.nodes[node].children;
        if let Some((_, found)) = children.iter().find(|(known, _)| *known == key) {
            return *found;
        }
        children.push((key, next));
        self.all.nodes.push(Node::default());
        next
    }
}

impl Cost {
    fn plus(self, ps: u64) -> Self {
        Self {
            sure: self.sure.saturating_add(ps),
            hoped: self.hoped.saturating_add(ps),
        }
    }
}

/// The least of each, which may be those of two trees.
fn min(a: Option<Cost>, b: Option<Cost>) -> Option<Cost> {
    let (Some(one), Some(other)) = (a, b) else {
        return a.or(b);
    };
    Some(Cost {
        sure: one.sure.min(other.sure),
        hoped: one.hoped.min(other.hoped),
    })
}

/// A sample of numbers, of which there are many, and the length of its runs.
fn sample(values: Values<'_>) -> Option<(usize, OwnedValues)> {
    let Values::Fixed(fixed) = values else {
        return None;
    };
    let n = fixed.len();
    if n < VALUES_MIN || fixed.width() == 0 {
        return None;
    }
    let n_runs = if n > LARGE_VALUES {
        RUNS
    } else {
        RUNS_OF_OTHERS
    };
    let run_values = (n / RUN_ONE_IN).clamp(RUN_VALUES_MIN, RUN_VALUES_MAX);
    Some((run_values, runs_of(&fixed, n_runs, run_values)))
}

/// Runs of values, evenly spread over them; at least two, which are no longer than all values.
pub(crate) fn runs_of(values: &FixedSlice<'_>, n_runs: usize, run_values: usize) -> OwnedValues {
    let (n, width) = (values.len(), values.width());
    let mut bytes = AlignedBuf::zeroed(n_runs * run_values * width);
    for (i, to) in bytes.chunks_exact_mut(run_values * width).enumerate() {
        let start = i * (n - run_values) / (n_runs - 1);
        to.copy_from_slice(values.slice(start..start + run_values).bytes());
    }
    OwnedValues::Fixed {
        bytes,
        width,
        len: n_runs * run_values,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tarsia_codec::LogicalType;
    use tarsia_testkit::rng::Rng;

    use super::*;
    use crate::encoders::Encoders;
    use crate::search::Search;
    use crate::{Candidate, Objective};

    fn found(values: &[u64]) -> Candidate {
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        let fixed = FixedSlice::new(&bytes, 8, values.len()).unwrap();
        let statistics = Statistics::new(Values::Fixed(fixed), Facts::of(LogicalType::Unsigned));
        let registry = Arc::new(tarsia_encodings::registry());
        let encoders = Encoders::new(registry, Objective::Balanced.weights());
        let best = Search::new(&encoders).best(&statistics, Place::ROOT, u64::MAX);
        best.unwrap().unwrap()
    }

    #[test]
    fn samples_are_runs_from_the_first_value_to_the_last() {
        for n in [VALUES_MIN, 20_000, LARGE_VALUES + 1, 1 << 20] {
            let values: Vec<u8> = (0..n as u32).flat_map(u32::to_le_bytes).collect();
            let fixed = FixedSlice::new(&values, 4, n).unwrap();
            let (run_values, sample) = sample(Values::Fixed(fixed)).unwrap();
            let sample = sample.as_values().unwrap().as_fixed().unwrap();
            let (numbers, _) = sample.bytes().as_chunks::<4>();
            let numbers: Vec<u32> = numbers.iter().map(|it| u32::from_le_bytes(*it)).collect();
            assert!(numbers.len() * 8 <= n);
            assert_eq!((numbers[0], numbers[numbers.len() - 1]), (0, n as u32 - 1));
            for run in numbers.chunks(run_values) {
                assert!(run.windows(2).all(|pair| pair[0] + 1 == pair[1]));
            }
            assert!(numbers.is_sorted());
        }
        let few = vec![0; 4 * (VALUES_MIN - 1)];
        let few = FixedSlice::new(&few, 4, VALUES_MIN - 1).unwrap();
        assert!(sample(Values::Fixed(few)).is_none());
    }

    /// The encodings that are best for the sample are bad for the page: others are asked then.
    #[test]
    fn what_a_sample_does_not_show_is_found_out() {
        let mut rng = Rng::new(5);
        let n = 40_000;
        let mut values: Vec<u64> = (0..n).map(|_| rng.below(1 << 20) as u64).collect();
        let run_values = n / RUN_ONE_IN;
        for run in 0..RUNS_OF_OTHERS {
            let start = run * (n - run_values) / (RUNS_OF_OTHERS - 1);
            values[start..start + run_values].fill(7);
        }
        let all = found(&values);
        assert!(
            all.bytes <= n as u64 * 20 / 8 + 1000,
            "{} in {}",
            all.tree,
            all.bytes
        );
    }

    /// Nearly all values of each run of a sample differ, but few of the page do.
    #[test]
    fn dictionaries_of_more_entries_than_a_sample_has_are_found() {
        let mut rng = Rng::new(6);
        let kinds: Vec<u64> = (0..3000).map(|_| rng.u64()).collect();
        let values: Vec<u64> = (0..200_000)
            .map(|_| kinds[rng.below(kinds.len())])
            .collect();
        assert_eq!(found(&values).tree.to_string(), "dict(bitpack)");
    }

    /// Units of a sample are its runs, so that where runs meet does not count.
    #[test]
    fn what_changes_slowly_is_packed_by_differences() {
        let mut rng = Rng::new(7);
        let mut at = 1_700_000_000_000;
        let values: Vec<u64> = (0..50_000)
            .map(|_| {
                at += 900 + rng.below(200) as u64;
                at
            })
            .collect();
        let found = found(&values);
        assert_eq!(found.tree.to_string(), "delta(bitpack)");
        assert!(found.bytes <= 50_000 + 5000, "{}", found.bytes);
    }
}
