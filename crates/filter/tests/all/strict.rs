//! Conditions that are bound strictly: cases, and a comparison with a naive evaluation.

use std::cmp::Ordering;
use std::fmt::Write;
use std::sync::Arc;

use arrow_array::types::{Float16Type, Int8Type, Int32Type};
use arrow_array::*;
use arrow_buffer::{IntervalMonthDayNano, i256};
use arrow_schema::{DataType, Field};
use half::f16;
use proptest::prelude::*;

use tarsia_filter::{Expr, FilterError};

/// The rows of the batch that pass the tests, or the error.
fn rows(batch: &RecordBatch, condition: &str) -> Result<Vec<usize>, String> {
    let expr: Expr = condition
        .parse()
        .map_err(|it: FilterError| it.to_string())?;
    let filter = expr
        .bind_strict(&batch.schema())
        .map_err(|it| it.to_string())?;
    let matches = filter.matches(batch).map_err(|it| it.to_string())?;
    assert_eq!(matches.len(), batch.num_rows());
    Ok(matches.set_indices().collect())
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// A batch of one column `c`.
fn column(array: impl Array + 'static) -> RecordBatch {
    batch(vec![("c", Arc::new(array))])
}

#[track_caller]
fn check(batch: &RecordBatch, cases: &[(&str, &[usize])]) {
    for (condition, expected) in cases {
        assert_eq!(
            rows(batch, condition).as_deref(),
            Ok(*expected),
            "{condition}"
        );
    }
}

#[track_caller]
fn refused(batch: &RecordBatch, literals: &[&str]) {
    let data_type = batch.schema().field(0).data_type().clone();
    for literal in literals {
        for (start, end) in [("c = ", ""), ("c IN (", ")"), ("c BETWEEN ", " AND ")] {
            let end = if end == " AND " {
                format!(" AND {literal}")
            } else {
                end.into()
            };
            let found = rows(batch, &format!("{start}{literal}{end}")).unwrap_err();
            let what = format!(
                "character {}: column `c` has the type {data_type}, which does not hold {literal}",
                start.len() + 1
            );
            assert!(found.starts_with(&what), "{found}");
        }
    }
}

#[test]
fn whole_numbers_are_exact() {
    let bytes = column(UInt8Array::from(vec![Some(0), None, Some(3), Some(255)]));
    check(
        &bytes,
        &[
            ("c = 3", &[2]),
            ("c = 3.0", &[2]),
            ("c = 0.3e1", &[2]),
            ("c = -0", &[0]),
            ("c IN (255, 0, 7)", &[0, 3]),
            ("c BETWEEN 0 AND 3", &[0, 2]),
            ("c = 4", &[]),
            ("c IS NULL", &[1]),
            ("c IS NOT NULL", &[0, 2, 3]),
            ("c IS NOT NULL AND c = 3 AND c BETWEEN 1 AND 9", &[2]),
        ],
    );
    refused(
        &bytes,
        &["3.5", "300", "-1", "'3'", "true", "X'03'", "1e99"],
    );
    assert_eq!(
        rows(&bytes, "c BETWEEN 5 AND 3"),
        Err("character 11: 5 is above 3, so no row is between them".into())
    );
    assert_eq!(
        rows(&bytes, "c = 1 AND d = 1"),
        Err("character 11: no column `d`".into())
    );
    let large = column(UInt64Array::from(vec![u64::MAX, u64::MAX - 1]));
    check(&large, &[("c = 18446744073709551615", &[0])]);
    refused(&large, &["18446744073709551616"]);
    let small = column(Int64Array::from(vec![i64::MIN]));
    check(&small, &[("c = -9223372036854775808", &[0])]);
    refused(&small, &["9223372036854775808", "-9223372036854775809"]);
}

#[test]
fn floats_are_the_nearest_and_zeros_are_equal() {
    let floats = column(Float64Array::from(vec![
        Some(0.1),
        Some(-0.0),
        Some(0.0),
        None,
        Some(f64::NAN),
        Some(-f64::NAN),
        Some(1e23),
        Some(f64::INFINITY),
    ]));
    check(
        &floats,
        &[
            ("c = 0.1", &[0]),
            ("c = 0", &[1, 2]),
            ("c = -0.0", &[1, 2]),
            ("c IN (0, 0.1)", &[0, 1, 2]),
            ("c BETWEEN 0 AND 1", &[0, 1, 2]),
            ("c BETWEEN -1 AND -0.0", &[1, 2]),
            ("c BETWEEN -1e308 AND 1e308", &[0, 1, 2, 6]),
            ("c = 1e23", &[6]),
            ("c IS NOT NULL", &[0, 1, 2, 4, 5, 6, 7]),
        ],
    );
    refused(&floats, &["9007199254740993", "1e400", "'0.1'"]);
    let single = column(Float32Array::from(vec![0.1, 16_777_216.0]));
    check(&single, &[("c = 0.1", &[0]), ("c = 16777216", &[1])]);
    refused(&single, &["16777217", "1e39"]);
    let half = [f16::from_f32(0.1), f16::NEG_ZERO, f16::from_f32(2048.0)];
    let half = column(PrimitiveArray::<Float16Type>::from_iter_values(half));
    check(
        &half,
        &[("c = 0.1", &[0]), ("c = 0", &[1]), ("c = 2048", &[2])],
    );
    refused(&half, &["2049", "65536"]);
}

#[test]
fn decimals_have_every_digit() {
    let decimals = Decimal128Array::from(vec![1_250, -1])
        .with_precision_and_scale(5, 2)
        .unwrap();
    let decimals = column(decimals);
    check(
        &decimals,
        &[
            ("c = 12.5", &[0]),
            ("c = 12.500", &[0]),
            ("c = -0.01", &[1]),
            ("c = 12", &[]),
        ],
    );
    refused(&decimals, &["12.505", "1000", "'12.5'"]);
    let scaled = Decimal32Array::from(vec![12])
        .with_precision_and_scale(3, -2)
        .unwrap();
    check(&column(scaled.clone()), &[("c = 1200", &[0])]);
    refused(&column(scaled), &["1250"]);
    let nines = i256::from_string(&"9".repeat(76)).unwrap();
    let wide = Decimal256Array::from(vec![nines])
        .with_precision_and_scale(76, 0)
        .unwrap();
    let condition = format!("c = {}", "9".repeat(76));
    assert_eq!(rows(&column(wide), &condition), Ok(vec![0]));
    let long = Decimal64Array::from(vec![7])
        .with_precision_and_scale(18, 18)
        .unwrap();
    check(&column(long), &[("c = 7e-18", &[0])]);
}

#[test]
fn text_and_bytes_are_compared_byte_by_byte() {
    let text = [Some("oak"), Some(""), None, Some("Oak"), Some("it's")];
    let cases: [(&str, &[usize]); 5] = [
        ("c = 'oak'", &[0]),
        ("c = ''", &[1]),
        ("c IN ('it''s', 'Oak', 'elm')", &[3, 4]),
        ("c BETWEEN 'a' AND 'p'", &[0, 4]),
        ("c IS NULL", &[2]),
    ];
    let strings = StringArray::from_iter(text);
    for data_type in [
        DataType::Utf8,
        DataType::LargeUtf8,
        DataType::Utf8View,
        DataType::Dictionary(Box::new(DataType::Int16), Box::new(DataType::Utf8View)),
        DataType::Dictionary(Box::new(DataType::UInt8), Box::new(DataType::Utf8)),
    ] {
        let array = arrow_cast::cast(&strings, &data_type).unwrap();
        let batch = batch(vec![("c", array)]);
        check(&batch, &cases);
        refused(&batch, &["1", "true", "X'00'"]);
    }
    let bytes = BinaryArray::from_opt_vec(vec![Some(b"\x0a\xff"), None, Some(b"")]);
    for data_type in [
        DataType::Binary,
        DataType::LargeBinary,
        DataType::BinaryView,
    ] {
        let array = arrow_cast::cast(&bytes, &data_type).unwrap();
        let batch = batch(vec![("c", array)]);
        check(&batch, &[("c = X'0aff'", &[0]), ("c IN (x'')", &[2])]);
        refused(&batch, &["'a'"]);
    }
    let ids = FixedSizeBinaryArray::try_from_iter([[1_u8, 2], [3, 4]].iter()).unwrap();
    check(&column(ids.clone()), &[("c = X'0304'", &[1])]);
    refused(&column(ids), &["X'03'", "X'030405'"]);
}

#[test]
fn dictionaries_with_null_values_and_runs() {
    let values = Int32Array::from(vec![Some(5), None, Some(5)]);
    let keys = Int8Array::from(vec![Some(0), Some(1), None, Some(2)]);
    let dictionary = DictionaryArray::<Int8Type>::new(keys, Arc::new(values));
    check(
        &column(dictionary),
        &[
            ("c = 5", &[0, 3]),
            ("c IN (5)", &[0, 3]),
            ("c IS NULL", &[1, 2]),
        ],
    );
    let ends = Int32Array::from(vec![2, 3]);
    let values = Float64Array::from(vec![Some(-0.0), None]);
    let runs = column(RunArray::<Int32Type>::try_new(&ends, &values).unwrap());
    check(
        &runs,
        &[
            ("c = 0", &[0, 1]),
            ("c IS NULL", &[2]),
            ("c IS NOT NULL", &[0, 1]),
        ],
    );
}

#[test]
fn dates_times_and_timestamps_are_exact() {
    let day = 20_484;
    let date = column(Date32Array::from(vec![day]));
    check(&date, &[("c = '2026-01-31'", &[0])]);
    refused(
        &date,
        &[
            "'2026-01-31T00:00:00'",
            "'2026-02-30'",
            "'31.1.2026'",
            "20484",
        ],
    );
    let millis = column(Date64Array::from(vec![i64::from(day) * 86_400_000, 1]));
    check(
        &millis,
        &[
            ("c = '2026-01-31'", &[0]),
            ("c = '1970-01-01T00:00:00.001'", &[1]),
        ],
    );
    let seconds = column(Time32SecondArray::from(vec![86_399]));
    check(
        &seconds,
        &[("c = '23:59:59'", &[0]), ("c = '23:59:59.000'", &[0])],
    );
    refused(
        &seconds,
        &["'24:00:00'", "'23:59:59.5'", "'23:59'", "'23:59:59Z'"],
    );
    check(
        &column(Time64NanosecondArray::from(vec![1])),
        &[("c = '00:00:00.000000001'", &[0])],
    );
    check(
        &column(Time64MicrosecondArray::from(vec![1])),
        &[("c = '00:00:00.000001'", &[0])],
    );
    check(
        &column(Time32MillisecondArray::from(vec![1])),
        &[("c = '00:00:00.001'", &[0])],
    );
    let local = column(TimestampMicrosecondArray::from(vec![
        1_500_000,
        86_400_000_000,
    ]));
    check(
        &local,
        &[
            ("c = '1970-01-01 00:00:01.5'", &[0]),
            ("c = '1970-01-02'", &[1]),
        ],
    );
    refused(
        &local,
        &[
            "'1970-01-01T00:00:01.5Z'",
            "'1970-01-01T00:00:01.0000005'",
            "'yesterday'",
        ],
    );
    for (zone, same) in [
        ("UTC", "'1970-01-01T02:00:00'"),
        ("+02:00", "'1970-01-01T04:00:00'"),
        ("Europe/Berlin", "'1970-01-01T03:00:00'"),
    ] {
        let array = TimestampSecondArray::from(vec![0, 7_200]).with_timezone(zone);
        let zoned = column(array);
        let same = format!("c = {same}");
        check(
            &zoned,
            &[
                ("c = '1970-01-01T00:00:00Z'", &[0]),
                ("c = '1970-01-01T04:00:00+02:00'", &[1]),
                (&same, &[1]),
            ],
        );
        refused(&zoned, &["'1970-01-01T00:00:00.5Z'", "'1970-13-01'"]);
    }
    // Neither of the two hours is meant more than the other.
    let berlin = column(TimestampSecondArray::from(vec![0]).with_timezone("Europe/Berlin"));
    refused(&berlin, &["'2025-10-26T02:30:00'", "'2025-03-30T02:30:00'"]);
}

#[test]
fn other_types_are_tested_for_null_alone() {
    let durations = column(DurationSecondArray::from(vec![Some(1), None]));
    check(&durations, &[("c IS NULL", &[1])]);
    refused(&durations, &["1", "'1s'"]);
    let interval = IntervalMonthDayNano::new(1, 2, 3);
    check(
        &column(IntervalMonthDayNanoArray::from(vec![interval])),
        &[("c IS NOT NULL", &[0])],
    );
    let nulls = column(NullArray::new(2));
    check(&nulls, &[("c IS NULL", &[0, 1]), ("c IS NOT NULL", &[])]);
    refused(&nulls, &["1"]);
    let flags = column(BooleanArray::from(vec![Some(true), None, Some(false)]));
    check(
        &flags,
        &[
            ("c = TRUE", &[0]),
            ("c IN (false)", &[2]),
            ("c BETWEEN false AND true", &[0, 2]),
        ],
    );
    refused(&flags, &["1", "'true'"]);
    let fields = vec![Field::new("a", DataType::Int8, true)];
    let nested = column(StructArray::new_null(fields.into(), 1));
    for condition in ["c IS NULL", "c = 1"] {
        let found = rows(&nested, condition).unwrap_err();
        assert!(
            found.starts_with("character 1: column `c` is nested (Struct("),
            "{found}"
        );
    }
}

/// A value of any column, or of a literal.
#[derive(Debug, Clone, PartialEq)]
enum Plain {
    Int(i64),
    Float(f64),
    Text(String),
    Flag(bool),
}

impl Plain {
    /// As SQL compares: zeros are equal, and what is not a number is like nothing.
    fn compare(&self, other: &Plain) -> Option<Ordering> {
        match (self, other) {
            (Plain::Int(a), Plain::Int(b)) => Some(a.cmp(b)),
            (Plain::Float(a), Plain::Float(b)) => a.partial_cmp(b),
            (Plain::Text(a), Plain::Text(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
            (Plain::Flag(a), Plain::Flag(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }

    fn literal(&self) -> String {
        match self {
            Plain::Int(n) => n.to_string(),
            Plain::Float(n) => format!("{n:?}"),
            Plain::Text(text) => format!("'{}'", text.replace('\'', "''")),
            Plain::Flag(flag) => flag.to_string().to_uppercase(),
        }
    }
}

const COLUMNS: [&str; 5] = ["int", "float", "Text, \"quoted\"", "dictionary", "and"];

/// Few values, so that many are equal; all but what is not a number can be literals.
fn values(column: usize) -> BoxedStrategy<Plain> {
    match column {
        0 => (-3_i64..4).prop_map(Plain::Int).boxed(),
        1 => {
            let floats = vec![-0.0, 0.0, 0.1, -1.5, 1e300, f64::MIN_POSITIVE];
            prop::sample::select(floats).prop_map(Plain::Float).boxed()
        }
        2 | 3 => {
            let texts = vec!["", "a", "it's", "ä", "a b", "Z"];
            prop::sample::select(texts)
                .prop_map(|it| Plain::Text(it.into()))
                .boxed()
        }
        _ => any::<bool>().prop_map(Plain::Flag).boxed(),
    }
}

fn cells(column: usize) -> BoxedStrategy<Option<Plain>> {
    let odd = [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(Plain::Float);
    let odd = prop::sample::select(odd.to_vec()).prop_map(Some);
    let plain = prop::option::weighted(0.8, values(column));
    match column {
        1 => prop_oneof![4 => plain, 1 => odd].boxed(),
        _ => plain.boxed(),
    }
}

#[derive(Debug, Clone)]
enum Op {
    Equal(Plain),
    In(Vec<Plain>),
    Between(Plain, Plain),
    IsNull(bool),
}

fn ops() -> impl Strategy<Value = (usize, Op)> {
    (0..COLUMNS.len()).prop_flat_map(|column| {
        let op = prop_oneof![
            values(column).prop_map(Op::Equal),
            prop::collection::vec(values(column), 1..4).prop_map(Op::In),
            (values(column), values(column)).prop_map(|(a, b)| match a.compare(&b) {
                Some(Ordering::Greater) => Op::Between(b, a),
                _ => Op::Between(a, b),
            }),
            any::<bool>().prop_map(Op::IsNull),
        ];
        (Just(column), op)
    })
}

impl Op {
    fn write(&self, out: &mut String) {
        match self {
            Op::Equal(value) => write!(out, "={}", value.literal()),
            Op::In(values) => {
                let all: Vec<_> = values.iter().map(Plain::literal).collect();
                write!(out, " In({})", all.join(" , "))
            }
            Op::Between(low, high) => {
                write!(out, " between {} AND {}", low.literal(), high.literal())
            }
            Op::IsNull(is_null) => write!(out, " is {} null", if *is_null { "" } else { "NOT" }),
        }
        .unwrap();
    }

    fn passes(&self, cell: Option<&Plain>) -> bool {
        use Ordering::{Equal, Greater, Less};
        let Some(cell) = cell else {
            return matches!(self, Op::IsNull(true));
        };
        let is = |other: &Plain, wanted: &[Ordering]| {
            cell.compare(other).is_some_and(|it| wanted.contains(&it))
        };
        match self {
            Op::Equal(value) => is(value, &[Equal]),
            Op::In(values) => values.iter().any(|value| is(value, &[Equal])),
            Op::Between(low, high) => is(low, &[Equal, Greater]) && is(high, &[Equal, Less]),
            Op::IsNull(is_null) => !is_null,
        }
    }
}

fn array(column: usize, cells: &[Option<Plain>]) -> ArrayRef {
    let cells = cells.iter();
    match column {
        0 => Arc::new(
            cells
                .map(|it| match it {
                    Some(Plain::Int(n)) => Some(*n as i16),
                    _ => None,
                })
                .collect::<Int16Array>(),
        ),
        1 => Arc::new(
            cells
                .map(|it| match it {
                    Some(Plain::Float(n)) => Some(*n),
                    _ => None,
                })
                .collect::<Float64Array>(),
        ),
        2 | 3 => {
            let texts: StringArray = cells
                .map(|it| match it {
                    Some(Plain::Text(text)) => Some(text),
                    _ => None,
                })
                .collect();
            match column {
                2 => Arc::new(texts),
                _ => {
                    let keys = Box::new(DataType::UInt8);
                    arrow_cast::cast(
                        &texts,
                        &DataType::Dictionary(keys, Box::new(DataType::Utf8)),
                    )
                    .unwrap()
                }
            }
        }
        _ => Arc::new(
            cells
                .map(|it| match it {
                    Some(Plain::Flag(flag)) => Some(*flag),
                    _ => None,
                })
                .collect::<BooleanArray>(),
        ),
    }
}

fn tables() -> impl Strategy<Value = Vec<Vec<Option<Plain>>>> {
    (0_usize..20).prop_flat_map(|n_rows| {
        let columns = (0..COLUMNS.len()).map(|column| prop::collection::vec(cells(column), n_rows));
        columns.collect::<Vec<_>>()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_rows_are_those_of_a_naive_evaluation(
        table in tables(),
        terms in prop::collection::vec(ops(), 1..4),
    ) {
        let mut condition = String::new();
        for (i, (column, op)) in terms.iter().enumerate() {
            condition.push_str(if i == 0 { "" } else { " aNd " });
            write!(condition, "\"{}\"", COLUMNS[*column].replace('"', "\"\"")).unwrap();
            op.write(&mut condition);
        }
        let arrays = table.iter().enumerate().map(|(i, cells)| (COLUMNS[i], array(i, cells)));
        let batch = batch(arrays.collect());
        let expected: Vec<usize> = (0..batch.num_rows())
            .filter(|row| terms.iter().all(|(column, op)| op.passes(table[*column][*row].as_ref())))
            .collect();
        prop_assert_eq!(rows(&batch, &condition), Ok(expected), "{}", condition);
    }
}
