//! The text of numbers, dates, times and durations.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, make_array};
use arrow_buffer::ArrowNativeType;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, TimeUnit};

use super::style::{Cell, Style, ascii, plain};
use crate::source::parse_timestamp;

pub(super) fn integers<T: ArrowPrimitiveType<Native: std::fmt::Display>>(
    array: &dyn Array,
) -> Cell<'_> {
    let values = array.as_primitive::<T>();
    Box::new(move |row, out| plain(out, values.value(row)))
}

/// `shortest` is the value in its own width: a 32-bit float needs fewer digits than the same number as a 64-bit float.
pub(super) fn float(
    style: Style,
    out: &mut Vec<u8>,
    value: f64,
    shortest: impl std::fmt::Debug,
) -> Result<(), String> {
    if value.is_nan() {
        ascii(style, out, "NaN")
    } else if value.is_infinite() {
        ascii(
            style,
            out,
            if value > 0.0 { "Infinity" } else { "-Infinity" },
        )
    } else {
        plain(out, format_args!("{shortest:?}"))
    }
}

/// All digits of the number, also where it has more than its type's precision says.
pub(super) fn decimals<T: ArrowPrimitiveType<Native: std::fmt::Display>>(
    style: Style,
    array: &dyn Array,
    scale: i8,
) -> Cell<'_> {
    let values = array.as_primitive::<T>();
    Box::new(move |row, out| {
        let digits = values.value(row).to_string();
        let (sign, digits) = match digits.strip_prefix('-') {
            Some(digits) => ("-", digits),
            None => ("", digits.as_str()),
        };
        let places = usize::from(scale.unsigned_abs());
        let text = if scale < 0 && digits != "0" {
            format!("{sign}{digits}{:0<places$}", "")
        } else if scale <= 0 {
            format!("{sign}{digits}")
        } else {
            let digits = format!("{digits:0>width$}", width = places + 1);
            let (whole, part) = digits.split_at(digits.len() - places);
            format!("{sign}{whole}.{part}")
        };
        ascii(style, out, &text)
    })
}

/// Dates, times of day and timestamps. A value outside the calendar (a time of day of 25 hours, a year beyond 262,000)
/// and any value in an unknown time zone has no such text. Files refuse it; JSON for people gets the stored number,
/// which is no string and so can be told apart. Where the offset of a zone has seconds, which no text of this form can
/// say, the text is in UTC.
pub(super) fn calendar<T: ArrowPrimitiveType<Native: std::fmt::Display>>(
    style: Style,
    array: &dyn Array,
) -> Cell<'_> {
    const OPTIONS: FormatOptions<'static> = FormatOptions::new().with_display_error(false);
    let values = array.as_primitive::<T>();
    let formatter = ArrayFormatter::try_new(array, &OPTIONS).ok();
    // In seconds: the years -258,000 to 261,800. Closer to the ends of chrono's calendar, chrono panics if a time zone
    // moves a timestamp beyond them.
    const ZONED_SECONDS: i64 = 8_200_000_000_000;
    let within = match array.data_type() {
        DataType::Timestamp(unit, Some(_)) => {
            let per_second = match unit {
                TimeUnit::Second => 1,
                TimeUnit::Millisecond => 1_000,
                TimeUnit::Microsecond => 1_000_000,
                TimeUnit::Nanosecond => 1_000_000_000,
            };
            match ZONED_SECONDS.checked_mul(per_second) {
                Some(bound) => -bound..=bound,
                // All numbers of nanoseconds are years within.
                None => i64::MIN..=i64::MAX,
            }
        }
        _ => i64::MIN..=i64::MAX,
    };
    let in_utc = UtcTexts::new(array);
    Box::new(move |row, out| {
        let text = formatter
            .as_ref()
            .filter(|_| {
                values
                    .value(row)
                    .to_i64()
                    .is_some_and(|value| within.contains(&value))
            })
            .and_then(|formatter| formatter.value(row).try_to_string().ok())
            .and_then(|text| in_utc.of_same_instant(row, text));
        match (text, style) {
            (Some(text), _) => ascii(style, out, &text),
            (None, Style::Json | Style::Start(_)) => plain(out, values.value(row)),
            (None, Style::Csv | Style::JsonLines) => Err(format!(
                "value {} of type {} has no calendar text",
                values.value(row),
                values.data_type()
            )),
        }
    })
}

/// The texts of timestamps with a zone whose offset had seconds at some time, as those of Liberia had until 1972.
struct UtcTexts {
    /// The timestamps in UTC, and their unit; `None` where every offset is of whole minutes.
    in_utc: Option<(ArrayRef, TimeUnit)>,
}

impl UtcTexts {
    fn new(array: &dyn Array) -> Self {
        let of = |array: &dyn Array| {
            let DataType::Timestamp(unit, Some(zone)) = array.data_type() else {
                return None;
            };
            // Offsets that are written out have minutes only.
            if &**zone == "UTC" || zone.starts_with(['+', '-']) {
                return None;
            }
            let utc = DataType::Timestamp(*unit, Some("UTC".into()));
            let data = array.to_data().into_builder().data_type(utc).build().ok()?;
            Some((make_array(data), *unit))
        };
        Self { in_utc: of(array) }
    }

    /// The text, if it names the instant of this row; else the text in UTC.
    fn of_same_instant(&self, row: usize, text: String) -> Option<String> {
        const OPTIONS: FormatOptions<'static> = FormatOptions::new().with_display_error(false);
        let Some((array, unit)) = &self.in_utc else {
            return Some(text);
        };
        let stored = match unit {
            TimeUnit::Second => array.as_primitive::<TimestampSecondType>().value(row),
            TimeUnit::Millisecond => array.as_primitive::<TimestampMillisecondType>().value(row),
            TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().value(row),
            TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().value(row),
        };
        let named = parse_timestamp(&text).and_then(|named| named.in_unit(*unit));
        if named == Some(stored) {
            return Some(text);
        }
        let formatter = ArrayFormatter::try_new(array.as_ref(), &OPTIONS).ok()?;
        formatter.value(row).try_to_string().ok()
    }
}

/// ISO 8601 in seconds only: `PT90S`, `PT-0.5S`. `places` is the number of decimal places of the unit.
pub(super) fn durations<T: ArrowPrimitiveType<Native = i64>>(
    style: Style,
    array: &dyn Array,
    places: u32,
) -> Cell<'_> {
    let values = array.as_primitive::<T>();
    Box::new(move |row, out| {
        ascii(
            style,
            out,
            &format!("PT{}S", fraction(values.value(row), places)),
        )
    })
}

/// `value` divided by 10 to the power of `places`, exactly, without trailing zeros.
pub(super) fn fraction(value: i64, places: u32) -> String {
    let unit = 10_u64.pow(places);
    let sign = if value < 0 { "-" } else { "" };
    let (whole, part) = (value.unsigned_abs() / unit, value.unsigned_abs() % unit);
    if part == 0 {
        return format!("{sign}{whole}");
    }
    let part = format!("{part:0>width$}", width = places as usize);
    format!("{sign}{whole}.{}", part.trim_end_matches('0'))
}
