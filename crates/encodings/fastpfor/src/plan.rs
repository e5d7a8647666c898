//! The widths of groups, by the bytes that each choice takes.

use alloc::vec::Vec;

use tarsia_bits::{Word, packed_bytes, read_value, width_histogram};
use tarsia_codec::{Error, FixedSlice, Result};

use crate::layout::{GROUP_VALUES, HIGH_WIDTHS, Scheme, stored_bits};

/// The width of a group, and its exceptions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fit {
    pub(crate) width: u8,
    pub(crate) n_exceptions: u8,
    /// Bits of the highs of exceptions; 0 without any.
    pub(crate) high_width: u8,
}

impl Fit {
    /// The width of the widest value.
    pub(crate) fn max_width(&self) -> u8 {
        self.width + self.high_width
    }
}

/// How the groups of a unit fit.
pub(crate) struct Plan {
    pub(crate) fits: Vec<Fit>,
    /// Bytes of the unit.
    pub(crate) bytes: u64,
    /// Bytes of the unit with [`Scheme::Bp128`].
    pub(crate) bytes_of_bp128: u64,
}

impl Plan {
    /// The widths of groups of numbers of 1, 2, 4 or 8 bytes.
    pub(crate) fn new(values: &FixedSlice<'_>, scheme: Scheme) -> Result<Self> {
        let mut fits = Vec::with_capacity(values.len().div_ceil(GROUP_VALUES));
        for group in groups(values) {
            fits.push(match (scheme, group.width()) {
                (Scheme::Bp128, _) => widest(&group),
                (Scheme::FastPfor, 1) => fit::<u8>(&group)?,
                (Scheme::FastPfor, 2) => fit::<u16>(&group)?,
                (Scheme::FastPfor, 4) => fit::<u32>(&group)?,
                (Scheme::FastPfor, _) => fit::<u64>(&group)?,
            });
        }
        let n_groups = fits.len() as u64;
        let (mut bytes, mut bytes_of_bp128) = (n_groups, n_groups);
        if scheme == Scheme::FastPfor {
            bytes += n_groups;
        }
        let mut n_highs = [0; HIGH_WIDTHS];
        for (group, fit) in groups(values).zip(&fits) {
            let n_values = group.len() as u64;
            bytes += packed_bytes(n_values, fit.width.into());
            bytes_of_bp128 += packed_bytes(n_values, fit.max_width().into());
            if fit.n_exceptions > 0 {
                bytes += 1 + u64::from(fit.n_exceptions);
                n_highs[usize::from(fit.high_width)] += u64::from(fit.n_exceptions);
            }
        }
        for (width, n) in n_highs.into_iter().enumerate() {
            bytes += (n * stored_bits(width as u8)).div_ceil(8);
        }
        Ok(Self {
            fits,
            bytes,
            bytes_of_bp128,
        })
    }
}

/// The groups of a unit.
pub(crate) fn groups<'v>(
    values: &FixedSlice<'v>,
) -> impl Iterator<Item = FixedSlice<'v>> + use<'v> {
    let values = *values;
    let starts = (0..values.len()).step_by(GROUP_VALUES);
    starts.map(move |start| values.slice(start..start + GROUP_VALUES))
}

/// The width of the widest value.
fn widest(group: &FixedSlice<'_>) -> Fit {
    let (words, rest) = group.bytes().as_chunks();
    let all = words
        .iter()
        .fold(0, |all, word| all | u64::from_le_bytes(*word));
    let all = all.to_le_bytes();
    let values = all
        .chunks_exact(group.width())
        .chain(rest.chunks_exact(group.width()));
    let any = values.fold(0, |any, value| any | read_value(value).unwrap_or(0));
    Fit {
        width: (64 - any.leading_zeros()) as u8,
        n_exceptions: 0,
        high_width: 0,
    }
}

/// The cheapest width; the widest of equally cheap ones. The highs are rounded up to whole bytes, though those of
/// several groups may share one. So no unit is larger than without exceptions, but for the numbers of these.
fn fit<T: Word>(group: &FixedSlice<'_>) -> Result<Fit> {
    let counts = width_histogram(group.bytes(), T::from_u64(0));
    let counts = counts.map_err(|_| Error::invalid("values are not whole"))?;
    let n_values = group.len() as u64;
    let max_width = counts.iter().rposition(|n| *n > 0).unwrap_or(0) as u8;
    let mut best = Fit {
        width: max_width,
        n_exceptions: 0,
        high_width: 0,
    };
    let mut best_bytes = packed_bytes(n_values, max_width.into());
    let mut n_exceptions = 0;
    for width in (0..max_width).rev() {
        n_exceptions += u64::from(counts[usize::from(width) + 1]);
        let high_width = max_width - width;
        let of_highs = (n_exceptions * stored_bits(high_width)).div_ceil(8);
        let of_exceptions = 1 + n_exceptions + of_highs;
        if of_exceptions >= best_bytes {
            // Narrower groups have more exceptions.
            break;
        }
        let bytes = packed_bytes(n_values, width.into()) + of_exceptions;
        if bytes < best_bytes {
            best_bytes = bytes;
            best = Fit {
                width,
                n_exceptions: n_exceptions as u8,
                high_width,
            };
        }
    }
    Ok(best)
}
