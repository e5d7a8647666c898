//! Filler of null items of a block, compared with the filler that they must hold.

use alloc::vec::Vec;

use tarsia_codec::{Result, Values};

use super::context::BlockContext;
use super::survivors::Survivors;
use crate::nulls::{filled, other_filler};

/// The filler of the null items of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filler {
    /// Whether it is a function of the block alone. Else it may be a value of another block, whose row may be erased.
    pub is_own: bool,
    /// Whether an item of the block is valid.
    pub has_valid: bool,
}

/// Looks at the filler of a block whose present rows were decoded. A block without null items, of a compact page, or of
/// a full-zip page, which has zeros there, has none: it is its own.
///
/// # Errors
/// What a decoder that breaks its contract may leave.
pub fn filler_of(context: &BlockContext<'_>, survivors: &Survivors) -> Result<Filler> {
    let n_items = survivors.n_items();
    let Some(validity) = survivors.validity() else {
        return Ok(Filler {
            is_own: true,
            has_valid: n_items > 0,
        });
    };
    let has_valid = validity.count_ones() > 0;
    let values = survivors.values()?;
    if context.meta.compact || values.len() != n_items {
        return Ok(Filler {
            is_own: true,
            has_valid,
        });
    }
    let expected = filled(values, validity);
    let mut is_own = are_equal(values, expected.as_values()?);
    if !is_own && !has_valid {
        let specs = context.meta.shared.iter().copied();
        let shared: Vec<_> = specs.zip(context.shared.iter().cloned()).collect();
        if let Some(other) = other_filler(values, &shared)? {
            is_own = are_equal(values, other.as_values()?);
        }
    }
    Ok(Filler { is_own, has_valid })
}

/// Whether values are equal, bit by bit.
pub fn are_equal(a: Values<'_>, b: Values<'_>) -> bool {
    let mut places = 0..a.len();
    a.len() == b.len()
        && match (a, b) {
            (Values::Bits(a), Values::Bits(b)) => places.all(|i| a.get(i) == b.get(i)),
            (Values::Fixed(a), Values::Fixed(b)) => a.bytes() == b.bytes(),
            (Values::Bytes(a), Values::Bytes(b)) => places.all(|i| a.get(i) == b.get(i)),
            _ => false,
        }
}
