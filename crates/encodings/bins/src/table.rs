//! The bins of a page.

use tarsia_codec::{Error, Node, OwnedValues, Result};

use crate::layout::{self, BINS_MAX, HEADER_BYTES};

/// One bin: the numbers from its lower end on.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Bin {
    pub(crate) lower: u64,
    /// The bits of an offset, set.
    pub(crate) mask: u64,
    /// The number of these bits.
    pub(crate) width: u32,
}

impl Bin {
    pub(crate) fn new(lower: u64, width: u32) -> Self {
        Self {
            lower,
            mask: u64::MAX.checked_shr(64 - width).unwrap_or(0),
            width,
        }
    }
}

/// The bins of a page, with an entry for each number of one byte, so that looking one up needs no check.
pub(crate) struct Table {
    bins: [Bin; BINS_MAX],
    n_bins: usize,
    /// The most bits of an offset.
    pub(crate) width_max: u32,
}

impl Table {
    /// The bins in the shared buffer of a node.
    pub(crate) fn of(values: &OwnedValues, node: &Node<'_>) -> Result<Self> {
        let (value_bytes, bins_max) = (layout::value_bytes(node)?, layout::bins_max(node)?);
        let entries = values.as_values()?.as_fixed()?;
        let n_bins = entries.len();
        if n_bins > bins_max {
            let allowed = "at most 2^number_bits bins";
            return Err(Error::corrupt("bins.table", 0, n_bins, allowed));
        }
        let mut table = Self {
            bins: [Bin::default(); BINS_MAX],
            n_bins,
            width_max: 0,
        };
        let mut before = None;
        for (i, to) in table.bins.iter_mut().enumerate().take(n_bins) {
            let (lower, width) = entries
                .get(i)
                .split_at_checked(value_bytes)
                .unwrap_or_default();
            let lower = tarsia_bits::read_value(lower).unwrap_or_default();
            let width = u32::from(width.first().copied().unwrap_or_default());
            if before.is_some_and(|before| before >= lower) {
                let allowed = "above the lower end before";
                return Err(Error::corrupt("bins.lower", i, lower, allowed));
            }
            if width > value_bytes as u32 * 8 {
                let allowed = "at most the bits of a value";
                return Err(Error::corrupt("bins.width", i, width, allowed));
            }
            before = Some(lower);
            table.width_max = width.max(table.width_max);
            *to = Bin::new(lower, width);
        }
        Ok(table)
    }

    /// The bins.
    #[cfg(feature = "encode")]
    pub(crate) fn bins(&self) -> &[Bin] {
        self.bins.get(..self.n_bins).unwrap_or_default()
    }

    /// The bin with this number; an empty one if there is none.
    #[inline(always)]
    pub(crate) fn bin(&self, number: u8) -> Bin {
        self.bins[usize::from(number)]
    }

    /// The sum of the widths of the bins with these numbers.
    pub(crate) fn widths(&self, numbers: &[u8]) -> u64 {
        numbers
            .iter()
            .map(|number| u64::from(self.bin(*number).width))
            .sum()
    }

    /// Refuses numbers that no bin has.
    pub(crate) fn check(&self, numbers: &[u8]) -> Result<()> {
        let largest = tarsia_bits::largest::<u8>(numbers);
        match usize::from(largest) < self.n_bins || numbers.is_empty() {
            true => Ok(()),
            false => {
                let allowed = "below the number of bins";
                Err(Error::corrupt(
                    "bins.numbers",
                    HEADER_BYTES,
                    largest,
                    allowed,
                ))
            }
        }
    }
}
