//! Slices: where the sorted values of a page are cut, as a sample of them suggests.

use alloc::vec;
use alloc::vec::Vec;

use crate::plan::Slice;

/// A sorted sample, cut.
pub(crate) struct Slices {
    /// The slices of the sample.
    pub(crate) of_sample: Vec<Slice>,
    /// The lower end of each slice of the page; the first is 0. Some of them have no values in the sample.
    pub(crate) lowers: Vec<u64>,
}

impl Slices {
    /// About `n_slices` slices of equally many values of a sorted sample. Equal values are of one slice, and of a slice
    /// of their own where they fill one.
    pub(crate) fn of(sorted: &[u64], n_slices: usize) -> Self {
        let n_least = (sorted.len() / n_slices.max(1)).max(1) as u64;
        let mut slices = Self {
            of_sample: Vec::with_capacity(n_slices + 1),
            lowers: vec![0],
        };
        let mut open: Option<Slice> = None;
        for equal in sorted.chunk_by(|a, b| a == b) {
            let (n, value) = (equal.len() as u64, equal[0]);
            let own = Slice {
                n_values: n,
                min: value,
                max: value,
            };
            if n >= n_least {
                slices.push(open.take());
                slices.push(Some(own));
                continue;
            }
            let slice = open.get_or_insert(own);
            if slice.min != value {
                slice.n_values += n;
                slice.max = value;
            }
            if slice.n_values >= n_least {
                slices.push(open.take());
            }
        }
        slices.push(open.take());
        // What the sample has no values of lies in slices of its own at both ends.
        if let Some(behind) = sorted.last().and_then(|last| last.checked_add(1)) {
            slices.push_lower(behind);
        }
        slices
    }

    fn push(&mut self, slice: Option<Slice>) {
        let Some(slice) = slice else {
            return;
        };
        self.of_sample.push(slice);
        self.push_lower(slice.min);
        // Values next to a frequent one do not widen its slice.
        if let Some(behind) = slice.max.checked_add(1)
            && slice.min == slice.max
        {
            self.push_lower(behind);
        }
    }

    fn push_lower(&mut self, lower: u64) {
        if self.lowers.last() != Some(&lower) {
            self.lowers.push(lower);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sorted: &[u64], n_slices: usize) -> (Vec<(u64, u64, u64)>, Vec<u64>) {
        let slices = Slices::of(sorted, n_slices);
        let parts = |slice: &Slice| (slice.n_values, slice.min, slice.max);
        let of_sample = slices.of_sample.iter().map(parts).collect();
        (of_sample, slices.lowers)
    }

    #[test]
    fn slices_have_equally_many_values() {
        let sorted: Vec<u64> = (10..22).collect();
        let expected = vec![(4, 10, 13), (4, 14, 17), (4, 18, 21)];
        assert_eq!(of(&sorted, 3), (expected, vec![0, 10, 14, 18, 22]));
        // What is left over is the last one.
        let expected = vec![(2, 10, 11), (2, 12, 13), (1, 14, 14)];
        assert_eq!(of(&sorted[..5], 2), (expected, vec![0, 10, 12, 14, 15]));
    }

    #[test]
    fn equal_values_are_of_one_slice() {
        let sorted = [3, 3, 4, 5, 5, 5, 5, 5, 6, 8, 8, 9];
        let expected = vec![(3, 3, 4), (5, 5, 5), (3, 6, 8), (1, 9, 9)];
        assert_eq!(of(&sorted, 4), (expected, vec![0, 3, 5, 6, 9, 10]));
        // A frequent one of its own, though a slice before it is not full; what is behind it lies in another.
        let sorted = [1, 2, 7, 7, 7, 7, 20, 30];
        let expected = vec![(2, 1, 2), (4, 7, 7), (2, 20, 30)];
        assert_eq!(of(&sorted, 2), (expected, vec![0, 1, 7, 8, 20, 31]));
    }

    #[test]
    fn the_ends_of_the_numbers_are_of_slices() {
        assert_eq!(of(&[], 0), (vec![], vec![0]));
        assert_eq!(of(&[], 8), (vec![], vec![0]));
        let (_, lowers) = of(&[0, u64::MAX], 2);
        assert_eq!(lowers, [0, 1, u64::MAX]);
        let (_, lowers) = of(&[0; 5], 2);
        assert_eq!(lowers, [0, 1]);
    }
}
