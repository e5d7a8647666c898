//! Fields and leaf columns: their types, names and pages, and estimates of what reading them takes.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Schema};
use tarsia_arrow::{LeafPath, Packing, leaf_paths};
use tarsia_codec::ValueType;
use tarsia_codec::toolbox::VIEW_BYTES;
use tarsia_compliance::RowSet;
use tarsia_metadata::ErasureLevel;
use tarsia_zones::ZoneForm;

use super::page::Page;
use super::zones::{Blooms, Zones, form_of, may_have_blooms};
use crate::error::{Error, ErrorKind, Result};
use crate::options::Checksums;

/// Bytes of a cache line: what a processor fetches at once.
const LINE_BYTES: u64 = 64;

/// Estimate of the fewest bytes that a string takes with its offset.
const STRING_BYTES: usize = 16;

/// Rows with this many bytes per column in the mean take longer to copy than to decode one by one.
const LONG_BYTES_MIN: u64 = 4 << 10;

/// Estimate of the decoded bytes of nested rows, as a multiple of their encoded bytes.
const NESTED_EXPANSION: u64 = 3;

/// A top-level field and its leaf columns.
pub(crate) struct TableField {
    pub(crate) field: FieldRef,
    /// In the schema's order; one where the field is flat.
    pub(crate) columns: Vec<Arc<Column>>,
}

/// Content of the columns of a field.
pub(crate) struct Stored {
    /// The field's type; where it is packed, that of whole rows.
    pub(crate) data_type: DataType,
    /// Packing of packed structs.
    pub(crate) packing: Option<Packing>,
}

impl Stored {
    /// Returns what a top-level field is stored as.
    pub(crate) fn of(field: &Field) -> Result<Self> {
        if !tarsia_metadata::is_packed(field) {
            return Ok(Self {
                data_type: field.data_type().clone(),
                packing: None,
            });
        }
        let packing = Packing::of(field.data_type());
        let packing = packing.map_err(|error| Error::from(error).in_column(field.name()))?;
        Ok(Self {
            data_type: packing.stored_type(),
            packing: Some(packing),
        })
    }
}

/// The name of a leaf column that lies at `path` in a top-level field: names from the field down, joined by dots.
pub(crate) fn leaf_name(field: &Field, path: &LeafPath) -> String {
    let below = path.names().iter().map(String::as_str);
    let names = std::iter::once(field.name().as_str()).chain(below);
    names.collect::<Vec<_>>().join(".")
}

/// The names of all leaf columns of a schema, in their order.
///
/// # Errors
/// [`ErrorKind::Unsupported`] for types that are not stored.
pub(crate) fn leaf_names(schema: &Schema) -> Result<Vec<String>> {
    let mut names = Vec::with_capacity(schema.fields().len());
    for field in schema.fields() {
        let stored = Stored::of(field)?;
        let paths = leaf_paths(&stored.data_type, field.is_nullable()).map_err(|unsupported| {
            let what = format!("type {unsupported}");
            Error::new(ErrorKind::Unsupported, what).in_column(field.name())
        })?;
        names.extend(paths.iter().map(|path| leaf_name(field, path)));
    }
    Ok(names)
}

impl Stored {
    /// How the values of its column at `path` are compared for zones; `None` for columns that have none: those below
    /// anything but structs, packed structs, and those of types without zones.
    pub(crate) fn zone_form(&self, path: &LeafPath) -> Option<ZoneForm> {
        form_of(self.type_of_rows(path)?)
    }

    /// Whether its column at `path` may have bloom filters: one that could have zones but for its type may, if equal
    /// values of its type are equal bytes.
    pub(crate) fn may_have_blooms(&self, path: &LeafPath) -> bool {
        self.type_of_rows(path).is_some_and(may_have_blooms)
    }

    /// The type of its column at `path`, if each row has one value of it, or none: below anything but structs, and in
    /// packed structs, it has not.
    fn type_of_rows(&self, path: &LeafPath) -> Option<&DataType> {
        if self.packing.is_some() {
            return None;
        }
        let mut data_type = &self.data_type;
        for field in path.fields_of_structs()? {
            let DataType::Struct(fields) = data_type else {
                return None;
            };
            data_type = fields.get(field)?.data_type();
        }
        Some(data_type)
    }
}

/// A leaf column whose pages are known.
pub(crate) struct Column {
    pub(crate) leaf: u32,
    /// Names from the top-level field down, joined by dots.
    pub(crate) name: String,
    /// Levels above the column's items, and their type.
    pub(crate) path: LeafPath,
    /// The Arrow type that the column alone decodes to: the field's where it is flat, that of whole rows where it is
    /// packed.
    pub(crate) data_type: DataType,
    /// Packing of packed structs: the column's items are their rows.
    pub(crate) packing: Option<Packing>,
    /// Physical type; `None` for type Null.
    pub(crate) value_type: Option<ValueType>,
    /// The column's erasure level.
    pub(crate) level: ErasureLevel,
    /// The rows that it does not hold any more; `None` where it holds all.
    pub(crate) erased: Option<Arc<RowSet>>,
    pub(crate) pages: Vec<Page>,
    pub(crate) shared_pages: Vec<Page>,
    /// Its zone map, if it has one.
    pub(crate) zones: Option<Zones>,
    /// Its bloom filters, if it has some.
    pub(crate) blooms: Option<Blooms>,
    /// Digest over the column, for `verify`.
    pub(crate) digest: [u8; 32],
    /// Bytes of metadata: record, FlatBuffer, block tables, digests, zone map and bloom filters.
    pub(crate) metadata_bytes: u64,
}

/// Numbers that estimates of a column depend on.
#[derive(Clone, Copy)]
pub(crate) struct Estimates {
    pub(crate) is_mapped: bool,
    pub(crate) checksums: Checksums,
}

impl TableField {
    /// Whether rows are so long that copying them takes longer than decoding them one by one.
    pub(crate) fn is_long(&self) -> bool {
        let columns = self.columns.iter();
        let bytes: u64 = columns.map(|column| column.encoded_row_bytes()).sum();
        bytes > 0 && bytes >= LONG_BYTES_MIN * self.columns.len() as u64
    }

    pub(crate) fn is_flat(&self) -> bool {
        self.columns.iter().all(|column| column.is_flat())
    }
}

impl Column {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether the field is this one column.
    pub(crate) fn is_flat(&self) -> bool {
        self.path.is_flat()
    }

    /// Adds column and page to an error.
    pub(crate) fn at(&self, error: Error, page: usize) -> Error {
        error.in_page(page).in_column(self.name())
    }

    /// Index of the page that holds `row`.
    pub(crate) fn page_of(&self, row: u64) -> Result<usize> {
        let index = self.pages.partition_point(|page| page.rows().end <= row);
        match self.pages.get(index) {
            Some(page) if page.rows().contains(&row) => Ok(index),
            _ => Err(
                Error::new(ErrorKind::Corrupt, format!("no page holds row {row}"))
                    .in_column(self.name()),
            ),
        }
    }

    pub(crate) fn page(&self, index: usize) -> Result<&Page> {
        self.pages.get(index).ok_or_else(|| {
            Error::new(
                ErrorKind::OutOfRange,
                format!("the column has {} pages", self.pages.len()),
            )
            .in_column(self.name())
        })
    }

    pub(crate) fn shared_page(&self, number: usize) -> Result<&Page> {
        self.shared_pages.get(number).ok_or_else(|| {
            let n = self.shared_pages.len();
            Error::new(
                ErrorKind::Corrupt,
                format!("the page names shared page {number} of {n}"),
            )
        })
    }

    /// How many of these rows of the table it still holds.
    pub(crate) fn n_present(&self, rows: Range<u64>) -> u64 {
        let erased = self.erased.as_ref();
        let n_erased = erased.map_or(0, |erased| erased.count(rows.clone()));
        rows.end.saturating_sub(rows.start).saturating_sub(n_erased)
    }

    /// How many rows of a block of it are left; `rows` count from the first row of `page`.
    pub(crate) fn n_present_of(&self, page: &Page, rows: &Range<u32>) -> u32 {
        let first = page.descriptor.first_row;
        let rows = first + u64::from(rows.start)..first + u64::from(rows.end);
        // A block has at most 65,536 rows.
        self.n_present(rows) as u32
    }

    /// Estimate of the decoded bytes of a row.
    pub(crate) fn row_bytes(&self) -> usize {
        match self.value_type {
            // How many items a row has is not known before it is decoded, so this is estimated from its encoded bytes.
            _ if !self.is_flat() => 1 + (NESTED_EXPANSION * self.encoded_row_bytes()) as usize,
            None => 0,
            Some(ValueType::Bits) => 1,
            Some(ValueType::Fixed(width)) => width as usize,
            // The codes of a dictionary do not say how long its entries are. A batch that grows too large is cut.
            Some(ValueType::Bytes) => STRING_BYTES.max(self.encoded_row_bytes() as usize),
        }
    }

    /// Estimate of the bytes that are written when a row is decoded. For a zero-copy column these are its views.
    pub(crate) fn written_row_bytes(&self, estimates: Estimates) -> usize {
        match self.is_flat() && self.is_zero_copy(estimates) {
            true => VIEW_BYTES,
            false => self.row_bytes(),
        }
    }

    /// Whether its byte strings are read as views. Strings that are stored as they are, are then borrowed from the
    /// file.
    pub(crate) fn has_views(&self, is_mapped: bool) -> bool {
        self.data_type == DataType::BinaryView && is_mapped
    }

    /// Whether its byte strings are borrowed from the file if they lie there back to back, as in an Arrow array. Text
    /// is copied: if someone changed the file, it might not be UTF-8 any more.
    pub(crate) fn borrows_runs(&self, is_mapped: bool) -> bool {
        let is_binary = matches!(self.data_type, DataType::Binary | DataType::LargeBinary);
        is_binary && is_mapped
    }

    /// Whether its byte strings are not copied.
    fn is_zero_copy(&self, estimates: Estimates) -> bool {
        let lies_row_by_row = || self.pages.iter().all(Page::is_indexed);
        self.has_views(estimates.is_mapped)
            || self.borrows_runs(estimates.is_mapped) && lies_row_by_row()
    }

    /// Mean of the bytes of a row in the file.
    pub(crate) fn encoded_row_bytes(&self) -> u64 {
        let pages = self.pages.iter().map(|page| &page.descriptor);
        let bytes: u64 = pages.clone().map(|page| u64::from(page.length)).sum();
        let rows: u64 = pages.map(|page| u64::from(page.rows)).sum();
        bytes / rows.max(1)
    }

    /// Bytes of the pages that hold some of `rows`. Of zero-copy pages that were checked before, the bytes are counted
    /// that are read to find the values.
    pub(crate) fn encoded_bytes(&self, estimates: Estimates, rows: &Range<u64>) -> u64 {
        let is_zero_copy = self.is_zero_copy(estimates);
        let bytes = |page: &Page| match is_zero_copy && page.is_checked(estimates.checksums) {
            true => LINE_BYTES * u64::from(page.descriptor.n_blocks),
            false => u64::from(page.descriptor.length),
        };
        let overlaps = |page: &&Page| {
            let held = page.rows();
            held.start < rows.end && rows.start < held.end
        };
        let pages = self.pages.iter().filter(overlaps);
        pages.map(bytes).sum()
    }

    /// About how many encoded bytes hold `rows`: of a page that holds others too, the part that their number says.
    pub(crate) fn encoded_bytes_about(&self, rows: &Range<u64>) -> u64 {
        let first = self
            .pages
            .partition_point(|page| page.rows().end <= rows.start);
        let pages = self.pages.iter().skip(first);
        let pages = pages.take_while(|page| page.rows().start < rows.end);
        let bytes = pages.map(|page| {
            let held = page.rows();
            let n_wanted = rows
                .end
                .min(held.end)
                .saturating_sub(rows.start.max(held.start));
            let n_held = held.end.saturating_sub(held.start).max(1);
            // Rows of a page fit into 32 bits, as its bytes do.
            u64::from(page.descriptor.length).saturating_mul(n_wanted) / n_held
        });
        bytes.fold(0, u64::saturating_add)
    }
}
