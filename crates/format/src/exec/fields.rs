//! Decodes the fetched blocks of several columns into the arrays of their fields.

use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;
use rayon::prelude::*;
use tarsia_arrow::{
    ArrayParts, LeafParts, array_from_raw, array_of_borrowed, array_of_entries, array_of_views,
    assemble,
};
#[cfg(feature = "kernels")]
use tarsia_arrow::{ColumnBuffers, array_from_buffers};
use tarsia_codec::{Result as CodecResult, ValueType};
use tarsia_filter::ColumnTest;
use tarsia_structure::Budget;

use super::cancel::Cancel;
use super::narrow::narrowed;
use super::open_file::OpenFile;
use super::prepare::prepare;
use super::scratch::with_scratch;
use crate::decode::{ColumnRead, Decoded, Memory};
use crate::error::{Error, ErrorKind, Result, while_reading};
use crate::plan::Plan;
use crate::table::{Column, TableField};

/// Several fields of a read, planned and fetched.
pub(crate) struct FieldsRead<'a, B> {
    pub(crate) file: &'a OpenFile,
    pub(crate) fields: &'a [Arc<TableField>],
    /// The leaf columns of all fields, in order.
    pub(crate) columns: &'a [Arc<Column>],
    /// One per column.
    pub(crate) plans: &'a [Plan],
    /// The bytes of each part of each plan.
    pub(crate) blocks: &'a [Vec<B>],
    pub(crate) rows: usize,
    /// Whether flat byte strings may come as dictionary arrays.
    pub(crate) as_entries: bool,
    /// Says whether somebody does not want it any more, if anybody can.
    pub(crate) cancel: Option<&'a Cancel>,
}

/// A field, and the index of its first column among the columns of all fields.
#[derive(Clone, Copy)]
struct FieldAt<'a> {
    field: &'a TableField,
    first: usize,
}

impl<'a, B: AsRef<[u8]>> FieldsRead<'a, B> {
    /// One of the columns.
    pub(crate) fn column(&self, index: usize) -> ColumnRead<'a, B> {
        let (column, plan) = (&self.columns[index], &self.plans[index]);
        self.file.column_read(column, plan, &self.blocks[index])
    }

    /// Decodes all columns into the arrays of their fields. `None` where a nested field's dictionary keys or run ends
    /// cannot number so many rows.
    pub(crate) fn decode(&self, parallel: bool, budget: &Budget) -> Result<Option<Vec<ArrayParts>>>
    where
        B: Sync,
    {
        let mut first = 0;
        let fields = self.fields.iter().map(|field| {
            let at = FieldAt { field, first };
            first += field.columns.len();
            at
        });
        let one = |field| {
            self.cancel.map_or(Ok(()), Cancel::check)?;
            self.decode_field(field, parallel, budget)
        };
        match parallel {
            true => {
                let fields: Vec<_> = fields.collect();
                let threads = &self.file.session.threads;
                threads.install(|| fields.into_par_iter().map(one).collect())
            }
            false => fields.map(one).collect(),
        }
    }

    fn decode_field(
        &self,
        at: FieldAt<'_>,
        parallel: bool,
        budget: &Budget,
    ) -> Result<Option<ArrayParts>>
    where
        B: Sync,
    {
        let FieldAt { field, first } = at;
        if let [column] = field.columns.as_slice()
            && column.is_flat()
        {
            let read = self.column(first);
            if self.as_entries
                && column.packing.is_none()
                && let Some(entries) = decode_string_entries(self.file, &read)?
            {
                return Ok(Some(entries));
            }
            let flat = decode_flat(self.file, &read)?;
            return match column.packing {
                None => Ok(Some(flat)),
                Some(_) => narrowed(flat, field.field.data_type()).map(Some),
            };
        }
        let leaf = |index| decode_leaf(self.file, &self.column(index), budget);
        // The columns of a field follow those of the fields before it.
        let columns = first..first + field.columns.len();
        let leaves: Vec<LeafParts> = match parallel && columns.len() > 1 {
            true => columns.into_par_iter().map(leaf).collect::<Result<_>>()?,
            false => columns.map(leaf).collect::<Result<_>>()?,
        };
        let pool = &self.file.session.pool;
        let array = assemble(&field.field, leaves, self.rows, pool, budget)
            .map_err(|error| while_reading(error).in_column(field.field.name()))?;
        Ok(array.map(|array| ArrayParts { parts: vec![array] }))
    }
}

/// Decodes one nested column into levels and items.
pub(crate) fn decode_leaf<B: AsRef<[u8]>>(
    file: &OpenFile,
    read: &ColumnRead<'_, B>,
    budget: &Budget,
) -> Result<LeafParts> {
    prepare(file, read.column, read.plan)?;
    with_memory(file, |memory| read.decode_nested(budget, memory))
}

/// Gives the thread's scratch memory, and output memory from the file's pool, to `work`.
pub(crate) fn with_memory<T>(file: &OpenFile, work: impl FnOnce(&mut Memory<'_>) -> T) -> T {
    let pool = &file.session.pool;
    with_scratch(|scratch| {
        work(&mut Memory {
            scratch,
            take: &mut |len| pool.take(len),
        })
    })
}

/// Decodes one flat column into Arrow arrays.
pub(crate) fn decode_flat<B: AsRef<[u8]>>(
    file: &OpenFile,
    read: &ColumnRead<'_, B>,
) -> Result<ArrayParts> {
    let column = read.column;
    if column.value_type.is_none() {
        return Ok(ArrayParts::nulls(read.plan.rows));
    }
    prepare(file, column, read.plan)?;
    let decoded = with_memory(file, |memory| read.decode(memory))?;
    let arrays = arrays_of(file, column, decoded)
        .map_err(|error| while_reading(error).in_column(column.name()))?;
    check_nulls(column, &arrays)?;
    let Some(packing) = &column.packing else {
        return Ok(arrays);
    };
    let parts = arrays.parts.iter();
    let parts = parts.map(|rows| packing.unpack(rows.as_ref(), &file.session.pool));
    let parts = parts.collect::<CodecResult<_>>();
    parts
        .map(|parts| ArrayParts { parts })
        .map_err(|error| while_reading(error).in_column(column.name()))
}

/// The rows of a flat column that are not null and for whose values a predicate holds, or does not, without making an
/// array of them. `None` if its values have to be decoded.
pub(crate) fn rows_that_hold<B: AsRef<[u8]>>(
    file: &OpenFile,
    read: &ColumnRead<'_, B>,
    asked: &ColumnTest,
) -> Result<Option<BooleanBuffer>> {
    let column = read.column;
    prepare(file, column, read.plan)?;
    let Some(raw) = with_memory(file, |memory| read.holds(&asked.predicate, memory))? else {
        return Ok(None);
    };
    let bits = array_from_raw(&DataType::Boolean, raw, &file.session.pool)
        .map_err(|error| while_reading(error).in_column(column.name()))?;
    check_nulls(column, &bits)?;
    let [bits] = bits.parts.as_slice() else {
        return Ok(None);
    };
    let (bits, nulls) = bits.as_boolean().clone().into_parts();
    let bits = match asked.is_negated {
        true => !&bits,
        false => bits,
    };
    Ok(Some(match nulls {
        Some(nulls) => &bits & nulls.inner(),
        None => bits,
    }))
}

/// Decodes a flat column of byte strings into a dictionary array with keys of type UInt32, where its pages have
/// dictionaries of few entries; `None` of others.
fn decode_string_entries<B: AsRef<[u8]>>(
    file: &OpenFile,
    read: &ColumnRead<'_, B>,
) -> Result<Option<ArrayParts>> {
    let column = read.column;
    if column.value_type != Some(ValueType::Bytes) {
        return Ok(None);
    }
    prepare(file, column, read.plan)?;
    let Some(decoded) = with_memory(file, |memory| read.decode_string_entries(memory))? else {
        return Ok(None);
    };
    let values = Box::new(column.data_type.clone());
    let data_type = DataType::Dictionary(Box::new(DataType::UInt32), values);
    let (codes, entries) = (decoded.codes, decoded.entries);
    let array = array_of_entries(&data_type, codes, &entries, &file.session.pool)
        .map_err(|error| while_reading(error).in_column(column.name()))?;
    let arrays = ArrayParts { parts: vec![array] };
    check_nulls(column, &arrays)?;
    Ok(Some(arrays))
}

/// Checks that a column that allows no nulls has none.
fn check_nulls(column: &Column, arrays: &ArrayParts) -> Result<()> {
    let has_nulls = arrays.parts.iter().any(|part| part.null_count() > 0);
    if has_nulls && !column.path.nullable() {
        let what = "nulls in a column that allows none";
        return Err(Error::new(ErrorKind::Corrupt, what).in_column(column.name()));
    }
    Ok(())
}

/// Makes Arrow arrays of the column's type from decoded memory.
fn arrays_of(file: &OpenFile, column: &Column, decoded: Decoded) -> CodecResult<ArrayParts> {
    let (data_type, pool) = (&column.data_type, &file.session.pool);
    match decoded {
        Decoded::Raw(raw) => array_from_raw(data_type, raw.finish(), pool),
        Decoded::Views(views) => {
            let array = array_of_views(data_type, views.views, views.buffers, pool)?;
            Ok(ArrayParts { parts: vec![array] })
        }
        Decoded::EntryCodes(decoded) => {
            let array = array_of_entries(data_type, decoded.codes, &decoded.entries, pool)?;
            Ok(ArrayParts { parts: vec![array] })
        }
        Decoded::InPlace(runs) => {
            let parts = runs.into_iter();
            let parts = parts.map(|run| array_of_borrowed(data_type, run.ends, run.bytes, pool));
            Ok(ArrayParts {
                parts: parts.collect::<CodecResult<_>>()?,
            })
        }
        #[cfg(feature = "kernels")]
        Decoded::InKernel(column) => {
            let (validity, offsets, values) =
                (column.validity(), column.offsets(), column.values());
            let buffers = ColumnBuffers::from_owners(column.rows(), validity, offsets, values)?;
            array_from_buffers(data_type, buffers, pool)
        }
    }
}
