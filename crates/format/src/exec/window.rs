//! Arrays of the rows of a scan: decodes fields of some rows, and picks rows out of what was decoded.

use std::cell::OnceCell;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ByteViewType, UInt32Type};
use arrow_array::{Array, ArrayRef, BooleanArray, GenericByteViewArray, UInt64Array};
use arrow_buffer::{BooleanBuffer, Buffer};
use arrow_schema::DataType;
use arrow_select::filter::{FilterBuilder, FilterPredicate};
use tarsia_arrow::{ArrayParts, Pool, reorder, select, values_of};
use tarsia_filter::ColumnTest;
use tarsia_io::ReadBytes;

use super::batch::too_many_values;
use super::batch_size::bytes_max;
use super::budget::{batch_budget, rows_budget};
use super::cancel::Cancel;
use super::fields::{FieldsRead, rows_that_hold};
use super::open_file::OpenFile;
use super::pick::FoundRows;
use super::prepare::{Wanted, plan_all};
use super::read_ahead::{Window, blocks_of};
use crate::error::{Error, ErrorKind, Result};
use crate::plan::{Plan, RowSelection};
use crate::table::{Column, TableField};

/// Fields that are read together.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    pub(super) fields: &'a [Arc<TableField>],
    /// The leaf columns of all fields, in order.
    pub(super) columns: &'a [Arc<Column>],
    /// Whether an array may come in several parts.
    pub(super) may_be_cut: bool,
    /// Whether flat byte strings may come as dictionary arrays.
    pub(super) as_entries: bool,
}

/// Rows that batches are made of.
pub(super) struct Found {
    /// The rows that are read.
    pub(super) rows: RowSelection,
    /// A bit for each of them that batches have, if not all.
    pub(super) passed: Option<BooleanBuffer>,
    /// Fields of the projection that were decoded before, all rows of them. Empty if none was.
    pub(super) known: Vec<Option<ArrayRef>>,
    /// Their blocks, as far as they are read ahead.
    pub(super) windows: Vec<Arc<Window>>,
}

impl Found {
    pub(super) fn all(rows: RowSelection, windows: Vec<Arc<Window>>) -> Self {
        Self {
            rows,
            passed: None,
            known: Vec::new(),
            windows,
        }
    }

    /// The rows that batches have.
    pub(super) fn that_pass(&self) -> RowSelection {
        match &self.passed {
            Some(bits) => self.rows.select(bits),
            None => self.rows.clone(),
        }
    }

    /// The first `n` rows that are read, and the rest.
    pub(super) fn split(&self, n: u64) -> (Self, Self) {
        let (head, tail) = self.rows.split(n);
        let at = head.len() as usize;
        let part = |rows: RowSelection, at: usize| {
            let len = rows.len() as usize;
            let known = self.known.iter();
            let known = known.map(|array| array.as_ref().map(|array| array.slice(at, len)));
            Self {
                passed: self.passed.as_ref().map(|bits| bits.slice(at, len)),
                known: known.collect(),
                windows: self.windows.clone(),
                rows,
            }
        };
        (part(head, 0), part(tail, at))
    }
}

/// Decodes for a scan.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) file: &'a OpenFile,
    /// Whether columns are decoded in parallel.
    pub(super) split_columns: bool,
    pub(super) cancel: &'a Cancel,
}

impl Reader<'_> {
    /// The rows of a flat column that a test asks for, a bit for each row. `None` if its values have to be decoded.
    /// Blocks come from the windows, if they have all of them.
    pub(super) fn holds(
        &self,
        column: &Arc<Column>,
        asked: &ColumnTest,
        rows: &RowSelection,
        windows: &[Arc<Window>],
    ) -> Result<Option<BooleanBuffer>> {
        let mut plans = plan_all(self.file, [(&**column, Wanted::Selected(rows))])?;
        plans.iter_mut().for_each(|plan| plan.may_be_cut = false);
        self.cancel.check()?;
        let blocks = self.blocks(&plans, windows)?;
        let (Some(plan), Some(blocks)) = (plans.first(), blocks.first()) else {
            return Ok(None);
        };
        rows_that_hold(
            self.file,
            &self.file.column_read(column, plan, blocks),
            asked,
        )
    }

    /// The blocks of plans: from the windows, if they have all of them.
    fn blocks(&self, plans: &[Plan], windows: &[Arc<Window>]) -> Result<Vec<Vec<ReadBytes<'_>>>> {
        match blocks_of(windows, plans) {
            Some(blocks) => Ok(blocks),
            None => self.file.source.fetch_once(plans),
        }
    }

    /// Decodes fields of some rows; `None` if there are too many for one batch. Blocks come from the windows, if they
    /// have all of them.
    pub(super) fn arrays(
        &self,
        of: Fields<'_>,
        rows: &RowSelection,
        windows: &[Arc<Window>],
    ) -> Result<Option<Vec<ArrayParts>>> {
        let (file, n_rows) = (self.file, rows.len());
        let wanted = Wanted::Selected(rows);
        // They have read what plans need, too.
        for window in windows {
            window.read();
        }
        let mut plans = plan_all(file, of.columns.iter().map(|column| (&**column, wanted)))?;
        if !of.may_be_cut {
            plans.iter_mut().for_each(|plan| plan.may_be_cut = false);
        }
        self.cancel.check()?;
        let blocks = self.blocks(&plans, windows)?;
        let read = FieldsRead {
            file,
            fields: of.fields,
            columns: of.columns,
            plans: &plans,
            blocks: &blocks,
            rows: n_rows as usize,
            as_entries: of.as_entries,
            cancel: Some(self.cancel),
        };
        let mut decoded_bytes = 0;
        for index in 0..of.columns.len() {
            decoded_bytes += read.column(index).expected_bytes()?;
        }
        if decoded_bytes > bytes_max(of.columns.len()) && n_rows > 1 {
            return Ok(None);
        }
        let budget = batch_budget(n_rows, of.columns.len(), || rows_budget(&read));
        match read.decode(self.split_columns, &budget) {
            // More items than the offsets of one batch can number, or more bytes than its budget: fewer rows have
            // fewer.
            Err(error) if error.kind() == ErrorKind::LimitExceeded && n_rows > 1 => Ok(None),
            decoded => decoded,
        }
    }
}

/// Whether values or parts of them have no bytes. Arrow's filter forgets how many of these there are.
fn has_empty_values(data_type: &DataType) -> bool {
    match data_type {
        DataType::FixedSizeBinary(0) | DataType::FixedSizeList(_, 0) => true,
        DataType::Dictionary(_, values) => has_empty_values(values),
        other => {
            let children = tarsia_metadata::children(other);
            children
                .iter()
                .any(|child| has_empty_values(child.data_type()))
        }
    }
}

/// Picks rows out of arrays.
pub(super) struct Passed<'a> {
    bits: &'a BooleanBuffer,
    pub(super) rows: FoundRows,
    pool: &'a Pool,
    /// The rows as Arrow's kernel wants them, made when the first array needs that.
    predicate: OnceCell<FilterPredicate>,
}

impl<'a> Passed<'a> {
    /// The rows whose bit is set.
    pub(super) fn new(bits: &'a BooleanBuffer, pool: &'a Pool) -> Self {
        Self {
            bits,
            rows: FoundRows::of(bits),
            pool,
            predicate: OnceCell::new(),
        }
    }

    /// The rows of an array whose bit is set.
    pub(super) fn of(&self, array: &dyn Array) -> Result<ArrayRef> {
        let failed = |error: String| Error::new(ErrorKind::LimitExceeded, error);
        let selected = select(array, self.bits, self.rows.passed as usize, self.pool);
        if let Some(selected) = selected.map_err(|error| failed(error.to_string()))? {
            return Ok(without_unused_text(selected));
        }
        let predicate = || {
            let array = BooleanArray::new(self.bits.clone(), None);
            FilterBuilder::new(&array).optimize().build()
        };
        if !has_empty_values(array.data_type())
            && let Ok(passed) = self.predicate.get_or_init(predicate).filter(array)
        {
            return Ok(without_unused_text(passed));
        }
        // Arrow cannot filter arrays of every type.
        let places: UInt64Array = self.bits.set_indices().map(|place| place as u64).collect();
        reorder(array, &places).map_err(|error| failed(error.to_string()))
    }

    /// The rows of the arrays of fields, which may have been decoded as entries.
    pub(super) fn of_all(
        &self,
        fields: &[Arc<TableField>],
        columns: Vec<ArrayParts>,
    ) -> Result<Vec<ArrayParts>> {
        let columns = columns.into_iter().zip(fields).map(|(column, field)| {
            let [array] = column.parts.as_slice() else {
                return Err(too_many_values());
            };
            let array = of_type(field.field.data_type(), &self.of(array)?, self.pool)?;
            Ok(ArrayParts { parts: vec![array] })
        });
        columns.collect()
    }
}

/// Views with a copy of the bytes that they need, if their buffers hold more than twice as many: a caller that keeps a
/// few rows would keep the text of all rows of a window.
fn without_unused_text(array: ArrayRef) -> ArrayRef {
    fn copied<T: ByteViewType>(views: &GenericByteViewArray<T>) -> Option<ArrayRef> {
        let held: usize = views.data_buffers().iter().map(Buffer::len).sum();
        let is_used = held == 0 || views.total_buffer_bytes_used().saturating_mul(2) >= held;
        (!is_used).then(|| Arc::new(views.gc()) as ArrayRef)
    }
    let copy = match array.data_type() {
        DataType::Utf8View => copied(array.as_string_view()),
        DataType::BinaryView => copied(array.as_binary_view()),
        _ => None,
    };
    copy.unwrap_or(array)
}

/// An array of a column of this type, which may be a dictionary array although the column is none.
pub(super) fn of_type(data_type: &DataType, array: &ArrayRef, pool: &Pool) -> Result<ArrayRef> {
    let dictionary = array.as_dictionary_opt::<UInt32Type>();
    let Some(dictionary) = dictionary.filter(|_| array.data_type() != data_type) else {
        return Ok(array.clone());
    };
    // A file may say of its blocks that they decode to few bytes.
    let bytes_max = match array.len() {
        0 | 1 => u64::MAX,
        _ => bytes_max(1),
    };
    let failed = |error: String| Error::new(ErrorKind::LimitExceeded, error);
    let values =
        values_of(dictionary, bytes_max, pool).map_err(|error| failed(error.to_string()))?;
    if let Some(values) = values {
        return Ok(values);
    }
    reorder(dictionary.values().as_ref(), dictionary.keys())
        .map_err(|error| failed(error.to_string()))
}
