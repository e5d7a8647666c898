//! State that the tasks of a scan share, and how each makes batches of its rows.

use std::sync::Arc;

use arrow_array::{RecordBatch, UInt64Array};
use arrow_schema::SchemaRef;
use tarsia_arrow::ArrayParts;
use tarsia_codec::ValueType;
use tarsia_compliance::RowSet;

use super::batch::{batches, too_many_values};
use super::batch_size::batch_rows;
use super::cancel::Cancel;
use super::filter::RowFilter;
use super::open_file::OpenFile;
use super::pick::PickCost;
use super::read_ahead::{Window, Windows};
use super::window::{Fields, Found, Passed, Reader};
use crate::error::{ErrorKind, Result};
use crate::plan::RowSelection;
use crate::table::{Column, Projection, TableField};

/// A scan uses other threads only if decoding takes about this many nanoseconds or more. To wake a thread takes 50 µs,
/// and what it decodes is in another core's cache. Tables of the benchmark of 1 to 5 MB took as long with a second
/// thread as without, or up to 1.5 times as long.
const THREADS_NANOS_MIN: u64 = 500_000;

/// Estimates of decoding time: bytes in a nanosecond.
struct Rates {
    /// Decoded bytes, which are written.
    decoded: u64,
    /// Encoded bytes, which are read.
    encoded: u64,
}

/// Rates of byte strings, and of columns with levels.
const RATES: Rates = Rates {
    decoded: 8,
    encoded: 4,
};

/// Rates of flat values of fixed width: between those of plain values, which are read and written at 25 GB/s, and those
/// of decimals stored as floating-point numbers, at 12.
const FLAT_RATES: Rates = Rates {
    decoded: 16,
    encoded: 32,
};

/// Estimate of the time that each column of a batch takes beside decoding.
const COLUMN_NANOS: u64 = 1_000;

/// State that all tasks share.
pub(super) struct Job {
    pub(super) file: Arc<OpenFile>,
    pub(super) projection: Projection,
    /// The schema of the batches.
    pub(super) schema: SchemaRef,
    /// Rows that no batch has.
    pub(super) without: Arc<RowSet>,
    /// Says which of the others a batch has, if not all.
    pub(super) filter: Option<RowFilter>,
    /// Whether the last column has the numbers of the rows.
    pub(super) row_numbers: bool,
    /// Whether the columns of a batch are decoded in parallel: if there are few batches.
    pub(super) split_columns: bool,
    pub(super) cancel: Cancel,
}

impl Job {
    /// Whether there is enough to decode for other threads. Threads share the batches or, with `split_columns`, the
    /// columns; then the largest column is the work of one thread.
    pub(super) fn takes_threads(&self, rows: &RowSelection, n_batches: u64) -> bool {
        let n_rows = rows.len();
        let bounds = rows.first_from(0).unwrap_or(0)..rows.end();
        let estimates = self.file.estimates();
        let (mut all, mut largest) = (0, 0);
        let filtered = self.filter.iter().flat_map(RowFilter::columns);
        for column in self.projection.columns.iter().chain(filtered) {
            let decoded = (column.written_row_bytes(estimates) as u64).saturating_mul(n_rows);
            let encoded = column.encoded_bytes(estimates, &bounds);
            let rates = match column.is_flat() && column.value_type != Some(ValueType::Bytes) {
                true => FLAT_RATES,
                false => RATES,
            };
            let nanos = decoded / rates.decoded + encoded / rates.encoded;
            let nanos = nanos.saturating_add(COLUMN_NANOS.saturating_mul(n_batches));
            all = nanos.saturating_add(all);
            largest = nanos.max(largest);
            let own = match self.split_columns {
                true => largest,
                false => all / n_batches.max(1),
            };
            if all - own > THREADS_NANOS_MIN {
                return true;
            }
        }
        false
    }

    /// The columns that the filter looks at, and the others.
    pub(super) fn lanes(&self) -> [Vec<Arc<Column>>; 2] {
        let of_filter = self.filter.iter().flat_map(RowFilter::columns);
        let of_filter: Vec<_> = of_filter.cloned().collect();
        let is_new = |column: &&Arc<Column>| !of_filter.iter().any(|it| Arc::ptr_eq(it, column));
        let others = self.projection.columns.iter().filter(is_new);
        let others = others.cloned().collect();
        [of_filter, others]
    }

    /// The batches of some rows, as far as there are any. Blocks that are in the windows are not read.
    pub(super) fn decode(
        &self,
        rows: &RowSelection,
        windows: &Windows,
    ) -> Result<Vec<RecordBatch>> {
        self.cancel.check()?;
        let rows = rows.without(&self.without);
        match &self.filter {
            _ if rows.is_empty() => Ok(Vec::new()),
            None => self.batches(Found::all(rows, windows.output.iter().cloned().collect())),
            Some(filter) => self.filtered(filter, rows, windows),
        }
    }

    fn reader(&self) -> Reader<'_> {
        Reader {
            file: &self.file,
            split_columns: self.split_columns,
            cancel: &self.cancel,
        }
    }

    fn filtered(
        &self,
        filter: &RowFilter,
        rows: RowSelection,
        windows: &Windows,
    ) -> Result<Vec<RecordBatch>> {
        let n_rows = rows.len();
        let output = &self.projection;
        let of_filter = windows.filter.as_ref();
        let Some(mut found) = filter.passing(self.reader(), output, rows.clone(), of_filter)?
        else {
            if n_rows == 1 {
                return Err(too_many_values());
            }
            let (head, tail) = rows.split(n_rows / 2);
            let mut batches = self.filtered(filter, head, windows)?;
            batches.extend(self.filtered(filter, tail, windows)?);
            return Ok(batches);
        };
        if found.rows.is_empty() {
            // No batch asks.
            self.file.check_unchanged()?;
        }
        let step = batch_rows(&self.projection) as u64;
        match &windows.output {
            Some(window) if window.pays(filter.so_far()) => found.windows.push(window.clone()),
            _ if self.file.source.is_far() && found.rows.len() > step => {
                found.windows.push(self.window_of(&found));
            }
            _ => {}
        }
        let mut batches = Vec::new();
        while !found.rows.is_empty() {
            let (now, later) = found.split(step);
            batches.extend(self.batches(now)?);
            found = later;
        }
        Ok(batches)
    }

    /// The blocks of what is not decoded yet of the rows that pass. Batch by batch, each wave would wait and read the
    /// gaps between its columns again.
    fn window_of(&self, found: &Found) -> Arc<Window> {
        let fields = self.projection.fields.iter().enumerate();
        let missing = fields.filter(|(i, _)| !matches!(found.known.get(*i), Some(Some(_))));
        let columns = missing.flat_map(|(_, field)| field.columns.iter());
        let columns = columns.filter(|column| !found.windows.iter().any(|it| it.has(column)));
        Window::of(
            &self.file,
            columns.cloned().collect(),
            found.that_pass(),
            &self.cancel,
        )
    }

    /// Batches of rows that were found: one, unless that were too large.
    fn batches(&self, found: Found) -> Result<Vec<RecordBatch>> {
        let n_rows = found.rows.len();
        let pool = &self.file.session.pool;
        let passed = found.passed.as_ref();
        let passed = passed.map(|bits| Passed::new(bits, pool));
        let n_passed = passed.as_ref().map_or(n_rows, |it| it.rows.passed);
        if n_passed == 0 {
            return Ok(Vec::new());
        }
        let Some(mut columns) = self.columns(&found, passed.as_ref())? else {
            if n_rows == 1 {
                return Err(too_many_values());
            }
            let (head, tail) = found.split(n_rows / 2);
            let mut batches = self.batches(head)?;
            batches.extend(self.batches(tail)?);
            return Ok(batches);
        };
        self.file.check_unchanged()?;
        if self.row_numbers {
            let numbers: UInt64Array = found
                .that_pass()
                .runs()
                .flatten()
                .collect::<Vec<_>>()
                .into();
            columns.push(ArrayParts {
                parts: vec![Arc::new(numbers)],
            });
        }
        batches(&self.schema, columns, n_passed as usize)
    }

    /// The columns of the projection, the rows that pass; `None` if there are too many for one batch. Each column is
    /// decoded for these rows alone or whole, whichever takes less time.
    fn columns(
        &self,
        found: &Found,
        passed: Option<&Passed<'_>>,
    ) -> Result<Option<Vec<ArrayParts>>> {
        let fields = &self.projection.fields;
        let windows = &found.windows;
        if passed.is_none() && found.known.is_empty() {
            let all = Fields {
                fields,
                columns: &self.projection.columns,
                may_be_cut: true,
                as_entries: false,
            };
            return self.reader().arrays(all, &found.rows, windows);
        }
        let mut columns: Vec<Option<ArrayParts>> = fields.iter().map(|_| None).collect();
        for (place, known) in columns.iter_mut().zip(&found.known) {
            let Some(array) = known else {
                continue;
            };
            let array = match passed {
                Some(passed) => passed.of(array)?,
                None => array.clone(),
            };
            *place = Some(ArrayParts { parts: vec![array] });
        }
        let missing = (0..fields.len()).filter(|i| columns.get(*i).is_some_and(Option::is_none));
        let is_picked = |i: &usize| {
            let columns = fields.get(*i).map(|field| field.columns.iter());
            let largest = columns.and_then(|columns| columns.max_by_key(|it| it.row_bytes()));
            let pays = |rows| largest.is_some_and(|column| PickCost::of(column).pays(rows));
            passed.is_some_and(|passed| pays(passed.rows))
        };
        let (picked, whole): (Vec<usize>, Vec<usize>) = missing.partition(is_picked);
        if !picked.is_empty() {
            let picked_fields = self.fields(&picked);
            let Some(arrays) = self.read(&picked_fields, &found.that_pass(), false, windows)?
            else {
                return Ok(None);
            };
            put(arrays, &picked, &mut columns);
        }
        if !whole.is_empty() {
            // Of text of few values, the numbers of entries are filtered, which takes less time.
            let whole_fields = self.fields(&whole);
            let Some(mut arrays) =
                self.read(&whole_fields, &found.rows, passed.is_some(), windows)?
            else {
                return Ok(None);
            };
            if let Some(passed) = passed {
                match passed.of_all(&whole_fields, arrays) {
                    // Entries took fewer bytes than the strings do.
                    Err(error)
                        if error.kind() == ErrorKind::LimitExceeded && found.rows.len() > 1 =>
                    {
                        return Ok(None);
                    }
                    passed => arrays = passed?,
                }
            }
            put(arrays, &whole, &mut columns);
        }
        Ok(columns.into_iter().collect())
    }

    /// Some fields of the projection, by their numbers.
    fn fields(&self, numbers: &[usize]) -> Vec<Arc<TableField>> {
        let fields = numbers.iter();
        let fields = fields.filter_map(|i| self.projection.fields.get(*i).cloned());
        fields.collect()
    }

    /// Decodes fields; `None` if there are too many rows for one batch.
    fn read(
        &self,
        fields: &[Arc<TableField>],
        rows: &RowSelection,
        as_entries: bool,
        windows: &[Arc<Window>],
    ) -> Result<Option<Vec<ArrayParts>>> {
        let columns = fields.iter();
        let columns: Vec<_> = columns
            .flat_map(|field| field.columns.iter().cloned())
            .collect();
        let of = Fields {
            fields,
            columns: &columns,
            may_be_cut: false,
            as_entries,
        };
        self.reader().arrays(of, rows, windows)
    }
}

/// Puts the arrays of fields in their places.
fn put(arrays: Vec<ArrayParts>, numbers: &[usize], columns: &mut [Option<ArrayParts>]) {
    for (array, i) in arrays.into_iter().zip(numbers) {
        if let Some(place) = columns.get_mut(*i) {
            *place = Some(array);
        }
    }
}
