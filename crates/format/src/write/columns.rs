//! All leaf columns of a table: rows come in together, and pages go out in an order that does not depend on batches.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema};
use rayon::prelude::*;
use tarsia_arrow::{RowsHeld, beyond_precision, leaf_paths};
use tarsia_codec::Registry;
use tarsia_compliance::Salts;
use tarsia_io::Sink;
use tarsia_metadata as metadata;
use tarsia_metadata::ErasureLevel;

use crate::error::{Error, ErrorKind, Result};
use crate::random::random;
use crate::table::{Stored, leaf_name};
use crate::threads::Threads;
use crate::write::body::Body;
use crate::write::budget::{Budget, Step};
use crate::write::chooser::{Choosers, LeafName};
use crate::write::column::{ColumnWriter, Cut};
use crate::write::cut::PAGE_DATA_BYTES_MAX;
use crate::write::field_rows::FieldRows;
use crate::write::memory::{ColumnKey, WriterMemory};
use crate::write::options::{LAYOUT_KEY, LAYOUTS, WriteOptions};
use crate::write::page::DataPage;
use crate::write::placement::Placement;

/// Rows taken from an input batch at a time: bounds what is held beyond the budget. Where the input is cut decides
/// nothing else.
pub(super) const STEP_ROWS: usize = 65_536;

/// At least this many bytes of a column are taken at a time, however small its pages are.
pub(super) const STEP_BYTES_MIN: u64 = 1 << 20;

/// More cannot be asked for as [`WriteOptions::with_page_bytes`].
const PAGE_BYTES_MAX: u64 = 1 << 30;

/// Encoded pages of a group wait in memory to be appended in order: at most so many, and pages of so many bytes of rows
/// as the budget says.
const FLUSH_PAGES_MAX: usize = 64;

/// The columns of a table that is being written.
pub(super) struct Columns {
    /// In the order of top-level fields.
    pub(super) writers: Vec<ColumnWriter>,
    pub(super) budget: Budget,
    pub(super) page_bytes: u64,
    registry: Arc<Registry>,
    threads: Threads,
    /// Rows that all fields had when they last had the same.
    pub(super) rows: u64,
    pub(super) field_rows: FieldRows,
    /// Top-level fields.
    pub(super) n_fields: usize,
    pub(super) logical_bytes: u64,
    /// At most what the buffers have grown by since [`Columns::release_unused`] looked.
    pub(super) grown_bytes: u64,
    /// At most what single fields have grown by since the budget was looked at.
    pub(super) unlooked_bytes: u64,
}

impl Columns {
    /// Returns what the metadata of the schema says of the columns whose values were rounded.
    pub(super) fn rounded(&self) -> Vec<(String, String)> {
        let columns = self.writers.iter();
        columns.filter_map(ColumnWriter::rounded).collect()
    }

    /// Returns what the metadata of the schema says of strict columns.
    pub(super) fn strict(&self) -> Vec<(String, String)> {
        let columns = self.writers.iter();
        columns.filter_map(ColumnWriter::strict).collect()
    }

    /// The salt of the file's root digest, if values of a column can be erased.
    pub(super) fn root_salt(&self) -> Option<[u8; 32]> {
        self.writers.iter().find_map(ColumnWriter::root_salt)
    }

    /// The columns of `schema`, without rows.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for types that are not stored; [`ErrorKind::InvalidInput`] for layouts that fields
    /// cannot have; [`ErrorKind::NoSuchColumn`] for options of columns that there are not.
    pub(super) fn new(schema: &Schema, options: &WriteOptions) -> Result<Self> {
        let writers = column_writers(schema, options)?;
        Ok(Self {
            budget: Budget::new(options.memory_budget_bytes(), writers.len()),
            writers,
            page_bytes: options.page_bytes().clamp(1, PAGE_BYTES_MAX),
            registry: options.registry().clone(),
            threads: options.threads().clone(),
            rows: 0,
            field_rows: FieldRows::default(),
            n_fields: schema.fields().len(),
            logical_bytes: 0,
            grown_bytes: 0,
            unlooked_bytes: 0,
        })
    }

    /// Rows that all fields have so far.
    pub(super) fn rows(&self) -> u64 {
        self.field_rows.of_all().unwrap_or(self.rows)
    }

    /// Bytes of the rows taken so far, as [`tarsia_arrow::RowsHeld::bytes_of`] counts them.
    pub(super) fn logical_bytes(&self) -> u64 {
        self.logical_bytes
    }

    /// Whether some columns hold packed structs.
    pub(super) fn are_packed(&self) -> bool {
        self.writers.iter().any(|column| column.packing.is_some())
    }

    /// The arrays of a batch of the top-level fields from `first` on, packed if they are stored so.
    ///
    /// # Errors
    /// What packing refuses, and decimals inside packed structs that their type cannot hold: packed rows do not show
    /// them.
    pub(super) fn stored_arrays(&self, batch: &RecordBatch, first: usize) -> Result<Vec<ArrayRef>> {
        let mut arrays = batch.columns().to_vec();
        for column in &self.writers[self.writers_of(first..first + arrays.len())] {
            if let Some(packing) = &column.packing {
                let array = &mut arrays[column.index - first];
                if let Some(found) = beyond_precision(array) {
                    let error = Error::new(ErrorKind::InvalidInput, found.what);
                    return Err(error.in_column(column.field.name()));
                }
                let packed = packing.pack(array);
                *array =
                    packed.map_err(|error| Error::from(error).in_column(column.field.name()))?;
            }
        }
        Ok(arrays)
    }

    /// The leaf columns of some top-level fields.
    pub(super) fn writers_of(&self, fields: Range<usize>) -> Range<usize> {
        let before = |end: usize| self.writers.partition_point(|column| column.index < end);
        before(fields.start)..before(fields.end)
    }

    /// Takes rows from the first of `of` on into the buffers, encodes what is full, and returns how many rows it took.
    /// How many that are leaves no trace in the file.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for a value of 2 GiB or more; [`ErrorKind::Io`], [`ErrorKind::LimitExceeded`].
    pub(super) fn push(
        &mut self,
        arrays: &[ArrayRef],
        of: Range<usize>,
        body: &mut Body<dyn Sink + '_>,
    ) -> Result<usize> {
        let start = of.start;
        let step = self.step(arrays, start, STEP_ROWS.min(of.len()))?;
        // Pages that end meanwhile make what is held less, so the budget cannot be exceeded at any row in between
        // unless it may be at the end.
        let may_exceed = self
            .budget
            .may_be_exceeded_by(step.held_bytes + step.new_bytes);
        let step = match may_exceed {
            true => self.step_to_look(arrays, start, step)?,
            false => step,
        };
        let (rows, new_bytes) = (step.rows, step.new_bytes);
        for column in &mut self.writers {
            let array = &arrays[column.index];
            let before = column.buffer.logical_bytes();
            let pushed = match rows == array.len() {
                true => column.buffer.push(array.as_ref()),
                false => column.buffer.push(array.slice(start, rows).as_ref()),
            };
            pushed.map_err(|error| Error::from(error).in_column(column.field.name()))?;
            self.logical_bytes += column.buffer.logical_bytes() - before;
        }
        self.rows += rows as u64;
        let all = 0..self.writers.len();
        self.flush_full(all.clone(), body)?;
        if may_exceed && self.budget.looks_at(self.rows) {
            self.flush_largest(all, body)?;
        }
        self.grown_bytes += new_bytes;
        self.release_unused();
        Ok(rows)
    }

    /// How many rows, of `rows` from row `start` of the arrays on, can be taken at once.
    fn step(&self, arrays: &[ArrayRef], start: usize, rows: usize) -> Result<Step> {
        let bytes_max = self.page_bytes.max(STEP_BYTES_MIN) as usize;
        let mut step = Step {
            rows,
            ..Step::default()
        };
        for column in &self.writers {
            let fit = column
                .buffer
                .fit(
                    arrays[column.index].as_ref(),
                    start..start + step.rows,
                    bytes_max,
                    PAGE_DATA_BYTES_MAX,
                )
                .map_err(|error| Error::from(error).in_column(column.field.name()))?;
            step.rows = fit.rows;
            step.held_bytes += column.buffer.held_bytes();
            step.new_bytes += fit.bytes as u64;
            step.may_fill_a_page |= column.may_fill(&fit, self.page_bytes);
        }
        Ok(step)
    }

    /// The part of a step that ends where the budget is looked at: the next time, or a later one before which it is
    /// surely kept.
    fn step_to_look(&self, arrays: &[ArrayRef], start: usize, step: Step) -> Result<Step> {
        let first = self.budget.rows_to_next_look(self.rows);
        let kept = self.budget.rows_kept(&step, self.rows);
        if kept > first {
            let later = self.step(arrays, start, kept as usize)?;
            // A page that ends takes from the budget.
            if !later.may_fill_a_page && self.budget.keeps(&later) {
                return Ok(later);
            }
        }
        Ok(Step {
            rows: step.rows.min(first as usize),
            ..step
        })
    }

    /// Frees the memory of rows that were drained, where it is more than the budget allows: pages that are full come
    /// again, so that it is used again most often.
    pub(super) fn release_unused(&mut self) {
        let bytes_max = self.budget.capacity_bytes_max();
        if self.grown_bytes < bytes_max / 16 {
            return;
        }
        self.grown_bytes = 0;
        let buffers = self.writers.iter().map(|column| &column.buffer);
        if buffers.map(RowsHeld::capacity_bytes).sum::<u64>() > bytes_max {
            for column in &mut self.writers {
                // The eighth that buffers grow by is no memory of drained rows.
                if column.buffer.capacity_bytes() / 4 > column.buffer.held_bytes() / 3 {
                    column.buffer.release_unused();
                }
            }
        }
    }

    /// Encodes all full pages of some columns.
    pub(super) fn flush_full(
        &mut self,
        columns: Range<usize>,
        body: &mut Body<dyn Sink + '_>,
    ) -> Result<()> {
        let mut cuts = Vec::new();
        for i in columns {
            self.writers[i].push_full(i, self.page_bytes, &mut cuts);
        }
        let rank = |cut: &Cut| self.writers[cut.column].rank;
        cuts.sort_by_key(|cut| (cut.known_at, rank(cut), cut.column, cut.rows.start));
        self.flush(cuts, body)
    }

    /// Encodes the columns that hold most, if all together hold more than the budget. Of those that are `growing` some
    /// rows may stay, so that pages have as many as they had better have.
    pub(super) fn flush_largest(
        &mut self,
        growing: Range<usize>,
        body: &mut Body<dyn Sink + '_>,
    ) -> Result<()> {
        let held = self.writers.iter().map(|column| column.buffer.held_bytes());
        let columns = self.budget.columns_to_flush(held);
        let cuts = columns
            .into_iter()
            .filter_map(|i| match growing.contains(&i) {
                true => Some(self.writers[i].cut_early(i)),
                false => self.writers[i].cut_last(i),
            });
        let mut cuts: Vec<_> = cuts.collect();
        cuts.sort_by_key(|cut| self.writers[cut.column].rank);
        self.flush(cuts, body)
    }

    /// Encodes what the columns still hold.
    ///
    /// # Errors
    /// As [`Columns::push`].
    pub(super) fn flush_rest(&mut self, body: &mut Body<dyn Sink + '_>) -> Result<()> {
        let columns = self.writers.iter().enumerate();
        let rest = columns.filter_map(|(i, column)| column.cut_last(i));
        let mut rest: Vec<_> = rest.collect();
        rest.sort_by_key(|cut| self.writers[cut.column].rank);
        self.flush(rest, body)
    }

    /// Encodes pages in parallel and appends them in the order given. Those of a column follow each other, from its
    /// first row on.
    fn flush(&mut self, cuts: Vec<Cut>, body: &mut Body<dyn Sink + '_>) -> Result<()> {
        // The rows of a column's pages lie one after the other, so the last page's end is where all of them end.
        let mut last = vec![0; self.writers.len()];
        for (i, cut) in cuts.iter().enumerate() {
            last[cut.column] = i;
        }
        let mut done = 0;
        while let Some(rest) = cuts.get(done..).filter(|rest| !rest.is_empty()) {
            let group = &rest[..self.pages_at_a_time(rest)];
            self.encode_group(group, body)?;
            for (i, cut) in group.iter().enumerate() {
                if last[cut.column] == done + i {
                    self.writers[cut.column].drain(cut.rows.end)?;
                }
            }
            done += group.len();
        }
        Ok(())
    }

    /// How many of these pages, of which there is one at least, are encoded before the first of them is appended: few,
    /// so that encoded pages do not pile up.
    fn pages_at_a_time(&self, cuts: &[Cut]) -> usize {
        let bytes_max = self.budget.waiting_bytes_max();
        let mut bytes = 0;
        let fit = cuts.iter().take(FLUSH_PAGES_MAX).take_while(|cut| {
            bytes += self.writers[cut.column].buffer.bytes_of(cut.rows.clone());
            bytes <= bytes_max
        });
        fit.count().max(1)
    }

    /// Encodes pages in parallel and then appends them.
    fn encode_group(&mut self, cuts: &[Cut], body: &mut Body<dyn Sink + '_>) -> Result<()> {
        let encode = |cut: &Cut| {
            let column = &self.writers[cut.column];
            column
                .encode(cut, &self.registry)
                .map_err(|error| error.in_column(column.field.name()))
        };
        let encode_all = |cuts: Vec<&Cut>| -> Vec<Result<Option<DataPage>>> {
            match cuts.len() > 1 && self.threads.are_several() {
                true => self
                    .threads
                    .install(|| cuts.into_par_iter().map(encode).collect()),
                false => cuts.into_iter().map(encode).collect(),
            }
        };
        // Later pages use what the first ones of their columns have left.
        let (first, later) = cuts.iter().partition(|cut| cut.page == 0);
        let mut first = encode_all(first).into_iter();
        let mut later = encode_all(later).into_iter();
        for cut in cuts {
            let encoded = match cut.page {
                0 => first.next(),
                _ => later.next(),
            };
            if let Some(page) = encoded.transpose()?.flatten() {
                let column = &mut self.writers[cut.column];
                column.append(cut, page, &self.registry, &mut self.budget, body)?;
            }
        }
        Ok(())
    }
}

/// The salts of a file, made when the first column needs them.
#[derive(Default)]
struct FileSalts(Option<Arc<Salts>>);

impl FileSalts {
    fn get_or_make(&mut self, options: &WriteOptions) -> Result<Arc<Salts>> {
        if let Some(salts) = &self.0 {
            return Ok(salts.clone());
        }
        let key = match options.salt_key() {
            Some(key) => *key,
            None if options.deterministic() => {
                let what = "columns at erasure level 2 have random salts: a deterministic file needs a salt key";
                return Err(Error::new(ErrorKind::InvalidInput, what));
            }
            None => random()?,
        };
        Ok(self.0.insert(Arc::new(Salts::new(key))).clone())
    }
}

fn column_writers(schema: &Schema, options: &WriteOptions) -> Result<Vec<ColumnWriter>> {
    let placement = Placement::new(options.column_order(), schema)?;
    let mut choosers = Choosers::new(options, schema);
    let mut salts = FileSalts::default();
    let mut columns = Vec::with_capacity(schema.fields().len());
    for (index, field) in schema.fields().iter().enumerate() {
        let stored = Stored::of(field)?;
        let paths = leaf_paths(&stored.data_type, field.is_nullable()).map_err(|unsupported| {
            Error::new(
                ErrorKind::Unsupported,
                format!("type {unsupported} is not stored by this version"),
            )
            .in_column(field.name())
        })?;
        let full_zip_bytes_min = full_zip_bytes_min(field, stored.packing.is_some())?;
        for path in paths {
            let name = LeafName {
                field: field.name(),
                leaf: &leaf_name(field, &path),
            };
            let chooser = choosers.of(&name, full_zip_bytes_min);
            let rounding = choosers.rounding(&name, &path)?;
            let erasure = choosers.erasure(&name);
            if erasure.is_strict {
                choosers.check_strict(&name, &path, rounding.as_ref(), full_zip_bytes_min)?;
            }
            let salts = match erasure.level {
                ErasureLevel::Erase => Some(salts.get_or_make(options)?),
                ErasureLevel::Hide | ErasureLevel::Immutable => None,
            };
            let has_blooms = choosers.blooms(&name, &stored, &path)?;
            let leaf = columns.len() as u32;
            let field = field.clone();
            let column = ColumnWriter::new(field, index, leaf, &stored, path, chooser, rounding);
            let column = column.with_rank(placement.rank(name.leaf));
            let column = match choosers.zones(&name) {
                true => column,
                false => column.without_zones(),
            };
            let column = match has_blooms {
                true => column.with_blooms(),
                false => column,
            };
            let column = column.with_erasure(erasure, salts, name.leaf);
            columns.push(match memory_key(options, &choosers, &name, &column) {
                Some((memory, key)) => column.with_memory(memory, key),
                None => column,
            });
        }
    }
    choosers.check_names()?;
    columns.shrink_to_fit();
    Ok(columns)
}

/// The memory of a leaf column in other files, if it has one.
fn memory_key<'o>(
    options: &'o WriteOptions,
    choosers: &Choosers<'_>,
    name: &LeafName<'_>,
    column: &ColumnWriter,
) -> Option<(&'o WriterMemory, ColumnKey)> {
    let memory = options.memory()?;
    // Tokens of one file are no part of a file from which values can be erased.
    (column.level != ErasureLevel::Erase).then(|| {
        let key = ColumnKey {
            leaf: name.leaf.to_owned(),
            data_type: column.path().data_type().clone(),
            preset: choosers.preset(name),
        };
        (memory, key)
    })
}

/// Returns what a field's [`LAYOUT_KEY`] says in place of [`WriteOptions::with_full_zip_bytes_min`], if it says
/// anything about that.
fn full_zip_bytes_min(field: &Field, is_packed: bool) -> Result<Option<u32>> {
    let what = match field.metadata().get(LAYOUT_KEY).map(String::as_str) {
        None => return Ok(None),
        Some(metadata::LAYOUT_FULL_ZIP) => return Ok(Some(0)),
        Some(metadata::LAYOUT_MINI_BLOCK) => return Ok(Some(u32::MAX)),
        Some(_) if is_packed => return Ok(None),
        Some(metadata::LAYOUT_PACKED) => {
            let of = field.data_type();
            format!("{of} cannot be packed: no struct with fields")
        }
        Some(other) => {
            let [a, b, c] = LAYOUTS;
            format!("{LAYOUT_KEY} is {a}, {b} or {c}, not `{other}`")
        }
    };
    Err(Error::new(ErrorKind::InvalidInput, what).in_column(field.name()))
}
