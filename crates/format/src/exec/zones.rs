//! Proofs by zone maps and bloom filters, of a filter before any block is read.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, BinaryViewBuilder, LargeBinaryBuilder};
use arrow_array::builder::{LargeStringBuilder, StringBuilder, StringViewBuilder};
use arrow_array::{ArrayRef, BooleanArray, FixedSizeBinaryArray, make_array};
use arrow_buffer::{BooleanBuffer, MutableBuffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType};
use tarsia_filter::{ColumnBounds, Conjunct};
use tarsia_zones::{Bound, Bounds, Zone};

use super::blooms::{KeyAnswers, KeysOfColumn};
use super::read_zones::parts_of_segments;
use crate::error::{Error, ErrorKind, Result};
use crate::plan::RowSelection;
use crate::table::{Column, TableField, values_of};

/// Rows of which bounds tell what a conjunct is.
pub(super) struct Proved {
    /// Rows that may pass; all others do not.
    pub(super) may_pass: RowSelection,
    /// Rows that all pass.
    pub(super) passes: RowSelection,
}

/// Proves what the zones of the fields tell of a conjunct, and answers of bloom filters; `None` if they tell nothing.
/// The zone maps were read.
pub(super) fn proved(
    conjunct: &Conjunct,
    fields: &[Arc<TableField>],
    n_rows: u64,
    answers: Option<&KeyAnswers>,
) -> Result<Option<Proved>> {
    let places = conjunct.columns();
    let columns = places.iter().map(|place| {
        let column = fields.get(place.field)?.column_at(&place.path)?;
        let keys = answers.and_then(|answers| answers.of(column));
        KnownOfColumn::new(column, keys)
    });
    let columns: Vec<Option<KnownOfColumn<'_>>> = columns.collect();
    // The rows of a segment are in one zone of each column, and in one run of its bloom filters.
    let mut ends: Vec<u64> = columns
        .iter()
        .flatten()
        .flat_map(KnownOfColumn::ends)
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

/// Zones and bloom filters of a column.
struct KnownOfColumn<'c> {
    column: &'c Column,
    zones: Option<ZonesOfColumn<'c>>,
    keys: Option<&'c Arc<KeysOfColumn>>,
}

impl<'c> KnownOfColumn<'c> {
    /// `None` if nothing is known.
    fn new(column: &'c Column, keys: Option<&'c Arc<KeysOfColumn>>) -> Option<Self> {
        let zones = ZonesOfColumn::new(column);
        (zones.is_some() || keys.is_some()).then_some(Self {
            column,
            zones,
            keys,
        })
    }

    fn ends(&self) -> impl Iterator<Item = u64> {
        let zones = self.zones.iter().flat_map(|zones| &zones.ends);
        let keys = self.keys.iter().flat_map(|keys| keys.ends());
        zones.chain(keys).copied()
    }

    /// Bounds of segments with these ends; a segment is part of one zone and of one run.
    fn bounds(&self, ends: &[u64]) -> Result<ColumnBounds> {
        let zones = match &self.zones {
            Some(zones) => zones.of_segments(ends),
            None => vec![None; ends.len()],
        };
        let mut bounds = bounds_of(self.column, &zones)?;
        bounds.keys = self.keys.map(|keys| keys.of_segments(ends));
        Ok(bounds)
    }
}

/// The zones of a column, in the order of their rows.
struct ZonesOfColumn<'c> {
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
        Some(Self { ends, zones })
    }

    /// The zone of each segment; a segment is part of one zone.
    fn of_segments(&self, ends: &[u64]) -> Vec<Option<&'c Zone>> {
        let zones = parts_of_segments(&self.ends, ends);
        let zones = zones.map(|zone| self.zones.get(zone).copied().flatten());
        zones.collect()
    }
}

/// Bounds of runs of rows with these zones; of some nothing is known.
fn bounds_of(column: &Column, zones: &[Option<&Zone>]) -> Result<ColumnBounds> {
    let n = zones.len();
    let bits = |is_set: fn(&Zone) -> bool| {
        BooleanBuffer::collect_bool(n, |i| zones.get(i).copied().flatten().is_some_and(is_set))
    };
    let array = |bound: fn(&Zone) -> Option<&Bound>| {
        let bounds = zones.iter().map(|zone| zone.and_then(bound));
        let bounds: Vec<_> = bounds.collect();
        array_of_bounds(column, &bounds)
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
        keys: None,
    })
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
