//! Time that conjuncts of filters take, and how many rows they reject. Scans of a file learn it from each other: an
//! engine may read a file in many short scans, each of which would begin with the slowest conjunct otherwise.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Conjuncts that are remembered. Then all are forgotten: conditions that change while a query runs come and go.
const CONJUNCTS_MAX: usize = 256;

/// Conjuncts whose text is longer are not remembered.
const TEXT_BYTES_MAX: usize = 4 << 10;

/// Time and rows of a conjunct, by all threads.
#[derive(Debug, Default)]
pub(super) struct Cost {
    rows: AtomicU64,
    passed: AtomicU64,
    nanos: AtomicU64,
}

/// Costs of a conjunct.
#[derive(Debug, Default)]
pub(super) struct ConjunctCosts {
    /// In either way.
    pub(super) all: Cost,
    /// Cost of the answers of decoders.
    pub(super) answered: Cost,
    /// Cost of decoding the column and comparing its values.
    pub(super) decoded: Cost,
}

/// Costs of the conjuncts that scans of a file have evaluated, by their texts.
#[derive(Debug, Default)]
pub(super) struct Costs {
    known: Mutex<HashMap<String, Arc<ConjunctCosts>>>,
}

impl Cost {
    pub(super) fn add(&self, n_rows: u64, n_passed: u64, time: Duration) {
        self.rows.fetch_add(n_rows, Ordering::Relaxed);
        self.passed.fetch_add(n_passed, Ordering::Relaxed);
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    /// Nanoseconds of a row. `None` before it was evaluated for one.
    pub(super) fn nanos_per_row(&self) -> Option<f64> {
        let rows = self.rows.load(Ordering::Relaxed);
        (rows > 0).then(|| self.nanos.load(Ordering::Relaxed) as f64 / rows as f64)
    }

    /// Nanoseconds of a row that it rejects. `None` before it was evaluated for a row.
    pub(super) fn nanos_per_rejected_row(&self) -> Option<f64> {
        let [rows, passed, nanos] =
            [&self.rows, &self.passed, &self.nanos].map(|it| it.load(Ordering::Relaxed) as f64);
        (rows > 0.0).then(|| nanos / (rows - passed).max(0.5))
    }
}

impl Costs {
    /// The costs of the conjunct of this text.
    pub(super) fn of(&self, conjunct: String) -> Arc<ConjunctCosts> {
        if conjunct.len() > TEXT_BYTES_MAX {
            return Arc::default();
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= CONJUNCTS_MAX && !known.contains_key(&conjunct) {
            known.clear();
        }
        Arc::clone(known.entry(conjunct).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scans_share_what_they_learn() {
        let costs = Costs::default();
        let first = costs.of("a < 1".to_owned());
        assert_eq!(first.all.nanos_per_row(), None);
        assert_eq!(first.all.nanos_per_rejected_row(), None);
        first.all.add(100, 75, Duration::from_nanos(500));
        let again = costs.of("a < 1".to_owned());
        assert_eq!(again.all.nanos_per_row(), Some(5.0));
        assert_eq!(again.all.nanos_per_rejected_row(), Some(20.0));
        assert_eq!(costs.of("a < 2".to_owned()).all.nanos_per_row(), None);
        let long = "a".repeat(TEXT_BYTES_MAX + 1);
        costs
            .of(long.clone())
            .all
            .add(1, 0, Duration::from_nanos(1));
        assert_eq!(costs.of(long).all.nanos_per_row(), None);
        for i in 0..CONJUNCTS_MAX {
            costs.of(format!("b = {i}"));
        }
        assert!(costs.known.lock().unwrap().len() <= CONJUNCTS_MAX);
    }
}
