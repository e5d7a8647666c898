//! Names of rows: the file that a row was first written to, and its position there.
//!
//! A file that was appended names its rows by their places. The output of a compaction has two more columns at its end,
//! which users do not see: a number among the origins of its entry, and the position there. Rows of one origin follow
//! each other, and their positions rise.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use tarsia::{File, RowSelection, RowSet};
use tarsia_io::Store;
use tarsia_table_meta::{FileId, TableSchema};

use crate::error::{Error, Result};
use crate::plan::PlannedFile;
use crate::source;

/// Rows of a batch that have one origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Place of the origin among those of the file.
    pub(crate) origin: usize,
    /// Rows of the batch.
    pub(crate) rows: Range<usize>,
}

/// Names of the rows of a batch.
#[derive(Debug, Clone)]
pub(crate) struct RowNames {
    pub(crate) segments: Vec<Segment>,
    /// Positions in the origins.
    pub(crate) positions: UInt64Array,
}

impl RowNames {
    /// The names of rows of a file that was appended.
    pub(crate) fn of_numbers(positions: UInt64Array) -> Self {
        let rows = 0..positions.len();
        let segment = Segment { origin: 0, rows };
        Self {
            segments: vec![segment],
            positions,
        }
    }

    /// Reads the names from the two columns of a compaction's output.
    pub(crate) fn of_columns(origins: &dyn Array, positions: &dyn Array) -> Result<Self> {
        let bad = || Error::corrupt("the columns of origins have other types, or nulls");
        let whole = origins.null_count() == 0 && positions.null_count() == 0;
        let origins = origins.as_primitive_opt::<UInt32Type>();
        let positions = positions.as_primitive_opt::<UInt64Type>();
        let (Some(origins), Some(positions), true) = (origins, positions, whole) else {
            return Err(bad());
        };
        let mut segments: Vec<Segment> = Vec::new();
        for (row, origin) in origins.values().iter().enumerate() {
            let origin = *origin as usize;
            match segments.last_mut() {
                Some(last) if last.origin == origin => last.rows.end = row + 1,
                _ => segments.push(Segment {
                    origin,
                    rows: row..row + 1,
                }),
            }
        }
        Ok(Self {
            segments,
            positions: positions.clone(),
        })
    }

    /// Positions of rows of the batch.
    pub(crate) fn positions_of(&self, rows: &Range<usize>) -> &[u64] {
        self.positions
            .values()
            .get(rows.clone())
            .unwrap_or_default()
    }
}

/// A schema with two more columns at its end, for the output of a compaction.
pub(crate) fn with_names(schema: &TableSchema) -> SchemaRef {
    let arrow = schema.arrow();
    let mut fields: Vec<_> = arrow.fields().iter().cloned().collect();
    let hidden = [
        ("_origin", DataType::UInt32),
        ("_position", DataType::UInt64),
    ];
    for (name, data_type) in hidden {
        let name = free_name(name, |name| schema.by_name(name).is_some());
        fields.push(Arc::new(Field::new(name, data_type, false)));
    }
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// A name that nothing else has: with as many underscores in front as it takes.
pub(crate) fn free_name(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let mut name = name.to_owned();
    while is_taken(&name) {
        name.insert(0, '_');
    }
    name
}

/// Names of the two columns of a compaction's output.
pub(crate) fn name_columns(file: &File) -> Result<[String; 2]> {
    let schema = file.schema()?;
    let mut last = schema.fields().iter().rev();
    match (last.next(), last.next()) {
        (Some(positions), Some(origins)) => Ok([origins.name().clone(), positions.name().clone()]),
        _ => Err(Error::corrupt("it has no columns of origins")),
    }
}

/// Reads the names of all rows of a compaction's output: calls `found` with the first row of each batch and the names.
fn each_name(
    store: &Arc<dyn Store>,
    planned: &PlannedFile,
    mut found: impl FnMut(&[u64], &RowNames) -> Result<()>,
) -> Result<()> {
    let file = source::open(store, &planned.entry)?;
    let names = name_columns(&file)?;
    for batch in file.scan().columns(&names).with_row_numbers().build()? {
        let batch: RecordBatch = batch?;
        let [origins, positions, numbers] = batch.columns() else {
            return Err(Error::corrupt("a scan without row numbers"));
        };
        let numbers = numbers
            .as_primitive_opt::<UInt64Type>()
            .ok_or_else(|| Error::corrupt("a scan without row numbers"))?;
        found(
            numbers.values(),
            &RowNames::of_columns(origins.as_ref(), positions.as_ref())?,
        )?;
    }
    Ok(())
}

/// The rows of a file that have some of these names, by their places in it.
pub(crate) fn own_rows(
    store: &Arc<dyn Store>,
    planned: &PlannedFile,
    wanted: &BTreeMap<FileId, RowSet>,
) -> Result<RowSet> {
    if planned.entry.origins.is_empty() {
        return Ok(wanted.get(&planned.entry.file).cloned().unwrap_or_default());
    }
    let sets: Vec<_> = planned
        .origins()
        .iter()
        .map(|origin| wanted.get(origin))
        .collect();
    let mut own = RowSet::new();
    if sets.iter().all(Option::is_none) {
        return Ok(own);
    }
    each_name(store, planned, |numbers, names| {
        for segment in &names.segments {
            let Some(set) = sets.get(segment.origin).copied().flatten() else {
                continue;
            };
            let numbers = numbers.get(segment.rows.clone()).unwrap_or_default();
            let positions = names.positions_of(&segment.rows);
            for (number, position) in numbers.iter().zip(positions) {
                if set.contains(*position) {
                    own.insert_range(*number..number.saturating_add(1));
                }
            }
        }
        Ok(())
    })?;
    Ok(own)
}

/// The names of some rows of a file.
pub(crate) fn names_of(
    store: &Arc<dyn Store>,
    planned: &PlannedFile,
    rows: &RowSet,
) -> Result<BTreeMap<FileId, RowSet>> {
    let mut found: BTreeMap<FileId, RowSet> = BTreeMap::new();
    if rows.is_empty() {
        return Ok(found);
    }
    if planned.entry.origins.is_empty() {
        found.insert(planned.entry.file, rows.clone());
        return Ok(found);
    }
    each_name(store, planned, |numbers, names| {
        for segment in &names.segments {
            let origin = origin_at(planned, segment.origin)?;
            let set = found.entry(origin).or_default();
            let numbers = numbers.get(segment.rows.clone()).unwrap_or_default();
            let positions = names.positions_of(&segment.rows);
            for (number, position) in numbers.iter().zip(positions) {
                if rows.contains(*number) {
                    set.insert_range(*position..position.saturating_add(1));
                }
            }
        }
        Ok(())
    })?;
    found.retain(|_, rows| !rows.is_empty());
    Ok(found)
}

/// The origin at a place.
pub(crate) fn origin_at(planned: &PlannedFile, place: usize) -> Result<FileId> {
    let origin = planned.origins().get(place).copied();
    origin.ok_or_else(|| {
        let what = format!("its rows have origin {place}, which its entry lacks");
        Error::corrupt(what).of_object(&tarsia_table_meta::names::data_key(&planned.entry.file))
    })
}

/// The places of rows of each origin in a file.
pub(crate) fn segments(
    store: &Arc<dyn Store>,
    planned: &PlannedFile,
) -> Result<Vec<(FileId, Range<u64>)>> {
    if planned.entry.origins.is_empty() {
        return Ok(vec![(planned.entry.file, 0..planned.entry.rows)]);
    }
    let mut found: Vec<(FileId, Range<u64>)> = Vec::new();
    each_name(store, planned, |numbers, names| {
        for segment in &names.segments {
            let origin = origin_at(planned, segment.origin)?;
            let numbers = numbers.get(segment.rows.clone()).unwrap_or_default();
            let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else {
                continue;
            };
            let end = last.saturating_add(1);
            let is_known = found.iter().any(|(known, _)| *known == origin);
            match found.last_mut() {
                Some((known, rows)) if *known == origin => rows.end = end,
                _ if is_known => {
                    return Err(Error::corrupt("rows of an origin do not follow each other"));
                }
                _ => found.push((origin, *first..end)),
            }
        }
        Ok(())
    })?;
    Ok(found)
}

/// The rows of a selection as a set.
pub(crate) fn set_of(rows: &RowSelection) -> RowSet {
    let mut set = RowSet::new();
    rows.runs().for_each(|run| set.insert_range(run));
    set
}
