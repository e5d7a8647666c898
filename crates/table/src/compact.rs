//! Compaction: small data files of a partition become one, with newer values put in and deleted rows left out.
//!
//! No row changes, and rows keep their names, so a compaction is no obstacle to updates, deletes and merges: what was
//! committed while it ran applies to its output, too.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use tarsia::Writer;
use tarsia_filter::Expr;
use tarsia_table_meta::{Entry, FileId, ObjectId, Operation, Partition, RefEntry, Rule};

use crate::drive::drive;
use crate::error::{Error, Result};
use crate::origins::{origin_at, with_names};
use crate::plan::PlannedFile;
use crate::project::Projection;
use crate::protocol::{Draft, Wish, Work, commit};
use crate::snapshot::Snapshot;
use crate::spec::{CommitInfo, said};
use crate::steps::Steps;
use crate::table::{MAIN, Table};
use crate::table_file::{FileScan, ReadOptions, TableFile};
use crate::write::{FileOptions, put_file};

/// A commit has compactions of about so many bytes.
const COMMIT_BYTES: u64 = 1 << 30;
/// Files of fewer bytes are small.
const SMALL_BYTES: u64 = 64 << 20;

/// Options of [`Table::compact`].
#[derive(Debug, Clone)]
pub struct Compact {
    branch: String,
    small_bytes: u64,
    max_bytes: u64,
    partitions: Option<Expr>,
    files: FileOptions,
}

impl Default for Compact {
    fn default() -> Self {
        Self::new()
    }
}

impl Compact {
    /// A compaction of the branch `main`: of files of less than 64 MiB, and of those that have updates or deletes.
    pub fn new() -> Self {
        Self {
            branch: MAIN.to_owned(),
            small_bytes: SMALL_BYTES,
            max_bytes: u64::MAX,
            partitions: None,
            files: FileOptions::default(),
        }
    }

    /// Compacts another branch.
    #[must_use]
    pub fn branch(mut self, branch: impl Into<String>) -> Self {
        self.branch = branch.into();
        self
    }

    /// Files of fewer bytes are small. Files without updates and deletes that are not small stay as they are.
    #[must_use]
    pub fn small_bytes(mut self, bytes: u64) -> Self {
        self.small_bytes = bytes;
        self
    }

    /// Reads at most so many bytes of data files, and leaves the rest for another time.
    #[must_use]
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Compacts only partitions that a condition does not rule out.
    #[must_use]
    pub fn partitions(mut self, filter: Expr) -> Self {
        self.partitions = Some(filter);
        self
    }

    /// Options of the new files. A file has about as many bytes as [`FileOptions::file_bytes`] says.
    #[must_use]
    pub fn file_options(mut self, options: FileOptions) -> Self {
        self.files = options;
        self
    }
}

/// The work of a compaction, done or to be done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compacted {
    /// The commits that were made.
    pub commits: Vec<ObjectId>,
    /// Data files that were replaced, or are to be.
    pub files_before: u64,
    /// Bytes of these files.
    pub bytes_before: u64,
    /// Data files in their place; one for each group of files where nothing was done yet.
    pub files_after: u64,
    /// Bytes of the new files; 0 if nothing was done.
    pub bytes_after: u64,
    /// Rows of the new files; 0 if nothing was done.
    pub rows: u64,
}

/// Files that become one.
type Group = Vec<Arc<PlannedFile>>;

impl Table {
    /// Puts small data files of a partition together, in their order, with newer values put in and deleted rows left
    /// out. Rows, their names and their values stay the same. The files that are replaced stay for older states.
    ///
    /// What others commit meanwhile is no obstacle, unless it removed one of the files. A commit is made for each GiB,
    /// so work that is interrupted is done so far.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) for a branch that there is not;
    /// [`ErrorKind::Conflict`](crate::ErrorKind::Conflict) if another compaction or a delete removed one of the files;
    /// those of [`Transaction::commit`](crate::Transaction::commit).
    pub fn compact(&self, compact: &Compact, info: &CommitInfo) -> Result<Compacted> {
        let base = self.begin(&compact.branch, info.clone())?;
        let (snapshot, base) = (base.snapshot().clone(), base.base().clone());
        let (groups, all) = groups(&snapshot, compact)?;
        let mut done = Done::new(&all);
        let mut report = Compacted::default();
        for groups in commits_of(groups) {
            let entries = done.compact(&snapshot, &groups, compact, &mut report)?;
            let commit = self.commit_compaction(&base, compact, entries, info)?;
            report.commits.push(commit);
        }
        Ok(report)
    }

    /// The work that [`Table::compact`] would do now. Nothing is written.
    ///
    /// # Errors
    /// As [`Table::compact`], but for conflicts.
    pub fn compaction_due(&self, compact: &Compact) -> Result<Compacted> {
        self.check_rule(&compact.branch, Rule::MergeOnly)?;
        let (groups, _) = groups(&self.at(&compact.branch)?, compact)?;
        let files = || groups.iter().flatten();
        Ok(Compacted {
            files_before: files().count() as u64,
            bytes_before: files().map(|file| file.entry.bytes).sum(),
            files_after: groups.len() as u64,
            ..Compacted::default()
        })
    }

    fn commit_compaction(
        &self,
        base: &RefEntry,
        compact: &Compact,
        entries: Vec<Entry>,
        info: &CommitInfo,
    ) -> Result<ObjectId> {
        // Each commit is a transaction of its own.
        let info = CommitInfo {
            txn: None,
            idempotent: None,
            ..info.clone()
        };
        let wish = Wish {
            branch: compact.branch.clone(),
            base: base.clone(),
            work: Work::Change(Draft {
                op: Operation::Compact,
                entries,
                alters: Vec::new(),
                schemas: Vec::new(),
                written: HashSet::new(),
                reads: BTreeMap::new(),
            }),
            said: said(info.new_txn()?, &info),
        };
        let objects = self.shared().objects.clone();
        let steps = Steps::new(|desk| commit(desk, objects, wish));
        Ok(drive(self.store(), steps)?.commit)
    }
}

/// Groups of files that become one each, and all files.
fn groups(snapshot: &Snapshot, compact: &Compact) -> Result<(Vec<Group>, Group)> {
    let files = snapshot.plan(compact.partitions.as_ref())?;
    let files: Group = files.into_iter().map(Arc::new).collect();
    let mut open: BTreeMap<&Partition, (Group, u64)> = BTreeMap::new();
    let mut groups = Vec::new();
    let mut left = compact.max_bytes;
    for file in &files {
        let n_bytes = file.entry.bytes;
        let is_due = n_bytes < compact.small_bytes || has_overlays(file);
        if !is_due || n_bytes > left {
            continue;
        }
        left -= n_bytes;
        let (group, of_group) = open.entry(&file.entry.partition).or_default();
        if *of_group > 0 && of_group.saturating_add(n_bytes) > compact.files.file_bytes {
            groups.push(std::mem::take(group));
            *of_group = 0;
        }
        group.push(file.clone());
        *of_group = of_group.saturating_add(n_bytes);
    }
    groups.extend(open.into_values().map(|(group, _)| group));
    // One file without updates and deletes would become the same file again.
    groups.retain(|group| group.len() > 1 || group.iter().any(|file| has_overlays(file)));
    Ok((groups, files))
}

fn has_overlays(file: &PlannedFile) -> bool {
    !file.updates.is_empty() || !file.deletes.is_empty()
}

/// Groups by the commit that they belong to.
fn commits_of(groups: Vec<Group>) -> Vec<Vec<Group>> {
    let mut commits: Vec<(Vec<Group>, u64)> = Vec::new();
    for group in groups {
        let n_bytes: u64 = group.iter().map(|file| file.entry.bytes).sum();
        match commits.last_mut() {
            Some((groups, of_commit)) if of_commit.saturating_add(n_bytes) <= COMMIT_BYTES => {
                groups.push(group);
                *of_commit += n_bytes;
            }
            _ => commits.push((vec![group], n_bytes)),
        }
    }
    commits.into_iter().map(|(groups, _)| groups).collect()
}

/// Files whose rows lie in outputs by now, and updates and deletes that are needed until all their targets do.
struct Done {
    /// Files of the state by the files that their rows were first written to.
    holders: HashMap<FileId, FileId>,
    overlays: HashMap<FileId, Arc<Entry>>,
    replaced: HashSet<FileId>,
}

impl Done {
    fn new(files: &[Arc<PlannedFile>]) -> Self {
        let holders = files.iter().flat_map(|file| {
            let origins = file.origins().iter();
            origins.map(|origin| (*origin, file.entry.file))
        });
        let overlays = files
            .iter()
            .flat_map(|file| file.updates.iter().chain(&file.deletes));
        Self {
            holders: holders.collect(),
            overlays: overlays.map(|it| (it.file, it.clone())).collect(),
            replaced: HashSet::new(),
        }
    }

    /// Compacts groups. Returns the entries of a commit.
    fn compact(
        &mut self,
        snapshot: &Snapshot,
        groups: &[Group],
        compact: &Compact,
        report: &mut Compacted,
    ) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for group in groups {
            if let Some(output) = output(snapshot, group, &compact.files)? {
                report.files_after += 1;
                report.bytes_after += output.bytes;
                report.rows += output.rows;
                entries.push(output);
            }
            for file in group {
                report.files_before += 1;
                report.bytes_before += file.entry.bytes;
                self.replaced.insert(file.entry.file);
                entries.push(file.entry.removal(0));
            }
        }
        let holders = &self.holders;
        let replaced = &self.replaced;
        let is_done = |target: &FileId| holders.get(target).is_none_or(|it| replaced.contains(it));
        let (done, left): (Vec<_>, Vec<_>) = std::mem::take(&mut self.overlays)
            .into_values()
            .partition(|entry| entry.targets.iter().all(|target| is_done(&target.file)));
        entries.extend(done.iter().map(|entry| entry.removal(0)));
        self.overlays = left.into_iter().map(|entry| (entry.file, entry)).collect();
        Ok(entries)
    }
}

/// Writes the rows of a group; `None` if all are deleted.
fn output(
    snapshot: &Snapshot,
    group: &[Arc<PlannedFile>],
    files: &FileOptions,
) -> Result<Option<Entry>> {
    let Some(partition) = group.first().map(|file| file.entry.partition.clone()) else {
        return Ok(None);
    };
    let schema = with_names(snapshot.schema());
    let projection = Projection::new(snapshot.schema(), None)?;
    // A file is found by its id, so that is never a fixed one.
    let options = files.write.clone().with_deterministic(false);
    let mut writer = Writer::new(Vec::new(), schema.clone(), options)?;
    let mut origins: Vec<FileId> = Vec::new();
    let mut n_rows = 0_u64;
    let options = ReadOptions {
        has_names: true,
        ..ReadOptions::default()
    };
    for planned in group {
        let live = TableFile::live(snapshot, planned)?;
        let file = TableFile::open(snapshot, planned)?;
        let mut scan: FileScan = file.scan(&projection, live, options)?;
        while let Some(rows) = scan.next_rows(&projection)? {
            let names = rows
                .names
                .ok_or_else(|| Error::corrupt("rows without names"))?;
            let mut numbers: Vec<u32> = Vec::with_capacity(rows.batch.num_rows());
            for segment in &names.segments {
                let origin = origin_at(planned, segment.origin)?;
                let number = place_of(&mut origins, origin)?;
                numbers.extend(std::iter::repeat_n(number, segment.rows.len()));
            }
            let mut columns: Vec<ArrayRef> = rows.batch.columns().to_vec();
            columns.push(Arc::new(UInt32Array::from(numbers)));
            columns.push(Arc::new(names.positions));
            n_rows += rows.batch.num_rows() as u64;
            writer.write(&RecordBatch::try_new(schema.clone(), columns)?)?;
        }
    }
    if n_rows == 0 {
        return Ok(None);
    }
    let (bytes, _) = writer.finish_into()?;
    let commit = snapshot.commit();
    let entry = put_file(snapshot.store(), bytes, partition, Some(commit.schema))?;
    Ok(Some(Entry {
        seq: commit.seq,
        low: commit.seq,
        folded: true,
        origins,
        ..entry
    }))
}

/// The place of an origin. Rows of one follow each other, so it is the last one or a new one.
fn place_of(origins: &mut Vec<FileId>, origin: FileId) -> Result<u32> {
    if origins.last() != Some(&origin) {
        if origins.contains(&origin) {
            return Err(Error::corrupt("rows of an origin do not follow each other"));
        }
        origins.push(origin);
    }
    u32::try_from(origins.len() - 1).map_err(|_| Error::invalid("more than 2^32 origins"))
}
