//! Packed structs: the fields of a row one after the other, as one value of one column.
//!
//! Source: the Lance paper on structural encodings, section 4.3 (struct packing); unlike there, strings may be among
//! the fields, and the rows are compressed as any column of such values is. The bytes of a row are in
//! `docs/spec/page.md` (Packed structs).

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeBinaryArray, FixedSizeListArray, LargeBinaryArray,
    StructArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, FieldRef, Fields};
use tarsia_codec::{Error, ErrorKind, Result, ValueType, limits};

use tarsia_structure::memory::words_mut;

use crate::buffers::ColumnBuffers;
use crate::plain::{plain_array, zero_width};
use crate::pool::Pool;
use crate::row_bytes::RowBytes;
use crate::types::value_type;

/// Bytes of the length of a byte string.
const LENGTH_BYTES: usize = 4;

/// How the rows of a packed struct are laid out: a function of its type.
#[derive(Debug, Clone)]
pub struct Packing {
    fields: Fields,
    slots: Vec<Slot>,
    n_bits: usize,
    /// Bytes of everything but the byte strings.
    fixed_bytes: usize,
    has_strings: bool,
}

/// Where a field stands in a row.
#[derive(Debug, Clone)]
struct Slot {
    field: FieldRef,
    /// The bit that is 1 where the field is not null; `None` where it never is.
    valid: Option<usize>,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    /// A field of type Null.
    Nothing,
    Fields(Vec<Slot>),
    /// A Boolean's value.
    Bit(usize),
    Fixed {
        at: usize,
        width: usize,
    },
    /// A fixed-size list.
    Items {
        at: usize,
        width: usize,
        n: usize,
        /// The first item's bit, where items may be null.
        valid: Option<usize>,
    },
    /// A byte string's length; its bytes are behind the fixed part.
    String {
        at: usize,
    },
}

impl Packing {
    /// The layout of a struct's rows.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for another type than a struct with fields, and for fields that cannot be packed, by
    /// name: those are flat types, structs of such, and fixed-size lists of values of fixed width.
    pub fn of(data_type: &DataType) -> Result<Self> {
        let DataType::Struct(fields) = data_type else {
            return Err(refused(format!("{data_type} cannot be packed: no struct")));
        };
        if fields.is_empty() {
            return Err(refused("a struct without fields cannot be packed".into()));
        }
        let mut packing = Self {
            fields: fields.clone(),
            slots: Vec::new(),
            n_bits: 0,
            fixed_bytes: 0,
            has_strings: false,
        };
        packing.slots = packing.slots_of(fields, 1)?;
        // The bits come first.
        let bit_bytes = packing.n_bits.div_ceil(8);
        packing.fixed_bytes = packing.fixed_bytes.saturating_add(bit_bytes);
        shift(&mut packing.slots, bit_bytes);
        packing.check_width()?;
        Ok(packing)
    }

    fn check_width(&self) -> Result<()> {
        let max = limits::FIXED_WIDTH_BYTES_MAX;
        match self.fixed_bytes.max(self.n_bits / 8) <= max as usize {
            true => Ok(()),
            false => Err(Error::limit(
                "bytes of a packed row",
                self.fixed_bytes as u64,
                max.into(),
            )),
        }
    }

    fn slots_of(&mut self, fields: &Fields, depth: usize) -> Result<Vec<Slot>> {
        if depth > limits::SCHEMA_DEPTH_MAX {
            return Err(refused("a struct is nested too deep to be packed".into()));
        }
        fields
            .iter()
            .map(|field| self.slot(field, depth))
            .collect::<Result<_>>()
    }

    fn bits(&mut self, n: usize) -> usize {
        let first = self.n_bits;
        self.n_bits = first.saturating_add(n);
        first
    }

    fn bytes(&mut self, n: usize) -> usize {
        let at = self.fixed_bytes;
        self.fixed_bytes = at.saturating_add(n);
        at
    }

    fn slot(&mut self, field: &FieldRef, depth: usize) -> Result<Slot> {
        let refused = || {
            refused(format!(
                "field `{}` of type {} cannot be packed",
                field.name(),
                field.data_type()
            ))
        };
        let is_null = field.data_type() == &DataType::Null;
        let valid = (field.is_nullable() && !is_null).then(|| self.bits(1));
        let kind = match field.data_type() {
            DataType::Null => Kind::Nothing,
            DataType::Struct(fields) => Kind::Fields(self.slots_of(fields, depth + 1)?),
            DataType::FixedSizeList(item, n) => {
                let n = usize::try_from(*n).map_err(|_| refused())?;
                let width = match stored(item.data_type()) {
                    Some(ValueType::Fixed(width)) if width > 0 => width as usize,
                    _ => return Err(refused()),
                };
                Kind::Items {
                    valid: item.is_nullable().then(|| self.bits(n)),
                    at: self.bytes(width.saturating_mul(n)),
                    width,
                    n,
                }
            }
            flat => match stored(flat).ok_or_else(refused)? {
                ValueType::Bits => Kind::Bit(self.bits(1)),
                ValueType::Fixed(width) => Kind::Fixed {
                    at: self.bytes(width as usize),
                    width: width as usize,
                },
                ValueType::Bytes => {
                    self.has_strings = true;
                    Kind::String {
                        at: self.bytes(LENGTH_BYTES),
                    }
                }
            },
        };
        // Before the next list multiplies.
        self.check_width()?;
        Ok(Slot {
            field: field.clone(),
            valid,
            kind,
        })
    }

    /// The type of the column that holds the rows: fixed-size binary, or large binary where there are strings among the
    /// fields.
    pub fn stored_type(&self) -> DataType {
        match self.has_strings {
            true => DataType::LargeBinary,
            // At most the limit that was checked.
            false => DataType::FixedSizeBinary(self.fixed_bytes as i32),
        }
    }

    /// The rows of a struct array as values of [`Packing::stored_type`]. What stands under nulls is not looked at.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for an array of another type, nulls in a field that allows none, rows of 2 GiB and
    /// more.
    pub fn pack(&self, array: &dyn Array) -> Result<ArrayRef> {
        let parent = array
            .as_struct_opt()
            .filter(|parent| parent.fields() == &self.fields)
            .ok_or_else(|| Error::invalid("the array is not of the packed struct's type"))?;
        let n_rows = parent.len();
        let nulls = parent.nulls();
        let starts = match self.has_strings {
            false => (0..=n_rows).map(|row| row * self.fixed_bytes).collect(),
            true => self.starts(parent)?,
        };
        let mut rows = PackedRows {
            bytes: MutableBuffer::from_len_zeroed(starts.last().copied().unwrap_or(0)),
            string_ends: match self.has_strings {
                true => starts
                    .iter()
                    .map(|start| start + self.fixed_bytes)
                    .collect(),
                false => Vec::new(),
            },
            starts,
        };
        for (slot, child) in self.slots.iter().zip(parent.columns()) {
            rows.write(slot, child, nulls)?;
        }
        let PackedRows { bytes, starts, .. } = rows;
        if self.has_strings {
            let ends = starts.iter().map(|start| *start as i64).collect();
            let array =
                LargeBinaryArray::try_new(OffsetBuffer::new(ends), bytes.into(), nulls.cloned());
            return Ok(Arc::new(array.map_err(|_| misfit())?));
        }
        if self.fixed_bytes == 0 {
            return zero_width(n_rows, nulls.cloned()).map_err(|_| misfit());
        }
        let width = self.fixed_bytes as i32;
        let array = FixedSizeBinaryArray::try_new(width, bytes.into(), nulls.cloned());
        Ok(Arc::new(array.map_err(|_| misfit())?))
    }

    /// Where rows with strings start, and the last ends; null rows take nothing.
    fn starts(&self, parent: &StructArray) -> Result<Vec<usize>> {
        let n_rows = parent.len();
        let nulls = parent.nulls();
        let mut starts = vec![0; n_rows + 1];
        let (_, lengths) = starts.split_at_mut(1);
        for (row, length) in lengths.iter_mut().enumerate() {
            *length = match nulls.is_some_and(|nulls| nulls.is_null(row)) {
                true => 0,
                false => self.fixed_bytes,
            };
        }
        for (slot, child) in self.slots.iter().zip(parent.columns()) {
            add_strings(slot, child, nulls, lengths)?;
        }
        let mut sum = 0;
        for length in lengths {
            if *length > limits::ARROW_OFFSET_MAX as usize {
                return Err(Error::invalid("a packed row is larger than 2 GiB"));
            }
            sum += *length;
            *length = sum;
        }
        Ok(starts)
    }

    /// The struct array of rows of [`Packing::stored_type`]; memory for its fields comes from the pool.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] for rows of another length than they say, and text that is not UTF-8: any byte of a file
    /// may be hostile.
    pub fn unpack(&self, array: &dyn Array, pool: &Pool) -> Result<ArrayRef> {
        let nulls = array.nulls().cloned();
        let zeros = vec![0; self.fixed_bytes];
        let n_rows = array.len();
        let rows = match array.data_type() {
            DataType::LargeBinary if self.has_strings => {
                let array = array.as_binary::<i64>();
                let rows = (0..n_rows).map(|row| match array.is_null(row) {
                    true => Ok(zeros.as_slice()),
                    false => self.long_enough(array.value(row)),
                });
                Rows::Each(rows.collect::<Result<_>>()?)
            }
            DataType::FixedSizeBinary(width)
                if !self.has_strings && usize::try_from(*width) == Ok(self.fixed_bytes) =>
            {
                let bytes = array.as_fixed_size_binary().value_data();
                let bytes = bytes.get(..n_rows.saturating_mul(self.fixed_bytes));
                Rows::Fixed {
                    bytes: bytes.ok_or_else(misfit)?,
                    width: self.fixed_bytes,
                    n_rows,
                }
            }
            _ => return Err(Error::invalid("not the rows of the packed struct")),
        };
        let mut reader = RowsReader {
            strings_at: match self.has_strings {
                true => vec![self.fixed_bytes; n_rows],
                false => Vec::new(),
            },
            rows,
            pool,
        };
        let columns = self.slots.iter();
        let columns = columns
            .map(|slot| reader.read(slot, nulls.as_ref()))
            .collect::<Result<Vec<_>>>()?;
        for (row, end) in reader.strings_at.iter().enumerate() {
            let row = reader.rows.get(row);
            if row.len() != *end {
                return Err(bad_row(row));
            }
        }
        let array = StructArray::try_new(self.fields.clone(), columns, nulls);
        Ok(Arc::new(array.map_err(|_| misfit())?))
    }

    fn long_enough<'a>(&self, row: &'a [u8]) -> Result<&'a [u8]> {
        match row.len() >= self.fixed_bytes {
            true => Ok(row),
            false => Err(bad_row(row)),
        }
    }
}

fn refused(what: String) -> Error {
    Error::from(ErrorKind::Unsupported { what })
}

#[cold]
fn bad_row(row: &[u8]) -> Error {
    let allowed = "as many bytes as its fields take";
    Error::corrupt("packed.row", 0, row.len() as u64, allowed)
}

fn misfit() -> Error {
    Error::invalid("the fields of a packed struct do not fit together")
}

/// The physical type of a flat type that is stored as it is, without dictionary or runs.
fn stored(data_type: &DataType) -> Option<ValueType> {
    match data_type {
        DataType::Dictionary(..) | DataType::RunEndEncoded(..) => None,
        flat => value_type(flat).ok().flatten(),
    }
}

/// Moves all bytes behind `by` more.
fn shift(slots: &mut [Slot], by: usize) {
    for slot in slots {
        match &mut slot.kind {
            Kind::Fields(slots) => shift(slots, by),
            Kind::Fixed { at, .. } | Kind::Items { at, .. } | Kind::String { at } => *at += by,
            Kind::Nothing | Kind::Bit(_) => {}
        }
    }
}

/// Adds the bytes of the strings of a field to the lengths of rows.
fn add_strings(
    slot: &Slot,
    array: &ArrayRef,
    above: Option<&NullBuffer>,
    lengths: &mut [usize],
) -> Result<()> {
    let nulls = NullBuffer::union(above, array.nulls());
    match &slot.kind {
        Kind::Fields(slots) => {
            for (slot, child) in slots.iter().zip(array.as_struct().columns()) {
                add_strings(slot, child, nulls.as_ref(), lengths)?;
            }
        }
        Kind::String { .. } => {
            let values = RowBytes::of(array.as_ref())?;
            let is_null = |row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
            for (row, length) in lengths.iter_mut().enumerate() {
                if !is_null(row) {
                    *length = length.saturating_add(values.get(row).len());
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// Rows being written; they are zero where nothing is.
struct PackedRows {
    bytes: MutableBuffer,
    /// Starts of the rows, and the end of the last.
    starts: Vec<usize>,
    /// Where the next string of each row goes.
    string_ends: Vec<usize>,
}

impl PackedRows {
    fn put(&mut self, at: usize, value: &[u8]) -> Result<()> {
        let room = at
            .checked_add(value.len())
            .and_then(|end| self.bytes.get_mut(at..end));
        room.ok_or_else(misfit)?.copy_from_slice(value);
        Ok(())
    }

    fn set_bit(&mut self, start: usize, bit: usize) {
        if let Some(byte) = self.bytes.get_mut(start + bit / 8) {
            *byte |= 1 << (bit % 8);
        }
    }

    /// Writes a field of all rows that are not null `above` it.
    fn write(&mut self, slot: &Slot, array: &ArrayRef, above: Option<&NullBuffer>) -> Result<()> {
        let nulls = NullBuffer::union(above, array.nulls());
        let null_count = |nulls: Option<&NullBuffer>| nulls.map_or(0, NullBuffer::null_count);
        if slot.valid.is_none()
            && !matches!(slot.kind, Kind::Nothing)
            && null_count(nulls.as_ref()) > null_count(above)
        {
            return Err(Error::invalid("nulls in a field that allows none"));
        }
        let is_valid = |row: &usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*row));
        let valid_rows = || (0..array.len()).filter(is_valid);
        if let Some(bit) = slot.valid {
            for row in valid_rows() {
                self.set_bit(self.starts[row], bit);
            }
        }
        match &slot.kind {
            Kind::Nothing => {}
            Kind::Fields(slots) => {
                for (slot, child) in slots.iter().zip(array.as_struct().columns()) {
                    self.write(slot, child, nulls.as_ref())?;
                }
            }
            Kind::Bit(bit) => {
                let values = array.as_boolean();
                for row in valid_rows().filter(|row| values.value(*row)) {
                    self.set_bit(self.starts[row], *bit);
                }
            }
            Kind::Fixed { at, .. } => {
                let values = RowBytes::of(array.as_ref())?;
                for row in valid_rows() {
                    self.put(self.starts[row] + at, values.get(row))?;
                }
            }
            Kind::Items {
                at,
                width,
                n,
                valid,
            } => {
                let list = array.as_fixed_size_list();
                let items = list.values();
                let values = RowBytes::of(items.as_ref())?;
                if valid.is_none() && items.null_count() > 0 {
                    let of_row = |row| items.slice(row * n, *n).null_count() > 0;
                    if valid_rows().any(of_row) {
                        return Err(Error::invalid("null items in a list that allows none"));
                    }
                }
                for row in valid_rows() {
                    for item in 0..*n {
                        let from = row * n + item;
                        if items.is_null(from) {
                            continue;
                        }
                        if let Some(first) = valid {
                            self.set_bit(self.starts[row], first + item);
                        }
                        self.put(self.starts[row] + at + item * width, values.get(from))?;
                    }
                }
            }
            Kind::String { at } => {
                let values = RowBytes::of(array.as_ref())?;
                for row in valid_rows() {
                    let value = values.get(row);
                    let length = u32::try_from(value.len()).map_err(|_| misfit())?;
                    self.put(self.starts[row] + at, &length.to_le_bytes())?;
                    self.put(self.string_ends[row], value)?;
                    self.string_ends[row] += value.len();
                }
            }
        }
        Ok(())
    }
}

/// Rows being read, each long enough for its fixed part; null ones are zeros, or anything.
enum Rows<'a> {
    /// One behind the other.
    Fixed {
        bytes: &'a [u8],
        width: usize,
        n_rows: usize,
    },
    Each(Vec<&'a [u8]>),
}

impl Rows<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Fixed { n_rows, .. } => *n_rows,
            Self::Each(rows) => rows.len(),
        }
    }

    fn get(&self, row: usize) -> &[u8] {
        match self {
            Self::Fixed { bytes, width, .. } => bytes
                .get(row * width..(row + 1) * width)
                .unwrap_or_default(),
            Self::Each(rows) => rows.get(row).copied().unwrap_or_default(),
        }
    }

    fn bit(&self, row: usize, bit: usize) -> bool {
        let byte = self.get(row).get(bit / 8);
        byte.is_some_and(|byte| byte & (1 << (bit % 8)) != 0)
    }

    /// A bit of each row.
    fn bits(&self, bit: usize) -> BooleanBuffer {
        let (at, mask) = (bit / 8, 1 << (bit % 8));
        let is_set = |row: &[u8]| row.get(at).is_some_and(|byte| byte & mask != 0);
        match self {
            Self::Fixed {
                bytes,
                width,
                n_rows,
            } => {
                let mut packed = vec![0u8; n_rows.div_ceil(8)];
                let groups = bytes.chunks((8 * width).max(1));
                for (to, rows) in packed.iter_mut().zip(groups) {
                    let rows = rows.chunks_exact((*width).max(1)).enumerate();
                    *to = rows.fold(0, |bits, (i, row)| bits | u8::from(is_set(row)) << i);
                }
                BooleanBuffer::new(Buffer::from(packed), 0, *n_rows)
            }
            Self::Each(rows) => BooleanBuffer::collect_bool(rows.len(), |row| is_set(rows[row])),
        }
    }

    /// Writes `N` bytes of each row, from `at` on, one behind the other.
    fn gather<const N: usize>(&self, at: usize, out: &mut [u8]) {
        let out = out.as_chunks_mut::<N>().0;
        let put = |to: &mut [u8; N], row: &[u8]| {
            if let Some(from) = row.get(at..).and_then(<[u8]>::first_chunk::<N>) {
                *to = *from;
            }
        };
        match self {
            Self::Fixed { bytes, width, .. } => {
                let rows = bytes.chunks_exact((*width).max(1));
                out.iter_mut().zip(rows).for_each(|(to, row)| put(to, row));
            }
            Self::Each(rows) => out.iter_mut().zip(rows).for_each(|(to, row)| put(to, row)),
        }
    }
}

struct RowsReader<'a> {
    rows: Rows<'a>,
    /// Where the next string of each row starts.
    strings_at: Vec<usize>,
    pool: &'a Pool,
}

impl RowsReader<'_> {
    /// A field of all rows.
    fn read(&mut self, slot: &Slot, above: Option<&NullBuffer>) -> Result<ArrayRef> {
        let rows = &self.rows;
        let n_rows = rows.len();
        let nulls = slot.valid.map(|bit| {
            let bits = rows.bits(bit);
            NullBuffer::new(match above {
                Some(above) => &bits & above.inner(),
                None => bits,
            })
        });
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        let mut buffers = ColumnBuffers {
            rows: n_rows,
            nulls: nulls.clone(),
            offsets: Buffer::default(),
            values: Buffer::default(),
        };
        let data_type = slot.field.data_type();
        match (&slot.kind, data_type) {
            (Kind::Fields(slots), DataType::Struct(fields)) => {
                // Where it is never null, it is null with what is above.
                let below = match slot.valid {
                    Some(_) => nulls.as_ref(),
                    None => above,
                };
                let columns = slots.iter();
                let columns = columns
                    .map(|slot| self.read(slot, below))
                    .collect::<Result<Vec<_>>>()?;
                let array =
                    StructArray::try_new_with_length(fields.clone(), columns, nulls, n_rows);
                return Ok(Arc::new(array.map_err(|_| misfit())?));
            }
            (Kind::Bit(bit), _) => {
                return Ok(Arc::new(BooleanArray::new(rows.bits(*bit), nulls)));
            }
            (Kind::Fixed { at, width }, _) => buffers.values = self.gather(*at, *width),
            (
                Kind::Items {
                    at,
                    width,
                    n,
                    valid,
                },
                DataType::FixedSizeList(item, length),
            ) => {
                let items = ColumnBuffers {
                    rows: n_rows * n,
                    nulls: valid.and_then(|first| {
                        let valid = |i: usize| rows.bit(i / n, first + i % n);
                        let bits = BooleanBuffer::collect_bool(n_rows * n, valid);
                        Some(NullBuffer::new(bits)).filter(|nulls| nulls.null_count() > 0)
                    }),
                    offsets: Buffer::default(),
                    values: self.gather(*at, width * n),
                };
                let items = plain_array(item.data_type(), items, None)?;
                let item = item.clone();
                let array =
                    FixedSizeListArray::try_new_with_length(item, *length, items, nulls, n_rows);
                return Ok(Arc::new(array.map_err(|_| misfit())?));
            }
            (Kind::String { at }, _) => (buffers.offsets, buffers.values) = self.strings(*at)?,
            _ => {}
        }
        plain_array(data_type, buffers, None)
    }

    /// Gathers the same bytes of all rows, one after the other.
    fn gather(&self, at: usize, width: usize) -> Buffer {
        let rows = &self.rows;
        let bytes = rows.len() * width;
        let mut out = self.pool.take(bytes);
        match width {
            0 => {}
            1 => rows.gather::<1>(at, &mut out),
            2 => rows.gather::<2>(at, &mut out),
            4 => rows.gather::<4>(at, &mut out),
            8 => rows.gather::<8>(at, &mut out),
            16 => rows.gather::<16>(at, &mut out),
            _ => {
                for (row, to) in out.chunks_exact_mut(width).enumerate() {
                    if let Some(from) = rows.get(row).get(at..at + width) {
                        to.copy_from_slice(from);
                    }
                }
            }
        }
        self.pool.into_buffer(out, bytes)
    }

    /// Offsets and bytes of the strings whose lengths are at `at`.
    fn strings(&mut self, at: usize) -> Result<(Buffer, Buffer)> {
        let rows = &self.rows;
        let offsets_bytes = (rows.len() + 1) * LENGTH_BYTES;
        let mut offsets = self.pool.take(offsets_bytes);
        let ends: &mut [u32] = words_mut(&mut offsets);
        let Some((first, ends)) = ends.split_first_mut() else {
            return Err(misfit());
        };
        *first = 0;
        let length_of = |row: &[u8]| {
            let length = row.get(at..).and_then(<[u8]>::first_chunk);
            length.map_or(0, |length| u32::from_le_bytes(*length)) as usize
        };
        // Inside their rows, and so at most as many bytes as these.
        let mut data_len = 0usize;
        for (row, (start, to)) in self.strings_at.iter().zip(ends).enumerate() {
            let row = rows.get(row);
            let end = start.checked_add(length_of(row));
            if end.is_none_or(|end| end > row.len()) {
                return Err(bad_row(row));
            }
            data_len += length_of(row);
            *to = u32::try_from(data_len).map_err(|_| {
                Error::limit(
                    "bytes of a batch's column",
                    data_len as u64,
                    u32::MAX.into(),
                )
            })?;
        }
        let mut data = self.pool.take(data_len);
        let mut to = 0;
        for (row, start) in self.strings_at.iter_mut().enumerate() {
            let row = rows.get(row);
            let length = length_of(row);
            if let (Some(to), Some(from)) = (
                data.get_mut(to..to + length),
                row.get(*start..*start + length),
            ) {
                to.copy_from_slice(from);
            }
            *start += length;
            to += length;
        }
        let offsets = self.pool.into_buffer(offsets, offsets_bytes);
        Ok((offsets, self.pool.into_buffer(data, data_len)))
    }
}
