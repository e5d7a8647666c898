//! Zones of the fields of structs: a row is null there where the field is, or a struct around it. What they say is what
//! the rows are, for every type and after erasures; filters find the rows that they find without zones, and those that
//! Arrow's kernels find; lies are found, and no bound of an erased value is left.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, Int64Array,
    RecordBatch, Scalar, StringArray, StructArray,
};
use arrow_buffer::NullBuffer;
use arrow_ord::cmp;
use arrow_schema::{DataType, Field};
use tarsia::filter::{Comparison, Expr, Literal, col};
use tarsia::{
    ColumnOptions, ErasureLevel, File, LAYOUT_KEY, Precision, RowSelection, RowSet, WriteOptions,
};
use tarsia_testkit::arrays::{array, flat_types, profiles};
use tarsia_testkit::effort::some_or_all;
use tarsia_testkit::rng::Rng;

use crate::common::{deterministic, one_column, open, write};
use crate::erasure::{contains_at_any_bit, erased};
use crate::filter::in_order;
use crate::lies::Lies;
use crate::zones::lies_are_found;

fn options() -> WriteOptions {
    deterministic().with_page_bytes(40_000)
}

fn written(batch: &RecordBatch, options: WriteOptions) -> Vec<u8> {
    write(batch.schema(), std::slice::from_ref(batch), options)
}

/// A struct of one field.
fn wrapped(name: &str, array: ArrayRef, is_valid: impl Fn(usize) -> bool) -> ArrayRef {
    let valid: Vec<bool> = (0..array.len()).map(is_valid).collect();
    let nulls = valid.contains(&false).then(|| NullBuffer::from(valid));
    let field = Field::new(name, array.data_type().clone(), true);
    Arc::new(StructArray::new(vec![field].into(), vec![array], nulls))
}

/// A column `x` of structs `b` of structs with a field `a`. Some structs are null: single ones, and long runs.
fn two_levels(values: ArrayRef, seed: usize) -> RecordBatch {
    let n_rows = values.len();
    let run = n_rows / 9 * (seed % 5)..n_rows / 9 * (seed % 5 + 2);
    let inner = match seed % 4 {
        0 => wrapped("a", values, |_| true),
        1 => wrapped("a", values, |row| row % 7 != 2),
        _ => wrapped("a", values, |row| !run.contains(&row)),
    };
    one_column(match seed % 3 {
        0 => wrapped("b", inner, |_| true),
        1 => wrapped("b", inner, |row| row % 11 > 1),
        _ => wrapped("b", inner, |row| row > n_rows / 6),
    })
}

/// Whether each column of a file has a zone map.
fn have_zones(file: &File) -> Vec<bool> {
    let columns = file.inspect().unwrap().columns;
    columns.iter().map(|column| column.zone_bytes > 0).collect()
}

#[test]
fn zones_of_every_type_say_what_rows_are() {
    let n_rows = 6_000;
    let step = some_or_all(7, 1);
    let mut n_with_zones = 0;
    for (number, data_type) in flat_types().iter().enumerate() {
        let profiles = profiles(number as u64).into_iter();
        for (seed, profile) in profiles.enumerate().skip(number % step).step_by(step) {
            let values = array(data_type, n_rows, profile);
            for values in [values.clone(), in_order(values)] {
                let batch = two_levels(values, seed + number);
                for level in [ErasureLevel::Hide, ErasureLevel::Erase] {
                    let options = options().with_erasure(level).with_salt_key([1; 32]);
                    let file = open(&written(&batch, options)).unwrap();
                    file.verify().unwrap();
                    n_with_zones += usize::from(have_zones(&file)[0]);
                    if level == ErasureLevel::Erase {
                        let rows: RowSet = (0..n_rows as u64)
                            .filter(|row| row % 97 < 5 || (1_000..3_500).contains(row))
                            .collect();
                        let bytes = erased(&file, &rows, level);
                        open(&bytes).unwrap().verify().unwrap();
                    }
                }
            }
        }
    }
    assert!(n_with_zones > 100, "{n_with_zones}");
}

/// The field, null where a struct around it is.
fn flattened(batch: &RecordBatch) -> ArrayRef {
    let outer = batch.column(0).as_struct();
    let inner = outer.column(0).as_struct();
    let values = inner.column(0);
    let nulls = NullBuffer::union(outer.nulls(), inner.nulls());
    let is_null: BooleanArray = (0..values.len())
        .map(|row| Some(nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))))
        .collect();
    arrow_select::nullif::nullif(values, &is_null).unwrap()
}

/// The rows that a kernel of Arrow finds.
fn by_kernel(values: &ArrayRef, comparison: Comparison, value: ArrayRef) -> Vec<u64> {
    let value = Scalar::new(value);
    let found = match comparison {
        Comparison::Equal => cmp::eq(values, &value),
        Comparison::NotEqual => cmp::neq(values, &value),
        Comparison::Less => cmp::lt(values, &value),
        Comparison::LessOrEqual => cmp::lt_eq(values, &value),
        Comparison::Greater => cmp::gt(values, &value),
        Comparison::GreaterOrEqual => cmp::gt_eq(values, &value),
    };
    let found = found.unwrap();
    let rows = (0..found.len()).filter(|row| found.is_valid(*row) && found.value(*row));
    rows.map(|row| row as u64).collect()
}

/// Pruned is not pruned is compared by Arrow, of files as they were written and after erasures of rows.
#[test]
fn rows_that_pass_are_those_of_kernels() {
    let comparisons = [
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
    ];
    let types = [
        DataType::Int32,
        DataType::UInt64,
        DataType::Float64,
        DataType::Decimal128(20, 3),
        DataType::Utf8,
        DataType::BinaryView,
        DataType::Boolean,
    ];
    let mut rng = Rng::new(77);
    let (mut n_rejected, mut n_proved) = (0, 0);
    for number in 0..some_or_all(42, 700) {
        let data_type = &types[number % types.len()];
        let n_rows = 5_000;
        let values = in_order(array(
            data_type,
            n_rows,
            *rng.pick(&profiles(number as u64)),
        ));
        let batch = two_levels(values, number);
        let values = flattened(&batch);
        let (level, gone) = match number % 3 {
            0 => (ErasureLevel::Immutable, 0..0),
            1 => (ErasureLevel::Hide, 700..1_900),
            _ => (ErasureLevel::Erase, 700..1_900),
        };
        let files = [true, false].map(|zones| {
            let options = options().with_erasure(level).with_zones(zones);
            let options = options.with_salt_key([4; 32]);
            let file = open(&written(&batch, options)).unwrap();
            match gone.is_empty() {
                true => file,
                false => open(&erased(&file, &gone.clone().collect(), level)).unwrap(),
            }
        });
        for comparison in comparisons {
            let value = values.slice(rng.below(n_rows), 1);
            if value.is_null(0) {
                continue;
            }
            let field = || col("x.b.a");
            let expr = field().compare(comparison, Literal::array(value.clone()));
            let mut compared = by_kernel(&values, comparison, value);
            let nulls: Vec<u64> = (0..n_rows)
                .filter(|row| values.is_null(*row))
                .map(|row| row as u64)
                .collect();
            let others = |rows: &[u64]| -> Vec<u64> {
                let mut others: Vec<u64> = (0..n_rows as u64).collect();
                others.retain(|row| rows.binary_search(row).is_err());
                others
            };
            let mut unknown_or_true = [compared.clone(), nulls.clone()].concat();
            unknown_or_true.sort_unstable();
            let negated = others(&unknown_or_true);
            compared.sort_unstable();
            for (expr, rows) in [
                (expr.clone(), compared),
                (Expr::not(expr), negated),
                (field().is_null(), nulls.clone()),
                (field().is_not_null(), others(&nulls)),
            ] {
                let rows = rows.into_iter().filter(|row| !gone.contains(row));
                let expected = RowSelection::from_rows(rows).unwrap();
                for file in &files {
                    let found = file.scan().filter(expr.clone()).matching_rows().unwrap();
                    assert_eq!(found, expected, "{expr}, {data_type}, {number}");
                }
                let mut scan = files[0].scan().filter(expr).build().unwrap();
                scan.by_ref().for_each(|batch| drop(batch.unwrap()));
                for count in scan.filter_counts() {
                    n_rejected += count.rejected_by_bounds;
                    n_proved += count.passed_by_bounds;
                }
            }
        }
    }
    assert!(
        n_rejected > 50_000 && n_proved > 50_000,
        "{n_rejected}, {n_proved}"
    );
}

/// Which columns have zones: fields below structs alone.
#[test]
fn what_lies_below_lists_has_no_zones() {
    let n_rows = 9_000;
    let numbers = || -> ArrayRef { Arc::new(Int64Array::from_iter_values(0..n_rows)) };
    let has = |array: ArrayRef| have_zones(&open(&written(&one_column(array), options())).unwrap());
    assert_eq!(has(numbers()), [true]);
    assert_eq!(has(wrapped("a", numbers(), |_| true)), [true]);
    let item = Arc::new(Field::new("item", DataType::Int64, true));
    let lists = arrow_array::FixedSizeListArray::new(item, 1, numbers(), None);
    assert_eq!(
        has(wrapped("a", Arc::new(lists.clone()), |_| true)),
        [false]
    );
    let structs = wrapped("a", numbers(), |_| true);
    let item = Arc::new(Field::new("item", structs.data_type().clone(), true));
    let of_structs = arrow_array::FixedSizeListArray::new(item, 1, structs.clone(), None);
    assert_eq!(has(Arc::new(of_structs)), [false]);
    // A dictionary of structs is no struct for a filter.
    let keys = Int32Array::from_iter_values(0..n_rows as i32);
    let dictionary = DictionaryArray::new(keys, structs.clone());
    assert_eq!(has(Arc::new(dictionary)), [false]);
    let packed = Field::new("x", structs.data_type().clone(), true)
        .with_metadata([(LAYOUT_KEY.to_owned(), "packed".to_owned())].into());
    let schema = Arc::new(arrow_schema::Schema::new(vec![packed]));
    let packed = RecordBatch::try_new(schema, vec![structs]).unwrap();
    let file = open(&written(&packed, options())).unwrap();
    assert_eq!(have_zones(&file), [false]);
    assert_eq!(file.scan().filter(col("x.a").lt(7)).count().unwrap(), 7);
    // Options find a column by its name, as others do.
    let pair = StructArray::try_from(vec![("a", numbers()), ("b", numbers())]).unwrap();
    let none = ColumnOptions::new().with_zones(false);
    let options = options().with_column("x.a", none);
    let file = open(&written(&one_column(Arc::new(pair)), options)).unwrap();
    assert_eq!(have_zones(&file), [false, true]);
}

/// Statistics are of top-level fields, and say nothing of what is in them.
#[test]
fn statistics_say_nothing_of_fields_of_structs() {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..9_000));
    let batch = one_column(wrapped("a", numbers, |row| row % 3 > 0));
    let file = open(&written(&batch, options())).unwrap();
    assert_eq!(have_zones(&file), [true]);
    for names in [&["x"], &["x.a"]] {
        let statistics = file.statistics(Some(names)).unwrap();
        let column = &statistics.columns[0];
        assert_eq!(column.nulls, Precision::Absent);
        assert_eq!(column.min, Precision::Absent);
        assert_eq!(column.max, Precision::Absent);
    }
}

/// The smallest and the largest values are at rows that are erased, and structs are null beside them.
#[test]
fn no_bound_of_an_erased_value_is_left() {
    let n_rows = 20_000_i64;
    let planted = |i: i64| i % 2_500 == 77;
    let (low, high) = (-0x7654_3210_1234_5678_i64, 0x7123_4567_89ab_cdef_i64);
    let numbers = (0..n_rows).map(|i| match (planted(i), i % 5_000 < 2_500) {
        (false, _) => i * 1_000,
        (true, true) => low,
        (true, false) => high,
    });
    let texts = (0..n_rows).map(|i| match planted(i) {
        false => format!("name {i:06} of a customer"),
        true => "zz secret of somebody else, high".to_owned(),
    });
    let floats = (0..n_rows).map(|i| match planted(i) {
        false => i as f64 / 3.0,
        true => -9.876_543_210_123_45e77,
    });
    let columns: [(&str, ArrayRef); 3] = [
        ("n", Arc::new(Int64Array::from_iter_values(numbers))),
        ("t", Arc::new(StringArray::from_iter_values(texts))),
        ("f", Arc::new(Float64Array::from_iter_values(floats))),
    ];
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), true))
        .collect();
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    let nulls: Vec<bool> = (0..n_rows).map(|i| i % 9 != 2 || planted(i)).collect();
    let structs = StructArray::new(fields.into(), arrays, Some(nulls.into()));
    let batch = one_column(wrapped("s", Arc::new(structs), |row| {
        row % 13 > 0 || planted(row as i64)
    }));
    let level = ErasureLevel::Erase;
    for strict in [false, true] {
        let options = options().with_erasure(level).with_salt_key([3; 32]);
        let strictly = ColumnOptions::new().with_strict_erasure();
        let options = match strict {
            true => options
                .with_column("x.s.n", strictly.clone())
                .with_column("x.s.f", strictly),
            false => options,
        };
        let file = open(&written(&batch, options)).unwrap();
        assert_eq!(have_zones(&file), [true; 3]);
        let patterns = [
            low.to_le_bytes().to_vec(),
            high.to_le_bytes().to_vec(),
            b"secret".to_vec(),
            (-9.876_543_210_123_45e77_f64).to_le_bytes().to_vec(),
        ];
        let counts = |file: &File| {
            let count = |expr: Expr| file.scan().filter(expr).count().unwrap();
            [
                count(col("x.s.n").lt(0)),
                count(col("x.s.n").gt(n_rows * 1_000)),
                count(col("x.s.t").gt("z")),
                count(col("x.s.f").lt(0.0)),
            ]
        };
        assert_eq!(counts(&file), [4, 4, 8, 8]);
        let rows = (0..n_rows).filter(|i| planted(*i)).map(|i| i as u64);
        let bytes = erased(&file, &rows.collect(), level);
        for pattern in patterns {
            let found = contains_at_any_bit(&bytes, std::slice::from_ref(&pattern));
            assert!(!found, "{pattern:?}");
        }
        let file = open(&bytes).unwrap();
        file.verify().unwrap();
        assert!(file.audit().unwrap().is_clean());
        assert_eq!(counts(&file), [0; 4]);
        let mut scan = file.scan().filter(col("x.s.n").lt(0)).build().unwrap();
        assert!(scan.next().is_none());
        let [count] = &scan.filter_counts()[..] else {
            panic!("one conjunct");
        };
        // The bounds are those of the rows that are left.
        assert_eq!((count.rejected_by_bounds, count.rows), (n_rows as u64, 0));
    }
}

#[test]
fn lies_of_zones_are_found() {
    let numbers = (0..9_000).map(|i| (i % 10 != 3).then_some(i as f64 * 1.5));
    let numbers: ArrayRef = Arc::new(numbers.collect::<Float64Array>());
    let batch = one_column(wrapped("a", numbers, |row| row % 7 > 0));
    let lies = Lies::of_table(&batch, options());
    lies_are_found(&lies, &["x", "a"]);
}

/// Zones go with their column when pages are put into another order, before and after an erasure.
#[test]
fn reordered_files_keep_zones_of_structs() {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..20_000));
    let structs = wrapped("a", numbers.clone(), |row| row % 5 > 0);
    let batch =
        RecordBatch::try_from_iter_with_nullable([("n", numbers, true), ("x", structs, true)]);
    let options = options()
        .with_erasure(ErasureLevel::Erase)
        .with_salt_key([2; 32]);
    let file = open(&written(&batch.unwrap(), options)).unwrap();
    let rows: RowSet = (3_000..9_000).collect();
    let later = open(&erased(&file, &rows, ErasureLevel::Erase)).unwrap();
    for file in [file, later] {
        let mut bytes = Vec::new();
        file.reorder_into(["x", "n"], &mut bytes).unwrap();
        let new = open(&bytes).unwrap();
        new.verify().unwrap();
        assert_eq!(have_zones(&new), [true, true]);
        let counts = |file: &File| {
            let scan = file.scan().filter(col("x.a").between(2_001, 2_400));
            let mut scan = scan.build().unwrap();
            let rows: usize = scan.by_ref().map(|batch| batch.unwrap().num_rows()).sum();
            (rows, scan.filter_counts())
        };
        let found = counts(&new);
        assert_eq!(found, counts(&file));
        assert!(
            found.0 == 320 && found.1[0].rejected_by_bounds > 14_000,
            "{found:?}"
        );
    }
}
