//! Checks of a whole table: whatever a ref entry or a tag leads to is there, is whole, and is what refers to it says.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use tarsia_io::{List, Listed, StoreErrorKind, block_on};
use tarsia_table_meta::names::{self, ObjectKind};
use tarsia_table_meta::{Entry, ObjectId, RefEntry};

use crate::error::Result;
use crate::finding::Finding;
use crate::gc::{days, is_marked};
use crate::mark::{Marks, mark};
use crate::refs;
use crate::roots::{
    MISSING_ENTRY, MISSING_POLICY, REFS_PREFIX, RefsListed, Times, reading_time, roots,
};
use crate::snapshot::{Shared, Snapshot};
use crate::source;
use crate::table::Table;

/// How much a check reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// All metadata, and that each data file is there with its size.
    Metadata,
    /// Each byte of each data file, too.
    Digests,
    /// All of that, and that each state has the files and rows that its commit says, and can be planned with its
    /// deletes.
    Deep,
}

/// Counts of what was checked, and what is wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FsckReport {
    /// Ref entries, tags, pins and entries of the policy.
    pub refs: u64,
    /// Pins among them.
    pub pins: u64,
    /// Pins whose time is over.
    pub ended_pins: u64,
    /// Commits that refs keep from garbage collection.
    pub commits: u64,
    /// Manifests of these commits.
    pub manifests: u64,
    /// Files of rows and of deletes.
    pub files: u64,
    /// Objects that no ref keeps: what interrupted transactions left, and states that garbage collection may delete.
    pub unused_objects: u64,
    /// Bytes of these objects.
    pub unused_bytes: u64,
    /// Whatever is wrong, by object.
    pub findings: Vec<Finding>,
}

struct Fsck<'a> {
    shared: &'a Arc<Shared>,
    depth: Depth,
    report: FsckReport,
}

impl Table {
    /// Checks refs, and all that they keep from garbage collection. What is damaged is a finding, not an error. Writes
    /// nothing.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn fsck(&self, depth: Depth) -> Result<FsckReport> {
        let shared = self.shared();
        let mut fsck = Fsck {
            shared,
            depth,
            report: FsckReport::default(),
        };
        let objects = shared.run(|desk, _| async move {
            let list = List::new("");
            refs::list_all(&desk, list).await
        })?;
        let is_ref = |it: &Listed| it.key.starts_with(REFS_PREFIX);
        let (of_refs, others): (Vec<Listed>, Vec<Listed>) = objects.0.into_iter().partition(is_ref);
        let listed = of_refs
            .into_iter()
            .map(|it| (it.key, it.meta.last_modified));
        let listed: RefsListed = listed.collect();
        let sizes = others.into_iter().map(|it| (it.key, it.meta.size));
        let sizes: BTreeMap<String, u64> = sizes.collect();
        fsck.refs(&listed, &self.known())?;
        let now = reading_time(&shared.store, &listed);
        // A policy that cannot be read is a finding of its own.
        let policy = self.policy().unwrap_or_default();
        let times = Times::keeping(now, days(policy.keep_days)).not_before(policy.keep_from);
        let roots = roots(shared, &listed, times)?;
        let marks = mark(shared, &roots)?;
        fsck.report.findings.extend(marks.problems.iter().cloned());
        fsck.report.commits = marks.n_objects(ObjectKind::Commit);
        fsck.report.manifests = marks.n_objects(ObjectKind::Manifest);
        fsck.report.ended_pins = roots.ended_pins.len() as u64;
        fsck.files(&marks, &sizes)?;
        if depth == Depth::Deep {
            let states: BTreeSet<ObjectId> = roots.states.iter().map(|it| it.commit).collect();
            states.into_iter().for_each(|id| fsck.state(id));
        }
        for (key, size) in &sizes {
            if key != names::TABLE_KEY && !is_marked(&marks, key) {
                fsck.report.unused_objects += 1;
                fsck.report.unused_bytes += size;
            }
        }
        let findings = &mut fsck.report.findings;
        findings.sort_by(|one, other| (&one.object, &one.what).cmp(&(&other.object, &other.what)));
        findings.dedup();
        Ok(fsck.report)
    }
}

impl Fsck<'_> {
    fn find(&mut self, object: &str, what: impl Into<String>) {
        self.report.findings.push(Finding {
            object: object.to_owned(),
            what: what.into(),
        });
    }

    /// Checks all refs, those that keep nothing too. `known` are ref entries that were read before.
    fn refs(&mut self, listed: &RefsListed, known: &HashMap<String, RefEntry>) -> Result<()> {
        let mut branches: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
        let mut policy = BTreeSet::new();
        for key in listed.keys() {
            self.report.refs += 1;
            if let Some((branch, n)) = names::ref_of_key(key) {
                branches.entry(branch).or_default().insert(n);
            } else if let Some(n) = names::policy_of_key(key) {
                policy.insert(n);
            } else if names::pin_of_key(key).is_some() {
                self.report.pins += 1;
            }
        }
        for (branch, entry) in known {
            branches.entry(branch.clone()).or_default().insert(entry.n);
        }
        for n in 0..policy.last().map_or(0, |n| n.saturating_add(1)) {
            let found = self
                .shared
                .run(|desk, _| async move { refs::policy_entry(&desk, n).await });
            let key = names::policy_key(n);
            match found {
                Ok(Some(_)) => {}
                Ok(None) => self.find(&key, MISSING_POLICY),
                Err(error) => self.find(&key, error.to_string()),
            }
        }
        for (branch, numbers) in branches {
            self.chain(&branch, numbers.last().copied().unwrap_or(0))?;
        }
        Ok(())
    }

    /// Checks the ref entries of a branch up to a number.
    fn chain(&mut self, branch: &str, last: u64) -> Result<()> {
        let mut before = None;
        for n in 0..=last {
            let key = names::ref_key(branch, n)?;
            let name = branch.to_owned();
            let found = self
                .shared
                .run(|desk, _| async move { refs::entry(&desk, &name, n).await });
            let entry = match found {
                Ok(Some(entry)) => entry,
                Ok(None) => {
                    self.find(&key, MISSING_ENTRY);
                    before = None;
                    continue;
                }
                Err(error) => {
                    self.find(&key, error.to_string());
                    before = None;
                    continue;
                }
            };
            if n > 0 && before.is_some() && entry.before != before {
                self.find(&key, "it does not follow the entry before it");
            }
            before = Some(entry.commit);
        }
        // Somebody may have written it meanwhile; what cannot be read is in the way of the next commit.
        let next = last.saturating_add(1);
        let name = branch.to_owned();
        let found = self
            .shared
            .run(|desk, _| async move { refs::entry(&desk, &name, next).await });
        if let Err(error) = found {
            self.find(&names::ref_key(branch, next)?, error.to_string());
        }
        Ok(())
    }

    fn files(&mut self, marks: &Marks, sizes: &BTreeMap<String, u64>) -> Result<()> {
        let of_states = marks.files.values().map(|entry| (entry, true));
        let of_changes = marks.files_of_changes.values().map(|entry| (entry, false));
        for (entry, is_needed) in of_states.chain(of_changes) {
            let key = names::data_key(&entry.file);
            let size = match sizes.get(&key) {
                Some(size) => Some(*size),
                // What a ref leads to may have been written after that part of the list.
                None if is_needed => self.size_of(&key)?,
                None => None,
            };
            self.report.files += u64::from(is_needed || size.is_some());
            match size {
                None if !is_needed => {}
                None => self.find(&key, "the file is missing"),
                Some(size) if size != entry.bytes => {
                    let what = format!("{size} bytes, its entry says {}", entry.bytes);
                    self.find(&key, what);
                }
                Some(_) if self.depth != Depth::Metadata => {
                    if let Err(error) = self.digests(entry) {
                        self.find(&key, error.to_string());
                    }
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// The size of an object that a list did not show; `None` if it is not there.
    fn size_of(&self, key: &str) -> Result<Option<u64>> {
        match block_on(self.shared.store.head(key)) {
            Ok(meta) => Ok(Some(meta.size)),
            Err(error) if error.kind() == StoreErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Compares a state with what its commit says of it.
    fn state(&mut self, id: ObjectId) {
        let key = ObjectKind::Commit.key(&id);
        let Ok(snapshot) = Snapshot::open(self.shared.clone(), id, Vec::new()) else {
            // It is missing or damaged, which is found elsewhere if it matters.
            return;
        };
        let counted = snapshot.files(None).and_then(|files| {
            let n_rows = files.iter().map(|file| file.rows).sum::<u64>();
            Ok((files.len() as u64, n_rows, snapshot.scan().count()?))
        });
        let commit = snapshot.commit();
        match counted {
            Err(error) => self.find(&key, error.to_string()),
            Ok((n_files, n_rows, n_live)) => {
                if (n_files, n_rows) != (commit.files, commit.rows) {
                    let what = format!(
                        "{n_files} files of {n_rows} rows, the commit says {} of {}",
                        commit.files, commit.rows
                    );
                    self.find(&key, what);
                }
                if n_live > n_rows {
                    self.find(&key, format!("{n_live} rows are left of {n_rows}"));
                }
            }
        }
    }

    fn digests(&self, entry: &Entry) -> Result<()> {
        let file = source::open(&self.shared.store, entry)?;
        file.verify_digests()?;
        let metadata = file.metadata()?;
        let is_same =
            metadata.epoch != entry.epoch || Some(ObjectId(metadata.root_digest)) == entry.root;
        match is_same {
            true => Ok(()),
            false => Err(crate::error::Error::corrupt(
                "its root digest is not the one of its entry",
            )),
        }
    }
}
