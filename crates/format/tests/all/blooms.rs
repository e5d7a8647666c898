//! Bloom filters: every value that is there is found, for every type that has them and after erasures; filters read
//! less and find the same rows; lies and damage are found, and no bit of an erased value is left.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, FixedSizeBinaryArray, Float64Array, Int64Array, RecordBatch, StringArray,
    StructArray,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field};
use tarsia::filter::{Expr, Literal, col};
use tarsia::{
    ColumnOptions, ErasureLevel, ErrorKind, File, OpenOptions, RowSet, Threads, WriteOptions,
    Writer,
};
use tarsia_metadata::NodeRecord;
use tarsia_testkit::arrays::{array, flat_types, profiles};
use tarsia_testkit::effort::some_or_all;

use crate::common::{deterministic, one_column, open, write};
use crate::erasure::erased;
use crate::lies::Lies;
use crate::waves::Slow;

/// Rows of a run.
const RUN_ROWS: u64 = 65_536;

fn with_blooms(options: WriteOptions) -> WriteOptions {
    options.with_column("x", ColumnOptions::new().with_blooms(true))
}

fn written(batch: &RecordBatch, options: WriteOptions) -> Vec<u8> {
    write(batch.schema(), std::slice::from_ref(batch), options)
}

/// Whether columns of a type may have bloom filters.
pub(crate) fn may_have_blooms(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => may_have_blooms(values),
        DataType::RunEndEncoded(_, values) => may_have_blooms(values.data_type()),
        DataType::FixedSizeBinary(bytes) => *bytes > 0,
        DataType::Null | DataType::Boolean | DataType::Interval(_) => false,
        other => !other.is_floating() && !other.is_nested(),
    }
}

/// Numbers in no order that do not repeat, and that no encoding finds a rule in.
fn scattered(n: u64) -> impl Iterator<Item = i64> {
    (0..n).map(|i| {
        let mixed = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) as i64
    })
}

fn numbers(n: u64) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(scattered(n)))
}

/// The bytes of a column's filters, and where they are in the file.
fn filters_of(lies: &Lies, path: &[&str]) -> Range<usize> {
    let (range, _) = lies.record(path);
    let record = NodeRecord::parse(&lies.bytes[range]).unwrap();
    let blooms = record.column.unwrap().blooms.expect("bloom filters");
    let start = blooms.place as usize;
    start..start + blooms.length as usize
}

/// Rows that a filter gives, and how many of the file its only conjunct rejected by bloom filters.
fn counted(file: &File, expr: Expr) -> (usize, u64) {
    let mut scan = file.scan().filter(expr).build().unwrap();
    let rows = scan.by_ref().map(|batch| batch.unwrap().num_rows()).sum();
    let counts = scan.filter_counts();
    (rows, counts.iter().map(|it| it.rejected_by_blooms).sum())
}

/// A value of an array as a literal, not of its dictionary or run; `None` for null.
fn literal(array: &ArrayRef, at: usize) -> Option<Literal> {
    let value = array.slice(at, 1);
    let value = match value.data_type() {
        DataType::Dictionary(_, values) => arrow_cast::cast(&value, values).unwrap(),
        DataType::RunEndEncoded(_, values) => arrow_cast::cast(&value, values.data_type()).unwrap(),
        _ => value,
    };
    value.is_valid(0).then(|| Literal::array(value))
}

#[test]
fn values_of_every_type_are_found() {
    let n_rows = 3_000;
    let step = some_or_all(5, 1);
    let options = || {
        let options = deterministic().with_page_bytes(20_000);
        options
            .with_erasure(ErasureLevel::Erase)
            .with_salt_key([1; 32])
    };
    let (mut n_with, mut n_rejected) = (0, 0);
    for (number, data_type) in flat_types().iter().enumerate() {
        let profiles = profiles(number as u64).into_iter();
        for profile in profiles.skip(number % step).step_by(step) {
            let values = array(data_type, n_rows, profile);
            let batch = one_column(values.clone());
            if !may_have_blooms(data_type) {
                let options = with_blooms(options());
                let refused = Writer::new(Vec::new(), batch.schema(), options)
                    .err()
                    .unwrap();
                assert_eq!(refused.kind(), ErrorKind::InvalidInput);
                let what = refused.to_string();
                assert!(what.contains("column `x`: no bloom filters"), "{what}");
                break;
            }
            let file = open(&written(&batch, with_blooms(options()))).unwrap();
            file.verify().unwrap();
            assert!(file.inspect().unwrap().columns[0].bloom_bytes > 0);
            n_with += 1;
            let gone: RowSet = (700..1_900).collect();
            let later = open(&erased(&file, &gone, ErasureLevel::Erase)).unwrap();
            later.verify().unwrap();
            assert!(later.audit().unwrap().is_clean());
            let without = open(&written(&batch, options())).unwrap();
            for at in (0..n_rows).step_by(411) {
                let Some(value) = literal(&values, at) else {
                    continue;
                };
                let expr = col("x").eq(value.clone());
                let rows = without.scan().filter(expr.clone()).matching_rows().unwrap();
                assert!(rows.contains(at as u64));
                let (n_found, rejected) = counted(&file, expr.clone());
                assert_eq!(n_found as u64, rows.len(), "{data_type}, row {at}");
                n_rejected += rejected;
                let left = rows.without(&gone).len();
                assert_eq!(
                    counted(&later, expr).0 as u64,
                    left,
                    "{data_type}, row {at}"
                );
                let negated = Expr::not(col("x").eq(value));
                let found = later
                    .scan()
                    .filter(negated.clone())
                    .matching_rows()
                    .unwrap();
                let expected = without.scan().filter(negated).matching_rows().unwrap();
                assert_eq!(found, expected.without(&gone));
            }
        }
    }
    assert!(n_with > 60 && n_rejected > 10_000, "{n_with}, {n_rejected}");
}

/// The options are those of columns and of fields of structs, and columns without them have none.
#[test]
fn columns_have_filters_if_they_were_asked_for() {
    let n_rows = 5_000;
    let texts = scattered(n_rows).map(|i| format!("{i:x}"));
    let nulls = NullBuffer::from_iter((0..n_rows).map(|i| i % 7 > 0));
    let fields: Vec<(Arc<Field>, ArrayRef)> = vec![
        (
            Arc::new(Field::new("id", DataType::Int64, true)),
            numbers(n_rows),
        ),
        (
            Arc::new(Field::new("name", DataType::Utf8, true)),
            Arc::new(StringArray::from_iter_values(texts)),
        ),
    ];
    let (fields, arrays): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
    let structs = StructArray::new(fields.into(), arrays, Some(nulls));
    let batch = one_column(Arc::new(structs.clone()));
    let asked = |name: &str| {
        let options = deterministic().with_column(name, ColumnOptions::new().with_blooms(true));
        let file = open(&written(&batch, options)).unwrap();
        file.verify().unwrap();
        let columns = file.inspect().unwrap().columns;
        let has = columns.iter().map(|it| it.bloom_bytes > 0);
        (has.collect::<Vec<_>>(), file)
    };
    assert_eq!(asked("x.id").0, [true, false]);
    let (has, file) = asked("x");
    assert_eq!(has, [true, true]);
    let ids = structs
        .column(0)
        .as_primitive::<arrow_array::types::Int64Type>();
    for row in 1..50_usize {
        let expected = usize::from(row % 7 > 0);
        let found = counted(&file, col("x.id").eq(ids.value(row)));
        assert_eq!(found.0, expected);
        // Values below structs that are null are not there.
        assert!(expected > 0 || found.1 == 0 || found.1 == n_rows);
    }
    assert!((0..40).any(|i| counted(&file, col("x.id").eq(i)).1 == n_rows));
    // What lies below lists, packed structs and floating-point fields is refused, by name.
    let refused = |array: ArrayRef, field: Option<Field>| {
        let field = field.unwrap_or_else(|| Field::new("x", array.data_type().clone(), true));
        let schema = Arc::new(arrow_schema::Schema::new(vec![field]));
        let options = with_blooms(deterministic());
        let error = Writer::new(Vec::new(), schema, options).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        error.to_string()
    };
    let item = Arc::new(Field::new("item", DataType::Int64, true));
    let lists = arrow_array::FixedSizeListArray::new(item, 1, numbers(10), None);
    assert!(refused(Arc::new(lists), None).contains("column `x.item`"));
    let floats: ArrayRef = Arc::new(Float64Array::from_iter_values([1.0]));
    let score = StructArray::try_from(vec![("score", floats)]).unwrap();
    let what = refused(Arc::new(score), None);
    assert!(
        what.contains("column `x.score`: no bloom filters for type Float64"),
        "{what}"
    );
    let packed = Field::new("x", structs.data_type().clone(), true)
        .with_metadata([(tarsia::LAYOUT_KEY.to_owned(), "packed".to_owned())].into());
    assert!(refused(Arc::new(structs), Some(packed)).contains("no bloom filters"));
}

/// After an erasure the bits are those of filters of a table where the erased rows are null.
#[test]
fn no_bit_of_an_erased_value_is_left() {
    let n_rows = 150_000;
    let gone = |row: u64| row % 97 == 5 || (70_000..70_400).contains(&row) || row >= 149_990;
    let level = ErasureLevel::Erase;
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(
        scattered(n_rows).map(|i| format!("{i:016x}")),
    ));
    for values in [numbers(n_rows), texts] {
        let is_gone = |row: usize| gone(row as u64);
        let nulls = NullBuffer::from_iter((0..n_rows as usize).map(|row| !is_gone(row)));
        let of_rest = values.to_data().into_builder().nulls(Some(nulls));
        let of_rest = arrow_array::make_array(of_rest.build().unwrap());
        let written = |values: ArrayRef| {
            let batch = RecordBatch::try_from_iter_with_nullable([("x", values, true)]).unwrap();
            let options = deterministic().with_page_bytes(8 << 20);
            let options = with_blooms(options.with_erasure(level).with_salt_key([3; 32]));
            Lies::of(written(&batch, options))
        };
        let (before, fresh) = (written(values.clone()), written(of_rest));
        let file = open(&before.bytes).unwrap();
        assert_eq!(file.inspect().unwrap().columns[0].pages, 1);
        let rows: RowSet = (0..n_rows).filter(|row| gone(*row)).collect();
        let after = erased(&file, &rows, level);
        let place = filters_of(&before, &["x"]);
        // Erasures move nothing of the metadata.
        assert_eq!(
            place.len(),
            2 * 82_080 + {
                let rest = n_rows - 2 * RUN_ROWS;
                let n_blocks = (rest * 10).div_ceil(256);
                (8 * n_blocks.div_ceil(128) + 32 * n_blocks) as usize
            }
        );
        assert!(
            after[place.clone()] == fresh.bytes[filters_of(&fresh, &["x"])],
            "filters of the rows that are left"
        );
        assert!(after[place.clone()] != before.bytes[place]);
        let later = open(&after).unwrap();
        later.verify().unwrap();
        assert!(later.audit().unwrap().is_clean());
        for row in [5_usize, 6, 70_100, 149_995] {
            let expr = col("x").eq(literal(&values, row).unwrap());
            assert_eq!(counted(&later, expr).0, usize::from(!is_gone(row)), "{row}");
        }
        // At level 1 nothing of them changes.
        let hidden = erased(&file, &rows, ErasureLevel::Hide);
        let place = filters_of(&before, &["x"]);
        assert!(hidden[place.clone()] == before.bytes[place]);
        open(&hidden).unwrap().verify().unwrap();
    }
}

#[test]
fn lies_of_filters_are_found() {
    let lies = Lies::of_table(&one_column(numbers(100_000)), with_blooms(deterministic()));
    let place = filters_of(&lies, &["x"]);
    let (mut n_lacks, mut n_more) = (0, 0);
    for at in [8, 77, 40_000, 82_070, 82_080 + 9, place.len() - 1] {
        // In front of each shard lie its checksum, and zeros.
        if at % 4_104 < 8 {
            continue;
        }
        for bit in [0, 5] {
            let told = lies.told(|bytes| bytes[place.start + at] ^= 1 << bit);
            let file = open(&told).unwrap();
            let what = file.verify().unwrap_err().to_string();
            let rows = if at < 82_080 {
                "0..65536"
            } else {
                "65536..100000"
            };
            assert!(
                what.contains("column `x`")
                    && what.contains(&format!("bloom filter of the rows {rows}: it ")),
                "{what}"
            );
            n_lacks += usize::from(what.contains("that is there that it is not"));
            n_more += usize::from(what.contains("that no value of the rows sets"));
            assert_eq!(file.verify_page("x", 0).unwrap_err().to_string(), what);
            assert_eq!(file.verify_column("x").unwrap_err().to_string(), what);
        }
    }
    assert!(
        n_lacks > 0 && n_more > 0 && n_lacks + n_more > 8,
        "{n_lacks}, {n_more}"
    );
    // Zeros between checksum and blocks.
    let told = lies.told(|bytes| bytes[place.start + 5] = 1);
    let what = open(&told).unwrap().verify().unwrap_err().to_string();
    assert!(what.contains("bloom.reserved"), "{what}");
}

#[test]
fn damaged_filters_are_errors_with_their_place() {
    let lies = Lies::of_table(&one_column(numbers(100_000)), with_blooms(deterministic()));
    let place = filters_of(&lies, &["x"]);
    let mut bytes = lies.bytes.clone();
    // One bit of each shard.
    for shard in place.step_by(4_104) {
        bytes[shard + 20] ^= 4;
    }
    let file = open(&bytes).unwrap();
    let error = file.scan().filter(col("x").eq(3)).count().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    let what = error.to_string();
    assert!(
        what.contains("column `x`") && what.contains("bloom filter of the rows"),
        "{what}"
    );
    // Whoever does not need them reads the file.
    let n_below = scattered(100_000).filter(|it| *it < 0).count() as u64;
    assert_eq!(file.scan().filter(col("x").lt(0)).count().unwrap(), n_below);
    assert!(file.verify_digests().is_err());
    // And nobody gives them a good digest.
    assert!(file.reorder_into(["x"], &mut Vec::new()).is_err());
}

/// Places and lengths that are not those of the column's rows.
#[test]
fn filters_of_other_lengths_are_refused() {
    let lies = Lies::of_table(&one_column(numbers(1_000)), with_blooms(deterministic()));
    let (record, column) = lies.record(&["x"]);
    let place = filters_of(&lies, &["x"]);
    let place_at = lies.find(
        column.unwrap()..record.end,
        &(place.start as u64).to_le_bytes(),
    );
    let length = place.len() as u64;
    for (at, value) in [
        (place_at, 0),
        (place_at, place.start as u64 + 4),
        (place_at, 1 << 50),
        (place_at, u64::MAX - 7),
        (place_at + 8, 0),
        (place_at + 8, length + 8),
        (place_at + 8, length - 8),
        (place_at + 8, length + 4),
        (place_at + 8, 1 << 47),
        (place_at + 8, u64::MAX - 7),
    ] {
        let told = lies.told(|bytes| bytes[at..at + 8].copy_from_slice(&value.to_le_bytes()));
        let file = open(&told).and_then(|file| file.scan().filter(col("x").eq(3)).count());
        let error = file.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        let what = error.to_string();
        assert!(
            what.contains("blooms") || what.contains("bloom filters"),
            "{what}"
        );
    }
    // A record that says that a column of floating-point numbers has some.
    let floats = Float64Array::from_iter_values((0..9_000).map(f64::from));
    let options = deterministic().with_page_bytes(20_000);
    let lies = Lies::of_table(&one_column(Arc::new(floats)), options);
    let (_, column) = lies.record(&["x"]);
    let told = lies.told(|bytes| bytes[column.unwrap() + 1] ^= 0xc0);
    let error = open(&told).and_then(|file| file.verify()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("bloom filters of a column that can have none"),
        "{error}"
    );
}

/// A value that is not there costs a few pieces of filters in a table that waits for each read; one that is there costs
/// its run besides.
#[test]
fn little_is_read_to_find_a_value() {
    let n_rows = 400_000;
    let batch = RecordBatch::try_from_iter([
        ("x", numbers(n_rows)),
        (
            "y",
            Arc::new(Int64Array::from_iter_values(0..n_rows as i64)) as ArrayRef,
        ),
    ])
    .unwrap();
    let options = deterministic().with_page_bytes(1 << 20);
    let [plain, filtered] = [options.clone(), with_blooms(options)].map(|options| {
        let source = Slow::of(written(&batch, options));
        let options = OpenOptions::new().with_threads(Threads::One);
        let file = File::open_reader(source.clone(), options).unwrap();
        file.scan().filter(col("y").eq(-1)).count().unwrap();
        // What is known of columns is read once.
        file.scan()
            .filter(col("x").eq(7).and(col("y").eq(-1)))
            .count()
            .unwrap();
        source.counted();
        (source, file)
    });
    let read = |side: &(Arc<Slow>, File), expr: Expr| {
        let before = side.0.read_bytes();
        let n = side.1.scan().filter(expr).count().unwrap();
        (n, side.0.read_bytes() - before, side.0.counted().0)
    };
    let absent = (0..1_000)
        .find(|value| counted(&filtered.1, col("x").eq(*value)).1 == n_rows)
        .unwrap();
    filtered.0.counted();
    let (n, all_bytes, _) = read(&plain, col("x").eq(absent));
    assert!(n == 0 && all_bytes > 3 << 20, "{all_bytes}");
    let (n, bytes, waves) = read(&filtered, col("x").eq(absent));
    assert_eq!(n, 0);
    // A shard of each of 7 runs, and what lies between where that is read over.
    assert!(bytes < all_bytes / 3 && waves <= 2, "{bytes}, {waves}");
    let there = scattered(n_rows).nth(200_000).unwrap();
    let (n, bytes, _) = read(&filtered, col("x").eq(there));
    assert_eq!(n, 1);
    assert!(bytes < all_bytes / 2, "{bytes} of {all_bytes}");
    // Where the zones decide, no filter is asked.
    let (n, bytes, _) = read(&filtered, col("x").eq(there).and(col("y").lt(0)));
    assert_eq!(
        (n, bytes),
        (0, read(&plain, col("x").eq(there).and(col("y").lt(0))).1)
    );
}

/// `IN`, `OR` and `NOT` pass over the runs that hold none of the values, and of those that hold some give all rows.
#[test]
fn several_values_are_looked_for() {
    let n_rows = 300_000;
    let runs = |row: u64| row / RUN_ROWS;
    let file = open(&written(
        &one_column(numbers(n_rows)),
        with_blooms(deterministic()),
    ))
    .unwrap();
    let value = |row: usize| scattered(n_rows).nth(row).unwrap();
    let (a, b) = (value(70_000), value(90_000));
    assert_eq!((runs(70_000), runs(90_000)), (1, 1));
    for (expr, n) in [
        (col("x").is_in([a, b]), 2),
        (col("x").eq(a).or(col("x").eq(b)), 2),
        (col("x").eq(a).and(col("x").eq(b)), 0),
        (Expr::not(col("x").ne(a)), 1),
        (col("x").is_in([a, b]).and(col("x").gt(i64::MIN)), 2),
    ] {
        let text = expr.to_string();
        let (found, rejected) = counted(&file, expr);
        assert_eq!(found, n, "{text}");
        // Of five runs four hold none, but for what seems to be there.
        assert!(rejected > 150_000, "{text}: {rejected}");
    }
    assert_eq!(counted(&file, col("x").ne(a)).0 as u64, n_rows - 1);
    // More values than are looked for one by one.
    let many: Vec<i64> = (0..1_000).map(|i| value(i * 299)).collect();
    assert_eq!(counted(&file, col("x").is_in(many)), (1_000, 0));
    // A value that is not there passes nothing, so that its negation passes all, and nothing is read.
    let absent = (0..1_000)
        .find(|value| counted(&file, col("x").eq(*value)).1 == n_rows)
        .unwrap();
    let mut scan = file.scan().filter(col("x").ne(absent)).build().unwrap();
    let rows: usize = scan.by_ref().map(|batch| batch.unwrap().num_rows()).sum();
    let counts = scan.filter_counts();
    assert_eq!((rows as u64, counts[0].rows), (n_rows, 0), "{counts:?}");
}

/// Filters go with their column when pages are put into another order, before and after an erasure.
#[test]
fn reordered_files_keep_filters() {
    let level = ErasureLevel::Erase;
    let batch = RecordBatch::try_from_iter([("n", numbers(90_000)), ("x", numbers(90_000))]);
    let options = deterministic().with_page_bytes(100_000);
    let options = with_blooms(options.with_erasure(level).with_salt_key([2; 32]));
    let file = open(&written(&batch.unwrap(), options)).unwrap();
    let rows: RowSet = (3_000..9_000).collect();
    let later = open(&erased(&file, &rows, level)).unwrap();
    for file in [file, later] {
        let mut bytes = Vec::new();
        file.reorder_into(["x", "n"], &mut bytes).unwrap();
        let new = open(&bytes).unwrap();
        new.verify().unwrap();
        let bloom_bytes = |file: &File| -> Vec<u64> {
            let columns = file.inspect().unwrap().columns;
            columns.iter().map(|it| it.bloom_bytes).collect()
        };
        assert_eq!(bloom_bytes(&new), bloom_bytes(&file));
        for row in [0, 4_000, 50_000] {
            let value = scattered(90_000).nth(row).unwrap();
            let found = counted(&new, col("x").eq(value));
            assert_eq!(found, counted(&file, col("x").eq(value)));
            assert!(found.1 > 0);
        }
    }
}

/// The bits are those of Parquet's filters, of which this is another program's reader.
#[test]
fn bits_are_those_that_parquet_reads() {
    let lies = Lies::of_table(&one_column(numbers(60_000)), with_blooms(deterministic()));
    let filter = &lies.bytes[filters_of(&lies, &["x"])];
    let bits: Vec<u8> = filter
        .chunks(4_104)
        .flat_map(|shard| &shard[8..])
        .copied()
        .collect();
    let theirs = parquet::bloom_filter::Sbbf::new(&bits);
    let there: Vec<i64> = scattered(60_000).collect();
    assert!(there.iter().all(|value| theirs.check(value)));
    let file = open(&lies.bytes).unwrap();
    let mut n_absent = 0;
    for value in 0..300_i64 {
        let is_absent = counted(&file, col("x").eq(value)).1 == 60_000;
        assert_eq!(is_absent, !theirs.check(&value), "{value}");
        n_absent += u32::from(is_absent);
    }
    assert!(n_absent > 280, "{n_absent}");
}

/// Keys of more bytes than a zone's bounds have.
#[test]
fn long_binary_keys_are_found() {
    let key = |i: u64| {
        let word = i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
        word.repeat(8)
    };
    let keys = FixedSizeBinaryArray::try_from_iter((0..20_000).map(key)).unwrap();
    let keys: ArrayRef = Arc::new(keys);
    let options = with_blooms(deterministic().with_page_bytes(200_000));
    let file = open(&written(&one_column(keys.clone()), options)).unwrap();
    file.verify().unwrap();
    assert_eq!(file.inspect().unwrap().columns[0].zone_bytes, 0);
    for row in [0, 9_999, 19_999] {
        let (found, rejected) = counted(&file, col("x").eq(literal(&keys, row).unwrap()));
        assert!(found == 1 && rejected > 10_000, "{found}, {rejected}");
    }
}
