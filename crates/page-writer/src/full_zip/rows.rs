//! What each row of a page is: null at some level, or a value.

use alloc::vec::Vec;

use tarsia_codec::BitSlice;
use tarsia_structure::full_zip::FullZipForm;

/// What a row is.
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
    /// The bits of each level that stores validity; a row has one slot in it if it is valid in those above.
    pub(super) bits: Vec<BitSlice<'a>>,
    pub(super) next_slots: Vec<usize>,
    pub(super) validity: Option<BitSlice<'a>>,
    pub(super) next_item: usize,
}

impl RowStates<'_> {
    pub(super) fn next(&mut self) -> RowState {
        let mut control = 0;
        for (bits, next) in self.bits.iter().zip(&mut self.next_slots) {
            let valid = bits.get(*next);
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
