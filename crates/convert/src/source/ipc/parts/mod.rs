//! Record batches of large bodies, some of their rows at a time.
//!
//! Many writers put a whole table into one batch, so that its message is as long as the file. From the metadata of such
//! a message, and the bytes of its body that hold a range of rows, a message of its own is made for each part of the
//! rows, and decoded as others are. So the decoder validates all bytes, and each is read once.
//!
//! | module | job |
//! |---|---|
//! | `layout` | where the buffers of each column are, and whether their lengths belong together |
//! | `array` | the bytes of a range of items |
//! | `buffers` | the bits and offsets of a range of items |
//! | `views` | its views, and the data that they point to |
//! | `message` | the message of a part |
//!
//! Bodies that are compressed are decoded as a whole, as are those whose metadata contradict themselves or the schema:
//! the decoder says what is wrong with them. Columns of dense unions, runs, list views, and views in no order, are
//! decoded once for all parts.

mod array;
mod buffers;
mod layout;
mod message;
#[cfg(test)]
mod tables;
#[cfg(test)]
mod tests;
mod views;

use std::io::{Read, Seek};
use std::sync::Arc;

use arrow_array::{Array as _, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_ipc::MetadataVersion;
use arrow_schema::{Schema, SchemaRef};

use super::decoder::Decoder;
use array::Array;
use layout::Layout;
use message::Message;

/// Parts begin at multiples of so many rows, if they have as many, so that bits need not be shifted.
const ROWS_MULTIPLE: usize = 64;

/// Bytes of a part.
const PART_BYTES: u64 = 32 << 20;

/// Parts of up to twice the bytes are not halved, so their views have to be looked at.
const _: () = assert!(views::LOADED_BYTES_MAX as u64 >= 2 * PART_BYTES);

/// Sizes by which batches are read in parts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    /// Batches of fewer bytes, or whose columns that can be cut have fewer, are decoded as a whole.
    pub(crate) bytes_min: u64,
    /// Bytes of a part. Where rows are uneven it has up to twice as many.
    pub(crate) part_bytes: u64,
    /// Rows of a part, at most.
    pub(crate) rows_max: usize,
}

impl Sizes {
    /// No batch is read in parts.
    pub(super) const WHOLE: Sizes = Sizes {
        bytes_min: u64::MAX,
        part_bytes: u64::MAX,
        rows_max: usize::MAX,
    };
}

impl Default for Sizes {
    fn default() -> Self {
        Sizes {
            bytes_min: 64 << 20,
            part_bytes: PART_BYTES,
            rows_max: usize::MAX,
        }
    }
}

/// A batch in the input.
pub(super) struct Place<'a> {
    pub(super) batch: arrow_ipc::RecordBatch<'a>,
    pub(super) version: MetadataVersion,
    pub(super) body_start: u64,
    pub(super) body_bytes: u64,
}

/// A batch that is read in parts.
pub(super) struct Parts {
    rows: usize,
    /// Rows of the parts so far.
    done: usize,
    /// Rows of a part, as far as rows are even.
    part_rows: usize,
    /// Most bytes of a part of more than one row.
    bytes_max: u64,
    version: MetadataVersion,
    columns: Vec<Column>,
    /// Fields of the columns that are cut.
    cut_schema: SchemaRef,
    /// Buffers of the columns that are cut.
    n_buffers: usize,
}

enum Column {
    Cut(Array),
    Whole(ArrayRef),
}

impl Parts {
    /// Begins a batch. `None` if it is to be decoded as a whole.
    ///
    /// # Errors
    /// The input cannot be read, or a column that cannot be cut is bad.
    pub(super) fn new(
        input: &mut (impl Read + Seek),
        decoder: &Decoder,
        place: &Place<'_>,
        sizes: Sizes,
    ) -> Result<Option<Parts>, String> {
        let is_known = [MetadataVersion::V4, MetadataVersion::V5].contains(&place.version);
        let is_compressed = place.batch.compression().is_some();
        if !is_known || is_compressed || place.body_bytes < sizes.bytes_min {
            return Ok(None);
        }
        let rows = usize::try_from(place.batch.length()).unwrap_or(0);
        let Some((layout, mut columns)) = regular_columns(place, decoder.schema(), rows) else {
            return Ok(None);
        };
        for column in &mut columns {
            let is_cut = match &mut column.array {
                Some(array) => array.enter(input)?,
                None => false,
            };
            if !is_cut {
                column.array = None;
            }
        }
        let cut = || columns.iter().filter(|column| column.array.is_some());
        let n_buffers = cut().map(|column| column.buffers.len()).sum();
        let bytes = cut().filter_map(|column| column.array.as_ref().map(Array::bytes));
        let cut_bytes = bytes.fold(0, u64::saturating_add);
        if rows == 0 || cut_bytes == 0 || cut_bytes < sizes.bytes_min {
            return Ok(None);
        }
        let whole = read_whole(input, decoder, place, &layout, &columns)?;
        let mut whole = whole.into_iter();
        let schema = decoder.schema();
        let is_cut: Vec<bool> = columns
            .iter()
            .map(|column| column.array.is_some())
            .collect();
        let columns = columns.into_iter().filter_map(|column| match column.array {
            Some(array) => Some(Column::Cut(array)),
            None => whole.next().map(Column::Whole),
        });
        Ok(Some(Parts {
            rows,
            done: 0,
            part_rows: part_rows(rows, cut_bytes, sizes),
            bytes_max: sizes.part_bytes.saturating_mul(2),
            version: place.version,
            columns: columns.collect(),
            cut_schema: project(schema, &is_cut, true),
            n_buffers,
        }))
    }

    /// The next rows; `None` behind the last ones.
    ///
    /// # Errors
    /// Values are bad: those of the part, or of all parts together.
    pub(super) fn next(
        &mut self,
        input: &mut (impl Read + Seek),
        decoder: &Decoder,
    ) -> Result<Option<RecordBatch>, String> {
        let left = self.rows - self.done;
        if left == 0 {
            return Ok(None);
        }
        let mut rows = self.part_rows.min(left);
        let bytes = loop {
            let bytes = self.set_end(input, rows)?;
            if bytes <= self.bytes_max || rows == 1 {
                break bytes;
            }
            rows = multiple(rows / 2);
        };
        let mut message = Message::with_capacity(self.n_buffers, bytes);
        for column in &mut self.columns {
            if let Column::Cut(array) = column {
                array.take(input, &mut message)?;
            }
        }
        let cut = message.decode(decoder, &self.cut_schema, rows, self.version)?;
        let start = self.done;
        self.done += rows;
        if self.done == self.rows {
            let mut columns = self.columns.iter();
            columns.try_for_each(|column| match column {
                Column::Cut(array) => array.check_nulls(),
                Column::Whole(_) => Ok(()),
            })?;
        }
        let mut cut = cut.columns().iter();
        let columns = self.columns.iter().filter_map(|column| match column {
            Column::Cut(_) => cut.next().cloned(),
            Column::Whole(array) => Some(array.slice(start, rows)),
        });
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = decoder.schema().clone();
        RecordBatch::try_new_with_options(schema, columns.collect(), &options)
            .map(Some)
            .map_err(|error| error.to_string())
    }

    /// Sets the end of the next part, and returns its bytes.
    fn set_end(&mut self, input: &mut (impl Read + Seek), rows: usize) -> Result<u64, String> {
        let end = self.done + rows;
        let mut bytes = 0_u64;
        for column in &mut self.columns {
            if let Column::Cut(array) = column {
                bytes = bytes.saturating_add(array.set_end(input, end, end == self.rows)?);
            }
        }
        Ok(bytes)
    }
}

/// The columns of a batch; `None` if its metadata contradict themselves or the schema, or if buffers overlap, so that
/// cutting them would read bytes more than once.
fn regular_columns(
    place: &Place<'_>,
    schema: &Schema,
    rows: usize,
) -> Option<(Layout, Vec<layout::Column>)> {
    let mut layout = Layout::new(place.batch, place.version, place.body_start).ok()?;
    let fields = schema.fields().iter();
    let columns = fields.map(|field| layout.column(field.data_type(), rows));
    let columns = columns.collect::<Result<Vec<_>, _>>().ok()?;
    let n_buffers = columns.last().map_or(0, |column| column.buffers.end);
    let buffers = layout.buffers.iter().take(n_buffers);
    let bytes = buffers.fold(0, |sum: u64, buffer| sum.saturating_add(buffer.bytes));
    (layout.is_at_end() && bytes <= place.body_bytes).then_some((layout, columns))
}

/// Decodes the columns that cannot be cut.
fn read_whole(
    input: &mut (impl Read + Seek),
    decoder: &Decoder,
    place: &Place<'_>,
    layout: &Layout,
    columns: &[layout::Column],
) -> Result<Vec<ArrayRef>, String> {
    let is_cut: Vec<bool> = columns
        .iter()
        .map(|column| column.array.is_some())
        .collect();
    let whole = || columns.iter().filter(|column| column.array.is_none());
    if whole().next().is_none() {
        return Ok(Vec::new());
    }
    let buffers = || whole().flat_map(|column| layout.buffers.get(column.buffers.clone()));
    let bytes = buffers().flatten().map(|buffer| buffer.bytes).sum();
    let mut message = Message::with_capacity(buffers().map(<[_]>::len).sum(), bytes);
    for column in whole() {
        for node in layout.nodes.get(column.nodes.clone()).unwrap_or_default() {
            message.push_node(node.length() as usize, node.null_count() as usize);
        }
        let counts = layout.variadic_counts.get(column.variadic_counts.clone());
        for count in counts.unwrap_or_default() {
            message.push_variadic_count(*count);
        }
    }
    for buffer in buffers().flatten() {
        message.read_buffer(input, buffer.start, buffer.bytes)?;
    }
    let schema = project(decoder.schema(), &is_cut, false);
    let rows = usize::try_from(place.batch.length()).unwrap_or(0);
    let batch = message.decode(decoder, &schema, rows, place.version)?;
    Ok(batch.columns().to_vec())
}

/// The fields of a schema that are cut, or those that are not.
fn project(schema: &Schema, is_cut: &[bool], wanted: bool) -> SchemaRef {
    let fields = schema.fields().iter().zip(is_cut);
    let fields = fields.filter(|(_, is_cut)| **is_cut == wanted);
    let fields: Vec<_> = fields.map(|(field, _)| field.clone()).collect();
    Arc::new(Schema::new(fields))
}

/// Rows that have the bytes of a part, if all rows have as many.
fn part_rows(rows: usize, bytes: u64, sizes: Sizes) -> usize {
    let part_rows = rows as u128 * u128::from(sizes.part_bytes) / u128::from(bytes.max(1));
    let part_rows = usize::try_from(part_rows).unwrap_or(usize::MAX);
    multiple(part_rows).min(sizes.rows_max.max(1))
}

/// The rows, rounded down to [`ROWS_MULTIPLE`]; one at least.
fn multiple(rows: usize) -> usize {
    match rows {
        ROWS_MULTIPLE.. => rows - rows % ROWS_MULTIPLE,
        _ => rows.max(1),
    }
}
