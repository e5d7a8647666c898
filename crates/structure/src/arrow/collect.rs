//! Arrays become the leaf values of a column.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    BinaryViewType, ByteArrayType, ByteViewType, GenericBinaryType, GenericStringType,
    StringViewType,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use tarsia_codec::{BitSlice, BytesSlice, Error, FixedSlice, Result, ValueType, Values};

use super::{logical_type, value_type};
use crate::encode::PageInput;

/// Rows of one column, copied out of the arrays they came in: contiguous values and validity bits.
///
/// Copying (about as fast as memory) makes the memory a writer holds exact, whatever the arrays shared or sliced, and the
/// encoders see one run of values.
#[derive(Debug)]
pub struct LeafBuffer {
    data_type: DataType,
    value_type: Option<ValueType>,
    rows: usize,
    null_count: usize,
    validity: Bits,
    values: Bits,
    offsets: Vec<u32>,
}

/// Bytes filled front to back; for bits, `len` counts bits.
#[derive(Debug, Default)]
struct Bits {
    bytes: Vec<u8>,
    len: usize,
}

impl Bits {
    fn append(&mut self, bits: BitSlice<'_>) -> Result<()> {
        if self.len.is_multiple_of(8) {
            bits.append_to(&mut self.bytes);
        } else {
            let end = (self.len + bits.len()).div_ceil(8);
            self.bytes.resize(end, 0);
            crate::slots::copy_bits(&mut self.bytes, self.len, bits)?;
        }
        self.len += bits.len();
        Ok(())
    }

    fn append_set(&mut self, n: usize) {
        self.bytes.resize((self.len + n).div_ceil(8), 0);
        crate::slots::set_bits(&mut self.bytes, self.len, n, true);
        self.len += n;
    }

    /// Drops the first `n` bits.
    fn drain(&mut self, n: usize) -> Result<()> {
        let mut rest = Bits::default();
        rest.append(BitSlice::new(&self.bytes, n, self.len - n)?)?;
        *self = rest;
        Ok(())
    }
}

impl LeafBuffer {
    /// An empty column of an Arrow type.
    ///
    /// # Errors
    /// The type itself, where it is not stored (see [`value_type`]).
    pub fn new(data_type: &DataType) -> Result<Self, DataType> {
        Ok(Self {
            value_type: value_type(data_type)?,
            data_type: data_type.clone(),
            rows: 0,
            null_count: 0,
            validity: Bits::default(),
            values: Bits::default(),
            offsets: vec![0],
        })
    }

    /// Rows held.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes of values and validity held: what the writer's budget counts. It depends on the rows alone, not on capacities.
    pub fn logical_bytes(&self) -> usize {
        self.values.bytes.len() + self.rows.div_ceil(8) + (self.offsets.len() - 1) * 4
    }

    /// The rows held, as an encoder takes them; `None` for type Null.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] where `rows` is more than there are.
    pub fn page(&self, rows: usize) -> Result<Option<PageInput<'_>>> {
        if rows > self.rows {
            return Err(Error::invalid("a page of more rows than the column holds"));
        }
        let values = match self.value_type {
            None => return Ok(None),
            Some(ValueType::Bits) => Values::Bits(BitSlice::new(&self.values.bytes, 0, rows)?),
            Some(ValueType::Fixed(width)) => {
                let width = width as usize;
                let bytes = self.values.bytes.get(..rows * width).unwrap_or_default();
                Values::Fixed(FixedSlice::new(bytes, width, rows)?)
            }
            Some(ValueType::Bytes) => {
                let offsets = self.offsets.get(..rows + 1).unwrap_or_default();
                Values::Bytes(BytesSlice::new(offsets, &self.values.bytes)?)
            }
        };
        let validity = match self.null_count {
            0 => None,
            _ => Some(BitSlice::new(&self.validity.bytes, 0, rows)?),
        };
        Ok(Some(PageInput { validity, values }))
    }

    /// Forgets the first `rows` rows.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for more rows than there are.
    pub fn drain(&mut self, rows: usize) -> Result<()> {
        if rows > self.rows {
            return Err(Error::invalid("draining more rows than the column holds"));
        }
        match self.value_type {
            None => {}
            Some(ValueType::Bits) => self.values.drain(rows)?,
            Some(ValueType::Fixed(width)) => {
                self.values.bytes.drain(..rows * width as usize);
            }
            Some(ValueType::Bytes) => {
                let start = self.offsets.get(rows).copied().unwrap_or_default();
                self.values.bytes.drain(..start as usize);
                self.offsets.drain(..rows);
                for offset in &mut self.offsets {
                    *offset -= start;
                }
            }
        }
        self.rows -= rows;
        if self.null_count > 0 {
            self.validity.drain(rows)?;
            let bits = BitSlice::new(&self.validity.bytes, 0, self.validity.len)?;
            self.null_count = self.rows - bits.count_ones();
        }
        if self.null_count == 0 {
            self.validity = Bits::default();
        }
        Ok(())
    }

    /// How many leading rows of `array` can be added before the strings held pass `data_bytes_max`; at least one when
    /// nothing is held. Other types take all rows.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for a single value larger than that.
    pub fn rows_that_fit(&self, array: &dyn Array, data_bytes_max: usize) -> Result<usize> {
        if self.value_type != Some(ValueType::Bytes) {
            return Ok(array.len());
        }
        // The whole array's buffers bound its strings; only a large array needs a closer look.
        if array.get_array_memory_size() + self.values.bytes.len() <= data_bytes_max {
            return Ok(array.len());
        }
        let array = resolve(array)?;
        let mut total = self.values.bytes.len();
        for i in 0..array.len() {
            let len = value_bytes(array.as_ref(), i);
            if len > data_bytes_max {
                return Err(Error::invalid("a value is larger than 2 GiB"));
            }
            total += len;
            if total > data_bytes_max {
                return Ok(i);
            }
        }
        Ok(array.len())
    }

    /// Appends the rows of an array of the column's type.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for another type, or where the strings held would pass 4 GiB.
    pub fn push(&mut self, array: &dyn Array) -> Result<()> {
        if array.data_type() != &self.data_type {
            return Err(Error::invalid("the array is not of the column's type"));
        }
        let rows = array.len();
        let Some(value_type) = self.value_type else {
            self.rows += rows;
            return Ok(());
        };
        let array = resolve(array)?;
        let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        match (&nulls, self.null_count) {
            (None, 0) => {}
            (None, _) => self.validity.append_set(rows),
            (Some(nulls), _) => {
                if self.null_count == 0 {
                    self.validity = Bits::default();
                    self.validity.append_set(self.rows);
                }
                let bits = nulls.inner();
                self.validity
                    .append(BitSlice::new(bits.values(), bits.offset(), bits.len())?)?;
                self.null_count += nulls.null_count();
            }
        }
        match value_type {
            ValueType::Bits => {
                let values = array.as_boolean().values();
                self.values
                    .append(BitSlice::new(values.values(), values.offset(), rows)?)?;
            }
            ValueType::Fixed(width) => self.push_fixed(array.as_ref(), width as usize)?,
            ValueType::Bytes => self.push_bytes(array.as_ref())?,
        }
        self.rows += rows;
        Ok(())
    }

    fn push_fixed(&mut self, array: &dyn Array, width: usize) -> Result<()> {
        let data = array.to_data();
        let start = data.offset() * width;
        let bytes = data
            .buffers()
            .first()
            .and_then(|buffer| buffer.get(start..start + array.len() * width))
            .ok_or_else(|| Error::invalid("the array's buffer is shorter than its length"))?;
        self.values.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn push_bytes(&mut self, array: &dyn Array) -> Result<()> {
        match array.data_type() {
            DataType::Utf8 => self.push_offsets::<GenericStringType<i32>>(array),
            DataType::LargeUtf8 => self.push_offsets::<GenericStringType<i64>>(array),
            DataType::Binary => self.push_offsets::<GenericBinaryType<i32>>(array),
            DataType::LargeBinary => self.push_offsets::<GenericBinaryType<i64>>(array),
            DataType::Utf8View => self.push_views::<StringViewType>(array),
            DataType::BinaryView => self.push_views::<BinaryViewType>(array),
            _ => Err(Error::invalid("the array holds no byte strings")),
        }
    }

    fn push_offsets<T: ByteArrayType>(&mut self, array: &dyn Array) -> Result<()> {
        use arrow_buffer::ArrowNativeType;
        let array = array.as_bytes::<T>();
        let offsets = array.value_offsets();
        let first = offsets.first().map_or(0, |offset| offset.as_usize());
        let last = offsets.last().map_or(0, |offset| offset.as_usize());
        let base = self.values.bytes.len();
        if base + (last - first) > u32::MAX as usize {
            return Err(Error::invalid("a page's strings pass 4 GiB"));
        }
        let data = array.value_data().get(first..last).unwrap_or_default();
        self.values.bytes.extend_from_slice(data);
        self.offsets.extend(
            offsets
                .iter()
                .skip(1)
                .map(|offset| (base + (offset.as_usize() - first)) as u32),
        );
        Ok(())
    }

    fn push_views<T: ByteViewType>(&mut self, array: &dyn Array) -> Result<()> {
        let array = array.as_byte_view::<T>();
        for i in 0..array.len() {
            if array.is_valid(i) {
                let value: &[u8] = array.value(i).as_ref();
                if self.values.bytes.len() + value.len() > u32::MAX as usize {
                    return Err(Error::invalid("a page's strings pass 4 GiB"));
                }
                self.values.bytes.extend_from_slice(value);
            }
            self.offsets.push(self.values.bytes.len() as u32);
        }
        Ok(())
    }
}

/// The array by logical value: a dictionary's values in row order.
fn resolve(array: &dyn Array) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Dictionary(..) => {
            let dictionary = array
                .as_any_dictionary_opt()
                .ok_or_else(|| Error::invalid("not a dictionary array"))?;
            let keys = dictionary.keys();
            let values = super::reorder(dictionary.values(), keys)
                .map_err(|_| Error::invalid("a dictionary key is out of range"))?;
            debug_assert_eq!(values.data_type(), logical_type(array.data_type()));
            Ok(values)
        }
        _ => Ok(array.slice(0, array.len())),
    }
}

fn value_bytes(array: &dyn Array, i: usize) -> usize {
    if array.is_null(i) {
        return 0;
    }
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(i).len(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(i).len(),
        DataType::Binary => array.as_binary::<i32>().value(i).len(),
        DataType::LargeBinary => array.as_binary::<i64>().value(i).len(),
        DataType::Utf8View => array.as_string_view().value(i).len(),
        DataType::BinaryView => array.as_binary_view().value(i).len(),
        _ => 0,
    }
}
