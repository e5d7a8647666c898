//! Rows that come some columns at a time: all rows of a group for the first columns, then for the next ones.
//!
//! Where pages end depends on the calls here: columns that are not being written have all rows of the group, so a page
//! that the budget ends early takes them all.

use arrow_array::{Array, ArrayRef};
use tarsia_io::Sink;

use crate::error::{Error, Result};
use crate::write::body::Body;
use crate::write::columns::{Columns, STEP_BYTES_MIN, STEP_ROWS};
use crate::write::cut::PAGE_DATA_BYTES_MAX;
use crate::write::field_rows::Lacking;

impl Columns {
    /// Takes all rows of some top-level fields, those from `first` on, and encodes what is full.
    ///
    /// # Errors
    /// As [`Columns::push`].
    pub(super) fn push_fields(
        &mut self,
        arrays: &[ArrayRef],
        first: usize,
        body: &mut Body<dyn Sink + '_>,
    ) -> Result<()> {
        let writers = self.writers_of(first..first + arrays.len());
        let bytes_max = self.budget.waiting_bytes_max();
        let mut waiting_bytes = 0;
        for i in writers.clone() {
            let array = arrays[self.writers[i].index - first].clone();
            let mut row = 0;
            while row < array.len() {
                let (rows, bytes) = self.push_rows(i, &array, row)?;
                row += rows;
                waiting_bytes += bytes;
                self.unlooked_bytes += bytes;
                self.grown_bytes += bytes;
                if waiting_bytes >= bytes_max {
                    waiting_bytes = 0;
                    self.flush_full(writers.clone(), body)?;
                }
            }
            if self.budget.looks_after(self.unlooked_bytes) {
                self.unlooked_bytes = 0;
                self.flush_full(writers.clone(), body)?;
                self.flush_largest(writers.clone(), body)?;
            }
        }
        self.flush_full(writers, body)?;
        self.release_unused();
        Ok(())
    }

    /// Takes rows of a leaf column from row `row` of `array` on: as many as the buffer has room for. Returns how many
    /// these are, and at most how many bytes.
    fn push_rows(&mut self, writer: usize, array: &ArrayRef, row: usize) -> Result<(usize, u64)> {
        let bytes_max = self.page_bytes.max(STEP_BYTES_MIN) as usize;
        let column = &mut self.writers[writer];
        let until = array.len().min(row + STEP_ROWS);
        let name = column.field.name();
        let of_column = |error: tarsia_codec::Error| Error::from(error).in_column(name);
        let fit = column
            .buffer
            .fit(array.as_ref(), row..until, bytes_max, PAGE_DATA_BYTES_MAX)
            .map_err(of_column)?;
        let before = column.buffer.logical_bytes();
        let pushed = column.buffer.push(array.slice(row, fit.rows).as_ref());
        pushed.map_err(of_column)?;
        self.logical_bytes += column.buffer.logical_bytes() - before;
        Ok((fit.rows, fit.bytes as u64))
    }

    /// Counts rows of some fields.
    pub(super) fn count_rows(&mut self, first: usize, n_fields: usize, rows: usize) {
        let fields = first..first + n_fields;
        self.field_rows
            .add(fields, rows as u64, self.rows, self.n_fields);
    }

    /// Makes sure that all fields have the same rows.
    pub(super) fn check_level(&mut self) -> std::result::Result<(), Lacking> {
        if let Some(rows) = self.field_rows.level()? {
            self.rows = rows;
        }
        Ok(())
    }
}
