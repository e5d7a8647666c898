//! One search: the cheapest tree for some values, by branch and bound over proposals.

use tarsia_codec::{
    EraseFit, Node, Part, Proposal, RegisteredWriter, Result, Statistics, Tree, limits,
};
use tarsia_structure::SHARED_DEPTH_MAX;

use crate::Outline;
use crate::chance::Chance;
use crate::encoders::Encoders;
use crate::scout::{Scouted, ScoutedNode, scout};

/// Bytes of a shared buffer beside its values: block header, page descriptor, the column's FlatBuffer.
pub(crate) const SHARED_BUFFER_OVERHEAD_BYTES: u64 = 320;

/// Shared buffers of values that each stand for several are no larger, unless the weights allow it.
const SHARED_BYTES_MAX: u64 = 1 << 20;

/// Nodes that one search looks at.
const NODES_MAX: u32 = 256;

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

/// How long an encoding's own decoder takes for all values, in picoseconds.
pub(crate) fn decode_ps(known: &RegisteredWriter, values: &Statistics<'_>) -> u64 {
    let (n, decoded_bytes) = (values.len() as u64, values.values().decoded_bytes());
    n * u64::from(known.cost.value_ps) + decoded_bytes * u64::from(known.cost.byte_ps)
}

pub(crate) struct Search<'a> {
    pub(crate) encoders: &'a Encoders,
    /// Where the first that chance picks is taken instead of the cheapest.
    chance: Option<Chance>,
    n_nodes: u32,
    /// How many shared buffers lead to the values of the root. A buffer of theirs is a page of its own, of which a
    /// search of its own decides whether survivors must fit.
    shared_depth: Option<u32>,
}

/// Where in a tree a node is searched for.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    /// The encoding that the node must not be of: that of its parent, unless the part nests.
    pub(crate) parent: Option<&'static str>,
    /// 1 for the root.
    pub(crate) depth: u32,
    /// The outline that the node must have.
    pub(crate) outline: Option<&'a Outline>,
    /// Whether a user says so.
    pub(crate) is_of_user: bool,
    /// How many values of the page each value of the node stands for.
    pub(crate) stands_for: u64,
    /// Whether the node must hold any values, and have no shared buffers, if neither a user nor chance picks it.
    pub(crate) any_values: bool,
    /// What a sample says of the node; `None` where there was none, or it does not have the node.
    pub(crate) scouted: Option<ScoutedNode<'a>>,
}

impl Place<'_> {
    /// The root of a tree that may be any.
    pub(crate) const ROOT: Self = Place {
        parent: None,
        depth: 1,
        outline: None,
        is_of_user: false,
        stands_for: 1,
        any_values: false,
        scouted: None,
    };

    /// The place of a child of an encoding here.
    pub(crate) fn of_child(self, id: &'static str, part: &Part<'_>, child: usize) -> Self {
        Self {
            parent: (!part.nests).then_some(id),
            depth: self.depth + 1,
            outline: self.outline.and_then(|outline| outline.part(child)),
            is_of_user: self.is_of_user,
            stands_for: self.stands_for.saturating_mul(part.stands_for),
            any_values: self.any_values || part.depends_on_cuts,
            scouted: None,
        }
    }

    fn is_named(&self) -> bool {
        self.outline.is_some_and(Outline::is_named)
    }

    /// Whether an encoding may be there that the search tries by itself.
    fn admits(&self, known: &RegisteredWriter) -> bool {
        !self.any_values || known.holds_any
    }
}

impl<'a> Search<'a> {
    pub(crate) fn new(encoders: &'a Encoders) -> Self {
        Self {
            encoders,
            chance: None,
            n_nodes: 0,
            shared_depth: None,
        }
    }

    /// A search whose [`Search::best`] finds some tree instead of the cheapest.
    pub(crate) fn by_chance(encoders: &'a Encoders, chance: Chance) -> Self {
        Self {
            chance: Some(chance),
            ..Self::new(encoders)
        }
    }

    /// The cheapest tree for the values that costs less than `to_beat_ps`.
    pub(crate) fn best(
        &mut self,
        values: &Statistics<'_>,
        place: Place<'_>,
        to_beat_ps: u64,
    ) -> Result<Option<Candidate>> {
        if !self.enters(place) {
            return Ok(None);
        }
        let writers = self.encoders.registry.writers();
        if let Some(chance) = &mut self.chance {
            let first = chance.below(writers.len());
            return self.any(values, place, first);
        }
        // Where size counts more than time, what a sample may not show is looked for, too.
        let is_scouted =
            place.scouted.is_none() && !place.is_named() && !self.encoders.weights.for_size;
        let found = match is_scouted {
            true => scout(self.encoders, values, place)?,
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
            let proposals = self.ask(known, values, place, to_beat_ps, false)?;
            for proposal in proposals {
                let to_beat_ps = best.as_ref().map_or(to_beat_ps, |best| best.cost_ps);
                let found = self.complete(known, &proposal, values, place, to_beat_ps)?;
                best = found.or(best);
            }
        }
        Ok(best)
    }

    /// Counts a node; false if a search should not look at it.
    pub(crate) fn enters(&mut self, place: Place<'_>) -> bool {
        self.n_nodes += 1;
        let is_too_deep = place.depth > self.encoders.weights.depth_max && !place.is_named();
        !is_too_deep && self.n_nodes <= NODES_MAX
    }

    /// What an encoding proposes for a place, where a tree must cost less than `to_beat_ps`.
    pub(crate) fn ask<'v>(
        &mut self,
        known: &RegisteredWriter,
        values: &Statistics<'v>,
        place: Place<'_>,
        to_beat_ps: u64,
        of_sample: bool,
    ) -> Result<Vec<Proposal<'v>>> {
        let id = known.writer.id();
        let decode_ps = decode_ps(known, values);
        // Under its own kind a node finds little that its parent has left.
        let is_again = place.parent == Some(id) && !place.is_named();
        let is_allowed = match place.outline {
            Some(outline) if place.is_named() => outline.allows(id),
            _ => self.encoders.is_searched(known) && place.admits(known),
        };
        if is_again || !is_allowed || decode_ps >= to_beat_ps {
            return Ok(Vec::new());
        }
        let bytes_to_beat = (to_beat_ps - decode_ps).div_ceil(self.encoders.weights.byte_ps.max(1));
        let mut proposals = self.encoders.proposals(known, bytes_to_beat);
        proposals = proposals.of_named(place.is_named() && place.is_of_user);
        proposals = proposals.that_fit(self.must_fit(values));
        proposals = proposals.with_shared_bytes_max(self.shared_bytes_max(place));
        if of_sample {
            proposals = proposals.of_sample();
        }
        known.writer.propose(values, &mut proposals)?;
        Ok(proposals.into_vec())
    }

    /// The most bytes that a shared buffer is worth. Where each value stands for several, a page decodes to more, and a
    /// reader looks into the buffer less often.
    fn shared_bytes_max(&self, place: Place<'_>) -> u64 {
        let most = self.encoders.weights.shared_bytes_max;
        most.max((most.saturating_mul(place.stands_for)).min(SHARED_BYTES_MAX))
    }

    /// A tree for the values of the first encoding, from number `first` on, that proposes one.
    fn any(
        &mut self,
        values: &Statistics<'_>,
        place: Place<'_>,
        first: usize,
    ) -> Result<Option<Candidate>> {
        let all = self.encoders.registry.writers();
        for known in all.iter().cycle().skip(first).take(all.len()) {
            let is_again = place.parent == Some(known.writer.id());
            if is_again || !self.encoders.is_allowed(known) {
                continue;
            }
            let mut proposals = self.encoders.proposals(known, u64::MAX).of_named(true);
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
        if !self.may_use(known, proposal, values, place) {
            return Ok(None);
        }
        let weights = self.encoders.weights;
        let decode_ps = decode_ps(known, values);
        let worth = |bytes: u64| bytes.saturating_mul(weights.byte_ps);
        let id = known.writer.id();
        let mut bytes = proposal.bytes;
        let mut cost_ps = decode_ps.saturating_add(worth(bytes));
        let mut all_bytes = bytes;
        let mut block_bytes = proposal.block_bytes;
        let mut children = Vec::with_capacity(proposal.children.len());
        let mut writers = self.encoders.registry.writers().iter();
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

    /// Whether a proposal suits its place, whatever it costs.
    pub(crate) fn may_use(
        &mut self,
        known: &RegisteredWriter,
        proposal: &Proposal<'_>,
        values: &Statistics<'_>,
        place: Place<'_>,
    ) -> bool {
        let is_free = self.chance.is_none() && !place.is_named();
        let any_values = self.encoders.weights.any_values || place.any_values && is_free;
        let is_deep = values.facts().shared_depth >= SHARED_DEPTH_MAX;
        let n_children = proposal.children.len();
        let has_part = |outline: &Outline| outline.n_parts() > n_children;
        !(is_deep && !proposal.shared.is_empty()
            || place.outline.is_some_and(has_part)
            || proposal.version > known.version_max
            || any_values && !proposal.shared.is_empty()
            || self.must_fit(values) && !self.fits(known, proposal, values))
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
        let tree = self.encoders.fallback(values.values().value_type())?;
        Ok(Some(Candidate {
            tree,
            bytes: 0,
            cost_ps: 0,
            is_uniform: true,
            block_bytes: limits::UNIT_BYTES_TARGET,
        }))
    }

    /// Returns true if what is left of the values must always fit their old place.
    fn must_fit(&mut self, values: &Statistics<'_>) -> bool {
        let depth = values.facts().shared_depth;
        self.encoders.weights.must_fit && *self.shared_depth.get_or_insert(depth) == depth
    }

    fn fits(
        &self,
        known: &RegisteredWriter,
        proposal: &Proposal<'_>,
        values: &Statistics<'_>,
    ) -> bool {
        let node = Node {
            value_type: values.values().value_type(),
            version: proposal.version,
            params: &proposal.params,
        };
        known.writer.erase_fit(&node) == EraseFit::Always
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
