//! Leases: the writing of pins, and the age of transactions.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tarsia_table_meta::{ObjectId, Pin, TxnId, names};

use crate::error::{Error, ErrorKind, Result};
use crate::objects::unexpected;
use crate::refs;
use crate::roots::{millis, store_time};
use crate::snapshot::Shared;
use crate::spec::{CommitInfo, random};
use crate::steps::{Answer, Need};

/// Age above which a transaction needs a pin: garbage collection spares what is younger than a day, and half of that is
/// left for clocks and for the commit.
pub(crate) const TRANSACTION_AGE_MAX: Duration = Duration::from_secs(12 * 3600);
/// Clocks do not go faster or slower than each other by more, over a transaction.
const CLOCKS_DIFFER: Duration = Duration::from_secs(3600);
/// Longest time in days for which a pin keeps a state.
pub const PIN_DAYS_MAX: u64 = 400;
const LEASE_MAX: Duration = Duration::from_secs(PIN_DAYS_MAX * 24 * 3600);

/// Writes a pin of a commit, which spares objects of a transaction of some age. Returns its id and its end by this
/// process' clock.
pub(crate) fn pin(
    shared: &Arc<Shared>,
    commit: ObjectId,
    lease: Duration,
    age: Option<Duration>,
    info: &CommitInfo,
) -> Result<(TxnId, Instant)> {
    if lease < Duration::from_millis(1) || lease > LEASE_MAX {
        let what = format!("a pin holds for at most {PIN_DAYS_MAX} days");
        return Err(Error::invalid(what));
    }
    // The clock is read first, so that the lease ends here before it ends in the store.
    let end = Instant::now() + lease;
    let id = TxnId(random()?);
    let time = millis(store_time(&shared.store)?);
    let pin = Pin {
        commit,
        time,
        end: time.saturating_add(in_millis(lease)),
        since: age.map(|age| time.saturating_sub(in_millis(age))),
        message: info.message.clone(),
        author: info.author.clone(),
    };
    let key = names::pin_key(&id);
    let need = Need::PutIfAbsent {
        key: key.clone(),
        bytes: Arc::new(pin.to_bytes(&id)?),
    };
    shared.run(|desk, _| async move {
        let answer = desk.ask_one(need).await;
        // The pin that is there may be mine.
        match (answer, refs::pin(&desk, &id).await?) {
            (Answer::Done, _) => Ok((id, end)),
            (_, Some(found)) if found == pin => Ok((id, end)),
            (answer, _) => Err(unexpected(answer).of_object(&key)),
        }
    })
}

fn in_millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// When a transaction began, and how long its pin holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Age {
    begun: Instant,
    /// Time may pass while the machine sleeps, which the other clock does not see.
    begun_at: SystemTime,
    pinned_until: Option<Instant>,
}

impl Age {
    pub(crate) fn begin() -> Self {
        Self {
            begun: Instant::now(),
            begun_at: SystemTime::now(),
            pinned_until: None,
        }
    }

    /// Pins the commit that the transaction began with, and whatever was written since then.
    pub(crate) fn pin(
        &mut self,
        shared: &Arc<Shared>,
        commit: ObjectId,
        lease: Duration,
        info: &CommitInfo,
    ) -> Result<TxnId> {
        self.check()?;
        let age = self.elapsed() + CLOCKS_DIFFER;
        let (id, end) = pin(shared, commit, lease, Some(age), info)?;
        self.pinned_until = Some(end);
        Ok(id)
    }

    /// Refuses a transaction whose files may have been collected.
    pub(crate) fn check(&self) -> Result<()> {
        self.check_at(Instant::now(), self.elapsed())
    }

    fn elapsed(&self) -> Duration {
        let asleep = self.begun_at.elapsed().unwrap_or_default();
        self.begun.elapsed().max(asleep)
    }

    fn check_at(&self, now: Instant, age: Duration) -> Result<()> {
        if age <= TRANSACTION_AGE_MAX || self.pinned_until.is_some_and(|end| now < end) {
            return Ok(());
        }
        let what = format!(
            "the transaction began {} hours ago without a pin, or its pin is over, so its files may have been collected: \
             begin again",
            age.as_secs() / 3600
        );
        Err(Error::new(ErrorKind::TooOld, what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_transactions_need_a_pin_that_holds() {
        let hours = |n: u64| Duration::from_secs(n * 3600);
        let mut age = Age::begin();
        let now = Instant::now();
        age.check().unwrap();
        age.check_at(now, hours(12)).unwrap();
        let error = age.check_at(now, hours(13)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooOld);
        age.pinned_until = Some(now + hours(1));
        age.check_at(now, hours(13)).unwrap();
        let later = now + hours(1);
        assert!(age.check_at(later, hours(14)).is_err());
        // The machine was asleep.
        age = Age {
            begun_at: SystemTime::now() - hours(13),
            ..Age::begin()
        };
        assert!(age.check().is_err());
    }
}
