//! The policy of a table: what may be done with its branches, and how long states are kept.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Map;

use crate::error::{Error, Result};
use crate::limits::{KEEP_DAYS, KEEP_DAYS_RANGE};
use crate::names::check_name;
use crate::sealed::{Sealed, check_text, seal};

/// A rule of a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// Nobody commits to it but by merging another branch into it.
    MergeOnly,
    /// A merge into it only sets it to the commit of the other branch, which has all that it has.
    ForwardOnly,
    /// Nobody deletes it, resets it or rebases it.
    NoReset,
}

impl Rule {
    /// All rules.
    pub const ALL: [Self; 3] = [Self::MergeOnly, Self::ForwardOnly, Self::NoReset];

    /// The field of an entry that lists the branches with this rule.
    pub fn name(self) -> &'static str {
        match self {
            Self::MergeOnly => "merge_only",
            Self::ForwardOnly => "forward_only",
            Self::NoReset => "no_reset",
        }
    }
}

/// Entry `n` of a table's policy. The newest one holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Its number, which its key says, too.
    pub n: u64,
    /// Days for which garbage collection keeps the states that a branch was at.
    pub keep_days: u64,
    /// Milliseconds since 1970 in UTC by the store's clock: what branches were at before then may be gone already. It
    /// is set when `keep_days` is raised.
    pub keep_from: u64,
    /// Rules by branch. There need not be a branch of that name yet.
    pub branches: BTreeMap<String, BTreeSet<Rule>>,
    /// For people.
    pub author: String,
    /// Milliseconds since 1970 in UTC by the store's clock.
    pub time: u64,
}

impl Default for Policy {
    /// The policy of a table without entries: no rules.
    fn default() -> Self {
        Self {
            n: 0,
            keep_days: KEEP_DAYS,
            keep_from: 0,
            branches: BTreeMap::new(),
            author: String::new(),
            time: 0,
        }
    }
}

impl Policy {
    /// Whether a branch has a rule.
    pub fn has(&self, branch: &str, rule: Rule) -> bool {
        (self.branches.get(branch)).is_some_and(|rules| rules.contains(&rule))
    }

    /// The entry's bytes.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for names of branches that are refused, texts that are too long, and days outside
    /// [`KEEP_DAYS_RANGE`]; [`Error::LimitExceeded`] for more rules than fit into 16 KiB.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        check_text("an author", &self.author)?;
        if !KEEP_DAYS_RANGE.contains(&self.keep_days) {
            let what = format!(
                "states are kept for {} to {} days",
                KEEP_DAYS_RANGE.start(),
                KEEP_DAYS_RANGE.end()
            );
            return Err(Error::invalid(what));
        }
        let mut fields = Map::new();
        fields.insert("n".to_owned(), self.n.into());
        fields.insert("keep_days".to_owned(), self.keep_days.into());
        fields.insert("keep_from".to_owned(), self.keep_from.into());
        for name in self.branches.keys() {
            check_name(name)?;
        }
        for rule in Rule::ALL {
            let of_rule = self.branches.iter().filter(|(_, it)| it.contains(&rule));
            let names: Vec<&str> = of_rule.map(|(name, _)| name.as_str()).collect();
            fields.insert(rule.name().to_owned(), names.into());
        }
        fields.insert("author".to_owned(), self.author.as_str().into());
        fields.insert("time".to_owned(), self.time.into());
        seal(fields)
    }

    /// Reads entry `n`.
    ///
    /// # Errors
    /// [`Error::Corrupt`], also for an entry of another number.
    pub fn parse(bytes: &[u8], n: u64) -> Result<Self> {
        let sealed = Sealed::parse("policy", bytes)?;
        let found = sealed.number("n")?;
        if found != n {
            let what = format!("number {found} under the key of number {n}");
            return Err(Error::corrupt("policy", what));
        }
        let keep_days = sealed.number("keep_days")?;
        if !KEEP_DAYS_RANGE.contains(&keep_days) {
            return Err(sealed.corrupt("keep_days", "number of days"));
        }
        let mut branches: BTreeMap<String, BTreeSet<Rule>> = BTreeMap::new();
        for rule in Rule::ALL {
            for name in sealed.texts(rule.name())? {
                check_name(&name).map_err(|_| sealed.corrupt(rule.name(), "list of branches"))?;
                branches.entry(name).or_default().insert(rule);
            }
        }
        Ok(Self {
            n,
            keep_days,
            keep_from: sealed.number("keep_from")?,
            branches,
            author: sealed.text("author")?.to_owned(),
            time: sealed.number("time")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_read_back() {
        let mut policy = Policy {
            n: 4,
            keep_days: 30,
            keep_from: 5,
            author: "ada".to_owned(),
            time: 9,
            ..Policy::default()
        };
        let rules = BTreeSet::from([Rule::MergeOnly, Rule::NoReset]);
        policy.branches.insert("main".to_owned(), rules);
        let bytes = policy.to_bytes().unwrap();
        assert_eq!(Policy::parse(&bytes, 4), Ok(policy.clone()));
        assert!(policy.has("main", Rule::NoReset) && !policy.has("main", Rule::ForwardOnly));
        assert!(!policy.has("exp", Rule::NoReset));
        assert!(Policy::parse(&bytes, 5).is_err());
        for keep_days in [0, 40_000] {
            policy.keep_days = keep_days;
            assert!(policy.to_bytes().is_err());
        }
        policy.keep_days = 1;
        policy.branches.insert("a..b".to_owned(), BTreeSet::new());
        assert!(policy.to_bytes().is_err());
    }
}
