//! One search: the cheapest tree for some values, by branch and bound over proposals.

use tarsia_codec::{Node, Proposal, RegisteredWriter, Result, Statistics, Tree, limits};

use crate::ask::{Asking, Place, SHARED_BUFFER_OVERHEAD_BYTES, decode_ps};
use crate::chance::Chance;
use crate::encoders::Encoders;
use crate::scout::scout;
use crate::scouted::Scouted;

/// A tree that a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The tree.
    pub tree: Tree,
    /// Bytes that all units are expected to take together.
    pub bytes: u64,
    /// Cost of the tree in picoseconds.
    pub cost_ps: u64,
    /// Whether values take about equally many bytes.
    pub is_uniform: bool,
    /// The payload in bytes that blocks should aim at.
    pub block_bytes: usize,
}

impl Candidate {
    pub(crate) fn cost_per_value_ps(&self, values: &Statistics<'_>) -> u64 {
        self.cost_ps / (values.len() as u64).max(1)
    }
}

pub(crate) struct Search<'a> {
    asking: Asking<'a>,
    /// Where the first that chance picks is taken instead of the cheapest.
    chance: Option<Chance>,
}

impl<'a> Search<'a> {
    pub(crate) fn new(encoders: &'a Encoders) -> Self {
        Self {
            asking: Asking::new(encoders),
            chance: None,
        }
    }

    /// A search whose [`Search::best`] finds some tree instead of the cheapest.
    pub(crate) fn by_chance(encoders: &'a Encoders, chance: Chance) -> Self {
        let mut asking = Asking::new(encoders);
        asking.is_by_chance = true;
        Self {
            asking,
            chance: Some(chance),
        }
    }

    /// The cheapest tree for the values that costs less than `to_beat_ps`.
    pub(crate) fn best(
        &mut self,
        values: &Statistics<'_>,
        place: Place<'_>,
        to_beat_ps: u64,
    ) -> Result<Option<Candidate>> {
        if !self.asking.enters(place) {
            return Ok(None);
        }
        let writers = self.asking.encoders.registry.writers();
        if let Some(chance) = &mut self.chance {
            let first = chance.below(writers.len());
            return self.any(values, place, first);
        }
        // Where size counts more than time, what a sample may not show is looked for, too.
        let for_size = self.asking.encoders.weights.for_size;
        let is_scouted = place.scouted.is_none() && !place.is_named() && !for_size;
        let found = match is_scouted {
            true => scout(&self.asking, values, place)?,
            false => None,
        };
        let place = Place {
            scouted: found.as_ref().map(Scouted::root).or(place.scouted),
            ..place
        };
        let order = match place.scouted {
            Some(scouted) => scouted.order(writers),
            None => (0..writers.len()).map(|i| (i, 0)).collect(),
        };
        let mut best: Option<Candidate> = None;
        for (i, at_least_ps) in order {
            let known = &writers[i];
            let to_beat_ps = best.as_ref().map_or(to_beat_ps, |best| best.cost_ps);
            if at_least_ps >= to_beat_ps {
                continue;
            }
            let proposals = self.asking.ask(known, values, place, to_beat_ps, false)?;
            for proposal in proposals {
                let to_beat_ps = best.as_ref().map_or(to_beat_ps, |best| best.cost_ps);
                let found = self.complete(known, &proposal, values, place, to_beat_ps)?;
                best = found.or(best);
            }
        }
        Ok(best)
    }

    /// A tree for the values of the first encoding, from number `first` on, that proposes one.
    fn any(
        &mut self,
        values: &Statistics<'_>,
        place: Place<'_>,
        first: usize,
    ) -> Result<Option<Candidate>> {
        let all = self.asking.encoders.registry.writers();
        for known in all.iter().cycle().skip(first).take(all.len()) {
            let is_again = place.parent == Some(known.writer.id());
            if is_again || !self.asking.encoders.is_allowed(known) {
                continue;
            }
            let mut proposals = self
                .asking
                .encoders
                .proposals(known, u64::MAX)
                .of_named(true);
            known.writer.propose(values, &mut proposals)?;
            let mut proposals = proposals.into_vec();
            let Some(chance) = self.chance.as_mut().filter(|_| !proposals.is_empty()) else {
                continue;
            };
            let proposal = proposals.swap_remove(chance.below(proposals.len()));
            let found = self.complete(known, &proposal, values, place, u64::MAX)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The tree of a proposal with the cheapest children, if it costs less than `to_beat_ps`.
    pub(crate) fn complete(
        &mut self,
        known: &RegisteredWriter,
        proposal: &Proposal<'_>,
        values: &Statistics<'_>,
        place: Place<'_>,
        to_beat_ps: u64,
    ) -> Result<Option<Candidate>> {
        if !self.asking.may_use(known, proposal, values, place) {
            return Ok(None);
        }
        let weights = self.asking.encoders.weights;
        let decode_ps = decode_ps(known, values);
        let worth = |bytes: u64| bytes.saturating_mul(weights.byte_ps);
        let id = known.writer.id();
        let mut bytes = proposal.bytes;
        let mut cost_ps = decode_ps.saturating_add(worth(bytes));
        let mut all_bytes = bytes;
        let mut block_bytes = proposal.block_bytes;
        let mut children = Vec::with_capacity(proposal.children.len());
        let mut writers = self.asking.encoders.registry.writers().iter();
        let number = writers.position(|it| it.writer.id() == id);
        let scouted_child = |i: usize| place.scouted?.child(number?, i);
        for (i, part) in proposal.children.iter().enumerate() {
            let of_child = Place {
                scouted: scouted_child(i),
                ..place.of_child(id, part, i)
            };
            let to_beat_ps = to_beat_ps.saturating_sub(cost_ps);
            let child = values.of_part(part, None)?;
            let Some(child) = self.best_of_part(&child, of_child, to_beat_ps)? else {
                return Ok(None);
            };
            bytes += child.bytes;
            all_bytes += child.bytes;
            cost_ps = cost_ps.saturating_add(child.cost_ps);
            block_bytes = block_bytes.max(child.block_bytes);
            children.push(child.tree);
        }
        let node = Node {
            value_type: values.values().value_type(),
            version: proposal.version,
            params: &proposal.params,
        };
        for (i, part) in proposal.shared.iter().enumerate() {
            let kind = known.writer.check(&node)?.shared.get(i).map(|it| it.kind);
            let shared = values.of_part(part, kind)?;
            cost_ps = cost_ps.saturating_add(worth(SHARED_BUFFER_OVERHEAD_BYTES));
            // A tree of its own, not a part of this one.
            let of_shared = Place {
                parent: Some(id),
                ..Place::ROOT
            };
            let to_beat_ps = to_beat_ps.saturating_sub(cost_ps);
            let Some(shared) = self.best_of_part(&shared, of_shared, to_beat_ps)? else {
                return Ok(None);
            };
            all_bytes += shared.bytes;
            cost_ps = cost_ps.saturating_add(worth(shared.bytes));
        }
        if cost_ps >= to_beat_ps || all_bytes > proposal.bytes_max {
            return Ok(None);
        }
        let tree = Tree::node(id, proposal.version, &proposal.params, children);
        if tree.n_nodes() > limits::TREE_NODES_MAX {
            return Ok(None);
        }
        Ok(Some(Candidate {
            tree,
            bytes,
            cost_ps,
            is_uniform: proposal.is_uniform,
            block_bytes,
        }))
    }

    /// Finds the best tree for the values of a child or of a shared buffer, of which there may be none.
    fn best_of_part(
        &mut self,
        values: &Statistics<'_>,
        place: Place<'_>,
        to_beat_ps: u64,
    ) -> Result<Option<Candidate>> {
        if !values.is_empty() {
            return self.best(values, place, to_beat_ps);
        }
        let tree = self
            .asking
            .encoders
            .fallback(values.values().value_type())?;
        Ok(Some(Candidate {
            tree,
            bytes: 0,
            cost_ps: 0,
            is_uniform: true,
            block_bytes: limits::UNIT_BYTES_TARGET,
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tarsia_codec::{Facts, FixedSlice, LogicalType, Values};
    use tarsia_testkit::rng::Rng;

    use super::*;
    use crate::Objective;

    /// Values that depend on where blocks are cut may be other values there, which a dictionary of the page lacks.
    #[test]
    fn nodes_that_depend_on_cuts_hold_any_values() {
        let mut rng = Rng::new(8);
        let kinds: Vec<u32> = (0..50).map(|_| rng.u64() as u32).collect();
        let bytes: Vec<u8> = (0..40_000)
            .flat_map(|_| kinds[rng.below(50)].to_le_bytes())
            .collect();
        let values = Values::Fixed(FixedSlice::new(&bytes, 4, 40_000).unwrap());
        let statistics = Statistics::new(values, Facts::of(LogicalType::Unsigned));
        let registry = Arc::new(tarsia_encodings::registry());
        let encoders = Encoders::new(registry, Objective::Balanced.weights());
        let found = |any_values: bool| {
            let place = Place {
                any_values,
                ..Place::ROOT
            };
            let best = Search::new(&encoders).best(&statistics, place, u64::MAX);
            best.unwrap().unwrap()
        };
        let (page, any) = (found(false), found(true));
        assert_eq!(page.tree.to_string(), "dict(bitpack)");
        any.tree.visit(&mut |node| {
            let known = encoders.registry.writers().iter();
            let mut known = known.filter(|known| known.writer.id() == node.id);
            assert!(known.all(|known| known.holds_any), "{}", any.tree);
            // It would be dictionaries in the blocks.
            assert!(
                node.id != "tarsia.dict" || node.params[0] == 0,
                "{}",
                any.tree
            );
        });
    }
}
