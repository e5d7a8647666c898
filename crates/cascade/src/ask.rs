//! The questions that searches put to encodings, and the places in a tree that they are put for.

use tarsia_codec::{EraseFit, Node, Part, Proposal, RegisteredWriter, Result, Statistics};
use tarsia_structure::SHARED_DEPTH_MAX;

use crate::Outline;
use crate::encoders::Encoders;
use crate::scouted::ScoutedNode;

/// Bytes of a shared buffer beside its values: block header, page descriptor, the column's FlatBuffer.
pub(crate) const SHARED_BUFFER_OVERHEAD_BYTES: u64 = 320;

/// Shared buffers of values that each stand for several are no larger, unless the weights allow it.
const SHARED_BYTES_MAX: u64 = 1 << 20;

/// Nodes that one search looks at.
const NODES_MAX: u32 = 256;

/// How long an encoding's own decoder takes for all values, in picoseconds.
pub(crate) fn decode_ps(known: &RegisteredWriter, values: &Statistics<'_>) -> u64 {
    let (n, decoded_bytes) = (values.len() as u64, values.values().decoded_bytes());
    n * u64::from(known.cost.value_ps) + decoded_bytes * u64::from(known.cost.byte_ps)
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
    /// The node in a sample; `None` where there was none, or it does not have the node.
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

    pub(crate) fn is_named(&self) -> bool {
        self.outline.is_some_and(Outline::is_named)
    }

    /// Whether an encoding may be there that the search tries by itself.
    fn admits(&self, known: &RegisteredWriter) -> bool {
        !self.any_values || known.holds_any
    }
}

/// A search's questions: what they depend on beside places and values.
pub(crate) struct Asking<'a> {
    pub(crate) encoders: &'a Encoders,
    /// Whether chance picks encodings, which nobody has named.
    pub(crate) is_by_chance: bool,
    n_nodes: u32,
    /// How many shared buffers lead to the values of the root. A buffer of theirs is a page of its own, of which a
    /// search of its own decides whether survivors must fit.
    shared_depth: Option<u32>,
}

impl<'a> Asking<'a> {
    pub(crate) fn new(encoders: &'a Encoders) -> Self {
        Self {
            encoders,
            is_by_chance: false,
            n_nodes: 0,
            shared_depth: None,
        }
    }

    /// Questions about a sample of the values that others are about.
    pub(crate) fn of_sample(of_all: &Self) -> Self {
        Self {
            shared_depth: of_all.shared_depth,
            ..Self::new(of_all.encoders)
        }
    }

    /// Whether there were more nodes than a search looks at.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.n_nodes > NODES_MAX
    }

    /// Counts a node; false if a search should not look at it.
    pub(crate) fn enters(&mut self, place: Place<'_>) -> bool {
        self.n_nodes += 1;
        let is_too_deep = place.depth > self.encoders.weights.depth_max && !place.is_named();
        !is_too_deep && !self.is_exhausted()
    }

    /// Returns what an encoding proposes for a place, where a tree must cost less than `to_beat_ps`.
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

    /// Whether a proposal suits its place, whatever it costs.
    pub(crate) fn may_use(
        &mut self,
        known: &RegisteredWriter,
        proposal: &Proposal<'_>,
        values: &Statistics<'_>,
        place: Place<'_>,
    ) -> bool {
        let is_free = !self.is_by_chance && !place.is_named();
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

    /// Returns true if what is left of the values must always fit their old place.
    pub(crate) fn must_fit(&mut self, values: &Statistics<'_>) -> bool {
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
