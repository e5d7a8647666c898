//! The values of an array as text, by its type.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    IntervalDayTimeType, IntervalMonthDayNanoType, IntervalYearMonthType, RunEndIndexType,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, OffsetSizeTrait};
use arrow_schema::{DataType, IntervalUnit, TimeUnit, UnionFields};
use std::collections::BTreeMap;

use super::object::Object;
use super::scalars::{calendar, decimals, durations, float, fraction, integers};
use super::style::{Cell, Style, ascii, base64, null, plain, string};

/// Whether values of this type have a text in this style. Every type has one in JSON.
///
/// ```
/// use arrow_schema::DataType;
/// use tarsia_convert::text::{Style, holds};
/// assert!(holds(Style::Json, &DataType::Binary));
/// assert!(!holds(Style::Csv, &DataType::Binary));
/// ```
#[must_use]
pub fn holds(style: Style, data_type: &DataType) -> bool {
    match data_type {
        _ if style != Style::Csv => true,
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_)
        | DataType::List(_)
        | DataType::LargeList(_)
        | DataType::ListView(_)
        | DataType::LargeListView(_)
        | DataType::FixedSizeList(_, _)
        | DataType::Struct(_)
        | DataType::Map(_, _)
        | DataType::Union(_, _) => false,
        DataType::Dictionary(_, values) => holds(style, values),
        DataType::RunEndEncoded(_, values) => holds(style, values.data_type()),
        _ => true,
    }
}

/// The values of an array as text.
///
/// # Errors
/// The type has no text in this style ([`holds`]).
pub fn cell<'a>(style: Style, array: &'a dyn Array) -> Result<Cell<'a>, String> {
    if !holds(style, array.data_type()) {
        return Err(format!("type {} has no text here", array.data_type()));
    }
    let not_null: Cell<'a> = match array.data_type() {
        DataType::Null => return Ok(Box::new(move |_, out| null(style, out))),
        DataType::Boolean => {
            let values = array.as_boolean();
            Box::new(move |row, out| plain(out, values.value(row)))
        }
        DataType::Int8 => integers::<Int8Type>(array),
        DataType::Int16 => integers::<Int16Type>(array),
        DataType::Int32 => integers::<Int32Type>(array),
        DataType::Int64 => integers::<Int64Type>(array),
        DataType::UInt8 => integers::<UInt8Type>(array),
        DataType::UInt16 => integers::<UInt16Type>(array),
        DataType::UInt32 => integers::<UInt32Type>(array),
        DataType::UInt64 => integers::<UInt64Type>(array),
        DataType::Float16 | DataType::Float32 | DataType::Float64 => floats(style, array),
        DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => strings(style, array),
        DataType::Decimal32(_, scale) => decimals::<Decimal32Type>(style, array, *scale),
        DataType::Decimal64(_, scale) => decimals::<Decimal64Type>(style, array, *scale),
        DataType::Decimal128(_, scale) => decimals::<Decimal128Type>(style, array, *scale),
        DataType::Decimal256(_, scale) => decimals::<Decimal256Type>(style, array, *scale),
        DataType::Date32
        | DataType::Date64
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Timestamp(..)
        | DataType::Duration(_) => times(style, array),
        DataType::Interval(unit) => intervals(style, array, *unit),
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            // Normalising keys needs at least one value. Without one, every row is null.
            let keys = if dictionary.values().is_empty() {
                Vec::new()
            } else {
                dictionary.normalized_keys()
            };
            let value = cell(style, dictionary.values().as_ref())?;
            Box::new(move |row, out| match keys.get(row) {
                Some(&key) => value(key, out),
                None => null(style, out),
            })
        }
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::ListView(_)
        | DataType::LargeListView(_)
        | DataType::FixedSizeList(..)
        | DataType::Map(..)
        | DataType::Struct(_) => nested(style, array)?,
        DataType::RunEndEncoded(ends, _) => match ends.data_type() {
            DataType::Int16 => run_values::<Int16Type>(style, array)?,
            DataType::Int32 => run_values::<Int32Type>(style, array)?,
            _ => run_values::<Int64Type>(style, array)?,
        },
        DataType::Union(fields, _) => chosen(style, array, fields)?,
    };
    Ok(match array.nulls() {
        None => not_null,
        Some(nulls) => Box::new(move |row, out| {
            if nulls.is_null(row) {
                null(style, out)
            } else {
                not_null(row, out)
            }
        }),
    })
}

/// Floating-point numbers.
fn floats<'a>(style: Style, array: &'a dyn Array) -> Cell<'a> {
    match array.data_type() {
        DataType::Float16 => {
            let values = array.as_primitive::<Float16Type>();
            // Every 16-bit float is exactly a 32-bit float, so nothing is lost.
            Box::new(move |row, out| {
                float(
                    style,
                    out,
                    f64::from(values.value(row)),
                    values.value(row).to_f32(),
                )
            })
        }
        DataType::Float32 => {
            let values = array.as_primitive::<Float32Type>();
            Box::new(move |row, out| {
                float(style, out, f64::from(values.value(row)), values.value(row))
            })
        }
        _ => {
            let values = array.as_primitive::<Float64Type>();
            Box::new(move |row, out| float(style, out, values.value(row), values.value(row)))
        }
    }
}

/// Text as it is, bytes as base64.
fn strings<'a>(style: Style, array: &'a dyn Array) -> Cell<'a> {
    match array.data_type() {
        DataType::Utf8 => {
            let values = array.as_string::<i32>();
            Box::new(move |row, out| string(style, out, values.value(row)))
        }
        DataType::LargeUtf8 => {
            let values = array.as_string::<i64>();
            Box::new(move |row, out| string(style, out, values.value(row)))
        }
        DataType::Utf8View => {
            let values = array.as_string_view();
            Box::new(move |row, out| string(style, out, values.value(row)))
        }
        DataType::Binary => {
            let values = array.as_binary::<i32>();
            Box::new(move |row, out| base64(style, out, values.value(row)))
        }
        DataType::LargeBinary => {
            let values = array.as_binary::<i64>();
            Box::new(move |row, out| base64(style, out, values.value(row)))
        }
        DataType::BinaryView => {
            let values = array.as_binary_view();
            Box::new(move |row, out| base64(style, out, values.value(row)))
        }
        _ => {
            let values = array.as_fixed_size_binary();
            Box::new(move |row, out| base64(style, out, values.value(row)))
        }
    }
}

/// Dates, times and durations.
fn times<'a>(style: Style, array: &'a dyn Array) -> Cell<'a> {
    match array.data_type() {
        DataType::Date32 => calendar::<Date32Type>(style, array),
        DataType::Date64 => calendar::<Date64Type>(style, array),
        DataType::Time32(TimeUnit::Second) => calendar::<Time32SecondType>(style, array),
        DataType::Time32(_) => calendar::<Time32MillisecondType>(style, array),
        DataType::Time64(TimeUnit::Microsecond) => calendar::<Time64MicrosecondType>(style, array),
        DataType::Time64(_) => calendar::<Time64NanosecondType>(style, array),
        DataType::Timestamp(TimeUnit::Second, _) => calendar::<TimestampSecondType>(style, array),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            calendar::<TimestampMillisecondType>(style, array)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            calendar::<TimestampMicrosecondType>(style, array)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            calendar::<TimestampNanosecondType>(style, array)
        }
        DataType::Duration(TimeUnit::Second) => durations::<DurationSecondType>(style, array, 0),
        DataType::Duration(TimeUnit::Millisecond) => {
            durations::<DurationMillisecondType>(style, array, 3)
        }
        DataType::Duration(TimeUnit::Microsecond) => {
            durations::<DurationMicrosecondType>(style, array, 6)
        }
        _ => durations::<DurationNanosecondType>(style, array, 9),
    }
}

/// Intervals, as ISO 8601 writes durations.
fn intervals<'a>(style: Style, array: &'a dyn Array, unit: IntervalUnit) -> Cell<'a> {
    match unit {
        IntervalUnit::YearMonth => {
            let values = array.as_primitive::<IntervalYearMonthType>();
            Box::new(move |row, out| ascii(style, out, &format!("P{}M", values.value(row))))
        }
        IntervalUnit::DayTime => {
            let values = array.as_primitive::<IntervalDayTimeType>();
            Box::new(move |row, out| {
                let value = values.value(row);
                let seconds = fraction(i64::from(value.milliseconds), 3);
                ascii(style, out, &format!("P{}DT{seconds}S", value.days))
            })
        }
        IntervalUnit::MonthDayNano => {
            let values = array.as_primitive::<IntervalMonthDayNanoType>();
            Box::new(move |row, out| {
                let value = values.value(row);
                ascii(
                    style,
                    out,
                    &format!(
                        "P{}M{}DT{}S",
                        value.months,
                        value.days,
                        fraction(value.nanoseconds, 9)
                    ),
                )
            })
        }
    }
}

/// Values that hold others.
fn nested<'a>(style: Style, array: &'a dyn Array) -> Result<Cell<'a>, String> {
    Ok(match array.data_type() {
        DataType::List(_) => offset_items::<i32>(style, array)?,
        DataType::LargeList(_) => offset_items::<i64>(style, array)?,
        DataType::FixedSizeList(_, _) => {
            let list = array.as_fixed_size_list();
            let item = cell(style, list.values().as_ref())?;
            let length = list.value_length() as usize;
            Box::new(move |row, out| items(style, &item, row * length..(row + 1) * length, out))
        }
        DataType::Map(_, _) => {
            let map = array.as_map();
            let entry = cell(style, map.entries())?;
            Box::new(move |row, out| {
                let offsets = map.value_offsets();
                let range = offsets[row] as usize..offsets[row + 1] as usize;
                items(style, &entry, range, out)
            })
        }
        DataType::ListView(_) => view_items::<i32>(style, array)?,
        DataType::LargeListView(_) => view_items::<i64>(style, array)?,
        _ => {
            let mut object = Object::default();
            let array = array.as_struct();
            for (field, child) in array.fields().iter().zip(array.columns()) {
                object.push(field.name(), cell(style, child.as_ref())?);
            }
            Box::new(move |row, out| object.write(row, out))
        }
    })
}

/// The items of lists, which lie back to back.
fn offset_items<O: OffsetSizeTrait>(style: Style, array: &dyn Array) -> Result<Cell<'_>, String> {
    let list = array.as_list::<O>();
    let item = cell(style, list.values().as_ref())?;
    Ok(Box::new(move |row, out| {
        let offsets = list.value_offsets();
        let range = offsets[row].as_usize()..offsets[row + 1].as_usize();
        items(style, &item, range, out)
    }))
}

/// The items of list views, which may lie anywhere among the items.
fn view_items<O: OffsetSizeTrait>(style: Style, array: &dyn Array) -> Result<Cell<'_>, String> {
    let list = array.as_list_view::<O>();
    let item = cell(style, list.values().as_ref())?;
    Ok(Box::new(move |row, out| {
        let start = list.value_offsets()[row].as_usize();
        items(
            style,
            &item,
            start..start + list.value_sizes()[row].as_usize(),
            out,
        )
    }))
}

/// Run-end arrays by value, as if each row had its own.
fn run_values<R: RunEndIndexType>(style: Style, array: &dyn Array) -> Result<Cell<'_>, String> {
    let runs = array
        .as_run_opt::<R>()
        .ok_or_else(|| format!("type {} has unknown run ends", array.data_type()))?;
    let value = cell(style, runs.values().as_ref())?;
    Ok(Box::new(move |row, out| {
        value(runs.get_physical_index(row), out)
    }))
}

/// The values of a union as objects of one key, which says what was chosen: two fields may have values of the same
/// text.
fn chosen<'a>(
    style: Style,
    array: &'a dyn Array,
    fields: &'a UnionFields,
) -> Result<Cell<'a>, String> {
    let union = array.as_union();
    let mut chosen = BTreeMap::new();
    for (type_id, field) in fields.iter() {
        let mut object = Object::default();
        object.push(field.name(), cell(style, union.child(type_id).as_ref())?);
        chosen.insert(type_id, object);
    }
    Ok(Box::new(move |row, out| {
        let type_id = union.type_id(row);
        match chosen.get(&type_id) {
            Some(object) => object.write(union.value_offset(row), out),
            None => Err(format!("a union has no field with the type id {type_id}")),
        }
    }))
}

fn items(
    style: Style,
    item: &Cell<'_>,
    rows: std::ops::Range<usize>,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    out.push(b'[');
    let first = rows.start;
    for row in rows {
        if style.is_enough(out) {
            return Ok(());
        }
        if row > first {
            out.push(b',');
        }
        item(row, out)?;
    }
    out.push(b']');
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::builder::{
        FixedSizeListBuilder, Float32Builder, ListBuilder, MapBuilder, StringBuilder,
    };
    use arrow_array::types::{IntervalDayTime, IntervalMonthDayNano};
    use arrow_array::*;
    use arrow_buffer::{ScalarBuffer, i256};
    use arrow_schema::Field;
    use half::f16;

    use super::*;

    /// Every value of the array in both styles; `!` stands for a value without CSV text.
    fn texts(array: &dyn Array) -> (Vec<String>, Vec<String>) {
        let all = |style| {
            let cell = cell(style, array).unwrap();
            (0..array.len())
                .map(|row| {
                    let mut out = Vec::new();
                    match cell(row, &mut out) {
                        Ok(()) => String::from_utf8(out).unwrap(),
                        Err(_) => "!".into(),
                    }
                })
                .collect::<Vec<_>>()
        };
        let json = all(Style::Json);
        for text in &json {
            serde_json::from_str::<serde_json::Value>(text)
                .unwrap_or_else(|e| panic!("{text}: {e}"));
        }
        let csv = if holds(Style::Csv, array.data_type()) {
            all(Style::Csv)
        } else {
            Vec::new()
        };
        (json, csv)
    }

    #[track_caller]
    fn check(array: impl Array, json: &[&str], csv: &[&str]) {
        let (json_got, csv_got) = texts(&array);
        assert_eq!(json_got, json);
        assert_eq!(csv_got, csv);
    }

    #[test]
    fn numbers() {
        check(
            Int64Array::from(vec![Some(i64::MIN), None]),
            &["-9223372036854775808", "null"],
            &["-9223372036854775808", ""],
        );
        check(
            UInt64Array::from(vec![u64::MAX]),
            &["18446744073709551615"],
            &["18446744073709551615"],
        );
        check(
            BooleanArray::from(vec![Some(true), None]),
            &["true", "null"],
            &["true", ""],
        );
        check(
            Float64Array::from(vec![
                0.1,
                -0.0,
                1e300,
                5e-324,
                f64::NAN,
                f64::INFINITY,
                f64::NEG_INFINITY,
            ]),
            &[
                "0.1",
                "-0.0",
                "1e300",
                "5e-324",
                "\"NaN\"",
                "\"Infinity\"",
                "\"-Infinity\"",
            ],
            &[
                "0.1",
                "-0.0",
                "1e300",
                "5e-324",
                "NaN",
                "Infinity",
                "-Infinity",
            ],
        );
        check(
            Float32Array::from(vec![0.1, f32::MAX]),
            &["0.1", "3.4028235e38"],
            &["0.1", "3.4028235e38"],
        );
        check(
            Float16Array::from(vec![f16::from_f32(0.5), f16::NAN, f16::MAX]),
            &["0.5", "\"NaN\"", "65504.0"],
            &["0.5", "NaN", "65504.0"],
        );
        check(NullArray::new(2), &["null", "null"], &["", ""]);
    }

    #[test]
    fn decimals_keep_every_digit() {
        let of = |values: Vec<i128>, scale| {
            Decimal128Array::from(values)
                .with_precision_and_scale(38, scale)
                .unwrap()
        };
        check(
            of(vec![0, 5, -5, 12345, i128::MIN], 2),
            &[
                "\"0.00\"",
                "\"0.05\"",
                "\"-0.05\"",
                "\"123.45\"",
                "\"-1701411834604692317316873037158841057.28\"",
            ],
            &[
                "0.00",
                "0.05",
                "-0.05",
                "123.45",
                "-1701411834604692317316873037158841057.28",
            ],
        );
        check(of(vec![12, 0], 0), &["\"12\"", "\"0\""], &["12", "0"]);
        check(
            of(vec![-12, 0], -3),
            &["\"-12000\"", "\"0\""],
            &["-12000", "0"],
        );
        // More digits than the precision says: nothing is cut.
        let wide = Decimal128Array::from(vec![123_456_i128])
            .with_precision_and_scale(3, 1)
            .unwrap();
        check(wide, &["\"12345.6\""], &["12345.6"]);
        let huge = Decimal256Array::from(vec![i256::MAX])
            .with_precision_and_scale(76, 10)
            .unwrap();
        let (json, _) = texts(&huge);
        assert_eq!(json[0].len(), 77 + 3);
        check(
            Decimal32Array::from(vec![i32::MIN])
                .with_precision_and_scale(9, 9)
                .unwrap(),
            &["\"-2.147483648\""],
            &["-2.147483648"],
        );
        check(
            Decimal64Array::from(vec![i64::MAX])
                .with_precision_and_scale(18, 1)
                .unwrap(),
            &["\"922337203685477580.7\""],
            &["922337203685477580.7"],
        );
    }

    #[test]
    fn texts_and_bytes() {
        check(
            StringArray::from(vec![
                Some("a"),
                Some(""),
                Some("x,\"y\"\n"),
                Some("\u{1b}[1m"),
                None,
            ]),
            &[
                "\"a\"",
                "\"\"",
                "\"x,\\\"y\\\"\\n\"",
                "\"\\u001b[1m\"",
                "null",
            ],
            &["a", "\"\"", "\"x,\"\"y\"\"\n\"", "\u{1b}[1m", ""],
        );
        check(LargeStringArray::from(vec!["é"]), &["\"é\""], &["é"]);
        check(
            StringViewArray::from(vec!["a text that is long enough for a buffer"]),
            &["\"a text that is long enough for a buffer\""],
            &["a text that is long enough for a buffer"],
        );
        check(
            BinaryArray::from(vec![Some(&[0_u8, 255][..]), None, Some(b"")]),
            &["\"AP8=\"", "null", "\"\""],
            &[],
        );
        check(
            LargeBinaryArray::from(vec![&b"abc"[..]]),
            &["\"YWJj\""],
            &[],
        );
        check(BinaryViewArray::from(vec![&b"abc"[..]]), &["\"YWJj\""], &[]);
        check(
            FixedSizeBinaryArray::try_from_iter([[1_u8, 2]].into_iter()).unwrap(),
            &["\"AQI=\""],
            &[],
        );
    }

    #[test]
    fn calendar_values_and_those_outside_of_it() {
        check(
            Date32Array::from(vec![0, 19_000, i32::MAX]),
            &["\"1970-01-01\"", "\"2022-01-08\"", "2147483647"],
            &["1970-01-01", "2022-01-08", "!"],
        );
        check(
            Date64Array::from(vec![0, i64::MIN]),
            &["\"1970-01-01T00:00:00\"", "-9223372036854775808"],
            &["1970-01-01T00:00:00", "!"],
        );
        check(
            Time32SecondArray::from(vec![3_661, -1]),
            &["\"01:01:01\"", "-1"],
            &["01:01:01", "!"],
        );
        check(
            Time64NanosecondArray::from(vec![1, i64::MAX]),
            &["\"00:00:00.000000001\"", "9223372036854775807"],
            &["00:00:00.000000001", "!"],
        );
        check(
            TimestampMicrosecondArray::from(vec![1_500_000, -1, i64::MAX]),
            &[
                "\"1970-01-01T00:00:01.500\"",
                "\"1969-12-31T23:59:59.999999\"",
                "9223372036854775807",
            ],
            &["1970-01-01T00:00:01.500", "1969-12-31T23:59:59.999999", "!"],
        );
        check(
            TimestampSecondArray::from(vec![0]).with_timezone("UTC"),
            &["\"1970-01-01T00:00:00Z\""],
            &["1970-01-01T00:00:00Z"],
        );
        check(
            TimestampMillisecondArray::from(vec![1_700_000_000_000])
                .with_timezone("America/New_York"),
            &["\"2023-11-14T17:13:20-05:00\""],
            &["2023-11-14T17:13:20-05:00"],
        );
        check(
            TimestampSecondArray::from(vec![7]).with_timezone("Nowhere/Else"),
            &["7"],
            &["!"],
        );
        // Offsets with seconds: -00:44:30 in Monrovia until 1972, +00:09:21 in Paris until 1911.
        check(
            TimestampMicrosecondArray::from(vec![0, 63_593_070_000_000])
                .with_timezone("Africa/Monrovia"),
            &["\"1970-01-01T00:00:00Z\"", "\"1972-01-07T00:44:30Z\""],
            &["1970-01-01T00:00:00Z", "1972-01-07T00:44:30Z"],
        );
        check(
            TimestampSecondArray::from(vec![-2_208_988_800, 1_700_000_000])
                .with_timezone("Europe/Paris"),
            &["\"1900-01-01T00:00:00Z\"", "\"2023-11-14T23:13:20+01:00\""],
            &["1900-01-01T00:00:00Z", "2023-11-14T23:13:20+01:00"],
        );
        // The ends of the calendar, moved by an offset: no panic.
        for zone in ["+14:00", "-12:00", "Asia/Tokyo"] {
            let seconds: Vec<i64> = vec![
                8_210_266_876_799,
                -8_334_601_228_800,
                8_210_266_876_800,
                i64::MAX,
                i64::MIN,
            ];
            let (json, _) = texts(&TimestampSecondArray::from(seconds).with_timezone(zone));
            assert_eq!(json.len(), 5);
        }
    }

    #[test]
    fn durations_and_intervals() {
        check(
            DurationSecondArray::from(vec![90, i64::MIN]),
            &["\"PT90S\"", "\"PT-9223372036854775808S\""],
            &["PT90S", "PT-9223372036854775808S"],
        );
        check(
            DurationMillisecondArray::from(vec![-500]),
            &["\"PT-0.5S\""],
            &["PT-0.5S"],
        );
        check(
            DurationNanosecondArray::from(vec![1, i64::MIN]),
            &["\"PT0.000000001S\"", "\"PT-9223372036.854775808S\""],
            &["PT0.000000001S", "PT-9223372036.854775808S"],
        );
        check(
            IntervalYearMonthArray::from(vec![-14]),
            &["\"P-14M\""],
            &["P-14M"],
        );
        check(
            IntervalDayTimeArray::from(vec![IntervalDayTime::new(-2, i32::MIN)]),
            &["\"P-2DT-2147483.648S\""],
            &["P-2DT-2147483.648S"],
        );
        check(
            IntervalMonthDayNanoArray::from(vec![IntervalMonthDayNano::new(1, 2, 1_500_000_000)]),
            &["\"P1M2DT1.5S\""],
            &["P1M2DT1.5S"],
        );
    }

    #[test]
    fn dictionaries_by_value_and_nested_values() {
        let dictionary: DictionaryArray<Int8Type> = vec![Some("b"), None, Some("a"), Some("b")]
            .into_iter()
            .collect();
        check(
            dictionary,
            &["\"b\"", "null", "\"a\"", "\"b\""],
            &["b", "", "a", "b"],
        );
        let empty = DictionaryArray::<Int32Type>::new(
            Int32Array::from(vec![None, None]),
            Arc::new(StringArray::from(Vec::<&str>::new())),
        );
        check(empty, &["null", "null"], &["", ""]);
        let null_value = DictionaryArray::<Int32Type>::new(
            Int32Array::from(vec![0, 1]),
            Arc::new(StringArray::from(vec![None, Some("x")])),
        );
        check(null_value, &["null", "\"x\""], &["", "x"]);

        let mut list = FixedSizeListBuilder::new(Float32Builder::new(), 2);
        list.values().append_slice(&[1.0, f32::NAN]);
        list.append(true);
        list.values().append_nulls(2);
        list.append(false);
        list.values().append_slice(&[3.5, 4.0]);
        list.append(true);
        let list = list.finish();
        check(list.slice(1, 2), &["null", "[3.5,4.0]"], &[]);
        check(list, &["[1.0,\"NaN\"]", "null", "[3.5,4.0]"], &[]);

        let mut list = ListBuilder::new(StringBuilder::new());
        list.append_value([Some("a"), None]);
        list.append_value(Vec::<Option<&str>>::new());
        let list = list.finish();
        check(list.slice(1, 1), &["[]"], &[]);
        check(list, &["[\"a\",null]", "[]"], &[]);
    }

    #[test]
    fn list_views_runs_and_maps() {
        let field = Arc::new(Field::new("item", DataType::Int32, true));
        let items: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(3)]));
        // Items that two rows share, and rows in another order than their items.
        let offsets = ScalarBuffer::from(vec![1, 0, 0, 2]);
        let sizes = ScalarBuffer::from(vec![2, 2, 0, 1]);
        let nulls = Some(vec![true, true, true, false].into());
        let views = ListViewArray::new(field.clone(), offsets, sizes, items.clone(), nulls);
        check(views.slice(1, 2), &["[1,null]", "[]"], &[]);
        check(views, &["[null,3]", "[1,null]", "[]", "null"], &[]);
        let (offsets, sizes) = (vec![2_i64].into(), vec![1_i64].into());
        let views = LargeListViewArray::new(field, offsets, sizes, items, None);
        check(views, &["[3]"], &[]);

        let values = StringArray::from(vec![Some("a"), None, Some("b")]);
        let runs = RunArray::<Int16Type>::try_new(&Int16Array::from(vec![2, 3, 5]), &values);
        let runs = runs.unwrap();
        check(
            runs.slice(1, 3),
            &["\"a\"", "null", "\"b\""],
            &["a", "", "b"],
        );
        check(
            runs,
            &["\"a\"", "\"a\"", "null", "\"b\"", "\"b\""],
            &["a", "a", "", "b", "b"],
        );

        let mut map = MapBuilder::new(None, StringBuilder::new(), Float32Builder::new());
        map.keys().append_value("k");
        map.values().append_value(0.5);
        map.append(true).unwrap();
        map.append(false).unwrap();
        let one = "[{\"keys\":\"k\",\"values\":0.5}]";
        check(map.finish(), &[one, "null"], &[]);
    }

    #[test]
    fn unions_say_what_was_chosen() {
        let fields = UnionFields::try_new(
            [7, 3],
            [
                Field::new("feet", DataType::Int32, true),
                Field::new("met\"res", DataType::Int32, true),
            ],
        );
        let fields = fields.unwrap();
        let child = |values: Vec<Option<i32>>| -> ArrayRef { Arc::new(Int32Array::from(values)) };
        let expected = [
            "{\"feet\":1}",
            "{\"met\\\"res\":1}",
            "{\"feet\":null}",
            "{\"feet\":4}",
        ];
        let ids = ScalarBuffer::from(vec![7_i8, 3, 7, 7]);
        let feet = child(vec![Some(1), Some(9), None, Some(4)]);
        let metres = child(vec![Some(9), Some(1), Some(9), Some(9)]);
        let sparse = UnionArray::try_new(fields.clone(), ids.clone(), None, vec![feet, metres]);
        let sparse = sparse.unwrap();
        check(sparse.slice(1, 2), &expected[1..3], &[]);
        check(sparse, &expected, &[]);
        let offsets = Some(vec![0, 0, 2, 1].into());
        let (feet, metres) = (child(vec![Some(1), Some(4), None]), child(vec![Some(1)]));
        let dense = UnionArray::try_new(fields, ids, offsets, vec![feet, metres]).unwrap();
        check(dense.slice(1, 3), &expected[1..], &[]);
        check(dense, &expected, &[]);
    }
}
