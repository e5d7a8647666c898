//! Objects below `meta`: found by their digest, checked, and kept.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tarsia_table_meta::names::ObjectKind;
use tarsia_table_meta::{
    Commit, ManifestFile, ManifestRow, ObjectId, SchemaObject, TableId, TableSchema, limits,
};

use crate::error::{Error, ErrorKind, Result};
use crate::steps::{Answer, Desk, Need};

/// Longest schema object in bytes.
const SCHEMA_BYTES_MAX: u64 = 256 << 20;
/// Commits and schemas that are kept.
const COMMITS_KEPT: usize = 4_096;
const SCHEMAS_KEPT: usize = 64;
/// Manifests that are kept open.
const MANIFESTS_KEPT: usize = 256;

/// Objects of a table that were read. They never change, so they are read once.
pub(crate) struct Objects {
    table: TableId,
    commits: Kept<Commit>,
    schemas: Kept<TableSchema>,
    objects: Kept<SchemaObject>,
    manifests: Kept<ManifestFile>,
    inline_entries_max: AtomicUsize,
}

struct Kept<T>(Mutex<HashMap<ObjectId, Arc<T>>>, usize);

impl<T> Kept<T> {
    fn new(n_kept: usize) -> Self {
        Self(Mutex::new(HashMap::new()), n_kept)
    }

    fn get(&self, id: &ObjectId) -> Option<Arc<T>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(id).cloned()
    }

    fn keep(&self, id: ObjectId, value: impl Into<Arc<T>>) -> Arc<T> {
        let value = value.into();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= self.1 {
            kept.clear();
        }
        kept.insert(id, value.clone());
        value
    }
}

impl Objects {
    pub(crate) fn new(table: TableId) -> Self {
        Self {
            table,
            commits: Kept::new(COMMITS_KEPT),
            schemas: Kept::new(SCHEMAS_KEPT),
            objects: Kept::new(SCHEMAS_KEPT),
            manifests: Kept::new(MANIFESTS_KEPT),
            inline_entries_max: AtomicUsize::new(limits::INLINE_ENTRIES_MAX),
        }
    }

    /// Most entries that a new commit holds itself.
    pub(crate) fn inline_entries_max(&self) -> usize {
        self.inline_entries_max.load(Ordering::Relaxed)
    }

    pub(crate) fn set_inline_entries_max(&self, n_entries: usize) {
        let n_entries = n_entries.min(limits::INLINE_ENTRIES_MAX);
        self.inline_entries_max.store(n_entries, Ordering::Relaxed);
    }

    /// A commit; `None` if there is no such object.
    pub(crate) async fn find_commit(
        &self,
        desk: &Desk,
        id: ObjectId,
    ) -> Result<Option<Arc<Commit>>> {
        if let Some(commit) = self.commits.get(&id) {
            return Ok(Some(commit));
        }
        let wanted = [(ObjectKind::Commit, id, limits::COMMIT_BYTES_MAX as u64)];
        let bytes = get_all(desk, &wanted).await?.pop().flatten();
        bytes.map(|bytes| self.parse_commit(id, &bytes)).transpose()
    }

    fn parse_commit(&self, id: ObjectId, bytes: &[u8]) -> Result<Arc<Commit>> {
        let named = |error: tarsia_table_meta::Error| {
            Error::from(error).of_object(&ObjectKind::Commit.key(&id))
        };
        let commit = Commit::parse(bytes, &self.table).map_err(named)?;
        Ok(self.commits.keep(id, commit))
    }

    /// Commits, read at the same time; `None` for objects that are not there.
    pub(crate) async fn find_commits(
        &self,
        desk: &Desk,
        ids: &[ObjectId],
    ) -> Result<Vec<Result<Option<Arc<Commit>>>>> {
        let absent = ids.iter().filter(|id| self.commits.get(id).is_none());
        let wanted = absent.map(|id| (ObjectKind::Commit, *id, limits::COMMIT_BYTES_MAX as u64));
        let wanted: Vec<_> = wanted.collect();
        let mut read = HashMap::new();
        for (got, (_, id, _)) in get_each(desk, &wanted).await?.into_iter().zip(&wanted) {
            let found = got.and_then(|bytes| {
                let bytes = bytes.map(|bytes| self.parse_commit(*id, &bytes));
                bytes.transpose()
            });
            read.insert(*id, found);
        }
        let found = ids.iter().map(|id| match read.remove(id) {
            Some(found) => found,
            None => Ok(self.commits.get(id)),
        });
        Ok(found.collect())
    }

    /// A commit that something refers to.
    pub(crate) async fn commit(&self, desk: &Desk, id: ObjectId) -> Result<Arc<Commit>> {
        self.commit_with(desk, id, &[]).await
    }

    /// A commit that something refers to. If it has to be read, so are these schema objects, at the same time.
    pub(crate) async fn commit_with(
        &self,
        desk: &Desk,
        id: ObjectId,
        schemas: &[ObjectId],
    ) -> Result<Arc<Commit>> {
        if let Some(commit) = self.commits.get(&id) {
            return Ok(commit);
        }
        let of_commit = (ObjectKind::Commit, id, limits::COMMIT_BYTES_MAX as u64);
        let mut wanted = vec![of_commit];
        let absent = schemas.iter().filter(|id| self.objects.get(id).is_none());
        wanted.extend(absent.map(|id| (ObjectKind::Schema, *id, SCHEMA_BYTES_MAX)));
        let mut got = get_each(desk, &wanted).await?.into_iter();
        let commit = got.next().transpose()?.flatten();
        let commit = commit.ok_or_else(|| missing(ObjectKind::Commit, &id))?;
        let commit = self.parse_commit(id, &commit)?;
        for (bytes, (_, id, _)) in got.zip(wanted.iter().skip(1)) {
            // What is wrong with one is told by whoever needs it.
            if let Ok(Some(bytes)) = bytes {
                let _ = self.keep_schema(*id, &bytes);
            }
        }
        Ok(commit)
    }

    /// The objects of a commit's schema, as far as they are known, as a ref entry names them.
    pub(crate) fn schemas_of(&self, commit: &ObjectId) -> Vec<ObjectId> {
        let commit = self.commits.get(commit);
        commit.map_or(Vec::new(), |commit| self.schema_objects(commit.schema))
    }

    /// A schema, and the one that it is stored as changes of, if that is known.
    pub(crate) fn schema_objects(&self, id: ObjectId) -> Vec<ObjectId> {
        let base = match self.objects.get(&id).as_deref() {
            Some(SchemaObject::Changes { base, .. }) => Some(*base),
            _ => None,
        };
        std::iter::once(id).chain(base).collect()
    }

    /// Keeps a commit that was just written.
    pub(crate) fn keep_commit(&self, id: ObjectId, commit: Commit) -> Arc<Commit> {
        self.commits.keep(id, commit)
    }

    async fn schema_object(&self, desk: &Desk, id: ObjectId) -> Result<Arc<SchemaObject>> {
        if let Some(object) = self.objects.get(&id) {
            return Ok(object);
        }
        let wanted = [(ObjectKind::Schema, id, SCHEMA_BYTES_MAX)];
        let bytes = get_all(desk, &wanted).await?.pop().flatten();
        let bytes = bytes.ok_or_else(|| missing(ObjectKind::Schema, &id))?;
        self.keep_schema(id, &bytes)
    }

    /// Keeps a schema object that was read or is about to be written.
    pub(crate) fn keep_schema(&self, id: ObjectId, bytes: &[u8]) -> Result<Arc<SchemaObject>> {
        let object = SchemaObject::parse(bytes);
        let object =
            object.map_err(|error| Error::from(error).of_object(&ObjectKind::Schema.key(&id)))?;
        Ok(self.objects.keep(id, object))
    }

    /// A schema, and the object and the changes that it is stored as.
    pub(crate) async fn schema(&self, desk: &Desk, id: ObjectId) -> Result<Arc<TableSchema>> {
        if let Some(schema) = self.schemas.get(&id) {
            return Ok(schema);
        }
        let schema = match &*self.schema_object(desk, id).await? {
            SchemaObject::Whole(schema) => schema.clone(),
            SchemaObject::Changes { base, alters } => {
                let named = |error: tarsia_table_meta::Error| {
                    Error::corrupt(error.to_string()).of_object(&ObjectKind::Schema.key(&id))
                };
                match &*self.schema_object(desk, *base).await? {
                    SchemaObject::Whole(schema) => Arc::new(schema.altered(alters).map_err(named)?),
                    SchemaObject::Changes { .. } => {
                        let what = format!("its base {base} is no whole schema");
                        return Err(Error::corrupt(what).of_object(&ObjectKind::Schema.key(&id)));
                    }
                }
            }
        };
        Ok(self.schemas.keep(id, schema))
    }

    /// The whole schema that a schema is stored as changes of; `None` if it is whole itself.
    pub(crate) async fn schema_base(&self, desk: &Desk, id: ObjectId) -> Result<Option<ObjectId>> {
        Ok(match &*self.schema_object(desk, id).await? {
            SchemaObject::Whole(_) => None,
            SchemaObject::Changes { base, .. } => Some(*base),
        })
    }

    /// The object of a schema after changes.
    pub(crate) async fn altered(
        &self,
        desk: &Desk,
        id: ObjectId,
        more: &[tarsia_table_meta::Alter],
    ) -> Result<SchemaObject> {
        let (base, mut alters) = match &*self.schema_object(desk, id).await? {
            SchemaObject::Whole(_) => (id, Vec::new()),
            SchemaObject::Changes { base, alters } => (*base, alters.clone()),
        };
        alters.extend_from_slice(more);
        let schema = self.schema(desk, id).await?.altered(more)?;
        Ok(match alters.len() > limits::ALTERS_MAX {
            true => SchemaObject::Whole(Arc::new(schema)),
            false => SchemaObject::Changes { base, alters },
        })
    }

    /// Manifests, read at the same time.
    pub(crate) async fn manifests(
        &self,
        desk: &Desk,
        rows: &[ManifestRow],
    ) -> Result<Vec<Arc<ManifestFile>>> {
        // A manifest may have several rows, which differ in their base.
        let kept = |row: &ManifestRow| self.manifests.get(&row.id).filter(|it| it.row() == row);
        let absent: Vec<&ManifestRow> = rows.iter().filter(|row| kept(row).is_none()).collect();
        let wanted: Vec<_> = absent
            .iter()
            .map(|row| (ObjectKind::Manifest, row.id, row.bytes))
            .collect();
        let got = get_all(desk, &wanted).await?;
        let mut opened = HashMap::new();
        for (row, bytes) in absent.into_iter().zip(got) {
            let bytes = bytes.ok_or_else(|| missing(ObjectKind::Manifest, &row.id))?;
            let file = ManifestFile::parse(bytes, row).map_err(|error| {
                Error::from(error).of_object(&ObjectKind::Manifest.key(&row.id))
            })?;
            opened.insert((row.id, row.seq_base), self.manifests.keep(row.id, file));
        }
        let files = rows.iter().map(|row| {
            let file = opened
                .get(&(row.id, row.seq_base))
                .cloned()
                .or_else(|| kept(row));
            file.ok_or_else(|| missing(ObjectKind::Manifest, &row.id))
        });
        files.collect()
    }
}

fn missing(kind: ObjectKind, id: &ObjectId) -> Error {
    let what = format!("the {} is missing", kind.name());
    Error::corrupt(what).of_object(&kind.key(id))
}

/// Reads objects at the same time and compares their digests.
async fn get_all(
    desk: &Desk,
    wanted: &[(ObjectKind, ObjectId, u64)],
) -> Result<Vec<Option<Vec<u8>>>> {
    get_each(desk, wanted).await?.into_iter().collect()
}

/// Reads objects at the same time. An object whose bytes have another digest is an error of its own; one of the store
/// ends the whole.
async fn get_each(
    desk: &Desk,
    wanted: &[(ObjectKind, ObjectId, u64)],
) -> Result<Vec<Result<Option<Vec<u8>>>>> {
    let needs = wanted.iter().map(|(kind, id, bytes_max)| Need::Get {
        key: kind.key(id),
        bytes_max: *bytes_max,
    });
    let answers = desk.ask(needs.collect()).await;
    let each = answers
        .into_iter()
        .zip(wanted)
        .map(|(answer, (kind, id, _))| match answer {
            Answer::Got(Some(bytes)) if ObjectId::of(&bytes) != *id => {
                let what = "its bytes have another digest than its name";
                Ok(Err(Error::corrupt(what).of_object(&kind.key(id))))
            }
            Answer::Got(bytes) => Ok(Ok(bytes)),
            other => Err(unexpected(other)),
        });
    each.collect()
}

/// The error of an answer that is none to what was asked.
pub(crate) fn unexpected(answer: Answer) -> Error {
    match answer {
        Answer::Failed(error) => error.into(),
        _ => Error::new(
            ErrorKind::Store,
            "the store gave another answer than was asked for",
        ),
    }
}
