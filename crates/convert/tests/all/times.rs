//! Dates and timestamps through files of text, up to the ends of the calendar.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{
    Array, ArrayRef, Date32Array, Date64Array, RecordBatch, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray,
};
use arrow_schema::{DataType, TimeUnit};
use tarsia_convert::source::{Options, Source, Types, parse_type};
use tarsia_convert::target::Target;
use tarsia_convert::{Error, Format};

use crate::run::Folder;

/// Days from 1970 to the first day of the calendar, and to its last.
const DAYS: [i64; 2] = [-96_465_292, 95_026_236];

/// The first days of the years 0 and 10000.
const TURNS: [i64; 2] = [-719_528, 2_932_897];

/// A table of one value, written and read again. The error is that of the writer.
fn through(folder: &Folder, name: &str, array: &ArrayRef, asked: &str) -> Result<ArrayRef, Error> {
    let batch = RecordBatch::try_from_iter([("c", Arc::clone(array))]).unwrap();
    let path = folder.path(name);
    let mut target = Target::new(Vec::new(), Format::of(&path).unwrap(), batch.schema()).unwrap();
    target.write(&batch)?;
    let (bytes, _) = target.finish().unwrap();
    folder.write(name, &bytes);
    let data_type = parse_type(asked).unwrap();
    let options = Options {
        types: Types::new([("c", &data_type)]).unwrap(),
        ..Options::default()
    };
    let mut source = Source::open(&path, &options).unwrap();
    let batch = source.next().unwrap();
    let text = || String::from_utf8_lossy(&bytes).into_owned();
    Ok(batch
        .unwrap_or_else(|error| panic!("{error}: {}", text()))
        .column(0)
        .clone())
}

/// The stored number of the first row.
fn number(array: &ArrayRef) -> i64 {
    match array.data_type() {
        DataType::Date32 => array.as_primitive::<Date32Type>().value(0).into(),
        DataType::Timestamp(TimeUnit::Second, _) => {
            array.as_primitive::<TimestampSecondType>().value(0)
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            array.as_primitive::<TimestampMillisecondType>().value(0)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            array.as_primitive::<TimestampMicrosecondType>().value(0)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            array.as_primitive::<TimestampNanosecondType>().value(0)
        }
        other => panic!("{other}"),
    }
}

/// Checks that each of the values comes back or is refused, and returns how many came back.
fn n_back(values: &[i64], asked: &str, array: impl Fn(i64) -> ArrayRef) -> usize {
    let folder = Folder::default();
    let mut n = 0;
    for value in values {
        let array = array(*value);
        let back = ["t.csv", "t.jsonl"].map(|name| through(&folder, name, &array, asked));
        match back {
            [Ok(csv), Ok(json)] => {
                assert_eq!((number(&csv), number(&json)), (*value, *value), "{asked}");
                n += 1;
            }
            [Err(csv), Err(json)] => {
                for error in [csv, json] {
                    assert!(
                        error.to_string().contains("has no calendar text"),
                        "{error}"
                    );
                }
            }
            other => panic!("{value} as {asked}: {other:?}"),
        }
    }
    n
}

/// The ends of the calendar and of its years of four digits, in units of which a day has so many, each with the values
/// next to it, and the least and the largest number.
fn extremes(per_day: i64) -> (Vec<i64>, Vec<i64>) {
    let starts = [DAYS[0], TURNS[0], 0, TURNS[1], DAYS[1] + 1];
    let starts = starts.iter().filter_map(|day| day.checked_mul(per_day));
    let near = starts.flat_map(|start| [start - 1, start, start + 1]);
    let (within, outside): (Vec<i64>, Vec<i64>) = near.partition(|value| {
        let day = value.div_euclid(per_day);
        (DAYS[0]..=DAYS[1]).contains(&day)
    });
    (within, [&outside[..], &[i64::MIN, i64::MAX]].concat())
}

#[test]
fn dates_come_back_or_are_refused() {
    let (within, outside) = extremes(1);
    let days = |value: i64| -> ArrayRef {
        let value = value.clamp(i32::MIN.into(), i32::MAX.into());
        Arc::new(Date32Array::from(vec![i32::try_from(value).unwrap()]))
    };
    assert_eq!(n_back(&within, "date32", days), within.len());
    assert_eq!(n_back(&outside, "date32", days), 0);
    // Dates in milliseconds have a text with a time.
    let (within, outside) = extremes(86_400_000);
    let millis = |value| -> ArrayRef { Arc::new(Date64Array::from(vec![value])) };
    assert_eq!(n_back(&within, "timestamp-ms", millis), within.len());
    assert_eq!(n_back(&outside, "timestamp-ms", millis), 0);
}

#[test]
fn timestamps_of_every_unit_come_back_or_are_refused() {
    let zones = [
        None,
        Some("UTC"),
        Some("+14:00"),
        Some("-12:00"),
        Some("America/New_York"),
        Some("Asia/Tokyo"),
        Some("Africa/Monrovia"),
    ];
    for zone in zones {
        let check = |unit: &str, per_second: i64, array: &dyn Fn(i64) -> ArrayRef| {
            let (within, outside) = extremes(86_400 * per_second);
            let asked = match zone {
                None => format!("timestamp-{unit}"),
                Some(_) => format!("timestamp-{unit}-utc"),
            };
            let (n, n_outside) = (
                n_back(&within, &asked, array),
                n_back(&outside, &asked, array),
            );
            match (zone, unit) {
                // Every number is within the calendar.
                (_, "ns") => assert_eq!((n, n_outside), (within.len(), outside.len())),
                (None, _) => assert_eq!((n, n_outside), (within.len(), 0)),
                // A zone might move the ends out of the calendar.
                (Some(_), _) => assert_eq!((n, n_outside), (within.len() - 3, 0)),
            }
        };
        check("s", 1, &|value| {
            Arc::new(TimestampSecondArray::from(vec![value]).with_timezone_opt(zone))
        });
        check("ms", 1_000, &|value| {
            Arc::new(TimestampMillisecondArray::from(vec![value]).with_timezone_opt(zone))
        });
        check("us", 1_000_000, &|value| {
            Arc::new(TimestampMicrosecondArray::from(vec![value]).with_timezone_opt(zone))
        });
        check("ns", 1_000_000_000, &|value| {
            Arc::new(TimestampNanosecondArray::from(vec![value]).with_timezone_opt(zone))
        });
    }
}
