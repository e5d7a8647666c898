//! States of the rows of a page: null at some level, or a value.

use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::BitSlice;
use tarsia_structure::full_zip::FullZipForm;
use tarsia_structure::meta::Level;

use crate::collected_levels::LevelsSlice;

/// The state of a row.
pub(super) struct RowState {
    /// Levels that store validity, and the item, as far as they are valid.
    pub(super) control: u8,
    /// The first of its items' values, if they are valid.
    pub(super) value: Option<usize>,
    /// Whether it is an item that is null, not what is above it.
    pub(super) is_null_item: bool,
}

/// The states of rows in order.
pub(super) struct RowStates<'a> {
    pub(super) form: FullZipForm,
    /// The bits of each level that stores validity; a row has one slot in it if it is valid in those above. `None`
    /// where all of these rows are valid.
    bits: Vec<Option<BitSlice<'a>>>,
    next_slots: Vec<usize>,
    validity: Option<BitSlice<'a>>,
    pub(super) next_item: usize,
}

impl<'a> RowStates<'a> {
    /// Finds the states of some rows. `stored` are the page's levels. `validity` has a bit for each item, in a page
    /// that stores that.
    pub(super) fn new(
        form: FullZipForm,
        stored: &[Level],
        levels: Option<LevelsSlice<'a>>,
        validity: Option<BitSlice<'a>>,
    ) -> Self {
        let mut bits = Vec::new();
        if let Some(slice) = levels {
            let stores = |level: &Level| matches!(level, Level::Validity(_));
            let stored = stored.iter().enumerate();
            let stored = stored.filter(|(_, level)| stores(level));
            bits.extend(stored.map(|(number, _)| {
                let slots = slice.slots(number, 0..slice.rows());
                slice.levels().nulls(number, slots)
            }));
        }
        Self {
            form,
            next_slots: vec![0; bits.len()],
            bits,
            validity,
            next_item: 0,
        }
    }

    pub(super) fn next(&mut self) -> RowState {
        let mut control = 0;
        for (bits, next) in self.bits.iter().zip(&mut self.next_slots) {
            let valid = bits.is_none_or(|bits| bits.get(*next));
            *next += 1;
            if !valid {
                break;
            }
            control += 1;
        }
        let has_items = control as usize == self.bits.len();
        let mut is_null_item = false;
        if let (true, Some(validity)) = (has_items, self.validity) {
            let valid = validity.get(self.next_item);
            control += u8::from(valid);
            is_null_item = !valid;
        }
        let item = self.next_item;
        if has_items {
            self.next_item += self.form.items_per_row() as usize;
        }
        RowState {
            control,
            value: (control == self.form.n_controls()).then_some(item),
            is_null_item,
        }
    }
}
