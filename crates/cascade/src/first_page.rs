//! The tree that a column's first page leaves for its later ones.

use crate::Outline;

/// A later page of a column has the tree of the first while a value's cost under it differs by at most so many per
/// cent.
const DRIFT_PERCENT_MAX: u64 = 10;

/// The tree that a search keeps of a column's first page. Later pages get a tree of the same encodings, which spares
/// them the search, unless their values would cost clearly more or less under it than those of the first page.
#[derive(Debug)]
pub(crate) struct FirstTree {
    pub(crate) outline: Outline,
    pub(crate) cost_per_value_ps: u64,
    /// Whether the values take much less than they are.
    pub(crate) is_small: bool,
}

impl FirstTree {
    /// Whether an encoding is part of it.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.outline.ids().contains(&id)
    }

    /// Whether a page whose values cost so much is like the first.
    pub(crate) fn is_near(&self, cost_per_value_ps: u64) -> bool {
        let moved = cost_per_value_ps.abs_diff(self.cost_per_value_ps);
        moved * 100 <= self.cost_per_value_ps * DRIFT_PERCENT_MAX
    }
}
