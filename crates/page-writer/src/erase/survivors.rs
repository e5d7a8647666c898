//! The decoded present rows of a block.

use alloc::vec::Vec;

use tarsia_codec::{BitSlice, OwnedValues, Result, Values};

use crate::collected_levels::{CollectedLevels, LevelsSlice};

/// The decoded present rows of a block.
#[derive(Debug)]
pub struct Survivors {
    pub(crate) rows: usize,
    /// `None` in flat pages.
    pub(crate) levels: Option<CollectedLevels>,
    pub(crate) n_items: usize,
    pub(crate) validity: Option<Vec<u8>>,
    pub(crate) values: OwnedValues,
}

impl Survivors {
    /// Present rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Items of the present rows; in a flat page an item is a row.
    pub fn n_items(&self) -> usize {
        self.n_items
    }

    /// The levels above the items, in the forms that the page's levels have; `None` in a flat page.
    pub fn levels(&self) -> Option<LevelsSlice<'_>> {
        let levels = self.levels.as_ref()?;
        LevelsSlice::new(levels, 0..levels.rows()).ok()
    }

    /// One bit per item, 1 for valid; `None` in a page without item validity.
    pub fn validity(&self) -> Option<BitSlice<'_>> {
        let bytes = self.validity.as_ref()?;
        BitSlice::new(bytes, 0, self.n_items).ok()
    }

    /// The values of the unit: in a compact page those of the valid items, else one per item. In a full-zip page those
    /// of null items are zeros.
    ///
    /// # Errors
    /// What a decoder that breaks its contract may leave.
    pub fn values(&self) -> Result<Values<'_>> {
        self.values.as_values()
    }
}
