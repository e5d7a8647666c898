//! Updates of columns. No data file is rewritten: new values lie in files of their own.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchReader, UInt64Array};
use arrow_schema::{ArrowError, FieldRef, SchemaRef};
use arrow_select::interleave::interleave;
use tarsia::{RowSelection, RowSet};
use tarsia_filter::{Expr, Literal};
use tarsia_table_meta::{Entry, FieldId, FileId, Partition, TableField};

use super::in_order::{Emit, Piece, in_order, threads_for};
use super::{FoundRows, Transaction};
use crate::error::{Error, Result};
use crate::origins::{names_of, segments};
use crate::plan::PlannedFile;
use crate::project::{Projection, fields_of};
use crate::scan::{FILE_COLUMN, Origin, POSITION_COLUMN, matching_rows};
use crate::snapshot::Snapshot;
use crate::spec::AlterField;
use crate::table_file::{ReadOptions, TableFile};
use crate::update::{UpdateFields, UpdateWriter};

/// Rows of a piece of values that are all the same.
const PIECE_ROWS: usize = 65_536;

/// Rows whose values one thread computes; files of more are split.
const TASK_ROWS: u64 = 1 << 18;

/// Rows of a file that were first written to one file.
struct Unit {
    origin: FileId,
    planned: Arc<PlannedFile>,
    /// Their places in the file.
    rows: Range<u64>,
}

/// Rows of one origin that get the same values.
struct Chosen {
    rows: RowSet,
    /// Rows of the file, if all that are not deleted are chosen.
    dense: Option<u64>,
}

/// Where the new values of a row are: its name, a batch, a row of it.
type Placed = (Origin, usize, usize);

/// Rows of one origin and where their new values are, in the order of their positions.
#[derive(Debug, Default)]
pub(super) struct PlacedRows {
    pub(super) rows: Vec<Placed>,
    /// Rows of the file, if all that are not deleted are there.
    pub(super) dense: Option<u64>,
}

impl Transaction {
    /// Gives the rows of the state in view for which a condition is true new values. Returns the number of rows.
    ///
    /// Rows that this transaction adds, or that others add meanwhile, stay. The commit is refused if others meanwhile
    /// changed the values that the condition looks at, or the ones that are written.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) for a field that there is not;
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a condition that does not fit, for a value that
    /// the type of its field does not have, and for a field that rows are partitioned by; errors of the store.
    pub fn update_where(&mut self, filter: &Expr, values: &[(&str, Literal)]) -> Result<u64> {
        let names: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
        let of = self.update_fields(&names)?;
        let arrays = of.fields.iter().zip(values).map(|(field, (_, value))| {
            let array = value.to_array(field.field.data_type());
            let name = field.field.name().escape_debug();
            array.map_err(|error| Error::invalid(format!("field `{name}`: {error}")))
        });
        let arrays = arrays.collect::<Result<Vec<ArrayRef>>>()?;
        of.check(&arrays, 1)?;
        let looked_at = fields_of(filter, self.snapshot.schema())?;
        let mut chosen: BTreeMap<Partition, BTreeMap<FileId, Chosen>> = BTreeMap::new();
        let mut n_rows = 0;
        for planned in self.snapshot.plan(Some(filter))? {
            if self.removed.contains_key(&planned.entry.file) {
                continue;
            }
            self.note_reads(&looked_at, &planned);
            let (rows, live) = matching_rows(&self.snapshot, &planned, filter)?;
            n_rows += rows.len();
            let is_plain = planned.entry.origins.is_empty();
            let is_all = is_plain && !rows.is_empty() && live.is_subset(&rows);
            let of_partition = chosen.entry(planned.entry.partition.clone()).or_default();
            for (origin, rows) in names_of(self.snapshot.store(), &planned, &rows)? {
                let dense = is_all.then_some(planned.entry.rows);
                of_partition.insert(origin, Chosen { rows, dense });
            }
        }
        for (partition, files) in chosen {
            let mut writers = Writers::new(&of, &partition);
            for (origin, chosen) in files {
                writers.begin(origin, chosen.dense.is_some())?;
                for positions in pieces(&chosen.rows) {
                    let zeros = UInt64Array::from(vec![0; positions.len()]);
                    let columns = arrays.iter();
                    let columns =
                        columns.map(|it| arrow_select::take::take(it.as_ref(), &zeros, None));
                    writers.write(&positions, &columns.collect::<Result<Vec<_>, _>>()?)?;
                }
                writers.end(chosen.dense)?;
            }
            self.updated.extend(writers.finish()?);
        }
        Ok(n_rows)
    }

    /// Gives rows new values, by their names: the columns [`FILE_COLUMN`] and [`POSITION_COLUMN`] as
    /// [`with_origins`](crate::ScanBuilder::with_origins) has them, and columns with the names of fields. All rows are
    /// in memory. Returns the number of rows.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) for a row that is not in the state in view, or that this
    /// transaction deleted; [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a row that is there twice,
    /// and columns as in [`Transaction::update_where`]; errors of the reader and of the store.
    pub fn update_rows(&mut self, reader: impl RecordBatchReader) -> Result<u64> {
        let schema = reader.schema();
        let [files, positions] = name_places(&schema)?;
        let is_value = |place: &usize| *place != files && *place != positions;
        let places: Vec<usize> = (0..schema.fields().len()).filter(is_value).collect();
        let names = places
            .iter()
            .filter_map(|place| schema.fields().get(*place));
        let names: Vec<&str> = names.map(|field| field.name().as_str()).collect();
        let of = self.update_fields(&names)?;
        let mut batches = Vec::new();
        let mut rows: Vec<Placed> = Vec::new();
        for batch in reader {
            let batch = batch?;
            let columns: Vec<ArrayRef> =
                places.iter().map(|it| batch.column(*it).clone()).collect();
            of.check(&columns, batch.num_rows())?;
            let origins = origins_in(&batch, files, positions)?;
            let place = batches.len();
            rows.extend((0..).zip(origins).map(|(row, origin)| (origin, place, row)));
            batches.push(columns);
        }
        rows.sort_unstable();
        let twice = rows.windows(2).find_map(|pair| match pair {
            [(one, ..), (other, ..)] if one == other => Some(one),
            _ => None,
        });
        if let Some(origin) = twice {
            let (row, file) = (origin.position, origin.file);
            return Err(Error::invalid(format!(
                "row {row} of file {file} is there twice"
            )));
        }
        let mut wanted: BTreeMap<FileId, RowSet> = BTreeMap::new();
        for (origin, ..) in &rows {
            let set = wanted.entry(origin.file).or_default();
            set.insert_range(origin.position..origin.position.saturating_add(1));
        }
        let mut partitions: BTreeMap<Partition, Vec<PlacedRows>> = BTreeMap::new();
        let found = self.find_rows(&wanted)?;
        let found = found.iter().flat_map(|it| {
            let origins = it.planned.origins().iter();
            origins.map(move |origin| (*origin, it))
        });
        let found: HashMap<FileId, &FoundRows> = found.collect();
        for of_file in rows.chunk_by(|(one, ..), (other, ..)| one.file == other.file) {
            let file = of_file.first().map(|(origin, ..)| origin.file);
            if let Some(found) = file.and_then(|file| found.get(&file)) {
                let entry = &found.planned.entry;
                let is_all = entry.origins.is_empty() && found.rows.len() == found.live.len();
                let of_file = PlacedRows {
                    rows: of_file.to_vec(),
                    dense: is_all.then_some(entry.rows),
                };
                let partition = entry.partition.clone();
                partitions.entry(partition).or_default().push(of_file);
            }
        }
        for (partition, files) in partitions {
            let mut writers = Writers::new(&of, &partition);
            for of_file in &files {
                write_placed(&mut writers, of_file, &batches)?;
            }
            self.updated.extend(writers.finish()?);
        }
        Ok(rows.len() as u64)
    }

    /// Adds a field behind the others, with values that are computed from other columns: `values` gets batches of
    /// these columns and returns as many values. It is called on several threads at once, in any order. Rows that
    /// others add meanwhile have null. No data file is read beyond these columns, and none is written. Returns the
    /// number of rows.
    ///
    /// # Errors
    /// As [`Transaction::alter`] and [`Transaction::update_column`].
    pub fn add_column(
        &mut self,
        field: impl Into<FieldRef>,
        columns: &[&str],
        values: impl Fn(&RecordBatch) -> Result<ArrayRef, ArrowError> + Sync,
    ) -> Result<u64> {
        let field: FieldRef = field.into();
        let projection = self.projection(columns)?;
        self.alter(&[AlterField::add(field.clone())])?;
        self.update_all(field.name(), &projection, values)
    }

    /// Gives all rows of the state in view new values of a field, computed from columns (of which the field may be
    /// one): `values` gets batches of these columns and returns as many values. It is called on several threads at
    /// once, in any order. Returns the number of rows.
    ///
    /// The commit is refused if others meanwhile changed values of the field or of these columns.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) for fields that there are not;
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for values of another type or number, for nulls that
    /// the field does not allow, and for a field that rows are partitioned by; errors of `values` and of the store.
    pub fn update_column(
        &mut self,
        name: &str,
        columns: &[&str],
        values: impl Fn(&RecordBatch) -> Result<ArrayRef, ArrowError> + Sync,
    ) -> Result<u64> {
        let projection = self.projection(columns)?;
        self.update_all(name, &projection, values)
    }

    fn projection(&self, columns: &[&str]) -> Result<Projection> {
        let names: Vec<String> = columns.iter().map(|name| (*name).to_owned()).collect();
        Projection::new(self.snapshot.schema(), Some(&names))
    }

    fn update_all(
        &mut self,
        name: &str,
        projection: &Projection,
        values: impl Fn(&RecordBatch) -> Result<ArrayRef, ArrowError> + Sync,
    ) -> Result<u64> {
        let of = self.update_fields(&[name])?;
        let files = self.snapshot.plan(None)?.into_iter();
        let files = files.filter(|it| !self.removed.contains_key(&it.entry.file));
        let files: Vec<_> = files.map(Arc::new).collect();
        let ids = projection.ids();
        for planned in &files {
            self.note_reads(&ids, planned);
        }
        let tasks = tasks_of(self.units(&files)?, TASK_ROWS);
        let compute = Compute {
            snapshot: &self.snapshot,
            of: &of,
            projection,
            live: Mutex::default(),
        };
        let mut sink = Sink::new(&of);
        let work = |task: usize, emit: Emit<'_, Computed>| match tasks.get(task) {
            Some(task) => compute.values(task, &values, emit),
            None => Ok(()),
        };
        in_order(
            tasks.len(),
            threads_for(tasks.len()),
            work,
            |task, computed| match tasks.get(task) {
                Some(task) => sink.take(task, computed),
                None => Ok(()),
            },
        )?;
        let (entries, n_rows) = sink.finish()?;
        self.updated.extend(entries);
        Ok(n_rows)
    }

    /// The rows of files, by partition and by the files that they were first written to.
    fn units(&self, files: &[Arc<PlannedFile>]) -> Result<Vec<Unit>> {
        let mut units = Vec::new();
        for planned in files {
            for (origin, rows) in segments(self.snapshot.store(), planned)? {
                let planned = planned.clone();
                units.push(Unit {
                    origin,
                    planned,
                    rows,
                });
            }
        }
        units.sort_by(|one, other| {
            let by_partition = one
                .planned
                .entry
                .partition
                .cmp(&other.planned.entry.partition);
            by_partition.then_with(|| one.origin.cmp(&other.origin))
        });
        Ok(units)
    }

    pub(super) fn note_reads(&mut self, fields: &[FieldId], planned: &PlannedFile) {
        for id in fields {
            let files = self.reads.entry(*id).or_default();
            files.extend(planned.origins());
        }
    }

    /// The fields of an update by their names.
    pub(super) fn update_fields(&self, names: &[&str]) -> Result<UpdateFields> {
        if names.is_empty() {
            return Err(Error::invalid("an update of no field"));
        }
        let specs = self.snapshot.commit().specs.iter();
        let sources = specs.flat_map(|spec| spec.fields.iter().map(|field| field.source));
        let sources: Vec<FieldId> = sources.collect();
        let mut fields: Vec<TableField> = Vec::new();
        for name in names {
            let shown = name.escape_debug();
            let field = self.schema.by_name(name);
            let field = field
                .ok_or_else(|| Error::not_found(format!("the table has no field `{shown}`")))?;
            if sources.contains(&field.id) {
                let what = format!(
                    "rows are partitioned by field `{shown}`: delete the rows and add them again"
                );
                return Err(Error::invalid(what));
            }
            if fields.iter().any(|known| known.id == field.id) {
                return Err(Error::invalid(format!("field `{shown}` is there twice")));
            }
            fields.push(field.clone());
        }
        Ok(UpdateFields {
            store: self.snapshot.store().clone(),
            schema: self.schema_id,
            fields,
            memory_budget_bytes: self.options.write.memory_budget_bytes(),
        })
    }
}

/// Rows of a unit whose values are computed by one thread.
struct Task {
    unit: Arc<Unit>,
    /// The place of the unit among all.
    number: usize,
    rows: Range<u64>,
    is_last: bool,
}

/// Splits units of many rows.
fn tasks_of(units: Vec<Unit>, rows_max: u64) -> Vec<Task> {
    let mut tasks = Vec::with_capacity(units.len());
    for (number, unit) in units.into_iter().enumerate() {
        let unit = Arc::new(unit);
        let mut start = unit.rows.start;
        loop {
            let end = unit.rows.end.min(start.saturating_add(rows_max));
            let is_last = end >= unit.rows.end;
            tasks.push(Task {
                unit: unit.clone(),
                number,
                rows: start..end,
                is_last,
            });
            if is_last {
                break;
            }
            start = end;
        }
    }
    tasks
}

/// New values of some rows.
struct Computed {
    positions: UInt64Array,
    column: ArrayRef,
}

/// Parts that threads share which compute values.
struct Compute<'a> {
    snapshot: &'a Snapshot,
    of: &'a UpdateFields,
    projection: &'a Projection,
    /// Rows of files that several tasks are about.
    live: Mutex<HashMap<FileId, RowSelection>>,
}

impl Compute<'_> {
    fn values(
        &self,
        task: &Task,
        values: &(impl Fn(&RecordBatch) -> Result<ArrayRef, ArrowError> + Sync),
        emit: Emit<'_, Computed>,
    ) -> Result<()> {
        let options = ReadOptions {
            has_names: true,
            ..ReadOptions::default()
        };
        let rows = self.live(task)?.within(task.rows.clone());
        let file = TableFile::open(self.snapshot, &task.unit.planned)?;
        let mut scan = file.scan(self.projection, rows, options)?;
        while let Some(rows) = scan.next_rows(self.projection)? {
            let column = values(&rows.batch)?;
            (self.of).check(std::slice::from_ref(&column), rows.batch.num_rows())?;
            let Some(names) = &rows.names else {
                return Err(Error::corrupt("rows without positions"));
            };
            let positions = names.positions.clone();
            let bytes = column.get_array_memory_size() + positions.get_array_memory_size();
            let value = Computed { positions, column };
            if !emit(Piece { value, bytes }) {
                break;
            }
        }
        Ok(())
    }

    /// The rows of the task's file that are not deleted.
    fn live(&self, task: &Task) -> Result<RowSelection> {
        let planned = &*task.unit.planned;
        let known = || self.live.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rows) = known().get(&planned.entry.file) {
            return Ok(rows.clone());
        }
        let rows = TableFile::live(self.snapshot, planned)?;
        let is_only = task.rows == (0..planned.entry.rows);
        if !is_only {
            known().insert(planned.entry.file, rows.clone());
        }
        Ok(rows)
    }
}

/// Writes computed values, which come in the order of the tasks.
struct Sink<'a> {
    of: &'a UpdateFields,
    writers: Option<(Partition, Writers)>,
    /// The unit whose values are written.
    begun: Option<usize>,
    entries: Vec<Entry>,
    n_rows: u64,
}

impl<'a> Sink<'a> {
    fn new(of: &'a UpdateFields) -> Self {
        Self {
            of,
            writers: None,
            begun: None,
            entries: Vec::new(),
            n_rows: 0,
        }
    }

    fn take(&mut self, task: &Task, computed: Option<Computed>) -> Result<()> {
        let entry = &task.unit.planned.entry;
        let is_plain = entry.origins.is_empty();
        let known = self.writers.take();
        let (known, others) = match known {
            Some(known) if known.0 == entry.partition => (Some(known), None),
            other => (None, other),
        };
        if let Some((_, writers)) = others {
            self.entries.extend(writers.finish()?);
        }
        let new = || {
            (
                entry.partition.clone(),
                Writers::new(self.of, &entry.partition),
            )
        };
        let (_, writers) = self.writers.insert(known.unwrap_or_else(new));
        if self.begun != Some(task.number) {
            self.begun = Some(task.number);
            writers.begin(task.unit.origin, is_plain)?;
        }
        match computed {
            Some(Computed { positions, column }) => {
                self.n_rows += positions.len() as u64;
                writers.write(&positions, &[column])
            }
            None if task.is_last => writers.end(is_plain.then_some(entry.rows)),
            None => Ok(()),
        }
    }

    fn finish(mut self) -> Result<(Vec<Entry>, u64)> {
        if let Some((_, writers)) = self.writers.take() {
            self.entries.extend(writers.finish()?);
        }
        Ok((self.entries, self.n_rows))
    }
}

/// Writers of the update files of a partition: dense and sparse targets lie in different files.
pub(super) struct Writers {
    dense: UpdateWriter,
    sparse: UpdateWriter,
    is_dense: bool,
}

impl Writers {
    pub(super) fn new(of: &UpdateFields, partition: &Partition) -> Self {
        Self {
            dense: UpdateWriter::new(of.clone(), partition.clone(), true),
            sparse: UpdateWriter::new(of.clone(), partition.clone(), false),
            is_dense: false,
        }
    }

    fn begin(&mut self, origin: FileId, is_dense: bool) -> Result<()> {
        self.is_dense = is_dense;
        self.current().begin(origin)
    }

    fn current(&mut self) -> &mut UpdateWriter {
        match self.is_dense {
            true => &mut self.dense,
            false => &mut self.sparse,
        }
    }

    fn write(&mut self, positions: &UInt64Array, columns: &[ArrayRef]) -> Result<()> {
        self.current().write(positions, columns)
    }

    fn end(&mut self, n_rows: Option<u64>) -> Result<()> {
        match n_rows {
            Some(n_rows) => self.dense.end_dense(n_rows),
            None => Ok(()),
        }
    }

    pub(super) fn finish(self) -> Result<Vec<Entry>> {
        let mut entries = self.dense.finish()?;
        entries.extend(self.sparse.finish()?);
        Ok(entries)
    }
}

/// Writes the new values of one file's rows.
pub(super) fn write_placed(
    writers: &mut Writers,
    placed: &PlacedRows,
    batches: &[Vec<ArrayRef>],
) -> Result<()> {
    let PlacedRows { rows, dense } = placed;
    let Some((first, ..)) = rows.first() else {
        return Ok(());
    };
    writers.begin(first.file, dense.is_some())?;
    let n_columns = batches.first().map_or(0, Vec::len);
    for piece in rows.chunks(PIECE_ROWS) {
        let positions = piece.iter().map(|(origin, ..)| origin.position);
        let positions = UInt64Array::from_iter_values(positions);
        let places: Vec<(usize, usize)> =
            piece.iter().map(|(_, batch, row)| (*batch, *row)).collect();
        let columns = (0..n_columns).map(|place| {
            let arrays = batches.iter().filter_map(|columns| columns.get(place));
            let arrays: Vec<&dyn Array> = arrays.map(AsRef::as_ref).collect();
            interleave(&arrays, &places)
        });
        writers.write(&positions, &columns.collect::<Result<Vec<_>, _>>()?)?;
    }
    writers.end(*dense)
}

/// Rows of a set in pieces.
fn pieces(rows: &RowSet) -> impl Iterator<Item = UInt64Array> + '_ {
    let mut rows = rows.iter().peekable();
    std::iter::from_fn(move || {
        rows.peek()?;
        Some(UInt64Array::from_iter_values(
            rows.by_ref().take(PIECE_ROWS),
        ))
    })
}

/// Places of the two columns that name rows.
fn name_places(schema: &SchemaRef) -> Result<[usize; 2]> {
    let place = |name: &str| {
        let missing = |_| Error::invalid(format!("the rows have no column `{name}`"));
        schema.index_of(name).map_err(missing)
    };
    Ok([place(FILE_COLUMN)?, place(POSITION_COLUMN)?])
}

fn origins_in(batch: &RecordBatch, files: usize, positions: usize) -> Result<Vec<Origin>> {
    let (files, positions) = (batch.column(files), batch.column(positions));
    let whole = files.null_count() == 0 && positions.null_count() == 0;
    let files = files.as_fixed_size_binary_opt().filter(|_| whole);
    let positions = positions.as_primitive_opt::<UInt64Type>();
    let bad = || {
        let what = format!(
            "`{FILE_COLUMN}` is no FixedSizeBinary(16), `{POSITION_COLUMN}` no UInt64, or one has nulls"
        );
        Error::invalid(what)
    };
    let (Some(files), Some(positions)) = (files, positions) else {
        return Err(bad());
    };
    let names = files.iter().flatten().zip(positions.values());
    let names = names.map(|(file, position)| {
        Ok(Origin {
            file: FileId(file.try_into().map_err(|_| bad())?),
            position: *position,
        })
    });
    names.collect()
}
