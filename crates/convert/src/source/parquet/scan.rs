//! Columns that are read once before their type is known.

use std::fs::File;

use arrow_schema::TimeUnit;
use parquet::basic::Type as Physical;
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::int96::unit_that_holds;
use crate::Error;

/// The name of the library that exports are written with. Its own files of seconds have no annotation, so that those
/// with milliseconds are exports.
const OWN_WRITER: &str = "parquet-rs";

/// Records read at a time.
const RECORDS: usize = 8_192;

/// Asks for the values of columns, which are named by their ordinals.
pub(super) trait Scan {
    /// The unit that holds all timestamps of type INT96, which is the stated one if that does.
    fn unit(&self, column: usize, stated: TimeUnit) -> Result<TimeUnit, Error>;

    /// Whether a column of milliseconds has whole seconds alone.
    fn has_whole_seconds(&self, column: usize) -> Result<bool, Error>;
}

/// The columns of a file.
pub(super) struct Columns<'a>(pub(super) &'a File);

impl Columns<'_> {
    fn reader(&self) -> Result<SerializedFileReader<File>, Error> {
        let file = self.0.try_clone().map_err(|error| error.to_string())?;
        SerializedFileReader::new(file).map_err(|error| error.to_string().into())
    }
}

impl Scan for Columns<'_> {
    fn unit(&self, column: usize, stated: TimeUnit) -> Result<TimeUnit, Error> {
        let reader = self.reader()?;
        let path = reader.metadata().file_metadata().schema_descr();
        let path = path.column(column).path().string();
        unit_that_holds(&reader, column, stated).map_err(|error| error.in_column(path))
    }

    fn has_whole_seconds(&self, column: usize) -> Result<bool, Error> {
        let reader = self.reader()?;
        let file = reader.metadata().file_metadata();
        // Other writers store milliseconds, and their readers give these.
        if !file
            .created_by()
            .is_some_and(|name| name.starts_with(OWN_WRITER))
        {
            return Ok(false);
        }
        let schema = file.schema_descr();
        let mut are_whole = true;
        match schema.column(column).physical_type() {
            Physical::INT32 => each_value::<Int32Type>(&reader, column, |_, value| {
                are_whole &= value % 1_000 == 0;
                Ok(())
            })?,
            Physical::INT64 => each_value::<Int64Type>(&reader, column, |_, value| {
                are_whole &= value % 1_000 == 0;
                Ok(())
            })?,
            _ => return Ok(false),
        }
        Ok(are_whole)
    }
}

/// Calls `see` with each value of a column that is not null, and its row.
pub(super) fn each_value<T: DataType>(
    reader: &SerializedFileReader<File>,
    column: usize,
    mut see: impl FnMut(u64, &T::T) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut rows_begun = 0_u64;
    let (mut definitions, mut repetitions, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for group in 0..reader.num_row_groups() {
        let bad = |error: ParquetError| format!("row group {group}: {error}");
        let pages = reader.get_row_group(group).map_err(bad)?;
        let pages = pages.get_column_reader(column).map_err(bad)?;
        let mut pages = get_typed_column_reader::<T>(pages);
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
