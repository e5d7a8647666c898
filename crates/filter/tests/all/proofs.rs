//! Proofs by bounds against the rows that pass, for the random tables and conditions of the laws.

use arrow_array::cast::AsArray;
use arrow_array::*;
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_cast::cast;
use arrow_ord::sort::sort;
use arrow_schema::DataType;
use arrow_select::concat::concat;
use arrow_select::take::take;
use proptest::prelude::*;
use tarsia_filter::{ColumnBounds, Conjunct, Expr, KeyRuns, Proof, col};

use crate::laws::{batch, tables, trees};

/// The values of an array, whatever stands for them.
fn plain(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Dictionary(_, values) => cast(array, values).unwrap(),
        DataType::RunEndEncoded(_, values) => cast(array, values.data_type()).unwrap(),
        _ => array.clone(),
    }
}

/// The smallest and the largest value of a run that are neither null nor NaN, as arrays of one value or null.
fn ends(run: &ArrayRef) -> [ArrayRef; 2] {
    let sorted = sort(run, None).unwrap();
    let is_value = |i: &usize| sorted.is_valid(*i) && !is_nan(&sorted, *i);
    let first = (0..sorted.len()).find(is_value);
    let last = (0..sorted.len()).rev().find(is_value);
    let none = new_null_array(run.data_type(), 1);
    [first, last].map(|at| at.map_or(none.clone(), |at| sorted.slice(at, 1)))
}

fn is_nan(array: &ArrayRef, i: usize) -> bool {
    match array.data_type() {
        DataType::Float64 => array.as_primitive::<types::Float64Type>().value(i).is_nan(),
        DataType::Float32 => array.as_primitive::<types::Float32Type>().value(i).is_nan(),
        DataType::Float16 => array.as_primitive::<types::Float16Type>().value(i).is_nan(),
        _ => false,
    }
}

/// Cuts a text to its first characters, if it has more.
fn cut(bound: &ArrayRef, n: usize) -> (ArrayRef, bool) {
    let Some(text) = bound.as_string_opt::<i32>().filter(|text| text.is_valid(0)) else {
        return (bound.clone(), false);
    };
    let text = text.value(0);
    let cut: String = text.chars().take(n).collect();
    let is_cut = cut.len() < text.len();
    (std::sync::Arc::new(StringArray::from(vec![cut])), is_cut)
}

/// Runs of rows that say of each value whether they hold it.
#[derive(Debug)]
struct Held(Vec<ArrayRef>);

impl KeyRuns for Held {
    fn that_may_hold(&self, values: &ArrayRef, at: usize) -> Option<BooleanBuffer> {
        let value = Scalar::new(values.slice(at, 1));
        let holds = |run: &ArrayRef| arrow_ord::cmp::eq(run, &value).unwrap().true_count() > 0;
        Some(self.0.iter().map(holds).collect())
    }
}

/// Facts about runs that say which values they hold, beside bounds or alone.
fn with_keys(
    bounds: ColumnBounds,
    array: &ArrayRef,
    starts: &[usize],
    alone: bool,
) -> ColumnBounds {
    let array = plain(array);
    let runs = starts
        .windows(2)
        .map(|run| array.slice(run[0], run[1] - run[0]));
    let n = starts.len() - 1;
    ColumnBounds {
        // Others have no such filters.
        keys: (!array.data_type().is_floating() && !array.data_type().is_nested())
            .then(|| std::sync::Arc::new(Held(runs.collect())) as std::sync::Arc<dyn KeyRuns>),
        is_known: match alone {
            true => BooleanBuffer::new_unset(n),
            false => bounds.is_known,
        },
        ..bounds
    }
}

fn bounds(array: &ArrayRef, starts: &[usize], cut_to: usize) -> ColumnBounds {
    let array = plain(array);
    let runs = starts
        .windows(2)
        .map(|run| array.slice(run[0], run[1] - run[0]));
    let (mut min, mut max, mut is_cut) = (Vec::new(), Vec::new(), Vec::new());
    let (mut has_nulls, mut has_nans) = (Vec::new(), Vec::new());
    for run in runs {
        let [low, high] = ends(&run);
        let ((low, low_cut), (high, high_cut)) = (cut(&low, cut_to), cut(&high, cut_to));
        min.push(low);
        max.push(high);
        is_cut.push(low_cut || high_cut);
        has_nulls.push(run.logical_null_count() > 0);
        has_nans.push((0..run.len()).any(|i| run.is_valid(i) && is_nan(&run, i)));
    }
    let all = |parts: Vec<ArrayRef>| {
        let parts: Vec<&dyn Array> = parts.iter().map(|part| part.as_ref()).collect();
        concat(&parts).unwrap()
    };
    ColumnBounds {
        is_known: BooleanBuffer::new_set(min.len()),
        min: all(min),
        max: all(max),
        is_cut: BooleanBuffer::from(is_cut),
        has_nulls: BooleanBuffer::from(has_nulls),
        has_nans: BooleanBuffer::from(has_nans),
        keys: None,
    }
}

/// The field that lies below structs, null where one of them is.
fn below_structs(column: &ArrayRef, path: &[usize]) -> ArrayRef {
    let (mut array, mut nulls) = (column.clone(), None);
    for number in path {
        let parent = array.as_struct().clone();
        nulls = NullBuffer::union(nulls.as_ref(), parent.nulls());
        array = parent.column(*number).clone();
    }
    match NullBuffer::union(nulls.as_ref(), array.nulls()).filter(|_| !path.is_empty()) {
        None => array,
        Some(nulls) => {
            let places = (0..array.len()).map(|i| nulls.is_valid(i).then_some(i as u64));
            take(&array, &places.collect::<UInt64Array>(), None).unwrap()
        }
    }
}

/// Compares what is proved of the runs between `starts` with the rows that pass; returns how much was proved.
#[track_caller]
fn check(expr: &Expr, batch: &RecordBatch, starts: &[usize], cut_to: usize, strict: bool) -> usize {
    let filter = match strict {
        true => expr.bind_strict(&batch.schema()),
        false => expr.bind(&batch.schema()),
    };
    let Ok(filter) = filter else {
        return 0;
    };
    let mut n_proved = 0;
    for conjunct in filter.conjuncts() {
        let columns: Vec<ArrayRef> = conjunct
            .fields()
            .iter()
            .map(|field| batch.column(*field).clone())
            .collect();
        let passes = conjunct.evaluate(&columns, batch.num_rows()).unwrap();
        let n_runs = starts.len() - 1;
        let places = conjunct.columns();
        let of_columns = places.iter().map(|place| {
            let column = below_structs(batch.column(place.field), &place.path);
            let is_known = column.as_struct_opt().is_none() && !column.data_type().is_null();
            is_known.then(|| bounds(&column, starts, cut_to))
        });
        let of_columns: Vec<_> = of_columns.collect();
        let proof = conjunct.prove(&of_columns, n_runs).unwrap();
        for alone in [false, true] {
            let keyed = places.iter().zip(&of_columns).map(|(place, bounds)| {
                let column = below_structs(batch.column(place.field), &place.path);
                bounds
                    .clone()
                    .map(|bounds| with_keys(bounds, &column, starts, alone))
            });
            let keyed = conjunct.prove(&keyed.collect::<Vec<_>>(), n_runs).unwrap();
            check_proof(conjunct, &keyed, &passes, starts);
            // Beside bounds they tell more, and nothing else.
            assert!(alone || &keyed.some_may_pass & &proof.some_may_pass == keyed.some_may_pass);
            assert!(alone || &keyed.all_pass & &proof.all_pass == proof.all_pass);
        }
        let of_flat = places.iter().zip(of_columns);
        let of_flat = of_flat.map(|(place, bounds)| bounds.filter(|_| place.path.is_empty()));
        let by_fields = conjunct
            .prove(&of_flat.collect::<Vec<_>>(), n_runs)
            .unwrap();
        // Fields of structs tell more, and nothing else.
        assert_eq!(
            &by_fields.some_may_pass & &proof.some_may_pass,
            proof.some_may_pass
        );
        assert_eq!(&by_fields.all_pass & &proof.all_pass, by_fields.all_pass);
        n_proved += check_proof(conjunct, &proof, &passes, starts);
    }
    n_proved
}

/// Compares a proof with the rows that pass; returns how much was proved.
#[track_caller]
fn check_proof(
    conjunct: &Conjunct,
    proof: &Proof,
    passes: &BooleanBuffer,
    starts: &[usize],
) -> usize {
    let mut n_proved = 0;
    let Proof {
        some_may_pass,
        all_pass,
    } = proof;
    for (run, ends) in starts.windows(2).enumerate() {
        let n = passes.slice(ends[0], ends[1] - ends[0]).count_set_bits();
        let what = format!("{conjunct} for rows {ends:?}: {n} pass");
        assert!(
            some_may_pass.value(run) || n == 0,
            "{what}, and none was proved"
        );
        assert!(
            !all_pass.value(run) || n == ends[1] - ends[0],
            "{what}, and all was proved"
        );
        n_proved += usize::from(!some_may_pass.value(run)) + usize::from(all_pass.value(run));
    }
    n_proved
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn what_is_proved_holds(
        table in tables(),
        tree in trees(),
        widths in prop::collection::vec(1_usize..6, 24),
        cut_to in 0_usize..4,
        strict in any::<bool>(),
    ) {
        let batch = batch(&table);
        let mut starts = vec![0];
        for width in widths {
            let start = starts[starts.len() - 1];
            if start < batch.num_rows() {
                starts.push((start + width).min(batch.num_rows()));
            }
        }
        prop_assume!(starts.len() > 1);
        check(&tree.expr(), &batch, &starts, cut_to, strict);
    }
}

#[test]
fn bounds_prove_none_and_all() {
    let numbers: ArrayRef = std::sync::Arc::new(Int32Array::from_iter_values(0..100));
    let texts = (0..100).map(|i| format!("text {i:03} and so on"));
    let texts: ArrayRef = std::sync::Arc::new(StringArray::from_iter_values(texts));
    let batch = RecordBatch::try_from_iter([("n", numbers), ("t", texts)]).unwrap();
    let starts: Vec<usize> = (0..=10).map(|i| i * 10).collect();
    let members = [5, 15, 95];
    for (expr, n_proved) in [
        (col("n").eq(5), 9),
        (col("n").lt(50), 10),
        (col("n").lt(55), 9),
        (col("n").gt(1e9), 10),
        (col("n").is_null(), 10),
        (col("n").is_not_null(), 10),
        (col("n").is_in(members), 7),
        (Expr::Not(Box::new(col("n").is_in(members))), 7),
        (col("t").eq("text 055 and so on"), 9),
        (col("t").gt_eq("text 05"), 10),
        (col("t").like("text 05%"), 10),
        (col("t").like("text 1%"), 10),
        (col("t").like("%so on"), 0),
        (col("n").lt(50).or(col("t").gt_eq("text 05")), 10),
    ] {
        assert_eq!(check(&expr, &batch, &starts, 30, false), n_proved, "{expr}");
    }
    // Six characters of texts are all that is known: `text 0`, which every text begins with.
    assert_eq!(
        check(
            &col("t").eq("text 055 and so on"),
            &batch,
            &starts,
            6,
            false
        ),
        0
    );
    assert_eq!(check(&col("t").eq("text 1"), &batch, &starts, 6, false), 10);
}

/// A field of two structs, sorted; where one of them is null it is, whatever value lies there.
#[test]
fn fields_of_structs_prove_none_and_all() {
    let numbers: ArrayRef = std::sync::Arc::new(Int32Array::from_iter_values(0..100));
    let valid = |is_null: fn(usize) -> bool| {
        let valid: Vec<bool> = (0..100).map(|i| !is_null(i)).collect();
        Some(NullBuffer::from(valid))
    };
    let of = |array: ArrayRef, name: &str, nulls| -> ArrayRef {
        let field = arrow_schema::Field::new(name, array.data_type().clone(), true);
        std::sync::Arc::new(StructArray::new(vec![field].into(), vec![array], nulls))
    };
    let inner = of(numbers, "n", valid(|i| i / 10 == 3));
    let outer = of(inner, "t", valid(|i| i / 10 == 5 || i == 95));
    let batch = RecordBatch::try_from_iter_with_nullable([("s", outer, true)]).unwrap();
    let starts: Vec<usize> = (0..=10).map(|i| i * 10).collect();
    for (expr, n_proved) in [
        // Rows 30 to 39 and 50 to 59 have no value; of the last ten one has none.
        (col("s.t.n").eq(5), 9),
        (col("s.t.n").eq(35), 10),
        (col("s.t.n").lt(50), 10),
        (col("s.t.n").gt_eq(90), 9),
        (col("s.t.n").gt_eq(30), 9),
        (col("s.t.n").is_null(), 9),
        (col("s.t.n").is_not_null(), 9),
        // Of unknown or true parts the first decides.
        (col("s.t.n").is_null().or(col("s.t.n").lt(1_000)), 7),
        (Expr::Not(Box::new(col("s.t.n").lt(1_000))), 10),
    ] {
        assert_eq!(check(&expr, &batch, &starts, 30, false), n_proved, "{expr}");
    }
}

/// Values that runs lack prove what bounds do not: of numbers in no order.
#[test]
fn values_that_runs_lack_prove_none_and_all() {
    let numbers = (0..100).map(|i| i * 37 % 100);
    let numbers: ArrayRef = std::sync::Arc::new(Int32Array::from_iter_values(numbers));
    let starts: Vec<usize> = (0..=10).map(|i| i * 10).collect();
    let schema =
        arrow_schema::Schema::new(vec![arrow_schema::Field::new("n", DataType::Int32, true)]);
    let of = with_keys(bounds(&numbers, &starts, 9), &numbers, &starts, true);
    for (expr, none, all) in [
        (col("n").eq(5), 9, 0),
        (col("n").is_in([5, 7, 1_000]), 8, 0),
        (col("n").eq(5).or(col("n").eq(5)), 9, 0),
        (col("n").eq(5).or(col("n").gt(5)), 0, 0),
        (col("n").gt(5), 0, 0),
        (Expr::Not(Box::new(col("n").ne(5))), 9, 0),
    ] {
        let filter = expr.bind(&schema).unwrap();
        let proof = filter.conjuncts()[0]
            .prove(&[Some(of.clone())], 10)
            .unwrap();
        let n_none = 10 - proof.some_may_pass.count_set_bits();
        assert_eq!(
            (n_none, proof.all_pass.count_set_bits()),
            (none, all),
            "{expr}"
        );
    }
    // With bounds that say that no row is null, all pass where the value is not there.
    let of = with_keys(bounds(&numbers, &starts, 9), &numbers, &starts, false);
    let filter = col("n").ne(5).bind(&schema).unwrap();
    let proof = filter.conjuncts()[0].prove(&[Some(of)], 10).unwrap();
    assert_eq!(proof.all_pass.count_set_bits(), 9);
    // More values than are looked for one by one.
    let keys = |n: i32| {
        let filter = col("n").is_in(0..n).bind(&schema).unwrap();
        filter.conjuncts()[0].keys().len()
    };
    assert_eq!((keys(64), keys(65)), (1, 0));
}
