//! Timestamps of Parquet's type INT96: a day and nanoseconds, which reach further than nanoseconds in 64 bits.
//!
//! Arrow has no such type. The reader computes with wrapping numbers: the year 9999 becomes 1816 in nanoseconds, and
//! digits get lost in coarser units. So the values are read once before, for the unit: the one that the file's Arrow
//! schema states, or else nanoseconds, where they hold every value, and microseconds where these do. Statistics are not
//! used, since many writers leave them out or order the bytes wrongly, and no maximum says whether microseconds lose
//! digits.

use arrow_schema::TimeUnit;
use parquet::data_type::{Int96, Int96Type};

use super::columns::Columns;
use super::each_value::each_value;
use crate::Error;

/// 1970-01-01 as a Julian day.
const EPOCH: i128 = 2_440_588;

const DAY_NANOS: i128 = 86_400_000_000_000;

/// A unit, and the first row whose value it does not hold.
struct Candidate {
    unit: TimeUnit,
    misfit: Option<u64>,
}

/// The first unit that holds every value of a column.
///
/// # Errors
/// A value fits no unit; the error says the row.
pub(super) fn unit_that_holds(
    columns: &Columns<'_>,
    column: usize,
    stated: TimeUnit,
) -> Result<TimeUnit, Error> {
    let units = [stated, TimeUnit::Nanosecond, TimeUnit::Microsecond];
    let mut candidates = units.map(|unit| Candidate { unit, misfit: None });
    each_value::<Int96Type>(columns, column, |row, value| {
        for candidate in candidates.iter_mut().filter(|c| c.misfit.is_none()) {
            candidate.misfit = (!holds(candidate.unit, value)).then_some(row);
        }
        match candidates.each_ref().map(|candidate| candidate.misfit) {
            [Some(_), Some(nanos), Some(micros)] if nanos == micros => {
                let what = "the timestamp fits neither nanoseconds nor microseconds";
                Err(Error::new(what).in_row(row))
            }
            [Some(_), Some(nanos), Some(micros)] => Err(Error::new(format!(
                "the timestamp is out of reach of nanoseconds, which row {micros} needs"
            ))
            .in_row(nanos)),
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
