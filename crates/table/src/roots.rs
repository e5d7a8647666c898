//! Roots: the commits that a table keeps, and which ref keeps each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tarsia_io::{List, Store, block_on};
use tarsia_table_meta::names::{self, HEADS_PREFIX, PINS_PREFIX, POLICY_PREFIX, TAGS_PREFIX};
use tarsia_table_meta::{ObjectId, RefEntry, TxnId};

use crate::error::{Error, ErrorKind, Result};
use crate::finding::Finding;
use crate::refs::{self, MAIN};
use crate::snapshot::Shared;
use crate::spec::random;

/// Clocks of writers differ from the store's by less.
const CLOCKS_DIFFER: Duration = Duration::from_secs(24 * 3600);

/// Describes a gap in the numbers of ref entries.
pub(crate) const MISSING_ENTRY: &str =
    "the ref entry is missing, but it was there, or later ones are";
/// Describes a gap in the policy.
pub(crate) const MISSING_POLICY: &str = "the entry is missing, but later ones are there";

/// The keys of refs begin so.
pub(crate) const REFS_PREFIX: &str = "refs/";

/// Keys below `refs`, and the time of each by the store's clock.
pub(crate) type RefsListed = BTreeMap<String, Option<SystemTime>>;

/// Lists whatever is below `refs`.
pub(crate) fn list_refs(shared: &Shared) -> Result<RefsListed> {
    let listed = shared.run(|desk, _| async move {
        let list = List::new(REFS_PREFIX);
        refs::list_all(&desk, list).await
    });
    let objects = listed?.0.into_iter();
    Ok(objects.map(|it| (it.key, it.meta.last_modified)).collect())
}

/// The time by the store's clock.
pub(crate) fn store_time(store: &Arc<dyn Store>) -> Result<SystemTime> {
    let probe = format!("probe/{}", TxnId(random()?));
    Ok(block_on(store.now(&probe))?)
}

/// A time near that of the store's clock, for those who write nothing: its own if it is known without a request, else
/// this machine's, but not before the newest ref.
pub(crate) fn reading_time(store: &Arc<dyn Store>, listed: &RefsListed) -> SystemTime {
    let newest = listed.values().flatten().max().copied();
    let here = || SystemTime::now().max(newest.unwrap_or(UNIX_EPOCH));
    store.known_time().unwrap_or_else(here)
}

/// Milliseconds since 1970.
pub(crate) fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A commit that a ref keeps, and the key of the ref.
#[derive(Debug, Clone)]
pub(crate) struct Root {
    pub(crate) commit: ObjectId,
    pub(crate) named_by: String,
    /// Whether the commit must be there. In a copy of a table ref entries are younger than they were.
    pub(crate) is_required: bool,
}

/// The commits that the refs of a table keep.
#[derive(Debug, Default)]
pub(crate) struct Roots {
    /// Commits of which the whole state is kept.
    pub(crate) states: Vec<Root>,
    /// Commits of branches: those behind the one where they all meet are kept, too.
    pub(crate) branches: Vec<Root>,
    /// The earliest begin of a transaction with a pin: nothing that is younger goes.
    pub(crate) first_pin: Option<u64>,
    /// Pins whose time is over.
    pub(crate) ended_pins: Vec<TxnId>,
    /// Refs that cannot be read, or that this build does not know.
    pub(crate) problems: Vec<Finding>,
}

/// Times that decide which refs keep their commits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) now: SystemTime,
    /// Ref entries that were made since then keep their commits.
    pub(crate) since: SystemTime,
}

impl Times {
    /// The times of a keeping that ends now.
    pub(crate) fn keeping(now: SystemTime, keep: Duration) -> Self {
        let since = now.checked_sub(keep).unwrap_or(UNIX_EPOCH);
        Self { now, since }
    }

    /// With a time before which states may be gone already, in milliseconds since 1970.
    pub(crate) fn not_before(mut self, from: u64) -> Self {
        let from = UNIX_EPOCH.checked_add(Duration::from_millis(from));
        self.since = self.since.max(from.unwrap_or(self.now).min(self.now));
        self
    }
}

/// Finds the roots among listed refs: heads, tags, pins that hold, and what branches were at since a time.
pub(crate) fn roots(shared: &Shared, listed: &RefsListed, times: Times) -> Result<Roots> {
    let mut roots = Roots::default();
    let mut branches: BTreeMap<String, BTreeMap<u64, Option<SystemTime>>> = BTreeMap::new();
    for (key, time) in listed {
        if let Some((branch, n)) = names::ref_of_key(key) {
            branches.entry(branch).or_default().insert(n, *time);
        } else if let Some(tag) = names::tag_of_key(key) {
            roots.tag(shared, key, tag)?;
        } else if let Some(id) = names::pin_of_key(key) {
            roots.pin(shared, key, id, times.now)?;
        } else if names::policy_of_key(key).is_none() {
            roots.find(key, unknown_ref(key));
        }
    }
    let policy: BTreeSet<u64> = listed
        .keys()
        .filter_map(|it| names::policy_of_key(it))
        .collect();
    let keys = gaps(policy.into_iter()).map(names::policy_key);
    roots.missing(shared, keys.collect(), MISSING_POLICY)?;
    if !branches.contains_key(MAIN) {
        roots.check_main(shared)?;
    }
    for (branch, numbers) in branches {
        let keys = gaps(numbers.keys().copied()).map(|n| names::ref_key(&branch, n));
        let keys = keys.collect::<Result<_, _>>()?;
        roots.missing(shared, keys, MISSING_ENTRY)?;
        roots.branch(shared, &branch, &numbers, times)?;
    }
    Ok(roots)
}

/// The first number of each gap in numbers that begin at 0 and rise.
fn gaps(numbers: impl Iterator<Item = u64>) -> impl Iterator<Item = u64> {
    let mut next = 0;
    numbers.filter_map(move |n| {
        let expected = std::mem::replace(&mut next, n.saturating_add(1));
        (n != expected).then_some(expected)
    })
}

/// Describes a key below `refs` that no ref has.
pub(crate) fn unknown_ref(key: &str) -> &'static str {
    let kinds = [HEADS_PREFIX, TAGS_PREFIX, PINS_PREFIX, POLICY_PREFIX];
    match kinds.iter().any(|prefix| key.starts_with(prefix)) {
        true => "no ref has such a name: somebody else put it there",
        false => "this build does not know this kind of refs",
    }
}

impl Roots {
    fn find(&mut self, key: &str, what: impl Into<String>) {
        self.problems.push(Finding {
            object: key.to_owned(),
            what: what.into(),
        });
    }

    /// Finds refs that are missing. A list may not have shown one that was made meanwhile.
    fn missing(&mut self, shared: &Shared, keys: Vec<String>, what: &str) -> Result<()> {
        for key in keys {
            let asked = key.clone();
            let found = shared.run(|desk, _| async move { refs::get_json(&desk, asked).await });
            if found?.is_none() {
                self.find(&key, what);
            }
        }
        Ok(())
    }

    /// Finds that `main` was lost: ref entries stay for ever, so a table without it was lost, or is not finished.
    fn check_main(&mut self, shared: &Shared) -> Result<()> {
        let first = names::ref_key(MAIN, 0)?;
        let asked = first.clone();
        let found = shared.run(|desk, _| async move { refs::get_json(&desk, asked).await });
        if found?.is_some() {
            return Ok(());
        }
        for prefix in ["meta/", "data/"] {
            let page = block_on(shared.store.list(List::new(prefix).page_max(1)))?;
            if let Some(other) = page.objects.first() {
                let what = format!(
                    "branch `{MAIN}` has no ref entry, but there are objects such as `{}`: refs were lost, or a copy \
                     or the making of the table was interrupted, and is to be repeated",
                    other.key
                );
                self.find(&first, what);
                return Ok(());
            }
        }
        Ok(())
    }

    fn keep(&mut self, key: &str, commit: ObjectId) {
        self.states.push(Root {
            commit,
            named_by: key.to_owned(),
            is_required: true,
        });
    }

    fn tag(&mut self, shared: &Shared, key: &str, tag: String) -> Result<()> {
        let found = shared.run(|desk, _| async move { refs::tag(&desk, &tag).await });
        match found {
            Ok(Some(tag)) => self.keep(key, tag.commit),
            Ok(None) => self.find(key, "it is listed, and is not there"),
            Err(error) if is_of_store(&error) => return Err(error),
            Err(error) => self.find(key, error.to_string()),
        }
        Ok(())
    }

    fn pin(&mut self, shared: &Shared, key: &str, id: TxnId, now: SystemTime) -> Result<()> {
        let found = shared.run(|desk, _| async move { refs::pin(&desk, &id).await });
        match found {
            Ok(Some(pin)) if pin.end > millis(now) => {
                self.keep(key, pin.commit);
                self.first_pin = [self.first_pin, pin.since].into_iter().flatten().min();
            }
            Ok(Some(_)) => self.ended_pins.push(id),
            // It was removed meanwhile.
            Ok(None) => {}
            Err(error) if is_of_store(&error) => return Err(error),
            Err(error) => self.find(key, error.to_string()),
        }
        Ok(())
    }

    /// A branch keeps its head, what it was at since a time, and what it was at then.
    fn branch(
        &mut self,
        shared: &Shared,
        branch: &str,
        numbers: &BTreeMap<u64, Option<SystemTime>>,
        times: Times,
    ) -> Result<()> {
        let is_young = |time: &Option<SystemTime>| time.is_none_or(|time| time >= times.since);
        // Entries are written in their order, but one that is damaged may be younger than later ones.
        let young = numbers.iter().filter(|(_, time)| is_young(time));
        let before = numbers.iter().rev().find(|(_, time)| !is_young(time));
        let wanted: BTreeSet<u64> = young.chain(before).map(|(n, _)| *n).collect();
        let newest = wanted.last().copied();
        let certainly = millis(times.since + CLOCKS_DIFFER);
        let wanted: Vec<u64> = wanted.into_iter().collect();
        let (name, asked) = (branch.to_owned(), wanted.clone());
        let found =
            shared.run(|desk, _| async move { refs::entries(&desk, &name, &asked).await })?;
        for (entry, n) in found.into_iter().zip(wanted) {
            let key = names::ref_key(branch, n)?;
            let entry: RefEntry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.find(&key, error.to_string());
                    continue;
                }
            };
            // What a branch was at when it was deleted long ago may be gone.
            if !entry.is_live() && !numbers.get(&n).is_some_and(is_young) {
                continue;
            }
            let root = Root {
                commit: entry.commit,
                named_by: key,
                is_required: Some(n) == newest || entry.time >= certainly,
            };
            self.states.push(root.clone());
            self.branches.push(root);
        }
        Ok(())
    }

    /// Whether the whole state of a commit is kept.
    pub(crate) fn has_state(&self, commit: &ObjectId) -> bool {
        self.states.iter().any(|root| root.commit == *commit)
    }
}

/// Whether an error says nothing about an object but that it could not be read now.
pub(crate) fn is_of_store(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Store | ErrorKind::Unsupported)
}
