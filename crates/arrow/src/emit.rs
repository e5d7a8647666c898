//! Decoded memory becomes arrays.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type, RunEndIndexType, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, FixedSizeBinaryArray,
    LargeBinaryArray, LargeStringArray, NullArray, PrimitiveArray, RunArray, StringArray,
    StringViewArray, StructArray, UInt64Array, downcast_primitive, make_array,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_data::transform::MutableArrayData;
use arrow_schema::{ArrowError, DataType};
use tarsia_codec::{Error, ErrorKind, Result, ValueType};

use super::kernels::Strings;
use super::{Pool, logical_type, value_type};
use crate::lent::view_of;
use tarsia_structure::page::RawParts;

/// An array, or several where the keys of a dictionary would not fit one.
#[derive(Debug)]
pub struct Emitted {
    /// In row order; together they hold all rows. More than one only for dictionary types.
    pub parts: Vec<ArrayRef>,
}

/// The array of `data_type` that decoded memory holds. Text is checked to be UTF-8, since any byte of a file may be hostile.
///
/// # Errors
/// [`ErrorKind::Corrupt`] for text that is not UTF-8, [`ErrorKind::InvalidInput`] where the parts do not fit the type,
/// [`ErrorKind::Unsupported`] for a type that is not stored.
pub fn array_from_raw(data_type: &DataType, raw: RawParts, pool: &Pool) -> Result<Emitted> {
    array_from_buffers(data_type, ColumnBuffers::of_raw(raw, pool))
}

/// The array of byte strings that views, as [`LentStrings`](crate::LentStrings) collects them, show in `data`.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] where they look elsewhere.
pub fn array_of_views(raw: RawParts, data: Vec<Buffer>, pool: &Pool) -> Result<ArrayRef> {
    let misfit = || Error::invalid("views that do not fit their data");
    let buffers = ColumnBuffers::of_raw(raw, pool);
    let bytes = buffers.rows.checked_mul(size_of::<u128>());
    let views = cut(&buffers.values, bytes)?;
    let views = ScalarBuffer::new(views, 0, buffers.rows);
    let array = BinaryViewArray::try_new(views, data, buffers.nulls).map_err(|_| misfit())?;
    Ok(Arc::new(array))
}

/// The array of byte strings that lie back to back in `values`, and of which `raw` has the rest.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] where they do not fit each other or the type.
pub fn array_of_lent(
    data_type: &DataType,
    raw: RawParts,
    values: Buffer,
    pool: &Pool,
) -> Result<ArrayRef> {
    let buffers = ColumnBuffers {
        values,
        ..ColumnBuffers::of_raw(raw, pool)
    };
    plain_array(data_type, buffers)
}

/// Memory of an owner that keeps it where it is.
pub fn lent_buffer<T: AsRef<[u8]> + Send + 'static>(owner: T) -> Buffer {
    match owner.as_ref() {
        // What is empty may lie anywhere.
        [] => Buffer::default(),
        _ => Buffer::from(bytes::Bytes::from_owner(owner)),
    }
}

/// The parts of a column, in anybody's memory.
#[derive(Debug, Clone)]
pub struct ColumnBuffers {
    /// Number of rows.
    pub rows: usize,
    /// Which rows are null; `None` where none is.
    pub nulls: Option<NullBuffer>,
    /// For byte strings `rows + 1` offsets as u32, else empty.
    pub offsets: Buffer,
    /// Packed bits, fixed-width values or the bytes of strings.
    pub values: Buffer,
}

impl ColumnBuffers {
    /// Decoded memory, which comes back to the pool.
    pub(super) fn of_raw(raw: RawParts, pool: &Pool) -> Self {
        let rows = raw.rows;
        Self {
            rows,
            nulls: raw.validity.map(|validity| {
                let bits = pool.into_buffer(validity, rows.div_ceil(8));
                NullBuffer::new(BooleanBuffer::new(bits, 0, rows))
            }),
            offsets: match raw.offsets.len() {
                0 => Buffer::default(),
                _ => pool.into_buffer(raw.offsets, (rows + 1) * 4),
            },
            values: pool.into_buffer(raw.values, raw.values_len),
        }
    }

    /// Parts that stay where they are for as long as their owners live. Without validity (no bytes) all rows are valid.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for fewer bits of validity than rows.
    pub fn from_owners<T: AsRef<[u8]> + Send + 'static>(
        rows: usize,
        validity: T,
        offsets: T,
        values: T,
    ) -> Result<Self> {
        let bits = lent_buffer(validity);
        let nulls = match bits.len() {
            0 => None,
            _ => {
                let bits = cut(&bits, Some(rows.div_ceil(8)))?;
                Some(NullBuffer::new(BooleanBuffer::new(bits, 0, rows)))
            }
        };
        Ok(Self {
            rows,
            nulls: nulls.filter(|nulls| nulls.null_count() > 0),
            offsets: lent_buffer(offsets),
            values: lent_buffer(values),
        })
    }
}

/// The same as [`array_from_raw`] for memory that is not a pool's.
///
/// # Errors
/// As [`array_from_raw`]; [`ErrorKind::InvalidInput`] also for buffers that are shorter than the rows or not aligned.
pub fn array_from_buffers(data_type: &DataType, buffers: ColumnBuffers) -> Result<Emitted> {
    if let DataType::Dictionary(key, value) = data_type {
        let values = array_from_buffers(value, buffers)?;
        let encode = |values: &ArrayRef| dictionary::encode(key, values, values.logical_nulls());
        let parts = values
            .parts
            .iter()
            .map(encode)
            .collect::<Result<Vec<_>>>()?;
        return Ok(Emitted {
            parts: parts.into_iter().flatten().collect(),
        });
    }
    if let DataType::RunEndEncoded(ends, values) = data_type {
        let logical = array_from_buffers(values.data_type(), buffers)?;
        let runs = |part| super::assemble::run_arrays(data_type, ends.data_type(), part);
        let parts = logical.parts.iter().map(runs).collect::<Result<Vec<_>>>()?;
        return Ok(Emitted {
            parts: parts.into_iter().flatten().collect(),
        });
    }
    Ok(Emitted {
        parts: vec![plain_array(data_type, buffers)?],
    })
}

impl Emitted {
    /// Nulls of type Null, which has no pages.
    pub fn nulls(rows: usize) -> Self {
        Self {
            parts: vec![Arc::new(NullArray::new(rows))],
        }
    }
}

/// Arrow's values are of at most this alignment.
const VALUE_ALIGN: usize = 16;

/// The first bytes of a buffer, as many as the rows take. Arrow panics where there are fewer, or they are not aligned.
fn cut(buffer: &Buffer, bytes: Option<usize>) -> Result<Buffer> {
    let is_aligned = (buffer.as_ptr() as usize).is_multiple_of(VALUE_ALIGN);
    match bytes {
        Some(bytes) if bytes <= buffer.len() && is_aligned => {
            Ok(buffer.slice_with_length(0, bytes))
        }
        _ => Err(Error::invalid("a column's buffers do not fit its rows")),
    }
}

pub(super) fn plain_array(data_type: &DataType, buffers: ColumnBuffers) -> Result<ArrayRef> {
    let ColumnBuffers {
        rows,
        nulls,
        offsets,
        values,
    } = buffers;
    let stored = value_type(logical_type(data_type)).map_err(|unsupported| {
        Error::from(ErrorKind::Unsupported {
            what: format!("type {unsupported}"),
        })
    })?;
    match stored {
        None => Ok(Arc::new(NullArray::new(rows))),
        Some(ValueType::Bits) => {
            let bits = cut(&values, Some(rows.div_ceil(8)))?;
            let bits = BooleanBuffer::new(bits, 0, rows);
            Ok(Arc::new(BooleanArray::new(bits, nulls)))
        }
        Some(ValueType::Fixed(width)) => {
            let values = cut(&values, rows.checked_mul(width as usize))?;
            fixed_array(data_type, rows, values, nulls)
        }
        Some(ValueType::Bytes) => {
            let bytes = rows.checked_add(1).and_then(|n| n.checked_mul(4));
            let offsets = cut(&offsets, bytes)?;
            bytes_array(data_type, offsets, values, nulls)
        }
    }
}

fn fixed_array(
    data_type: &DataType,
    rows: usize,
    values: Buffer,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    if let DataType::Struct(_) = data_type {
        return Ok(Arc::new(StructArray::new_empty_fields(rows, nulls)));
    }
    if let DataType::FixedSizeBinary(width) = data_type {
        if *width == 0 {
            return zero_width(rows, nulls)
                .map_err(|_| Error::invalid("fixed-size binary of width 0"));
        }
        let array = FixedSizeBinaryArray::try_new(*width, values, nulls)
            .map_err(|_| Error::invalid("fixed-size binary values of another size"))?;
        return Ok(Arc::new(array));
    }
    macro_rules! primitive {
        ($t:ty, $data_type:expr, $rows:expr, $values:expr, $nulls:expr) => {{
            let values = ScalarBuffer::new($values, 0, $rows);
            let array = PrimitiveArray::<$t>::try_new(values, $nulls)
                .map_err(|_| Error::invalid("validity and values differ in length"))?
                .with_data_type($data_type.clone());
            Ok(Arc::new(array))
        }};
    }
    downcast_primitive! {
        data_type => (primitive, data_type, rows, values, nulls),
        other => Err(Error::from(ErrorKind::Unsupported { what: format!("type {other}") }))
    }
}

/// `FixedSizeBinaryArray` cannot tell the length of zero-width values from their buffer.
pub(super) fn zero_width(rows: usize, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
    let data = ArrayData::builder(DataType::FixedSizeBinary(0))
        .len(rows)
        .add_buffer(Buffer::default())
        .nulls(nulls)
        .build()?;
    Ok(make_array(data))
}

/// The items at `places`, in that order; null where the place is. As Arrow's `take`, which forgets how many values of width 0
/// there are.
///
/// # Errors
/// What Arrow refuses: places out of range, offsets that overflow.
pub fn reorder(array: &dyn Array, places: &dyn Array) -> Result<ArrayRef, ArrowError> {
    if let DataType::RunEndEncoded(ends, _) = array.data_type() {
        return match ends.data_type() {
            DataType::Int16 => reorder_runs::<Int16Type>(array, places),
            DataType::Int32 => reorder_runs::<Int32Type>(array, places),
            _ => reorder_runs::<Int64Type>(array, places),
        };
    }
    if array.data_type().is_nested()
        || matches!(array.data_type(), DataType::Dictionary(_, v) if v.is_nested())
    {
        return reorder_nested(array, places);
    }
    if array.data_type() != &DataType::FixedSizeBinary(0) {
        return arrow_select::take::take(array, places, None);
    }
    let valid = BooleanArray::from_iter((0..array.len()).map(|i| Some(array.is_valid(i))));
    let picked = arrow_select::take::take(&valid, places, None)?;
    let picked = picked.as_boolean();
    let nulls = picked
        .iter()
        .map(|valid| valid == Some(true))
        .collect::<BooleanBuffer>();
    zero_width(
        places.len(),
        Some(NullBuffer::new(nulls)).filter(|nulls| nulls.null_count() > 0),
    )
}

/// The same for run-end arrays, of which Arrow's `take` knows neither places that are null nor values that it cannot take itself.
fn reorder_runs<R: RunEndIndexType>(
    array: &dyn Array,
    places: &dyn Array,
) -> Result<ArrayRef, ArrowError> {
    let runs = array.as_run::<R>();
    let places = wide_places(array.len(), places)?;
    let mut ends: Vec<R::Native> = Vec::new();
    let mut picked: Vec<Option<u64>> = Vec::new();
    for (row, place) in places.iter().enumerate() {
        let run = place.map(|place| runs.get_physical_index(place as usize) as u64);
        if picked.last() != Some(&run) {
            picked.push(run);
            ends.push(R::Native::default());
        }
        let end = R::Native::from_usize(row + 1);
        let end = end.ok_or_else(|| ArrowError::ComputeError("run end overflow".into()))?;
        if let Some(last) = ends.last_mut() {
            *last = end;
        }
    }
    let values = reorder(runs.values().as_ref(), &UInt64Array::from(picked))?;
    let ends = PrimitiveArray::<R>::new(ends.into(), None);
    run_array(array.data_type(), &ends, values)
}

/// A run-end array whose fields are named as the type says.
pub(super) fn run_array<R: RunEndIndexType>(
    data_type: &DataType,
    ends: &PrimitiveArray<R>,
    values: ArrayRef,
) -> Result<ArrayRef, ArrowError> {
    let array = RunArray::<R>::try_new(ends, values.as_ref())?;
    let data = array.into_data().into_builder();
    Ok(make_array(data.data_type(data_type.clone()).build()?))
}

/// Places among `n` rows as u64, checked.
fn wide_places(n: usize, places: &dyn Array) -> Result<UInt64Array, ArrowError> {
    let rows = UInt64Array::from_iter_values(0..n as u64);
    let checked = arrow_select::take::TakeOptions { check_bounds: true };
    let wide = arrow_select::take::take(&rows, places, Some(checked))?;
    Ok(wide.as_primitive::<UInt64Type>().clone())
}

/// The same for nested arrays, of which Arrow's `take` forgets the length where fixed-size lists are empty.
fn reorder_nested(array: &dyn Array, places: &dyn Array) -> Result<ArrayRef, ArrowError> {
    let wide = wide_places(array.len(), places)?;
    let data = array.to_data();
    let mut picked = MutableArrayData::new(vec![&data], wide.null_count() > 0, wide.len());
    let mut run = 0..0;
    for place in &wide {
        match place.map(|place| place as usize) {
            Some(place) if place == run.end && !run.is_empty() => run.end += 1,
            Some(place) => {
                picked.try_extend(0, run.start, run.end)?;
                run = place..place + 1;
            }
            None => {
                picked.try_extend(0, run.start, run.end)?;
                run = 0..0;
                picked.try_extend_nulls(1)?;
            }
        }
    }
    picked.try_extend(0, run.start, run.end)?;
    Ok(make_array(picked.freeze()))
}

fn bytes_array(
    data_type: &DataType,
    offsets: Buffer,
    data: Buffer,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let is_text = matches!(
        data_type,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    );
    // Decoders promise rising ends inside the data; arrays are built on that, so it is checked once more.
    let strings = Strings::new(offsets.into(), data, is_text)?;
    Ok(match data_type {
        DataType::Utf8 => {
            let array: StringArray = strings.narrow(true, nulls)?;
            Arc::new(array)
        }
        DataType::Binary => {
            let array: BinaryArray = strings.narrow(false, nulls)?;
            Arc::new(array)
        }
        DataType::LargeUtf8 => {
            let array: LargeStringArray = strings.wide(true, nulls)?;
            Arc::new(array)
        }
        DataType::LargeBinary => {
            let array: LargeBinaryArray = strings.wide(false, nulls)?;
            Arc::new(array)
        }
        DataType::Utf8View => Arc::new(strings.text_views(nulls)?),
        DataType::BinaryView => Arc::new(strings.binary_views(nulls)?),
        other => {
            return Err(Error::from(ErrorKind::Unsupported {
                what: format!("type {other}"),
            }));
        }
    })
}

/// One view per value: short values inside the view, longer ones in the one data buffer.
pub(super) fn views(ends: &[u32], data: &[u8]) -> ScalarBuffer<u128> {
    ends.windows(2)
        .map(|pair| {
            let value = data.get(pair[0] as usize..pair[1] as usize);
            view_of(value.unwrap_or_default(), 0, pair[0])
        })
        .collect::<Vec<_>>()
        .into()
}

pub(super) use dictionary::RowBytes;

mod row_bytes {
    //! Rows of nested arrays as bytes that are equal where the rows are.

    use super::*;

    /// Offsets and bytes of all rows.
    pub(super) fn written(array: &dyn Array) -> Result<(Vec<i32>, Vec<u8>)> {
        let (mut offsets, mut bytes) = (vec![0], Vec::new());
        for row in 0..array.len() {
            write(array, row, &mut bytes)?;
            let end = i32::try_from(bytes.len()).map_err(|_| {
                let (found, max) = (bytes.len() as u64, i32::MAX as u64);
                Error::limit("bytes of a dictionary's entries", found, max)
            });
            offsets.push(end?);
        }
        Ok((offsets, bytes))
    }

    /// The key of a row that is not null.
    fn key_at(keys: &dyn Array, row: usize) -> Result<usize> {
        let key = arrow_array::downcast_integer_array! {
            keys => keys.values().get(row).and_then(|key| key.to_usize()),
            _ => None
        };
        key.ok_or_else(|| Error::invalid("a dictionary key is out of range"))
    }

    fn write(array: &dyn Array, row: usize, out: &mut Vec<u8>) -> Result<()> {
        let mut items = |values: &ArrayRef, range: Range<usize>| {
            out.push(2);
            out.extend_from_slice(&(range.len() as u64).to_le_bytes());
            range
                .into_iter()
                .try_for_each(|row| write(values.as_ref(), row, out))
        };
        if array.is_null(row) {
            out.push(0);
            return Ok(());
        }
        match array.data_type() {
            DataType::Struct(fields) if !fields.is_empty() => {
                out.push(1);
                let columns = array.as_struct().columns();
                columns
                    .iter()
                    .try_for_each(|column| write(column.as_ref(), row, out))
            }
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                let ends = list.value_offsets();
                items(list.values(), ends[row] as usize..ends[row + 1] as usize)
            }
            DataType::LargeList(_) => {
                let list = array.as_list::<i64>();
                let ends = list.value_offsets();
                items(list.values(), ends[row] as usize..ends[row + 1] as usize)
            }
            DataType::ListView(_) => {
                let list = array.as_list_view::<i32>();
                let start = list.value_offset(row) as usize;
                items(list.values(), start..start + list.value_size(row) as usize)
            }
            DataType::LargeListView(_) => {
                let list = array.as_list_view::<i64>();
                let start = list.value_offset(row) as usize;
                items(list.values(), start..start + list.value_size(row) as usize)
            }
            DataType::FixedSizeList(_, length) => {
                let list = array.as_fixed_size_list();
                let length = *length as usize;
                items(list.values(), row * length..(row + 1) * length)
            }
            DataType::Map(..) => {
                let map = array.as_map();
                let ends = map.value_offsets();
                let entries: ArrayRef = Arc::new(map.entries().clone());
                items(&entries, ends[row] as usize..ends[row + 1] as usize)
            }
            DataType::Union(..) => {
                let union = array.as_union();
                let type_id = union.type_id(row);
                out.extend_from_slice(&[3, type_id as u8]);
                write(union.child(type_id).as_ref(), union.value_offset(row), out)
            }
            DataType::RunEndEncoded(ends, _) => {
                let (values, row) = match ends.data_type() {
                    DataType::Int16 => {
                        let runs = array.as_run::<Int16Type>();
                        (runs.values(), runs.get_physical_index(row))
                    }
                    DataType::Int32 => {
                        let runs = array.as_run::<Int32Type>();
                        (runs.values(), runs.get_physical_index(row))
                    }
                    _ => {
                        let runs = array.as_run::<Int64Type>();
                        (runs.values(), runs.get_physical_index(row))
                    }
                };
                write(values.as_ref(), row, out)
            }
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary();
                write(
                    dictionary.values().as_ref(),
                    key_at(dictionary.keys(), row)?,
                    out,
                )
            }
            DataType::Null => {
                out.push(0);
                Ok(())
            }
            _ => {
                let bytes = RowBytes::of(array)?;
                let value = bytes.get(row);
                out.push(1);
                out.extend_from_slice(&(value.len() as u64).to_le_bytes());
                out.extend_from_slice(value);
                Ok(())
            }
        }
    }
}

pub(super) mod dictionary {
    //! Logical values become dictionary arrays: entries in order of first appearance, a new array where the key type is full.

    use super::*;
    use arrow_array::types::{ArrowDictionaryKeyType, Int8Type, UInt8Type, UInt16Type, UInt32Type};
    use arrow_array::{DictionaryArray, UInt32Array};
    use hashbrown::HashTable;
    use std::hash::BuildHasher;

    /// One or more dictionary arrays that hold `values` in order, null where `nulls` say so.
    pub(crate) fn encode(
        key: &DataType,
        values: &ArrayRef,
        nulls: Option<NullBuffer>,
    ) -> Result<Vec<ArrayRef>> {
        match key {
            DataType::Int8 => encode_as::<Int8Type>(values, nulls, i8::MAX as u64 + 1),
            DataType::Int16 => encode_as::<Int16Type>(values, nulls, i16::MAX as u64 + 1),
            DataType::Int32 => encode_as::<Int32Type>(values, nulls, i32::MAX as u64 + 1),
            DataType::Int64 => encode_as::<Int64Type>(values, nulls, u64::from(u32::MAX)),
            DataType::UInt8 => encode_as::<UInt8Type>(values, nulls, u8::MAX as u64 + 1),
            DataType::UInt16 => encode_as::<UInt16Type>(values, nulls, u16::MAX as u64 + 1),
            DataType::UInt32 => encode_as::<UInt32Type>(values, nulls, u64::from(u32::MAX)),
            DataType::UInt64 => encode_as::<UInt64Type>(values, nulls, u64::from(u32::MAX)),
            other => Err(Error::from(ErrorKind::Unsupported {
                what: format!("dictionary keys of type {other}"),
            })),
        }
    }

    fn encode_as<K: ArrowDictionaryKeyType>(
        values: &ArrayRef,
        nulls: Option<NullBuffer>,
        entries_max: u64,
    ) -> Result<Vec<ArrayRef>> {
        let is_null = |row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        let written;
        let bytes = match RowBytes::of(values.as_ref()) {
            Ok(bytes) => bytes,
            Err(_) => {
                written = super::row_bytes::written(values.as_ref())?;
                RowBytes::Offsets(&written.0, &written.1)
            }
        };
        let hasher = foldhash::fast::FixedState::default();
        let mut parts = Vec::new();
        let mut start = 0;
        loop {
            let mut table = HashTable::<(u32, K::Native)>::new();
            let mut entries: Vec<u32> = Vec::new();
            let mut keys: Vec<K::Native> = Vec::with_capacity(values.len() - start);
            let mut row = start;
            while row < values.len() {
                if is_null(row) {
                    keys.push(K::Native::default());
                    row += 1;
                    continue;
                }
                let value = bytes.get(row);
                let hash = hasher.hash_one(value);
                let found = table.find(hash, |(entry, _)| bytes.get(*entry as usize) == value);
                let key = match found {
                    Some((_, key)) => *key,
                    None => {
                        if entries.len() as u64 == entries_max {
                            break;
                        }
                        let key = K::Native::from_usize(entries.len())
                            .ok_or_else(|| Error::invalid("a dictionary key overflows"))?;
                        // A batch has at most 2^31 rows.
                        entries.push(row as u32);
                        table.insert_unique(hash, (row as u32, key), |(entry, _)| {
                            hasher.hash_one(bytes.get(*entry as usize))
                        });
                        key
                    }
                };
                keys.push(key);
                row += 1;
            }
            let dictionary = super::super::reorder(values, &UInt32Array::from(entries))
                .map_err(|_| Error::invalid("dictionary entries out of range"))?;
            let nulls = nulls.as_ref().map(|nulls| nulls.slice(start, row - start));
            let keys = PrimitiveArray::<K>::try_new(keys.into(), nulls)
                .map_err(|_| Error::invalid("validity and keys differ in length"))?;
            let array = DictionaryArray::<K>::try_new(keys, dictionary)
                .map_err(|_| Error::invalid("a dictionary key is out of range"))?;
            parts.push(Arc::new(array) as ArrayRef);
            start = row;
            if start >= values.len() {
                return Ok(parts);
            }
        }
    }

    /// Rows of any flat array as comparable bytes.
    pub(crate) enum RowBytes<'a> {
        Bits(&'a BooleanArray),
        Fixed(Buffer, Range<usize>, usize),
        Offsets(&'a [i32], &'a [u8]),
        LargeOffsets(&'a [i64], &'a [u8]),
        Text(&'a StringViewArray),
        Binary(&'a BinaryViewArray),
    }

    impl<'a> RowBytes<'a> {
        pub(crate) fn of(array: &'a dyn Array) -> Result<Self> {
            Ok(match array.data_type() {
                DataType::Boolean => Self::Bits(array.as_boolean()),
                DataType::Utf8 => {
                    let array = array.as_string::<i32>();
                    Self::Offsets(array.value_offsets(), array.value_data())
                }
                DataType::Binary => {
                    let array = array.as_binary::<i32>();
                    Self::Offsets(array.value_offsets(), array.value_data())
                }
                DataType::LargeUtf8 => {
                    let array = array.as_string::<i64>();
                    Self::LargeOffsets(array.value_offsets(), array.value_data())
                }
                DataType::LargeBinary => {
                    let array = array.as_binary::<i64>();
                    Self::LargeOffsets(array.value_offsets(), array.value_data())
                }
                DataType::Utf8View => Self::Text(array.as_string_view()),
                DataType::BinaryView => Self::Binary(array.as_binary_view()),
                DataType::Dictionary(..) | DataType::RunEndEncoded(..) => {
                    return Err(Error::invalid("not an array of plain values"));
                }
                _ => {
                    let data = array.to_data();
                    let width = value_type(array.data_type())
                        .ok()
                        .flatten()
                        .and_then(ValueType::fixed_bytes)
                        .ok_or_else(|| Error::invalid("not a flat array"))?;
                    let start = data.offset() * width;
                    let buffer = data.buffers().first().cloned().unwrap_or_default();
                    Self::Fixed(buffer, start..start + array.len() * width, width)
                }
            })
        }

        pub(crate) fn get(&self, row: usize) -> &[u8] {
            match self {
                Self::Bits(array) => match array.value(row) {
                    true => &[1],
                    false => &[0],
                },
                Self::Fixed(buffer, range, width) => buffer
                    .get(range.start + row * width..range.start + (row + 1) * width)
                    .unwrap_or_default(),
                Self::Offsets(offsets, data) => offsets
                    .get(row)
                    .zip(offsets.get(row + 1))
                    .and_then(|(start, end)| data.get(*start as usize..*end as usize))
                    .unwrap_or_default(),
                Self::LargeOffsets(offsets, data) => offsets
                    .get(row)
                    .zip(offsets.get(row + 1))
                    .and_then(|(start, end)| data.get(*start as usize..*end as usize))
                    .unwrap_or_default(),
                Self::Text(array) => array.value(row).as_bytes(),
                Self::Binary(array) => array.value(row),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Int32Array;

    fn buffers(
        validity: &[u8],
        offsets: &[u8],
        values: &[u8],
        rows: usize,
    ) -> Result<ColumnBuffers> {
        let aligned = |bytes: &[u8]| Buffer::from(bytes).as_slice().to_vec();
        ColumnBuffers::from_owners(rows, aligned(validity), aligned(offsets), aligned(values))
    }

    #[test]
    fn anybodys_memory_becomes_an_array() {
        let values: Vec<u8> = (1..=3i32).flat_map(i32::to_le_bytes).collect();
        let parts = buffers(&[0b101], &[], &values, 3).unwrap();
        let array = array_from_buffers(&DataType::Int32, parts).unwrap();
        let expect = Int32Array::from(vec![Some(1), None, Some(3)]);
        assert_eq!(array.parts[0].as_primitive(), &expect);
        // Validity that says nothing is none.
        assert!(buffers(&[0b111], &[], &values, 3).unwrap().nulls.is_none());
        assert!(buffers(&[], &[], &values, 3).unwrap().nulls.is_none());
    }

    #[test]
    fn memory_that_does_not_fit_its_rows_is_refused_without_a_panic() {
        let values = vec![1u8; 12];
        assert!(buffers(&[1], &[], &values, 9).is_err());
        let types = [
            DataType::Int32,
            DataType::Boolean,
            DataType::Utf8,
            DataType::Decimal128(5, 0),
        ];
        for data_type in types {
            for rows in [1000, usize::MAX / 8, usize::MAX] {
                let parts = buffers(&[], &[0; 4], &values, rows).unwrap();
                assert!(
                    array_from_buffers(&data_type, parts).is_err(),
                    "{data_type} {rows}"
                );
            }
        }
        // Longer memory is cut.
        let parts = buffers(&[], &[], &values, 1).unwrap();
        let array = array_from_buffers(&DataType::FixedSizeBinary(4), parts).unwrap();
        assert_eq!(array.parts[0].len(), 1);
        let odd = Buffer::from(&values[..]).slice(1);
        let parts = ColumnBuffers {
            rows: 1,
            nulls: None,
            offsets: Buffer::default(),
            values: odd,
        };
        assert!(array_from_buffers(&DataType::Int32, parts).is_err());
    }
}
