//! Long byte strings, which lie row by row: read alone, scanned where they lie, whole and damaged.

use std::ops::Range;
use std::sync::Arc;

use crate::common::{deterministic, one_column, open_with, read_all, same, same_rows, write};
use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, LargeBinaryArray, RecordBatch, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Schema};
use tarsia::{Checksums, ErrorKind, File, LAYOUT_KEY, OpenOptions, Reads, Threads, WriteOptions};
use tarsia_io::{CountingReader, MemoryFile, ReadAt};
use tarsia_testkit::rng::Rng;

/// So many strings of random bytes, one in `null_one_in` null, and some empty.
fn blobs(n: usize, bytes: Range<usize>, null_one_in: usize) -> BinaryArray {
    let mut rng = Rng::new(n as u64 + 1);
    let mut builder = BinaryBuilder::new();
    for row in 0..n {
        let len = match row % 31 {
            30 => 0,
            _ => bytes.start + rng.below(bytes.len()),
        };
        let value: Vec<u8> = (0..len).map(|_| rng.u64() as u8).collect();
        let valid = null_one_in == 0 || row % null_one_in != 1;
        builder.append_option(valid.then_some(value));
    }
    builder.finish()
}

/// A column that is stored row by row however short its strings are.
fn zipped(array: ArrayRef) -> RecordBatch {
    let field = Field::new("x", array.data_type().clone(), true)
        .with_metadata([(LAYOUT_KEY.to_owned(), "full-zip".to_owned())].into());
    RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array]).unwrap()
}

fn bytes_of(batch: &RecordBatch, options: WriteOptions) -> Vec<u8> {
    write(batch.schema(), std::slice::from_ref(batch), options)
}

fn pages_of(page_bytes: u64) -> WriteOptions {
    deterministic().with_page_bytes(page_bytes)
}

fn is_zipped(file: &File) -> bool {
    let columns = file.inspect_columns("x").unwrap();
    let mut trees = columns.iter().flat_map(|column| &column.trees);
    trees.any(|(tree, _)| tree == "full-zip bytes(plain)")
}

/// Scans, ranges, takes and verification, of a file that is in memory and of one that is read, checked and not.
fn check(batch: &RecordBatch, options: WriteOptions, what: &str) {
    let bytes = bytes_of(batch, options);
    let rows = batch.num_rows();
    let mut rng = Rng::new(7);
    let in_memory: Arc<dyn ReadAt> = Arc::new(MemoryFile::new(bytes.clone()));
    let read: Arc<dyn ReadAt> = Arc::new(CountingReader::new(MemoryFile::new(bytes)));
    assert!(in_memory.mapped().is_some() && read.mapped().is_none());
    for reader in [in_memory, read] {
        for checksums in [Checksums::Once, Checksums::Always, Checksums::Never] {
            let options = OpenOptions::new().with_checksums(checksums);
            let file = File::open_reader(reader.clone(), options).unwrap();
            assert!(is_zipped(&file), "{what}");
            for _ in 0..2 {
                same_rows(&read_all(&file).unwrap(), batch, what);
            }
            for batch_rows in [1, 37, 1000] {
                let (a, b) = (rng.below(rows + 1), rng.below(rows + 1));
                let (start, end) = (a.min(b), a.max(b));
                let scan = file.scan().rows(start as u64..end as u64);
                let parts = scan.batch_rows(batch_rows).build().unwrap();
                let parts: Vec<_> = parts.map(Result::unwrap).collect();
                same_rows(&parts, &batch.slice(start, end - start), what);
            }
            for n in [1, 2, 60] {
                let mut picked: Vec<u64> = (0..n).map(|_| rng.below(rows) as u64).collect();
                picked.push(picked[0]);
                let taken = file.take(&picked).read().unwrap();
                for (at, row) in picked.iter().enumerate() {
                    same(&taken.slice(at, 1), &batch.slice(*row as usize, 1), what);
                }
            }
            file.verify().unwrap();
        }
    }
}

#[test]
fn strings_of_every_type_come_back() {
    let items: [(ArrayRef, &str); 4] = [
        (Arc::new(blobs(700, 3000..9000, 0)), "long"),
        (Arc::new(blobs(700, 3000..12_000, 9)), "long, some null"),
        (
            Arc::new(blobs(300, 8000..20_000, 2)),
            "long, half of them null",
        ),
        (Arc::new(blobs(900, 0..90, 5)), "short"),
    ];
    for (array, what) in items {
        for to in [
            DataType::Binary,
            DataType::LargeBinary,
            DataType::BinaryView,
        ] {
            let array = arrow_cast::cast(&array, &to).unwrap();
            for page_bytes in [8 << 20, 300_000] {
                check(&zipped(array.clone()), pages_of(page_bytes), what);
            }
        }
    }
    let mut text = StringBuilder::new();
    for row in 0..500usize {
        let word = format!("é{} ", row * 7919);
        text.append_option((row % 8 != 3).then(|| word.repeat(row % 90)));
    }
    let text: ArrayRef = Arc::new(text.finish());
    for to in [DataType::Utf8, DataType::LargeUtf8, DataType::Utf8View] {
        let text = arrow_cast::cast(&text, &to).unwrap();
        check(&zipped(text), pages_of(100_000), "text");
    }
}

/// A record of an image with its path, as data sets of images have it.
fn records(rows: usize) -> StructArray {
    let images = blobs(rows, 6000..9000, 6);
    let paths = arrow_array::StringArray::from_iter_values((0..rows).map(|i| format!("{i}.png")));
    let fields = vec![
        Field::new("bytes", DataType::Binary, true),
        Field::new("path", DataType::Utf8, true),
    ];
    let nulls = NullBuffer::from_iter((0..rows).map(|row| row % 10 != 4));
    StructArray::new(
        fields.into(),
        vec![Arc::new(images), Arc::new(paths)],
        Some(nulls),
    )
}

#[test]
fn strings_inside_structures_come_back() {
    let outer = vec![Field::new("image", records(0).data_type().clone(), true)];
    let inner = records(400);
    let nulls = NullBuffer::from_iter((0..400).map(|row| row % 7 != 2));
    let outer = StructArray::new(outer.into(), vec![Arc::new(inner.clone())], Some(nulls));
    for array in [inner, outer] {
        for page_bytes in [8 << 20, 200_000] {
            let batch = one_column(Arc::new(array.clone()));
            check(&batch, pages_of(page_bytes), "records");
        }
    }
}

/// The writer chooses this without being told.
#[test]
fn long_strings_alone_lie_row_by_row() {
    let tree_of = |batch: &RecordBatch| {
        let bytes = bytes_of(batch, pages_of(64 << 20));
        let file = open_with(&bytes, OpenOptions::default()).unwrap();
        let mut columns = file.inspect_columns("x").unwrap();
        columns.remove(0).trees.remove(0).0
    };
    let zip = "full-zip bytes(plain)";
    let column = |array: BinaryArray| one_column(Arc::new(array));
    let of = |array: BinaryArray| tree_of(&column(array));
    assert_eq!(of(blobs(200, 4500..9000, 0)), zip);
    assert_eq!(of(blobs(200, 9000..9001, 2)), zip);
    assert_ne!(of(blobs(200, 2000..4000, 0)), zip);
    // Others gain something.
    let constant = BinaryArray::from_iter_values((0..50).map(|_| [7; 9000]));
    assert_ne!(of(constant), zip);
    let few = BinaryArray::from_iter_values((0..400).map(|i| [i as u8 % 9; 9000]));
    assert!(of(few).starts_with("dict("));
    // 24 bits say where a row ends.
    let huge = BinaryArray::from_iter_values([vec![1; 1 << 24], vec![2; 5]]);
    assert_ne!(of(huge), zip);
    let most = BinaryArray::from_iter_values([vec![1; (1 << 24) - 1], vec![2; 5]]);
    let most = zipped(Arc::new(most));
    assert_eq!(tree_of(&most), zip);
    check(&most, pages_of(64 << 20), "two blocks");
    // More rows than a block may have.
    let many = BinaryArray::from_iter((0..150_000).map(|i| {
        let value = [i as u8, (i >> 8) as u8, 3][..i % 4 % 3].to_vec();
        (i % 5 != 1).then_some(value)
    }));
    assert_eq!(tree_of(&zipped(Arc::new(many.clone()))), zip);
    let batch = zipped(Arc::new(many));
    let bytes = bytes_of(&batch, deterministic());
    let file = open_with(&bytes, OpenOptions::default()).unwrap();
    same_rows(&read_all(&file).unwrap(), &batch, "three blocks");
    let picked = [149_999, 65_535, 65_536, 0, 131_072];
    let taken = file.take(&picked).read().unwrap();
    for (at, row) in picked.into_iter().enumerate() {
        same(&taken.slice(at, 1), &batch.slice(row as usize, 1), "taken");
    }
}

#[test]
fn what_stands_under_nulls_does_not_matter() {
    let values = blobs(300, 5000..9000, 0);
    let nulls = NullBuffer::from_iter((0..300).map(|row| row % 3 != 0));
    let (offsets, data, _) = values.clone().into_parts();
    let dirty = BinaryArray::new(offsets, data, Some(nulls));
    let clean = BinaryArray::from_iter(dirty.iter());
    let bytes = |array: BinaryArray| bytes_of(&one_column(Arc::new(array)), deterministic());
    assert!(bytes(dirty) == bytes(clean));
}

struct Counted {
    file: File,
    reader: Arc<CountingReader<MemoryFile>>,
}

impl Counted {
    fn open(batch: &RecordBatch) -> Self {
        let bytes = bytes_of(batch, deterministic());
        let reader = Arc::new(CountingReader::new(MemoryFile::new(bytes)));
        let options = OpenOptions::new().with_threads(Threads::One);
        let file = File::open_reader(reader.clone(), options).unwrap();
        Self { file, reader }
    }

    /// Counts the reads of rows whose index was read before.
    fn take(&self, rows: &[u64]) -> Reads {
        self.reader.reset();
        let tarsia::Taken { reads, .. } = self.file.take(rows).read_counted().unwrap();
        assert_eq!((reads.metadata_requests, reads.metadata_bytes), (0, 0));
        let asked = self.reader.stats();
        // And once whether the file was changed.
        assert_eq!(asked.requests, reads.requests + 1);
        assert_eq!(asked.bytes, reads.bytes + 192);
        reads
    }
}

#[test]
fn a_row_costs_one_request_of_its_bytes() {
    let array = blobs(400, 9000..40_000, 10);
    let counted = Counted::open(&one_column(Arc::new(array.clone())));
    // The index of a page is read with its first row, and kept.
    let tarsia::Taken { reads: first, .. } = counted.file.take(&[17]).read_counted().unwrap();
    assert!(first.metadata_requests > 0 && first.requests == 1);
    let tarsia::Taken { reads: last, .. } = counted.file.take(&[399]).read_counted().unwrap();
    assert!(last.metadata_requests == 1 && last.requests == 1);
    for row in [0, 5, 16, 17, 203, 399] {
        let reads = counted.take(&[row]);
        assert_eq!(reads.requests, 1, "row {row}");
        let len = array.value(row as usize).len();
        assert_eq!(reads.bytes, len as u64, "row {row}");
    }
    for row in [1, 30] {
        assert_eq!(array.value(row).len(), 0);
        let reads = counted.take(&[row as u64]);
        assert_eq!((reads.requests, reads.bytes), (0, 0));
    }
    // Neighbours are one request.
    assert_eq!(counted.take(&[40, 42, 41]).requests, 1);
    let inspected = counted.file.inspect_columns("x").unwrap().remove(0);
    let share = inspected.search_cache_bytes as f64 / inspected.decoded_bytes as f64;
    assert!(share > 0.0 && share < 0.001, "{share}");
}

struct Mapped {
    file: File,
    memory: Range<usize>,
}

impl Mapped {
    fn open(batch: &RecordBatch, options: WriteOptions) -> Self {
        let reader = Arc::new(MemoryFile::new(bytes_of(batch, options)));
        let memory = reader.mapped().unwrap().as_ptr_range();
        Self {
            file: File::open_reader(reader, OpenOptions::default()).unwrap(),
            memory: memory.start as usize..memory.end as usize,
        }
    }

    fn holds(&self, data: &[u8]) -> bool {
        self.memory.contains(&(data.as_ptr() as usize))
    }
}

/// Scans hand out the file's memory, but for batches of a few rows on each side of a page's end.
#[test]
fn scans_lend_what_lies_back_to_back() {
    let array = blobs(900, 5000..12_000, 8);
    let batch = one_column(Arc::new(array.clone()));
    let mapped = Mapped::open(&batch, pages_of(3 << 20));
    assert!(mapped.file.inspect_columns("x").unwrap()[0].pages > 1);
    let mut rows = 0;
    for part in mapped.file.scan().build().unwrap() {
        let part = part.unwrap();
        let got = part.column(0).as_binary::<i32>();
        assert!(mapped.holds(got.value_data()));
        assert!(got.iter().eq(array.slice(rows, got.len()).iter()));
        rows += got.len();
    }
    assert_eq!(rows, 900);
    // One row is where it lies, some that do not lie side by side are copied.
    let value = |batch: &RecordBatch| batch.column(0).as_binary::<i32>().value_data().to_vec();
    let one = mapped.file.take(&[5]).read().unwrap();
    assert!(mapped.holds(one.column(0).as_binary::<i32>().value_data()));
    assert_eq!(value(&one), array.value(5));
    let two = mapped.file.take(&[7, 5]).read().unwrap();
    assert!(!mapped.holds(two.column(0).as_binary::<i32>().value_data()));
    // What is borrowed outlives the file.
    drop(mapped);
    assert_eq!(value(&one), array.value(5));

    let large = LargeBinaryArray::from_iter(array.iter());
    let mapped = Mapped::open(&one_column(Arc::new(large)), pages_of(64 << 20));
    for part in mapped.file.scan().build().unwrap() {
        let part = part.unwrap();
        assert!(mapped.holds(part.column(0).as_binary::<i64>().value_data()));
    }
}

/// Below structures too, where all of a batch lies in one page; null structures stand for nothing.
#[test]
fn scans_lend_what_is_below_structures() {
    let array = records(500);
    let batch = one_column(Arc::new(array));
    let mapped = Mapped::open(&batch, pages_of(64 << 20));
    for batch_rows in [500, 64] {
        let (mut rows, mut borrowed) = (0, 0);
        for part in mapped.file.scan().batch_rows(batch_rows).build().unwrap() {
            let part = part.unwrap();
            same(&part, &batch.slice(rows, part.num_rows()), "records");
            let images = part.column(0).as_struct().column(0).as_binary::<i32>();
            borrowed += usize::from(mapped.holds(images.value_data()));
            rows += part.num_rows();
        }
        assert_eq!((rows, borrowed), (500, 500usize.div_ceil(batch_rows)));
    }
    // Elements of them, and rows that do not lie side by side.
    let path = "x.bytes".parse().unwrap();
    let picked = [3, 499, 250, 251, 0];
    let taken = mapped.file.take(&picked).element(&path).read().unwrap();
    let whole = mapped.file.take(&picked).read().unwrap();
    same(&whole.slice(0, 1), &batch.slice(3, 1), "taken");
    let want = whole.column(0).as_struct().column(0).as_binary::<i32>();
    let valid = whole.column(0).nulls();
    let got = taken.column(0).as_binary::<i32>();
    for row in 0..picked.len() {
        let is_valid = want.is_valid(row) && valid.is_none_or(|valid| valid.is_valid(row));
        assert_eq!(got.is_valid(row), is_valid, "row {row}");
        assert!(!is_valid || got.value(row) == want.value(row), "row {row}");
    }
}

/// Text is checked once, so it is copied.
#[test]
fn text_is_copied() {
    let text = (0..300).map(|row| format!("{row} é ").repeat(1000));
    let text = arrow_array::StringArray::from_iter_values(text);
    let mapped = Mapped::open(&zipped(Arc::new(text)), deterministic());
    assert!(is_zipped(&mapped.file));
    for part in mapped.file.scan().build().unwrap() {
        let part = part.unwrap();
        let part = part.column(0).as_string::<i32>();
        assert!(!mapped.holds(part.value_data()));
    }
}

/// A flipped bit in index or strings is found by who reads that row, and by nobody else who does not read the index.
#[test]
fn damage_is_found_where_it_is_read() {
    let array = blobs(200, 5000..6000, 0);
    let batch = one_column(Arc::new(array.clone()));
    let bytes = bytes_of(&batch, deterministic());
    let file = open_with(&bytes, OpenOptions::default()).unwrap();
    assert!(is_zipped(&file));
    let at = |needle: &[u8]| {
        bytes
            .windows(needle.len())
            .position(|w| w == needle)
            .unwrap()
    };
    let (first, tenth) = (at(&array.value(0)[..64]), at(&array.value(10)[..64]));
    for (flipped, hurts) in [
        (tenth + 700, vec![10]),
        (first - 8 * 150, (0..200).collect()),
    ] {
        let mut damaged = bytes.clone();
        damaged[flipped] ^= 4;
        let file = open_with(&damaged, OpenOptions::default()).unwrap();
        for row in [0u64, 9, 10, 11, 199] {
            let taken = file.take(&[row]).read();
            match hurts.contains(&row) {
                true => {
                    let error = taken.unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::Corrupt);
                    let text = error.to_string();
                    assert!(
                        text.contains("block 0") && text.contains("checksum"),
                        "{text}"
                    );
                }
                false => same(&taken.unwrap(), &batch.slice(row as usize, 1), "others"),
            }
        }
        assert_eq!(read_all(&file).unwrap_err().kind(), ErrorKind::Corrupt);
        assert_eq!(file.verify().unwrap_err().kind(), ErrorKind::Corrupt);
    }
}

#[cfg(feature = "kernels")]
#[test]
fn the_kernel_in_the_file_reads_them_alone() {
    use tarsia::{EmbedKernels, Kernels};
    for array in [
        Arc::new(blobs(700, 3000..9000, 7)) as ArrayRef,
        Arc::new(records(300)),
    ] {
        let batch = zipped(array);
        let options = pages_of(1 << 20).with_embed_kernels(EmbedKernels::Embed);
        let bytes = bytes_of(&batch, options);
        let options = OpenOptions::new().with_kernels(Kernels::Forced);
        let file = open_with(&bytes, options).unwrap();
        same_rows(&read_all(&file).unwrap(), &batch, "scanned");
        let picked = [5, 1, 5, 299, 120];
        let taken = file.take(&picked).read().unwrap();
        for (at, row) in picked.into_iter().enumerate() {
            same(&taken.slice(at, 1), &batch.slice(row as usize, 1), "taken");
        }
        file.verify().unwrap();
        let counts = file.decoder_counts();
        assert!(counts.native == 0 && counts.kernel > 0, "{counts:?}");
    }
}

/// Rows are read in the caller's order, beside columns that are put into it.
#[test]
fn rows_come_in_the_order_that_was_asked_for() {
    let blobs = blobs(500, 5000..9000, 6);
    let numbers = arrow_array::Int32Array::from_iter_values(0..500);
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("x", Arc::new(blobs) as ArrayRef, true),
        ("n", Arc::new(numbers) as ArrayRef, false),
        ("r", Arc::new(records(500)) as ArrayRef, true),
    ])
    .unwrap();
    let file = open_with(&bytes_of(&batch, pages_of(900_000)), OpenOptions::default()).unwrap();
    assert!(file.inspect_columns("x").unwrap()[0].pages > 3);
    let mut rng = Rng::new(4);
    let random: Vec<u64> = (0..300).map(|_| rng.below(500) as u64).collect();
    let falling: Vec<u64> = (0..500).rev().collect();
    let runs: Vec<u64> = (250..500).chain(0..300).chain([7, 7, 7, 8, 9]).collect();
    for picked in [vec![], vec![498], random, falling, runs] {
        let taken = file.take(&picked).read().unwrap();
        assert_eq!(taken.num_rows(), picked.len());
        for (at, row) in picked.iter().enumerate() {
            same(&taken.slice(at, 1), &batch.slice(*row as usize, 1), "taken");
        }
        let tarsia::Taken {
            batch: counted,
            reads,
            ..
        } = file.take(&picked).columns(&["x"]).read_counted().unwrap();
        assert!(counted.column(0) == taken.column(0));
        assert_eq!(reads.requests > 0, !picked.is_empty());
    }
}
