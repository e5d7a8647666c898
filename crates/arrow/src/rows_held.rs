//! The rows that a writer holds of a column, of which most may be null.

use core::ops::Range;
use std::borrow::Cow;

use arrow_array::{Array, UInt32Array};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use tarsia_codec::{Error, Result};
use tarsia_page_writer::make_room;

use crate::collect::LeafBuffer;
use crate::fit::{Fit, least};
use crate::path::LeafPath;
use crate::reorder::reorder;

/// So many valid rows do not make a column dense, wherever they stand.
const SPARSE_ROWS: usize = 16;

/// A column is sparse while, up to each of its valid rows, at most one in so many is valid (and [`SPARSE_ROWS`] more).
/// To pick the valid rows of an array takes longer than to copy it whole, unless they are few.
const SPARSE_ONE_IN: usize = 16;

/// Rows of one leaf column, as [`LeafBuffer`] holds them; but of a flat column of which most rows are null only the
/// others are held. So a table of many columns of which each row has a few can be held for many rows.
///
/// Source: Bullion (CIDR 2025), section 2.2, for how wide and sparse the tables of recommendation models are.
#[derive(Debug)]
pub struct RowsHeld {
    /// Whether it is flat, with values.
    can_be_sparse: bool,
    /// All rows, or those of `places`.
    buffer: LeafBuffer,
    /// The valid rows of a column that is sparse, which `buffer` holds alone.
    places: Option<Vec<u32>>,
    /// Rows of a sparse column.
    sparse_rows: usize,
}

impl RowsHeld {
    /// No rows yet of a field of type `data_type`, of one of its [`leaf_paths`](crate::leaf_paths).
    pub fn new(data_type: &DataType, path: LeafPath) -> Self {
        let can_be_sparse = path.is_flat() && path.value_type().is_some();
        Self {
            can_be_sparse,
            buffer: LeafBuffer::new(data_type, path),
            places: can_be_sparse.then(Vec::new),
            sparse_rows: 0,
        }
    }

    /// How many.
    pub fn rows(&self) -> usize {
        match self.places {
            Some(_) => self.sparse_rows,
            None => self.buffer.rows(),
        }
    }

    /// Bytes of the rows held, as [`RowsHeld::bytes_of`] counts them.
    pub fn logical_bytes(&self) -> u64 {
        match self.places {
            Some(_) => self.bytes_of(0..self.rows()),
            None => self.buffer.logical_bytes(),
        }
    }

    /// Bytes of values, lengths and validity of some of the rows, as [`LeafBuffer::bytes_of`]: whether the column is
    /// sparse does not matter.
    pub fn bytes_of(&self, rows: Range<usize>) -> u64 {
        match self.places {
            Some(_) => self.buffer.bytes_of_items(rows.len() as u64) + self.data_bytes_of(rows),
            None => self.buffer.bytes_of(rows),
        }
    }

    /// Bytes of the strings of some of the rows, without lengths; 0 for other types.
    pub fn data_bytes_of(&self, rows: Range<usize>) -> u64 {
        match &self.places {
            Some(places) => self.buffer.data_bytes_of(among(places, rows)),
            None => self.buffer.data_bytes_of(rows),
        }
    }

    /// Bytes of memory that the rows take: a function of the rows alone, not of the arrays that they came in, nor of
    /// capacities.
    pub fn held_bytes(&self) -> u64 {
        match &self.places {
            Some(places) => self.buffer.logical_bytes() + size_of_val(places.as_slice()) as u64,
            None => self.buffer.logical_bytes(),
        }
    }

    /// Bytes of memory of the buffers, used or not: at most an eighth more than their rows need, and what rows that
    /// were drained have left. It depends on how rows are split into arrays.
    pub fn capacity_bytes(&self) -> u64 {
        let places = self.places.as_ref().map_or(0, Vec::capacity);
        self.buffer.capacity_bytes() + (places * size_of::<u32>()) as u64
    }

    /// Frees memory that the buffers do not use.
    pub fn release_unused(&mut self) {
        self.buffer.release_unused();
        if let Some(places) = &mut self.places {
            places.shrink_to_fit();
        }
    }

    /// The fewest rows from row `start` on that take at least `bytes`; `None` where all held take less.
    pub fn rows_that_reach(&self, start: usize, bytes: u64) -> Option<usize> {
        let held = self.rows().checked_sub(start)?;
        if self.bytes_of(start..self.rows()) < bytes {
            return None;
        }
        let reaches = |rows| self.bytes_of(start..start + rows) >= bytes;
        Some(least(held, reaches))
    }

    /// Whether the rows held and `more` may take `bytes`, as [`RowsHeld::bytes_of`] counts them.
    pub fn may_reach(&self, more: &Fit, bytes: u64) -> bool {
        let nulls = match self.places {
            Some(_) => self.buffer.bytes_of_items(more.rows as u64),
            None => 0,
        };
        self.logical_bytes() + nulls + more.bytes as u64 >= bytes
    }

    /// Some of the rows in a buffer that holds nulls, too, and which of its rows they are.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) where there are no such rows.
    pub fn dense(&self, rows: Range<usize>) -> Result<(Cow<'_, LeafBuffer>, Range<usize>)> {
        let Some(places) = &self.places else {
            return Ok((Cow::Borrowed(&self.buffer), rows));
        };
        if rows.start > rows.end || rows.end > self.sparse_rows {
            return Err(Error::invalid("a page of more rows than the column holds"));
        }
        let valid = among(places, 0..rows.end);
        let spread = self.buffer.spread(&places[valid], rows.end)?;
        Ok((Cow::Owned(spread), rows))
    }

    /// Forgets the first `rows` rows.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) for more rows than there are.
    pub fn drain(&mut self, rows: usize) -> Result<()> {
        if rows > self.rows() {
            return Err(Error::invalid("draining more rows than the column holds"));
        }
        match &mut self.places {
            Some(places) => {
                let valid = among(places, 0..rows);
                self.buffer.drain(valid.end)?;
                places.drain(valid);
                // Rows are counted in 32 bits, since more have long become a page.
                places.iter_mut().for_each(|place| *place -= rows as u32);
                self.sparse_rows -= rows;
                if !stays_sparse(0, 0, places.iter().map(|place| *place as usize)) {
                    self.make_dense()?;
                }
            }
            None => {
                self.buffer.drain(rows)?;
                self.make_sparse()?;
            }
        }
        Ok(())
    }

    /// As [`LeafBuffer::fit`]; bytes are at least what the rows add to [`RowsHeld::held_bytes`].
    ///
    /// # Errors
    /// As [`LeafBuffer::fit`].
    pub fn fit(
        &self,
        array: &dyn Array,
        rows: Range<usize>,
        bytes_max: usize,
        value_bytes_max: usize,
    ) -> Result<Fit> {
        let fit = self
            .buffer
            .fit(array, rows.clone(), bytes_max, value_bytes_max)?;
        let Some(places) = &self.places else {
            return Ok(fit);
        };
        let n_valid = match array.nulls() {
            Some(nulls) => fit.rows - nulls.slice(rows.start, fit.rows).null_count(),
            None => fit.rows,
        };
        // It surely stays sparse, or all of its rows may be held.
        let is_sparse = places.len() + n_valid <= SPARSE_ROWS + self.sparse_rows / SPARSE_ONE_IN;
        let all_rows = (self.sparse_rows + fit.rows) as u64;
        let row_bytes = self.buffer.bytes_of_items(1) as usize + size_of::<u32>();
        let bytes = match (is_sparse, self.buffer.has_strings()) {
            (true, false) => row_bytes * n_valid,
            // Without what the lengths of the nulls would take.
            (true, true) => fit.bytes.saturating_sub(fit.rows * 5) + row_bytes * n_valid,
            _ => fit.bytes + self.buffer.bytes_of_items(all_rows) as usize,
        };
        Ok(Fit {
            rows: fit.rows,
            bytes,
        })
    }

    /// Appends the rows of an array of the field's type.
    ///
    /// # Errors
    /// As [`LeafBuffer::push`].
    pub fn push(&mut self, array: &dyn Array) -> Result<()> {
        let Some(places) = &mut self.places else {
            return self.buffer.push(array);
        };
        let nulls = array
            .logical_nulls()
            .unwrap_or_else(|| NullBuffer::new_valid(array.len()));
        if !stays_sparse(places.len(), self.sparse_rows, nulls.valid_indices()) {
            self.make_dense()?;
            return self.buffer.push(array);
        }
        let valid: Vec<u32> = nulls.valid_indices().map(|place| place as u32).collect();
        if !valid.is_empty() || array.data_type() != self.buffer.data_type() {
            let first = self.sparse_rows;
            let of_column = valid.iter().map(|place| *place as usize + first);
            let of_column = of_column.map(|place| {
                u32::try_from(place).map_err(|_| Error::invalid("2^32 rows in a page"))
            });
            let of_column = of_column.collect::<Result<Vec<u32>>>()?;
            let picked = reorder(array, &UInt32Array::from(valid))
                .map_err(|_| Error::invalid("an array whose items cannot be picked"))?;
            self.buffer.push(picked.as_ref())?;
            make_room(places, of_column.len());
            places.extend(of_column);
        }
        self.sparse_rows += array.len();
        Ok(())
    }

    /// Holds only the valid rows, if those that are held would be sparse had they come alone.
    fn make_sparse(&mut self) -> Result<()> {
        if !self.can_be_sparse || !stays_sparse(0, 0, self.buffer.valid_rows()?) {
            return Ok(());
        }
        let places = self.buffer.valid_rows()?.map(|row| row as u32);
        let places: Vec<u32> = places.collect();
        self.sparse_rows = self.buffer.rows();
        self.buffer = self.buffer.gathered(&places);
        self.places = Some(places);
        Ok(())
    }

    fn make_dense(&mut self) -> Result<()> {
        if let Some(places) = self.places.take() {
            // A column that begins dense has nothing to spread.
            if self.sparse_rows > 0 {
                self.buffer = self.buffer.spread(&places, self.sparse_rows)?;
            }
            self.sparse_rows = 0;
        }
        Ok(())
    }
}

/// Whether a column of `rows` rows, `n_valid` of them valid, is sparse when valid rows have come in at `places` behind
/// them. A function of the rows, wherever arrays end.
fn stays_sparse(n_valid: usize, rows: usize, places: impl Iterator<Item = usize>) -> bool {
    let mut valid = (n_valid + 1..).zip(places);
    valid.all(|(n, place)| n <= SPARSE_ROWS + (rows + place + 1) / SPARSE_ONE_IN)
}

/// Returns which of the rising `places` are among `rows`.
fn among(places: &[u32], rows: Range<usize>) -> Range<usize> {
    let before = |row: usize| places.partition_point(|place| (*place as usize) < row);
    before(rows.start)..before(rows.end)
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, BooleanArray, Int64Array, StringArray};
    use std::sync::Arc;

    use super::*;
    use crate::path::leaf_paths;

    const ROWS: usize = 3000;

    /// Which rows are valid: none, one in so many, those behind a row, only the first ones, all.
    fn validities() -> Vec<Box<dyn Fn(usize) -> bool>> {
        vec![
            Box::new(|_| false),
            Box::new(|row| row % 500 == 7),
            Box::new(|row| row * 7919 % 40 == 0),
            Box::new(|row| row * 7919 % 10 == 0),
            Box::new(|row| row >= 2000),
            Box::new(|row| row < 20),
            Box::new(|row| row < 16),
            Box::new(|_| true),
        ]
    }

    fn arrays(is_valid: &dyn Fn(usize) -> bool) -> [ArrayRef; 3] {
        let rows = || (0..ROWS).map(|row| is_valid(row).then_some(row));
        let texts = rows().map(|row| row.map(|row| "x".repeat(row % 9)));
        [
            Arc::new(
                rows()
                    .map(|row| row.map(|row| row % 3 == 0))
                    .collect::<BooleanArray>(),
            ),
            Arc::new(
                rows()
                    .map(|row| row.map(|row| row as i64))
                    .collect::<Int64Array>(),
            ),
            Arc::new(texts.collect::<StringArray>()),
        ]
    }

    fn held(data_type: &DataType) -> RowsHeld {
        RowsHeld::new(data_type, leaf_paths(data_type, true).unwrap().remove(0))
    }

    /// Pushes the array in batches of so many rows; behind each, whole thousands that are held are forgotten.
    fn pushed(array: &ArrayRef, batch_rows: usize, drained: bool) -> RowsHeld {
        let mut held = held(array.data_type());
        let mut first = 0;
        for start in (0..ROWS).step_by(batch_rows) {
            let rows = batch_rows.min(ROWS - start);
            let before = held.held_bytes();
            let fit = held.fit(array.as_ref(), start..start + rows, usize::MAX, usize::MAX);
            held.push(&array.slice(start, rows)).unwrap();
            let grown = held.held_bytes().saturating_sub(before);
            assert!(fit.unwrap().bytes as u64 >= grown, "{grown} bytes more");
            if drained && held.rows() >= 1000 && first < 2000 {
                let done = held.rows() / 1000 * 1000;
                let done = done.min(2000 - first);
                held.drain(done).unwrap();
                first += done;
            }
        }
        held
    }

    #[test]
    fn rows_are_those_of_a_buffer_that_holds_all() {
        for is_valid in validities() {
            for array in arrays(is_valid.as_ref()) {
                let mut whole = LeafBuffer::flat(array.data_type()).unwrap();
                whole.push(array.as_ref()).unwrap();
                let held = pushed(&array, 700, false);
                for rows in [0..ROWS, 0..1024, 5..6, 1999..ROWS] {
                    let (buffer, of_buffer) = held.dense(rows.clone()).unwrap();
                    let found = buffer.page(of_buffer).unwrap().unwrap();
                    let wanted = whole.page(rows.clone()).unwrap().unwrap();
                    let is_valid = |page: &tarsia_page_writer::PageInput<'_>, row: usize| {
                        page.validity.is_none_or(|validity| validity.get(row))
                    };
                    for row in 0..rows.len() {
                        assert_eq!(is_valid(&found, row), is_valid(&wanted, row), "row {row}");
                    }
                    assert_eq!(held.bytes_of(rows.clone()), whole.bytes_of(rows.clone()));
                    assert_eq!(held.data_bytes_of(rows.clone()), whole.data_bytes_of(rows));
                }
                let some = values(&held, 0..1500, is_valid.as_ref());
                let all = values_of(&array, is_valid.as_ref());
                assert_eq!(some, all[..some.len()]);
                assert_eq!(
                    values(&held, 0..ROWS, is_valid.as_ref()),
                    values_of(&array, is_valid.as_ref())
                );
                assert!(held.dense(0..ROWS + 1).is_err() || held.places.is_none());
            }
        }
    }

    /// The valid values of rows, as text.
    fn values(
        held: &RowsHeld,
        rows: Range<usize>,
        is_valid: &dyn Fn(usize) -> bool,
    ) -> Vec<String> {
        let (buffer, of_buffer) = held.dense(rows.clone()).unwrap();
        let page = buffer.page(of_buffer).unwrap().unwrap();
        let valid = (0..rows.len()).filter(|row| is_valid(rows.start + row));
        let text = |row| match page.values {
            tarsia_codec::Values::Bits(bits) => bits.get(row).to_string(),
            tarsia_codec::Values::Fixed(fixed) => {
                i64::from_le_bytes(fixed.get(row).try_into().unwrap()).to_string()
            }
            tarsia_codec::Values::Bytes(texts) => {
                String::from_utf8(texts.get(row).to_vec()).unwrap()
            }
        };
        valid.map(text).collect()
    }

    fn values_of(array: &ArrayRef, is_valid: &dyn Fn(usize) -> bool) -> Vec<String> {
        use arrow_array::cast::AsArray;
        let valid = (0..ROWS).filter(|row| is_valid(*row));
        let text = |row| match array.data_type() {
            DataType::Boolean => array.as_boolean().value(row).to_string(),
            DataType::Int64 => array
                .as_primitive::<arrow_array::types::Int64Type>()
                .value(row)
                .to_string(),
            _ => array.as_string::<i32>().value(row).to_owned(),
        };
        valid.map(text).collect()
    }

    #[test]
    fn what_is_held_does_not_depend_on_batches() {
        for is_valid in validities() {
            for array in arrays(is_valid.as_ref()) {
                for drained in [false, true] {
                    let wanted = pushed(&array, ROWS, drained);
                    for batch_rows in [1, 33, 1000, 1700] {
                        let mut held = pushed(&array, batch_rows, drained);
                        assert_eq!(held.rows(), wanted.rows());
                        assert_eq!(held.held_bytes(), wanted.held_bytes(), "{batch_rows} rows");
                        assert_eq!(held.places, wanted.places);
                        // What is not drained is followed by an eighth; 64 bytes are for each of four buffers.
                        let needed = held.held_bytes() * 9 / 8 + 256;
                        assert!(
                            drained || held.capacity_bytes() <= needed,
                            "{batch_rows} rows: {} bytes for {}",
                            held.capacity_bytes(),
                            held.held_bytes()
                        );
                        held.release_unused();
                        assert!(held.capacity_bytes() <= held.held_bytes() + 64);
                    }
                }
            }
        }
    }

    #[test]
    fn a_row_in_a_thousand_takes_little() {
        let array = &arrays(&|row| row % 1000 == 7)[1];
        let held = pushed(array, ROWS, false);
        assert!(held.held_bytes() < 50 && held.logical_bytes() > 24_000);
        let dense = &arrays(&|row| row % 10 == 7)[1];
        let held = pushed(dense, ROWS, false);
        assert_eq!(held.held_bytes(), held.logical_bytes());
    }
}
