//! Bins whose numbers all take the same number of bits.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use crate::plan::{Slice, join_to};

/// The most slices that are joined. With 96 instead of 192, pages of 65,536 values were up to 0.8 % larger.
const SLICES_MAX: usize = 256;

/// The bins with the fewest bits of offsets, for each number of bins. Found by dynamic programming: the best bins of
/// the first slices are the best of fewer slices with one bin less, and one bin more.
pub(crate) struct Layers {
    /// Slices of the page, those that cost least joined.
    slices: Vec<Range<usize>>,
    /// `of_one[last][first]`: the bits of the offsets of one bin of the slices from `first` to `last`.
    of_one: Vec<Vec<u64>>,
    /// `least[n][end]`: those of the first `end` slices in at most `n` bins. One slice or more are not in 0 bins.
    least: Vec<Vec<u64>>,
}

/// More bits than any offsets take.
const NEVER: u64 = 1 << 60;

impl Layers {
    /// Bins of numbers of up to `bits_max` bits, for slices of a page of `n_values`.
    pub(crate) fn of(slices: &[Slice], n_values: usize, bits_max: u8) -> Self {
        // Joining takes the square of their number: for so many, about the same time for each value of the page.
        let n_slices = (n_values.isqrt() * 3 / 4).clamp(1, SLICES_MAX);
        let mut joined = (0..slices.len()).map(|i| i..i + 1).collect();
        join_to(n_slices, &mut joined, slices, Slice::offset_bits);
        let wholes = joined.iter().map(|it| Slice::whole(&slices[it.clone()]));
        let wholes: Vec<Slice> = wholes.collect();
        let of_one = (0..wholes.len()).map(|last| {
            let mut whole = Slice::NONE;
            let firsts = wholes[..=last].iter().rev();
            let mut of_one: Vec<u64> = firsts
                .map(|slice| {
                    whole = Slice::whole(&[*slice, whole]);
                    whole.offset_bits()
                })
                .collect();
            of_one.reverse();
            of_one
        });
        let of_one: Vec<Vec<u64>> = of_one.collect();
        let mut least = vec![vec![NEVER; wholes.len() + 1]];
        least[0][0] = 0;
        for n in 0..1 << bits_max {
            let fewer: &Vec<u64> = &least[n];
            let ends = of_one.iter().zip(&fewer[1..]).map(|(of_one, as_few)| {
                let with_one = fewer.iter().zip(of_one).map(|(before, one)| before + one);
                with_one.fold(*as_few, u64::min)
            });
            let layer = [0].into_iter().chain(ends).collect();
            least.push(layer);
        }
        Self {
            slices: joined,
            of_one,
            least,
        }
    }

    /// The bits of all offsets with numbers of `number_bits` bits.
    pub(crate) fn offset_bits(&self, number_bits: u8) -> u64 {
        let layer = self.least.get(1 << number_bits);
        layer.and_then(|it| it.last()).map_or(NEVER, |bits| *bits)
    }

    /// The slices of the page of each of these bins.
    pub(crate) fn bins(&self, number_bits: u8) -> Vec<Range<usize>> {
        let mut bins = Vec::new();
        let mut end = self.slices.len();
        for n in (0..1 << number_bits).rev() {
            let (fewer, bits) = (&self.least[n], self.least[n + 1][end]);
            if end == 0 || fewer[end] == bits {
                continue;
            }
            let with_one = fewer.iter().zip(&self.of_one[end - 1]);
            let first = with_one
                .zip(0..)
                .find(|((before, one), _)| *before + *one == bits);
            let first = first.map_or(0, |(_, first)| first);
            bins.push(self.slices[first].start..self.slices[end - 1].end);
            end = first;
        }
        bins.reverse();
        bins
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::{bins_of, slices};
    use tarsia_testkit::rng::Rng;

    fn bits(bins: &[Range<usize>], slices: &[Slice]) -> u64 {
        let bits = |bin: &Range<usize>| Slice::whole(&slices[bin.clone()]).offset_bits();
        bins.iter().map(bits).sum()
    }

    #[test]
    fn no_other_bins_have_smaller_offsets() {
        let mut rng = Rng::new(1);
        for round in 0..40 {
            let n = 1 + round % 10;
            let slices = slices(&mut rng, n);
            let layers = Layers::of(&slices, 1 << 16, 4);
            for number_bits in 0..=4 {
                let all = (0..1 << (n - 1)).map(|cuts| bins_of(cuts, n));
                let few = all.filter(|bins| bins.len() <= 1 << number_bits);
                let least = few.map(|bins| bits(&bins, &slices)).min();
                let found = layers.bins(number_bits);
                assert_eq!(Some(layers.offset_bits(number_bits)), least);
                assert_eq!(Some(bits(&found, &slices)), least);
                assert!(found.len() <= 1 << number_bits);
            }
        }
    }

    #[test]
    fn bins_of_many_slices_are_of_all() {
        let mut rng = Rng::new(2);
        let slices = slices(&mut rng, 500);
        let layers = Layers::of(&slices, 1 << 16, 7);
        let mut before = u64::MAX;
        for number_bits in 0..=7 {
            let bins = layers.bins(number_bits);
            assert_eq!(bins[0].start, 0);
            assert!(bins.windows(2).all(|pair| pair[0].end == pair[1].start));
            assert_eq!(bins.last().map(|bin| bin.end), Some(500));
            let bits = bits(&bins, &slices);
            assert_eq!(bits, layers.offset_bits(number_bits));
            assert!(bits <= before);
            before = bits;
        }
        let none = Layers::of(&[], 0, 3);
        assert_eq!(none.offset_bits(3), 0);
        assert!(none.bins(3).is_empty());
    }
}
