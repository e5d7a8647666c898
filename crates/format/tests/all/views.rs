//! Strings as views: of every type, and borrowed from the file where they can be.

use std::ops::Range;
use std::sync::Arc;

use crate::common::{deterministic, write};
use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, ListArray, RecordBatch, StringViewArray,
    UInt64Array,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow_cast::display::array_value_to_string;
use arrow_schema::{DataType, Field, Schema};
use tarsia::{Access, File, OpenOptions, Threads, WriteOptions};
use tarsia_arrow::leaf_paths;
use tarsia_io::{MemoryFile, ReadAt};
use tarsia_testkit::nested::{is_uninhabited, nested_array, nested_profiles, nested_types};
use tarsia_testkit::rng::Rng;

fn views() -> OpenOptions {
    OpenOptions::new()
        .with_views(true)
        .with_threads(Threads::One)
}

fn column(array: ArrayRef) -> RecordBatch {
    let field = Field::new("x", array.data_type().clone(), true);
    RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array]).unwrap()
}

/// Whether some type within is like that; dictionaries stay what they are.
fn has(data_type: &DataType, like: fn(&DataType) -> bool) -> bool {
    let is_dictionary = matches!(data_type, DataType::Dictionary(..));
    let mut children = tarsia_metadata::children(data_type).into_iter();
    like(data_type) || !is_dictionary && children.any(|field| has(field.data_type(), like))
}

fn is_no_view(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary
    )
}

fn same_text(got: &dyn Array, want: &dyn Array, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    for row in 0..got.len() {
        let text = |array| array_value_to_string(array, row).unwrap();
        assert_eq!(text(got), text(want), "{what}, row {row}");
    }
}

#[test]
fn every_type_comes_with_views_of_its_strings() {
    let mut n_types = 0;
    for data_type in nested_types() {
        let is_wanted = has(&data_type, is_no_view);
        if !is_wanted || is_uninhabited(&data_type) || leaf_paths(&data_type, true).is_err() {
            continue;
        }
        n_types += 1;
        for profile in nested_profiles(3) {
            let batch = column(nested_array(&data_type, 120, &profile));
            let bytes = write(
                batch.schema(),
                std::slice::from_ref(&batch),
                deterministic(),
            );
            let file = File::open_reader(Arc::new(MemoryFile::new(bytes)), views()).unwrap();
            let got = file.take(&(0..120).collect::<Vec<_>>()).read().unwrap();
            let what = format!("{data_type}");
            assert_eq!(file.schema().unwrap(), got.schema(), "{what}");
            let left = has(got.schema().field(0).data_type(), is_no_view);
            assert!(!left, "{what}: {}", got.schema());
            same_text(got.column(0), batch.column(0), &what);
            file.verify().unwrap();
            for part in file.scan().rows(7..101).batch_rows(40).build().unwrap() {
                assert_eq!(part.unwrap().schema(), got.schema());
            }
        }
    }
    assert!(n_types > 10);
}

/// So many images, one in `null_one_in` null.
fn images(n: usize, bytes: Range<usize>, null_one_in: usize) -> BinaryArray {
    let mut rng = Rng::new(n as u64);
    let values: Vec<Option<Vec<u8>>> = (0..n)
        .map(|row| {
            let len = bytes.start + rng.below(bytes.len());
            let value = (0..len).map(|_| rng.u64() as u8).collect();
            (null_one_in == 0 || row % null_one_in != 1).then_some(value)
        })
        .collect();
    values.iter().map(Option::as_deref).collect()
}

/// As `tarsia_io::lie_alone` has it, with room.
const ALONE_BYTES: usize = 8 << 10;

struct Mapped {
    file: File,
    memory: Range<usize>,
}

fn map(batch: &RecordBatch, options: WriteOptions) -> Mapped {
    let bytes = write(batch.schema(), std::slice::from_ref(batch), options);
    let reader = Arc::new(MemoryFile::new(bytes));
    let memory = reader.mapped().unwrap().as_ptr_range();
    Mapped {
        file: File::open_reader(reader, views()).unwrap(),
        memory: memory.start as usize..memory.end as usize,
    }
}

impl Mapped {
    /// Whether all buffers of the views lie in the file.
    fn holds(&self, views: &BinaryViewArray) -> bool {
        let mut buffers = views.data_buffers().iter();
        buffers.all(|buffer| {
            let start = buffer.as_ptr() as usize;
            self.memory.contains(&start) && start + buffer.len() <= self.memory.end
        })
    }
}

#[test]
fn images_are_borrowed() {
    for (bytes, null_one_in) in [
        (0..30, 0),
        (0..30, 3),
        (200..900, 0),
        (200..900, 2),
        (3000..50_000, 0),
        (3000..50_000, 20),
    ] {
        let what = format!("{bytes:?} bytes, null 1 in {null_one_in}");
        let array = images(400, bytes, null_one_in);
        let batch = column(Arc::new(array.clone()));
        let options = deterministic().with_page_bytes(1 << 20);
        let mapped = map(&batch, options);
        for (rows, batch_rows) in [(0..400, 400), (0..400, 33), (17..351, 100)] {
            let scan = mapped.file.scan().rows(rows.clone()).batch_rows(batch_rows);
            let mut at = rows.start as usize;
            for part in scan.build().unwrap() {
                let part = part.unwrap();
                let part = part.column(0).as_binary_view();
                // What is little and lies alone is read, not mapped.
                let bytes: usize = part.iter().flatten().map(<[u8]>::len).sum();
                assert!(bytes < ALONE_BYTES || mapped.holds(part), "{what}");
                let want = array.slice(at, part.len());
                assert!(part.iter().eq(want.iter()), "{what}");
                at += part.len();
            }
            assert_eq!(at as u64, rows.end);
        }
        for rows in [vec![7], vec![399, 0, 3, 3], vec![20, 21, 22, 23]] {
            let taken = mapped.file.take(&rows).read().unwrap();
            let taken = taken.column(0).as_binary_view();
            let want = rows.iter().map(|row| {
                array
                    .is_valid(*row as usize)
                    .then(|| array.value(*row as usize))
            });
            assert!(taken.iter().eq(want), "{what}");
        }
    }
}

#[test]
fn what_is_borrowed_outlives_the_file_and_is_little_more_than_the_values() {
    let array = images(50, 20_000..30_000, 0);
    let mapped = map(&column(Arc::new(array.clone())), deterministic());
    let taken = mapped.file.take(&[3, 40]).read().unwrap();
    let scanned: Vec<_> = mapped
        .file
        .scan()
        .build()
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let of = |batch: &RecordBatch| -> usize {
        let views = batch.column(0).as_binary_view();
        assert!(mapped.holds(views));
        views.data_buffers().iter().map(|buffer| buffer.len()).sum()
    };
    let values = array.value(3).len() + array.value(40).len();
    assert_eq!(of(&taken), values);
    let all: usize = scanned.iter().map(of).sum();
    assert!(all < array.value_data().len() * 51 / 50, "{all}");
    drop(mapped);
    let views = taken.column(0).as_binary_view();
    assert_eq!(
        (views.value(0), views.value(1)),
        (array.value(3), array.value(40))
    );
}

#[test]
fn items_of_lists_are_borrowed_and_spread_below_nulls() {
    let items = images(300, 100..5000, 7);
    let lengths = (0..100).map(|row| [0, 1, 5, 6][row % 4]);
    let nulls = NullBuffer::from_iter((0..100).map(|row| row % 10 != 4));
    let item = Arc::new(Field::new("item", DataType::Binary, true));
    let offsets = OffsetBuffer::<i32>::from_lengths(lengths);
    let lists = ListArray::new(item, offsets, Arc::new(items.clone()), Some(nulls.clone()));
    let mapped = map(&column(Arc::new(lists.clone())), deterministic());
    let mut at = 0;
    for part in mapped.file.scan().batch_rows(30).build().unwrap() {
        let part = part.unwrap();
        let part = part.column(0).as_list::<i32>();
        assert!(mapped.holds(part.values().as_binary_view()));
        for (row, got) in part.iter().enumerate() {
            let want = lists.is_valid(at + row).then(|| lists.value(at + row));
            let got = got.as_ref().map(|got| got.as_binary_view().iter());
            let want = want.as_ref().map(|want| want.as_binary::<i32>().iter());
            assert!(match (got, want) {
                (None, None) => true,
                (Some(got), Some(want)) => got.eq(want),
                _ => false,
            });
        }
        at += part.len();
    }
    // Values below null structs have slots in Arrow, but are not stored.
    let fields = vec![Field::new("image", DataType::Binary, true)].into();
    let images = images(100, 100..5000, 3);
    let parents =
        arrow_array::StructArray::new(fields, vec![Arc::new(images.clone())], Some(nulls));
    let mapped = map(&column(Arc::new(parents.clone())), deterministic());
    let batch = mapped
        .file
        .take(&(0..100).collect::<Vec<_>>())
        .read()
        .unwrap();
    let got = batch.column(0).as_struct();
    let views = got.column(0).as_binary_view();
    assert!(mapped.holds(views));
    for row in (0..100).filter(|row| parents.is_valid(*row)) {
        assert_eq!(views.is_valid(row), images.is_valid(row));
        assert!(views.is_null(row) || views.value(row) == images.value(row));
    }
}

#[test]
fn files_that_are_read_give_copies_and_mapped_ones_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("images.tarsia");
    let array = images(60, 1000..9000, 9);
    let batch = column(Arc::new(array.clone()));
    std::fs::write(
        &path,
        write(
            batch.schema(),
            std::slice::from_ref(&batch),
            deterministic(),
        ),
    )
    .unwrap();
    for access in [Access::Map, Access::Read] {
        let options = views().with_access(access);
        let file = File::open_with(&path, options).unwrap();
        let first: Vec<_> = (0..2)
            .map(|_| {
                let batch = file.take(&[5]).read().unwrap();
                let views = batch.column(0).as_binary_view();
                assert_eq!(views.value(0), array.value(5));
                views.data_buffers()[0].as_ptr() as usize
            })
            .collect();
        if access == Access::Map {
            assert_eq!(first[0], first[1], "the same place of the map");
        }
        let mut scanned = file.scan().build().unwrap();
        let batch = scanned.next().unwrap().unwrap();
        drop(file);
        assert!(batch.column(0).as_binary_view().iter().eq(array.iter()));
    }
    // As they were written.
    let file = File::open(&path).unwrap();
    assert_eq!(file.schema().unwrap(), batch.schema());
}

#[test]
fn extension_types_and_dictionaries_stay_what_they_are() {
    let dictionary = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    let extension = ("ARROW:extension:name".to_owned(), "x".to_owned());
    let fields = vec![
        Field::new("d", dictionary, true),
        Field::new("e", DataType::Utf8, true).with_metadata([extension].into()),
        Field::new("t", DataType::Utf8, true),
    ];
    let schema = Arc::new(Schema::new(fields));
    let bytes = write(
        schema.clone(),
        &[RecordBatch::new_empty(schema.clone())],
        deterministic(),
    );
    let file = File::open_reader(Arc::new(MemoryFile::new(bytes)), views()).unwrap();
    let got = file.schema().unwrap();
    assert_eq!(got.fields()[..2], schema.fields()[..2]);
    assert_eq!(got.field(2).data_type(), &DataType::Utf8View);
}

#[test]
fn constants_among_images_are_copied() {
    let same: &[u8] = b"the same for many rows, and too long for a view";
    let images = images(300, 9000..20_000, 0);
    // Pages of images, and some of one value alone.
    let rows: Vec<Option<&[u8]>> = (0..300)
        .flat_map(|i| {
            let n_same = if i % 150 == 75 { 3000 } else { 0 };
            let same = (0..n_same).map(move |row| (row % 5 != 3).then_some(same));
            same.chain([Some(images.value(i))])
        })
        .collect();
    let array = BinaryArray::from_iter(rows);
    let options = deterministic().with_page_bytes(60_000);
    let mapped = map(&column(Arc::new(array.clone())), options);
    let trees = mapped.file.inspect_columns("x").unwrap().remove(0).trees;
    assert!(
        trees.iter().any(|(tree, _)| tree == "constant"),
        "{trees:?}"
    );
    for batch_rows in [array.len(), 700] {
        let mut at = 0;
        let mut n_borrowed = 0;
        let mut n_buffers = 0;
        for part in mapped.file.scan().batch_rows(batch_rows).build().unwrap() {
            let part = part.unwrap();
            let views = part.column(0).as_binary_view();
            assert!(views.iter().eq(array.slice(at, views.len()).iter()));
            at += views.len();
            let is_borrowed =
                |buffer: &&Buffer| mapped.memory.contains(&(buffer.as_ptr() as usize));
            n_borrowed += views.data_buffers().iter().filter(is_borrowed).count();
            n_buffers += views.data_buffers().len();
        }
        assert_eq!(at, array.len());
        assert!(
            0 < n_borrowed && n_borrowed < n_buffers,
            "{n_borrowed} of {n_buffers}"
        );
    }
}

/// Cities, some with names longer than a view holds and some that are no ASCII, the n-th row null where `is_null` says
/// so. Every `rows_of_set` rows the cities change, so that pages have dictionaries of their own.
fn cities(rows: usize, rows_of_set: usize, is_null: fn(usize) -> bool) -> StringViewArray {
    let mut rng = Rng::new(5);
    let names = [
        "Oslo",
        "Łódź",
        "São Tomé and Príncipe",
        "",
        "Llanfairpwllgwyngyll",
    ];
    let city = |row: usize, pick: usize| {
        let set = row / rows_of_set;
        format!("{} {}", names[pick % names.len()], (pick / 5) * (set + 1))
    };
    let values = (0..rows).map(|row| {
        let pick = rng.below(60);
        (!is_null(row)).then(|| city(row, pick))
    });
    values.collect()
}

#[test]
fn dictionary_strings_come_as_views_of_the_dictionary() {
    for is_null in [|_: usize| false, |row| row % 7 == 3, |row| row < 3000] {
        let array = cities(100_000, 30_000, is_null);
        let batch = column(Arc::new(array.clone()));
        let options = deterministic().with_page_bytes(600_000);
        let bytes = write(batch.schema(), std::slice::from_ref(&batch), options);
        let file = File::open_reader(Arc::new(MemoryFile::new(bytes)), OpenOptions::new()).unwrap();
        for batch_rows in [40_000, 9_999, 1024, 100] {
            let scan = file.scan().batch_rows(batch_rows).build().unwrap();
            let mut from = 0;
            for part in scan {
                let part = part.unwrap();
                let got = part.column(0).as_string_view();
                assert_eq!(got, &array.slice(from, got.len()));
                got.to_data().validate_full().unwrap();
                // Each string that does not lie in its view is held once.
                let held: usize = got.data_buffers().iter().map(Buffer::len).sum();
                if batch_rows >= 1024 {
                    assert!(held < 20_000, "{held} bytes behind {} views", got.len());
                }
                from += got.len();
            }
            assert_eq!(from, array.len());
        }
        let rows: Vec<u64> = (0..100_000).step_by(17).chain([5, 5, 39_999]).collect();
        let got = file.take(&rows).read().unwrap();
        let indices = UInt64Array::from(rows);
        let want = arrow_select::take::take(&array, &indices, None).unwrap();
        assert_eq!(got.column(0), &want);
    }
}
