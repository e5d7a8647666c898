//! The zone maps and bloom filters of columns: which columns may have them, where they lie, and what was read of them.

use std::ops::Range;
use std::sync::OnceLock;

use arrow_schema::DataType;
use tarsia_zones::{BOUND_BYTES_MAX, BloomShape, ZoneForm, ZoneMap, bloom_bytes, bloom_runs};

use super::page::Page;
use crate::error::{Error, ErrorKind, Result, while_reading};

/// Where the zone map of a column lies, and the map once it was read.
pub(crate) struct Zones {
    pub(crate) form: ZoneForm,
    /// Its place in the file.
    pub(crate) range: Range<u64>,
    map: OnceLock<ZoneMap>,
}

impl Zones {
    /// A map of which nothing was read so far.
    pub(crate) fn new(form: ZoneForm, range: Range<u64>) -> Self {
        Self {
            form,
            range,
            map: OnceLock::new(),
        }
    }

    /// The map, if it was read.
    pub(crate) fn map(&self) -> Option<&ZoneMap> {
        self.map.get()
    }

    /// Parses and keeps the bytes of the map of a column with these pages.
    pub(crate) fn keep(&self, bytes: &[u8], pages: &[Page]) -> Result<&ZoneMap> {
        let pages = pages.iter().map(|page| &page.descriptor);
        let map = ZoneMap::parse(bytes, self.form, pages).map_err(while_reading)?;
        Ok(self.map.get_or_init(|| map))
    }
}

/// Where the bloom filters of a column lie. They are read piece by piece, and nothing of them is kept.
pub(crate) struct Blooms {
    /// Their place in the file.
    pub(crate) range: Range<u64>,
}

/// A run of rows of a column that has a bloom filter.
pub(crate) struct BloomOfRun {
    /// The index of its page.
    pub(crate) page: usize,
    /// Rows of the table.
    pub(crate) rows: Range<u64>,
    /// Place of the filter in the file.
    pub(crate) place: Range<u64>,
    pub(crate) shape: BloomShape,
}

impl Blooms {
    /// The filters of a column with these pages, which all lie in this range of the file.
    pub(crate) fn new(range: Range<u64>, pages: &[Page]) -> Result<Self> {
        let bytes = pages.iter().map(|page| bloom_bytes(page.descriptor.rows));
        let bytes = bytes.fold(0, u64::saturating_add);
        match range.end.checked_sub(range.start) == Some(bytes) {
            true => Ok(Self { range }),
            false => {
                let what =
                    "bloom filters: another length than that of filters of the column's rows";
                Err(Error::new(ErrorKind::Corrupt, what))
            }
        }
    }

    /// The runs of the column, whose pages these are.
    pub(crate) fn runs<'p>(&self, pages: &'p [Page]) -> impl Iterator<Item = BloomOfRun> + 'p {
        let mut next = self.range.start;
        pages.iter().enumerate().flat_map(move |(number, page)| {
            let start = next;
            next += bloom_bytes(page.descriptor.rows);
            let first = page.rows().start;
            bloom_runs(page.descriptor.rows).map(move |run| BloomOfRun {
                page: number,
                rows: first + u64::from(run.rows.start)..first + u64::from(run.rows.end),
                place: start + run.place.start..start + run.place.end,
                shape: run.shape,
            })
        })
    }
}

impl BloomOfRun {
    /// Rows of the run, also those that were erased.
    pub(crate) fn n_rows(&self) -> u32 {
        // At most 65,536.
        self.rows.end.saturating_sub(self.rows.start) as u32
    }
}

/// The type of a column's values: not of their numbers, where they are in a dictionary.
pub(crate) fn values_of(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values_of(values),
        DataType::RunEndEncoded(_, values) => values_of(values.data_type()),
        other => other,
    }
}

/// Whether columns of a type may have bloom filters: where equal values are equal bytes, and there are many of them. So
/// none for floating-point numbers, of which zeros and NaNs are equal or not as somebody sees them, nor for booleans.
pub(super) fn may_have_blooms(data_type: &DataType) -> bool {
    match values_of(data_type) {
        DataType::FixedSizeBinary(bytes) => *bytes > 0,
        other => matches!(
            form_of(other),
            Some(ZoneForm::Unsigned(_) | ZoneForm::Signed(_) | ZoneForm::Text | ZoneForm::Binary)
        ),
    }
}

/// How values of a flat type are compared, or those of a dictionary or of runs; `None` for types without zones:
/// intervals, fixed-size binary data of no or more than 32 bytes, and type Null.
pub(super) fn form_of(data_type: &DataType) -> Option<ZoneForm> {
    Some(match data_type {
        DataType::Boolean => ZoneForm::Bits,
        DataType::UInt8 => ZoneForm::Unsigned(1),
        DataType::UInt16 => ZoneForm::Unsigned(2),
        DataType::UInt32 => ZoneForm::Unsigned(4),
        DataType::UInt64 => ZoneForm::Unsigned(8),
        DataType::Int8 => ZoneForm::Signed(1),
        DataType::Int16 => ZoneForm::Signed(2),
        DataType::Int32 | DataType::Date32 | DataType::Time32(_) | DataType::Decimal32(..) => {
            ZoneForm::Signed(4)
        }
        DataType::Int64
        | DataType::Date64
        | DataType::Time64(_)
        | DataType::Timestamp(..)
        | DataType::Duration(_)
        | DataType::Decimal64(..) => ZoneForm::Signed(8),
        DataType::Decimal128(..) => ZoneForm::Signed(16),
        DataType::Decimal256(..) => ZoneForm::Signed(32),
        DataType::Float16 => ZoneForm::Float(2),
        DataType::Float32 => ZoneForm::Float(4),
        DataType::Float64 => ZoneForm::Float(8),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => ZoneForm::Text,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => ZoneForm::Binary,
        DataType::FixedSizeBinary(bytes) if (1..=BOUND_BYTES_MAX as i32).contains(bytes) => {
            ZoneForm::Binary
        }
        DataType::Dictionary(..) | DataType::RunEndEncoded(..) => form_of(values_of(data_type))?,
        _ => return None,
    })
}
