//! The zone maps of columns: which columns have them, and what was read of them.

use std::ops::Range;
use std::sync::OnceLock;

use arrow_schema::DataType;
use tarsia_zones::{BOUND_BYTES_MAX, ZoneForm, ZoneMap};

use super::page::Page;
use crate::error::{Result, while_reading};

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
        DataType::Dictionary(_, values) => form_of(values)?,
        DataType::RunEndEncoded(_, values) => form_of(values.data_type())?,
        _ => return None,
    })
}
