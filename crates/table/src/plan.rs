//! Plans: the files of a state that a scan has to read.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use tarsia_filter::{Expr, Filter};
use tarsia_table_meta::{
    Commit, Entry, EntryKind, EntryOp, FieldId, FileId, ManifestFile, Partition, Partitioning,
    TableSchema,
};

use crate::error::{Error, Result};
use crate::objects::Objects;
use crate::steps::Desk;

/// A data file, and what belongs to it.
#[derive(Debug, Clone)]
pub(crate) struct PlannedFile {
    pub(crate) entry: Entry,
    /// Entries with rows that are deleted of it.
    pub(crate) deletes: Vec<Arc<Entry>>,
    /// Entries with newer values of its rows, the oldest first.
    pub(crate) updates: Vec<Arc<Entry>>,
    /// Whether all rows pass the filter, by their partition.
    pub(crate) all_pass: bool,
}

/// Proofs about a filter by the partitions of files.
pub(crate) struct Pruner {
    filter: Option<Filter>,
    /// Ids of the fields of the schema, by place.
    ids: Vec<FieldId>,
    partitionings: HashMap<u32, Partitioning>,
}

/// A verdict on files of some partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) may_pass: bool,
    pub(crate) all_pass: bool,
}

impl Pruner {
    pub(crate) fn new(
        commit: &Commit,
        schema: &TableSchema,
        filter: Option<&Expr>,
    ) -> Result<Self> {
        let filter = filter
            .map(|filter| filter.bind(&schema.arrow()))
            .transpose()?;
        let partitionings = commit.specs.iter().map(|spec| {
            let partitioning = Partitioning::new(spec, schema);
            Ok((
                spec.id,
                partitioning.map_err(|error| Error::corrupt(error.to_string()))?,
            ))
        });
        Ok(Self {
            filter,
            ids: schema.fields().iter().map(|field| field.id).collect(),
            partitionings: partitionings.collect::<Result<_>>()?,
        })
    }

    pub(crate) fn partitioning(&self, spec: u32) -> Result<&Partitioning> {
        let found = self.partitionings.get(&spec);
        found.ok_or_else(|| Error::corrupt(format!("there is no partition spec {spec}")))
    }

    /// Verdicts on runs of files whose partitions lie between two, with both ends.
    pub(crate) fn verdicts(&self, runs: &[[&Partition; 2]]) -> Result<Vec<Verdict>> {
        let anything = Verdict {
            may_pass: true,
            all_pass: self.filter.is_none(),
        };
        let mut verdicts = vec![anything; runs.len()];
        let Some(filter) = &self.filter else {
            return Ok(verdicts);
        };
        for (spec, partitioning) in &self.partitionings {
            let is_of = |run: &[&Partition; 2]| run.iter().all(|it| it.spec == *spec);
            let places: Vec<_> = (0..runs.len())
                .filter(|i| runs.get(*i).is_some_and(is_of))
                .collect();
            let of_spec = places.iter().filter_map(|i| runs.get(*i));
            let of_spec: Vec<[&[u8]; 2]> = of_spec
                .map(|run| run.map(|it| it.values.as_slice()))
                .collect();
            if of_spec.is_empty() || partitioning.spec().fields.is_empty() {
                continue;
            }
            let (mut some, mut every) = (vec![true; places.len()], vec![true; places.len()]);
            for conjunct in filter.conjuncts() {
                let bounds = conjunct.columns().into_iter().map(|place| {
                    let id = self.ids.get(place.field).copied();
                    let id = id.ok_or_else(|| Error::invalid("a filter of another schema"))?;
                    // Rows are not partitioned by fields of structs.
                    match place.path.is_empty() {
                        true => Ok(partitioning.bounds(id, &of_spec)?),
                        false => Ok(None),
                    }
                });
                let bounds = bounds.collect::<Result<Vec<_>>>()?;
                let proof = conjunct.prove(&bounds, of_spec.len())?;
                for i in 0..of_spec.len() {
                    if let (Some(some), Some(every)) = (some.get_mut(i), every.get_mut(i)) {
                        *some &= proof.some_may_pass.value(i);
                        *every &= proof.all_pass.value(i);
                    }
                }
            }
            for ((place, may_pass), all_pass) in places.into_iter().zip(some).zip(every) {
                if let Some(verdict) = verdicts.get_mut(place) {
                    *verdict = Verdict { may_pass, all_pass };
                }
            }
        }
        Ok(verdicts)
    }
}

/// Entries of a state that may matter to a filter.
async fn entries(
    desk: &Desk,
    objects: &Objects,
    commit: &Commit,
    pruner: &Pruner,
) -> Result<Vec<Entry>> {
    let ends: Vec<_> = commit
        .manifests
        .iter()
        .map(|row| [&row.first, &row.last])
        .collect();
    let verdicts = pruner.verdicts(&ends)?;
    let wanted = commit.manifests.iter().zip(verdicts);
    let wanted: Vec<_> = wanted
        .filter(|(_, it)| it.may_pass)
        .map(|(row, _)| row.clone())
        .collect();
    let mut entries: Vec<Entry> = commit
        .entries
        .iter()
        .chain(&commit.own_entries)
        .cloned()
        .collect();
    let files = objects.manifests(desk, &wanted).await?;
    if pruner.filter.is_none() {
        for file in &files {
            entries.extend(file.all_entries()?);
        }
        return Ok(entries);
    }
    for rows in wanted_rows(&files, pruner)? {
        if let Some(file) = files.get(rows.file) {
            entries.extend(file.entries(rows.rows)?);
        }
    }
    Ok(entries)
}

/// Entries of one of several manifests.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileRows {
    file: usize,
    rows: Range<u64>,
}

/// Partitions that are decided together before each is decided by itself.
const PARTITIONS_TOGETHER: usize = 32;

/// Entries of manifests that may matter: first by the sparse indexes, then by the partitions in between. The columns of
/// other entries are not read.
fn wanted_rows(files: &[Arc<ManifestFile>], pruner: &Pruner) -> Result<Vec<FileRows>> {
    let runs: Vec<_> = files.iter().map(|file| file.runs()).collect();
    let places = runs.iter().enumerate();
    let places: Vec<_> = places
        .flat_map(|(file, runs)| runs.iter().enumerate().map(move |(i, run)| (file, i, run)))
        .collect();
    let ends: Vec<_> = places.iter().map(|(_, _, (_, ends))| *ends).collect();
    let mut partitions = Vec::new();
    for ((file, run, _), verdict) in places.iter().zip(pruner.verdicts(&ends)?) {
        if verdict.may_pass
            && let Some(manifest) = files.get(*file)
        {
            partitions.push((*file, manifest.partitions(*run)?));
        }
    }
    let chunks: Vec<_> = partitions
        .iter()
        .flat_map(|(file, runs)| {
            runs.chunks(PARTITIONS_TOGETHER)
                .map(move |chunk| (*file, chunk))
        })
        .collect();
    let ends = chunks.iter().filter_map(|(_, chunk)| {
        let (first, last) = (chunk.first()?, chunk.last()?);
        Some([&first.partition, &last.partition])
    });
    let verdicts = pruner.verdicts(&ends.collect::<Vec<_>>())?;
    let single: Vec<_> = chunks
        .iter()
        .zip(verdicts)
        .filter(|(_, verdict)| verdict.may_pass)
        .flat_map(|((file, chunk), _)| chunk.iter().map(move |run| (*file, run)))
        .collect();
    let ends: Vec<_> = single
        .iter()
        .map(|(_, run)| [&run.partition, &run.partition])
        .collect();
    let mut wanted: Vec<FileRows> = Vec::new();
    for ((file, run), verdict) in single.iter().zip(pruner.verdicts(&ends)?) {
        if !verdict.may_pass {
            continue;
        }
        match wanted.last_mut() {
            Some(last) if last.file == *file && last.rows.end == run.rows.start => {
                last.rows.end = run.rows.end;
            }
            _ => wanted.push(FileRows {
                file: *file,
                rows: run.rows.clone(),
            }),
        }
    }
    Ok(wanted)
}

/// The files that a scan has to read, in the order of their rows.
pub(crate) async fn plan(
    desk: &Desk,
    objects: &Objects,
    commit: &Commit,
    pruner: &Pruner,
) -> Result<Vec<PlannedFile>> {
    let entries = entries(desk, objects, commit, pruner).await?;
    let ends: Vec<_> = entries
        .iter()
        .map(|it| [&it.partition, &it.partition])
        .collect();
    let verdicts = pruner.verdicts(&ends)?;
    // Of the entries of a file the newest one counts.
    let mut newest: HashMap<FileId, (Entry, Verdict)> = HashMap::new();
    for (entry, verdict) in entries
        .into_iter()
        .zip(verdicts)
        .filter(|(_, it)| it.may_pass)
    {
        let is_newer = |known: &Entry| (entry.seq, entry.op) > (known.seq, known.op);
        if newest
            .get(&entry.file)
            .is_none_or(|(known, _)| is_newer(known))
        {
            newest.insert(entry.file, (entry, verdict));
        }
    }
    let mut files = Vec::new();
    let mut overlays: HashMap<FileId, Vec<Arc<Entry>>> = HashMap::new();
    for (entry, verdict) in newest.into_values().filter(|(it, _)| it.op == EntryOp::Add) {
        match entry.kind {
            EntryKind::Data => files.push(PlannedFile {
                entry,
                deletes: Vec::new(),
                updates: Vec::new(),
                all_pass: verdict.all_pass,
            }),
            EntryKind::Deletes | EntryKind::Update => {
                let entry = Arc::new(entry);
                for target in &entry.targets {
                    overlays.entry(target.file).or_default().push(entry.clone());
                }
            }
        }
    }
    for file in &mut files {
        file.take_overlays(&overlays);
    }
    files.sort_by(|one, other| one.entry.order(&other.entry));
    Ok(files)
}

impl PlannedFile {
    /// The files that its rows were first written to: those that a compaction put into it, or itself.
    pub(crate) fn origins(&self) -> &[FileId] {
        match self.entry.origins.is_empty() {
            true => std::slice::from_ref(&self.entry.file),
            false => &self.entry.origins,
        }
    }

    /// Whether a newer entry is about rows of the file. A compaction's output holds all changes up to its number.
    fn is_met_by(&self, entry: &Entry) -> bool {
        match self.entry.folded {
            true => entry.seq > self.entry.seq,
            false => entry.seq >= self.entry.seq,
        }
    }

    fn take_overlays(&mut self, overlays: &HashMap<FileId, Vec<Arc<Entry>>>) {
        let found = self.origins().iter().filter_map(|file| overlays.get(file));
        let mut found: Vec<_> = found
            .flatten()
            .filter(|entry| self.is_met_by(entry))
            .cloned()
            .collect();
        found.sort_by_key(|entry| (entry.seq, entry.ordinal, entry.file));
        // One entry may be about several origins.
        found.dedup_by_key(|entry| entry.file);
        let is_delete = |entry: &Arc<Entry>| entry.kind == EntryKind::Deletes;
        (self.deletes, self.updates) = found.into_iter().partition(is_delete);
    }
}
