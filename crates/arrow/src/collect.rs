//! Arrays become the leaf values of a column.

use core::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    BinaryViewType, ByteArrayType, ByteViewType, GenericBinaryType, GenericStringType,
    StringViewType,
};
use arrow_array::{Array, ArrayRef, downcast_primitive_array};
use arrow_buffer::ArrowNativeType;
use arrow_schema::DataType;
use tarsia_codec::{
    BitSlice, BytesSlice, Error, FixedSlice, LogicalType, Result, TimeUnit, ValueType, Values,
};

use tarsia_page_writer::{Bits, CollectedLevels, LevelsSlice, PageInput, make_room};

use crate::extent;
use crate::fit::{Fit, least, strings_within};
use crate::path::{LeafPath, leaf_paths};
use crate::shred::{resolve as resolve_ranges, shred, whole};

/// Rows of one leaf column, copied out of the arrays they came in: contiguous values and validity bits, and the levels
/// above them where it is a part of a nested field.
///
/// Copying (about as fast as memory) makes the memory a writer holds exact, whatever the arrays shared or sliced, and
/// the encoders see one run of values.
#[derive(Clone, Debug)]
pub struct LeafBuffer {
    /// The field's type, of the arrays that come in.
    data_type: DataType,
    path: LeafPath,
    value_type: Option<ValueType>,
    /// Levels of nested fields.
    levels: Option<CollectedLevels>,
    n_items: usize,
    null_count: usize,
    validity: Bits,
    values: Bits,
    offsets: Vec<u32>,
}

/// Returns the meaning of the values of a leaf column.
fn logical_type(data_type: &DataType) -> LogicalType {
    let unit = |unit: &arrow_schema::TimeUnit| match unit {
        arrow_schema::TimeUnit::Second => TimeUnit::Second,
        arrow_schema::TimeUnit::Millisecond => TimeUnit::Millisecond,
        arrow_schema::TimeUnit::Microsecond => TimeUnit::Microsecond,
        arrow_schema::TimeUnit::Nanosecond => TimeUnit::Nanosecond,
    };
    match data_type {
        DataType::Boolean => LogicalType::Boolean,
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64 => {
            LogicalType::Unsigned
        }
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => LogicalType::Signed,
        DataType::Float16 | DataType::Float32 | DataType::Float64 => LogicalType::Float,
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => LogicalType::Decimal { scale: *scale },
        DataType::Date32 | DataType::Date64 => LogicalType::Date,
        DataType::Time32(of) | DataType::Time64(of) => LogicalType::Time(unit(of)),
        DataType::Timestamp(of, _) => LogicalType::Timestamp(unit(of)),
        DataType::Duration(of) => LogicalType::Duration(unit(of)),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => LogicalType::Text,
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => LogicalType::Binary,
        DataType::Dictionary(_, values) => logical_type(values),
        DataType::RunEndEncoded(_, values) => logical_type(values.data_type()),
        _ => LogicalType::Unknown,
    }
}

impl LeafBuffer {
    /// An empty leaf column of a field of type `data_type`, one of its [`leaf_paths`](crate::leaf_paths).
    pub fn new(data_type: &DataType, path: LeafPath) -> Self {
        let forms = path.forms();
        Self {
            value_type: path.value_type(),
            data_type: data_type.clone(),
            levels: (!forms.is_empty()).then(|| CollectedLevels::new(forms.iter().copied())),
            path,
            n_items: 0,
            null_count: 0,
            validity: Bits::default(),
            values: Bits::default(),
            offsets: vec![0],
        }
    }

    /// An empty column of a flat type.
    ///
    /// # Errors
    /// The type itself, where it is not stored as one column.
    pub fn flat(data_type: &DataType) -> Result<Self, DataType> {
        let mut paths = leaf_paths(data_type, true)?;
        match paths.pop() {
            Some(path) if path.is_flat() => Ok(Self::new(data_type, path)),
            _ => Err(data_type.clone()),
        }
    }

    /// Rows held.
    pub fn rows(&self) -> usize {
        self.levels
            .as_ref()
            .map_or(self.n_items, CollectedLevels::rows)
    }

    /// Items of some of the rows held.
    fn items(&self, rows: Range<usize>) -> Range<usize> {
        match &self.levels {
            Some(levels) => levels.items(rows),
            None => rows,
        }
    }

    /// Bytes of the rows held, as [`LeafBuffer::bytes_of`] counts them.
    pub fn logical_bytes(&self) -> u64 {
        let levels = self.levels.as_ref().map(CollectedLevels::logical_bytes);
        let data = match (self.offsets.first(), self.offsets.last()) {
            (Some(start), Some(end)) => (end - start).into(),
            _ => 0,
        };
        self.bytes_of_items(self.n_items as u64) + data + levels.unwrap_or(0)
    }

    /// Bytes of values, lengths and validity of some of the rows held: what pages are cut by and the writer's budget
    /// counts. A function of the rows alone, not of capacities, nor of what stood under nulls of strings.
    pub fn bytes_of(&self, rows: Range<usize>) -> u64 {
        let levels = self
            .levels
            .as_ref()
            .map(|levels| levels.bytes_of(rows.clone()));
        let n = self.items(rows.clone()).len() as u64;
        self.bytes_of_items(n) + self.data_bytes_of(rows) + levels.unwrap_or(0)
    }

    /// Bytes of memory of the buffers, used or not.
    pub(crate) fn capacity_bytes(&self) -> u64 {
        let levels = self.levels.as_ref().map(CollectedLevels::capacity_bytes);
        let bytes = self.validity.bytes.capacity() + self.values.bytes.capacity();
        (bytes + 4 * self.offsets.capacity() + levels.unwrap_or(0)) as u64
    }

    /// Frees memory that the buffers do not use.
    pub(crate) fn release_unused(&mut self) {
        self.validity.bytes.shrink_to_fit();
        self.values.bytes.shrink_to_fit();
        self.offsets.shrink_to_fit();
        if let Some(levels) = &mut self.levels {
            levels.release_unused();
        }
    }

    /// Bytes of so many items, without the bytes of strings.
    pub(crate) fn bytes_of_items(&self, n: u64) -> u64 {
        let values = match self.value_type {
            None => 0,
            Some(ValueType::Bits) => n.div_ceil(8),
            Some(ValueType::Fixed(width)) => n * u64::from(width),
            Some(ValueType::Bytes) => n * 4,
        };
        values + n.div_ceil(8)
    }

    /// Bytes of the strings of some of the rows held, without lengths; 0 for other types.
    pub fn data_bytes_of(&self, rows: Range<usize>) -> u64 {
        let items = self.items(rows);
        match (self.offsets.get(items.start), self.offsets.get(items.end)) {
            (Some(start), Some(end)) => (end - start).into(),
            _ => 0,
        }
    }

    /// Some of the rows held, as an encoder takes them; `None` for type Null.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) where there are no such rows.
    pub fn page(&self, rows: Range<usize>) -> Result<Option<PageInput<'_>>> {
        if rows.start > rows.end || rows.end > self.rows() {
            return Err(Error::invalid("a page of more rows than the column holds"));
        }
        let levels = match &self.levels {
            Some(levels) => Some(LevelsSlice::new(levels, rows.clone())?),
            None => None,
        };
        let items = self.items(rows);
        let values = match self.value_type {
            None => return Ok(None),
            Some(ValueType::Bits) => {
                Values::Bits(BitSlice::new(&self.values.bytes, items.start, items.len())?)
            }
            Some(ValueType::Fixed(width)) => {
                let width = width as usize;
                let bytes = self
                    .values
                    .bytes
                    .get(items.start * width..items.end * width);
                Values::Fixed(FixedSlice::new(
                    bytes.unwrap_or_default(),
                    width,
                    items.len(),
                )?)
            }
            Some(ValueType::Bytes) => {
                let offsets = self.offsets.get(items.start..items.end + 1);
                Values::Bytes(BytesSlice::new(
                    offsets.unwrap_or_default(),
                    &self.values.bytes,
                )?)
            }
        };
        let validity = match self.null_count {
            0 => None,
            _ => Some(BitSlice::new(
                &self.validity.bytes,
                items.start,
                items.len(),
            )?),
        };
        Ok(Some(PageInput {
            levels,
            validity,
            values,
            logical_type: logical_type(self.path.data_type()),
            shared: None,
            shared_depth: 0,
        }))
    }

    /// Forgets the first `rows` rows.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) for more rows than there are.
    pub fn drain(&mut self, rows: usize) -> Result<()> {
        if rows > self.rows() {
            return Err(Error::invalid("draining more rows than the column holds"));
        }
        let items = self.items(0..rows).end;
        if let Some(levels) = &mut self.levels {
            levels.drain(rows)?;
        }
        self.drain_items(items)
    }

    fn drain_items(&mut self, rows: usize) -> Result<()> {
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
        self.n_items -= rows;
        if self.null_count > 0 {
            self.validity.drain(rows)?;
            let bits = BitSlice::new(&self.validity.bytes, 0, self.validity.len)?;
            self.null_count = self.n_items - bits.count_ones();
        }
        if self.null_count == 0 {
            self.validity = Bits::default();
        }
        Ok(())
    }

    /// The longest run of the `rows` of an array of the column's type, from their start, that adds no more than about
    /// `bytes_max`; at least one row where there are any. It bounds what one [`LeafBuffer::push`] copies; what bytes
    /// under nulls count is not decided here.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) for a single string longer than
    /// `value_bytes_max`.
    pub fn fit(
        &self,
        array: &dyn Array,
        rows: Range<usize>,
        bytes_max: usize,
        value_bytes_max: usize,
    ) -> Result<Fit> {
        if !self.path.is_flat() {
            return self.fit_nested(array, rows, bytes_max, value_bytes_max);
        }
        let per_row = match self.value_type {
            None => 0,
            Some(ValueType::Bits) => 1,
            Some(ValueType::Fixed(width)) => width as usize,
            Some(ValueType::Bytes) => {
                let mut fit = strings_within(array, rows.clone(), bytes_max);
                if fit.rows == 0 && !rows.is_empty() {
                    fit = strings_within(array, rows.start..rows.start + 1, usize::MAX);
                    if fit.bytes > value_bytes_max && array.is_valid(rows.start) {
                        return Err(Error::invalid("a value is larger than 2 GiB"));
                    }
                }
                fit.bytes = fit.bytes.saturating_add(fit.rows * 5);
                return Ok(fit);
            }
        };
        let fitting = bytes_max.checked_div(per_row).unwrap_or(usize::MAX).max(1);
        let rows = rows.len().min(fitting);
        Ok(Fit {
            rows,
            bytes: rows.saturating_mul(per_row + 1),
        })
    }

    /// Does the same for nested fields, by what the rows' lists refer to.
    fn fit_nested(
        &self,
        array: &dyn Array,
        rows: Range<usize>,
        bytes_max: usize,
        value_bytes_max: usize,
    ) -> Result<Fit> {
        let bytes_of = |n: usize| extent::bytes(array, rows.start..rows.start + n, &self.path);
        // What all rows take decides most often.
        let mut low = match bytes_of(rows.len()) <= bytes_max {
            true => rows.len(),
            false => least(rows.len(), |n| bytes_of(n) > bytes_max).saturating_sub(1),
        };
        if low == 0 && !rows.is_empty() {
            low = 1;
            // Garbage under nulls may count here, so only what surely is too large is refused; the rest is when it is
            // pushed.
            if bytes_of(1) > value_bytes_max && array.is_valid(rows.start) {
                return Err(Error::invalid("a row is larger than 2 GiB"));
            }
        }
        Ok(Fit {
            rows: low,
            bytes: bytes_of(low),
        })
    }

    /// The type of the arrays that come in.
    pub(crate) fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// Whether its values are byte strings.
    pub(crate) fn has_strings(&self) -> bool {
        self.value_type == Some(ValueType::Bytes)
    }

    /// The rows of a flat column that are not null.
    pub(crate) fn valid_rows(&self) -> Result<impl Iterator<Item = usize> + '_> {
        let validity = match self.null_count {
            0 => None,
            _ => Some(BitSlice::new(&self.validity.bytes, 0, self.n_items)?),
        };
        let is_valid = move |row: &usize| validity.is_none_or(|validity| validity.get(*row));
        Ok((0..self.n_items).filter(is_valid))
    }

    /// Only the rows of a flat column at the rising `places`, none of which is null: what [`LeafBuffer::spread`]
    /// spreads.
    pub(crate) fn gathered(&self, places: &[u32]) -> Self {
        let mut gathered = Self {
            levels: None,
            ..Self::new(&self.data_type, self.path.clone())
        };
        for place in places.iter().map(|place| *place as usize) {
            match self.value_type {
                None => {}
                Some(ValueType::Bits) => {
                    let bit = self
                        .values
                        .bytes
                        .get(place / 8)
                        .is_some_and(|byte| byte >> (place % 8) & 1 == 1);
                    match bit {
                        true => gathered.values.append_set(1),
                        false => gathered.values.append_unset(1),
                    }
                }
                Some(ValueType::Fixed(width)) => {
                    let width = width as usize;
                    let value = self.values.bytes.get(place * width..(place + 1) * width);
                    gathered
                        .values
                        .bytes
                        .extend_from_slice(value.unwrap_or_default());
                }
                Some(ValueType::Bytes) => {
                    let at = |row: usize| self.offsets.get(row).map_or(0, |at| *at as usize);
                    let value = self.values.bytes.get(at(place)..at(place + 1));
                    gathered
                        .values
                        .bytes
                        .extend_from_slice(value.unwrap_or_default());
                    gathered.offsets.push(gathered.values.bytes.len() as u32);
                }
            }
        }
        gathered.n_items = places.len();
        gathered.release_unused();
        gathered
    }

    /// The valid rows of a flat column become `rows` rows with nulls among them: `self` holds those at the rising
    /// `places`, none of which is null, and perhaps more behind them.
    pub(crate) fn spread(&self, places: &[u32], rows: usize) -> Result<Self> {
        let mut validity = Bits::default();
        let mut values = Bits::default();
        let mut offsets = self.offsets.clone();
        let set = |bits: &mut Bits, place: u32| {
            if let Some(byte) = bits.bytes.get_mut(place as usize / 8) {
                *byte |= 1 << (place % 8);
            }
        };
        if places.len() < rows {
            validity.append_unset(rows);
            places.iter().for_each(|place| set(&mut validity, *place));
        }
        match self.value_type {
            None => {}
            Some(ValueType::Bits) => {
                values.append_unset(rows);
                let bits = BitSlice::new(&self.values.bytes, 0, places.len())?;
                let ones = places.iter().enumerate();
                ones.filter(|(i, _)| bits.get(*i))
                    .for_each(|(_, place)| set(&mut values, *place));
            }
            Some(ValueType::Fixed(width)) => {
                let width = width as usize;
                values.bytes.resize(rows * width, 0);
                let held = self.values.bytes.chunks_exact(width.max(1));
                for (value, place) in held.zip(places) {
                    let at = *place as usize * width;
                    if let Some(to) = values.bytes.get_mut(at..at + width) {
                        to.copy_from_slice(value);
                    }
                }
            }
            Some(ValueType::Bytes) => {
                let end = self.offsets.get(places.len()).copied().unwrap_or(0);
                let held = self.values.bytes.get(..end as usize);
                values.bytes.extend_from_slice(held.unwrap_or_default());
                offsets.clear();
                make_room(&mut offsets, rows + 1);
                for (place, start) in places.iter().zip(&self.offsets) {
                    offsets.resize(*place as usize + 1, *start);
                }
                offsets.resize(rows + 1, end);
            }
        }
        Ok(Self {
            data_type: self.data_type.clone(),
            path: self.path.clone(),
            value_type: self.value_type,
            levels: None,
            n_items: rows,
            null_count: rows - places.len(),
            validity,
            values,
            offsets,
        })
    }

    /// Appends the rows of an array of the field's type.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) for another type, nulls in a nested field
    /// that allows none, or where the strings held would pass 4 GiB. Rows may have been taken in part then.
    pub fn push(&mut self, array: &dyn Array) -> Result<()> {
        if array.data_type() != &self.data_type {
            return Err(Error::invalid("the array is not of the column's type"));
        }
        if self.path.is_flat() {
            return self.push_items(array);
        }
        let mut none = CollectedLevels::new([]);
        let items = shred(array, &self.path, self.levels.as_mut().unwrap_or(&mut none))?;
        self.push_items(items.as_ref())?;
        if let Some(levels) = &mut self.levels {
            levels.end_rows(array.len());
        }
        Ok(())
    }

    fn push_items(&mut self, array: &dyn Array) -> Result<()> {
        let rows = array.len();
        let Some(value_type) = self
            .value_type
            .filter(|_| array.data_type() != &DataType::Null)
        else {
            self.n_items += rows;
            return Ok(());
        };
        let resolved;
        let array = match array.data_type() {
            DataType::Dictionary(..) | DataType::RunEndEncoded(..) => {
                resolved = resolve(array)?;
                resolved.as_ref()
            }
            _ => array,
        };
        let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        match (&nulls, self.null_count) {
            (None, 0) => {}
            (None, _) => self.validity.append_set(rows),
            (Some(nulls), _) => {
                if self.null_count == 0 {
                    self.validity = Bits::default();
                    self.validity.append_set(self.n_items);
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
            ValueType::Fixed(0) => {}
            ValueType::Fixed(width) => self.push_fixed(array, width as usize)?,
            ValueType::Bytes => self.push_bytes(array)?,
        }
        self.n_items += rows;
        Ok(())
    }

    fn push_fixed(&mut self, array: &dyn Array, width: usize) -> Result<()> {
        let mut push = |bytes: Option<&[u8]>| {
            let too_short = || Error::invalid("the array's buffer is shorter than its length");
            let bytes = bytes.ok_or_else(too_short)?;
            make_room(&mut self.values.bytes, bytes.len());
            self.values.bytes.extend_from_slice(bytes);
            Ok(())
        };
        let bytes = array.len() * width;
        // `to_data` allocates, which is most of the time for arrays of a row.
        downcast_primitive_array!(
            array => push(array.values().inner().get(..bytes)),
            _ => {
                let data = array.to_data();
                let start = data.offset() * width;
                let buffer = data.buffers().first();
                push(buffer.and_then(|buffer| buffer.get(start..start + bytes)))
            }
        )
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
        let array = array.as_bytes::<T>();
        let offsets = array.value_offsets();
        let at = |i: usize| offsets.get(i).map_or(0, |offset| offset.as_usize());
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
        let all_bytes = at(array.len()) - at(0);
        let valid_bytes = nulls.map_or(all_bytes, |nulls| {
            let runs = nulls.valid_slices();
            runs.map(|(start, end)| at(end) - at(start)).sum()
        });
        if self.values.bytes.len() + valid_bytes > u32::MAX as usize {
            return Err(Error::invalid("a page's strings pass 4 GiB"));
        }
        make_room(&mut self.values.bytes, valid_bytes);
        make_room(&mut self.offsets, array.len());
        match nulls {
            // Arrow leaves open what stands under nulls, and what nobody reads is neither kept nor counted.
            Some(nulls) if valid_bytes < all_bytes => {
                let mut row = 0;
                for (start, end) in nulls.valid_slices() {
                    let held = self.values.bytes.len() as u32;
                    self.offsets.resize(self.offsets.len() + start - row, held);
                    self.push_run::<T>(array.value_data(), &offsets[start..=end]);
                    row = end;
                }
                let held = self.values.bytes.len() as u32;
                self.offsets
                    .resize(self.offsets.len() + array.len() - row, held);
            }
            _ => self.push_run::<T>(array.value_data(), offsets),
        }
        Ok(())
    }

    /// Appends the strings between `offsets` of `data`, of which there is one more than strings. They fit 32 bits.
    fn push_run<T: ByteArrayType>(&mut self, data: &[u8], offsets: &[T::Offset]) {
        let base = self.values.bytes.len();
        let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else {
            return;
        };
        let first = first.as_usize();
        let data = data.get(first..last.as_usize()).unwrap_or_default();
        self.values.bytes.extend_from_slice(data);
        let ends = offsets.iter().skip(1);
        self.offsets
            .extend(ends.map(|end| (base + (end.as_usize() - first)) as u32));
    }

    fn push_views<T: ByteViewType>(&mut self, array: &dyn Array) -> Result<()> {
        let array = array.as_byte_view::<T>();
        make_room(&mut self.offsets, array.len());
        for i in 0..array.len() {
            if array.is_valid(i) {
                let value: &[u8] = array.value(i).as_ref();
                if self.values.bytes.len() + value.len() > u32::MAX as usize {
                    return Err(Error::invalid("a page's strings pass 4 GiB"));
                }
                make_room(&mut self.values.bytes, value.len());
                self.values.bytes.extend_from_slice(value);
            }
            self.offsets.push(self.values.bytes.len() as u32);
        }
        Ok(())
    }
}

/// The array by logical value: the values of dictionaries and runs in row order.
fn resolve(array: &dyn Array) -> Result<ArrayRef> {
    let all = array.slice(0, array.len());
    let (array, _) = resolve_ranges(all, whole(array.len()))?;
    Ok(array)
}
