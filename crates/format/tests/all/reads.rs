//! How much of a file a single row costs.

use std::sync::Arc;

use crate::common::{deterministic, write};
use arrow_array::cast::AsArray;
use arrow_array::types::Float32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeListArray, Float32Array, Int64Array, RecordBatch,
    StringArray,
};
use arrow_schema::{DataType, Field, Schema};
use tarsia::{File, LAYOUT_KEY, OpenOptions, Reads, Threads};
use tarsia_io::{CountingReader, MemoryFile};
use tarsia_testkit::arrays::{Distribution, Nulls};
use tarsia_testkit::nested::{Lengths, NestedProfile, nested_array};
use tarsia_testkit::rng::Rng;

/// A block's payload with validity, and its header.
const BLOCK_BYTES_MAX: u64 = 8192 + 1024 + 64;

struct Counted {
    file: File,
    reader: Arc<CountingReader<MemoryFile>>,
}

fn open(batch: &RecordBatch) -> Counted {
    let bytes = write(batch.schema(), std::slice::from_ref(batch), deterministic());
    let reader = Arc::new(CountingReader::new(MemoryFile::new(bytes)));
    let options = OpenOptions::new().with_threads(Threads::One);
    let file = File::open_reader(reader.clone(), options).unwrap();
    Counted { file, reader }
}

fn column(array: ArrayRef) -> RecordBatch {
    let field = Field::new("x", array.data_type().clone(), true);
    RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array]).unwrap()
}

impl Counted {
    /// Counts the reads of a row when the search cache is warm; checked against what the reader was really asked for.
    fn row(&self, row: u64) -> Reads {
        self.file.take(&[row]).read().unwrap();
        self.reader.reset();
        let tarsia::Taken { batch, reads, .. } = self.file.take(&[row]).read_counted().unwrap();
        assert_eq!(batch.num_rows(), 1);
        let asked = self.reader.stats();
        // And once whether the file was changed.
        assert_eq!(asked.requests, reads.requests + 1);
        assert_eq!(asked.bytes, reads.bytes + 192);
        assert_eq!((reads.metadata_requests, reads.metadata_bytes), (0, 0));
        reads
    }
}

fn check(what: &str, array: ArrayRef, row_bytes_max: u64) {
    let rows = array.len();
    let counted = open(&column(array));
    let mut rng = Rng::new(5);
    for _ in 0..50 {
        let reads = counted.row(rng.below(rows) as u64);
        assert!(reads.requests <= 1, "{what}: {reads:?}");
        let most = BLOCK_BYTES_MAX.max(row_bytes_max + 64);
        assert!(reads.bytes <= most, "{what}: {reads:?}");
    }
}

#[test]
fn a_row_costs_one_request_of_one_block() {
    let mut rng = Rng::new(1);
    let n = 200_000;
    let random = Int64Array::from_iter_values((0..n).map(|_| rng.u64() as i64));
    // 1,024 values of 8 bytes.
    check("random integers", Arc::new(random), 8192);
    let small = Int64Array::from_iter_values((0..n).map(|i| i % 1000));
    check("small integers", Arc::new(small), 0);
    let text = StringArray::from_iter_values((0..n).map(|i| format!("row {} of text", i * 7919)));
    check("text", Arc::new(text), 0);
    let long = StringArray::from_iter_values((0..500).map(|i| "long ".repeat(2000 + i)));
    check("long text", Arc::new(long), 5 * 2500);
    let values = Float32Array::from_iter_values((0..384 * 3000).map(|_| rng.u64() as f32));
    let item = Arc::new(Field::new("item", DataType::Float32, true));
    let vectors = FixedSizeListArray::try_new(item, 384, Arc::new(values), None).unwrap();
    check("embeddings", Arc::new(vectors), 0);
}

/// Vectors of so many floats, one row in `null_one_in` of them null.
fn vectors(dimension: i32, rows: usize, null_one_in: usize) -> ArrayRef {
    let mut rng = Rng::new(3);
    let values = (0..dimension as usize * rows).map(|_| f32::from_bits(rng.u64() as u32));
    let values = Float32Array::from_iter_values(values);
    let valid = (0..rows).map(|i| null_one_in == 0 || i % null_one_in != 2);
    let valid = BooleanArray::from_iter(valid.map(|valid| valid.then_some(true)));
    let nulls = valid.nulls().cloned();
    let item = Arc::new(Field::new("item", DataType::Float32, false));
    Arc::new(FixedSizeListArray::new(
        item,
        dimension,
        Arc::new(values),
        nulls,
    ))
}

#[test]
fn a_vector_costs_one_request_of_its_bytes() {
    for (dimension, null_one_in) in [(32, 0), (384, 0), (384, 10), (768, 10), (5000, 10)] {
        let counted = open(&column(vectors(dimension, 2000, null_one_in)));
        let inspected = counted.file.inspect_columns("x").unwrap().remove(0);
        assert_eq!(inspected.trees[0].0, "full-zip plain");
        let nulls = if null_one_in > 0 { 200 } else { 0 };
        assert_eq!(inspected.items, (2000 - nulls) * dimension as u64);
        let share = inspected.search_cache_bytes as f64 / inspected.decoded_bytes as f64;
        assert!(share < 0.001, "{share}");
        for row in [0, 1, 2, 777, 1999] {
            let reads = counted.row(row);
            assert_eq!(reads.requests, 1);
            let most = 4 * dimension as u64 + 64;
            assert!(reads.bytes <= most, "{dimension}: {reads:?}");
        }
    }
    // Fewer bytes than the layout is for, values that gain by being encoded together, and many nulls.
    let item = Arc::new(Field::new("item", DataType::Float32, false));
    let small = Float32Array::from_iter_values((0..384 * 2000).map(|i| (i % 5) as f32));
    let small = FixedSizeListArray::new(item, 384, Arc::new(small), None);
    for array in [vectors(31, 2000, 0), vectors(384, 2000, 3), Arc::new(small)] {
        let counted = open(&column(array));
        let inspected = counted.file.inspect_columns("x").unwrap().remove(0);
        assert!(
            !inspected.trees[0].0.starts_with("full-zip"),
            "{:?}",
            inspected.trees
        );
    }
}

#[test]
fn a_field_and_the_options_choose_the_layout() {
    let array = vectors(64, 500, 0);
    let zipped = |hint: Option<&str>, full_zip_bytes_min| {
        let field = Field::new("x", array.data_type().clone(), true);
        let metadata = hint.map(|hint| (LAYOUT_KEY.to_owned(), hint.to_owned()));
        let field = field.with_metadata(metadata.into_iter().collect());
        let schema = Arc::new(Schema::new(vec![field]));
        let batch = RecordBatch::try_new(schema.clone(), vec![array.clone()]).unwrap();
        let options = deterministic().with_full_zip_bytes_min(full_zip_bytes_min);
        let sink = tarsia_io::MemorySink::new();
        let handle = sink.handle();
        let mut writer = tarsia::Writer::new(sink, schema, options)?;
        writer.write(&batch)?;
        writer.finish()?;
        let file = File::open_reader(
            Arc::new(MemoryFile::new(handle.take().unwrap())),
            OpenOptions::default(),
        )?;
        assert_eq!(file.take(&(0..500).collect::<Vec<_>>()).read()?, batch);
        let inspected = file.inspect_columns("x")?.remove(0);
        Ok::<_, tarsia::Error>(inspected.trees[0].0.starts_with("full-zip"))
    };
    assert!(zipped(None, 256).unwrap());
    assert!(!zipped(None, 257).unwrap());
    assert!(zipped(Some("full-zip"), 257).unwrap());
    assert!(!zipped(Some("mini-block"), 0).unwrap());
    assert!(zipped(Some("neither"), 0).is_err());
}

#[test]
fn a_damaged_vector_is_found_and_its_neighbours_are_read() {
    let array = vectors(384, 300, 10);
    let batch = column(array.clone());
    let mut bytes = write(
        batch.schema(),
        std::slice::from_ref(&batch),
        deterministic(),
    );
    let values = array.as_fixed_size_list().value(100);
    let values: Vec<u8> = values
        .as_primitive::<Float32Type>()
        .values()
        .inner()
        .to_vec();
    let at = bytes
        .windows(64)
        .position(|part| part == &values[..64])
        .unwrap();
    bytes[at + 500] ^= 4;
    let file = File::open_reader(Arc::new(MemoryFile::new(bytes)), OpenOptions::default()).unwrap();
    let error = file.take(&[100]).read().unwrap_err();
    assert_eq!(error.kind(), tarsia::ErrorKind::Corrupt, "{error}");
    assert!(
        error.to_string().contains("column `x.item`, page 0, block"),
        "{error}"
    );
    for row in [99, 101] {
        let taken = file.take(&[row]).read().unwrap();
        assert_eq!(taken, batch.slice(row as usize, 1));
    }
    assert!(file.scan().build().unwrap().any(|batch| batch.is_err()));
    assert!(file.verify().is_err());
}

#[test]
fn a_row_of_lists_costs_one_request_of_one_block() {
    for lengths in [Lengths::Short, Lengths::Skewed, Lengths::OneGiant] {
        for nulls in [Nulls::None, Nulls::Percent(30)] {
            for item in [
                DataType::Int64,
                DataType::Utf8,
                DataType::new_list(DataType::Int32, true),
            ] {
                let profile = NestedProfile::new(nulls, Distribution::Random, lengths, 3);
                let data_type = DataType::new_list(item, true);
                let array = nested_array(&data_type, 20_000, &profile);
                let what = format!("{data_type} {profile:?}");
                // The giant row has at most 6,000 items, or lists of so many.
                let row_bytes_max = match lengths {
                    Lengths::OneGiant => u64::MAX - 64,
                    _ => 8192,
                };
                check(&what, array, row_bytes_max);
            }
        }
    }
}

#[test]
fn the_first_touch_reads_metadata_and_dictionaries() {
    let words = ["oak", "elm", "ash"];
    let array = StringArray::from_iter_values((0..100_000).map(|i| words[i * i % 7 % 3]));
    let counted = open(&column(Arc::new(array)));
    let tarsia::Taken { reads: first, .. } = counted
        .file
        .take(&[77])
        .columns(&["x"])
        .read_counted()
        .unwrap();
    assert!(
        first.metadata_requests >= 2 && first.requests == 1,
        "{first:?}"
    );
    let tarsia::Taken { reads: second, .. } = counted
        .file
        .take(&[78])
        .columns(&["x"])
        .read_counted()
        .unwrap();
    assert_eq!(second.metadata_requests, 0, "{second:?}");
    // Neighbours share a request, a block is asked for once, and the order does not matter.
    let tarsia::Taken { reads: many, .. } = counted
        .file
        .take(&[9, 1, 9, 2])
        .columns(&["x"])
        .read_counted()
        .unwrap();
    assert_eq!(many.requests, 1);
    assert!(many.bytes <= BLOCK_BYTES_MAX);
}

#[test]
fn the_search_cache_is_a_thousandth_of_the_data() {
    let mut rng = Rng::new(2);
    let numbers = Int64Array::from_iter_values((0..1_000_000).map(|_| rng.u64() as i64));
    let counted = open(&column(Arc::new(numbers)));
    let inspected = counted.file.inspect_columns("x").unwrap().remove(0);
    let share = inspected.search_cache_bytes as f64 / inspected.decoded_bytes as f64;
    assert!(share < 0.001, "{share}");
}
