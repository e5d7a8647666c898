//! Random tables and conditions against an evaluation row by row, and against the kernels of Arrow.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::*;
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_ord::cmp;
use arrow_schema::{DataType, Field, TimeUnit};
use proptest::prelude::*;
use tarsia_filter::{Comparison, Expr, Literal, col};

/// A value of any column, in the order in which its column is compared.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Plain {
    Flag(bool),
    /// Whole numbers, unscaled decimals, dates and timestamps.
    Int(i128),
    Float(f64),
    Text(String),
}

fn compare(a: &Plain, b: &Plain) -> Ordering {
    match (a, b) {
        (Plain::Flag(a), Plain::Flag(b)) => a.cmp(b),
        (Plain::Int(a), Plain::Int(b)) => a.cmp(b),
        (Plain::Float(a), Plain::Float(b)) => a.total_cmp(b),
        (Plain::Text(a), Plain::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
        _ => panic!("{a:?} and {b:?} are not of one column"),
    }
}

/// The columns of the tables, and what is in them.
const COLUMNS: [(&str, Sort); 12] = [
    ("flag", Sort::Flag),
    ("int8", Sort::Int(0)),
    ("uint64", Sort::Int(0)),
    ("decimal", Sort::Int(2)),
    ("day", Sort::Int(0)),
    ("instant", Sort::Int(0)),
    ("float", Sort::Float),
    ("text", Sort::Text),
    ("view", Sort::Text),
    ("dictionary", Sort::Text),
    ("runs", Sort::Float),
    ("s.t.x", Sort::Int(0)),
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Sort {
    Flag,
    /// With so many digits behind the point.
    Int(i32),
    Float,
    Text,
}

/// Few values, so that many are equal.
fn values(column: usize) -> BoxedStrategy<Plain> {
    let (name, sort) = COLUMNS[column];
    let whole = |all: &[i128]| {
        prop::sample::select(all.to_vec())
            .prop_map(Plain::Int)
            .boxed()
    };
    match (sort, name) {
        (Sort::Flag, _) => any::<bool>().prop_map(Plain::Flag).boxed(),
        (_, "int8") => whole(&[-128, -1, 0, 1, 2, 127]),
        (_, "uint64") => whole(&[0, 1, 2, 3, u64::MAX as i128]),
        (_, "decimal") => whole(&[-10_i128.pow(30), -1, 0, 149, 150, 10_i128.pow(30) + 1]),
        (Sort::Int(_), _) => whole(&[-2, -1, 0, 1, 32_000]),
        (Sort::Float, _) => prop::sample::select(vec![
            -f64::NAN,
            f64::NEG_INFINITY,
            f64::MIN,
            -1.5,
            -0.0,
            0.0,
            0.1,
            f64::MAX,
            f64::INFINITY,
            f64::NAN,
        ])
        .prop_map(Plain::Float)
        .boxed(),
        (Sort::Text, _) => prop::sample::select(vec!["", "a", "ab", "a%", "ä", "b\\", "Z"])
            .prop_map(|it| Plain::Text(it.into()))
            .boxed(),
    }
}

pub(crate) type Cells = Vec<Option<Plain>>;

/// The column as an Arrow array; of the last one, structs around it.
fn array(column: usize, cells: &Cells) -> ArrayRef {
    let ints = cells.iter().map(|it| match it {
        Some(Plain::Int(it)) => Some(*it),
        _ => None,
    });
    let floats = cells.iter().map(|it| match it {
        Some(Plain::Float(it)) => Some(*it),
        _ => None,
    });
    let texts = cells.iter().map(|it| match it {
        Some(Plain::Text(it)) => Some(it.as_str()),
        _ => None,
    });
    match COLUMNS[column].0 {
        "flag" => Arc::new(
            cells
                .iter()
                .map(|it| match it {
                    Some(Plain::Flag(it)) => Some(*it),
                    _ => None,
                })
                .collect::<BooleanArray>(),
        ),
        "int8" => Arc::new(ints.map(|it| it.map(|it| it as i8)).collect::<Int8Array>()),
        "uint64" => Arc::new(
            ints.map(|it| it.map(|it| it as u64))
                .collect::<UInt64Array>(),
        ),
        "decimal" => {
            let array = ints.collect::<Decimal128Array>();
            Arc::new(array.with_precision_and_scale(38, 2).unwrap())
        }
        "day" => Arc::new(
            ints.map(|it| it.map(|it| it as i32))
                .collect::<Date32Array>(),
        ),
        "instant" => {
            let array = ints
                .map(|it| it.map(|it| it as i64))
                .collect::<TimestampSecondArray>();
            Arc::new(array.with_timezone("Europe/Berlin"))
        }
        "float" => Arc::new(floats.collect::<Float64Array>()),
        "text" => Arc::new(texts.collect::<StringArray>()),
        "view" => Arc::new(texts.collect::<StringViewArray>()),
        "dictionary" => {
            // Nulls are keys and entries, and an entry is not used.
            let mut values = StringDictionaryBuilder::<Int8Type>::new();
            values.append_value("not used");
            texts.for_each(|it| values.append_option(it));
            let dictionary = values.finish().slice(1, cells.len());
            let null_entry = dictionary.values().len() as i8;
            let keys = dictionary.keys().iter().enumerate();
            let keys = keys.map(|(row, key)| key.or((row % 2 == 0).then_some(null_entry)));
            let keys = keys.collect::<Int8Array>();
            let entries = dictionary
                .values()
                .as_any()
                .downcast_ref::<StringArray>()
                .unwrap();
            let entries = entries.iter().chain([None]).collect::<StringArray>();
            Arc::new(DictionaryArray::new(keys, Arc::new(entries)))
        }
        "runs" => runs(&floats.collect::<Vec<_>>()),
        "s.t.x" => {
            // A null is that of the value, of the inner struct or of the outer one.
            let null_at = |place: usize| {
                let valid = cells.iter().enumerate();
                let valid = valid.map(|(row, it)| it.is_some() || row % 3 != place);
                Some(NullBuffer::new(valid.collect::<BooleanBuffer>()))
            };
            let numbers = cells.iter().enumerate().map(|(row, it)| match it {
                Some(Plain::Int(it)) => Some(*it as i16),
                _ => (row % 3 != 0).then_some(1),
            });
            let numbers: ArrayRef = Arc::new(numbers.collect::<Int16Array>());
            let x = Field::new("x", DataType::Int16, true);
            let inner = StructArray::new(vec![x].into(), vec![numbers], null_at(1));
            let t = Field::new("t", inner.data_type().clone(), true);
            Arc::new(StructArray::new(
                vec![t].into(),
                vec![Arc::new(inner)],
                null_at(2),
            ))
        }
        other => panic!("{other}"),
    }
}

/// Runs of equal values, in a slice that begins and ends inside of a run.
fn runs(cells: &[Option<f64>]) -> ArrayRef {
    let bits = |it: &Option<f64>| it.map(f64::to_bits);
    let runs: Vec<_> = cells.chunk_by(|a, b| bits(a) == bits(b)).collect();
    let values: Float64Array = runs.iter().map(|run| run[0]).chain([None]).collect();
    let mut ends: Vec<i32> = runs
        .iter()
        .scan(1, |end, run| {
            *end += run.len() as i32;
            Some(*end)
        })
        .collect();
    // Rows behind the slice: in its last run, and in one of their own.
    let n_rows = cells.len() as i32;
    ends.last_mut().into_iter().for_each(|it| *it += 4);
    ends.push(n_rows + 9);
    let runs = RunArray::<Int32Type>::try_new(&Int32Array::from(ends), &values).unwrap();
    Arc::new(runs.slice(1, cells.len()))
}

#[derive(Debug, Clone)]
pub(crate) enum Tree {
    Compare(usize, Comparison, Plain),
    Between(usize, Plain, Plain),
    In(usize, Vec<Option<Plain>>),
    IsNull(usize),
    Like(usize, String),
    And(Vec<Tree>),
    Or(Vec<Tree>),
    Not(Box<Tree>),
}

const COMPARISONS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
];

fn comparisons() -> impl Strategy<Value = Comparison> {
    prop::sample::select(COMPARISONS.to_vec())
}

pub(crate) fn trees() -> impl Strategy<Value = Tree> {
    let leaf = (0..COLUMNS.len()).prop_flat_map(|column| {
        let like = match COLUMNS[column].1 {
            Sort::Text => "[a%_\\\\ä]{0,3}".prop_map(move |it| Tree::Like(column, it)).boxed(),
            _ => Just(Tree::IsNull(column)).boxed(),
        };
        let members = |n: std::ops::Range<usize>| {
            prop::collection::vec(prop::option::weighted(0.9, values(column)), n)
                .prop_map(move |it| Tree::In(column, it))
        };
        prop_oneof![
            3 => (comparisons(), values(column)).prop_map(move |(op, it)| Tree::Compare(column, op, it)),
            1 => (values(column), values(column)).prop_map(move |(low, high)| Tree::Between(column, low, high)),
            1 => members(0..3),
            1 => members(4..9),
            1 => Just(Tree::IsNull(column)),
            1 => like,
        ]
    });
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Tree::And),
            prop::collection::vec(inner.clone(), 0..4).prop_map(Tree::Or),
            inner.prop_map(|it| Tree::Not(Box::new(it))),
        ]
    })
}

/// The value as a literal: a number, text or, where it has no text, a value of Arrow.
fn literal(column: usize, value: &Plain) -> Literal {
    let one = |value: &Plain| Literal::array(array(column, &vec![Some(value.clone())]));
    match (value, COLUMNS[column].0) {
        (Plain::Flag(it), _) => Literal::from(*it),
        (Plain::Text(it), _) => Literal::from(it.as_str()),
        (Plain::Float(it), _) => Literal::from(*it),
        (Plain::Int(it), "int8" | "uint64" | "s.t.x") => Literal::from(*it),
        (_, _) => one(value),
    }
}

impl Tree {
    pub(crate) fn expr(&self) -> Expr {
        let name = |column: &usize| col(COLUMNS[*column].0);
        match self {
            Tree::Compare(column, op, value) => name(column).compare(*op, literal(*column, value)),
            Tree::Between(column, low, high) => {
                name(column).between(literal(*column, low), literal(*column, high))
            }
            Tree::In(column, all) => name(column).is_in(all.iter().map(|it| match it {
                Some(it) => literal(*column, it),
                None => Literal::null(),
            })),
            Tree::IsNull(column) => name(column).is_null(),
            Tree::Like(column, pattern) => name(column).like(pattern.as_str()),
            Tree::And(all) => Expr::And(all.iter().map(Tree::expr).collect()),
            Tree::Or(all) => Expr::Or(all.iter().map(Tree::expr).collect()),
            Tree::Not(inner) => inner.expr().not(),
        }
    }

    /// True, false or unknown for a row.
    fn truth(&self, table: &[Cells], row: usize) -> Option<bool> {
        let cell = |column: &usize| table[*column][row].as_ref();
        match self {
            Tree::Compare(column, op, value) => Some(holds(*op, compare(cell(column)?, value))),
            Tree::Between(column, low, high) => {
                let cell = cell(column)?;
                Some(compare(cell, low).is_ge() && compare(cell, high).is_le())
            }
            Tree::In(column, all) => {
                let cell = cell(column)?;
                let mut members = all.iter().flatten();
                match members.any(|it| compare(cell, it).is_eq()) {
                    true => Some(true),
                    false if all.contains(&None) => None,
                    false => Some(false),
                }
            }
            Tree::IsNull(column) => Some(cell(column).is_none()),
            Tree::Like(column, pattern) => match cell(column)? {
                Plain::Text(text) => {
                    let [text, pattern] = [text, pattern].map(|it| it.chars().collect::<Vec<_>>());
                    Some(is_like(&text, &pattern))
                }
                other => panic!("{other:?}"),
            },
            Tree::And(all) => {
                let all: Vec<_> = all.iter().map(|it| it.truth(table, row)).collect();
                match all.contains(&Some(false)) {
                    true => Some(false),
                    false => (!all.contains(&None)).then_some(true),
                }
            }
            Tree::Or(all) => {
                let all: Vec<_> = all.iter().map(|it| it.truth(table, row)).collect();
                match all.contains(&Some(true)) {
                    true => Some(true),
                    false => (!all.contains(&None)).then_some(false),
                }
            }
            Tree::Not(inner) => inner.truth(table, row).map(|it| !it),
        }
    }
}

fn holds(op: Comparison, order: Ordering) -> bool {
    match op {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    }
}

/// Tries every length of each `%`.
fn is_like(text: &[char], pattern: &[char]) -> bool {
    match (pattern, text) {
        ([], _) => text.is_empty(),
        (['%', rest @ ..], _) => (0..=text.len()).any(|n| is_like(&text[n..], rest)),
        (['_', rest @ ..], [_, left @ ..]) => is_like(left, rest),
        (['\\', exactly, rest @ ..], [c, left @ ..]) => c == exactly && is_like(left, rest),
        ([exactly, rest @ ..], [c, left @ ..]) => c == exactly && is_like(left, rest),
        (_, []) => false,
    }
}

pub(crate) fn tables() -> impl Strategy<Value = Vec<Cells>> {
    (0_usize..24).prop_flat_map(|n_rows| {
        let cells = |column| prop::option::weighted(0.8, values(column));
        let columns = (0..COLUMNS.len()).map(|it| prop::collection::vec(cells(it), n_rows));
        columns.collect::<Vec<_>>()
    })
}

pub(crate) fn batch(table: &[Cells]) -> RecordBatch {
    let columns = table.iter().enumerate().map(|(column, cells)| {
        let (name, _) = COLUMNS[column];
        let top = name.split_once('.').map_or(name, |(top, _)| top);
        (top, array(column, cells), true)
    });
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

fn rows(expr: &Expr, batch: &RecordBatch) -> Vec<usize> {
    let filter = expr.bind(&batch.schema()).unwrap();
    filter.matches(batch).unwrap().set_indices().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn rows_are_those_of_an_evaluation_row_by_row(table in tables(), tree in trees(), skipped in 0_usize..4) {
        let batch = batch(&table);
        let expr = tree.expr();
        let expected: Vec<usize> =
            (0..batch.num_rows()).filter(|row| tree.truth(&table, *row) == Some(true)).collect();
        prop_assert_eq!(rows(&expr, &batch), expected.clone(), "{}", expr);
        // The same rows of a part of the batch.
        let skipped = skipped.min(batch.num_rows());
        let part = batch.slice(skipped, batch.num_rows() - skipped);
        let expected: Vec<usize> =
            expected.into_iter().filter(|row| *row >= skipped).map(|row| row - skipped).collect();
        prop_assert_eq!(rows(&expr, &part), expected, "{} of a part", expr);
    }

    #[test]
    fn single_comparisons_are_those_of_arrow(
        table in tables(),
        column in 0..COLUMNS.len() - 1,
        op in comparisons(),
        seed in 0_usize..6,
    ) {
        let batch = batch(&table);
        let Some(value) = table[column].iter().flatten().nth(seed) else { return Ok(()) };
        let one = Scalar::new(array(column, &vec![Some(value.clone())]));
        let array = batch.column(column);
        let kernel = match op {
            Comparison::Equal => cmp::eq(array, &one),
            Comparison::NotEqual => cmp::neq(array, &one),
            Comparison::Less => cmp::lt(array, &one),
            Comparison::LessOrEqual => cmp::lt_eq(array, &one),
            Comparison::Greater => cmp::gt(array, &one),
            Comparison::GreaterOrEqual => cmp::gt_eq(array, &one),
        };
        let expected: Vec<usize> = kernel.unwrap().iter().enumerate()
            .filter(|(_, it)| *it == Some(true)).map(|(row, _)| row).collect();
        for literal in [literal(column, value), Literal::array(one.into_inner())] {
            let expr = col(COLUMNS[column].0).compare(op, literal);
            prop_assert_eq!(rows(&expr, &batch), expected.clone(), "{}", expr);
        }
    }

    /// A number has a place among the values of a type, whether or not the type holds it.
    #[test]
    fn numbers_of_any_size_are_compared_as_numbers(
        value in any::<i32>(),
        digits in any::<i64>(),
        shift in 0_u32..12,
        op in comparisons(),
    ) {
        let literal: Literal = Literal::array(Arc::new(
            Decimal128Array::from(vec![i128::from(digits)])
                .with_precision_and_scale(38, shift as i8)
                .unwrap(),
        ));
        let scaled = |value: i128| value * 10_i128.pow(shift);
        let expected = holds(op, scaled(value.into()).cmp(&i128::from(digits)));
        let decimal = Decimal64Array::from(vec![i64::from(value) * 100])
            .with_precision_and_scale(18, 2)
            .unwrap();
        let arrays: [ArrayRef; 3] = [
            Arc::new(Int32Array::from(vec![value])),
            Arc::new(Int64Array::from(vec![i64::from(value)])),
            Arc::new(decimal),
        ];
        for array in arrays {
            let batch = RecordBatch::try_from_iter([("c", array)]).unwrap();
            let found = rows(&col("c").compare(op, literal.clone()), &batch);
            prop_assert_eq!(found.len(), usize::from(expected));
        }
    }

    #[test]
    fn points_in_time_of_other_units_are_compared_as_such(
        value in -3_i64..4,
        other in -4_000_i64..4_000,
        op in comparisons(),
    ) {
        let array: ArrayRef = Arc::new(TimestampSecondArray::from(vec![value]));
        let literal: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![other]));
        let batch = RecordBatch::try_from_iter([("c", array)]).unwrap();
        let found = rows(&col("c").compare(op, Literal::array(literal)), &batch);
        prop_assert_eq!(found.len(), usize::from(holds(op, (value * 1_000).cmp(&other))));
    }

    #[test]
    fn patterns_are_those_of_a_naive_matcher(text in "[ab%_\\\\ä]{0,8}", pattern in "[ab%_\\\\ä]{0,6}") {
        let [characters, ones] = [&text, &pattern].map(|it| it.chars().collect::<Vec<_>>());
        let array: ArrayRef = Arc::new(StringArray::from(vec![text.as_str()]));
        let batch = RecordBatch::try_from_iter([("c", array)]).unwrap();
        let found = rows(&col("c").like(pattern.as_str()), &batch);
        prop_assert_eq!(found.len(), usize::from(is_like(&characters, &ones)), "{} {}", text, pattern);
    }
}

#[test]
fn floats_beyond_the_largest_have_a_place_below_infinity() {
    let floats: ArrayRef = Arc::new(Float32Array::from(vec![
        -f32::NAN,
        f32::NEG_INFINITY,
        f32::MIN,
        f32::MAX,
        f32::INFINITY,
        f32::NAN,
    ]));
    let batch = RecordBatch::try_from_iter([("c", floats)]).unwrap();
    for (op, above, below) in [
        (Comparison::Equal, vec![], vec![]),
        (
            Comparison::NotEqual,
            vec![0, 1, 2, 3, 4, 5],
            vec![0, 1, 2, 3, 4, 5],
        ),
        (Comparison::Less, vec![0, 1, 2, 3], vec![0, 1]),
        (Comparison::LessOrEqual, vec![0, 1, 2, 3], vec![0, 1]),
        (Comparison::Greater, vec![4, 5], vec![2, 3, 4, 5]),
        (Comparison::GreaterOrEqual, vec![4, 5], vec![2, 3, 4, 5]),
    ] {
        assert_eq!(rows(&col("c").compare(op, 1e39), &batch), above, "{op:?}");
        assert_eq!(rows(&col("c").compare(op, -1e39), &batch), below, "{op:?}");
    }
    // The nearest value is the largest one, not infinity.
    assert_eq!(rows(&col("c").eq(3.402_823_5e38), &batch), [3]);
}

#[test]
fn durations_and_intervals_are_compared_with_values_of_arrow() {
    let seconds: ArrayRef = Arc::new(DurationSecondArray::from(vec![Some(1), None, Some(2)]));
    let batch = RecordBatch::try_from_iter_with_nullable([("c", seconds, true)]).unwrap();
    let millis: ArrayRef = Arc::new(DurationMillisecondArray::from(vec![1_500]));
    assert_eq!(rows(&col("c").lt(Literal::array(millis)), &batch), [0]);
    assert!(col("c").lt("PT1S").bind(&batch.schema()).is_err());
    let months: ArrayRef = Arc::new(IntervalYearMonthArray::from(vec![1, 2, 1]));
    let one = Literal::array(months.slice(0, 1));
    let batch = RecordBatch::try_from_iter([("c", months)]).unwrap();
    assert_eq!(rows(&col("c").eq(one), &batch), [0, 2]);
    let time: ArrayRef = Arc::new(Time64NanosecondArray::from(vec![1_000_000_000, 1]));
    let batch = RecordBatch::try_from_iter([("c", time)]).unwrap();
    let second: ArrayRef = Arc::new(Time32SecondArray::from(vec![1]));
    assert_eq!(rows(&col("c").eq(Literal::array(second)), &batch), [0]);
    let unit = DataType::Time64(TimeUnit::Nanosecond);
    assert_eq!(batch.schema().field(0).data_type(), &unit);
}
