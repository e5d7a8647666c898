//! Commits: states of a table, and what was changed to get there.

use std::collections::BTreeMap;

use flatbuffers::FlatBufferBuilder;

use crate::entry::{Entry, ManifestRow, PartitionSpec};
use crate::error::{Error, Result};
use crate::flat::{
    digest_of, read_entry, read_manifest, read_spec, tables, write_entry, write_manifest,
    write_spec,
};
use crate::flat_schema::{check_alter, read_alters, write_alters};
use crate::generated::table as fb;
use crate::ids::{ObjectId, TableId, TxnId};
use crate::limits::{
    ALTERS_MAX, APPLICATION_BYTES_MAX, APPLICATIONS_MAX, CHANGES_MAX, COMMIT_BYTES_MAX,
    INLINE_ENTRIES_MAX, MANIFESTS_MAX, MESSAGE_BYTES_MAX, SPECS_MAX, VERSION_MAJOR, VERSION_MINOR,
};
use crate::schema::Alter;
use crate::sealed::check_text;
use crate::verifier::root_of;

const OBJECT: &str = "commit";

/// The operation of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Made the table.
    Create,
    /// Added rows.
    Append,
    /// Deleted rows.
    Delete,
    /// Gave rows new values.
    Update,
    /// Deleted rows and added others.
    Replace,
    /// Changed the schema.
    Alter,
    /// Changed files alone, and no row.
    Compact,
}

impl Operation {
    /// All operations, by their code.
    pub const ALL: [Self; 7] = [
        Self::Create,
        Self::Append,
        Self::Delete,
        Self::Update,
        Self::Replace,
        Self::Alter,
        Self::Compact,
    ];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Append => "append",
            Self::Delete => "delete",
            Self::Update => "update",
            Self::Replace => "replace",
            Self::Alter => "alter",
            Self::Compact => "compact",
        }
    }

    fn code(self) -> u8 {
        match self {
            Self::Create => 0,
            Self::Append => 1,
            Self::Delete => 2,
            Self::Update => 3,
            Self::Replace => 4,
            Self::Alter => 5,
            Self::Compact => 6,
        }
    }

    /// Whether it changes rows or fields. A compaction does not, so merges skip it.
    pub fn is_logical(self) -> bool {
        self != Self::Compact
    }
}

/// Change of one transaction. A merge repeats the changes of another branch, each under its own id.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Names it.
    pub txn: TxnId,
    /// Its operation.
    pub op: Operation,
    /// Its number, which its entries have, too.
    pub seq: u64,
    /// Changes of the schema.
    pub alters: Vec<Alter>,
}

/// A state of a table, and what was changed to get there.
///
/// The files of the state are those of `manifests`, `entries` and `own_entries`: of the entries of a file the one with
/// the highest seq counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Commit {
    /// The table.
    pub table: TableId,
    /// The commits before it: none for the first, two for a merge, the target first.
    pub parents: Vec<ObjectId>,
    /// 0 for the first, else one more than the highest of its parents.
    pub generation: u64,
    /// Highest seq of the changes in this state.
    pub seq: u64,
    /// The schema object.
    pub schema: ObjectId,
    /// By id. The last one is for new files.
    pub specs: Vec<PartitionSpec>,
    /// Transaction that wrote it.
    pub txn: TxnId,
    /// Its changes, by seq.
    pub changes: Vec<Change>,
    /// Manifests that the changes added, if their entries are too many for `own_entries`. They are part of the state
    /// if `manifests` lists them, or one that they were merged into.
    pub own_manifests: Vec<ManifestRow>,
    /// Entries that the changes added. They are part of the state.
    pub own_entries: Vec<Entry>,
    /// Manifests of the state, the oldest first.
    pub manifests: Vec<ManifestRow>,
    /// Entries of the state that lie in no manifest, besides the own ones.
    pub entries: Vec<Entry>,
    /// The highest number that each application committed.
    pub idempotence: BTreeMap<String, u64>,
    /// Data files of the state.
    pub files: u64,
    /// Rows of its data files, deleted ones counted.
    pub rows: u64,
    /// For people.
    pub message: String,
    /// For people.
    pub author: String,
    /// Name and version of the program.
    pub tool: String,
    /// Milliseconds since 1970 in UTC.
    pub time: u64,
}

impl Commit {
    /// The partition spec of new files.
    pub fn spec(&self) -> Option<&PartitionSpec> {
        self.specs.last()
    }

    /// The object's bytes, which are a function of the commit.
    ///
    /// # Errors
    /// [`Error::InvalidInput`], [`Error::Corrupt`] for what [`Commit::parse`] would refuse, [`Error::LimitExceeded`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.check()?;
        let entries = self.own_entries.iter().chain(&self.entries);
        entries.into_iter().try_for_each(Entry::check)?;
        let manifests = self.own_manifests.iter().chain(&self.manifests);
        manifests.into_iter().try_for_each(ManifestRow::check)?;
        self.specs.iter().try_for_each(PartitionSpec::check)?;
        let alters = self.changes.iter().flat_map(|change| &change.alters);
        alters.into_iter().try_for_each(check_alter)?;
        let bytes = self.write();
        Error::check_limit("COMMIT_BYTES_MAX", bytes.len(), COMMIT_BYTES_MAX)?;
        Ok(bytes)
    }

    fn write(&self) -> Vec<u8> {
        let mut builder = FlatBufferBuilder::new();
        let builder_ref = &mut builder;
        let own_manifests = tables(builder_ref, &self.own_manifests, write_manifest);
        let own_entries = tables(builder_ref, &self.own_entries, write_entry);
        let manifests = tables(builder_ref, &self.manifests, write_manifest);
        let entries = tables(builder_ref, &self.entries, write_entry);
        let specs = tables(builder_ref, &self.specs, write_spec);
        let changes = tables(builder_ref, &self.changes, |builder, change| {
            let alters = write_alters(builder, &change.alters);
            let args = fb::ChangeArgs {
                txn: Some(&fb::Id::new(&change.txn.0)),
                op: change.op.code(),
                seq: change.seq,
                alters,
            };
            fb::Change::create(builder, &args)
        });
        let numbers: Vec<_> = self.idempotence.iter().collect();
        let idempotence = tables(builder_ref, &numbers, |builder, (application, number)| {
            let args = fb::IdempotenceArgs {
                application: Some(builder.create_string(application)),
                number: **number,
            };
            fb::Idempotence::create(builder, &args)
        });
        let parents: Vec<_> = self
            .parents
            .iter()
            .map(|id| fb::Digest::new(&id.0))
            .collect();
        let args = fb::CommitArgs {
            major: VERSION_MAJOR,
            minor: VERSION_MINOR,
            features: 0,
            table: Some(&fb::Id::new(&self.table.0)),
            parents: (!parents.is_empty()).then(|| builder.create_vector(&parents)),
            generation: self.generation,
            seq: self.seq,
            schema: Some(&fb::Digest::new(&self.schema.0)),
            specs,
            txn: Some(&fb::Id::new(&self.txn.0)),
            changes,
            own_manifests,
            own_entries,
            manifests,
            entries,
            idempotence,
            files: self.files,
            rows: self.rows,
            message: Some(builder.create_string(&self.message)),
            author: Some(builder.create_string(&self.author)),
            tool: Some(builder.create_string(&self.tool)),
            time: self.time,
        };
        let root = fb::Commit::create(&mut builder, &args);
        builder.finish(root, None);
        builder.finished_data().to_vec()
    }

    /// Reads a commit of a table.
    ///
    /// # Errors
    /// [`Error::Corrupt`], also for a commit of another table; [`Error::Unsupported`] for another format version, and
    /// for features that this build does not know.
    pub fn parse(bytes: &[u8], table: &TableId) -> Result<Self> {
        if bytes.len() > COMMIT_BYTES_MAX {
            let what = format!("{} bytes, more than {COMMIT_BYTES_MAX}", bytes.len());
            return Err(Error::corrupt(OBJECT, what));
        }
        let commit = root_of::<fb::Commit<'_>>(OBJECT, bytes)?;
        if commit.major() != VERSION_MAJOR {
            let what = format!("format version {}.{}", commit.major(), commit.minor());
            return Err(Error::unsupported(OBJECT, what));
        }
        if commit.features() != 0 {
            let bit = commit.features().trailing_zeros();
            return Err(Error::unsupported(OBJECT, format!("feature {bit}")));
        }
        let of_table = TableId(commit.table().bytes().into());
        if of_table != *table {
            let what = format!("it belongs to table {of_table}, not to {table}");
            return Err(Error::corrupt(OBJECT, what));
        }
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        let numbers = commit.idempotence().into_iter().flatten();
        let numbers: Vec<_> = numbers
            .map(|it| (it.application().to_owned(), it.number()))
            .collect();
        if !numbers.is_sorted_by(|(one, _), (other, _)| one < other) {
            return Err(Error::corrupt(OBJECT, "`idempotence` is not sorted"));
        }
        let read = Self {
            table: of_table,
            parents: commit
                .parents()
                .into_iter()
                .flatten()
                .map(digest_of)
                .collect(),
            generation: commit.generation(),
            seq: commit.seq(),
            schema: digest_of(commit.schema()),
            specs: read_all(Some(commit.specs()), read_spec)?,
            txn: TxnId(commit.txn().bytes().into()),
            changes: read_all(commit.changes(), read_change)?,
            own_manifests: read_all(commit.own_manifests(), read_manifest)?,
            own_entries: read_all(commit.own_entries(), read_entry)?,
            manifests: read_all(commit.manifests(), read_manifest)?,
            entries: read_all(commit.entries(), read_entry)?,
            idempotence: numbers.into_iter().collect(),
            files: commit.files(),
            rows: commit.rows(),
            message: text(commit.message()),
            author: text(commit.author()),
            tool: text(commit.tool()),
            time: commit.time(),
        };
        match read.check() {
            Ok(()) => Ok(read),
            Err(error @ Error::Corrupt { .. }) => Err(error),
            Err(error) => Err(Error::corrupt(OBJECT, error.to_string())),
        }
    }

    /// Refuses lists that no writer writes. What is in them is checked where it is read or written.
    fn check(&self) -> Result<()> {
        let bad = |what: &str| Err(Error::corrupt(OBJECT, what));
        Error::check_limit("SPECS_MAX", self.specs.len(), SPECS_MAX)?;
        Error::check_limit("CHANGES_MAX", self.changes.len(), CHANGES_MAX)?;
        Error::check_limit("APPLICATIONS_MAX", self.idempotence.len(), APPLICATIONS_MAX)?;
        Error::check_limit("MESSAGE_BYTES_MAX", self.message.len(), MESSAGE_BYTES_MAX)?;
        check_text("an author", &self.author)?;
        check_text("the name of a tool", &self.tool)?;
        for manifests in [&self.own_manifests, &self.manifests] {
            Error::check_limit("MANIFESTS_MAX", manifests.len(), MANIFESTS_MAX)?;
        }
        for entries in [&self.own_entries, &self.entries] {
            Error::check_limit("INLINE_ENTRIES_MAX", entries.len(), INLINE_ENTRIES_MAX)?;
        }
        for application in self.idempotence.keys() {
            let n_bytes = application.len();
            Error::check_limit("APPLICATION_BYTES_MAX", n_bytes, APPLICATION_BYTES_MAX)?;
        }
        if self.parents.len() > 2 || self.parents.is_empty() != (self.generation == 0) {
            return bad("`parents` and `generation` contradict each other");
        }
        if self.specs.is_empty() || !self.specs.is_sorted_by(|a, b| a.id < b.id) {
            return bad("`specs` is empty or not sorted");
        }
        if !self.changes.is_sorted_by(|a, b| a.seq < b.seq) {
            return bad("`changes` is not sorted");
        }
        if self
            .changes
            .iter()
            .any(|change| change.alters.len() > ALTERS_MAX)
        {
            return bad("a change has too many `alters`");
        }
        let seqs = self.changes.iter().map(|change| change.seq);
        let entries = self.own_entries.iter().chain(&self.entries);
        let of_entries = entries.map(|entry| entry.seq);
        let manifests = self.own_manifests.iter().chain(&self.manifests);
        let of_manifests = manifests.map(|row| row.seq_high);
        let highest = seqs.chain(of_entries).chain(of_manifests).max();
        match highest.is_some_and(|highest| highest > self.seq) {
            true => bad("something has a higher `seq` than the commit"),
            false => Ok(()),
        }
    }
}

fn read_all<'a, T: flatbuffers::Follow<'a> + 'a, U>(
    items: Option<crate::flat::Tables<'a, T>>,
    read: impl Fn(&T::Inner) -> Result<U>,
) -> Result<Vec<U>>
where
    flatbuffers::ForwardsUOffset<T>: flatbuffers::Follow<'a, Inner = T::Inner>,
{
    let items = items.iter().flat_map(|items| items.iter());
    items.map(|item| read(&item)).collect()
}

fn read_change(change: &fb::Change<'_>) -> Result<Change> {
    let op = Operation::ALL.get(usize::from(change.op()));
    let unknown = || Error::corrupt(OBJECT, format!("`op` {}", change.op()));
    Ok(Change {
        txn: TxnId(change.txn().bytes().into()),
        op: *op.ok_or_else(unknown)?,
        seq: change.seq(),
        alters: read_alters(change.alters())?,
    })
}
