//! Garbage collection: objects that no ref needs, and that are old enough, are deleted.
//!
//! 1. Refs are listed, and all that they need is marked. If anything of that is missing or damaged, nothing is deleted.
//! 2. All other objects are listed. What is marked must be among them, with its size. Those that are not marked, and
//!    are older than a day by the store's clock, are doomed: younger ones may belong to transactions that are under
//!    way.
//! 3. Refs are listed again. If a new one needs a doomed object, all begins anew.
//! 4. The doomed objects are deleted, commits first, so that a state is there or is not.
//!
//! A ref that appears after 3 needs nothing doomed, since new refs name only what is kept for at least half of the time
//! of keeping ([`Table::check_nameable`]). A crash between any two steps leaves what the next run deletes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tarsia_io::{List, Store, StoreErrorKind, block_on};
use tarsia_table_meta::names::{self, ObjectKind};
use tarsia_table_meta::{FileId, ObjectId};

use crate::drive::all;
use crate::error::{Error, ErrorKind, Result};
use crate::mark::{Marks, mark};
use crate::roots::{
    REFS_PREFIX, RefsListed, Roots, Times, list_refs, reading_time, roots, store_time,
};
use crate::snapshot::Shared;
use crate::table::Table;

/// Age below which an object stays, whether a ref needs it or not.
pub(crate) const SPARED: Duration = Duration::from_secs(24 * 3600);
/// Times that all begins anew.
const ROUNDS_MAX: u32 = 20;
/// Objects that are deleted at the same time.
const DELETES_AT_A_TIME: usize = 64;

/// A garbage collection to be done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gc {
    keep_days: Option<u64>,
    is_dry: bool,
}

impl Gc {
    /// Keeps what branches were at for as long as the table's policy says: 7 days, unless it says otherwise.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps what branches were at during the last days. Fewer than the policy says are refused: others may be naming
    /// such states.
    pub fn keep_days(days: u64) -> Self {
        Self {
            keep_days: Some(days),
            is_dry: false,
        }
    }

    /// Says what would be deleted, and deletes nothing.
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.is_dry = true;
        self
    }
}

/// An object that was deleted, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// Its key.
    pub key: String,
    /// Bytes of it.
    pub bytes: u64,
}

/// Counts of a garbage collection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GcReport {
    /// Days for which states were kept.
    pub keep_days: u64,
    /// Objects that refs need.
    pub needed_objects: u64,
    /// Bytes of these objects.
    pub needed_bytes: u64,
    /// Objects that no ref needs, and that are too young to go.
    pub young_objects: u64,
    /// Bytes of these objects.
    pub young_bytes: u64,
    /// Objects that were deleted, or would be without [`Gc::dry_run`]; commits first.
    pub removed: Vec<Removed>,
    /// Pins whose time was over, which go, too.
    pub ended_pins: u64,
}

impl GcReport {
    /// Bytes of the objects that were deleted.
    pub fn removed_bytes(&self) -> u64 {
        self.removed.iter().map(|it| it.bytes).sum()
    }
}

impl Table {
    /// Deletes the objects that no ref needs.
    ///
    /// Kept are the states of heads, tags and pins, those that branches were at during the time of keeping, and the
    /// changes behind the commit where all these branches meet, so that they can be merged. Whatever is younger than 24
    /// hours stays, too, and whatever is younger than the begin of a transaction with a pin. All other objects
    /// outside of `refs` and `TABLE` go, whatever their names. It needs lists of the store that lag behind nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if something that refs need is missing or damaged, or a ref is not understood: then
    /// nothing is deleted (of files the size is compared, and no byte is read); [`ErrorKind::InvalidInput`] for fewer
    /// days than the policy says; [`ErrorKind::Unsupported`] for a store that does not delete, list, or say the time;
    /// errors of the store.
    pub fn gc(&self, gc: &Gc) -> Result<GcReport> {
        let shared = self.shared();
        check_can(&shared.store)?;
        let now = match gc.is_dry {
            true => reading_time(&shared.store, &list_refs(shared)?),
            false => clock(&shared.store)?,
        };
        let policy = self.policy()?;
        let fewest = self.keep_days_at(&policy, now)?;
        let keep_days = gc.keep_days.unwrap_or(fewest);
        if keep_days < fewest {
            let what = format!(
                "states are kept for {fewest} days by the table's policy, not {keep_days}, and others may be naming \
                 them: change the policy, and collect a day later"
            );
            return Err(Error::invalid(what));
        }
        let times = Times::keeping(now, days(keep_days)).not_before(policy.keep_from);
        let doomed = doomed(shared, times)?;
        let report = GcReport {
            keep_days,
            ..doomed.report
        };
        if !gc.is_dry {
            let keys: Vec<&str> = report.removed.iter().map(|it| it.key.as_str()).collect();
            for keys in keys.chunk_by(|one, other| order(one) == order(other)) {
                sweep(&shared.store, keys, now)?;
            }
            let pins: Vec<String> = doomed.roots.ended_pins.iter().map(names::pin_key).collect();
            let pins: Vec<&str> = pins.iter().map(String::as_str).collect();
            sweep(&shared.store, &pins, now)?;
        }
        Ok(report)
    }
}

pub(crate) fn days(n: u64) -> Duration {
    Duration::from_secs(n.saturating_mul(24 * 3600))
}

/// The time by the store's clock, without which nothing is deleted: by another one what is young might seem old.
fn clock(store: &Arc<dyn Store>) -> Result<SystemTime> {
    store_time(store).map_err(|error| {
        let what = format!(
            "nothing was deleted, since the store's clock cannot be read; where that takes an object that is written \
             for it, it takes a little space and the right to write: {error}"
        );
        Error::new(error.kind(), what)
    })
}

fn check_can(store: &Arc<dyn Store>) -> Result<()> {
    let can = store.capabilities();
    let lacks = match (can.can_list, can.can_delete, can.can_say_time) {
        (true, true, true) => return Ok(()),
        (false, ..) => "it has no lists of objects",
        (_, false, _) => "it cannot delete",
        (.., false) => "it does not say the time",
    };
    let what = format!("nothing is collected in this store: {lacks}");
    Err(Error::new(ErrorKind::Unsupported, what).of_object(&store.url("")))
}

struct Doomed {
    report: GcReport,
    roots: Roots,
}

/// Finds the objects that go.
fn doomed(shared: &Arc<Shared>, times: Times) -> Result<Doomed> {
    let mut listed = list_refs(shared)?;
    for _ in 0..ROUNDS_MAX {
        let (kept, marks) = marked(shared, &listed, times)?;
        let report = unneeded(shared, &marks, spared_since(times.now, kept.first_pin))?;
        let again = list_refs(shared)?;
        if again.keys().eq(listed.keys()) {
            let (n_pins, roots) = (kept.ended_pins.len() as u64, kept);
            let report = GcReport {
                ended_pins: n_pins,
                ..report
            };
            return Ok(Doomed { report, roots });
        }
        let (kept, marks) = marked(shared, &again, times)?;
        let spared = spared_since(times.now, kept.first_pin);
        let keys: HashSet<&str> = report.removed.iter().map(|it| it.key.as_str()).collect();
        let is_doomed = |key: String| keys.contains(key.as_str());
        let files = marks.files.keys().chain(marks.files_of_changes.keys());
        let mut files = files.map(names::data_key);
        let mut objects = marks.objects.iter().map(|(kind, id)| kind.key(id));
        let is_needed = objects.any(is_doomed) || files.any(is_doomed);
        // A new pin spares more than was spared.
        let is_spared = spared < spared_since(times.now, None);
        if !is_needed && !is_spared {
            let report = GcReport {
                ended_pins: kept.ended_pins.len() as u64,
                ..report
            };
            return Ok(Doomed {
                report,
                roots: kept,
            });
        }
        listed = again;
    }
    let what = format!(
        "{ROUNDS_MAX} times somebody gave a name to what was about to be deleted; nothing was deleted"
    );
    Err(Error::conflict(what))
}

/// The time since when objects are too young to go.
fn spared_since(now: SystemTime, first_pin: Option<u64>) -> SystemTime {
    let since = now.checked_sub(SPARED).unwrap_or(UNIX_EPOCH);
    let pin = first_pin.and_then(|pin| UNIX_EPOCH.checked_add(Duration::from_millis(pin)));
    pin.map_or(since, |pin| since.min(pin))
}

fn marked(shared: &Arc<Shared>, listed: &RefsListed, times: Times) -> Result<(Roots, Marks)> {
    let roots = roots(shared, listed, times)?;
    let marks = mark(shared, &roots)?;
    match marks.problems.first() {
        None => Ok((roots, marks)),
        Some(first) => {
            let what = format!(
                "nothing was deleted, since {} objects are missing, damaged or not known, and so is what they need; \
                 the first: {}",
                marks.problems.len(),
                first.what
            );
            Err(Error::corrupt(what).of_object(&first.object))
        }
    }
}

/// Needed objects that a list showed.
#[derive(Default)]
struct Seen {
    objects: HashSet<(ObjectKind, ObjectId)>,
    /// Files, and the bytes of each.
    files: HashMap<FileId, u64>,
}

impl Seen {
    fn note(&mut self, key: &str, bytes: u64) {
        self.objects.extend(names::object_of_key(key));
        let file = names::file_of_key(key);
        self.files.extend(file.map(|file| (file, bytes)));
    }

    /// Refuses to go on if a needed object is missing, or a file has another size than its entry says. Files of
    /// changes alone may be missing.
    fn check(&self, store: &Arc<dyn Store>, marks: &Marks) -> Result<()> {
        let mut suspects: BTreeMap<String, Option<u64>> = BTreeMap::new();
        for (kind, id) in marks.objects.difference(&self.objects) {
            suspects.insert(kind.key(id), None);
        }
        let of_states = marks.files.iter().map(|(file, entry)| (file, entry, true));
        let of_changes = marks.files_of_changes.iter();
        let of_changes = of_changes.map(|(file, entry)| (file, entry, false));
        for (file, entry, is_required) in of_states.chain(of_changes) {
            let is_right = match self.files.get(file) {
                Some(bytes) => *bytes == entry.bytes,
                None => !is_required,
            };
            if !is_right {
                suspects.insert(names::data_key(file), Some(entry.bytes));
            }
        }
        for (key, bytes) in &suspects {
            // A list that lags is no proof.
            let what = match (block_on(store.head(key)), bytes) {
                (Err(error), _) if error.kind() == StoreErrorKind::NotFound => {
                    "it is missing".to_owned()
                }
                (Err(error), _) => return Err(error.into()),
                (Ok(meta), Some(bytes)) if meta.size != *bytes => {
                    format!("it has {} bytes, its entry says {bytes}", meta.size)
                }
                (Ok(_), _) => continue,
            };
            let what = format!("nothing was deleted, since this is needed: {what}");
            return Err(Error::corrupt(what).of_object(key));
        }
        Ok(())
    }
}

/// Lists all objects, and tells the needed, the young and the others apart.
fn unneeded(shared: &Arc<Shared>, marks: &Marks, since: SystemTime) -> Result<GcReport> {
    let mut report = GcReport::default();
    let mut seen = Seen::default();
    let mut next = Some(List::new(""));
    while let Some(list) = next.take() {
        let page = block_on(shared.store.list(list.clone()))?;
        for it in page.objects {
            let is_needed = it.key == names::TABLE_KEY || is_marked(marks, &it.key);
            let is_old = it.meta.last_modified.is_some_and(|time| time < since);
            let bytes = it.meta.size;
            if is_needed {
                seen.note(&it.key, bytes);
            }
            let (n_objects, n_bytes) = match (it.key.starts_with(REFS_PREFIX), is_needed, is_old) {
                (true, ..) => continue,
                (_, true, _) => (&mut report.needed_objects, &mut report.needed_bytes),
                (_, _, false) => (&mut report.young_objects, &mut report.young_bytes),
                (_, _, true) => {
                    let key = it.key;
                    report.removed.push(Removed { key, bytes });
                    continue;
                }
            };
            *n_objects += 1;
            *n_bytes += bytes;
        }
        if page.next.as_ref() == Some(&list) {
            let what = "the store returned the same page of a list twice";
            return Err(Error::new(ErrorKind::Store, what));
        }
        next = page.next;
    }
    seen.check(&shared.store, marks)?;
    report.removed.sort_by_key(|it| order(&it.key));
    Ok(report)
}

/// The order in which objects go: a state is there as a whole, or its commit is not.
fn order(key: &str) -> u8 {
    match names::object_of_key(key) {
        Some((ObjectKind::Commit, _)) => 0,
        Some(_) => 1,
        None => 2,
    }
}

/// Whether a key is one of a marked object.
pub(crate) fn is_marked(marks: &Marks, key: &str) -> bool {
    let is_object = |it: (ObjectKind, ObjectId)| marks.objects.contains(&it);
    let is_file =
        |it: FileId| marks.files.contains_key(&it) || marks.files_of_changes.contains_key(&it);
    names::object_of_key(key).is_some_and(is_object) || names::file_of_key(key).is_some_and(is_file)
}

/// Deletes objects. Objects below `meta` are named by their content: one that somebody wrote again meanwhile is needed
/// by a commit that is about to be made, so its time is looked at once more.
fn sweep(store: &Arc<dyn Store>, keys: &[&str], now: SystemTime) -> Result<()> {
    let since = now.checked_sub(SPARED).unwrap_or(UNIX_EPOCH);
    for keys in keys.chunks(DELETES_AT_A_TIME) {
        let deletes = keys.iter().map(|key| {
            let (store, key) = (store.clone(), (*key).to_owned());
            let delete: std::pin::Pin<Box<dyn Future<Output = _> + Send>> = Box::pin(async move {
                if names::object_of_key(&key).is_some() {
                    let meta = match store.head(&key).await {
                        Ok(meta) => meta,
                        Err(error) if error.kind() == StoreErrorKind::NotFound => {
                            return Ok(());
                        }
                        Err(error) => return Err(error),
                    };
                    if meta.last_modified.is_none_or(|time| time >= since) {
                        return Ok(());
                    }
                }
                store.delete(&key).await
            });
            delete
        });
        for deleted in block_on(all(deletes.collect())) {
            deleted?;
        }
    }
    Ok(())
}

impl Table {
    /// Refuses a state that garbage collection may be about to delete: a new ref names only what a head, a tag or a pin
    /// names, or what a branch was at during the first half of the time of keeping. `state` is its name, for the error.
    pub(crate) fn check_nameable(&self, commit: ObjectId, state: &str) -> Result<()> {
        let shared = self.shared();
        let can = shared.store.capabilities();
        if !can.can_say_time || !can.can_delete {
            return Ok(());
        }
        let is_head = names::check_name(state).is_ok()
            && self.head(state).is_ok_and(|head| head.commit == commit);
        let tag = state.strip_prefix("tag:");
        let is_tag = tag.is_some_and(|tag| names::check_name(tag).is_ok());
        if is_tag || is_head {
            return Ok(());
        }
        let policy = self.policy()?;
        let now = store_time(&shared.store)?;
        let half = days(policy.keep_days) / 2;
        let times = Times::keeping(now, half).not_before(policy.keep_from);
        if roots(shared, &list_refs(shared)?, times)?.has_state(&commit) {
            return Ok(());
        }
        // One that is missing or damaged has an error that says so.
        shared.run(|desk, objects| async move { objects.commit(&desk, commit).await })?;
        let what = format!(
            "`{}` is older than {} hours, and no head, tag or pin names it: garbage collection may be about to delete \
             it, so it gets no new name",
            state.escape_debug(),
            half.as_secs() / 3600
        );
        Err(Error::new(ErrorKind::TooOld, what))
    }
}
