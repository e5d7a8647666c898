//! How often reading waits for a source whose bytes are not in memory: once per wave, whatever the number of columns;
//! and that no table makes what an opening reads longer.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{Field, Schema};
use tarsia::{File, OpenOptions, Threads};
use tarsia_io::{Access, ReadAt, ReadBytes, ReadOptions, coalesce};
use tarsia_metadata::{Footer, Postscript, limits};
use tarsia_testkit::rng::Rng;

use crate::common::{deterministic, write};

/// Bytes that every call waits for, as those of a store do; the ranges of one call are read at the same time.
pub(crate) struct Slow {
    bytes: Vec<u8>,
    waves: AtomicU64,
    requests: AtomicU64,
    read_bytes: AtomicU64,
}

impl Slow {
    pub(crate) fn of(bytes: Vec<u8>) -> Arc<Self> {
        Arc::new(Self {
            bytes,
            waves: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            read_bytes: AtomicU64::new(0),
        })
    }

    /// Waves and requests since they were last counted.
    pub(crate) fn counted(&self) -> (u64, u64) {
        let count = |counter: &AtomicU64| counter.swap(0, Ordering::Relaxed);
        (count(&self.waves), count(&self.requests))
    }

    /// Bytes of all requests so far.
    pub(crate) fn read_bytes(&self) -> u64 {
        self.read_bytes.load(Ordering::Relaxed)
    }

    fn open(self: &Arc<Self>) -> File {
        let options = OpenOptions::new().with_threads(Threads::One);
        File::open_reader(self.clone(), options).unwrap()
    }

    fn count(&self, requests: usize, bytes: u64) {
        self.waves.fetch_add(1, Ordering::Relaxed);
        self.requests.fetch_add(requests as u64, Ordering::Relaxed);
        self.read_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl ReadAt for Slow {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, place: u64, buf: &mut [u8]) -> io::Result<()> {
        self.count(1, buf.len() as u64);
        let start = place as usize;
        let bytes = self.bytes.get(start..start + buf.len());
        buf.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn is_one_version(&self) -> bool {
        true
    }

    fn read_options(&self, access: Access) -> ReadOptions {
        match access {
            Access::Take => ReadOptions::REMOTE_TAKE,
            Access::Scan => ReadOptions::REMOTE_SCAN,
        }
    }

    fn read_ranges<'a>(
        &'a self,
        ranges: &[Range<u64>],
        options: ReadOptions,
    ) -> io::Result<Vec<ReadBytes<'a>>> {
        let requests = coalesce(ranges, options.gap_bytes, options.request_bytes_max);
        let bytes = requests
            .iter()
            .map(|read| read.range.end - read.range.start);
        self.count(requests.len(), bytes.sum());
        let parts = ranges.iter().map(|range| {
            let bytes = self.bytes.get(range.start as usize..range.end as usize);
            let bytes = bytes.ok_or(io::ErrorKind::UnexpectedEof)?.to_vec();
            let all = 0..bytes.len();
            ReadBytes::shared(Arc::new(bytes), all)
        });
        parts.collect()
    }
}

/// Columns of which no two have the same tree: dictionaries, numbers of many widths, texts, structs.
fn unlike(n_columns: usize, rows: usize) -> RecordBatch {
    let mut rng = Rng::new(n_columns as u64);
    let mut fields = Vec::new();
    let mut arrays: Vec<ArrayRef> = Vec::new();
    for i in 0..n_columns {
        let array: ArrayRef = match i % 5 {
            0 => Arc::new(Int64Array::from_iter_values(
                (0..rows).map(|_| i as i64 * 1_000_003 + rng.below(2 + i) as i64),
            )),
            1 => Arc::new(StringArray::from_iter_values(
                (0..rows).map(|_| format!("category {} of column {i}", rng.below(7))),
            )),
            2 => Arc::new(Float64Array::from_iter_values(
                (0..rows).map(|_| (rng.below(1000) * (i + 1)) as f64 / 100.0),
            )),
            3 => Arc::new(StringArray::from_iter((0..rows).map(|row| {
                (row % (i + 2) != 0).then(|| format!("{:x}", rng.u64() >> (i % 40)))
            }))),
            _ => {
                let values: ArrayRef = Arc::new(Int64Array::from_iter_values(
                    (0..rows as i64).map(|row| row * (i as i64 + 1) + rng.below(i) as i64),
                ));
                let field = Arc::new(Field::new("a", values.data_type().clone(), true));
                Arc::new(StructArray::new(vec![field].into(), vec![values], None))
            }
        };
        fields.push(Field::new(
            format!("feature_{i}"),
            array.data_type().clone(),
            true,
        ));
        arrays.push(array);
    }
    let metadata = HashMap::from([("made".to_owned(), "by a test".to_owned())]);
    let schema = Schema::new_with_metadata(fields, metadata);
    RecordBatch::try_new(Arc::new(schema), arrays).unwrap()
}

fn written(batch: &RecordBatch) -> Vec<u8> {
    write(batch.schema(), std::slice::from_ref(batch), deterministic())
}

fn names(batch: &RecordBatch, n: usize) -> Vec<String> {
    let schema = batch.schema();
    let all = schema.fields();
    let step = (all.len() / n).max(1);
    let names = (0..n).map(|i| all[(i * step + i) % all.len()].name().clone());
    names.collect()
}

#[test]
fn opening_and_a_row_of_ten_columns_take_few_waves_whatever_the_width() {
    for n_columns in [20, 400, 2000] {
        let batch = unlike(n_columns, 100);
        let slow = Slow::of(written(&batch));
        let file = slow.open();
        let (waves, requests) = slow.counted();
        assert!(
            waves == 1 && requests <= 2,
            "{n_columns}: {waves}, {requests}"
        );
        let names = names(&batch, 10);
        let columns: Vec<&str> = names.iter().map(String::as_str).collect();
        let row = file.take(&[77]).columns(&columns).read().unwrap();
        let (waves, requests) = slow.counted();
        // Buckets and the root's record; records; block tables, shared pages and blocks.
        assert!(
            waves <= 3 && requests <= 31,
            "{n_columns}: {waves}, {requests}"
        );
        let wanted: Vec<usize> = names
            .iter()
            .map(|name| batch.schema().index_of(name).unwrap())
            .collect();
        let expected = batch.project(&wanted).unwrap().slice(77, 1);
        assert_eq!(row.columns(), expected.columns());
        // Once all is known, the blocks alone.
        file.take(&[3]).columns(&columns).read().unwrap();
        let (waves, _) = slow.counted();
        assert_eq!(waves, 1, "{n_columns}");
    }
}

#[test]
fn a_scan_of_all_columns_takes_as_many_waves_for_many_as_for_few() {
    let mut of_width = Vec::new();
    for n_columns in [20, 1000] {
        let batch = unlike(n_columns, 100);
        let slow = Slow::of(written(&batch));
        let file = slow.open();
        slow.counted();
        let read: Vec<_> = file
            .scan()
            .build()
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        assert_eq!(read.iter().map(RecordBatch::num_rows).sum::<usize>(), 100);
        of_width.push(slow.counted().0);
    }
    assert!(
        of_width[1] <= of_width[0] && of_width[0] <= 8,
        "{of_width:?}"
    );
}

#[test]
fn the_footer_is_short_whatever_the_columns_are() {
    for n_columns in [1, 50, 3000] {
        let batch = unlike(n_columns, 60);
        let bytes = written(&batch);
        let tail = &bytes[bytes.len() - limits::POSTSCRIPT_BYTES..];
        let end = bytes.len() as u64;
        let place = Postscript::footer_range(tail, end).unwrap();
        assert!(place.end - place.start <= limits::FOOTER_BYTES_MAX as u64);
        let footer = &bytes[place.start as usize..place.end as usize];
        let postscript = Postscript::parse(tail, end, footer).unwrap();
        let footer = Footer::parse(footer, &postscript, &[]).unwrap();
        let common: usize = footer.metas.iter().map(|meta| meta.bytes.len()).sum();
        assert!(common <= limits::COMMON_METAS_BYTES_MAX, "{common}");
        let file = File::from_bytes(bytes, OpenOptions::new()).unwrap();
        file.verify().unwrap();
        let read: Vec<_> = file
            .scan()
            .build()
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        assert_eq!(read, [batch]);
    }
}

#[test]
fn a_filter_from_a_slow_source_waits_twice_per_window_whatever_its_conjuncts() {
    const ROWS: usize = 300_000;
    let mut rng = Rng::new(7);
    let columns = (0..8).map(|i| {
        let values = (0..ROWS).map(|_| rng.below(1 << (8 + i)) as i64);
        let array: ArrayRef = Arc::new(Int64Array::from_iter_values(values));
        (format!("c{i}"), array)
    });
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let bytes = written(&batch);
    let n_bytes = bytes.len() as u64;
    // Most rows pass, few do, none does; by one column or four. There are two windows.
    for (limits, waves_max) in [
        (&[250_i64][..], 9),
        (&[2], 9),
        (&[0], 4),
        (&[250, 500, 1000, 2000], 9),
        (&[20, 40, 80, 160], 9),
    ] {
        let slow = Slow::of(bytes.clone());
        let file = slow.open();
        slow.counted();
        let conjuncts = limits.iter().enumerate();
        let conjuncts = conjuncts.map(|(i, below)| tarsia::filter::col(format!("c{i}")).lt(*below));
        let condition = tarsia::filter::Expr::And(conjuncts.collect());
        // Small batches, as engines ask for.
        let scan = file.scan().filter(condition).batch_rows(8192);
        let read: Vec<RecordBatch> = scan.build().unwrap().map(Result::unwrap).collect();
        let mut passing = batch.clone();
        for (i, below) in limits.iter().enumerate() {
            let below = Int64Array::new_scalar(*below);
            let passes = arrow_ord::cmp::lt(passing.column(i), &below).unwrap();
            passing = arrow_select::filter::filter_record_batch(&passing, &passes).unwrap();
        }
        let read = arrow_select::concat::concat_batches(&batch.schema(), &read).unwrap();
        assert_eq!(read, passing, "{limits:?}");
        let (waves, _) = slow.counted();
        assert!(waves <= waves_max, "{limits:?}: {waves} waves");
        // A column that the filter looked at is not read again.
        let read_bytes = slow.read_bytes();
        assert!(
            read_bytes <= n_bytes * 9 / 8,
            "{limits:?}: {read_bytes} of {n_bytes}"
        );
    }
}

#[test]
fn long_rows_that_a_filter_rejects_are_not_read_from_a_slow_source() {
    const ROWS: usize = 40_000;
    let mut rng = Rng::new(8);
    let numbers = Int64Array::from_iter_values((0..ROWS as i64).map(|row| row * 7 % ROWS as i64));
    let long = (0..ROWS).map(|_| (0..32).map(|_| format!("{:016x}", rng.u64())).collect());
    let long = StringArray::from_iter_values(long.collect::<Vec<String>>());
    let columns: [(&str, ArrayRef); 2] = [("n", Arc::new(numbers)), ("long", Arc::new(long))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let bytes = written(&batch);
    let n_bytes = bytes.len() as u64;
    for (below, share) in [(2_i64, 3), (ROWS as i64 / 2, 1)] {
        let slow = Slow::of(bytes.clone());
        let scan = slow
            .open()
            .scan()
            .filter(tarsia::filter::col("n").lt(below));
        let read: Vec<RecordBatch> = scan.build().unwrap().map(Result::unwrap).collect();
        let read = arrow_select::concat::concat_batches(&batch.schema(), &read).unwrap();
        let passes = arrow_ord::cmp::lt(batch.column(0), &Int64Array::new_scalar(below)).unwrap();
        let passing = arrow_select::filter::filter_record_batch(&batch, &passes).unwrap();
        assert_eq!(read, passing);
        let read_bytes = slow.read_bytes();
        let bytes_max = n_bytes / share + (1 << 20);
        assert!(
            read_bytes <= bytes_max,
            "{below}: {read_bytes} of {n_bytes}"
        );
    }
}
