//! Which slices of a page are joined to a bin.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use crate::log2::{ONE, log2};

/// Consecutive numbers of the page, in the order of their size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slice {
    pub(crate) n_values: u64,
    /// The smallest and the largest.
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl Slice {
    /// A slice without values.
    pub(crate) const NONE: Self = Self {
        n_values: 0,
        min: u64::MAX,
        max: 0,
    };

    #[inline]
    pub(crate) fn add(&mut self, value: u64) {
        self.n_values += 1;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// One slice of the values of all `slices`.
    pub(crate) fn whole(slices: &[Self]) -> Self {
        slices.iter().fold(Self::NONE, |whole, slice| Self {
            n_values: whole.n_values + slice.n_values,
            min: whole.min.min(slice.min),
            max: whole.max.max(slice.max),
        })
    }

    /// The bits of the offset of a value.
    #[inline(always)]
    pub(crate) fn width(&self) -> u32 {
        u64::BITS - self.max.saturating_sub(self.min).leading_zeros()
    }

    /// The bits of the offsets of all values.
    pub(crate) fn offset_bits(&self) -> u64 {
        self.n_values * u64::from(self.width())
    }
}

/// `n` bits, as costs are counted: in parts of 2^-16 bits.
pub(crate) fn bits_of(n: u64) -> u64 {
    n * ONE
}

/// Costs of bins in a page.
pub(crate) struct Costs {
    log_all: u64,
    /// Bits of a bin whatever is in it.
    bin_bits: u64,
}

impl Costs {
    /// For a page of `n_values`, of which a bin costs `bin_bits`.
    pub(crate) fn new(n_values: u64, bin_bits: u64) -> Self {
        Self {
            log_all: log2(n_values),
            bin_bits,
        }
    }

    /// The bits of the number of a bin by its entropy.
    #[inline(always)]
    fn of_number(&self, bin: &Slice) -> u64 {
        self.log_all - log2(bin.n_values)
    }

    /// Returns the bits of the numbers of all values in `bin`.
    pub(crate) fn of_numbers(&self, bin: &Slice) -> u64 {
        bin.n_values * self.of_number(bin)
    }

    /// Returns the bits of a bin: offsets, numbers, and what it costs whatever is in it.
    #[inline(always)]
    pub(crate) fn of(&self, bin: &Slice) -> u64 {
        bin.n_values * (bits_of(bin.width().into()) + self.of_number(bin)) + self.bin_bits
    }
}

/// Joins neighbouring slices, each with values, to the bins that cost least. Found by dynamic programming: the best
/// bins of the first slices are the best of fewer, and one bin more. Returns the slices of each bin.
pub(crate) fn join(slices: &[Slice], costs: &Costs) -> Vec<Range<usize>> {
    let mut n_before = vec![0];
    let mut n_all = 0;
    for slice in slices {
        n_all += slice.n_values;
        n_before.push(n_all);
    }
    // For so many slices, the first ones, what their bins cost, and where the last bin starts.
    let mut best = vec![(0, 0)];
    for (last, slice) in slices.iter().enumerate() {
        let n_until = n_before[last + 1];
        let before = slices[..=last].iter().zip(&n_before).zip(&best);
        let mut least = (u64::MAX, last);
        for (first, ((first_slice, n_before), (cost_before, _))) in before.enumerate().rev() {
            let bin = Slice {
                n_values: n_until - n_before,
                min: first_slice.min,
                max: slice.max,
            };
            let cost = cost_before + costs.of(&bin);
            if cost < least.0 {
                least = (cost, first);
            }
        }
        best.push(least);
    }
    let mut bins = Vec::new();
    let mut end = slices.len();
    while end > 0 {
        let first = best[end].1;
        bins.push(first..end);
        end = first;
    }
    bins.reverse();
    bins
}

/// Joins bins to at most `n_max`: again and again the two neighbours that cost least more as one.
pub(crate) fn join_to(
    n_max: usize,
    bins: &mut Vec<Range<usize>>,
    slices: &[Slice],
    cost: impl Fn(&Slice) -> u64,
) {
    // Below 2^54: at most 2^31 values, with 128 bits for the offset and the number of each.
    let cost = |bin: Range<usize>| cost(&Slice::whole(&slices[bin])) as i64;
    let more = |pair: &[Range<usize>]| {
        cost(pair[0].start..pair[1].end) - cost(pair[0].clone()) - cost(pair[1].clone())
    };
    let mut mores: Vec<i64> = bins.windows(2).map(more).collect();
    while bins.len() > n_max {
        let pairs = mores.iter().zip(0..);
        let Some((_, i)) = pairs.min() else {
            return;
        };
        bins[i].end = bins[i + 1].end;
        bins.remove(i + 1);
        mores.remove(i);
        for i in [i.wrapping_sub(1), i] {
            if let (Some(to), Some(pair)) = (mores.get_mut(i), bins.get(i..i.saturating_add(2))) {
                *to = more(pair);
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use tarsia_testkit::rng::Rng;

    /// Random slices.
    pub(crate) fn slices(rng: &mut Rng, n: usize) -> Vec<Slice> {
        let mut min = 0;
        let slice = |_| {
            let width = rng.below(20);
            min += 1 + (rng.u64() >> 44 >> width);
            let max = min + (rng.u64() >> 44 >> rng.below(20));
            let slice = Slice {
                n_values: 1 + rng.below(1000) as u64,
                min,
                max,
            };
            min = max;
            slice
        };
        (0..n).map(slice).collect()
    }

    fn cost(bins: &[Range<usize>], slices: &[Slice], costs: &Costs) -> u64 {
        let cost = |bin: &Range<usize>| costs.of(&Slice::whole(&slices[bin.clone()]));
        bins.iter().map(cost).sum()
    }

    fn costs(slices: &[Slice], bin_bits: u64) -> Costs {
        Costs::new(Slice::whole(slices).n_values, bits_of(bin_bits))
    }

    /// Each bit of `cuts` says whether a bin ends behind that slice.
    pub(crate) fn bins_of(cuts: u32, n: usize) -> Vec<Range<usize>> {
        let ends = (1..n).filter(|end| cuts >> (end - 1) & 1 == 1);
        let ends: Vec<usize> = [0].into_iter().chain(ends).chain([n]).collect();
        ends.windows(2).map(|pair| pair[0]..pair[1]).collect()
    }

    #[test]
    fn no_other_bins_cost_less() {
        let mut rng = Rng::new(1);
        for round in 0..60 {
            let n = 1 + round % 10;
            let slices = slices(&mut rng, n);
            let costs = costs(&slices, [0, 40, 80, 3000][round % 4]);
            let found = join(&slices, &costs);
            let all = (0..1 << (n - 1)).map(|cuts| cost(&bins_of(cuts, n), &slices, &costs));
            assert_eq!(Some(cost(&found, &slices, &costs)), all.min());
        }
        assert!(join(&[], &Costs::new(0, 0)).is_empty());
    }

    #[test]
    fn bins_that_are_too_many_are_joined_where_it_costs_least() {
        let mut rng = Rng::new(2);
        let slices = slices(&mut rng, 300);
        let costs = costs(&slices, 0);
        let all: Vec<_> = (0..300).map(|i| i..i + 1).collect();
        for n_max in [299, 256, 40, 1] {
            let mut bins = all.clone();
            join_to(n_max, &mut bins, &slices, |bin| costs.of(bin));
            assert_eq!(bins.len(), n_max);
            let ends: Vec<usize> = bins.iter().flat_map(|bin| [bin.start, bin.end]).collect();
            assert!(ends[1..].chunks(2).all(|pair| pair.first() == pair.last()));
            assert_eq!((ends[0], ends.last()), (0, Some(&300)));
        }
        let least = (0..299).map(|i| {
            let mut bins = all.clone();
            bins[i].end += 1;
            bins.remove(i + 1);
            cost(&bins, &slices, &costs)
        });
        let mut bins = all.clone();
        join_to(299, &mut bins, &slices, |bin| costs.of(bin));
        assert_eq!(Some(cost(&bins, &slices, &costs)), least.min());
        // Nothing to do.
        let few = bins.clone();
        join_to(299, &mut bins, &slices, |bin| costs.of(bin));
        assert_eq!(bins, few);
    }
}
