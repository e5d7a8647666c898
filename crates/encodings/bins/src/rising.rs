//! Where a number lies among rising ones.

use alloc::vec::Vec;
use core::hint::select_unpredictable;

/// Values that are searched for at a time.
const GROUP: usize = 8;

/// Rising numbers, padded with the largest of all to a power of two, so that a search takes the same steps for each.
pub(crate) struct Rising {
    padded: Vec<u64>,
    last: usize,
}

impl Rising {
    pub(crate) fn of(mut numbers: Vec<u64>) -> Self {
        let last = numbers.len().saturating_sub(1);
        numbers.resize(numbers.len().next_power_of_two(), u64::MAX);
        Self {
            padded: numbers,
            last,
        }
    }

    /// How many there are, at least 1.
    pub(crate) fn len(&self) -> usize {
        self.last + 1
    }

    /// Calls `with` for each of `values` with the place of the last number that is not above it; 0 if there is none.
    #[inline]
    pub(crate) fn for_places(&self, values: &[u64], mut with: impl FnMut(usize)) {
        let (groups, last) = values.as_chunks();
        for group in groups {
            self.places(group).into_iter().for_each(&mut with);
        }
        let mut padded = [0; GROUP];
        padded[..last.len()].copy_from_slice(last);
        self.places(&padded)
            .into_iter()
            .take(last.len())
            .for_each(with);
    }

    /// The places of a group of values, all searched for at the same time: while one waits for a number, the processor
    /// works on the others.
    #[inline]
    fn places(&self, values: &[u64; GROUP]) -> [usize; GROUP] {
        let (mut places, mut step) = ([0; GROUP], self.padded.len() / 2);
        while step > 0 {
            for (at, value) in places.iter_mut().zip(values) {
                let next = *at + step;
                // No branch depends on the numbers: none could be foretold.
                *at = select_unpredictable(self.padded[next] <= *value, next, *at);
            }
            step /= 2;
        }
        places.map(|place| place.min(self.last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn places_are_those_of_the_last_numbers_not_above() {
        for n in [1, 2, 3, 8, 9, 100] {
            let numbers: Vec<u64> = (0..n).map(|i| 10 + 7 * i).collect();
            for numbers in [numbers.clone(), [numbers, vec![u64::MAX]].concat()] {
                let values: Vec<u64> = (0..900).chain([u64::MAX - 1, u64::MAX]).collect();
                let mut places = vec![];
                let rising = Rising::of(numbers.clone());
                rising.for_places(&values, |place| places.push(place));
                let below = |value: &u64| numbers.iter().filter(|it| *it <= value).count();
                let expected: Vec<usize> = values.iter().map(|it| below(it).max(1) - 1).collect();
                assert_eq!(places, expected, "{n}");
                assert_eq!(rising.len(), numbers.len());
            }
        }
    }
}
