//! Copies between stores: what the refs of a table keep, and then the refs.
//!
//! Objects are written before what refers to them: files, manifests and schemas, commits, tags, and the ref entries of
//! each branch in their order. So a copy that was interrupted is a table of an older state, or none yet, and the next
//! one goes on. Each object is checked before it is written.

use std::collections::{BTreeMap, HashMap};
use std::pin::Pin;
use std::sync::Arc;

use tarsia::{File, OpenOptions};
use tarsia_io::{Get, GetRange, List, PutIfAbsent, Store, StoreError, StoreErrorKind, block_on};
use tarsia_table_meta::names::{self, ObjectKind};
use tarsia_table_meta::{Entry, ObjectId, TableRoot, limits};

use crate::drive::all;
use crate::error::{Error, ErrorKind, Result};
use crate::gc::days;
use crate::mark::{Marks, mark};
use crate::place::{check_apart, check_place};
use crate::roots::{RefsListed, Times, list_refs, reading_time, roots};
use crate::table::{Table, check_writable};

/// Objects that are copied at the same time, and their bytes.
const OBJECTS_AT_A_TIME: usize = 64;
const BYTES_AT_A_TIME: u64 = 256 << 20;
/// Largest object below `meta` in bytes.
const META_BYTES_MAX: u64 = 512 << 20;

/// Counts of a copy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CopyReport {
    /// Objects that were written, refs not counted.
    pub objects: u64,
    /// Bytes of these objects.
    pub bytes: u64,
    /// Objects that were there before.
    pub objects_there: u64,
    /// Ref entries, tags and entries of the policy that were written.
    pub refs: u64,
}

/// An object to be copied.
struct Item {
    key: String,
    bytes: u64,
    /// Whether it may be missing, and is not copied then.
    is_optional: bool,
    check: Check,
}

/// The reference that its bytes are compared with.
enum Check {
    Digest(ObjectId),
    File(Box<Entry>),
}

impl Table {
    /// Copies to another store what refs keep from garbage collection, and the refs but pins. What is there is not
    /// copied again. The copy has the table's id, and may be copied to again while nobody else writes to it. Nothing is
    /// written to this table's store.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`], with their names, if the copy has refs that the table does not have so;
    /// [`ErrorKind::Exists`] if there is another table; [`ErrorKind::Corrupt`] for an object that is damaged or
    /// missing, which is not copied; [`ErrorKind::InvalidInput`] for the table itself, for a place inside of a table,
    /// whose garbage collection would delete the copy, and for one that the table lies in;
    /// [`ErrorKind::Unsupported`] for a store that cannot create an object only if it is absent, or has no lists;
    /// errors of both stores.
    pub fn copy_to(&self, to: &Arc<dyn Store>) -> Result<CopyReport> {
        self.copy(to, false)
    }

    /// Says what [`Table::copy_to`] would do, and writes nothing.
    ///
    /// # Errors
    /// As [`Table::copy_to`].
    pub fn copy_plan(&self, to: &Arc<dyn Store>) -> Result<CopyReport> {
        self.copy(to, true)
    }

    fn copy(&self, to: &Arc<dyn Store>, is_dry: bool) -> Result<CopyReport> {
        check_writable(to)?;
        let shared = self.shared();
        let from = &shared.store;
        check_place(to)?;
        check_apart(from, to)?;
        let is_new = self.check_copy(to)?;
        // What the refs of this list need is copied, and no ref that appears later.
        let listed = list_refs(shared)?;
        let policy = self.policy()?;
        let times = Times::keeping(reading_time(from, &listed), days(policy.keep_days));
        let roots = roots(shared, &listed, times.not_before(policy.keep_from))?;
        let marks = mark(shared, &roots)?;
        if let Some(first) = marks.problems.first() {
            let what = format!("nothing was copied: {}", first.what);
            return Err(Error::corrupt(what).of_object(&first.object));
        }
        let missing_refs = missing_refs(from, to, &listed)?;
        let items = items(&marks, to)?;
        let mut report = CopyReport {
            objects: items.iter().map(|wave| wave.len() as u64).sum(),
            bytes: items.iter().flatten().map(|it| it.bytes).sum(),
            objects_there: 0,
            refs: missing_refs.len() as u64,
        };
        let n_files = marks.files.len() + marks.files_of_changes.len();
        let n_objects = (marks.objects.len() + n_files) as u64;
        report.objects_there = n_objects.saturating_sub(report.objects);
        if is_dry {
            return Ok(report);
        }
        if is_new {
            let root = self.root().to_bytes()?;
            create(to, names::TABLE_KEY, root)?;
        }
        for wave in &items {
            copy_items(from, to, wave)?;
        }
        for keys in missing_refs.chunks(OBJECTS_AT_A_TIME) {
            let found = read_all(from, keys, limits::JSON_BYTES_MAX as u64)?;
            for (key, bytes) in keys.iter().zip(found) {
                create(to, key, bytes.ok_or_else(|| gone(key))?)?;
            }
        }
        Ok(report)
    }

    /// Whether the place of a copy has no table yet.
    fn check_copy(&self, to: &Arc<dyn Store>) -> Result<bool> {
        let limit = limits::JSON_BYTES_MAX as u64;
        let found = read_all(to, &[names::TABLE_KEY.to_owned()], limit)?;
        let Some(bytes) = found.into_iter().next().flatten() else {
            let listed = block_on(to.list(List::new("").page_max(1)))?;
            return match listed.objects.first() {
                None => Ok(true),
                Some(other) => {
                    let what = format!("there are other objects, such as `{}`", other.key);
                    Err(Error::new(ErrorKind::Exists, what).of_object(&to.url("")))
                }
            };
        };
        let root = TableRoot::parse(&bytes);
        let root = root.map_err(|error| Error::from(error).of_object(&to.url("")))?;
        match root.id == self.root().id {
            true => Ok(false),
            false => {
                let what = format!("there is another table, {}", root.id);
                Err(Error::new(ErrorKind::Exists, what).of_object(&to.url("")))
            }
        }
    }
}

fn gone(key: &str) -> Error {
    Error::corrupt("the object is missing, or was deleted meanwhile").of_object(key)
}

/// Reads whole objects at the same time; `None` for those that are not there.
fn read_all(
    store: &Arc<dyn Store>,
    keys: &[String],
    bytes_max: u64,
) -> Result<Vec<Option<Vec<u8>>>> {
    type Read = Pin<Box<dyn Future<Output = Result<Option<Vec<u8>>, StoreError>> + Send>>;
    let gets = keys.iter().map(|key| {
        let get = store.get(Get::new(key.as_str(), GetRange::Whole { bytes_max }));
        let read: Read = Box::pin(async move {
            match get.await {
                Ok(got) => Ok(Some(got.bytes)),
                Err(error) if error.kind() == StoreErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            }
        });
        read
    });
    let read = block_on(all(gets.collect())).into_iter();
    read.map(|read| Ok(read?)).collect()
}

/// Creates an object. One that is there must have the same bytes.
fn create(to: &Arc<dyn Store>, key: &str, bytes: Vec<u8>) -> Result<()> {
    let bytes = Arc::new(bytes);
    let done = block_on(to.put_if_absent(key, bytes.clone()));
    if matches!(done, Ok(PutIfAbsent::Created { .. })) {
        return Ok(());
    }
    let found = read_all(to, &[key.to_owned()], limits::JSON_BYTES_MAX as u64)?;
    match (found.into_iter().next().flatten(), done) {
        (Some(found), _) if found == *bytes => Ok(()),
        (Some(_), _) => {
            let what = "somebody else wrote it meanwhile, and wrote something else";
            Err(Error::conflict(what).of_object(key))
        }
        (None, Err(error)) => Err(error.into()),
        (None, Ok(_)) => Err(gone(key)),
    }
}

/// Refs by the log that they belong to: the name of a branch, a tag, the policy; by number.
fn logs(listed: &RefsListed) -> BTreeMap<String, BTreeMap<u64, &str>> {
    let mut logs: BTreeMap<String, BTreeMap<u64, &str>> = BTreeMap::new();
    for key in listed.keys() {
        let (name, n) = if let Some((branch, n)) = names::ref_of_key(key) {
            (format!("branch `{}`", branch.escape_debug()), n)
        } else if let Some(tag) = names::tag_of_key(key) {
            (format!("tag `{}`", tag.escape_debug()), 0)
        } else if let Some(n) = names::policy_of_key(key) {
            ("the policy".to_owned(), n)
        } else {
            continue;
        };
        logs.entry(name).or_default().insert(n, key);
    }
    logs
}

/// Keys of refs that the copy lacks: tags and the policy before branches, each log in its order.
fn missing_refs(
    from: &Arc<dyn Store>,
    to: &Arc<dyn Store>,
    listed: &RefsListed,
) -> Result<Vec<String>> {
    let there: RefsListed = tarsia_io::Listing::new(&**to, List::new("refs/"))
        .map(|it| it.map(|it| (it.key, it.meta.last_modified)))
        .collect::<Result<_, _>>()?;
    let (ours, theirs) = (logs(listed), logs(&there));
    let mut diverged = Vec::new();
    for (name, log) in &theirs {
        let Some((_, newest)) = log.last_key_value() else {
            continue;
        };
        let is_known = ours.get(name).is_none_or(|ours| {
            let same = |key: &&str| ours.values().any(|it| it == key);
            same(newest)
        });
        let keys = [(*newest).to_owned()];
        let limit = limits::JSON_BYTES_MAX as u64;
        let is_same = !is_known
            || !ours.contains_key(name)
            || read_all(from, &keys, limit)? == read_all(to, &keys, limit)?;
        if !is_known || !is_same {
            diverged.push(name.as_str());
        }
    }
    if !diverged.is_empty() {
        let what = format!(
            "the copy has gone another way, so nothing was copied: {} there is not what it is here",
            diverged.join(", ")
        );
        return Err(Error::conflict(what).of_object(&to.url("")));
    }
    let is_branch = |name: &str| name.starts_with("branch");
    let (branches, others): (Vec<_>, Vec<_>) = ours.iter().partition(|(name, _)| is_branch(name));
    let mut missing = Vec::new();
    for (name, log) in others.into_iter().chain(branches) {
        let last = theirs.get(name).and_then(|it| it.last_key_value());
        let behind = log
            .iter()
            .filter(|(n, _)| last.is_none_or(|(last, _)| *n > last));
        missing.extend(behind.map(|(_, key)| (*key).to_owned()));
    }
    Ok(missing)
}

/// Objects that the copy lacks, in the order in which they are written.
fn items(marks: &Marks, to: &Arc<dyn Store>) -> Result<[Vec<Item>; 3]> {
    let mut there = HashMap::new();
    for prefix in ["data/", "meta/"] {
        for it in tarsia_io::Listing::new(&**to, List::new(prefix)) {
            let it = it?;
            there.insert(it.key, it.meta.size);
        }
    }
    let [mut files, mut others, mut commits] = [const { Vec::new() }; 3];
    let of_states = marks.files.values().map(|entry| (entry, false));
    let of_changes = marks.files_of_changes.values().map(|entry| (entry, true));
    for (entry, is_optional) in of_states.chain(of_changes) {
        let key = names::data_key(&entry.file);
        if there.get(&key) != Some(&entry.bytes) {
            files.push(Item {
                key,
                bytes: entry.bytes,
                is_optional,
                check: Check::File(Box::new(entry.clone())),
            });
        }
    }
    for (kind, id) in &marks.objects {
        let key = kind.key(id);
        if !there.contains_key(&key) {
            let wave = match kind {
                ObjectKind::Commit => &mut commits,
                _ => &mut others,
            };
            wave.push(Item {
                key,
                bytes: 0,
                is_optional: false,
                check: Check::Digest(*id),
            });
        }
    }
    Ok([files, others, commits])
}

fn copy_items(from: &Arc<dyn Store>, to: &Arc<dyn Store>, items: &[Item]) -> Result<()> {
    let mut rest = items;
    while !rest.is_empty() {
        let mut n_bytes = 0_u64;
        let fits = |item: &&Item| {
            n_bytes = n_bytes.saturating_add(item.bytes);
            n_bytes <= BYTES_AT_A_TIME
        };
        let n_items = rest.iter().take(OBJECTS_AT_A_TIME).take_while(fits).count();
        let (wave, behind) = rest.split_at(n_items.clamp(1, rest.len()));
        rest = behind;
        let keys: Vec<String> = wave.iter().map(|it| it.key.clone()).collect();
        let largest = wave.iter().map(|it| it.bytes).max().unwrap_or(0);
        let found = read_all(from, &keys, largest.max(META_BYTES_MAX))?;
        let mut puts = Vec::with_capacity(wave.len());
        for (item, bytes) in wave.iter().zip(found) {
            let Some(bytes) = bytes else {
                match item.is_optional {
                    true => continue,
                    false => return Err(gone(&item.key)),
                }
            };
            let bytes = Arc::new(bytes);
            item.check(&bytes)
                .map_err(|error| error.of_object(&item.key))?;
            puts.push(to.put(&item.key, bytes));
        }
        for done in block_on(all(puts)) {
            done?;
        }
    }
    Ok(())
}

/// Bytes that are read as a file.
struct Shared(Arc<Vec<u8>>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Item {
    /// Compares the bytes with what refers to them.
    fn check(&self, bytes: &Arc<Vec<u8>>) -> Result<()> {
        let entry = match &self.check {
            Check::Digest(id) if ObjectId::of(bytes) == *id => return Ok(()),
            Check::Digest(_) => {
                return Err(Error::corrupt(
                    "its bytes have another digest than its name",
                ));
            }
            Check::File(entry) => entry,
        };
        let file = File::from_bytes(Shared(bytes.clone()), OpenOptions::new())?;
        file.verify_digests()?;
        let metadata = file.metadata()?;
        let is_same_root =
            metadata.epoch != entry.epoch || Some(ObjectId(metadata.root_digest)) == entry.root;
        match metadata.file_id == entry.file.0 && metadata.rows == entry.rows && is_same_root {
            true => Ok(()),
            false => Err(Error::corrupt("it is another file than its entry says")),
        }
    }
}
