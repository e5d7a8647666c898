//! Data files of a plan with the newer values of their rows.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, RecordBatch, UInt64Array};
use arrow_select::concat::concat;
use arrow_select::interleave::interleave;
use tarsia::{File, RowSelection};
use tarsia_filter::Expr;
use tarsia_table_meta::{Entry, FieldId, FileId, TableSchema, Target};

use crate::deletes::deleted_rows;
use crate::error::{Error, Result};
use crate::origins::{RowNames, name_columns};
use crate::overlay::{Found, Layer, LayerOf};
use crate::plan::PlannedFile;
use crate::project::{InFile, Projection, are_same, fields_of};
use crate::snapshot::Snapshot;
use crate::source;

/// A condition, and the fields that it looks at.
pub(crate) struct Condition {
    pub(crate) expr: Expr,
    pub(crate) fields: Vec<FieldId>,
    /// These fields, whole: for files that have them in another form.
    projection: Projection,
}

impl Condition {
    pub(crate) fn new(expr: &Expr, schema: &TableSchema) -> Result<Self> {
        let fields = fields_of(expr, schema)?;
        let names = fields.iter().filter_map(|id| schema.by_id(*id));
        let names: Vec<String> = names.map(|field| field.field.name().clone()).collect();
        let projection = Projection::new(schema, Some(&names))?;
        expr.bind(projection.schema())?;
        Ok(Self {
            expr: expr.clone(),
            fields,
            projection,
        })
    }
}

/// A data file that is read.
pub(crate) struct TableFile<'a> {
    snapshot: &'a Snapshot,
    pub(crate) planned: &'a PlannedFile,
    file: File,
    schema: Arc<TableSchema>,
}

/// Options of a scan of one file.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ReadOptions {
    pub(crate) batch_rows: Option<usize>,
    /// Whether batches come with the names of their rows.
    pub(crate) has_names: bool,
    /// Whether batches come with the places of their rows in the file.
    pub(crate) has_numbers: bool,
}

/// Rows of a file as the table has them.
pub(crate) struct Rows {
    pub(crate) batch: RecordBatch,
    /// If they were asked for.
    pub(crate) names: Option<RowNames>,
    /// If they were asked for.
    pub(crate) numbers: Option<UInt64Array>,
}

impl<'a> TableFile<'a> {
    pub(crate) fn open(snapshot: &'a Snapshot, planned: &'a PlannedFile) -> Result<Self> {
        let file = source::open(snapshot.store(), &planned.entry)?;
        Self::of(snapshot, planned, file)
    }

    /// A file that is open.
    pub(crate) fn of(snapshot: &'a Snapshot, planned: &'a PlannedFile, file: File) -> Result<Self> {
        Ok(Self {
            snapshot,
            planned,
            file,
            schema: snapshot.schema_of(&planned.entry)?,
        })
    }

    /// The rows that are not deleted.
    pub(crate) fn live(snapshot: &Snapshot, planned: &PlannedFile) -> Result<RowSelection> {
        let deleted = deleted_rows(snapshot.store(), planned)?;
        Ok(RowSelection::from(0..planned.entry.rows).without(&deleted))
    }

    fn has_updates(&self, fields: &[FieldId]) -> bool {
        let is_met = |id: &FieldId| fields.contains(id);
        let mut updates = self.planned.updates.iter();
        updates.any(|entry| entry.fields.iter().any(is_met))
    }

    /// Whether a filter on these fields means the same in the file alone.
    fn is_as_written(&self, fields: &[FieldId]) -> bool {
        are_same(fields, self.snapshot.schema(), &self.schema) && !self.has_updates(fields)
    }

    /// The rows of a selection that pass a condition.
    pub(crate) fn matching(
        &self,
        condition: &Condition,
        rows: RowSelection,
    ) -> Result<RowSelection> {
        let mut rows = rows;
        // Conditions on fields without newer values are the file's to answer, by zones where they can.
        let mut open: Vec<&Expr> = Vec::new();
        for part in conjuncts(&condition.expr) {
            match self.is_as_written(&fields_of(part, self.snapshot.schema())?) {
                true => {
                    let scan = self.file.scan().selection(rows).filter(part.clone());
                    rows = scan.matching_rows()?;
                }
                false => open.push(part),
            }
        }
        if open.is_empty() || rows.is_empty() {
            return Ok(rows);
        }
        let options = ReadOptions {
            has_numbers: true,
            ..ReadOptions::default()
        };
        let projection = &condition.projection;
        let bound = open.iter().map(|part| part.bind(projection.schema()));
        let bound = bound.collect::<Result<Vec<_>, _>>()?;
        let mut scan = self.scan(projection, rows, options)?;
        let mut passing = Vec::new();
        while let Some(found) = scan.next_rows(projection)? {
            let mut passes = vec![true; found.batch.num_rows()];
            for part in &bound {
                let of_part = part.matches(&found.batch)?;
                for (row, passes) in passes.iter_mut().enumerate() {
                    *passes &= of_part.value(row);
                }
            }
            let numbers = found.numbers.iter().flat_map(|it| it.values().iter());
            let numbers = numbers.zip(passes).filter(|(_, passes)| *passes);
            passing.extend(numbers.map(|(number, _)| *number));
        }
        Ok(RowSelection::from_rows(passing)?)
    }

    /// Reads rows, of which a condition may rule out some.
    pub(crate) fn read(
        &self,
        projection: &Projection,
        condition: Option<&Condition>,
        rows: RowSelection,
        options: ReadOptions,
    ) -> Result<FileScan> {
        let Some(condition) = condition else {
            return self.scan(projection, rows, options);
        };
        let is_plain =
            self.is_as_written(&condition.fields) && !self.has_updates(&projection.ids());
        match is_plain {
            true => {
                let filter = Some(&condition.expr);
                let base = projection.in_file(&self.schema);
                self.base(base, Vec::new(), rows, filter, options)
            }
            false => self.scan(projection, self.matching(condition, rows)?, options),
        }
    }

    /// Reads rows.
    pub(crate) fn scan(
        &self,
        projection: &Projection,
        rows: RowSelection,
        options: ReadOptions,
    ) -> Result<FileScan> {
        let is_compacted = !self.planned.entry.origins.is_empty();
        let ids = projection.ids();
        let mut layers = Vec::new();
        // Of a file with one origin, a dense update replaces the column.
        let mut is_replaced = vec![false; ids.len()];
        for (origin, file) in self.planned.origins().iter().enumerate() {
            let mut is_open = vec![true; ids.len()];
            let mut of_origin = Vec::new();
            for entry in self.planned.updates.iter().rev() {
                let Some(target) = target_of(entry, file) else {
                    continue;
                };
                let has = |place: &usize| {
                    let field = ids.get(*place).is_some_and(|id| entry.fields.contains(id));
                    field && is_open.get(*place).copied().unwrap_or(false)
                };
                let outputs: Vec<usize> = (0..ids.len()).filter(has).collect();
                if outputs.is_empty() {
                    continue;
                }
                if target.dense {
                    for place in &outputs {
                        if let Some(is_open) = is_open.get_mut(*place) {
                            *is_open = false;
                        }
                    }
                }
                of_origin.push(LayerOf {
                    entry,
                    target,
                    origin,
                    outputs,
                });
            }
            if !is_compacted {
                is_replaced = is_open.iter().map(|is_open| !is_open).collect();
            }
            layers.extend(of_origin.into_iter().rev());
        }
        let known = (!is_compacted).then_some(&rows);
        let n_rows = self.planned.entry.rows;
        let open = |of| Layer::open(self.snapshot, projection, of, known, n_rows);
        let layers = layers.into_iter().map(open).collect::<Result<Vec<_>>>()?;
        let is_replaced = |place: usize| is_replaced.get(place).copied().unwrap_or(false);
        let base = projection.part_in_file(&self.schema, |place| !is_replaced(place));
        self.base(base, layers, rows, None, options)
    }

    fn base(
        &self,
        base: InFile,
        layers: Vec<Layer>,
        rows: RowSelection,
        filter: Option<&Expr>,
        options: ReadOptions,
    ) -> Result<FileScan> {
        let mut names = base.names.clone();
        let has_names = options.has_names || !layers.is_empty();
        let is_compacted = !self.planned.entry.origins.is_empty();
        if has_names && is_compacted {
            names.extend(name_columns(&self.file)?);
        }
        let mut scan = self.file.scan().columns(&names).selection(rows);
        if let Some(filter) = filter {
            scan = scan.filter(filter.clone());
        }
        let has_numbers = options.has_numbers || (has_names && !is_compacted);
        if has_numbers {
            scan = scan.with_row_numbers();
        }
        if let Some(rows) = options.batch_rows {
            scan = scan.batch_rows(rows);
        }
        Ok(FileScan {
            scan: scan.build()?,
            columns: base,
            origins: self.planned.origins().to_vec(),
            layers,
            has_names,
            has_hidden: has_names && is_compacted,
            has_numbers,
        })
    }
}

/// Finds the rows of a file that an entry is about. Targets are sorted.
pub(crate) fn target_of<'e>(entry: &'e Entry, file: &FileId) -> Option<&'e Target> {
    let place = entry.targets.binary_search_by(|it| it.file.cmp(file));
    entry.targets.get(place.ok()?)
}

/// The parts of a condition that must all be true.
fn conjuncts(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::And(parts) => parts.iter().flat_map(conjuncts).collect(),
        other => vec![other],
    }
}

/// The scan of one file, with the newer values of its rows.
pub(crate) struct FileScan {
    scan: tarsia::Scan,
    columns: InFile,
    pub(crate) origins: Vec<FileId>,
    layers: Vec<Layer>,
    has_names: bool,
    has_hidden: bool,
    has_numbers: bool,
}

impl FileScan {
    /// The next rows; `None` behind the last one.
    pub(crate) fn next_rows(&mut self, projection: &Projection) -> Result<Option<Rows>> {
        let Some(batch) = self.scan.next() else {
            return Ok(None);
        };
        let batch = batch?;
        let numbers = match self.has_numbers {
            true => Some(numbers_of(&batch)?),
            false => None,
        };
        let names = self.names(&batch, numbers.as_ref())?;
        let batch = match &names {
            Some(names) if !self.layers.is_empty() => self.overlaid(projection, &batch, names)?,
            _ => projection.apply(&self.columns, &batch)?,
        };
        Ok(Some(Rows {
            batch,
            names,
            numbers,
        }))
    }

    fn names(
        &self,
        batch: &RecordBatch,
        numbers: Option<&UInt64Array>,
    ) -> Result<Option<RowNames>> {
        if !self.has_names {
            return Ok(None);
        }
        let missing = || Error::corrupt("a scan without the columns of origins");
        if !self.has_hidden {
            let numbers = numbers.ok_or_else(missing)?;
            return Ok(Some(RowNames::of_numbers(numbers.clone())));
        }
        let hidden = batch.columns().get(self.columns.n_columns..);
        let [origins, positions, ..] = hidden.unwrap_or_default() else {
            return Err(missing());
        };
        RowNames::of_columns(origins.as_ref(), positions.as_ref()).map(Some)
    }

    /// Puts the values of layers over those of a batch.
    fn overlaid(
        &mut self,
        projection: &Projection,
        batch: &RecordBatch,
        names: &RowNames,
    ) -> Result<RecordBatch> {
        let mut found = Vec::with_capacity(self.layers.len());
        for layer in &mut self.layers {
            let mut of_layer = Found::default();
            let origin = layer.origin;
            let mut n_wanted = 0;
            for segment in names.segments.iter().filter(|it| it.origin == origin) {
                let wanted = names.positions_of(&segment.rows);
                layer.find(segment.rows.start, wanted, &mut of_layer)?;
                n_wanted += wanted.len();
            }
            layer.check(n_wanted, &of_layer)?;
            found.push(of_layer);
        }
        let places = 0..projection.schema().fields().len();
        let columns = places.map(|place| self.column(projection, batch, place, &found));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        projection.batch(columns, batch.num_rows())
    }

    fn column(
        &self,
        projection: &Projection,
        batch: &RecordBatch,
        place: usize,
        found: &[Found],
    ) -> Result<ArrayRef> {
        let n_rows = batch.num_rows();
        let layers = self.layers.iter().zip(found);
        let layers =
            layers.filter(|(layer, found)| layer.outputs.contains(&place) && !found.is_empty());
        let mut layers: Vec<(&Layer, &Found)> = layers.collect();
        // What is older than values for all rows does not count.
        let is_whole = |(_, found): &(&Layer, &Found)| found.is_whole(n_rows);
        let whole = layers.iter().rposition(is_whole).map_or(0, |it| it + 1);
        let under = match layers.drain(..whole).next_back() {
            Some((layer, found)) => in_order(layer, found, projection, place)?,
            None => projection.column(place, &self.columns, batch)?,
        };
        let under = match under {
            Some(column) => column,
            None => projection.missing(place, n_rows)?,
        };
        if layers.is_empty() {
            return Ok(under);
        }
        let mut arrays = vec![under];
        let mut rows: Vec<(usize, usize)> = (0..n_rows).map(|row| (0, row)).collect();
        for (layer, found) in layers {
            let first = arrays.len();
            arrays.extend(layer.columns(projection, place, found)?);
            for hit in found.hits() {
                if let Some(row) = rows.get_mut(hit.row) {
                    *row = (first + hit.chunk, hit.at);
                }
            }
        }
        let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
        Ok(interleave(&arrays, &rows)?)
    }
}

/// The column of a layer that has values for all rows of a batch.
fn in_order(
    layer: &Layer,
    found: &Found,
    projection: &Projection,
    place: usize,
) -> Result<Option<ArrayRef>> {
    let columns = layer.columns(projection, place, found)?;
    let parts = columns.iter().zip(found.runs());
    let parts: Vec<ArrayRef> = parts
        .map(|(column, rows)| column.slice(rows.start, rows.len()))
        .collect();
    match parts.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one.clone())),
        _ => {
            let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
            Ok(Some(concat(&parts)?))
        }
    }
}

fn numbers_of(batch: &RecordBatch) -> Result<UInt64Array> {
    let last = batch.columns().last();
    let numbers = last.and_then(|it| it.as_primitive_opt::<UInt64Type>());
    numbers
        .cloned()
        .ok_or_else(|| Error::corrupt("a scan without row numbers"))
}
