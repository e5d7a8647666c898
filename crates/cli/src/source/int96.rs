//! Timestamps of Parquet's type INT96: a day and nanoseconds, which reach further than nanoseconds in 64 bits.
//!
//! Arrow has no such type. The reader computes with wrapping numbers: the year 9999 becomes 1816 in nanoseconds, and
//! digits get lost in coarser units. So the values are read once before, for the unit: the one that the file's Arrow
//! schema states, or else nanoseconds, where they hold every value, and microseconds where these do. Statistics are not
//! used, since many writers leave them out or order the bytes wrongly, and no maximum says whether microseconds lose
//! digits.

use std::fs::File;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, TimeUnit};
use parquet::basic::Type;
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{Int96, Int96Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};

/// Records read at a time.
const RECORDS: usize = 8_192;

/// 1970-01-01 as a Julian day.
const EPOCH: i128 = 2_440_588;

const DAY_NANOS: i128 = 86_400_000_000_000;

/// The fields with other units where INT96 needs them; `None` where all can stay.
///
/// # Errors
/// A value fits no unit; the text says column and row.
pub(super) fn fields_that_hold(
    file: &File,
    metadata: &ParquetMetaData,
    fields: &Fields,
) -> Result<Option<Fields>, String> {
    let columns = metadata.file_metadata().schema_descr().columns();
    if !columns.iter().any(|c| c.physical_type() == Type::INT96) {
        return Ok(None);
    }
    let mut types = Vec::new();
    fields
        .iter()
        .for_each(|f| leaves(f.data_type(), &mut types));
    if types.len() != columns.len() {
        return Err(format!(
            "{} columns of Parquet are {} of Arrow, so timestamps of type INT96 cannot be checked",
            columns.len(),
            types.len()
        ));
    }
    let file = file.try_clone().map_err(|error| error.to_string())?;
    let reader = SerializedFileReader::new(file).map_err(|error| error.to_string())?;
    let mut changed = false;
    for (i, column) in columns.iter().enumerate() {
        let DataType::Timestamp(stated, zone) = &types[i] else {
            continue;
        };
        if column.physical_type() != Type::INT96 {
            continue;
        }
        let unit = unit_that_holds(&reader, i, *stated)
            .map_err(|what| format!("column `{}`, {what}", column.path().string()))?;
        changed |= unit != *stated;
        types[i] = DataType::Timestamp(unit, zone.clone());
    }
    let mut types = types.into_iter();
    Ok(changed.then(|| with_leaves(fields, &mut types)))
}

/// A unit, and the first row whose value it does not hold.
struct Candidate {
    unit: TimeUnit,
    misfit: Option<u64>,
}

/// The first unit that holds every value of a column.
fn unit_that_holds(
    reader: &SerializedFileReader<File>,
    column: usize,
    stated: TimeUnit,
) -> Result<TimeUnit, String> {
    let units = [stated, TimeUnit::Nanosecond, TimeUnit::Microsecond];
    let mut candidates = units.map(|unit| Candidate { unit, misfit: None });
    each_value(reader, column, |row, value| {
        for candidate in candidates.iter_mut().filter(|c| c.misfit.is_none()) {
            candidate.misfit = (!holds(candidate.unit, value)).then_some(row);
        }
        match candidates.each_ref().map(|candidate| candidate.misfit) {
            [Some(_), Some(nanos), Some(micros)] if nanos == micros => Err(format!(
                "row {row}: the timestamp fits neither nanoseconds nor microseconds"
            )),
            [Some(_), Some(nanos), Some(micros)] => Err(format!(
                "row {nanos}: the timestamp is out of reach of nanoseconds, which row {micros} needs"
            )),
            _ => Ok(()),
        }
    })?;
    let held = candidates.iter().find(|c| c.misfit.is_none());
    Ok(held.map_or(stated, |candidate| candidate.unit))
}

/// Whether the unit holds the value exactly.
fn holds(unit: TimeUnit, value: &Int96) -> bool {
    let [low, high, day] = [value.data()[0], value.data()[1], value.data()[2]];
    let of_day = (u64::from(high) << 32 | u64::from(low)).cast_signed();
    let nanos = (i128::from(day.cast_signed()) - EPOCH) * DAY_NANOS + i128::from(of_day);
    let per_unit = match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    };
    nanos % per_unit == 0 && i64::try_from(nanos / per_unit).is_ok()
}

/// Calls `see` with each value of a column that is not null, and its row.
fn each_value(
    reader: &SerializedFileReader<File>,
    column: usize,
    mut see: impl FnMut(u64, &Int96) -> Result<(), String>,
) -> Result<(), String> {
    let mut rows_begun = 0_u64;
    let (mut definitions, mut repetitions, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for group in 0..reader.num_row_groups() {
        let bad = |error: ParquetError| format!("row group {group}: {error}");
        let pages = reader.get_row_group(group).map_err(bad)?;
        let pages = pages.get_column_reader(column).map_err(bad)?;
        let mut pages = get_typed_column_reader::<Int96Type>(pages);
        let descriptor = reader.metadata().row_group(group).column(column);
        let present = descriptor.column_descr().max_def_level();
        loop {
            definitions.clear();
            repetitions.clear();
            values.clear();
            let (definitions, repetitions) = (&mut definitions, &mut repetitions);
            let (_, _, n_levels) = pages
                .read_records(RECORDS, Some(definitions), Some(repetitions), &mut values)
                .map_err(bad)?;
            if n_levels == 0 {
                break;
            }
            let mut values = values.iter();
            for at in 0..n_levels {
                // A column that is not repeated, or allows no nulls, has no such levels.
                if repetitions.get(at).is_none_or(|level: &i16| *level == 0) {
                    rows_begun += 1;
                }
                if definitions
                    .get(at)
                    .is_none_or(|level: &i16| *level == present)
                    && let Some(value) = values.next()
                {
                    see(rows_begun.saturating_sub(1), value)?;
                }
            }
        }
    }
    Ok(())
}

/// The types below a type that have values of their own, in the order of Parquet's columns.
fn leaves(data_type: &DataType, types: &mut Vec<DataType>) {
    match data_type {
        DataType::Struct(fields) => fields.iter().for_each(|f| leaves(f.data_type(), types)),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => leaves(item.data_type(), types),
        leaf => types.push(leaf.clone()),
    }
}

/// Returns the fields with these types for what [`leaves`] finds.
fn with_leaves(fields: &Fields, types: &mut impl Iterator<Item = DataType>) -> Fields {
    let fields = fields.iter().map(|field| with_leaf(field, types));
    fields.collect()
}

fn with_leaf(field: &FieldRef, types: &mut impl Iterator<Item = DataType>) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Struct(fields) => DataType::Struct(with_leaves(fields, types)),
        DataType::List(item) => DataType::List(with_leaf(item, types)),
        DataType::LargeList(item) => DataType::LargeList(with_leaf(item, types)),
        DataType::ListView(item) => DataType::ListView(with_leaf(item, types)),
        DataType::LargeListView(item) => DataType::LargeListView(with_leaf(item, types)),
        DataType::FixedSizeList(item, n) => DataType::FixedSizeList(with_leaf(item, types), *n),
        DataType::Map(entries, sorted) => DataType::Map(with_leaf(entries, types), *sorted),
        leaf => types.next().unwrap_or_else(|| leaf.clone()),
    };
    Arc::new(Field::clone(field).with_data_type(data_type))
}
