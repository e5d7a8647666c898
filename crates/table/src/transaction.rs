//! Transactions: changes that are made with a state in view, and committed once.

mod in_order;
mod update;
mod update_by;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{RecordBatch, RecordBatchReader};
use tarsia::RowSet;
use tarsia_filter::Expr;
use tarsia_table_meta::names::ObjectKind;
use tarsia_table_meta::{
    Alter, Entry, EntryKind, EntryOp, FieldId, FileId, ObjectId, Operation, Partition,
    Partitioning, RefEntry, TableSchema, TxnId, entries_from_bytes, entries_to_bytes,
};

use crate::deletes::deletes;
use crate::drive::drive;
use crate::error::{Error, ErrorKind, Result};
use crate::lease::Age;
use crate::origins::{names_of, own_rows, set_of};
use crate::plan::PlannedFile;
use crate::protocol::{Committed, Draft, Wish, Work, commit};
use crate::scan::{Origin, by_origin, matching_rows};
use crate::snapshot::Snapshot;
use crate::spec::{AlterField, CommitInfo, said};
use crate::steps::{Need, Steps};
use crate::table_file::TableFile;
use crate::write::{FileOptions, RowWriter};

pub use update_by::{Matched, Unmatched};

/// Descriptions of files that a task wrote, as bytes that can be sent to the process that commits them.
///
/// The files are in the table's store already. Nobody sees their rows until they are committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entries(Vec<u8>);

impl Entries {
    /// Takes bytes that [`Entries::as_bytes`] returned. They are checked when they are added to a transaction.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Files that a transaction has written so far: of rows that it adds, and of new values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Written {
    /// Number of the files.
    pub files: u64,
    /// Bytes of the files.
    pub bytes: u64,
}

/// Rows of a file that were found by their names, and all that are not deleted, by their places in the file.
struct FoundRows {
    planned: Arc<PlannedFile>,
    rows: RowSet,
    live: RowSet,
}

/// Changes that are made with a state in view. Others see none of them, and then all of them at once.
///
/// A transaction that is dropped leaves files that nothing refers to.
pub struct Transaction {
    snapshot: Snapshot,
    branch: String,
    base: RefEntry,
    txn: TxnId,
    info: CommitInfo,
    options: FileOptions,
    /// The schema with the changes so far, and its object.
    schema: Arc<TableSchema>,
    schema_id: ObjectId,
    n_added_fields: u64,
    alters: Vec<Alter>,
    schemas: Vec<Need>,
    added: Vec<Entry>,
    removed: BTreeMap<FileId, Entry>,
    /// By the file that the rows were first written to.
    deleted: BTreeMap<FileId, (Partition, RowSet)>,
    /// Update files.
    updated: Vec<Entry>,
    written: HashSet<FieldId>,
    /// Fields that updates were computed from, or whose values decided which rows are updated, and the files.
    reads: BTreeMap<FieldId, BTreeSet<FileId>>,
    age: Age,
}

impl Transaction {
    pub(crate) fn new(
        snapshot: Snapshot,
        branch: &str,
        base: RefEntry,
        txn: TxnId,
        info: CommitInfo,
        options: FileOptions,
    ) -> Self {
        Self {
            schema: Arc::new(snapshot.schema().clone()),
            schema_id: snapshot.commit().schema,
            snapshot,
            branch: branch.to_owned(),
            base,
            txn,
            info,
            options,
            n_added_fields: 0,
            alters: Vec::new(),
            schemas: Vec::new(),
            added: Vec::new(),
            removed: BTreeMap::new(),
            deleted: BTreeMap::new(),
            updated: Vec::new(),
            written: HashSet::new(),
            reads: BTreeMap::new(),
            age: Age::begin(),
        }
    }

    /// The state that it has in view.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The ref entry that it began with.
    pub(crate) fn base(&self) -> &RefEntry {
        &self.base
    }

    /// Names the transaction, for [`Table::outcome`](crate::Table::outcome).
    pub fn id(&self) -> TxnId {
        self.txn
    }

    /// Keeps the state in view, and whatever was written since the transaction began, from garbage collection for some
    /// time. Without a pin that holds, a transaction that began more than 12 hours ago is not committed. Returns the id
    /// of the pin, for [`Table::unpin`](crate::Table::unpin).
    ///
    /// # Errors
    /// [`ErrorKind::TooOld`] if it is too late; those of [`Table::pin`](crate::Table::pin).
    pub fn pin(&mut self, lease: Duration) -> Result<TxnId> {
        let shared = self.snapshot.shared();
        (self.age).pin(shared, self.base.commit, lease, &self.info)
    }

    /// Options of the files that it writes.
    pub fn set_file_options(&mut self, options: FileOptions) {
        self.options = options;
    }

    /// Adds rows. Fields are found by name, and each field of the table must be there. Returns the number of rows.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for rows whose fields lack, exceed or contradict the table's, with the field; what
    /// the reader and the store meet.
    pub fn append(&mut self, reader: impl RecordBatchReader) -> Result<u64> {
        let (entries, n_rows) = self.write(reader)?;
        self.added.extend(entries);
        Ok(n_rows)
    }

    /// Writes rows without adding them: for a task whose files another process commits, by [`Transaction::add`].
    ///
    /// # Errors
    /// As [`Transaction::append`].
    pub fn write_entries(&mut self, reader: impl RecordBatchReader) -> Result<Entries> {
        let (mut entries, _) = self.write(reader)?;
        entries.sort_by(Entry::order);
        Ok(Entries(entries_to_bytes(&entries)?))
    }

    /// Adds files that tasks wrote. A task whose entries are added twice is refused.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] for bytes that are no entries; [`ErrorKind::InvalidInput`] for entries of another schema
    /// or partition spec than this transaction has in view, and for a file that was added already.
    pub fn add(&mut self, entries: &Entries) -> Result<()> {
        let entries = entries_from_bytes(&entries.0)?;
        let mut known: HashSet<FileId> = self.added.iter().map(|entry| entry.file).collect();
        let spec = self.snapshot.commit().spec().map_or(0, |spec| spec.id);
        for entry in &entries {
            let bad = |why: &str| {
                Err(Error::invalid(format!(
                    "file {} of a task: {why}",
                    entry.file
                )))
            };
            if entry.op != EntryOp::Add || entry.kind != EntryKind::Data {
                return bad("it holds no rows");
            }
            if entry.schema != Some(self.schema_id) || entry.partition.spec != spec {
                return bad("it was written for another schema than the transaction has");
            }
            if !known.insert(entry.file) {
                return bad("it was added already");
            }
        }
        self.written
            .extend(self.schema.fields().iter().map(|field| field.id));
        self.added.extend(entries);
        Ok(())
    }

    fn write(&mut self, reader: impl RecordBatchReader) -> Result<(Vec<Entry>, u64)> {
        let spec = self.snapshot.commit().spec().cloned().unwrap_or_default();
        let mut writer = RowWriter::new(
            self.snapshot.store().clone(),
            self.schema.clone(),
            self.schema_id,
            Partitioning::new(&spec, &self.schema)?,
            self.options.clone(),
        );
        // A reader without batches has a schema, too.
        writer.write(&RecordBatch::new_empty(reader.schema()))?;
        for batch in reader {
            writer.write(&batch?)?;
        }
        self.written
            .extend(self.schema.fields().iter().map(|field| field.id));
        writer.finish()
    }

    /// Deletes the rows of the state in view for which a condition is true. Files of which all rows go are removed
    /// without being read where their partition proves it. Returns the number of rows.
    ///
    /// Rows that this transaction adds, or that others add meanwhile, stay.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for a condition that does not fit; errors of the store.
    pub fn delete_where(&mut self, filter: &Expr) -> Result<u64> {
        let mut n_rows = 0;
        for planned in self.snapshot.plan(Some(filter))? {
            let file = planned.entry.file;
            if self.removed.contains_key(&file) {
                continue;
            }
            let (rows, live) = matching_rows(&self.snapshot, &planned, filter)?;
            let rows = rows.difference(&self.deleted_of(&planned)?);
            n_rows += rows.len();
            self.delete(&planned, &rows, &live)?;
        }
        Ok(n_rows)
    }

    /// Deletes rows by their names. Returns the number of rows.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a row that is not in the state in view, or that this transaction deleted before;
    /// errors of the store.
    pub fn delete_rows(&mut self, origins: &[Origin]) -> Result<u64> {
        let mut by_file: BTreeMap<FileId, RowSet> = BTreeMap::new();
        for origin in origins {
            let rows = by_file.entry(origin.file).or_default();
            rows.insert_range(origin.position..origin.position.saturating_add(1));
        }
        let mut n_rows = 0;
        for it in self.find_rows(&by_file)? {
            n_rows += it.rows.len();
            self.delete(&it.planned, &it.rows, &it.live)?;
        }
        Ok(n_rows)
    }

    /// Finds rows by their names, file by file. Rows that this transaction deleted before are not there.
    fn find_rows(&self, wanted: &BTreeMap<FileId, RowSet>) -> Result<Vec<FoundRows>> {
        let store = self.snapshot.store();
        let missing = |file: &FileId, row: Option<u64>| {
            let row = row.unwrap_or(0);
            Error::not_found(format!("row {row} of file {file} is not in this state"))
        };
        let files = by_origin(self.snapshot.plan(None)?);
        let mut found: BTreeMap<FileId, FoundRows> = BTreeMap::new();
        for (origin, rows) in wanted {
            let planned = files.get(origin);
            let planned = planned.ok_or_else(|| missing(origin, rows.last()))?;
            let file = planned.entry.file;
            if found.contains_key(&file) {
                continue;
            }
            let live = set_of(&TableFile::live(&self.snapshot, planned)?);
            let left = match self.removed.contains_key(&file) {
                true => RowSet::new(),
                false => live.difference(&self.deleted_of(planned)?),
            };
            let of_file = FoundRows {
                planned: planned.clone(),
                rows: own_rows(store, planned, wanted)?,
                live,
            };
            let there = names_of(store, planned, &left)?;
            let of_planned = planned.origins().iter();
            for (origin, rows) in of_planned.filter_map(|it| wanted.get_key_value(it)) {
                let there = there.get(origin).cloned().unwrap_or_default();
                if !rows.is_subset(&there) {
                    return Err(missing(origin, rows.difference(&there).last()));
                }
            }
            found.insert(file, of_file);
        }
        Ok(found.into_values().collect())
    }

    /// The rows of a file that this transaction deleted, by their places in it.
    fn deleted_of(&self, planned: &PlannedFile) -> Result<RowSet> {
        let of_origin = |origin: &FileId| Some((*origin, self.deleted.get(origin)?.1.clone()));
        let wanted = planned.origins().iter().filter_map(of_origin).collect();
        own_rows(self.snapshot.store(), planned, &wanted)
    }

    fn delete(&mut self, planned: &PlannedFile, rows: &RowSet, live: &RowSet) -> Result<()> {
        let entry = &planned.entry;
        let deleted = self.deleted_of(planned)?.union(rows);
        // Another state may have the rows of a compaction's output elsewhere, so they are deleted one by one.
        if entry.origins.is_empty() && !deleted.is_empty() && live.is_subset(&deleted) {
            self.deleted.remove(&entry.file);
            self.removed.insert(entry.file, entry.clone());
            return Ok(());
        }
        for (origin, rows) in names_of(self.snapshot.store(), planned, rows)? {
            let known = self.deleted.entry(origin).or_insert_with(|| {
                let none = RowSet::new();
                (entry.partition.clone(), none)
            });
            known.1 = known.1.union(&rows);
        }
        Ok(())
    }

    /// Deletes the rows for which a condition is true, and adds others, at once. Returns the numbers of both.
    ///
    /// # Errors
    /// As [`Transaction::delete_where`] and [`Transaction::append`].
    pub fn replace_where(
        &mut self,
        filter: &Expr,
        reader: impl RecordBatchReader,
    ) -> Result<[u64; 2]> {
        Ok([self.delete_where(filter)?, self.append(reader)?])
    }

    /// Changes the schema. Rows that are added after that have the new one.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a field that there is not; [`ErrorKind::InvalidInput`] for changes that contradict
    /// the schema, and for those of a field that rows are partitioned by (other than its name and its place).
    pub fn alter(&mut self, changes: &[AlterField]) -> Result<()> {
        let mut schema = (*self.schema).clone();
        let mut alters = Vec::new();
        let mut n_added = self.n_added_fields;
        for change in changes {
            let alter = change.resolve(&schema, &self.txn, n_added)?;
            n_added += u64::from(matches!(alter, Alter::Add { .. }));
            self.check_partitions(&alter, &schema)?;
            schema = schema.altered(std::slice::from_ref(&alter))?;
            alters.push(alter);
        }
        let id = self.snapshot.commit().schema;
        let all: Vec<Alter> = self.alters.iter().chain(&alters).cloned().collect();
        let shared = self.snapshot.shared();
        let object = {
            let all = all.clone();
            shared.run(|desk, objects| async move { objects.altered(&desk, id, &all).await })?
        };
        let bytes = object.to_bytes()?;
        self.schema_id = ObjectId::of(&bytes);
        shared.objects.keep_schema(self.schema_id, &bytes)?;
        self.schemas.push(Need::Put {
            key: ObjectKind::Schema.key(&self.schema_id),
            bytes: Arc::new(bytes),
        });
        (self.schema, self.alters, self.n_added_fields) = (Arc::new(schema), all, n_added);
        Ok(())
    }

    fn check_partitions(&self, alter: &Alter, schema: &TableSchema) -> Result<()> {
        let mut specs = self
            .snapshot
            .commit()
            .specs
            .iter()
            .flat_map(|spec| &spec.fields);
        let is_source = specs.any(|field| field.source == alter.id());
        match alter {
            Alter::Drop { id } | Alter::Widen { id, .. } if is_source => {
                let name = schema.by_id(*id).map_or("?", |field| field.field.name());
                let what = format!(
                    "rows are partitioned by field `{}`: it stays as it is",
                    name.escape_debug()
                );
                Err(Error::invalid(what))
            }
            _ => Ok(()),
        }
    }

    /// Whether the state in view has a commit of this transaction's [number](CommitInfo::idempotent), or of a higher
    /// one: then the commit will do nothing, and nothing need be written for it.
    pub fn was_committed(&self) -> bool {
        let known = &self.snapshot.commit().idempotence;
        let number = self.info.idempotent.as_ref();
        number.is_some_and(|(application, number)| {
            known.get(application).is_some_and(|known| known >= number)
        })
    }

    /// Counts the files of rows and of new values that the commit will add. Sets of deleted rows are written by the
    /// commit, and are not among them.
    pub fn written(&self) -> Written {
        let entries = || self.added.iter().chain(&self.updated);
        Written {
            files: entries().count() as u64,
            bytes: entries().map(|entry| entry.bytes).sum(),
        }
    }

    /// Whether nothing was changed so far.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty()
            && self.removed.is_empty()
            && self.deleted.is_empty()
            && self.updated.is_empty()
            && self.alters.is_empty()
    }

    /// Commits the changes. What others committed meanwhile is no obstacle unless it changed the same things.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`], which says with what; [`ErrorKind::Unknown`] if no answer of the store says whether the
    /// commit was made; [`ErrorKind::TooOld`], also for a transaction that began more than 12 hours ago without a
    /// [pin](Self::pin); [`ErrorKind::InvalidInput`] if nothing was changed.
    pub fn commit(self) -> Result<Committed> {
        let store = self.snapshot.store().clone();
        drive(&store, self.commit_steps()?)
    }

    /// The protocol of [`Transaction::commit`] as steps, for drivers other than [`drive`].
    ///
    /// # Errors
    /// As [`Transaction::commit`], before anything is asked of the store but sets of deleted rows that are written.
    pub fn commit_steps(self) -> Result<Steps<Result<Committed>>> {
        if self.is_empty() {
            return Err(Error::new(
                ErrorKind::InvalidInput,
                "the transaction changes nothing",
            ));
        }
        self.age.check()?;
        let is_deleting = !self.removed.is_empty() || !self.deleted.is_empty();
        let is_updating = !self.updated.is_empty();
        let op = match (!self.added.is_empty(), is_deleting, is_updating) {
            (false, false, false) => Operation::Alter,
            (true, false, false) => Operation::Append,
            (false, true, false) => Operation::Delete,
            (false, false, true) => Operation::Update,
            _ => Operation::Replace,
        };
        let mut entries = deletes(self.snapshot.store(), &self.deleted)?;
        entries.extend(self.removed.values().map(|entry| entry.removal(0)));
        entries.extend(self.added);
        entries.extend(self.updated);
        let wish = Wish {
            branch: self.branch,
            base: self.base,
            work: Work::Change(Draft {
                op,
                entries,
                alters: self.alters,
                schemas: self.schemas,
                written: self.written,
                reads: self.reads,
            }),
            said: said(self.txn, &self.info),
        };
        let objects = self.snapshot.shared().objects.clone();
        Ok(Steps::new(|desk| commit(desk, objects, wish)))
    }
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transaction")
            .field("id", &self.txn)
            .field("branch", &self.branch)
            .finish()
    }
}
