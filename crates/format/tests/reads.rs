//! How much of a file a single row costs.

mod common;

use std::sync::Arc;

use arrow_array::{
    ArrayRef, FixedSizeListArray, Float32Array, Int64Array, RecordBatch, StringArray,
};
use arrow_schema::{DataType, Field, Schema};
use common::{deterministic, write};
use tarsia::{File, OpenOptions, Reads, Threads};
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
    let options = OpenOptions {
        threads: Threads::One,
        ..OpenOptions::default()
    };
    let file = File::open_reader(reader.clone(), options).unwrap();
    Counted { file, reader }
}

fn column(array: ArrayRef) -> RecordBatch {
    let field = Field::new("x", array.data_type().clone(), true);
    RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array]).unwrap()
}

impl Counted {
    /// What a row costs when the search cache is warm; checked against what the reader was really asked for.
    fn row(&self, row: u64) -> Reads {
        self.file.take(&[row]).unwrap();
        self.reader.reset();
        let (batch, reads) = self.file.take_counted(&[row], None).unwrap();
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
    let (_, first) = counted.file.take_counted(&[77], Some(&["x"])).unwrap();
    assert!(
        first.metadata_requests >= 2 && first.requests == 1,
        "{first:?}"
    );
    let (_, second) = counted.file.take_counted(&[78], Some(&["x"])).unwrap();
    assert_eq!(second.metadata_requests, 0, "{second:?}");
    // Neighbours share a request, a block is asked for once, and the order does not matter.
    let (_, many) = counted
        .file
        .take_counted(&[9, 1, 9, 2], Some(&["x"]))
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
