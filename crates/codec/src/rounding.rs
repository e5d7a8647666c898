//! Rounding: the one step that changes values, for columns whose user asks for it.

use alloc::string::String;
use core::num::NonZero;

/// Numbers become those nearest to them that an encoding holds in fewer bytes. The encoding itself changes no value: it
/// finds out that it holds what this has left.
pub trait Rounding: Send + Sync {
    /// The name by which a user asks for it, such as `bf16`.
    fn name(&self) -> &'static str;

    /// A sentence about what becomes of the numbers.
    fn about(&self) -> &'static str;

    /// Rounds IEEE 754 numbers of `value_bytes` bytes, little-endian, in place. They are the values of a page without
    /// nulls, or with zero for each null. `row_values` is the number of values in each row, if all rows have as many,
    /// such as those of fixed-size lists. Where rows may be erased (`erasable`), what the results have in common, such
    /// as a scale, tells of other rows only coarsely.
    ///
    /// # Errors
    /// A sentence that says why they are not rounded and which is to blame: numbers of other sizes, numbers that cannot
    /// be rounded, rows of other lengths. The values are unchanged then.
    fn round(
        &self,
        values: &mut [u8],
        value_bytes: usize,
        row_values: Option<NonZero<usize>>,
        erasable: bool,
    ) -> Result<RoundingError, String>;

    /// Whether what becomes of a number depends on numbers of other rows.
    fn depends_on_other_rows(&self) -> bool;
}

/// How far rounded values are from what they were. Values that are not finite do not count.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RoundingError {
    /// The largest difference.
    pub absolute: f64,
    /// The largest difference divided by the value; of zero there is none.
    pub relative: f64,
}

impl RoundingError {
    /// Returns the larger differences of two sets of values.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            absolute: self.absolute.max(other.absolute),
            relative: self.relative.max(other.relative),
        }
    }
}
