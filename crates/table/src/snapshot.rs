//! States of a table.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use tarsia_filter::Expr;
use tarsia_io::Store;
use tarsia_table_meta::{Commit, Entry, ObjectId, TableSchema};

use crate::drive::drive;
use crate::error::{Error, Result};
use crate::extend::runs_of;
use crate::objects::Objects;
use crate::plan::{PlannedFile, Pruner, plan};
use crate::steps::{Desk, Steps};

/// Parts that a table and all its states share.
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) objects: Arc<Objects>,
}

impl Shared {
    /// Runs work to its end.
    pub(crate) fn run<T, F>(&self, begin: impl FnOnce(Desk, Arc<Objects>) -> F) -> T
    where
        F: Future<Output = T> + Send + 'static,
    {
        let objects = self.objects.clone();
        drive(&self.store, Steps::new(|desk| begin(desk, objects)))
    }
}

/// A state of a table. It never changes; cloning shares it.
#[derive(Clone)]
pub struct Snapshot {
    shared: Arc<Shared>,
    id: ObjectId,
    commit: Arc<Commit>,
    schema: Arc<TableSchema>,
}

impl Snapshot {
    /// Opens the state of a commit. The `schemas` are read at the same time, as those of a ref entry.
    pub(crate) fn open(shared: Arc<Shared>, id: ObjectId, schemas: Vec<ObjectId>) -> Result<Self> {
        let found = shared.run(|desk, objects| async move {
            let commit = objects.commit_with(&desk, id, &schemas).await?;
            let schema = objects.schema(&desk, commit.schema).await?;
            Ok::<_, Error>((commit, schema))
        });
        let (commit, schema) = found?;
        Ok(Self {
            shared,
            id,
            commit,
            schema,
        })
    }

    /// The digest of the commit.
    pub fn id(&self) -> ObjectId {
        self.id
    }

    /// The commit.
    pub fn commit(&self) -> &Commit {
        &self.commit
    }

    /// The fields with their ids.
    pub fn schema(&self) -> &TableSchema {
        &self.schema
    }

    /// The Arrow schema of the rows.
    pub fn arrow_schema(&self) -> SchemaRef {
        self.schema.arrow()
    }

    /// The data files of this state, in the order of their rows; with a filter those that its partitions do not rule
    /// out.
    ///
    /// # Errors
    /// Errors of the store; [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a filter that does not fit.
    pub fn files(&self, filter: Option<&Expr>) -> Result<Vec<Entry>> {
        Ok(self
            .plan(filter)?
            .into_iter()
            .map(|file| file.entry)
            .collect())
    }

    /// How many sorted runs the descriptions of the files lie in. A plan of one partition reads a part of each;
    /// [`Table::compact_metadata`](crate::Table::compact_metadata) makes them one.
    pub fn metadata_runs(&self) -> usize {
        runs_of(&self.commit)
    }

    /// The partition of a file as people read it: `day(time)=2026-05-01`.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt).
    pub fn describe_partition(&self, entry: &Entry) -> Result<String> {
        let pruner = Pruner::new(&self.commit, &self.schema, None)?;
        let partitioning = pruner.partitioning(entry.partition.spec)?;
        Ok(partitioning.describe(&entry.partition.values)?)
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.shared.store
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) fn plan(&self, filter: Option<&Expr>) -> Result<Vec<PlannedFile>> {
        let pruner = Pruner::new(&self.commit, &self.schema, filter)?;
        let commit = self.commit.clone();
        self.shared
            .run(|desk, objects| async move { plan(&desk, &objects, &commit, &pruner).await })
    }

    /// The schema that the names in a file belong to.
    pub(crate) fn schema_of(&self, entry: &Entry) -> Result<Arc<TableSchema>> {
        match entry.schema {
            Some(id) if id == self.commit.schema => Ok(self.schema.clone()),
            Some(id) => self
                .shared
                .run(|desk, objects| async move { objects.schema(&desk, id).await }),
            None => Err(Error::corrupt(format!("file {} has no schema", entry.file))),
        }
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Snapshot").field(&self.id).finish()
    }
}
