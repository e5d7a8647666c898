//! Zones: what they say is what the rows are, for every type and after erasures; lies of theirs are found; and a filter
//! reads no block that they rule out.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use tarsia::filter::{Expr, col};
use tarsia::{
    ColumnOptions, ErasureLevel, ErrorKind, File, OpenOptions, Precision, RowSet, Threads,
    WriteOptions,
};
use tarsia_metadata::NodeRecord;
use tarsia_testkit::arrays::{array, flat_types, profiles};
use tarsia_testkit::effort::some_or_all;

use crate::common::{deterministic, one_column, open, write};
use crate::erasure::{contains_at_any_bit, erased};
use crate::filter::in_order;
use crate::lies::Lies;
use crate::waves::Slow;

fn options() -> WriteOptions {
    deterministic().with_page_bytes(40_000)
}

fn written(batch: &RecordBatch, options: WriteOptions) -> Vec<u8> {
    write(batch.schema(), std::slice::from_ref(batch), options)
}

/// Whether the only column of a file has a zone map.
fn has_zones(file: &File) -> bool {
    file.inspect().unwrap().columns[0].zone_bytes > 0
}

#[test]
fn zones_of_every_type_say_what_rows_are() {
    let n_rows = 6_000;
    let step = some_or_all(7, 1);
    let mut n_with_zones = 0;
    for (number, data_type) in flat_types().iter().enumerate() {
        let profiles = profiles(number as u64).into_iter();
        for profile in profiles.skip(number % step).step_by(step) {
            let values = array(data_type, n_rows, profile);
            for values in [values.clone(), in_order(values)] {
                for level in [ErasureLevel::Hide, ErasureLevel::Erase] {
                    let options = options().with_erasure(level).with_salt_key([1; 32]);
                    let bytes = written(&one_column(values.clone()), options);
                    let file = open(&bytes).unwrap();
                    file.verify().unwrap();
                    n_with_zones += usize::from(has_zones(&file));
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

#[test]
fn columns_say_whether_they_have_zones() {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values((0..9_000).map(|i| i * i)));
    let batch = one_column(numbers);
    let none = ColumnOptions::new().with_zones(false);
    let some = ColumnOptions::new().with_zones(true);
    for (options, expected) in [
        (options(), true),
        (options().with_zones(false), false),
        (options().with_column("x", none), false),
        (options().with_zones(false).with_column("x", some), true),
    ] {
        let file = open(&written(&batch, options)).unwrap();
        assert_eq!(has_zones(&file), expected);
        file.verify().unwrap();
        assert_eq!(file.scan().filter(col("x").lt(100)).count().unwrap(), 10);
    }
}

/// The smallest and the largest values are at rows that are erased.
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
    let texts = (0..n_rows).map(|i| match (planted(i), i % 5_000 < 2_500) {
        (false, _) => format!("name {i:06} of a customer"),
        (true, true) => "\u{1}secret of somebody, low".to_owned(),
        (true, false) => "zz secret of somebody else, high".to_owned(),
    });
    let floats = (0..n_rows).map(|i| match planted(i) {
        false => i as f64 / 3.0,
        true => -9.876_543_210_123_45e77,
    });
    let batch = RecordBatch::try_from_iter([
        (
            "n",
            Arc::new(Int64Array::from_iter_values(numbers)) as ArrayRef,
        ),
        (
            "t",
            Arc::new(StringArray::from_iter_values(texts)) as ArrayRef,
        ),
        (
            "f",
            Arc::new(Float64Array::from_iter_values(floats)) as ArrayRef,
        ),
    ])
    .unwrap();
    let level = ErasureLevel::Erase;
    for strict in [false, true] {
        let options = options().with_erasure(level).with_salt_key([3; 32]);
        let strictly = ColumnOptions::new().with_strict_erasure();
        let options = match strict {
            true => options
                .with_column("n", strictly.clone())
                .with_column("f", strictly),
            false => options,
        };
        let file = open(&written(&batch, options)).unwrap();
        let patterns = [
            low.to_le_bytes().to_vec(),
            high.to_le_bytes().to_vec(),
            b"secret".to_vec(),
            (-9.876_543_210_123_45e77_f64).to_le_bytes().to_vec(),
        ];
        let counts = |file: &File| {
            let count = |expr: Expr| file.scan().filter(expr).count().unwrap();
            [
                count(col("n").lt(0)),
                count(col("n").gt(n_rows * 1_000)),
                count(col("t").lt("name")),
                count(col("t").gt("z")),
                count(col("f").lt(0.0)),
            ]
        };
        assert_eq!(counts(&file), [4, 4, 4, 4, 8]);
        let rows: RowSet = (0..n_rows)
            .filter(|i| planted(*i))
            .map(|i| i as u64)
            .collect();
        let bytes = erased(&file, &rows, level);
        for pattern in patterns {
            assert!(
                !contains_at_any_bit(&bytes, std::slice::from_ref(&pattern)),
                "{pattern:?}"
            );
        }
        let file = open(&bytes).unwrap();
        file.verify().unwrap();
        assert_eq!(counts(&file), [0; 5]);
        let mut scan = file.scan().filter(col("n").lt(0)).build().unwrap();
        assert!(scan.next().is_none());
        let [count] = &scan.filter_counts()[..] else {
            panic!("one conjunct");
        };
        // The bounds are those of the rows that are left.
        assert_eq!((count.rejected_by_bounds, count.rows), (n_rows as u64, 0));
    }
}

/// The place of a column's zones.
fn place_of(lies: &Lies, path: &[&str]) -> Range<usize> {
    let (range, _) = lies.record(path);
    let record = NodeRecord::parse(&lies.bytes[range]).unwrap();
    let zones = record.column.unwrap().zones.expect("zones");
    let start = zones.place as usize;
    start..start + zones.length as usize
}

/// Finds lies in the zones of a column of numbers, by `verify`, and asks for some rows by what they say.
pub(crate) fn lies_are_found(lies: &Lies, path: &[&str]) {
    let name = path.join(".");
    let zones = place_of(lies, path);
    let start = zones.start;
    let (mut n_refused, mut n_zones) = (0, 0);
    for at in (start + 8..zones.end).step_by(3) {
        let told = lies.told(|bytes| bytes[at] ^= 1);
        let what = match open(&told).and_then(|file| file.verify()) {
            Ok(_) => panic!("byte {} of the zones", at - start),
            Err(error) => error.to_string(),
        };
        assert!(what.contains(&format!("column `{name}`")), "{what}");
        n_zones += usize::from(what.contains("zone "));
        n_refused += 1;
    }
    // Of the others the layout is wrong.
    assert!(n_zones * 3 > n_refused, "{n_zones} of {n_refused}");
    // A reader that does not verify gets an error, or what the zones say.
    for at in zones {
        for bits in [1, 0x80, 0xff] {
            let told = lies.told(|bytes| bytes[at] ^= bits);
            let _ = open(&told).and_then(|file| file.scan().filter(col(&name).gt(500)).count());
        }
    }
}

#[test]
fn lies_of_zones_are_found() {
    let numbers = (0..9_000).map(|i| (i % 10 != 3).then_some(i as f64 * 1.5));
    let lies = Lies::of_table(
        &one_column(Arc::new(numbers.collect::<Float64Array>())),
        options(),
    );
    lies_are_found(&lies, &["x"]);
    let place = lies.told(|bytes| {
        let (record, column) = lies.record(&["x"]);
        let place = (place_of(&lies, &["x"]).start as u64).to_le_bytes();
        let at = lies.find(column.unwrap()..record.end, &place);
        bytes[at + 7] = 1;
    });
    let error = open(&place).and_then(|file| file.verify()).unwrap_err();
    assert!(error.to_string().contains("column.zones"), "{error}");
}

/// Requests for the zones and nothing else, if no row can pass; and one wave for the zones of all columns of a filter.
#[test]
fn what_zones_rule_out_is_not_read() {
    let column = |seed: i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(
            (0..60_000).map(|i| i * 3 + seed),
        ))
    };
    let names: Vec<String> = (0..300).map(|i| format!("feature_{i}")).collect();
    let batch =
        RecordBatch::try_from_iter(names.iter().zip(0..).map(|(name, i)| (name, column(i))));
    let columns = ["feature_7", "feature_150", "feature_299"];
    let source = Slow::of(written(&batch.unwrap(), options()));
    let options = OpenOptions::new().with_threads(Threads::One);
    let file = File::open_reader(source.clone(), options).unwrap();
    source.counted();
    let filter = || {
        col(columns[0])
            .lt(0)
            .and(col(columns[1]).gt(5).and(col(columns[2]).gt(5)))
    };
    assert_eq!(file.scan().filter(filter()).count().unwrap(), 0);
    let (waves, requests) = source.counted();
    // Buckets, records, zones, the record of the root.
    assert!(waves <= 4 && requests <= 9, "{waves}, {requests}");
    assert_eq!(file.scan().filter(filter()).count().unwrap(), 0);
    // The record of the root.
    assert!(source.counted().1 <= 1);
    // One of many rows: the blocks of its zone.
    let one = col(columns[0]).eq(30_007);
    let batch = file
        .scan()
        .columns(&columns)
        .filter(one)
        .build()
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    assert_eq!(batch.num_rows(), 1);
    let (waves, requests) = source.counted();
    assert!(waves <= 4 && requests <= 8, "{waves}, {requests}");
}

#[test]
fn statistics_say_whether_they_are_exact() {
    let long = |i: i64| format!("{i:05} of many more than thirty-two bytes");
    let batch = RecordBatch::try_from_iter_with_nullable([
        (
            "n",
            Arc::new(Int64Array::from_iter(
                (0..20_000).map(|i| (i % 9 != 1).then_some(i - 7)),
            )) as ArrayRef,
            true,
        ),
        (
            "t",
            Arc::new(StringArray::from_iter_values((0..20_000).map(long))) as ArrayRef,
            true,
        ),
    ])
    .unwrap();
    let one = |value: i64| Arc::new(Int64Array::from_iter_values([value])) as ArrayRef;
    for level in [ErasureLevel::Hide, ErasureLevel::Erase] {
        let options = options().with_erasure(level).with_salt_key([5; 32]);
        let file = open(&written(&batch, options)).unwrap();
        let all = file.statistics(None).unwrap();
        assert_eq!((all.rows, all.columns.len()), (20_000, 2));
        let [n, t] = &all.columns[..] else {
            panic!("two columns");
        };
        assert_eq!(n.nulls, Precision::Exact(20_000_u64.div_ceil(9)));
        assert_eq!(n.min, Precision::Exact(one(-7)));
        assert_eq!(n.max, Precision::Exact(one(19_991)));
        assert!(n.encoded_bytes > 0);
        let cut: ArrayRef = Arc::new(StringArray::from(vec!["00000 of many more than thirty-t"]));
        assert_eq!(
            (&t.min, &t.max),
            (&Precision::Inexact(cut), &Precision::Absent)
        );
        let rows: RowSet = (0..20_000)
            .filter(|row| *row < 100 || *row >= 15_000)
            .collect();
        let file = open(&erased(&file, &rows, level)).unwrap();
        let left = file.statistics(Some(&["n"])).unwrap();
        assert_eq!((left.rows, left.columns.len()), (14_900, 1));
        let expected = match level {
            ErasureLevel::Erase => (Precision::Exact(one(94)), Precision::Exact(one(14_992))),
            _ => (Precision::Inexact(one(-7)), Precision::Inexact(one(19_991))),
        };
        assert_eq!(
            (left.columns[0].min.clone(), left.columns[0].max.clone()),
            expected
        );
    }
    let nobody = open(&written(&batch, options()))
        .unwrap()
        .statistics(Some(&["x"]));
    assert_eq!(nobody.unwrap_err().kind(), ErrorKind::NoSuchColumn);
}

#[test]
fn pruning_leaves_all_rows_that_pass() {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values((0..100_000).map(|i| i * i)));
    let file = open(&written(&one_column(numbers), options())).unwrap();
    let filter = || col("x").between(1_000_000, 4_000_000);
    let candidates = file.scan().filter(filter()).prune_only().unwrap();
    let passing = file.scan().filter(filter()).matching_rows().unwrap();
    assert_eq!(passing.and(&candidates), passing);
    assert!(candidates.len() < 20_000, "{}", candidates.len());
    let part = file
        .scan()
        .rows(1_200..1_300)
        .filter(filter())
        .prune_only()
        .unwrap();
    assert_eq!(part, candidates.within(1_200..1_300));
    assert_eq!(file.scan().prune_only().unwrap().len(), 100_000);
}

/// Zones that somebody changed, with a right checksum, do not get a good digest.
#[test]
fn changed_zones_are_not_copied() {
    let numbers = Int64Array::from_iter_values(0..9_000);
    let lies = Lies::of_table(&one_column(Arc::new(numbers)), options());
    let (range, _) = lies.record(&["x"]);
    let record = NodeRecord::parse(&lies.bytes[range]).unwrap();
    let zones = record.column.unwrap().zones.expect("zones");
    let (start, end) = (zones.place as usize, (zones.place + zones.length) as usize);
    let mut bytes = lies.bytes.clone();
    bytes[end - 12] ^= 1;
    let crc = tarsia_metadata::crc32c(&[&bytes[start..start + 4], &bytes[start + 8..end]]);
    bytes[start + 4..start + 8].copy_from_slice(&crc.to_le_bytes());
    let file = open(&bytes).unwrap();
    let refused = file.reorder_into(["x"], &mut Vec::new()).unwrap_err();
    assert!(refused.to_string().contains("metadata"), "{refused}");
}
