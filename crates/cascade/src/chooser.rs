//! The default policy of a writer.

use std::sync::Arc;

use tarsia_codec::{
    Asked, BlockValues, Facts, Registry, Result, RowStarts, SharedBuffers, Statistics, Tree,
    TreeWriter, ValueType, Values, limits,
};
use tarsia_page_writer::{Choice, Choose, FULL_ZIP_BYTES_MIN, SLACK_ONE_IN};

use crate::ask::Place;
use crate::chance::Chance;
use crate::encoders::Encoders;
use crate::first_page::FirstTree;
use crate::scout::runs_of;
use crate::search::Search;
use crate::spare::spare_tree;
use crate::{Candidate, Objective, Outline, Weights};

/// Values of fixed width stay as they are, where a row can be read alone and memory be shown as it is, unless a tree
/// saves so many per cent.
const GAIN_PERCENT_MIN: u64 = 2;

/// Many values in long rows stay so unless a tree saves one byte of so many: about that much reading at 200 MB/s takes
/// less time, and decoding more.
const GAIN_OF_ROWS_ONE_IN: u64 = 7;

/// One of so many of these, in runs of at least so many, shows whether a tree does.
const ROWS_SAMPLED_ONE_IN: usize = 16;
const ROWS_SAMPLED_RUNS: usize = 8;
const ROWS_SAMPLED_VALUES_MIN: usize = 1 << 13;

/// Pages of fewer values are searched, which takes little time: what suits the first may be far from the best for them.
const KEPT_VALUES_MIN: usize = 1 << 14;

/// Values that are encoded to find out how many bytes all take under a tree.
const TRIAL_VALUES: usize = 1024;

/// The default policy: a search over the proposals of a registry's encodings.
#[derive(Debug, Clone)]
pub struct Chooser {
    encoders: Encoders,
    full_zip_bytes_min: u32,
    tree: Option<Tree>,
    outline: Option<Arc<Outline>>,
    seed: Option<u64>,
    /// Whether values do not count.
    by_type_alone: bool,
}

impl Chooser {
    /// The policy for the columns of a table.
    pub fn new(registry: Arc<Registry>, objective: Objective) -> Self {
        Self {
            encoders: Encoders::new(registry, objective.weights()),
            full_zip_bytes_min: FULL_ZIP_BYTES_MIN,
            tree: None,
            outline: None,
            seed: None,
            by_type_alone: false,
        }
    }

    /// Sets other weights.
    #[must_use]
    pub fn with_weights(mut self, weights: Weights) -> Self {
        self.encoders.weights = weights;
        self
    }

    /// Sets the size from which on rows are stored one by one; see [`Choose::full_zip_bytes_min`].
    #[must_use]
    pub fn with_full_zip_bytes_min(self, full_zip_bytes_min: u32) -> Self {
        Self {
            full_zip_bytes_min,
            ..self
        }
    }

    /// Gives the values (not lengths and validity) of every page this tree, whatever a search would find. Blocks that
    /// it does not hold have the fallback.
    #[must_use]
    pub fn with_tree(self, tree: Tree) -> Self {
        Self {
            tree: Some(tree),
            ..self
        }
    }

    /// Makes the search for the values (not for lengths and validity) of every page find only trees of this outline.
    /// For pages for which its encodings propose nothing it finds what it would find without one.
    #[must_use]
    pub fn with_outline(self, outline: Outline) -> Self {
        Self {
            outline: Some(Arc::new(outline)),
            ..self
        }
    }

    /// Gives every page, its lengths and its validity a tree that chance picks of all that are proposed, also by
    /// encodings that are tried only where they are named: for tests of readers. The same seed and values give the same
    /// trees. An outline and a tree count before it. Weights that ask for erasable trees count, too.
    #[must_use]
    pub fn with_chance(self, seed: u64) -> Self {
        Self {
            seed: Some(seed),
            ..self
        }
    }

    /// Gives all pages the fallback of their type alone: what is chosen tells nothing of values.
    #[must_use]
    pub fn by_type_alone(self) -> Self {
        Self {
            by_type_alone: true,
            ..self
        }
    }

    /// The smallest tree that holds any values of a type, of those without a search: what blocks fall back on.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](tarsia_codec::ErrorKind::Unsupported) where no encoding of the registry holds all
    /// values of the type.
    pub fn fallback(&self, value_type: ValueType) -> Result<Tree> {
        self.encoders.fallback(value_type)
    }

    /// The cheapest tree for the values that a search finds, its shared buffers numbered from 0 on, and the bytes it
    /// expects all units to take together. `None` where no encoding proposes anything.
    ///
    /// # Errors
    /// What encodings refuse of their own proposals.
    pub fn search(&self, values: &Statistics<'_>) -> Result<Option<Candidate>> {
        let outline = self.outline.as_deref();
        let outline = outline.filter(|_| values.facts().are_of_items());
        let found = match (outline, self.seed) {
            (Some(outline), _) => {
                let place = Place {
                    outline: Some(outline),
                    is_of_user: true,
                    ..Place::ROOT
                };
                Search::new(&self.encoders).best(values, place, u64::MAX)?
            }
            (None, Some(seed)) => {
                let (n, bytes) = (values.len() as u64, values.values().decoded_bytes());
                let chance = Chance::new(&[seed, n, bytes]);
                Search::by_chance(&self.encoders, chance).best(values, Place::ROOT, u64::MAX)?
            }
            (None, None) => self.as_in_first_page(values)?,
        };
        let found = match found {
            Some(found) => Some(found),
            None => {
                let found = Search::new(&self.encoders).best(values, Place::ROOT, u64::MAX)?;
                let found = self.that_fits(found, values, Place::ROOT)?;
                if let Some(found) = found
                    .as_ref()
                    .filter(|_| outline.is_none() && self.seed.is_none())
                {
                    self.keep(found, values)?;
                }
                found
            }
        };
        found.map(|found| self.numbered(found, values)).transpose()
    }

    /// The tree of the column's first page, with parameters of these values, if they are like those of that page.
    fn as_in_first_page(&self, values: &Statistics<'_>) -> Result<Option<Candidate>> {
        let kept = values.recall::<FirstTree>();
        let Some(kept) = kept else {
            return Ok(None);
        };
        // Files are small and written often, so that a search counts. But strings that are stored as they are, and
        // values that hardly get smaller, cost the same whatever they are: a search finds out whether there is a better
        // tree for those of this file.
        let is_searched = match values.recalls_other_file() {
            true => !kept.is_small || kept.has(&self.fallback(ValueType::Bytes)?.id),
            false => values.len() < KEPT_VALUES_MIN,
        };
        if is_searched {
            return Ok(None);
        }
        let place = Place {
            outline: Some(&kept.outline),
            ..Place::ROOT
        };
        let found = Search::new(&self.encoders).best(values, place, u64::MAX)?;
        let found = self.that_fits(found, values, place)?;
        Ok(found.filter(|found| kept.is_near(found.cost_per_value_ps(values))))
    }

    /// The cheapest tree under which survivors always fit, instead of one under which they may not, if it costs less
    /// than that one and the [slack](SLACK_ONE_IN) of its blocks.
    fn that_fits(
        &self,
        found: Option<Candidate>,
        values: &Statistics<'_>,
        place: Place<'_>,
    ) -> Result<Option<Candidate>> {
        let weights = self.encoders.weights;
        let Some(other) = found.as_ref().filter(|_| weights.erasable) else {
            return Ok(found);
        };
        let slack_ps = (other.bytes / SLACK_ONE_IN as u64).saturating_mul(weights.byte_ps);
        let to_beat_ps = other.cost_ps.saturating_add(slack_ps);
        let encoders = self.encoders.under(Weights {
            must_fit: true,
            ..weights
        });
        let fitting = Search::new(&encoders).best(values, place, to_beat_ps)?;
        Ok(fitting.or(found))
    }

    /// Whether rows are long enough to be read one by one, if their values stay as they are.
    fn are_rows_long(&self, values: &Statistics<'_>) -> bool {
        let rows = values.facts().rows.map(RowStarts::row_starts);
        let n_rows = rows.map_or(0, |starts| starts.len().saturating_sub(1) as u64);
        let of_row = values.values().decoded_bytes().checked_div(n_rows);
        of_row.is_some_and(|bytes| bytes >= u64::from(self.full_zip_bytes_min))
    }

    /// Whether a sample of long rows of many numbers says that no tree saves enough.
    fn stay_as_they_are(&self, values: &Statistics<'_>) -> Result<bool> {
        let Values::Fixed(fixed) = values.values() else {
            return Ok(false);
        };
        let run_values = fixed.len() / (ROWS_SAMPLED_ONE_IN * ROWS_SAMPLED_RUNS);
        if run_values < ROWS_SAMPLED_VALUES_MIN || !self.are_rows_long(values) {
            return Ok(false);
        }
        let sample = runs_of(&fixed, ROWS_SAMPLED_RUNS, run_values);
        let facts = Facts::of(values.facts().logical_type);
        let sample = Statistics::new(sample.as_values()?, facts);
        let found = Search::new(&self.encoders).best(&sample, Place::ROOT, u64::MAX)?;
        let bytes = sample.values().decoded_bytes();
        if found.is_some_and(|found| found.bytes < bytes - bytes / GAIN_OF_ROWS_ONE_IN) {
            return Ok(false);
        }
        // Others see more in all rows than in a sample of their values.
        let others = self.encoders.searched().filter(|known| {
            let asked = known.writer.asked();
            matches!(asked, Asked::Last | Asked::BySampleOrLast)
        });
        for known in others {
            let bytes_to_beat = values.values().decoded_bytes();
            let mut proposals = self.encoders.proposals(known, bytes_to_beat);
            known.writer.propose(values, &mut proposals)?;
            if !proposals.into_vec().is_empty() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Leaves the tree of a column's first page for its later pages.
    fn keep(&self, found: &Candidate, values: &Statistics<'_>) -> Result<()> {
        // Values as they are cost the same whatever they are: only a search finds out that later ones are others.
        if found.tree != self.fallback(values.values().value_type())? {
            values.remember(Arc::new(FirstTree {
                outline: Outline::of(&found.tree),
                cost_per_value_ps: found.cost_per_value_ps(values),
                is_small: found.bytes / 3 <= values.values().decoded_bytes() / 4,
            }));
        }
        Ok(())
    }

    /// Returns what each encoding makes of the values: its proposals, each with the children that a search finds for
    /// it, the cheapest first. The first is what [`Chooser::search`] finds.
    ///
    /// # Errors
    /// As [`Chooser::search`].
    pub fn candidates(&self, values: &Statistics<'_>) -> Result<Vec<Candidate>> {
        let mut all = Vec::new();
        for known in self.encoders.searched() {
            let mut proposals = self.encoders.proposals(known, u64::MAX);
            known.writer.propose(values, &mut proposals)?;
            for proposal in proposals.into_vec() {
                let mut search = Search::new(&self.encoders);
                let found = search.complete(known, &proposal, values, Place::ROOT, u64::MAX)?;
                if let Some(found) = found {
                    all.push(self.numbered(found, values)?);
                }
            }
        }
        all.sort_by_key(|found| found.cost_ps);
        Ok(all)
    }

    /// Numbers the shared buffers of a tree.
    fn numbered(&self, mut found: Candidate, values: &Statistics<'_>) -> Result<Candidate> {
        let mut next = 0;
        let value_type = values.values().value_type();
        self.encoders
            .registry
            .number_shared(&mut found.tree, value_type, &mut next)?;
        Ok(found)
    }

    /// Bytes of the values under a tree, by encoding them.
    fn bytes_under(&self, tree: &Tree, values: Values<'_>) -> Result<u64> {
        let writer = TreeWriter::new(&self.encoders.registry, tree, values.value_type())?;
        let encoder = writer.prepare(values, &mut SharedBuffers::new(), None)?;
        let n = values.len().min(TRIAL_VALUES);
        let mut out = Vec::new();
        encoder.encode(BlockValues::new(values, 0..n)?, &mut out)?;
        Ok((out.len() * values.len()).div_ceil(n.max(1)) as u64)
    }
}

impl Choose for Chooser {
    fn choose(&self, values: &Statistics<'_>) -> Result<Choice> {
        let all = values.values();
        let value_type = all.value_type();
        let fallback = self.fallback(value_type)?;
        if self.by_type_alone {
            return Ok(Choice {
                trees: vec![fallback],
                bytes: all.decoded_bytes(),
                uniform: true,
                block_bytes: limits::UNIT_BYTES_TARGET,
            });
        }
        let is_of_items = values.facts().are_of_items();
        let is_asked_for = self.tree.is_some() || self.outline.is_some() || self.seed.is_some();
        let found = match &self.tree {
            _ if values.is_empty() => None,
            _ if !is_asked_for && self.stay_as_they_are(values)? => None,
            Some(tree) if is_of_items => Some(Candidate {
                // A tree that does not hold the first block's values is left to the writer to refuse.
                bytes: self
                    .bytes_under(tree, all)
                    .unwrap_or_else(|_| all.decoded_bytes()),
                tree: tree.clone(),
                cost_ps: 0,
                is_uniform: value_type != ValueType::Bytes,
                block_bytes: limits::UNIT_BYTES_TARGET,
            }),
            _ => self.search(values)?,
        };
        let plain_bytes = all.decoded_bytes();
        let gains_enough = |found: &Candidate| {
            let is_fixed = matches!(value_type, ValueType::Fixed(_));
            let most = plain_bytes * (100 - GAIN_PERCENT_MIN);
            is_asked_for || !is_fixed || found.bytes * 100 < most
        };
        let found = found.filter(gains_enough).unwrap_or_else(|| Candidate {
            tree: fallback.clone(),
            bytes: plain_bytes,
            cost_ps: 0,
            is_uniform: value_type != ValueType::Bytes,
            block_bytes: limits::UNIT_BYTES_TARGET,
        });
        let mut trees = vec![found.tree];
        if trees[0] != fallback {
            if self.encoders.weights.erasable && values.facts().shared.is_none() {
                trees.extend(spare_tree(&self.encoders, &trees[0], &fallback, values)?);
            }
            trees.push(fallback);
        }
        Ok(Choice {
            trees,
            bytes: found.bytes,
            uniform: found.is_uniform,
            block_bytes: found.block_bytes,
        })
    }

    fn full_zip_bytes_min(&self) -> u32 {
        self.full_zip_bytes_min
    }
}
