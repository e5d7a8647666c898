//! Marks: all objects that the refs of a table need.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use tarsia_io::{StoreErrorKind, block_on};
use tarsia_table_meta::names::ObjectKind;
use tarsia_table_meta::{Commit, Entry, EntryOp, FileId, ManifestFile, ManifestRow, ObjectId};

use crate::error::{Error, Result};
use crate::finding::Finding;
use crate::history::Node;
use crate::references::{Part, Reference, of_commit, of_entry};
use crate::roots::{Root, Roots, is_of_store};
use crate::snapshot::Shared;

/// Objects that are read at the same time.
const COMMITS_AT_A_TIME: usize = 64;
const MANIFESTS_AT_A_TIME: usize = 16;

/// Objects that are needed, and what is wrong with them.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// Objects below `meta`.
    pub(crate) objects: HashSet<(ObjectKind, ObjectId)>,
    /// Files of states, each with an entry.
    pub(crate) files: HashMap<FileId, Entry>,
    /// Files of changes alone. They may be gone where history has a gap, as behind a branch that was made of an old
    /// tag.
    pub(crate) files_of_changes: HashMap<FileId, Entry>,
    /// Needed objects that are missing or damaged. What they refer to is not known, so nothing may be deleted.
    pub(crate) problems: Vec<Finding>,
}

impl Marks {
    /// Number of objects of a kind.
    pub(crate) fn n_objects(&self, kind: ObjectKind) -> u64 {
        let of_kind = self.objects.iter().filter(|(it, _)| *it == kind);
        of_kind.count() as u64
    }
}

/// Marks whatever the roots need.
///
/// # Errors
/// Errors of the store. Objects that are missing or damaged are problems.
pub(crate) fn mark(shared: &Arc<Shared>, roots: &Roots) -> Result<Marks> {
    let mut marker = Marker {
        shared,
        marks: Marks::default(),
        commits: HashMap::new(),
        schemas: HashSet::new(),
        part: Part::State,
    };
    marker.marks.problems.clone_from(&roots.problems);
    let states = marker.load(&roots.states)?;
    let walked = marker.walk(&roots.branches)?;
    marker.states(&states)?;
    marker.mark_schemas()?;
    marker.part = Part::Changes;
    marker.changes(&walked)?;
    marker.mark_schemas()?;
    Ok(marker.marks)
}

/// An entry in a state: where it is, and its number.
#[derive(Debug, Clone, Copy)]
struct Found {
    source: u32,
    seq: u64,
}

/// Entries of files in all states. A source is a manifest with its base, or the entries that lie in a commit.
#[derive(Default)]
struct Sources {
    added: HashMap<FileId, Vec<Found>>,
    removed: HashMap<FileId, Vec<Found>>,
    entries: HashMap<FileId, Entry>,
}

impl Sources {
    fn note(&mut self, entry: &Entry, source: u32) {
        let found = Found {
            source,
            seq: entry.seq,
        };
        match entry.op {
            EntryOp::Add => {
                self.added.entry(entry.file).or_default().push(found);
                let known = self.entries.entry(entry.file);
                known.or_insert_with(|| entry.clone());
            }
            EntryOp::Remove => self.removed.entry(entry.file).or_default().push(found),
        }
    }

    /// Whether one of the states has the file. In each the entry with the highest number counts.
    fn is_live(&self, file: &FileId, states: &[HashSet<u32>]) -> bool {
        let Some(removed) = self.removed.get(file) else {
            return true;
        };
        let highest = |found: &[Found], state: &HashSet<u32>| {
            let of_state = found.iter().filter(|it| state.contains(&it.source));
            of_state.map(|it| it.seq).max()
        };
        let added = self.added.get(file).map_or(&[][..], Vec::as_slice);
        states.iter().any(|state| {
            highest(added, state)
                .is_some_and(|added| highest(removed, state).is_none_or(|removed| removed <= added))
        })
    }
}

struct Marker<'a> {
    shared: &'a Arc<Shared>,
    marks: Marks,
    commits: HashMap<ObjectId, Arc<Commit>>,
    schemas: HashSet<ObjectId>,
    /// The part of commits that is marked now. Of changes, objects may be missing.
    part: Part,
}

impl Marker<'_> {
    fn find(&mut self, object: String, what: String) {
        self.marks.problems.push(Finding { object, what });
    }

    /// Reads the commits of roots, each of which is needed.
    fn load(&mut self, roots: &[Root]) -> Result<Vec<Node>> {
        let mut named: BTreeMap<ObjectId, &Root> = BTreeMap::new();
        for root in roots {
            let known = named.entry(root.commit).or_insert(root);
            if root.is_required && !known.is_required {
                *known = root;
            }
        }
        let ids: Vec<ObjectId> = named.keys().copied().collect();
        let mut nodes = Vec::with_capacity(ids.len());
        for ids in ids.chunks(COMMITS_AT_A_TIME) {
            let asked = ids.to_vec();
            let found = self
                .shared
                .run(|desk, objects| async move { objects.find_commits(&desk, &asked).await })?;
            for (found, id) in found.into_iter().zip(ids) {
                let key = ObjectKind::Commit.key(id);
                let named_by = named.get(id).filter(|root| root.is_required);
                match found {
                    Ok(Some(commit)) => {
                        self.marks.objects.insert((ObjectKind::Commit, *id));
                        self.commits.insert(*id, commit.clone());
                        nodes.push((*id, commit));
                    }
                    Ok(None) => {
                        if let Some(root) = named_by {
                            let what = format!("the commit is missing; {} names it", root.named_by);
                            self.find(key, what);
                        }
                    }
                    Err(error) => self.find(key, error.to_string()),
                }
            }
        }
        Ok(nodes)
    }

    /// Commits from those of branches back to the one where all of them meet, without it: merges and rebases repeat
    /// their changes, and compare others with them.
    fn walk(&mut self, branches: &[Root]) -> Result<Vec<Node>> {
        let mut open: BTreeMap<(u64, ObjectId), Arc<Commit>> = BTreeMap::new();
        for root in branches {
            if let Some(commit) = self.commits.get(&root.commit) {
                open.insert((commit.generation, root.commit), commit.clone());
            }
        }
        let mut walked = Vec::new();
        while open.len() > 1 {
            let Some(((generation, id), commit)) = open.pop_last() else {
                break;
            };
            if let Some(parent) = commit.parents.first().copied() {
                let found = self
                    .shared
                    .run(|desk, objects| async move { objects.find_commit(&desk, parent).await });
                match found {
                    Ok(Some(before)) if before.generation < generation => {
                        open.insert((before.generation, parent), before);
                    }
                    Ok(Some(_)) => {
                        let what = "its generation is not above that of its parent";
                        self.find(ObjectKind::Commit.key(&id), what.to_owned());
                    }
                    // A branch that was made of an old tag has no history in common with the others any more.
                    Ok(None) => {}
                    Err(error) if is_of_store(&error) => return Err(error),
                    Err(error) => self.find(ObjectKind::Commit.key(&parent), error.to_string()),
                }
            }
            walked.push((id, commit));
        }
        for ((_, id), commit) in open {
            self.marks.objects.insert((ObjectKind::Commit, id));
            self.schemas.insert(commit.schema);
        }
        Ok(walked)
    }

    /// Entries of manifests by their digest and base, for a visitor.
    fn manifests(
        &mut self,
        rows: impl Iterator<Item = ManifestRow>,
        mut visit: impl FnMut(&mut Self, &ManifestRow, &Entry),
    ) -> Result<()> {
        let rows: Vec<ManifestRow> = rows.collect();
        for rows in rows.chunks(MANIFESTS_AT_A_TIME) {
            let asked = rows.to_vec();
            let together = self
                .shared
                .run(|desk, objects| async move { objects.manifests(&desk, &asked).await });
            // One that is damaged keeps the others from being read with it.
            let each: Vec<Result<_>> = match together {
                Ok(files) => files.into_iter().map(Ok).collect(),
                Err(error) if is_of_store(&error) => return Err(error),
                Err(_) => rows.iter().map(|row| self.manifest(row)).collect(),
            };
            for (file, row) in each.into_iter().zip(rows) {
                match file.and_then(|file| Ok(file.all_entries()?)) {
                    Ok(entries) => {
                        self.marks.objects.insert((ObjectKind::Manifest, row.id));
                        entries.iter().for_each(|entry| visit(self, row, entry));
                    }
                    Err(error) => self.failed(ObjectKind::Manifest, row.id, error)?,
                }
            }
        }
        Ok(())
    }

    /// Takes note of an object that cannot be read.
    fn failed(&mut self, kind: ObjectKind, id: ObjectId, error: Error) -> Result<()> {
        if is_of_store(&error) {
            return Err(error);
        }
        let key = kind.key(&id);
        if self.part == Part::Changes {
            match block_on(self.shared.store.head(&key)) {
                Err(error) if error.kind() == StoreErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(error.into()),
                Ok(_) => {}
            }
        }
        self.marks.objects.insert((kind, id));
        self.find(key, error.to_string());
        Ok(())
    }

    fn manifest(&self, row: &ManifestRow) -> Result<Arc<ManifestFile>> {
        let (row, id) = (row.clone(), row.id);
        let found = self
            .shared
            .run(|desk, objects| async move { objects.manifests(&desk, &[row]).await });
        let missing = || Error::corrupt("it is missing").of_object(&ObjectKind::Manifest.key(&id));
        found?.pop().ok_or_else(missing)
    }

    /// Marks all that states have. A file that each of them removes is not needed.
    fn states(&mut self, states: &[Node]) -> Result<()> {
        let mut sources = Sources::default();
        let mut numbers: HashMap<(ObjectId, u64), u32> = HashMap::new();
        let mut rows: Vec<ManifestRow> = Vec::new();
        let mut of_states: Vec<HashSet<u32>> = Vec::with_capacity(states.len());
        let mut n_sources = 0_u32;
        let mut next = || {
            n_sources = n_sources.saturating_add(1);
            n_sources
        };
        for (_, commit) in states {
            let inline = next();
            let mut of_state = HashSet::from([inline]);
            for reference in of_commit(commit, Part::State) {
                match reference {
                    Reference::Schema(id) => {
                        self.schemas.insert(id);
                    }
                    Reference::Entry(entry) => sources.note(entry, inline),
                    Reference::Manifest(row) => {
                        let number = numbers.entry((row.id, row.seq_base));
                        let number = *number.or_insert_with(|| {
                            rows.push(row.clone());
                            next()
                        });
                        of_state.insert(number);
                    }
                }
            }
            of_states.push(of_state);
        }
        self.manifests(rows.into_iter(), |_, row, entry| {
            if let Some(number) = numbers.get(&(row.id, row.seq_base)) {
                sources.note(entry, *number);
            }
        })?;
        for (file, entry) in &sources.entries {
            if sources.is_live(file, &of_states) {
                self.entry(entry);
            }
        }
        Ok(())
    }

    /// Marks all that changes have.
    fn changes(&mut self, commits: &[Node]) -> Result<()> {
        let mut rows: HashMap<(ObjectId, u64), ManifestRow> = HashMap::new();
        for (id, commit) in commits {
            self.marks.objects.insert((ObjectKind::Commit, *id));
            for reference in of_commit(commit, Part::Changes) {
                match reference {
                    Reference::Schema(id) => {
                        self.schemas.insert(id);
                    }
                    Reference::Entry(entry) => self.entry(entry),
                    Reference::Manifest(row) => {
                        rows.insert((row.id, row.seq_base), row.clone());
                    }
                }
            }
        }
        self.manifests(rows.into_values(), |marker, _, entry| marker.entry(entry))
    }

    fn entry(&mut self, entry: &Entry) {
        let (schema, has_file) = of_entry(entry);
        self.schemas.extend(schema);
        let is_known = self.marks.files.contains_key(&entry.file);
        let files = match self.part {
            Part::State => &mut self.marks.files,
            Part::Changes if is_known => return,
            Part::Changes => &mut self.marks.files_of_changes,
        };
        if has_file {
            files.entry(entry.file).or_insert_with(|| entry.clone());
        }
    }

    fn mark_schemas(&mut self) -> Result<()> {
        for id in std::mem::take(&mut self.schemas) {
            let object = (ObjectKind::Schema, id);
            if self.marks.objects.contains(&object) {
                continue;
            }
            let found = self.shared.run(|desk, objects| async move {
                objects.schema(&desk, id).await?;
                objects.schema_base(&desk, id).await
            });
            match found {
                Ok(base) => {
                    self.marks.objects.insert(object);
                    let base = base.map(|base| (ObjectKind::Schema, base));
                    self.marks.objects.extend(base);
                }
                Err(error) => self.failed(ObjectKind::Schema, id, error)?,
            }
        }
        Ok(())
    }
}
