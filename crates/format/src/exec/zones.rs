//! Proofs by zone maps, of a filter before any block is read; and the zones of rows that were decoded.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, BinaryViewBuilder, LargeBinaryBuilder};
use arrow_array::builder::{LargeStringBuilder, StringBuilder, StringViewBuilder};
use arrow_array::{ArrayRef, BooleanArray, FixedSizeBinaryArray, make_array};
use arrow_buffer::{BooleanBuffer, MutableBuffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType, Field};
use tarsia_arrow::{LeafBuffer, LeafParts, assemble};
use tarsia_codec::{BitSlice, FixedSlice, Values};
use tarsia_filter::{ColumnBounds, Conjunct};
use tarsia_structure::Budget;
use tarsia_zones::{Bound, Bounds, Zone, ZoneCollector, ZoneForm};

use super::budget::batch_budget;
use super::fields::{decode_flat, decode_leaf};
use super::open_file::OpenFile;
use super::prepare::{Wanted, plan_and_fetch};
use crate::error::{Error, ErrorKind, Result, while_reading};
use crate::plan::RowSelection;
use crate::source::run_all;
use crate::table::{Column, TableField};

/// Rows of which bounds tell what a conjunct is.
pub(super) struct Proved {
    /// Rows that may pass; all others do not.
    pub(super) may_pass: RowSelection,
    /// Rows that all pass.
    pub(super) passes: RowSelection,
}

/// Reads the zone maps of these columns that were not read yet, in one wave.
pub(crate) fn read_zones<'c>(
    file: &OpenFile,
    columns: impl IntoIterator<Item = &'c Column>,
) -> Result<()> {
    let unread = columns.into_iter().filter_map(|column| {
        let zones = column.zones.as_ref()?;
        zones.map().is_none().then_some((column, zones))
    });
    let unread: Vec<_> = unread.collect();
    if unread.is_empty() {
        return Ok(());
    }
    run_all(&file.source, &unread, |hand, (column, zones)| {
        let bytes = hand.get(zones.range.clone())?;
        let kept = zones.keep(&bytes, &column.pages);
        kept.map_err(|error| error.in_column(column.name()))?;
        Ok(())
    })
    .map(drop)
}

/// Proves what the zones of the fields tell of a conjunct; `None` if they tell nothing. The zone maps were read.
pub(super) fn proved(
    conjunct: &Conjunct,
    fields: &[Arc<TableField>],
    n_rows: u64,
) -> Result<Option<Proved>> {
    let places = conjunct.columns();
    let columns = places.iter().map(|place| {
        let column = fields.get(place.field)?.column_at(&place.path)?;
        ZonesOfColumn::new(column)
    });
    let columns: Vec<Option<ZonesOfColumn<'_>>> = columns.collect();
    // The rows of a segment are in one zone of each column.
    let mut ends: Vec<u64> = columns
        .iter()
        .flatten()
        .flat_map(|column| column.ends.iter().copied())
        .collect();
    if places.is_empty() && n_rows > 0 {
        // What looks at no column is the same for all rows.
        ends.push(n_rows);
    }
    ends.sort_unstable();
    ends.dedup();
    if ends.is_empty() || ends.last() != Some(&n_rows) {
        return Ok(None);
    }
    let bounds = columns.iter().map(|column| {
        let bounds = column.as_ref().map(|column| column.bounds(&ends));
        bounds.transpose()
    });
    let bounds: Vec<Option<ColumnBounds>> = bounds.collect::<Result<_>>()?;
    let proof = conjunct
        .prove(&bounds, ends.len())
        .map_err(|error| Error::new(ErrorKind::InvalidInput, format!("{conjunct}: {error}")))?;
    let rows_of = |bits: &BooleanBuffer| {
        let mut start = 0;
        let runs = ends.iter().zip(bits).filter_map(|(end, is_set)| {
            let run = std::mem::replace(&mut start, *end)..*end;
            is_set.then_some(run)
        });
        RowSelection::from_ranges(runs)
    };
    Ok(Some(Proved {
        may_pass: rows_of(&proof.some_may_pass)?,
        passes: rows_of(&proof.all_pass)?,
    }))
}

/// The zones of a column, in the order of their rows.
struct ZonesOfColumn<'c> {
    column: &'c Column,
    /// Where each zone ends, in rows of the table.
    ends: Vec<u64>,
    /// `None` for a page without zones.
    zones: Vec<Option<&'c Zone>>,
}

impl<'c> ZonesOfColumn<'c> {
    /// The zones of a column with a map that was read.
    fn new(column: &'c Column) -> Option<Self> {
        let map = column.zones.as_ref()?.map()?;
        let (mut ends, mut zones) = (Vec::new(), Vec::new());
        for (page, of_page) in column.pages.iter().zip(&map.pages) {
            match of_page {
                Some(of_page) => {
                    ends.extend(of_page.ranges(page.rows().start).map(|rows| rows.end));
                    zones.extend(of_page.zones.iter().map(Some));
                }
                None => {
                    ends.push(page.rows().end);
                    zones.push(None);
                }
            }
        }
        Some(Self {
            column,
            ends,
            zones,
        })
    }

    /// Bounds of segments with these ends; a segment is part of one zone.
    fn bounds(&self, ends: &[u64]) -> Result<ColumnBounds> {
        let mut at = 0;
        let of_segments = ends.iter().map(|end| {
            while self.ends.get(at).is_some_and(|zone_end| zone_end < end) {
                at += 1;
            }
            self.zones.get(at).copied().flatten()
        });
        let zones: Vec<Option<&Zone>> = of_segments.collect();
        let n = zones.len();
        let bits = |is_set: fn(&Zone) -> bool| {
            BooleanBuffer::collect_bool(n, |i| zones.get(i).copied().flatten().is_some_and(is_set))
        };
        let array = |bound: fn(&Zone) -> Option<&Bound>| {
            let bounds = zones.iter().map(|zone| zone.and_then(bound));
            let bounds: Vec<_> = bounds.collect();
            array_of_bounds(self.column, &bounds)
        };
        Ok(ColumnBounds {
            min: array(|zone| zone.bounds.as_ref().map(|it| &it.min))?,
            max: array(|zone| zone.bounds.as_ref().map(|it| &it.max))?,
            is_cut: bits(|zone| {
                zone.bounds
                    .is_some_and(|it| it.min.is_cut() || it.max.is_cut())
            }),
            has_nulls: bits(|zone| zone.nulls > 0),
            has_nans: bits(|zone| zone.nans > 0),
            is_known: bits(|_| true),
        })
    }
}

/// The zone of the rows of these arrays, which a flat column or the items of a nested one were decoded to.
pub(crate) fn collect_zone(
    column: &Column,
    form: ZoneForm,
    arrays: &[ArrayRef],
) -> Result<ZoneCollector> {
    let mut zone = ZoneCollector::new(form);
    for array in arrays {
        if let Some(width) = array.data_type().primitive_width() {
            let data = array.to_data();
            let bytes = data.buffers().first().map_or(&[][..], |it| it.as_slice());
            let bytes = bytes.get(data.offset() * width..).unwrap_or_default();
            let bytes = bytes.get(..data.len() * width).unwrap_or_default();
            let values = FixedSlice::new(bytes, width, data.len())?;
            let validity = match array.nulls() {
                None => None,
                Some(nulls) => Some(BitSlice::new(
                    nulls.validity(),
                    nulls.offset(),
                    nulls.len(),
                )?),
            };
            zone.add(Values::Fixed(values), validity)?;
            continue;
        }
        let unfit = |data_type: DataType| {
            Error::new(ErrorKind::Unsupported, format!("zones of type {data_type}"))
        };
        let mut buffer = LeafBuffer::flat(&column.data_type).map_err(unfit)?;
        buffer.push(array)?;
        if let Some(page) = buffer.page(0..array.len())? {
            zone.add(page.values, page.validity)?;
        }
    }
    Ok(zone)
}

/// The zone of the rows of a column below structs. Of rows of which a struct is null, it has no item.
pub(crate) fn collect_nested_zone(
    file: &OpenFile,
    column: &Column,
    form: ZoneForm,
    mut leaf: LeafParts,
    budget: &Budget,
) -> Result<ZoneCollector> {
    let n_rows = leaf.levels.first().map_or(0, |level| level.n_slots);
    let n_items = leaf.items.rows;
    leaf.levels.clear();
    // The items alone: a flat column.
    let items = Field::new(
        column.name(),
        column.data_type.clone(),
        column.path.nullable(),
    );
    let array = assemble(&items, vec![leaf], n_items, &file.session.pool, budget)
        .map_err(|error| while_reading(error).in_column(column.name()))?;
    let arrays: Vec<ArrayRef> = array.into_iter().collect();
    let mut zone = collect_zone(column, form, &arrays)?;
    zone.add_nulls(n_rows.saturating_sub(n_items) as u64);
    Ok(zone)
}

/// The zone of some rows of a column, all of which it holds.
pub(crate) fn zone_of_rows(
    file: &OpenFile,
    column: &Column,
    form: ZoneForm,
    rows: &RowSelection,
) -> Result<ZoneCollector> {
    if rows.is_empty() {
        return Ok(ZoneCollector::new(form));
    }
    let (plans, blocks) = plan_and_fetch(file, [(column, Wanted::Selected(rows))])?;
    let (Some(plan), Some(blocks)) = (plans.first(), blocks.first()) else {
        return Err(Error::new(ErrorKind::Corrupt, "rows without a plan"));
    };
    let read = file.column_read(column, plan, blocks);
    let zone = match column.is_flat() {
        true => {
            decode_flat(file, &read).and_then(|arrays| collect_zone(column, form, &arrays.parts))
        }
        false => {
            let budget = batch_budget(rows.len(), 1, || Budget::new(read.nested_bytes_max()));
            decode_leaf(file, &read, &budget)
                .and_then(|leaf| collect_nested_zone(file, column, form, leaf, &budget))
        }
    };
    match zone {
        // More bytes than an array can number: fewer rows have fewer.
        Err(error) if error.kind() == ErrorKind::LimitExceeded && rows.len() > 1 => {
            let (head, tail) = rows.split(rows.len() / 2);
            let mut zone = zone_of_rows(file, column, form, &head)?;
            zone.merge(&zone_of_rows(file, column, form, &tail)?);
            Ok(zone)
        }
        zone => zone,
    }
}

/// The smallest or the largest value of a column.
pub(crate) struct Extreme {
    /// An array of one value, or of the beginning of it.
    pub(crate) value: ArrayRef,
    pub(crate) is_cut: bool,
}

/// The smallest and the largest value that the zones of a column state; `None` if not all of its pages have zones, or
/// no row has a value. The zone map was read.
pub(crate) fn extremes_by_zones(column: &Column) -> Result<Option<[Extreme; 2]>> {
    let (Some(zones), Some(of_column)) = (&column.zones, ZonesOfColumn::new(column)) else {
        return Ok(None);
    };
    let mut all: Option<Bounds> = None;
    for zone in &of_column.zones {
        let Some(zone) = zone else {
            return Ok(None);
        };
        all = match (all, zone.bounds) {
            (Some(all), Some(bounds)) => Some(all.union(&bounds, zones.form)),
            (all, bounds) => all.or(bounds),
        };
    }
    let Some(Bounds { min, max }) = all else {
        return Ok(None);
    };
    let extreme = |bound: &Bound| {
        Ok::<_, Error>(Extreme {
            value: array_of_bounds(column, &[Some(bound)])?,
            is_cut: bound.is_cut(),
        })
    };
    Ok(Some([extreme(&min)?, extreme(&max)?]))
}

/// An array of bounds that the zones of a column state.
fn array_of_bounds(column: &Column, bounds: &[Option<&Bound>]) -> Result<ArrayRef> {
    let bytes: Vec<_> = bounds.iter().map(|bound| bound.map(Bound::bytes)).collect();
    array_of(values_of(&column.data_type), &bytes).map_err(|what| {
        Error::new(ErrorKind::Corrupt, format!("zones: {what}")).in_column(column.name())
    })
}

/// The type of a column's values: not of their numbers, where they are in a dictionary.
fn values_of(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values_of(values),
        DataType::RunEndEncoded(_, values) => values_of(values.data_type()),
        other => other,
    }
}

/// An array of values that are stored as these bytes.
fn array_of(data_type: &DataType, values: &[Option<&[u8]>]) -> Result<ArrayRef, ArrowError> {
    macro_rules! built {
        ($builder:ty, $convert:expr) => {{
            let mut builder = <$builder>::new();
            for value in values {
                builder.append_option(value.map($convert).transpose()?);
            }
            Arc::new(builder.finish())
        }};
    }
    let text = |bytes| {
        std::str::from_utf8(bytes)
            .map_err(|error| ArrowError::InvalidArgumentError(error.to_string()))
    };
    fn bytes(bytes: &[u8]) -> Result<&[u8], ArrowError> {
        Ok(bytes)
    }
    Ok(match data_type {
        DataType::Boolean => {
            let bits = values
                .iter()
                .map(|value| value.map(|bytes| bytes.first() == Some(&1)));
            Arc::new(bits.collect::<BooleanArray>())
        }
        DataType::Utf8 => built!(StringBuilder, text),
        DataType::LargeUtf8 => built!(LargeStringBuilder, text),
        DataType::Utf8View => built!(StringViewBuilder, text),
        DataType::Binary => built!(BinaryBuilder, bytes),
        DataType::LargeBinary => built!(LargeBinaryBuilder, bytes),
        DataType::BinaryView => built!(BinaryViewBuilder, bytes),
        DataType::FixedSizeBinary(size) => Arc::new(
            FixedSizeBinaryArray::try_from_sparse_iter_with_size(values.iter().copied(), *size)?,
        ),
        other => {
            let width = other.primitive_width().ok_or_else(|| {
                ArrowError::InvalidArgumentError(format!("bounds of type {other}"))
            })?;
            let mut buffer = MutableBuffer::with_capacity(values.len() * width);
            for value in values {
                match value {
                    Some(bytes) => buffer.extend_from_slice(bytes),
                    None => buffer.extend_zeros(width),
                }
            }
            let valid = BooleanBuffer::collect_bool(values.len(), |i| {
                values.get(i).is_some_and(Option::is_some)
            });
            let data = ArrayData::builder(other.clone())
                .len(values.len())
                .nulls(Some(NullBuffer::new(valid)))
                .add_buffer(buffer.into());
            make_array(data.build()?)
        }
    })
}
