//! Layers of newer values over the rows of a data file.
//!
//! A layer is what one update file has for one origin. Its rows and those of the data file are both in the order of
//! positions, so both are read once, side by side, and no more than a batch of each is in memory.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, RecordBatch, UInt64Array};
use tarsia::{File, RowSelection};
use tarsia_table_meta::{Entry, Target, names};

use crate::error::{Error, Result};
use crate::project::{InFile, Projection};
use crate::snapshot::Snapshot;
use crate::source;

/// If fewer than one in so many rows are wanted, positions are read before values.
const FEW_ROWS: u64 = 4;

/// Newer values of some columns for the rows of one origin.
pub(crate) struct Layer {
    /// Place of the origin among those of the data file.
    pub(crate) origin: usize,
    /// Places of the columns that it has.
    pub(crate) outputs: Vec<usize>,
    /// Whether it has a value for each row.
    is_dense: bool,
    first_row: u64,
    columns: InFile,
    scan: tarsia::Scan,
    /// Key of the object, for errors.
    key: String,
    chunk: Option<Chunk>,
    /// The highest position that was read; positions rise.
    last: Option<u64>,
}

/// A batch of a layer, and the positions of its rows.
#[derive(Clone)]
struct Chunk {
    rows: Arc<RecordBatch>,
    positions: UInt64Array,
    /// Rows that were passed.
    at: usize,
}

/// A row of a data file's batch, and the row of a layer that has its values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hit {
    pub(crate) row: usize,
    pub(crate) chunk: usize,
    pub(crate) at: usize,
}

/// Values that a layer has for a batch.
#[derive(Default)]
pub(crate) struct Found {
    chunks: Vec<Arc<RecordBatch>>,
    /// As long as the first rows of the batch have values, without a gap: their rows in each chunk.
    runs: Vec<Range<usize>>,
    /// Else the rows that have values.
    hits: Vec<Hit>,
}

/// The update of an origin that is to be read.
pub(crate) struct LayerOf<'a> {
    pub(crate) entry: &'a Entry,
    pub(crate) target: &'a Target,
    pub(crate) origin: usize,
    pub(crate) outputs: Vec<usize>,
}

impl Layer {
    /// Opens a layer. `rows` are the wanted positions of the origin, as far as they are known, of `n_rows`.
    pub(crate) fn open(
        snapshot: &Snapshot,
        projection: &Projection,
        of: LayerOf<'_>,
        rows: Option<&RowSelection>,
        n_rows: u64,
    ) -> Result<Self> {
        let LayerOf {
            entry,
            target,
            origin,
            outputs,
        } = of;
        let file = source::open(snapshot.store(), entry)?;
        let schema = snapshot.schema_of(entry)?;
        let columns = projection.part_in_file(&schema, |place| outputs.contains(&place));
        let all = target.first_row..target.first_row.saturating_add(target.rows);
        let mut names = columns.names.clone();
        let selection = match target.dense {
            true => match rows {
                Some(rows) => shifted(rows, target.first_row, &all)?,
                None => RowSelection::from(all),
            },
            false => {
                let positions = position_column(&file)?;
                let few = rows.filter(|rows| rows.len() < n_rows / FEW_ROWS);
                let selection = match few {
                    Some(rows) => rows_at(&file, all, rows)?,
                    None => RowSelection::from(all),
                };
                names.push(positions);
                selection
            }
        };
        let mut scan = file.scan().columns(&names).selection(selection);
        if target.dense {
            scan = scan.with_row_numbers();
        }
        Ok(Self {
            origin,
            outputs,
            is_dense: target.dense,
            first_row: target.first_row,
            columns,
            scan: scan.build()?,
            key: names::data_key(&entry.file),
            chunk: None,
            last: None,
        })
    }

    /// The next batch with rows that were not passed.
    fn chunk(&mut self) -> Result<Option<&mut Chunk>> {
        while self
            .chunk
            .as_ref()
            .is_none_or(|it| it.at >= it.positions.len())
        {
            let Some(batch) = self.scan.next() else {
                return Ok(None);
            };
            let batch = batch?;
            let bad = |what: &str| Error::corrupt(what).of_object(&self.key);
            let keys = batch.columns().get(self.columns.n_columns);
            let keys = keys.filter(|keys| keys.null_count() == 0);
            let keys = keys.and_then(|keys| keys.as_primitive_opt::<UInt64Type>());
            let keys = keys.ok_or_else(|| bad("its positions have another type, or nulls"))?;
            let positions = match self.is_dense {
                true => keys.unary(|row| row.wrapping_sub(self.first_row)),
                false => keys.clone(),
            };
            let rises = positions.values().is_sorted_by(|one, other| one < other);
            let first = positions.values().first().copied();
            if !rises || first.is_some_and(|first| self.last.is_some_and(|last| first <= last)) {
                return Err(bad("its positions do not rise"));
            }
            self.last = positions.values().last().copied().or(self.last);
            self.chunk = Some(Chunk {
                rows: Arc::new(batch),
                positions,
                at: 0,
            });
        }
        Ok(self.chunk.as_mut())
    }

    /// Finds the values of rows with rising positions; the first of them is row `first` of a batch.
    pub(crate) fn find(&mut self, first: usize, wanted: &[u64], found: &mut Found) -> Result<()> {
        let mut done = 0;
        while let Some(next) = wanted.get(done).copied() {
            let Some(chunk) = self.chunk()? else { break };
            let positions = chunk.positions.values();
            let left = positions.get(chunk.at..).unwrap_or_default();
            chunk.at += left.partition_point(|position| *position < next);
            let left = positions.get(chunk.at..).unwrap_or_default();
            let (Some(low), Some(high)) = (left.first().copied(), left.last().copied()) else {
                continue;
            };
            let rest = wanted.get(done..).unwrap_or_default();
            // Wanted rows before the chunk have no value here.
            let skipped = rest.partition_point(|position| *position < low);
            let rest = rest.get(skipped..).unwrap_or_default();
            done += skipped;
            let n_met = rest.partition_point(|position| *position <= high);
            if n_met == 0 {
                continue;
            }
            let met = rest.get(..n_met).unwrap_or_default();
            let rows = chunk.rows.clone();
            let n_before = found.n_hits();
            chunk.at += found.join(first + done, met, left, chunk.at);
            if found.n_hits() > n_before {
                found.chunks.push(rows);
            }
            done += n_met;
        }
        Ok(())
    }

    /// Refuses a dense layer that has values for fewer rows than were asked for.
    pub(crate) fn check(&self, n_wanted: usize, found: &Found) -> Result<()> {
        match self.is_dense && found.n_hits() != n_wanted {
            true => Err(Error::corrupt("it lacks values of rows").of_object(&self.key)),
            false => Ok(()),
        }
    }

    /// The columns of the layer's chunks at a place, as the table has them.
    pub(crate) fn columns(
        &self,
        projection: &Projection,
        place: usize,
        found: &Found,
    ) -> Result<Vec<ArrayRef>> {
        let columns = found.chunks.iter().map(|chunk| {
            let column = projection.column(place, &self.columns, chunk)?;
            column.ok_or_else(|| Error::corrupt("it lacks a field").of_object(&self.key))
        });
        columns.collect()
    }
}

impl Found {
    /// How many rows have values.
    pub(crate) fn n_hits(&self) -> usize {
        self.hits.len() + self.n_run()
    }

    fn n_run(&self) -> usize {
        self.runs.iter().map(Range::len).sum()
    }

    /// Whether no row has a value here.
    pub(crate) fn is_empty(&self) -> bool {
        self.n_hits() == 0
    }

    /// Whether all rows of a batch have values, in order.
    pub(crate) fn is_whole(&self, n_rows: usize) -> bool {
        self.hits.is_empty() && self.n_run() == n_rows
    }

    /// The rows of each chunk with the values of the first rows of the batch.
    pub(crate) fn runs(&self) -> &[Range<usize>] {
        &self.runs
    }

    /// The rows that have values.
    pub(crate) fn hits(&self) -> impl Iterator<Item = Hit> {
        let runs = self.runs.iter().enumerate();
        let runs = runs.flat_map(|(chunk, rows)| rows.clone().map(move |at| (chunk, at)));
        let of_runs = runs.enumerate();
        let of_runs = of_runs.map(|(row, (chunk, at))| Hit { row, chunk, at });
        of_runs.chain(self.hits.iter().copied())
    }

    /// Joins wanted positions with those of a chunk, of which the first is row `at`. Returns the rows that it passed.
    fn join(&mut self, first: usize, wanted: &[u64], positions: &[u64], at: usize) -> usize {
        let chunk = self.chunks.len();
        // What is wanted is mostly all that is there.
        let same = positions.get(..wanted.len()).unwrap_or_default() == wanted;
        if same && self.hits.is_empty() && self.n_run() == first {
            self.runs.push(at..at + wanted.len());
            return wanted.len();
        }
        let mut passed = 0;
        for (row, position) in (first..).zip(wanted) {
            let left = positions.get(passed..).unwrap_or_default();
            passed += left.iter().take_while(|it| *it < position).count();
            if positions.get(passed) == Some(position) {
                let at = at + passed;
                self.hits.push(Hit { row, chunk, at });
                passed += 1;
            }
        }
        passed
    }
}

/// The column with positions of an update file: the first.
pub(crate) fn position_column(file: &File) -> Result<String> {
    let schema = file.schema()?;
    let first = schema.fields().first().map(|field| field.name().clone());
    first.ok_or_else(|| Error::corrupt("an update file has no columns"))
}

/// Positions of a target, of a sparse update, in batches: row of the file, position.
pub(crate) fn each_position(
    file: &File,
    rows: Range<u64>,
    mut found: impl FnMut(&[u64], &[u64]),
) -> Result<()> {
    let names = [position_column(file)?];
    let scan = file.scan().columns(&names).rows(rows).with_row_numbers();
    for batch in scan.build()? {
        let batch = batch?;
        let mut columns = batch.columns().iter().filter_map(|column| {
            let whole = column.null_count() == 0;
            column.as_primitive_opt::<UInt64Type>().filter(|_| whole)
        });
        let (Some(positions), Some(numbers)) = (columns.next(), columns.next()) else {
            return Err(Error::corrupt("positions of another type, or nulls"));
        };
        found(numbers.values(), positions.values());
    }
    Ok(())
}

/// Rows of an update file whose positions are wanted.
fn rows_at(file: &File, all: Range<u64>, wanted: &RowSelection) -> Result<RowSelection> {
    let mut rows = Vec::new();
    each_position(file, all, |numbers, positions| {
        let met = numbers.iter().zip(positions);
        let met = met.filter(|(_, position)| wanted.contains(**position));
        rows.extend(met.map(|(number, _)| *number));
    })?;
    Ok(RowSelection::from_rows(rows)?)
}

/// The rows of a dense update for rows of its target.
fn shifted(rows: &RowSelection, first_row: u64, all: &Range<u64>) -> Result<RowSelection> {
    let runs = rows.runs().map(|run| {
        let start = run.start.saturating_add(first_row).min(all.end);
        start..run.end.saturating_add(first_row).min(all.end)
    });
    Ok(RowSelection::from_ranges(runs)?)
}
