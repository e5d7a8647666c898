//! Batches: runs of decoded rows.

use alloc::vec::Vec;

use tarsia_structure::RawParts;
#[cfg(feature = "nested")]
use tarsia_structure::{LevelForm, RawLevel};

/// One run of decoded rows, which the guest holds until it is released.
#[derive(Debug)]
pub struct Batch {
    pub(crate) parts: RawParts,
    pub(crate) description: Vec<u8>,
    #[cfg(feature = "nested")]
    pub(crate) levels: Vec<RawLevel>,
}

impl Batch {
    /// The description, in the form of [`crate::abi::BatchDescription`].
    pub fn description(&self) -> &[u8] {
        &self.description
    }

    /// The buffers in the order of the description: those of the levels of nested rows, then validity, offsets of
    /// byte strings, values. A buffer that is not needed is empty.
    pub fn buffers(&self) -> Vec<&[u8]> {
        let (buffers, n) = buffers_of(&self.parts);
        let items = buffers.into_iter().take(n);
        #[cfg(feature = "nested")]
        let items = level_buffers(&self.levels).chain(items);
        items.collect()
    }
}

/// The buffers of a batch and how many they are: two, or three for byte strings.
pub(crate) fn buffers_of(parts: &RawParts) -> ([&[u8]; 3], usize) {
    let validity_bytes = parts.rows.div_ceil(8);
    let validity = parts.validity.as_deref().unwrap_or_default();
    let validity = validity.get(..validity_bytes).unwrap_or_default();
    let values = parts.values.get(..parts.values_len).unwrap_or_default();
    if parts.offsets.is_empty() {
        return ([validity, values, &[]], 2);
    }
    let offsets = parts.offsets.get(..(parts.rows + 1) * 4);
    ([validity, offsets.unwrap_or_default(), values], 3)
}

/// The buffers of levels that have one, in order.
#[cfg(feature = "nested")]
pub(crate) fn level_buffers(levels: &[RawLevel]) -> impl Iterator<Item = &[u8]> {
    levels.iter().filter_map(|level| match level.form {
        LevelForm::Validity => Some(level.validity_bytes()),
        LevelForm::Lengths => Some(level.ends_bytes()),
        LevelForm::ConstantLength(_) => None,
    })
}
