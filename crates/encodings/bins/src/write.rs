//! Values to numbers of bins and offsets.

use alloc::vec::Vec;

use tarsia_codec::{Error, FixedSlice, Node, OwnedValues, Result};

use crate::layout::{BINS_MAX, value_bytes};
use crate::rising::Rising;
use crate::table::{Bin, Table};
use crate::words::for_words;

/// The most bits of an offset that are appended at once, behind at most seven others.
const PUT_BITS_MAX: u32 = 56;

/// The bins of a page, ready to encode values with.
pub(crate) struct Encoder {
    table: Table,
    /// For each bin the largest offset of a value that it holds: one that its bits hold, and that is not in a bin
    /// behind it.
    offset_max: [u64; BINS_MAX],
    lowers: Rising,
}

impl Encoder {
    /// The bins of a node. Refuses what readers refuse.
    pub(crate) fn of(table: &OwnedValues, node: &Node<'_>) -> Result<Self> {
        let table = Table::of(table, node)
            .map_err(|_| Error::invalid("bins that do not rise, or are too many or too wide"))?;
        let mut offset_max = [0; BINS_MAX];
        let value_max = u64::MAX >> (64 - 8 * value_bytes(node)?);
        let next = table.bins().iter().skip(1).map(|next| next.lower - 1);
        let last_of = next.chain([value_max]);
        for ((to, bin), last) in offset_max.iter_mut().zip(table.bins()).zip(last_of) {
            *to = bin.mask.min(last - bin.lower);
        }
        Ok(Self {
            lowers: Rising::of(table.bins().iter().map(|bin| bin.lower).collect()),
            table,
            offset_max,
        })
    }

    /// True if bin `number` is that of the value.
    #[inline(always)]
    fn holds(&self, number: u8, value: u64) -> bool {
        let offset = value.wrapping_sub(self.table.bin(number).lower);
        offset <= self.offset_max[usize::from(number)]
    }

    /// True if `numbers` are those of the bins of `values`, of which there are as many.
    pub(crate) fn are_of(&self, numbers: &[u8], values: &FixedSlice<'_>) -> bool {
        let (mut rest, mut are) = (numbers, self.table.check(numbers).is_ok());
        for_words(values, |words| {
            let (now, later) = rest.split_at(words.len());
            rest = later;
            let pairs = now.iter().zip(words);
            are &= pairs.fold(true, |are, (number, word)| are & self.holds(*number, *word));
        });
        are
    }

    /// The number of the bin of each value.
    ///
    /// # Errors
    /// [`tarsia_codec::ErrorKind::InvalidInput`] for a value that is in no bin.
    pub(crate) fn numbers(&self, values: &FixedSlice<'_>) -> Result<Vec<u8>> {
        let mut numbers = Vec::with_capacity(values.len());
        for_words(values, |words| {
            self.lowers
                .for_places(words, |place| numbers.push(place as u8));
        });
        match self.are_of(&numbers, values) {
            true => Ok(numbers),
            false => Err(Error::invalid("a value is in none of the page's bins")),
        }
    }

    /// Appends the offsets of values, whose bins have these numbers.
    pub(crate) fn push_offsets(&self, numbers: &[u8], values: &FixedSlice<'_>, out: &mut Vec<u8>) {
        let start = out.len();
        let n_bytes = self.table.widths(numbers).div_ceil(8) as usize;
        // Bits are stored with seven bytes behind theirs.
        out.resize(start + n_bytes + 8, 0);
        let mut writer = Writer {
            rest: &mut out[start..],
            pending: 0,
            n_pending: 0,
        };
        let is_wide = self.table.width_max > PUT_BITS_MAX;
        let mut rest = numbers;
        for_words(values, |words| {
            let (now, later) = rest.split_at(words.len());
            rest = later;
            for (number, word) in now.iter().zip(words) {
                let Bin { lower, width, .. } = self.table.bin(*number);
                let offset = word.wrapping_sub(lower);
                if is_wide {
                    let low = width.min(32);
                    writer.put(offset & u64::from(u32::MAX), low);
                    writer.put(offset >> 32, width - low);
                } else {
                    writer.put(offset, width);
                }
            }
        });
        out.truncate(start + n_bytes);
    }
}

/// Writes bits, the lowest of each byte first.
struct Writer<'o> {
    /// The bytes from that of the next bit on.
    rest: &'o mut [u8],
    /// The bits of this byte so far, fewer than 8.
    pending: u64,
    n_pending: u32,
}

impl Writer<'_> {
    /// Writes the lowest `n` bits of a number, at most [`PUT_BITS_MAX`]; its other bits are zero.
    #[inline(always)]
    fn put(&mut self, number: u64, n: u32) {
        self.pending |= number << self.n_pending;
        if let Some(to) = self.rest.first_chunk_mut() {
            *to = self.pending.to_le_bytes();
        }
        let n_all = self.n_pending + n;
        let n_whole = n_all / 8;
        self.pending >>= n_whole * 8;
        self.n_pending = n_all % 8;
        self.rest = core::mem::take(&mut self.rest)
            .get_mut(n_whole as usize..)
            .unwrap_or_default();
    }
}
