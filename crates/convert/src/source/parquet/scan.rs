//! Columns that are read once before their type is known.

use arrow_schema::TimeUnit;
use parquet::basic::Type as Physical;
use parquet::data_type::{Int32Type, Int64Type};

use super::columns::Columns;
use super::each_value::each_value;
use super::int96::unit_that_holds;
use crate::Error;

/// The name of the library that exports are written with. Its own files of seconds have no annotation, so that those
/// with milliseconds are exports.
const OWN_WRITER: &str = "parquet-rs";

/// Asks for the values of columns, which are named by their ordinals.
pub(super) trait Scan {
    /// The unit that holds all timestamps of type INT96, which is the stated one if that does.
    fn unit(&self, column: usize, stated: TimeUnit) -> Result<TimeUnit, Error>;

    /// Whether the library that exports are written with has written the file.
    fn is_of_own_writer(&self) -> bool;

    /// Whether a column of milliseconds has whole seconds alone.
    fn has_whole_seconds(&self, column: usize) -> Result<bool, Error>;
}

impl Scan for Columns<'_> {
    fn unit(&self, column: usize, stated: TimeUnit) -> Result<TimeUnit, Error> {
        let path = self.metadata().file_metadata().schema_descr();
        let path = path.column(column).path().string();
        unit_that_holds(self, column, stated).map_err(|error| error.in_column(path))
    }

    fn is_of_own_writer(&self) -> bool {
        let name = self.metadata().file_metadata().created_by();
        name.is_some_and(|name| name.starts_with(OWN_WRITER))
    }

    fn has_whole_seconds(&self, column: usize) -> Result<bool, Error> {
        // Other writers store milliseconds, and their readers give these.
        if !self.is_of_own_writer() {
            return Ok(false);
        }
        let schema = self.metadata().file_metadata().schema_descr();
        let mut are_whole = true;
        match schema.column(column).physical_type() {
            Physical::INT32 => each_value::<Int32Type>(self, column, |_, value| {
                are_whole &= value % 1_000 == 0;
                Ok(())
            })?,
            Physical::INT64 => each_value::<Int64Type>(self, column, |_, value| {
                are_whole &= value % 1_000 == 0;
                Ok(())
            })?,
            _ => return Ok(false),
        }
        Ok(are_whole)
    }
}
