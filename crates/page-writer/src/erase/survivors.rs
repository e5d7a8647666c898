//! The decoded present rows of a block.

use alloc::vec::Vec;

use tarsia_codec::{BitSlice, OwnedValues, Result, Values};

/// The decoded present rows of a block.
#[derive(Debug)]
pub struct Survivors {
    pub(crate) rows: usize,
    pub(crate) validity: Option<Vec<u8>>,
    pub(crate) values: OwnedValues,
}

impl Survivors {
    /// Present rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// One bit per present row, 1 for valid; `None` in a page without validity.
    pub fn validity(&self) -> Option<BitSlice<'_>> {
        let bytes = self.validity.as_ref()?;
        BitSlice::new(bytes, 0, self.rows).ok()
    }

    /// The values of the unit: in a compact page those of the valid rows, else one per present row.
    ///
    /// # Errors
    /// What a decoder that breaks its contract may leave.
    pub fn values(&self) -> Result<Values<'_>> {
        self.values.as_values()
    }
}
