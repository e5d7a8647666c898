//! Update files: newer values of some fields for rows of data files.
//!
//! A file has the values of many targets, one behind the other: dense ones, with a value for each row of the target, or
//! sparse ones, with a first column of positions.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, UInt64Array, new_null_array};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use tarsia::{WriteOptions, Writer};
use tarsia_io::Store;
use tarsia_table_meta::{
    Entry, EntryKind, FieldId, FileId, ObjectId, Partition, TableField, Target, limits,
};

use crate::error::{Error, Result};
use crate::origins::free_name;
use crate::write::put_file;

/// An update file that has so many bytes is finished.
const UPDATE_BYTES: u64 = 256 << 20;
/// Rows of a target without a value are written in pieces of at most so many.
const GAP_ROWS: u64 = 65_536;

/// The fields of an update, and where its files go.
#[derive(Clone)]
pub(crate) struct UpdateFields {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) schema: ObjectId,
    pub(crate) fields: Vec<TableField>,
    pub(crate) memory_budget_bytes: u64,
}

impl UpdateFields {
    /// Compares values with the type of a field, and refuses nulls that the field does not allow.
    pub(crate) fn check(&self, columns: &[ArrayRef], n_rows: usize) -> Result<()> {
        for (field, column) in self.fields.iter().zip(columns) {
            let name = field.field.name().escape_debug();
            if column.data_type() != field.field.data_type() {
                let (found, expected) = (column.data_type(), field.field.data_type());
                let what = format!("values of type {found} for field `{name}` of type {expected}");
                return Err(Error::invalid(what));
            }
            if column.len() != n_rows {
                let what = format!(
                    "{} values of field `{name}` for {n_rows} rows",
                    column.len()
                );
                return Err(Error::invalid(what));
            }
            if !field.field.is_nullable() && column.logical_null_count() > 0 {
                let what = format!("field `{name}` allows no nulls, the new values have one");
                return Err(Error::invalid(what));
            }
        }
        Ok(())
    }

    /// Columns of a file. Rows of a target that are deleted have null in each field.
    fn schema(&self, is_dense: bool) -> SchemaRef {
        let fields = self.fields.iter().map(|field| &field.field);
        let mut columns: Vec<FieldRef> = Vec::new();
        if !is_dense {
            let is_taken = |name: &str| self.fields.iter().any(|it| it.field.name() == name);
            let name = free_name("_position", is_taken);
            columns.push(Arc::new(Field::new(name, DataType::UInt64, false)));
        }
        columns.extend(fields.map(|field| match field.is_nullable() {
            true => field.clone(),
            false => Arc::new(field.as_ref().clone().with_nullable(true)),
        }));
        Arc::new(Schema::new(columns))
    }
}

/// Writes update files of one partition, all dense or all sparse. Targets come in the order of their ids.
pub(crate) struct UpdateWriter {
    of: UpdateFields,
    partition: Partition,
    is_dense: bool,
    schema: SchemaRef,
    open: Option<Open>,
    entries: Vec<Entry>,
}

struct Open {
    writer: Writer<Vec<u8>>,
    targets: Vec<Target>,
    rows: u64,
}

impl UpdateWriter {
    pub(crate) fn new(of: UpdateFields, partition: Partition, is_dense: bool) -> Self {
        Self {
            schema: of.schema(is_dense),
            of,
            partition,
            is_dense,
            open: None,
            entries: Vec::new(),
        }
    }

    /// Begins the next target.
    pub(crate) fn begin(&mut self, file: FileId) -> Result<()> {
        let is_full = self.open.as_ref().is_some_and(|open| {
            let n_targets = open.targets.len();
            n_targets >= limits::TARGETS_MAX || open.writer.bytes_written() >= UPDATE_BYTES
        });
        if is_full {
            self.close()?;
        }
        let mut open = match self.open.take() {
            Some(open) => open,
            None => Open {
                writer: Writer::new(Vec::new(), self.schema.clone(), self.options())?,
                targets: Vec::new(),
                rows: 0,
            },
        };
        open.drop_empty();
        open.targets.push(Target {
            file,
            first_row: open.rows,
            rows: 0,
            dense: self.is_dense,
            row_set: None,
        });
        self.open = Some(open);
        Ok(())
    }

    fn options(&self) -> WriteOptions {
        // Values are found by their rows, never by zones.
        WriteOptions::new()
            .with_zones(false)
            .with_memory_budget_bytes(self.of.memory_budget_bytes)
    }

    /// Adds rows of the target: values of the fields, and in sparse files positions, which rise.
    pub(crate) fn write(&mut self, positions: &UInt64Array, columns: &[ArrayRef]) -> Result<()> {
        let Some(open) = &mut self.open else {
            return Err(Error::invalid("values of no target"));
        };
        let n_rows = positions.len();
        if self.is_dense && n_rows > 1 && span(positions) > n_rows as u64 + GAP_ROWS {
            // Gaps are filled with nulls, which need not be in memory at once.
            let (start, end) = (n_rows / 2, n_rows - n_rows / 2);
            for (first, n_rows) in [(0, start), (start, end)] {
                let columns: Vec<ArrayRef> =
                    columns.iter().map(|it| it.slice(first, n_rows)).collect();
                self.write(&positions.slice(first, n_rows), &columns)?;
            }
            return Ok(());
        }
        let mut all: Vec<ArrayRef> = Vec::with_capacity(columns.len() + 1);
        if self.is_dense {
            let next = open.targets.last().map_or(0, |target| target.rows);
            let (gap, placed) = placed(next, positions)?;
            self.write_nulls(gap)?;
            let columns = columns.iter().map(|column| match &placed {
                Some(rows) => arrow_select::take::take(column.as_ref(), rows, None),
                None => Ok(column.clone()),
            });
            all.extend(columns.collect::<Result<Vec<_>, _>>()?);
        } else if n_rows > 0 {
            all.push(Arc::new(positions.clone()));
            all.extend_from_slice(columns);
        }
        self.write_columns(all)
    }

    fn write_columns(&mut self, columns: Vec<ArrayRef>) -> Result<()> {
        let (Some(open), Some(n_rows)) = (&mut self.open, columns.first().map(|it| it.len()))
        else {
            return Ok(());
        };
        open.writer
            .write(&RecordBatch::try_new(self.schema.clone(), columns)?)?;
        open.rows += n_rows as u64;
        if let Some(target) = open.targets.last_mut() {
            target.rows += n_rows as u64;
        }
        Ok(())
    }

    fn write_nulls(&mut self, n_rows: u64) -> Result<()> {
        let mut left = n_rows;
        while left > 0 {
            let piece = left.min(GAP_ROWS);
            let nulls = self.of.fields.iter();
            let nulls = nulls.map(|it| new_null_array(it.field.data_type(), piece as usize));
            self.write_columns(nulls.collect())?;
            left -= piece;
        }
        Ok(())
    }

    /// Ends a dense target of so many rows: those behind the last value have none.
    pub(crate) fn end_dense(&mut self, n_rows: u64) -> Result<()> {
        let last = self.open.as_ref().and_then(|open| open.targets.last());
        let done = last.map_or(0, |target| target.rows);
        self.write_nulls(n_rows.saturating_sub(done))
    }

    fn close(&mut self) -> Result<()> {
        let Some(mut open) = self.open.take() else {
            return Ok(());
        };
        open.drop_empty();
        if open.targets.is_empty() {
            return Ok(());
        }
        let (bytes, _) = open.writer.finish_into()?;
        let partition = self.partition.clone();
        let entry = put_file(&self.of.store, bytes, partition, Some(self.of.schema))?;
        let mut fields: Vec<FieldId> = self.of.fields.iter().map(|field| field.id).collect();
        fields.sort_unstable();
        self.entries.push(Entry {
            kind: EntryKind::Update,
            fields,
            targets: open.targets,
            ..entry
        });
        Ok(())
    }

    /// Writes what is left. Returns the entries of all files.
    pub(crate) fn finish(mut self) -> Result<Vec<Entry>> {
        self.close()?;
        Ok(self.entries)
    }
}

impl Open {
    /// A target without rows is none.
    fn drop_empty(&mut self) {
        if self.targets.last().is_some_and(|target| target.rows == 0) {
            self.targets.pop();
        }
    }
}

/// Rows from the first position to the last one.
fn span(positions: &UInt64Array) -> u64 {
    let (first, last) = (positions.values().first(), positions.values().last());
    match (first, last) {
        (Some(first), Some(last)) => last.saturating_sub(*first).saturating_add(1),
        _ => 0,
    }
}

/// Places of rising positions in a dense target of which `next` is the next row: how many rows without a value come
/// first, and for each row from there to the last one the value that it has; `None` if each has the next one.
fn placed(next: u64, positions: &UInt64Array) -> Result<(u64, Option<UInt64Array>)> {
    let (Some(first), Some(last)) = (
        positions.values().first().copied(),
        positions.values().last().copied(),
    ) else {
        return Ok((0, None));
    };
    let back = || Error::corrupt("positions of rows do not rise");
    let gap = first.checked_sub(next).ok_or_else(back)?;
    let n_rows = last.checked_sub(first).ok_or_else(back)?.saturating_add(1);
    if n_rows == positions.len() as u64 {
        return Ok((gap, None));
    }
    let mut rows: Vec<Option<u64>> = vec![None; usize::try_from(n_rows).map_err(|_| back())?];
    for (value, position) in (0_u64..).zip(positions.values()) {
        let row = position.checked_sub(first).ok_or_else(back)?;
        *rows.get_mut(row as usize).ok_or_else(back)? = Some(value);
    }
    Ok((gap, Some(UInt64Array::from(rows))))
}
