//! Ranges of the metadata that a thread is reading. Others that need them wait for it instead of reading them, too.

use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// Longest time that a thread waits for another one, before it reads what it needs itself.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// Ranges of a file that are being read.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    claimed: Mutex<Vec<Claimed>>,
    ended: Condvar,
}

#[derive(Debug, PartialEq, Eq)]
struct Claimed {
    by: ThreadId,
    range: Range<u64>,
}

/// Needs of a wave.
#[derive(Debug)]
pub(super) struct Shares {
    /// Needs that nobody reads.
    pub(super) own: Vec<Range<u64>>,
    /// Needs that other threads read.
    pub(super) of_others: Vec<Range<u64>>,
    /// Keeps others from reading the metadata among `own`.
    pub(super) claim: Claim,
}

/// Ranges that a thread reads. They are free when it is dropped: when what was read is kept, or reading has failed.
#[derive(Debug)]
pub(super) struct Claim {
    in_flight: Arc<InFlight>,
    by: ThreadId,
    ranges: Vec<Range<u64>>,
}

impl InFlight {
    fn lock(&self) -> MutexGuard<'_, Vec<Claimed>> {
        // Entries are pushed and removed whole.
        self.claimed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Divides needs into those that others read and those that they do not. Of the latter, those that are metadata
    /// (`of_metadata`) are claimed.
    pub(super) fn divide(
        self: &Arc<Self>,
        needs: Vec<Range<u64>>,
        of_metadata: &[Range<u64>],
    ) -> Shares {
        let by = thread::current().id();
        let mut claimed = self.lock();
        let is_read = |range: &Range<u64>| claimed.iter().any(|it| it.is_of_another(by, range));
        let (of_others, own) = needs.into_iter().partition(is_read);
        let ranges: Vec<_> = of_metadata
            .iter()
            .filter(|it| !is_read(it))
            .cloned()
            .collect();
        let claims = ranges.iter().cloned().map(|range| Claimed { by, range });
        claimed.extend(claims);
        Shares {
            own,
            of_others,
            claim: Claim {
                in_flight: Arc::clone(self),
                by,
                ranges,
            },
        }
    }

    /// Waits until no other thread reads one of these ranges.
    pub(super) fn wait(&self, ranges: &[Range<u64>]) {
        let by = thread::current().id();
        let start = Instant::now();
        let mut claimed = self.lock();
        let is_read = |claimed: &[Claimed]| {
            let mut claimed = claimed.iter();
            claimed.any(|it| ranges.iter().any(|range| it.is_of_another(by, range)))
        };
        while is_read(&claimed)
            && let Some(left) = WAIT_MAX.checked_sub(start.elapsed())
        {
            let waited = self.ended.wait_timeout(claimed, left);
            claimed = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Claimed {
    /// Whether a thread other than `by` reads this range.
    fn is_of_another(&self, by: ThreadId, range: &Range<u64>) -> bool {
        self.by != by && self.range.start <= range.start && range.end <= self.range.end
    }
}

impl Claim {
    /// The ranges.
    pub(super) fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut claimed = self.in_flight.lock();
        for range in &self.ranges {
            let of_it = |it: &Claimed| it.by == self.by && it.range == *range;
            if let Some(at) = claimed.iter().position(of_it) {
                claimed.swap_remove(at);
            }
        }
        drop(claimed);
        self.in_flight.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(range: Range<u64>) -> Vec<Range<u64>> {
        std::iter::once(range).collect()
    }

    #[test]
    fn a_range_is_read_by_one_thread() {
        let in_flight = Arc::<InFlight>::default();
        let first = in_flight.divide(vec![0..10, 20..30], &one(0..10));
        assert_eq!(first.own, [0..10, 20..30]);
        // The thread that reads may need them again, inside of a step.
        let again = in_flight.divide(one(2..8), &one(2..8));
        assert_eq!(again.own, one(2..8));
        drop(again);
        thread::scope(|scope| {
            let other = scope.spawn(|| {
                let other = in_flight.divide(vec![2..8, 5..12, 20..30], &one(2..8));
                // What is no metadata was not claimed, and what is read in part is read again.
                assert_eq!(other.own, [5..12, 20..30]);
                assert_eq!(other.of_others, one(2..8));
                in_flight.wait(&other.of_others);
            });
            thread::sleep(Duration::from_millis(20));
            assert!(!other.is_finished());
            drop(first);
            other.join().unwrap();
        });
        assert!(in_flight.lock().is_empty());
    }
}
