//! Facts about a zone.

use std::fmt;

use crate::form::ZoneForm;
use crate::order::is_below;

/// Most bytes of a bound. Longer values are cut.
pub const BOUND_BYTES_MAX: usize = 32;

/// Facts about the present rows of a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zone {
    /// Rows of the zone, also those that were erased.
    pub rows: u32,
    /// Present rows that are null.
    pub nulls: u32,
    /// Present rows that are NaN.
    pub nans: u32,
    /// The smallest and the largest of all other values; `None` if there is none.
    pub bounds: Option<Bounds>,
}

/// The smallest and the largest value of a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// All values are this one, or above it.
    pub min: Bound,
    /// All values are this one, or below it, or begin with it if it is cut.
    pub max: Bound,
}

impl Bounds {
    /// The bounds of both, whose values are compared as `form` says.
    #[must_use]
    pub fn union(&self, other: &Self, form: ZoneForm) -> Self {
        // Of a value and one that only begins so, the first is smaller.
        let is_below = |a: &Bound, b: &Bound| match a.bytes == b.bytes && a.len == b.len {
            true => b.is_cut && !a.is_cut,
            false => is_below(form, a.bytes(), b.bytes()),
        };
        Self {
            min: if is_below(&other.min, &self.min) {
                other.min
            } else {
                self.min
            },
            max: if is_below(&self.max, &other.max) {
                other.max
            } else {
                self.max
            },
        }
    }
}

/// A value, or the beginning of one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    bytes: [u8; BOUND_BYTES_MAX],
    len: u8,
    is_cut: bool,
}

impl Bound {
    /// The bound of these bytes; `None` if they are more than [`BOUND_BYTES_MAX`].
    pub fn new(bytes: &[u8], is_cut: bool) -> Option<Self> {
        let mut bound = Self {
            bytes: [0; BOUND_BYTES_MAX],
            len: u8::try_from(bytes.len()).ok()?,
            is_cut,
        };
        bound.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(bound)
    }

    /// The bound of a value: its first 32 bytes, and of text the whole characters among them.
    pub(crate) fn of(value: &[u8], is_text: bool) -> Self {
        let mut end = value.len().min(BOUND_BYTES_MAX);
        // A byte that continues a character begins with the bits 10.
        while is_text && end < value.len() && value.get(end).is_some_and(|byte| byte & 0xc0 == 0x80)
        {
            end -= 1;
        }
        let mut bytes = [0; BOUND_BYTES_MAX];
        for (to, from) in bytes.iter_mut().zip(value.iter().take(end)) {
            *to = *from;
        }
        Self {
            bytes,
            // At most 32.
            len: end as u8,
            is_cut: end < value.len(),
        }
    }

    /// The value, or its first bytes if the bound is cut; numbers are little-endian.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len.into()).unwrap_or_default()
    }

    /// Whether the value is longer.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }
}

impl fmt::Debug for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cut = if self.is_cut { " .." } else { "" };
        write!(f, "{}{cut}", self.bytes().escape_ascii())
    }
}
