//! Filters: the rows that pass are those that pass in memory, for tables of every type and random expressions, before
//! and after erasures, mapped and read by position.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray, StructArray,
    UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use tarsia::filter::{Expr, Literal, col};
use tarsia::{
    Access, ColumnOptions, EmbedKernels, ErasureLevel, ErrorKind, File, OpenOptions, RowSelection,
    RowSet, Threads, WriteOptions,
};
use tarsia_arrow::reorder;
use tarsia_testkit::arrays::{array, flat_types, profiles};
use tarsia_testkit::effort::some_or_all;
use tarsia_testkit::rng::Rng;

use crate::blooms::may_have_blooms;
use crate::common::{open, open_with, same_rows, write};
use crate::erasure::erased;

fn options() -> WriteOptions {
    WriteOptions::new()
        .with_embed_kernels(EmbedKernels::Omit)
        .with_page_bytes(20_000)
}

fn written(batch: &RecordBatch, options: WriteOptions) -> Vec<u8> {
    write(batch.schema(), std::slice::from_ref(batch), options)
}

/// Columns of some types, and a struct of two of them.
fn table(rng: &mut Rng, rows: usize) -> RecordBatch {
    let types = flat_types();
    let profiles = profiles(rng.u64());
    let mut column = |name: &str| {
        let array = array(rng.pick(&types), rows, *rng.pick(&profiles));
        // Zones tell rows apart where values are in order.
        let array = match rng.percent(50) {
            true => in_order(array),
            false => array,
        };
        (
            Arc::new(Field::new(name, array.data_type().clone(), true)),
            array,
        )
    };
    let inner = [column("x"), column("y.z")];
    let outer = [column("a"), column("b"), column("c")];
    let (fields, columns): (Vec<_>, Vec<ArrayRef>) = inner.into_iter().unzip();
    let nulls = (0..rows).map(|i| i % 7 != 2).collect::<Vec<_>>();
    let structs = StructArray::new(fields.into(), columns, Some(nulls.into()));
    let field = Field::new("s", structs.data_type().clone(), true);
    let (mut fields, mut columns): (Vec<_>, Vec<ArrayRef>) = outer.into_iter().unzip();
    fields.push(Arc::new(field));
    columns.push(Arc::new(structs));
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

/// The values in rising order, if they can be sorted.
pub(crate) fn in_order(array: ArrayRef) -> ArrayRef {
    // Of values without bytes, Arrow makes arrays that cannot be sliced.
    if *array.data_type() == DataType::FixedSizeBinary(0) {
        return array;
    }
    let sorted = arrow_ord::sort::sort(&array, None).ok();
    let is_whole = |sorted: &ArrayRef| sorted.len() == array.len();
    sorted.filter(is_whole).unwrap_or(array)
}

const NAMES: [&str; 5] = ["a", "b", "c", "s.x", "s.y.z"];

fn values<'b>(batch: &'b RecordBatch, name: &str) -> &'b ArrayRef {
    let inner = |number| {
        let structs = batch
            .column(3)
            .as_any()
            .downcast_ref::<StructArray>()
            .unwrap();
        structs.column(number)
    };
    match name {
        "s.x" => inner(0),
        "s.y.z" => inner(1),
        name => batch.column_by_name(name).unwrap(),
    }
}

/// A value of the column, not of its dictionary or run.
fn literal(rng: &mut Rng, column: &ArrayRef) -> Literal {
    let at = rng.below(column.len());
    let value = column.slice(at, 1);
    let value = match value.data_type() {
        DataType::Dictionary(_, values) => arrow_cast::cast(&value, values).unwrap(),
        DataType::RunEndEncoded(_, values) => arrow_cast::cast(&value, values.data_type()).unwrap(),
        _ => value,
    };
    match value.is_null(0) {
        true => Literal::null(),
        false => Literal::array(value),
    }
}

fn expression(rng: &mut Rng, batch: &RecordBatch, depth: usize) -> Expr {
    if depth > 0 && rng.percent(60) {
        let parts = |rng: &mut Rng| {
            let n = rng.between(1, 3);
            (0..n)
                .map(|_| expression(rng, batch, depth - 1))
                .collect::<Vec<_>>()
        };
        return match rng.below(3) {
            0 => Expr::And(parts(rng)),
            1 => Expr::Or(parts(rng)),
            _ => Expr::Not(Box::new(expression(rng, batch, depth - 1))),
        };
    }
    let name = *rng.pick(&NAMES);
    let (column, array) = (col(name), values(batch, name));
    let can_be_compared = !matches!(array.data_type(), DataType::Null);
    match rng.below(9) {
        0 => column.is_null(),
        1 => column.is_not_null(),
        _ if !can_be_compared => column.is_null(),
        2 => column.eq(literal(rng, array)),
        3 => column.ne(literal(rng, array)),
        4 => column.lt(literal(rng, array)),
        5 => column.lt_eq(literal(rng, array)),
        6 => column.gt(literal(rng, array)),
        7 => column.gt_eq(literal(rng, array)),
        _ => {
            let n = rng.between(1, 20);
            let literals: Vec<_> = (0..n).map(|_| literal(rng, array)).collect();
            column.is_in(literals)
        }
    }
}

/// The rows of the table that pass, by evaluating the expression on the table as it was written.
fn expected(batch: &RecordBatch, expr: &Expr) -> Vec<u64> {
    let filter = expr.bind(&batch.schema()).unwrap();
    let bits = filter.matches(batch).unwrap();
    bits.set_indices().map(|row| row as u64).collect()
}

fn of_rows(batch: &RecordBatch, rows: &[u64]) -> RecordBatch {
    let places = UInt64Array::from(rows.to_vec());
    let columns = batch.columns().iter();
    let columns = columns.map(|column| reorder(column, &places).unwrap());
    RecordBatch::try_new(batch.schema(), columns.collect()).unwrap()
}

fn check(file: &File, batch: &RecordBatch, expr: &Expr, deleted: &[u64], rng: &mut Rng) {
    let mut rows = expected(batch, expr);
    rows.retain(|row| !deleted.contains(row));
    let what = expr.to_string();
    let scan = || file.scan().filter(expr.clone());
    let found = scan().build().unwrap().read_all().unwrap();
    same_rows(&found, &of_rows(batch, &rows), &what);
    let selection = RowSelection::from_rows(rows.iter().copied()).unwrap();
    assert_eq!(scan().matching_rows().unwrap(), selection, "{what}");
    let (start, end) = (rng.below(2_000) as u64, 2_000 + rng.below(1_000) as u64);
    let inside = selection.within(start..end);
    assert_eq!(
        scan().rows(start..end).count().unwrap(),
        inside.len(),
        "{what}"
    );
    // Some columns, and the first rows of them.
    let limit = rng.below(100);
    rows.truncate(limit);
    let names = ["c", "a"];
    let narrow = scan().columns(&names).limit(limit as u64).batch_rows(40);
    let found = narrow.build().unwrap().read_all().unwrap();
    let narrow = batch.project(&[2, 0]).unwrap();
    same_rows(&found, &of_rows(&narrow, &rows), &what);
}

#[test]
fn rows_that_pass_are_those_that_pass_in_memory() {
    let mut rng = Rng::new(2026);
    for number in 0..some_or_all(60, 1_500) {
        let batch = table(&mut rng, 3_000);
        let erasure = number % 3 == 0;
        let level = ErasureLevel::Erase;
        let options = match erasure {
            true => options().with_erasure(level),
            false => options(),
        };
        // Every other file has bloom filters of the columns that may have some.
        let names = NAMES
            .iter()
            .filter(|name| number % 2 == 0 && may_have_blooms(values(&batch, name).data_type()));
        let options = names.fold(options, |options, name| {
            options.with_column(*name, ColumnOptions::new().with_blooms(true))
        });
        let bytes = written(&batch, options);
        let threads = match number % 2 {
            0 => Threads::One,
            _ => Threads::All,
        };
        let file = open_with(&bytes, OpenOptions::new().with_threads(threads)).unwrap();
        let mut deleted: Vec<u64> = Vec::new();
        let file = match erasure {
            false => file,
            true => {
                let mut set = RowSet::new();
                deleted
                    .extend((0..3_000).filter(|row| row % 11 == 0 || (700..1_800).contains(row)));
                deleted
                    .iter()
                    .for_each(|row| set.insert_range(*row..*row + 1));
                open(&erased(&file, &set, level)).unwrap()
            }
        };
        for _ in 0..4 {
            let expr = expression(&mut rng, &batch, 4);
            check(&file, &batch, &expr, &deleted, &mut rng);
        }
    }
}

/// Numbers, text of few values, text of many, and floating-point numbers with all that is special.
fn plain(rows: i64) -> RecordBatch {
    let floats = (0..rows).map(|i| match i % 6 {
        0 => None,
        1 => Some(f64::NAN),
        2 => Some(-0.0),
        3 => Some(0.0),
        _ => Some(i as f64 / 7.0),
    });
    let few = (0..rows).map(|i| ["red", "green", "blue"][(i % 3) as usize]);
    let columns: [(&str, ArrayRef); 4] = [
        ("id", Arc::new(Int64Array::from_iter_values(0..rows))),
        ("few", Arc::new(StringArray::from_iter_values(few))),
        (
            "many",
            Arc::new(StringArray::from_iter_values(
                (0..rows).map(|i| format!("m{}", i * 7919 % rows)),
            )),
        ),
        ("float", Arc::new(floats.collect::<Float64Array>())),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)))
        .unwrap()
}

#[test]
fn counts_say_what_each_conjunct_looked_at() {
    let batch = plain(300_000);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.tarsia");
    std::fs::write(&path, written(&batch, options().with_page_bytes(1 << 20))).unwrap();
    for access in [Access::Map, Access::Read] {
        let file = File::open_with(&path, OpenOptions::new().with_access(access)).unwrap();
        // By its bounds alone, a sorted column rejects nearly all rows.
        let mut scan = file.scan().filter(col("id").lt(1_000)).build().unwrap();
        assert_eq!(
            scan.by_ref()
                .map(|batch| batch.unwrap().num_rows())
                .sum::<usize>(),
            1_000
        );
        let [count] = &scan.filter_counts()[..] else {
            panic!("one conjunct");
        };
        assert!(count.rejected_by_bounds > 150_000, "{count:?}");
        assert!(
            count.rows <= 300_000 - count.rejected_by_bounds,
            "{count:?}"
        );
        let all = file.scan().filter(col("id").gt_eq(0));
        let mut scan = all.columns(&["few"]).build().unwrap();
        assert_eq!(
            scan.by_ref()
                .map(|batch| batch.unwrap().num_rows())
                .sum::<usize>(),
            300_000
        );
        let [count] = &scan.filter_counts()[..] else {
            panic!("one conjunct");
        };
        assert_eq!((count.passed_by_bounds, count.rows), (300_000, 0));
    }
    let without = written(&batch, options().with_page_bytes(1 << 20).with_zones(false));
    std::fs::write(&path, without).unwrap();
    for access in [Access::Map, Access::Read] {
        let file = File::open_with(&path, OpenOptions::new().with_access(access)).unwrap();
        let filter = col("few").eq("red").and(col("id").lt(1_000));
        let mut scan = file
            .scan()
            .columns(&["many"])
            .filter(filter)
            .build()
            .unwrap();
        let n_rows: usize = scan.by_ref().map(|batch| batch.unwrap().num_rows()).sum();
        assert_eq!(n_rows, 334);
        let counts = scan.filter_counts();
        let looked_at: u64 = counts.iter().map(|count| count.rows).sum();
        assert!(
            counts
                .iter()
                .all(|count| (334..=count.rows).contains(&count.passed)),
            "{counts:?}"
        );
        // One of them looks at all rows, the other one at those that are left.
        assert!((300_000..600_000).contains(&looked_at), "{counts:?}");
        assert_eq!(
            file.scan()
                .filter(col("id").gt_eq(250_000))
                .count()
                .unwrap(),
            50_000
        );
    }
}

#[test]
fn special_numbers_are_ordered_or_equal_as_the_rules_say() {
    let file = open(&written(&plain(600), options())).unwrap();
    let usual = |expr: Expr| file.scan().filter(expr).count().unwrap();
    let strict = |expr: Expr| file.scan().strict_filter(expr).count().unwrap();
    // Zeros differ, and what is no number is above all others.
    assert_eq!(usual(col("float").eq(0.0)), 100);
    assert_eq!(usual(col("float").gt(1e300)), 100);
    assert_eq!(usual(Expr::not(col("float").gt(1e300))), 400);
    // Zeros are equal, and what is no number passes nothing.
    assert_eq!(strict(col("float").eq(0.0)), 200);
    assert_eq!(strict(col("float").gt(1e300)), 0);
    assert_eq!(strict(Expr::not(col("float").gt(1e300))), 400);
    assert_eq!(strict(col("float").is_not_null()), 500);
    // No integer is 0.5, but many are above it.
    assert_eq!(usual(col("id").eq(0.5)), 0);
    assert_eq!(usual(col("id").gt(0.5)), 599);
    let error = file
        .scan()
        .strict_filter(col("id").gt(0.5))
        .build()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidFilter, "{error}");
}

#[test]
fn filters_that_do_not_suit_the_file_are_refused() {
    let file = open(&written(&plain(10), options())).unwrap();
    let refused = |text: &str| {
        file.scan()
            .filter(text.parse().unwrap())
            .build()
            .unwrap_err()
    };
    let error = refused("id = 1 AND nope = 2");
    assert_eq!(error.kind(), ErrorKind::NoSuchColumn);
    assert!(error.to_string().contains("character 12"), "{error}");
    let error = refused("id = 'one'");
    assert_eq!(error.kind(), ErrorKind::InvalidFilter);
    assert!(error.to_string().contains("character 6"), "{error}");
}

#[test]
fn batches_of_few_rows_are_joined() {
    let n = 400_000;
    let ids = Int32Array::from_iter_values(0..n);
    let batch = RecordBatch::try_from_iter([("id", Arc::new(ids) as ArrayRef)]).unwrap();
    let file = open(&written(&batch, options().with_page_bytes(1 << 20))).unwrap();
    let filter: Vec<Literal> = (0..n).step_by(1_000).map(Literal::from).collect();
    let scan = file.scan().filter(col("id").is_in(filter)).build().unwrap();
    let sizes: Vec<usize> = scan.map(|batch| batch.unwrap().num_rows()).collect();
    assert_eq!(sizes, [400]);
}

/// Text of few values is picked as numbers of entries, text of many where its rows lie, both by a condition on another
/// column: few rows or many, alone or together, with nulls, before and after an erasure.
#[test]
fn text_is_picked_by_other_columns() {
    let n = 90_000_u64;
    let mut rng = Rng::new(11);
    let keys = (0..n).map(|_| rng.below(10_000) as i64);
    let keys: ArrayRef = Arc::new(keys.collect::<Int64Array>());
    let few = |i: u64| (i % 11 != 3).then(|| "grün ".repeat((i * i % 9) as usize));
    let many = |i: u64| (i % 7 != 3).then(|| format!("{} of {}", i * 7919 % 5_003, i % 300));
    let number = Int64Array::from_iter_values(0..n as i64);
    let nothing = StringArray::new_null(n as usize);
    let batch = RecordBatch::try_from_iter([
        (
            "few",
            Arc::new((0..n).map(few).collect::<StringArray>()) as ArrayRef,
        ),
        ("many", Arc::new((0..n).map(many).collect::<StringArray>())),
        ("nothing", Arc::new(nothing)),
        ("number", Arc::new(number)),
        ("key", keys),
    ]);
    let batch = batch.unwrap();
    let options = options().with_page_bytes(1 << 20);
    let bytes = written(&batch, options.with_erasure(ErasureLevel::Erase));
    let deleted: Vec<u64> = (0..n).filter(|row| row % 501 < 3).collect();
    let rows = deleted.iter().copied().collect::<RowSet>();
    let after = erased(&open(&bytes).unwrap(), &rows, ErasureLevel::Erase);
    for (bytes, deleted) in [(&bytes, &[][..]), (&after, &deleted)] {
        for threads in [Threads::One, Threads::All] {
            let file = open_with(bytes, OpenOptions::new().with_threads(threads)).unwrap();
            for share in [0_i64, 1, 100, 1_000, 2_500, 5_000, 9_990, 10_000] {
                check_text(&file, &batch, &col("key").lt(share), deleted);
                let clustered = col("number")
                    .gt_eq(30_000)
                    .and(col("number").lt(30_000 + share));
                check_text(&file, &batch, &clustered, deleted);
            }
        }
    }
}

fn check_text(file: &File, batch: &RecordBatch, expr: &Expr, deleted: &[u64]) {
    let mut rows = expected(batch, expr);
    rows.retain(|row| deleted.binary_search(row).is_err());
    for batch_rows in [None, Some(1_000)] {
        let scan = file
            .scan()
            .columns(&["few", "many", "nothing"])
            .filter(expr.clone());
        let scan = match batch_rows {
            Some(rows) => scan.batch_rows(rows),
            None => scan,
        };
        let found = scan.build().unwrap().read_all().unwrap();
        let wanted = of_rows(&batch.project(&[0, 1, 2]).unwrap(), &rows);
        same_rows(&found, &wanted, &expr.to_string());
    }
}

/// Few rows of a column of views do not hold the text of the others.
#[test]
fn views_hold_the_text_of_their_rows() {
    let n = 20_000_u64;
    let text = |i: u64| format!("{:0400}", i * 104_729 % 1_000_003);
    let text = Arc::new((0..n).map(|i| Some(text(i))).collect::<StringArray>()) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("text", text)]).unwrap();
    let bytes = written(&batch, options().with_page_bytes(1 << 20));
    let file = open_with(&bytes, OpenOptions::new().with_views(true)).unwrap();
    let scan = file
        .scan()
        .filter(col("text").like("%1234%"))
        .build()
        .unwrap();
    let batches: Vec<RecordBatch> = scan.map(Result::unwrap).collect();
    let n_rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    assert!((1..100).contains(&n_rows), "{n_rows}");
    for batch in batches {
        let data = batch.column(0).to_data();
        // The first buffer has the views.
        let held: usize = data.buffers()[1..].iter().map(|text| text.len()).sum();
        assert!(held <= 2 * 400 * batch.num_rows(), "{held}");
    }
}

/// Ranges of numbers are found in encoded values: of every type of numbers and every profile, with and without nulls,
/// in the usual mode and in the strict one, negated, and of rows that are few.
#[test]
fn ranges_are_found_without_decoding() {
    let mut rng = Rng::new(38);
    let numbers: Vec<DataType> = flat_types()
        .into_iter()
        .filter(DataType::is_numeric)
        .collect();
    for data_type in &numbers {
        for profile in profiles(rng.u64()) {
            let rows = 3_000;
            let column = array(data_type, rows, profile);
            let field = Field::new("a", data_type.clone(), true);
            let row = Int64Array::from_iter_values(0..rows as i64);
            let schema = Schema::new(vec![field, Field::new("row", DataType::Int64, false)]);
            let columns = vec![column, Arc::new(row) as ArrayRef];
            let batch = RecordBatch::try_new(Arc::new(schema), columns).unwrap();
            let file = open(&written(&batch, options())).unwrap();
            for _ in 0..6 {
                let bounds = [0, 0].map(|_| literal(&mut rng, batch.column(0)));
                let [low, high] = bounds;
                let range = match rng.below(5) {
                    0 => col("a").eq(low),
                    1 => col("a").ne(low),
                    2 => col("a").lt(high),
                    3 => Expr::Not(Box::new(col("a").gt_eq(low))),
                    _ => Expr::And(vec![col("a").gt(low), col("a").lt_eq(high)]),
                };
                let few = Expr::And(vec![
                    Expr::Or(vec![
                        col("row").lt(Literal::from(40)),
                        col("row").gt(Literal::from(2_900)),
                    ]),
                    range.clone(),
                ]);
                for expr in [range, few] {
                    check_range(&file, &batch, &expr);
                }
            }
        }
    }
}

/// Strings that are equal to one of a few, or begin with one, are found in encoded values: under each encoding of text,
/// with and without nulls, negated, and of rows that are few.
#[test]
fn strings_are_found_without_decoding() {
    let words = [
        "",
        "a",
        "oak",
        "oak tree",
        "elm",
        "https://example.org/?item=",
        "\0",
    ];
    let rows = 3_000;
    let mut rng = Rng::new(52);
    for outline in [
        "bytes",
        "fsst",
        "onpair",
        "dict",
        "runend",
        "front",
        "zstd",
        "dict(fsst)",
    ] {
        for nulls in [0, 10, 100] {
            let mut text = || {
                let n = rng.between(1, 3);
                let words = (0..n).map(|_| *rng.pick(&words)).collect::<String>();
                let number = if rng.flip() {
                    rng.below(40).to_string()
                } else {
                    String::new()
                };
                words + &number
            };
            // A text may be repeated.
            let mut last = text();
            let texts: Vec<String> = (0..rows)
                .map(|row| {
                    if row % 3 != 0 {
                        last = text();
                    }
                    last.clone()
                })
                .collect();
            let is_null = |row: usize| row * 7 % 100 < nulls;
            let column: StringArray = (0..rows)
                .map(|row| (!is_null(row)).then(|| texts[row].as_str()))
                .collect();
            let row = Int64Array::from_iter_values(0..rows as i64);
            let fields = vec![
                Field::new("a", DataType::Utf8, true),
                Field::new("row", DataType::Int64, false),
            ];
            let columns = vec![Arc::new(column) as ArrayRef, Arc::new(row)];
            let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
            let of_column = ColumnOptions::new()
                .with_outline(outline.parse().unwrap())
                .with_zones(false);
            let file = open(&written(&batch, options().with_column("a", of_column))).unwrap();
            let trees = &file.inspect().unwrap().columns[0].trees;
            let is_used = trees.iter().any(|(tree, _)| tree.starts_with(outline));
            // Of nulls alone there is nothing to encode, and others may take fewer bytes.
            let is_compared = ["bytes", "fsst", "onpair", "dict"].contains(&outline);
            assert!(
                is_used || nulls == 100 || !is_compared,
                "{outline}: {trees:?}"
            );
            let some = |rng: &mut Rng| texts[rng.below(rows)].clone();
            for _ in 0..4 {
                let text = some(&mut rng);
                let three: Vec<String> = (0..3).map(|_| some(&mut rng)).collect();
                let cut = text.chars().take(rng.below(20)).collect::<String>();
                for test in [
                    col("a").eq(text.as_str()),
                    col("a").ne(text.as_str()),
                    col("a").eq("not there"),
                    col("a").is_in(three.iter().map(String::as_str)),
                    col("a").is_in(three.iter().map(String::as_str)).not(),
                    col("a").like(format!("{cut}%")),
                    col("a").like(format!("{cut}%")).not(),
                ] {
                    let few = Expr::Or(vec![col("row").lt(40), col("row").gt(2_900)]);
                    check_range(&file, &batch, &Expr::And(vec![few, test.clone()]));
                    check_range(&file, &batch, &test);
                }
            }
        }
    }
}

fn check_range(file: &File, batch: &RecordBatch, expr: &Expr) {
    let rows = expected(batch, expr);
    let selection = RowSelection::from_rows(rows.iter().copied()).unwrap();
    let found = file.scan().filter(expr.clone()).matching_rows().unwrap();
    assert_eq!(found, selection, "{expr}");
    let scan = file.scan().filter(expr.clone()).build().unwrap();
    same_rows(
        &scan.read_all().unwrap(),
        &of_rows(batch, &rows),
        &expr.to_string(),
    );
    // Strict conditions refuse nulls.
    if let Ok(filter) = expr.bind_strict(&batch.schema()) {
        let bits = filter.matches(batch).unwrap();
        let rows = bits.set_indices().map(|row| row as u64);
        let selection = RowSelection::from_rows(rows).unwrap();
        let found = file.scan().strict_filter(expr.clone()).matching_rows();
        assert_eq!(found.unwrap(), selection, "{expr}, strict");
    }
}
