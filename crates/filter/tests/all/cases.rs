//! Cases of single columns.

use std::sync::Arc;

use arrow_array::*;
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Schema};
use tarsia_codec::OwnedPredicate;
use tarsia_filter::{ColumnTest, Expr, Literal, col};

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// A batch of one column `c`.
fn column(array: impl Array + 'static) -> RecordBatch {
    batch(vec![("c", Arc::new(array))])
}

#[track_caller]
fn check(batch: &RecordBatch, expr: Expr, expected: &[usize]) {
    let filter = expr.bind(&batch.schema()).unwrap();
    let rows = filter.matches(batch).unwrap();
    assert_eq!(rows.len(), batch.num_rows());
    let rows: Vec<usize> = rows.set_indices().collect();
    assert_eq!(rows, expected, "{expr}");
}

fn refused(batch: &RecordBatch, expr: Expr) -> String {
    expr.bind(&batch.schema()).unwrap_err().to_string()
}

#[test]
fn numbers_beyond_a_type_have_a_place_among_its_values() {
    let bytes = column(UInt8Array::from(vec![Some(0), None, Some(3), Some(255)]));
    for (expr, expected) in [
        (col("c").lt(300), &[0, 2, 3][..]),
        (col("c").lt_eq(300), &[0, 2, 3]),
        (col("c").gt(300), &[]),
        (col("c").ne(300), &[0, 2, 3]),
        (col("c").eq(300), &[]),
        (col("c").eq(300).not(), &[0, 2, 3]),
        (col("c").gt_eq(-1), &[0, 2, 3]),
        (col("c").gt_eq(-0.5), &[0, 2, 3]),
        (col("c").lt(-0.5), &[]),
        (col("c").eq(3.5), &[]),
        (col("c").gt(2.5), &[2, 3]),
        (col("c").gt(3.5), &[3]),
        (col("c").lt_eq(3.5), &[0, 2]),
        (col("c").is_in([3.5, 3.0, 1e300]), &[2]),
        (col("c").is_in([3.5]).not(), &[0, 2, 3]),
        (col("c").between(2.5, 254.5), &[2]),
        (col("c").lt(f64::INFINITY), &[0, 2, 3]),
        (col("c").gt(f64::NEG_INFINITY), &[0, 2, 3]),
    ] {
        check(&bytes, expr, expected);
    }
}

#[test]
fn nulls_are_unknown_until_the_top() {
    let n = column(Int32Array::from(vec![Some(1), None, Some(2)]));
    let null = Literal::null;
    for (expr, expected) in [
        (col("c").eq(1).not(), &[2][..]),
        (col("c").is_null(), &[1]),
        (col("c").is_not_null(), &[0, 2]),
        (col("c").eq(1).or(col("c").eq(1).not()), &[0, 2]),
        (col("c").eq(1).and(col("c").is_null()).not(), &[0, 2]),
        (col("c").eq(null()), &[]),
        (col("c").eq(null()).not(), &[]),
        (col("c").eq(null()).or(col("c").eq(1)), &[0]),
        (col("c").is_in([Literal::from(1), null()]), &[0]),
        (col("c").is_in([Literal::from(1), null()]).not(), &[]),
        (col("c").is_in([null()]).not(), &[]),
        (Expr::And(vec![]), &[0, 1, 2]),
        (Expr::Or(vec![]), &[]),
        (Expr::Or(vec![]).not(), &[0, 1, 2]),
    ] {
        check(&n, expr, expected);
    }
}

#[test]
fn a_name_of_several_columns_leads_to_none() {
    let number = || Field::new("a", DataType::Int32, true);
    let structs = || Field::new("s", DataType::Struct(vec![number()].into()), true);
    let schema = Schema::new(vec![number(), structs(), number(), structs()]);
    for name in ["a", "s.a", "s"] {
        let error = col(name).eq(1).bind(&schema).unwrap_err().to_string();
        assert!(error.contains("several columns are named"), "{error}");
    }
}

#[test]
fn fields_of_structs() {
    let numbers = Int32Array::from(vec![Some(1), Some(2), None, Some(1)]);
    let field = Field::new("b.x", DataType::Int32, true);
    let nulls = NullBuffer::from(vec![true, true, true, false]);
    let structs = StructArray::new(vec![field].into(), vec![Arc::new(numbers)], Some(nulls));
    let batch = batch(vec![("a", Arc::new(structs))]);
    check(&batch, col("a.b.x").eq(1), &[0]);
    check(&batch, col("a.b.x").ne(1), &[1]);
    check(&batch, col("a.b.x").is_null(), &[2, 3]);
    check(&batch, col("a.b.x").is_not_null(), &[0, 1]);
    assert_eq!(refused(&batch, col("a.b").eq(1)), "no column `a.b`");
    assert!(refused(&batch, col("a").is_null()).contains("is nested (Struct("));
    let conjuncts = col("a.b.x").eq(1).bind(&batch.schema()).unwrap();
    assert_eq!(conjuncts.conjuncts()[0].fields(), [0]);
    assert_eq!(conjuncts.conjuncts()[0].to_string(), "a.b.x = 1");
    let empty = Schema::empty();
    assert!(col("a").eq(1).bind(&empty).is_err());
}

#[test]
fn a_lower_and_an_upper_bound_of_a_column_are_one_conjunct() {
    let numbers = column(Int32Array::from(vec![
        Some(1),
        Some(2),
        None,
        Some(3),
        Some(9),
    ]));
    let both = Expr::And(vec![col("c").gt(1), col("c").lt_eq(3)]);
    let filter = both.bind(&numbers.schema()).unwrap();
    let [conjunct] = filter.conjuncts() else {
        panic!("{:?}", filter.conjuncts());
    };
    assert_eq!(conjunct.to_string(), "c > 1 AND c <= 3");
    check(&numbers, both, &[1, 3]);
    // Two lower bounds, and bounds of two columns, are not.
    let twice = Expr::And(vec![col("c").gt(1), col("c").gt(2)]);
    assert_eq!(twice.bind(&numbers.schema()).unwrap().conjuncts().len(), 2);
    check(&numbers, twice, &[3, 4]);
}

fn asked(batch: &RecordBatch, expr: &Expr, is_strict: bool) -> Option<ColumnTest> {
    let schema = batch.schema();
    let filter = match is_strict {
        true => expr.bind_strict(&schema),
        false => expr.bind(&schema),
    };
    filter.unwrap().conjuncts()[0].column_test(schema.field(0).data_type())
}

#[test]
fn a_conjunct_may_ask_for_a_range_of_numbers_alone() {
    let range =
        |batch: &RecordBatch, expr: &Expr, is_strict: bool| match &*asked(batch, expr, is_strict)
            .unwrap()
            .predicate
        {
            OwnedPredicate::Within(range) => *range,
            other => panic!("{other:?}"),
        };
    let numbers = column(UInt8Array::from(vec![1, 2]));
    let found = range(&numbers, &col("c").lt(7), false);
    assert!(found.contains(0) && found.contains(6) && !found.contains(7));
    let is_negated = |expr: Expr| asked(&numbers, &expr, false).unwrap().is_negated;
    assert!(!is_negated(col("c").lt(7)));
    assert!(is_negated(col("c").ne(7)));
    for other in [
        col("c").is_null(),
        Expr::Or(vec![col("c").eq(1), col("c").gt(2)]),
    ] {
        assert_eq!(asked(&numbers, &other, false), None, "{other}");
    }
    // In a dictionary, its entries are compared.
    let entries: DictionaryArray<types::Int8Type> = vec!["a", "b"].into_iter().collect();
    assert_eq!(asked(&column(entries), &col("c").eq("a"), false), None);
    // NaN lies above all numbers, or among none. Then it is not outside of a range either.
    let floats = column(Float64Array::from(vec![1.0, f64::NAN]));
    let nan = tarsia_bits::float_key(f64::NAN.to_bits()) as i64;
    let above = col("c").gt(1.0);
    let usual = range(&floats, &above, false);
    assert!(usual.contains(nan.into()));
    let strict = range(&floats, &above, true);
    assert!(!strict.contains(nan.into()));
    assert_eq!(asked(&floats, &above.not(), true), None);
}

#[test]
fn a_conjunct_may_ask_for_a_few_values_or_a_prefix() {
    let predicate = |batch: &RecordBatch, expr: Expr| {
        asked(batch, &expr, false).map(|asked| (*asked.predicate).clone())
    };
    let numbers = column(Float64Array::from(vec![1.0, 2.0]));
    let bytes: Vec<u8> = [0.5_f64, 1.0]
        .iter()
        .flat_map(|it| it.to_le_bytes())
        .collect();
    let found = predicate(&numbers, col("c").is_in([1.0, 0.5]));
    assert_eq!(found, Some(OwnedPredicate::InFixed { width: 8, bytes }));
    assert_eq!(predicate(&numbers, col("c").is_in(0..9)), None);
    // Of other types than floating-point numbers, values that are joined by OR are asked for as a list is.
    let texts = column(StringArray::from(vec![
        Some("oak"),
        None,
        Some("elm"),
        Some("ash"),
    ]));
    let elm = Expr::Or(vec![col("c").is_in(["elm"]), col("c").eq("fir")]);
    let either = Expr::Or(vec![col("c").eq("oak"), elm]);
    let listed = predicate(&texts, col("c").is_in(["oak", "elm", "fir"]));
    assert!(listed.is_some());
    assert_eq!(predicate(&texts, either.clone()), listed);
    check(&texts, either.clone(), &[0, 2]);
    check(&texts, either.not(), &[3]);
    let or_null = Expr::Or(vec![col("c").eq("oak"), col("c").eq(Literal::null())]);
    check(&texts, or_null.clone(), &[0]);
    check(&texts, or_null.not(), &[]);
    let either = Expr::Or(vec![col("c").eq(1.0), col("c").eq(0.5)]);
    assert_eq!(predicate(&numbers, either), None);
    let not_in = col("c").is_in([1.0, 0.5]).not();
    assert!(asked(&numbers, &not_in, false).unwrap().is_negated);
    // NaN is neither a member nor none.
    assert_eq!(asked(&numbers, &not_in, true), None);
    // What is no member may equal null.
    let or_null = col("c").is_in([Literal::from(1.0), Literal::null()]);
    assert!(asked(&numbers, &or_null, false).is_some());
    assert_eq!(asked(&numbers, &or_null.not(), false), None);

    let strings: [ArrayRef; 3] = [
        Arc::new(StringArray::from(vec!["oak"])),
        Arc::new(LargeStringArray::from(vec!["oak"])),
        Arc::new(StringViewArray::from(vec!["oak"])),
    ];
    for array in strings {
        let strings = RecordBatch::try_from_iter([("c", array)]).unwrap();
        let of = |texts: &[&str]| OwnedPredicate::in_strings(texts.iter().map(|it| it.as_bytes()));
        let like = |pattern: &str| predicate(&strings, col("c").like(pattern));
        assert_eq!(predicate(&strings, col("c").eq("oak")), of(&["oak"]));
        let found = predicate(&strings, col("c").is_in(["oak", "", "elm"]));
        assert_eq!(found, of(&["", "elm", "oak"]));
        assert_eq!(like("oak"), of(&["oak"]));
        assert_eq!(
            like("oa%"),
            Some(OwnedPredicate::StartsWith(b"oa".to_vec()))
        );
        for other in ["", "%", "%k", "o%k", "o_k", "oa%%k"] {
            assert_eq!(like(other), None, "{other}");
        }
        assert_eq!(predicate(&strings, col("c").lt("oak")), None);
    }
}
