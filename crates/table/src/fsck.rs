//! Checks of a whole table: whatever a ref entry or a tag leads to is there, is whole, and is what refers to it says.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use tarsia_io::List;
use tarsia_table_meta::names::{self, ObjectKind};
use tarsia_table_meta::{Commit, Entry, EntryOp, FileId, ManifestRow, ObjectId};

use crate::error::Result;
use crate::refs;
use crate::snapshot::Shared;
use crate::source;
use crate::table::Table;

/// How much a check reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// All metadata, and that each data file is there with its size.
    Metadata,
    /// Each byte of each data file, too.
    Digests,
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Key of the object.
    pub object: String,
    /// Describes the fault, and what refers to the object.
    pub what: String,
}

/// Counts of what was checked, and what is wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FsckReport {
    /// Ref entries and tags.
    pub refs: u64,
    /// Commits that they lead to, their parents too.
    pub commits: u64,
    /// Manifests of these commits.
    pub manifests: u64,
    /// Files of rows and of deletes.
    pub files: u64,
    /// Objects that nothing leads to: what interrupted transactions left.
    pub unused_objects: u64,
    /// Bytes of these objects.
    pub unused_bytes: u64,
    /// Whatever is wrong, by object.
    pub findings: Vec<Finding>,
}

struct Fsck<'a> {
    shared: &'a Arc<Shared>,
    depth: Depth,
    /// Sizes of all objects.
    sizes: BTreeMap<String, u64>,
    used: BTreeSet<String>,
    report: FsckReport,
}

/// The keys of ref entries and tags begin so.
const REFS_PREFIX: &str = "refs/";

impl Table {
    /// Checks whatever ref entries and tags lead to. What is damaged is a finding, not an error.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn fsck(&self, depth: Depth) -> Result<FsckReport> {
        let shared = self.shared();
        // What ref entries lead to was written before them: other writers may go on meanwhile.
        let list = |prefix: &'static str| {
            shared.run(|desk, _| async move { refs::list_all(&desk, List::new(prefix)).await })
        };
        let refs = list(REFS_PREFIX)?.0;
        let others = list("")?.0.into_iter();
        let others = others.filter(|it| !it.key.starts_with(REFS_PREFIX));
        let sizes = refs.into_iter().chain(others);
        let sizes = sizes.map(|it| (it.key, it.meta.size));
        let mut fsck = Fsck {
            shared,
            depth,
            sizes: sizes.collect(),
            used: BTreeSet::from([names::TABLE_KEY.to_owned()]),
            report: FsckReport::default(),
        };
        let heads = fsck.refs()?;
        let commits = fsck.commits(heads)?;
        let files = fsck.entries(&commits);
        fsck.files(files);
        for (key, size) in &fsck.sizes {
            if !fsck.used.contains(key) {
                fsck.report.unused_objects += 1;
                fsck.report.unused_bytes += size;
            }
        }
        fsck.report
            .findings
            .sort_by(|one, other| one.object.cmp(&other.object));
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

    /// Checks ref entries and tags. Returns the commits that they name, and which of them names each.
    fn refs(&mut self) -> Result<Vec<(ObjectId, String)>> {
        let mut commits = Vec::new();
        let mut branches: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
        let keys: Vec<String> = self
            .sizes
            .keys()
            .filter(|key| key.starts_with(REFS_PREFIX))
            .cloned()
            .collect();
        for key in keys {
            self.used.insert(key.clone());
            self.report.refs += 1;
            if let Some((branch, n)) = names::ref_of_key(&key) {
                branches.entry(branch).or_default().insert(n);
            } else if let Some(name) = names::tag_of_key(&key) {
                let found = self
                    .shared
                    .run(|desk, _| async move { refs::tag(&desk, &name).await });
                match found {
                    Ok(Some(tag)) => commits.push((tag.commit, key)),
                    Ok(None) => self.find(&key, "it is listed, and is not there"),
                    Err(error) => self.find(&key, error.to_string()),
                }
            } else {
                self.find(&key, "it is no name of a ref entry or a tag");
            }
        }
        for (branch, numbers) in branches {
            let mut before = None;
            for n in 0..=numbers.last().copied().unwrap_or(0) {
                let key = names::ref_key(&branch, n)?;
                let name = branch.clone();
                let found = self
                    .shared
                    .run(|desk, _| async move { refs::entry(&desk, &name, n).await });
                match found {
                    Ok(Some(entry)) => {
                        if n > 0 && before.is_some() && entry.before != before {
                            self.find(&key, "it does not follow the entry before it");
                        }
                        before = Some(entry.commit);
                        commits.push((entry.commit, key));
                    }
                    Ok(None) => {
                        self.find(&key, "the ref entry is missing, but later ones are there");
                        before = None;
                    }
                    Err(error) => {
                        self.find(&key, error.to_string());
                        before = None;
                    }
                }
            }
        }
        Ok(commits)
    }

    /// Checks commits and their parents.
    fn commits(&mut self, named: Vec<(ObjectId, String)>) -> Result<Vec<Arc<Commit>>> {
        let mut commits = Vec::new();
        let mut seen = BTreeSet::new();
        let mut open = named;
        while let Some((id, named_by)) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            let key = ObjectKind::Commit.key(&id);
            self.used.insert(key.clone());
            self.report.commits += 1;
            let found = self
                .shared
                .run(|desk, objects| async move { objects.find_commit(&desk, id).await });
            match found {
                Ok(Some(commit)) => {
                    open.extend(commit.parents.iter().map(|parent| (*parent, key.clone())));
                    self.schema(&commit, &key);
                    commits.push(commit);
                }
                Ok(None) => self.find(&key, format!("the commit is missing; {named_by} names it")),
                Err(error) => self.find(&key, error.to_string()),
            }
        }
        Ok(commits)
    }

    fn schema(&mut self, commit: &Commit, named_by: &str) {
        let id = commit.schema;
        let key = ObjectKind::Schema.key(&id);
        if !self.used.insert(key.clone()) {
            return;
        }
        let found = self.shared.run(|desk, objects| async move {
            objects.schema(&desk, id).await?;
            objects.schema_base(&desk, id).await
        });
        match found {
            Ok(base) => {
                let base = base.map(|base| ObjectKind::Schema.key(&base));
                self.used.extend(base);
            }
            Err(error) => self.find(&key, format!("{error}; {named_by} names it")),
        }
    }

    /// Checks manifests. Returns the files that any state has, each once.
    fn entries(&mut self, commits: &[Arc<Commit>]) -> HashMap<FileId, Entry> {
        let mut files = HashMap::new();
        let mut add = |entries: &[Entry]| {
            for entry in entries.iter().filter(|entry| entry.op == EntryOp::Add) {
                files.entry(entry.file).or_insert_with(|| entry.clone());
            }
        };
        let mut rows: BTreeMap<ObjectId, ManifestRow> = BTreeMap::new();
        for commit in commits {
            add(&commit.entries);
            add(&commit.own_entries);
            let of_commit = commit.manifests.iter().chain(&commit.own_manifests);
            rows.extend(of_commit.map(|row| (row.id, row.clone())));
        }
        let mut found = Vec::new();
        for (id, row) in rows {
            let key = ObjectKind::Manifest.key(&id);
            self.used.insert(key.clone());
            self.report.manifests += 1;
            let opened = self
                .shared
                .run(|desk, objects| async move { objects.manifests(&desk, &[row]).await });
            let entries = opened.and_then(|files| match files.first() {
                Some(file) => Ok(file.all_entries()?),
                None => Ok(Vec::new()),
            });
            match entries {
                Ok(entries) => found.push(entries),
                Err(error) => self.find(&key, error.to_string()),
            }
        }
        found.iter().for_each(|entries| add(entries));
        files
    }

    fn files(&mut self, files: HashMap<FileId, Entry>) {
        for entry in files.values().filter(|entry| entry.has_file()) {
            let key = names::data_key(&entry.file);
            self.used.insert(key.clone());
            self.report.files += 1;
            match self.sizes.get(&key) {
                None => self.find(&key, "the file is missing"),
                Some(size) if *size != entry.bytes => {
                    let what = format!("{size} bytes, its entry says {}", entry.bytes);
                    self.find(&key, what);
                }
                Some(_) if self.depth == Depth::Digests => {
                    if let Err(error) = self.digests(entry) {
                        self.find(&key, error.to_string());
                    }
                }
                Some(_) => {}
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
