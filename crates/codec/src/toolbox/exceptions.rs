//! Values of a unit that an encoding keeps beside the others, and their places.

use alloc::vec::Vec;

use crate::toolbox::ByteReader;
use crate::{Error, FixedSlice, Result};

/// Units of up to this many values have positions of 2 bytes.
const SHORT_UNIT_VALUES: u32 = 1 << 16;

/// The exceptions of a unit: their places, and their bytes.
#[derive(Debug, Clone, Copy)]
pub struct Exceptions<'a> {
    /// Their places among the unit's values, rising.
    pub positions: Positions<'a>,
    /// Their values, one after the other.
    pub values: &'a [u8],
}

/// Places in a unit, rising.
#[derive(Debug, Clone, Copy)]
pub enum Positions<'a> {
    /// Positions of 2 bytes each, little-endian.
    Two(&'a [[u8; 2]]),
    /// Positions of 4 bytes each, little-endian.
    Four(&'a [[u8; 4]]),
}

/// Names of the fields in errors.
#[derive(Debug, Clone, Copy)]
pub struct ExceptionFields {
    /// The number of exceptions, 4 bytes.
    pub count: &'static str,
    /// The positions, each of [`position_bytes`].
    pub positions: &'static str,
    /// The values.
    pub values: &'static str,
}

impl<'a> Exceptions<'a> {
    /// Reads the exceptions of a unit of `n_values` values of `value_bytes` bytes: their number, all positions, all
    /// values.
    ///
    /// # Errors
    /// [`Truncated`](crate::ErrorKind::Truncated); [`Corrupt`](crate::ErrorKind::Corrupt) for more exceptions than
    /// values, and positions that do not rise or are no places of values.
    pub fn read(
        reader: &mut ByteReader<'a>,
        n_values: u32,
        value_bytes: usize,
        fields: ExceptionFields,
    ) -> Result<Self> {
        let n_at = reader.position();
        let n = reader.u32(fields.count)?;
        if n > n_values {
            let allowed = "at most the number of values";
            return Err(Error::corrupt(fields.count, n_at, n, allowed));
        }
        let n = n as usize;
        let position_bytes = position_bytes(n_values);
        let positions_at = reader.position();
        let bytes = reader.take(n.saturating_mul(position_bytes), fields.positions)?;
        let positions = match position_bytes {
            2 => Positions::Two(bytes.as_chunks().0),
            _ => Positions::Four(bytes.as_chunks().0),
        };
        let mut before = None;
        for i in 0..n {
            let position = positions.get(i);
            if position <= before || position.is_some_and(|it| it >= n_values) {
                let at = positions_at + i * position_bytes;
                let allowed = "rising, below the number of values";
                let found = position.unwrap_or_default();
                return Err(Error::corrupt(fields.positions, at, found, allowed));
            }
            before = position;
        }
        let values = reader.take(n.saturating_mul(value_bytes), fields.values)?;
        Ok(Self { positions, values })
    }
}

/// Appends the number of exceptions, their positions and their values, as [`Exceptions::read`] reads them. `values` are
/// all values of the unit.
///
/// # Errors
/// [`InvalidInput`](crate::ErrorKind::InvalidInput) for more values than a unit has.
pub fn write_exceptions(
    values: &FixedSlice<'_>,
    positions: impl ExactSizeIterator<Item = u32> + Clone,
    out: &mut Vec<u8>,
) -> Result<()> {
    let too_many = |_| Error::invalid("more values than a unit has");
    let n_values = u32::try_from(values.len()).map_err(too_many)?;
    out.extend_from_slice(&(positions.len() as u32).to_le_bytes());
    for position in positions.clone() {
        let bytes = position.to_le_bytes();
        out.extend(bytes.iter().take(position_bytes(n_values)));
    }
    for position in positions {
        out.extend_from_slice(values.get(position as usize));
    }
    Ok(())
}

impl Positions<'_> {
    /// The number of exceptions.
    pub fn len(&self) -> usize {
        match self {
            Self::Two(positions) => positions.len(),
            Self::Four(positions) => positions.len(),
        }
    }

    /// True if there are no exceptions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The place of exception `i`.
    pub fn get(&self, i: usize) -> Option<u32> {
        match self {
            Self::Two(positions) => positions.get(i).map(|it| u16::from_le_bytes(*it).into()),
            Self::Four(positions) => positions.get(i).map(|it| u32::from_le_bytes(*it)),
        }
    }

    /// The exception at a value, if it is one; else as `Err` the number of exceptions before it.
    pub fn find(&self, value: u32) -> core::result::Result<usize, usize> {
        match self {
            Self::Two(positions) => {
                positions.binary_search_by_key(&value, |it| u16::from_le_bytes(*it).into())
            }
            Self::Four(positions) => {
                positions.binary_search_by_key(&value, |it| u32::from_le_bytes(*it))
            }
        }
    }

    /// The number of exceptions before a value.
    pub fn n_before(&self, value: u32) -> usize {
        self.find(value).unwrap_or_else(|n_before| n_before)
    }
}

/// Bytes of a position in a unit of `n_values`.
pub fn position_bytes(n_values: u32) -> usize {
    match n_values {
        0..=SHORT_UNIT_VALUES => 2,
        _ => 4,
    }
}
