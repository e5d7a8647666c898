//! The policy of a table: rules of branches, and how long states are kept.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::SystemTime;

use tarsia_table_meta::{Policy, Rule, names};

use crate::error::{Error, Result};
use crate::gc::{SPARED, days};
use crate::objects::unexpected;
use crate::refs;
use crate::roots::{millis, store_time};
use crate::rules::forbidden;
use crate::spec::CommitInfo;
use crate::steps::{Answer, Need};
use crate::table::{Table, check_writable};

/// Times that others may be faster.
const TRIES_MAX: u32 = 20;

impl Table {
    /// The policy that holds now.
    ///
    /// # Errors
    /// Errors of the store, [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt).
    pub fn policy(&self) -> Result<Policy> {
        let found = self
            .shared()
            .run(|desk, _| async move { refs::policy(&desk).await });
        Ok(found?.unwrap_or_default())
    }

    /// Sets the rules of a branch. No rules: everybody may do everything. There need not be a branch of that name.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a name that is refused;
    /// [`ErrorKind::LimitExceeded`](crate::ErrorKind::LimitExceeded) for too many rules; errors of the store.
    pub fn protect(
        &self,
        branch: &str,
        rules: impl IntoIterator<Item = Rule>,
        info: &CommitInfo,
    ) -> Result<Policy> {
        names::check_name(branch)?;
        let rules: BTreeSet<Rule> = rules.into_iter().collect();
        self.change_policy(info, |policy, _| match rules.is_empty() {
            true => drop(policy.branches.remove(branch)),
            false => drop(policy.branches.insert(branch.to_owned(), rules.clone())),
        })
    }

    /// Sets for how many days garbage collection keeps what branches were at. Fewer days hold a day later.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for days outside 1 to 36,500; errors of the store.
    pub fn keep_states(&self, keep_days: u64, info: &CommitInfo) -> Result<Policy> {
        self.change_policy(info, |policy, now| {
            if keep_days > policy.keep_days {
                let since = now.checked_sub(days(policy.keep_days));
                policy.keep_from = policy.keep_from.max(since.map_or(0, millis));
            }
            policy.keep_days = keep_days;
        })
    }

    /// Writes the next entry of the policy.
    fn change_policy(
        &self,
        info: &CommitInfo,
        change: impl Fn(&mut Policy, SystemTime),
    ) -> Result<Policy> {
        check_writable(self.store())?;
        for _ in 0..TRIES_MAX {
            let now = store_time(self.store())?;
            let found = self
                .shared()
                .run(|desk, _| async move { refs::policy(&desk).await })?;
            let mut next = found.clone().unwrap_or_default();
            next.n = found.map_or(0, |it| it.n.saturating_add(1));
            next.author.clone_from(&info.author);
            next.time = millis(now);
            change(&mut next, now);
            let need = Need::PutIfAbsent {
                key: names::policy_key(next.n),
                bytes: Arc::new(next.to_bytes()?),
            };
            let n = next.n;
            let (answer, there) = self.shared().run(|desk, _| async move {
                let answer = desk.ask_one(need).await;
                Ok::<_, Error>((answer, refs::policy_entry(&desk, n).await?))
            })?;
            match (answer, there) {
                (Answer::Done, _) => return Ok(next),
                (_, Some(there)) if there == next => return Ok(next),
                (Answer::Exists, _) | (_, Some(_)) => {}
                (answer, None) => return Err(unexpected(answer)),
            }
        }
        let what = format!("others changed the policy {TRIES_MAX} times meanwhile");
        Err(Error::conflict(what))
    }

    /// Days for which states are kept at a time: an older policy holds for a day after it was changed, since others may
    /// go by it.
    pub(crate) fn keep_days_at(&self, policy: &Policy, now: SystemTime) -> Result<u64> {
        let spared = u64::try_from(SPARED.as_millis()).unwrap_or(u64::MAX);
        let is_young = |policy: &Policy| millis(now).saturating_sub(policy.time) < spared;
        let mut at = policy.clone();
        let mut keep_days = at.keep_days;
        while is_young(&at) {
            at = match at.n.checked_sub(1) {
                None => Policy::default(),
                Some(n) => {
                    let found = self
                        .shared()
                        .run(|desk, _| async move { refs::policy_entry(&desk, n).await })?;
                    let missing = || {
                        let what = "the entry is missing, but later ones are there";
                        Error::corrupt(what).of_object(&names::policy_key(n))
                    };
                    found.ok_or_else(missing)?
                }
            };
            keep_days = keep_days.max(at.keep_days);
        }
        Ok(keep_days)
    }

    /// Refuses what a rule of a branch forbids.
    pub(crate) fn check_rule(&self, branch: &str, rule: Rule) -> Result<()> {
        match self.policy()?.has(branch, rule) {
            false => Ok(()),
            true => Err(forbidden(branch, rule)),
        }
    }
}
