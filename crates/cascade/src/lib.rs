//! Chooses a tree of encodings for the values of a page: a search over what the encodings propose.
//!
//! Every encoding in the registry proposes nodes for the values ([`tarsia_codec::EncodingWriter::propose`]):
//! parameters, what its children and shared buffers would hold, and bytes by an exact formula or a trial on a sample.
//! The search finds trees for children and shared buffers in the same way, adds everything up in units of time, and
//! takes the cheapest tree:
//!
//! ```text
//! cost = bytes x (picoseconds that a byte is worth) + values x (picoseconds per value) + decoded bytes x (picoseconds per byte)
//! ```
//!
//! What a byte is worth is the user's [`Objective`]; the times of decoders are in the registry, next to the encodings.
//! Nothing here names an encoding.
//!
//! The search is a branch and bound: an encoding is told how many bytes it has to beat, a child is searched for only
//! while its parent can still win, and the number of nodes looked at is bounded. All of it is a function of the values,
//! the registry and the options, so the same input gives the same bytes on every machine.
//!
//! Exact closed-form sizes decide wherever an encoding has them, not trial encodes of samples: sampling was measured to
//! lose 5–9 % of size on integer columns (design notes, `ENCODINGS.md`).
//!
//! # What this crate does not do
//! It encodes nothing, and it does not know what an encoding is.
#![forbid(unsafe_code)]

mod outline;

pub use outline::Outline;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tarsia_codec::{
    Block, EraseFit, Error, Node, Proposal, Proposals, RegisteredWriter, Registry, Result,
    SharedBuffers, Statistics, Tree, TreeWriter, Tried, ValueType, Values, limits,
};
use tarsia_page_writer::{Choice, Choose, FULL_ZIP_BYTES_MIN};
use tarsia_structure::SHARED_DEPTH_MAX;

/// What a writer cares about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Objective {
    /// Cheapest to write and read.
    Fast,
    /// Small where it costs little reading time.
    #[default]
    Balanced,
    /// Smallest.
    Compact,
}

/// What a search weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weights {
    /// Picoseconds that a stored byte is worth: 1,000 where bytes come at 1 GB/s and cost nothing else, 5,000 at the
    /// 200 MB/s of a network.
    pub byte_ps: u64,
    /// The most bytes that a shared buffer of values of fixed width is worth. Up to 64 KiB it stays in the search
    /// cache.
    pub shared_bytes_max: u64,
    /// Levels of a tree, the root counted.
    pub depth_max: u32,
    /// Only trees under which the survivors of an erasure always fit their old place.
    pub must_fit: bool,
}

impl Objective {
    /// The weights that the preset stands for.
    pub fn weights(self) -> Weights {
        let balanced = Weights {
            byte_ps: 5_000,
            shared_bytes_max: 64 << 10,
            depth_max: 3,
            must_fit: false,
        };
        match self {
            Self::Fast => Weights {
                byte_ps: 200,
                ..balanced
            },
            Self::Balanced => balanced,
            Self::Compact => Weights {
                byte_ps: 50_000,
                shared_bytes_max: 1 << 20,
                ..balanced
            },
        }
    }
}

/// Values of fixed width stay as they are, where a row can be read alone and memory be shown as it is, unless a tree
/// saves so many per cent.
const GAIN_PERCENT_MIN: u64 = 2;

/// What a shared buffer costs beside its values: block header, page descriptor, the column's FlatBuffer.
const SHARED_BUFFER_OVERHEAD_BYTES: u64 = 320;

/// A later page of a column has the tree of the first while a value's cost under it differs by at most so many per
/// cent.
const DRIFT_PERCENT_MAX: u64 = 10;

/// Pages of fewer values are searched, which takes little time: what suits the first may be far from the best for them.
const KEPT_VALUES_MIN: usize = 1 << 14;

/// Nodes that one search looks at.
const NODES_MAX: u32 = 256;

/// Values of the unit by which fallbacks are compared.
const FALLBACK_VALUES: u64 = 1024;

/// The default policy: a search over the proposals of a registry's encodings.
#[derive(Debug, Clone)]
pub struct Chooser {
    registry: Arc<Registry>,
    weights: Weights,
    full_zip_bytes_min: u32,
    tree: Option<Tree>,
    outline: Option<Arc<Outline>>,
    fallbacks: Arc<Mutex<HashMap<ValueType, Tree>>>,
}

impl Chooser {
    /// The policy for the columns of a table.
    pub fn new(registry: Arc<Registry>, objective: Objective) -> Self {
        Self {
            registry,
            weights: objective.weights(),
            full_zip_bytes_min: FULL_ZIP_BYTES_MIN,
            tree: None,
            outline: None,
            fallbacks: Arc::default(),
        }
    }

    /// The same with other weights.
    #[must_use]
    pub fn with_weights(self, weights: Weights) -> Self {
        Self { weights, ..self }
    }

    /// The same, where rows are stored one by one from another size on; see [`Choose::full_zip_bytes_min`].
    #[must_use]
    pub fn with_full_zip_bytes_min(self, full_zip_bytes_min: u32) -> Self {
        Self {
            full_zip_bytes_min,
            ..self
        }
    }

    /// The same with this tree for the values (not for lengths and validity) of every page, whatever a search would
    /// find. Blocks that it does not hold have the fallback.
    #[must_use]
    pub fn with_tree(self, tree: Tree) -> Self {
        Self {
            tree: Some(tree),
            ..self
        }
    }

    /// The same, but the search for the values (not for lengths and validity) of every page finds only trees of this
    /// outline. For pages for which its encodings propose nothing it finds what it would find without one.
    #[must_use]
    pub fn with_outline(self, outline: Outline) -> Self {
        Self {
            outline: Some(Arc::new(outline)),
            ..self
        }
    }

    /// The smallest tree that holds any values of a type, of those without a search: what blocks fall back on.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](tarsia_codec::ErrorKind::Unsupported) where no encoding of the registry holds all
    /// values of the type.
    pub fn fallback(&self, value_type: ValueType) -> Result<Tree> {
        let lock = || {
            self.fallbacks
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        if let Some(known) = lock().get(&value_type) {
            return Ok(known.clone());
        }
        let tree = self.find_fallback(value_type, self.weights.depth_max)?;
        lock().insert(value_type, tree.clone());
        Ok(tree)
    }

    fn find_fallback(&self, value_type: ValueType, depth_left: u32) -> Result<Tree> {
        let decoded_bytes = match value_type {
            ValueType::Bits => FALLBACK_VALUES.div_ceil(8),
            ValueType::Fixed(width) => FALLBACK_VALUES * u64::from(width),
            ValueType::Bytes => FALLBACK_VALUES * 16,
        };
        let mut best: Option<(u64, Tree)> = None;
        for known in self.searched().filter(|_| depth_left > 0) {
            for sample in known.writer.samples() {
                let node = Node {
                    value_type,
                    version: known.version_max,
                    params: &sample.params,
                };
                // Samples are of some widths; what the node says of others counts.
                let (true, Ok(spec)) = (sample.holds_any, known.writer.check(&node)) else {
                    continue;
                };
                if !spec.shared.is_empty() || spec.children.contains(&value_type) {
                    continue;
                }
                let children = spec.children.iter();
                let children = children
                    .map(|child| self.find_fallback(*child, depth_left - 1))
                    .collect::<Result<Vec<_>>>();
                let Ok(children) = children else {
                    continue;
                };
                let tree = Tree::node(
                    known.writer.id(),
                    known.version_max,
                    &sample.params,
                    children,
                );
                let writer = TreeWriter::new(&self.registry, &tree, value_type)?;
                let bytes = writer.encoded_bytes_max(FALLBACK_VALUES, decoded_bytes);
                if best.as_ref().is_none_or(|(least, _)| bytes < *least) {
                    best = Some((bytes, tree));
                }
            }
        }
        let none = || {
            let what = "a registry without an encoding that holds any values of a column's type";
            Error::unsupported(what)
        };
        best.map(|(_, tree)| tree).ok_or_else(none)
    }

    /// The cheapest tree for the values that a search finds, its shared buffers numbered from 0 on, and the bytes it
    /// expects all units to take together. `None` where no encoding proposes anything.
    ///
    /// # Errors
    /// What encodings refuse of their own proposals.
    pub fn search(&self, values: &Statistics<'_>) -> Result<Option<Found>> {
        let outline = self.outline.as_deref();
        let outline = outline.filter(|_| values.facts().are_of_items());
        let found = match outline {
            Some(outline) => {
                let place = Place {
                    outline: Some(outline),
                    is_of_user: true,
                    ..Place::ROOT
                };
                Search::new(self).best(values, place, u64::MAX)?
            }
            None => self.as_in_first_page(values)?,
        };
        let found = match found {
            Some(found) => Some(found),
            None => {
                let found = Search::new(self).best(values, Place::ROOT, u64::MAX)?;
                if let Some(found) = found.as_ref().filter(|_| outline.is_none()) {
                    self.keep(found, values)?;
                }
                found
            }
        };
        found.map(|found| self.numbered(found, values)).transpose()
    }

    /// The tree of the column's first page, with parameters of these values, if they are like those of that page.
    fn as_in_first_page(&self, values: &Statistics<'_>) -> Result<Option<Found>> {
        let kept = values.recall::<Kept>();
        let Some(kept) = kept.filter(|_| values.len() >= KEPT_VALUES_MIN) else {
            return Ok(None);
        };
        let place = Place {
            outline: Some(&kept.outline),
            ..Place::ROOT
        };
        let found = Search::new(self).best(values, place, u64::MAX)?;
        Ok(found.filter(|found| kept.is_near(found.cost_per_value_ps(values))))
    }

    /// Leaves the tree of a column's first page for its later pages.
    fn keep(&self, found: &Found, values: &Statistics<'_>) -> Result<()> {
        // Values as they are cost the same whatever they are: only a search finds out that later ones are others.
        if found.tree != self.fallback(values.values().value_type())? {
            values.remember(Arc::new(Kept {
                outline: Outline::of(&found.tree),
                cost_per_value_ps: found.cost_per_value_ps(values),
            }));
        }
        Ok(())
    }

    /// What each encoding makes of the values: its proposals, each with the children that a search finds for it, the
    /// cheapest first. The first is what [`Chooser::search`] finds.
    ///
    /// # Errors
    /// As [`Chooser::search`].
    pub fn candidates(&self, values: &Statistics<'_>) -> Result<Vec<Found>> {
        let mut all = Vec::new();
        for known in self.searched() {
            let mut proposals = self.proposals(known, u64::MAX);
            known.writer.propose(values, &mut proposals)?;
            for proposal in proposals.into_vec() {
                let decode_ps = decode_ps(known, values);
                let mut search = Search::new(self);
                let found =
                    search.complete(known, &proposal, values, Place::ROOT, decode_ps, u64::MAX)?;
                if let Some(found) = found {
                    all.push(self.numbered(found, values)?);
                }
            }
        }
        all.sort_by_key(|found| found.cost_ps);
        Ok(all)
    }

    /// The same with the numbers of shared buffers.
    fn numbered(&self, mut found: Found, values: &Statistics<'_>) -> Result<Found> {
        let mut next = 0;
        let value_type = values.values().value_type();
        self.registry
            .number_shared(&mut found.tree, value_type, &mut next)?;
        Ok(found)
    }

    /// The encoders that a search tries by itself.
    fn searched(&self) -> impl Iterator<Item = &RegisteredWriter> {
        let all = self.registry.writers().iter();
        all.filter(|known| known.tried == Tried::Always)
    }

    /// An empty list for the proposals of an encoding.
    fn proposals<'v>(&self, known: &RegisteredWriter, bytes_to_beat: u64) -> Proposals<'v> {
        Proposals::new(bytes_to_beat, known.version_max)
            .that_fit(self.weights.must_fit)
            .with_shared_bytes_max(self.weights.shared_bytes_max)
    }

    /// Bytes of the values under a tree, by encoding them.
    fn bytes_under(&self, tree: &Tree, values: Values<'_>) -> Result<u64> {
        let writer = TreeWriter::new(&self.registry, tree, values.value_type())?;
        let encoder = writer.prepare(values, &mut SharedBuffers::new(), None)?;
        let n = values.len().min(FALLBACK_VALUES as usize);
        let mut out = Vec::new();
        encoder.encode(Block::new(values, 0..n)?, &mut out)?;
        Ok((out.len() * values.len()).div_ceil(n.max(1)) as u64)
    }
}

impl Choose for Chooser {
    fn choose(&self, values: &Statistics<'_>) -> Result<Choice> {
        let all = values.values();
        let value_type = all.value_type();
        let fallback = self.fallback(value_type)?;
        let is_of_items = values.facts().are_of_items();
        let found = match &self.tree {
            _ if values.is_empty() => None,
            Some(tree) if is_of_items => Some(Found {
                // A tree that does not hold the first block's values is left to the writer to refuse.
                bytes: self
                    .bytes_under(tree, all)
                    .unwrap_or_else(|_| all.decoded_bytes()),
                tree: tree.clone(),
                cost_ps: 0,
                is_uniform: value_type != ValueType::Bytes,
            }),
            _ => self.search(values)?,
        };
        let plain_bytes = all.decoded_bytes();
        let gains_enough = |found: &Found| {
            let is_fixed = matches!(value_type, ValueType::Fixed(_));
            let most = plain_bytes * (100 - GAIN_PERCENT_MIN);
            let is_asked_for = self.tree.is_some() || self.outline.is_some();
            is_asked_for || !is_fixed || found.bytes * 100 < most
        };
        let found = found.filter(gains_enough).unwrap_or_else(|| Found {
            tree: fallback.clone(),
            bytes: plain_bytes,
            cost_ps: 0,
            is_uniform: value_type != ValueType::Bytes,
        });
        let mut trees = vec![found.tree];
        if trees[0] != fallback {
            trees.push(fallback);
        }
        Ok(Choice {
            trees,
            bytes: found.bytes,
            uniform: found.is_uniform,
        })
    }

    fn full_zip_bytes_min(&self) -> u32 {
        self.full_zip_bytes_min
    }
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The tree.
    pub tree: Tree,
    /// Bytes that all units are expected to take together.
    pub bytes: u64,
    /// What it costs, in picoseconds.
    pub cost_ps: u64,
    /// Whether values take about equally many bytes.
    pub is_uniform: bool,
}

impl Found {
    fn cost_per_value_ps(&self, values: &Statistics<'_>) -> u64 {
        self.cost_ps / (values.len() as u64).max(1)
    }
}

/// What a search keeps of a column's first page. Later pages get a tree of the same encodings, which spares them the
/// search, unless their values would cost clearly more or less under it than those of the first page.
#[derive(Debug)]
struct Kept {
    outline: Outline,
    cost_per_value_ps: u64,
}

impl Kept {
    /// Whether a page whose values cost so much is like the first.
    fn is_near(&self, cost_per_value_ps: u64) -> bool {
        let moved = cost_per_value_ps.abs_diff(self.cost_per_value_ps);
        moved * 100 <= self.cost_per_value_ps * DRIFT_PERCENT_MAX
    }
}

/// How long an encoding's own decoder takes for all values, in picoseconds.
fn decode_ps(known: &RegisteredWriter, values: &Statistics<'_>) -> u64 {
    let (n, decoded_bytes) = (values.len() as u64, values.values().decoded_bytes());
    n * u64::from(known.cost.value_ps) + decoded_bytes * u64::from(known.cost.byte_ps)
}

struct Search<'a> {
    chooser: &'a Chooser,
    n_nodes: u32,
    /// Shared buffers that lead to the values at hand.
    shared_depth: u32,
}

/// Where in a tree a node is searched for.
#[derive(Clone, Copy)]
struct Place<'a> {
    /// The encoding that the node must not be of: that of its parent.
    parent: Option<&'static str>,
    /// 1 for the root.
    depth: u32,
    /// What the node must look like.
    outline: Option<&'a Outline>,
    /// Whether a user says so.
    is_of_user: bool,
}

impl Place<'_> {
    /// The root of a tree that may be any.
    const ROOT: Self = Place {
        parent: None,
        depth: 1,
        outline: None,
        is_of_user: false,
    };
}

impl<'a> Search<'a> {
    fn new(chooser: &'a Chooser) -> Self {
        Self {
            chooser,
            n_nodes: 0,
            shared_depth: 0,
        }
    }

    /// The cheapest tree for the values that costs less than `to_beat_ps`.
    fn best(
        &mut self,
        values: &Statistics<'_>,
        place: Place<'_>,
        to_beat_ps: u64,
    ) -> Result<Option<Found>> {
        let weights = self.chooser.weights;
        let is_named = place.outline.is_some_and(Outline::is_named);
        self.n_nodes += 1;
        if place.depth > weights.depth_max && !is_named || self.n_nodes > NODES_MAX {
            return Ok(None);
        }
        let mut best: Option<Found> = None;
        for known in self.chooser.registry.writers() {
            let id = known.writer.id();
            let to_beat_ps = best.as_ref().map_or(to_beat_ps, |best| best.cost_ps);
            let decode_ps = decode_ps(known, values);
            // Under its own kind a node finds little that its parent has left.
            let is_again = place.parent == Some(id) && !is_named;
            let is_allowed = match place.outline {
                Some(outline) if is_named => outline.allows(id),
                _ => known.tried == Tried::Always,
            };
            if is_again || !is_allowed || decode_ps >= to_beat_ps {
                continue;
            }
            let bytes_to_beat = (to_beat_ps - decode_ps).div_ceil(weights.byte_ps.max(1));
            let mut proposals = self.chooser.proposals(known, bytes_to_beat);
            proposals = proposals.of_named(is_named && place.is_of_user);
            known.writer.propose(values, &mut proposals)?;
            for proposal in proposals.into_vec() {
                let to_beat_ps = best.as_ref().map_or(to_beat_ps, |best| best.cost_ps);
                let found =
                    self.complete(known, &proposal, values, place, decode_ps, to_beat_ps)?;
                best = found.or(best);
            }
        }
        Ok(best)
    }

    /// The tree of a proposal with the cheapest children, if it costs less than `to_beat_ps`.
    fn complete(
        &mut self,
        known: &RegisteredWriter,
        proposal: &Proposal<'_>,
        values: &Statistics<'_>,
        place: Place<'_>,
        decode_ps: u64,
        to_beat_ps: u64,
    ) -> Result<Option<Found>> {
        let weights = self.chooser.weights;
        let is_too_deep = !proposal.shared.is_empty() && self.shared_depth == SHARED_DEPTH_MAX;
        let n_children = proposal.children.len();
        let has_part = |outline: &Outline| outline.n_parts() > n_children;
        if is_too_deep
            || place.outline.is_some_and(has_part)
            || proposal.version > known.version_max
            || weights.must_fit && !self.fits(known, proposal, values)
        {
            return Ok(None);
        }
        let worth = |bytes: u64| bytes.saturating_mul(weights.byte_ps);
        let id = known.writer.id();
        let mut bytes = proposal.bytes;
        let mut cost_ps = decode_ps.saturating_add(worth(bytes));
        let mut all_bytes = bytes;
        let mut children = Vec::with_capacity(n_children);
        for (i, part) in proposal.children.iter().enumerate() {
            let of_child = Place {
                parent: Some(id),
                depth: place.depth + 1,
                outline: place.outline.and_then(|outline| outline.part(i)),
                is_of_user: place.is_of_user,
            };
            let to_beat_ps = to_beat_ps.saturating_sub(cost_ps);
            let child = values.of_part(part, None)?;
            let Some(child) = self.best_of_part(&child, of_child, to_beat_ps)? else {
                return Ok(None);
            };
            bytes += child.bytes;
            all_bytes += child.bytes;
            cost_ps = cost_ps.saturating_add(child.cost_ps);
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
            self.shared_depth += 1;
            let to_beat_ps = to_beat_ps.saturating_sub(cost_ps);
            let found = self.best_of_part(&shared, of_shared, to_beat_ps);
            self.shared_depth -= 1;
            let Some(shared) = found? else {
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
        Ok(Some(Found {
            tree,
            bytes,
            cost_ps,
            is_uniform: proposal.is_uniform,
        }))
    }

    /// The same for the values of a child or of a shared buffer, of which there may be none.
    fn best_of_part(
        &mut self,
        values: &Statistics<'_>,
        place: Place<'_>,
        to_beat_ps: u64,
    ) -> Result<Option<Found>> {
        if !values.is_empty() {
            return self.best(values, place, to_beat_ps);
        }
        let tree = self.chooser.fallback(values.values().value_type())?;
        Ok(Some(Found {
            tree,
            bytes: 0,
            cost_ps: 0,
            is_uniform: true,
        }))
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
