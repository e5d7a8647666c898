//! The bins of a page, found from its values.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use tarsia_codec::{AlignedBuf, FixedSlice, OwnedValues};

use crate::layers::Layers;
use crate::layout::{BINS_MAX, NUMBER_BITS_MAX};
use crate::plan::{Costs, Slice, bits_of, join, join_to};
use crate::rising::Rising;
use crate::slices::Slices;
use crate::words::{for_words, sorted_sample};

/// The most slices of a page. For twice as many as 512, smooth distributions got 0.03 % smaller, prices of which many
/// end in 99 by 1 %.
const SLICES_MAX: usize = 1024;

/// Values of the sample in a slice.
const SAMPLED: usize = 32;

/// Values that are sampled first, to see whether bins may be worth it.
const TRIAL_VALUES: usize = 1024;
const TRIAL_SLICES: usize = 64;

/// The most bits of numbers for which bins of one size of number are proposed.
const FLAT_BITS_MAX: u8 = 5;

/// The bits that all values take with bins, by a small sample: of offsets, of numbers by their entropy, of the table.
pub(crate) fn trial(values: &FixedSlice<'_>) -> u64 {
    let sample = sorted_sample(values, TRIAL_VALUES);
    let slices = Slices::of(&sample, TRIAL_SLICES).of_sample;
    // The share of the sample in what a bin costs the page.
    let n = sample.len() as u64;
    let bin_bits = bits_of(entry_bits(values.width())) * n / (values.len() as u64).max(1);
    let costs = Costs::new(n, bin_bits);
    let cost = |bin| costs.of(&Slice::whole(&slices[bin]));
    let bits: u64 = join(&slices, &costs).into_iter().map(cost).sum();
    // Of at most 2^31 values, each with less than 2^24 parts of bits.
    bits / n.max(1) * values.len() as u64 / bits_of(1)
}

/// Returns the bits of a bin: its entry, and about a byte where the child lists its number.
fn entry_bits(value_bytes: usize) -> u64 {
    (value_bytes as u64 + 2) * 8
}

/// The values of a page, cut into slices.
pub(crate) struct Cut {
    value_bytes: usize,
    /// For each value the place of its slice.
    places: Vec<u16>,
    /// Each has values.
    slices: Vec<Slice>,
}

impl Cut {
    pub(crate) fn of(values: &FixedSlice<'_>) -> Self {
        // Joining takes the square of their number: for so many, about the same time for each value of the page.
        let n_slices = (2 * values.len().isqrt()).min(SLICES_MAX);
        let sample = sorted_sample(values, n_slices * SAMPLED);
        let lowers = Rising::of(Slices::of(&sample, n_slices).lowers);
        let mut places = Vec::with_capacity(values.len());
        let mut slices = vec![Slice::NONE; lowers.len()];
        for_words(values, |words| {
            let start = places.len();
            lowers.for_places(words, |place| places.push(place as u16));
            for (place, word) in places[start..].iter().zip(words) {
                slices[usize::from(*place)].add(*word);
            }
        });
        let mut n_filled = 0;
        let mut filled = |slice: &Slice| {
            let place = n_filled;
            n_filled += u16::from(slice.n_values > 0);
            place
        };
        let place_of: Vec<u16> = slices.iter().map(&mut filled).collect();
        for place in &mut places {
            *place = place_of[usize::from(*place)];
        }
        slices.retain(|slice| slice.n_values > 0);
        Self {
            value_bytes: values.width(),
            places,
            slices,
        }
    }

    /// The bins for numbers of so many bits each or, with the most, for numbers that take their entropy.
    pub(crate) fn page(&self, number_bits: u8) -> Page {
        let bins = match number_bits {
            NUMBER_BITS_MAX => self.joined(),
            _ => Layers::of(&self.slices, self.places.len(), number_bits).bins(number_bits),
        };
        self.page_of(number_bits, bins)
    }

    /// The page with the fewest bits of those for numbers that all take the same; `None` if one bin takes no more.
    pub(crate) fn flat_page(&self) -> Option<Page> {
        let n = self.places.len();
        let layers = Layers::of(&self.slices, n, FLAT_BITS_MAX);
        let bits = |number_bits: &u8| {
            let of_table = entry_bits(self.value_bytes) << number_bits;
            layers.offset_bits(*number_bits) + n as u64 * u64::from(*number_bits) + of_table
        };
        let number_bits = (0..=FLAT_BITS_MAX).min_by_key(bits).filter(|it| *it > 0)?;
        Some(self.page_of(number_bits, layers.bins(number_bits)))
    }

    /// Bins whose numbers take their entropy.
    fn joined(&self) -> Vec<Range<usize>> {
        let costs = self.costs();
        let mut bins = join(&self.slices, &costs);
        join_to(BINS_MAX, &mut bins, &self.slices, |bin| costs.of(bin));
        bins
    }

    fn costs(&self) -> Costs {
        Costs::new(
            self.places.len() as u64,
            bits_of(entry_bits(self.value_bytes)),
        )
    }

    fn page_of(&self, number_bits: u8, bins: Vec<Range<usize>>) -> Page {
        let numbered = bins.iter().zip(0u8..=u8::MAX);
        let number_of = numbered.flat_map(|(bin, number)| bin.clone().map(move |_| number));
        let number_of: Vec<u8> = number_of.collect();
        let numbers = self.places.iter().map(|it| number_of[usize::from(*it)]);
        let numbers: Vec<u8> = numbers.collect();

        let bins = bins.into_iter().map(|bin| Slice::whole(&self.slices[bin]));
        let bins: Vec<Slice> = bins.collect();
        let table = table_of(&bins, self.value_bytes);
        let costs = self.costs();
        let bits_of_numbers = match number_bits {
            NUMBER_BITS_MAX => {
                bins.iter().map(|bin| costs.of_numbers(bin)).sum::<u64>() / bits_of(1)
            }
            _ => numbers.len() as u64 * u64::from(number_bits),
        };
        Page {
            number_bits,
            offset_bits: bins.iter().map(Slice::offset_bits).sum(),
            other_bits: bits_of_numbers + 8 * table.len() as u64,
            table: fixed(&table, self.value_bytes + 1),
            numbers: fixed(&numbers, 1),
        }
    }
}

/// The bins of a page.
pub(crate) struct Page {
    /// The node's parameter.
    pub(crate) number_bits: u8,
    /// The shared buffer.
    pub(crate) table: OwnedValues,
    /// The number of the bin of each value.
    pub(crate) numbers: OwnedValues,
    /// The bits of all offsets.
    pub(crate) offset_bits: u64,
    /// The bits of all numbers and of the table.
    pub(crate) other_bits: u64,
}

/// The entries of bins.
fn table_of(bins: &[Slice], value_bytes: usize) -> Vec<u8> {
    let entry = |bin: &Slice| {
        let lower = bin.min.to_le_bytes();
        let lower = lower.into_iter().take(value_bytes);
        lower.chain([bin.width() as u8])
    };
    bins.iter().flat_map(entry).collect()
}

/// Values of `width` bytes.
pub(crate) fn fixed(bytes: &[u8], width: usize) -> OwnedValues {
    OwnedValues::Fixed {
        bytes: AlignedBuf::copy_of(bytes),
        width,
        len: bytes.len() / width,
    }
}
