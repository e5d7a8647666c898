//! Damaged and malicious files: an error with its place, or the same rows; never a panic, a hang or a huge allocation.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::common::{deterministic, open, open_with, read_all, same_rows, write};
use arrow_array::builder::{BinaryBuilder, FixedSizeListBuilder, Int16Builder, ListBuilder};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int32Array, RecordBatch, StringArray, StructArray,
};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_schema::{DataType, Field, FieldRef, Schema, UnionFields, UnionMode};
use tarsia::{Checksums, EmbedKernels, ErrorKind, File, LAYOUT_KEY, OpenOptions, Threads};
use tarsia_testkit::arrays::{Distribution, Nulls};
use tarsia_testkit::memory::measure;
use tarsia_testkit::nested::{Lengths, NestedProfile, batch_logical_difference, nested_array};
use tarsia_testkit::rng::Rng;
use tarsia_testkit::seal::Seals;

/// A small file with several pages, a dictionary page, nulls, and every encoding.
pub(crate) fn sample() -> (RecordBatch, Vec<u8>) {
    let rows = 2600;
    let schema = Arc::new(Schema::new(vec![
        Field::new("small", DataType::Int32, false),
        Field::new("flag", DataType::Boolean, true),
        Field::new("city", DataType::Utf8, true),
        Field::new("text", DataType::Utf8, false),
        Field::new("noise", DataType::Float64, true),
        Field::new("same", DataType::Int32, false),
    ]));
    let mut rng = Rng::new(5);
    let cities: Vec<String> = (0..40)
        .map(|i| {
            format!(
                "a city whose name is {} long, number {i}",
                "very ".repeat(i)
            )
        })
        .collect();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from_iter_values(
            (0..rows).map(|i| if i % 500 == 3 { i * 70_000 } else { i % 37 }),
        )),
        Arc::new(BooleanArray::from_iter(
            (0..rows).map(|i| (i % 9 != 0).then_some(i % 5 == 0)),
        )),
        Arc::new(StringArray::from_iter((0..rows).map(|i| {
            (i % 7 != 0).then(|| cities[(i * i % 40) as usize].as_str())
        }))),
        Arc::new(StringArray::from_iter_values(
            (0..rows).map(|i| format!("é{}", i * 31)),
        )),
        Arc::new(Float64Array::from_iter(
            (0..rows).map(|_| rng.flip().then(|| f64::from_bits(rng.u64()))),
        )),
        Arc::new(Int32Array::from_iter_values((0..rows).map(|_| -4))),
    ];
    let batch = RecordBatch::try_new(schema, columns).unwrap();
    let options = deterministic().with_page_bytes(9000);
    let bytes = write(batch.schema(), std::slice::from_ref(&batch), options);
    (batch, bytes)
}

fn field(name: &str, data_type: DataType, nullable: bool) -> FieldRef {
    Arc::new(Field::new(name, data_type, nullable))
}

/// A column of each nested kind, with nulls at every level.
fn nested_types() -> Vec<DataType> {
    let structure = |fields: Vec<FieldRef>| DataType::Struct(fields.into());
    let person = || {
        structure(vec![
            field("id", DataType::Int32, false),
            field("name", DataType::Utf8, true),
        ])
    };
    let dictionary = |value| DataType::Dictionary(Box::new(DataType::Int16), Box::new(value));
    let arms = || {
        UnionFields::try_new(
            [5, 2],
            [
                field("number", DataType::Int64, true),
                field(
                    "people",
                    DataType::List(field("item", person(), true)),
                    true,
                ),
            ],
        )
        .unwrap()
    };
    let entries = vec![
        field("key", DataType::Utf8, false),
        field("value", DataType::Float64, true),
    ];
    let runs = |values| {
        let ends = field("run_ends", DataType::Int32, false);
        DataType::RunEndEncoded(ends, field("values", values, true))
    };
    vec![
        person(),
        DataType::List(field("item", DataType::Int16, true)),
        DataType::LargeListView(field("item", person(), true)),
        DataType::Map(field("entries", structure(entries), false), false),
        DataType::FixedSizeList(field("item", DataType::Float32, true), 3),
        DataType::FixedSizeList(field("item", person(), true), 2),
        DataType::Union(arms(), UnionMode::Sparse),
        DataType::Union(arms(), UnionMode::Dense),
        dictionary(person()),
        DataType::List(field("item", dictionary(DataType::Utf8), true)),
        runs(person()),
        runs(DataType::Utf8),
        structure(vec![field("none", DataType::Null, true)]),
    ]
}

/// A small file of nested columns, with several pages and blocks in most.
fn nested_sample() -> (RecordBatch, Vec<u8>) {
    nested_sample_with(EmbedKernels::Omit)
}

pub(crate) fn nested_sample_with(kernels: EmbedKernels) -> (RecordBatch, Vec<u8>) {
    let (rows, nulls) = (700, Nulls::Percent(20));
    let columns = nested_types()
        .into_iter()
        .enumerate()
        .map(|(i, data_type)| {
            let (distribution, lengths) = match i % 3 {
                0 => (Distribution::LowCardinality, Lengths::Skewed),
                1 => (Distribution::Random, Lengths::Short),
                _ => (Distribution::Skewed, Lengths::Constant(2)),
            };
            let profile = NestedProfile::new(nulls, distribution, lengths, i as u64);
            let array = nested_array(&data_type, rows, &profile);
            (Field::new(format!("c{i}"), data_type, true), array)
        });
    let (fields, columns): (Vec<_>, Vec<_>) = columns.unzip();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
    let options = deterministic()
        .with_page_bytes(3000)
        .with_embed_kernels(kernels);
    let bytes = write(batch.schema(), std::slice::from_ref(&batch), options);
    (batch, bytes)
}

/// The arrays are what Arrow demands, whoever checked it.
fn assert_valid(batch: &RecordBatch) {
    for (column, array) in batch.columns().iter().enumerate() {
        if let Err(error) = array.to_data().validate_full() {
            panic!("column {column} is no valid array: {error}");
        }
    }
}

fn unchecked() -> OpenOptions {
    OpenOptions::new()
        .with_checksums(Checksums::Never)
        .with_threads(Threads::One)
}

/// Everything a reader can be asked for. What comes of it is well formed, whatever else fails.
pub(crate) fn exercise(file: &File) -> tarsia::Result<Vec<RecordBatch>> {
    let batches = read_all(file);
    batches.iter().flatten().for_each(assert_valid);
    let rows = file.num_rows();
    if rows > 0 {
        let taken = file.take(&[rows - 1, 0, rows / 2, 0]).read();
        taken.iter().for_each(assert_valid);
        let scan = file.scan().rows(rows / 3..rows / 2 + 1).batch_rows(100);
        for part in scan.build()? {
            assert_valid(&part?);
        }
        taken?;
    }
    for field in file.schema()?.fields() {
        // Names of lists and structs lead somewhere, the others are refused.
        for path in ["[1]", "[0..3]", "[2][0]", ".id", ".name"] {
            let path = format!("{}{path}", field.name()).parse();
            if let (Ok(path), true) = (path, rows > 0) {
                let taken = file.take(&[rows - 1, 0, 0]).element(&path).read();
                taken.iter().for_each(assert_valid);
            }
        }
    }
    file.inspect()?;
    batches
}

/// Rows that are read in parts for an element: byte strings with nulls, and vectors.
fn long_row_sample() -> (RecordBatch, Vec<u8>) {
    let mut rng = Rng::new(3);
    let mut strings = ListBuilder::new(BinaryBuilder::new());
    let mut vectors = ListBuilder::new(FixedSizeListBuilder::new(Int16Builder::new(), 500));
    for row in 0..3 {
        for item in 0..30 * usize::from(row != 1) {
            match item % 7 {
                3 => strings.values().append_null(),
                _ => strings.values().append_value(rng.bytes(4000)),
            }
            for _ in 0..500 * 3 {
                vectors.values().values().append_value(rng.u64() as i16);
            }
            (0..3).for_each(|_| vectors.values().append(true));
        }
        strings.append(true);
        vectors.append(true);
    }
    let (strings, vectors) = (strings.finish(), vectors.finish());
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("strings", Arc::new(strings) as ArrayRef, true),
        ("vectors", Arc::new(vectors) as ArrayRef, true),
    ])
    .unwrap();
    let bytes = write(
        batch.schema(),
        std::slice::from_ref(&batch),
        deterministic(),
    );
    (batch, bytes)
}

/// Byte strings row by row: with nulls, and in a structure with some.
pub(crate) fn indexed_sample() -> (RecordBatch, Vec<u8>) {
    let mut rng = Rng::new(8);
    let mut blobs = BinaryBuilder::new();
    for row in 0..400 {
        let len = rng.below(60);
        blobs.append_option((row % 6 != 1).then(|| rng.bytes(len)));
    }
    let blobs: ArrayRef = Arc::new(blobs.finish());
    let fields = vec![Field::new("name", DataType::Binary, true)];
    let nulls = NullBuffer::from_iter((0..400).map(|row| row % 9 != 4));
    let records = StructArray::new(fields.into(), vec![blobs.clone()], Some(nulls));
    let columns = vec![blobs, Arc::new(records)];
    let field = |(i, array): (usize, &ArrayRef)| {
        Field::new(format!("c{i}"), array.data_type().clone(), true)
            .with_metadata([(LAYOUT_KEY.to_owned(), "full-zip".to_owned())].into())
    };
    let fields: Vec<Field> = columns.iter().enumerate().map(field).collect();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
    let options = deterministic().with_page_bytes(6000);
    let bytes = write(batch.schema(), std::slice::from_ref(&batch), options);
    let file = open(&bytes).unwrap();
    for column in file.inspect_columns("c0").unwrap() {
        assert_eq!(column.trees[0].0, "full-zip bytes(plain)");
    }
    (batch, bytes)
}

#[test]
fn mutations_of_strings_row_by_row_with_checks_on_are_refused_or_read_the_same() {
    let (batch, bytes) = indexed_sample();
    check_mutations(&bytes, 2_000, &|batches| same_rows(batches, &batch, "rows"));
}

#[test]
fn resealed_mutations_of_strings_row_by_row_never_panic_hang_or_take_much_memory() {
    check_resealed(&indexed_sample().1, 2_000, 600);
}

#[test]
fn verify_finds_a_flipped_byte_anywhere_in_strings_row_by_row() {
    check_flips(&indexed_sample().1, 3, 3);
}

#[test]
fn unchecked_reads_of_mutated_strings_row_by_row_never_panic() {
    check_unchecked(&indexed_sample().1);
}

#[test]
fn mutations_of_long_rows_with_checks_on_are_refused_or_read_the_same() {
    let (batch, bytes) = long_row_sample();
    check_mutations(&bytes, 300, &|batches| same_rows(batches, &batch, "rows"));
}

#[test]
fn resealed_mutations_of_long_rows_never_panic_hang_or_take_much_memory() {
    check_resealed(&long_row_sample().1, 600, 300);
}

#[test]
fn every_prefix_is_refused() {
    check_prefixes(&sample().1);
}

#[test]
fn every_prefix_of_a_nested_file_is_refused() {
    check_prefixes(&nested_sample().1);
}

fn check_prefixes(bytes: &[u8]) {
    for len in 0..bytes.len() {
        // Far from both ends one in a few is enough.
        if len > 300 && len + 600 < bytes.len() && len % 97 != 0 {
            continue;
        }
        match open(&bytes[..len]) {
            Ok(_) => panic!("a prefix of {len} bytes opened"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "{len}: {error}"),
        }
    }
}

/// The byte ranges that `verify` answers for: all but the state slots.
fn verified(bytes: &[u8]) -> [Range<usize>; 2] {
    [0..64, 192..bytes.len()]
}

#[test]
fn verify_finds_a_flipped_byte_anywhere() {
    check_flips(&sample().1, 1, 13);
}

#[test]
fn verify_finds_a_flipped_byte_anywhere_in_a_nested_file() {
    check_flips(&nested_sample().1, 5, 37);
}

/// Flips one in so many bytes of what is not pages, and of the pages.
fn check_flips(bytes: &[u8], one_in: usize, one_in_of_pages: usize) {
    let pages = open(bytes).unwrap().inspect().unwrap().layout[1].clone();
    for range in verified(bytes) {
        for at in range {
            let in_pages = (pages.place..pages.place + pages.bytes).contains(&(at as u64));
            if at % if in_pages { one_in_of_pages } else { one_in } != 0 {
                continue;
            }
            let mut bad = bytes.to_vec();
            bad[at] ^= 1 << (at % 8);
            let by_digests = open(&bad).and_then(|file| file.verify_digests());
            assert!(by_digests.is_err(), "byte {at}: the digests do not tell");
            let found = open(&bad).and_then(|file| file.verify());
            match found {
                Ok(_) => panic!("byte {at} was flipped and nothing found"),
                Err(error) if in_pages => {
                    let named =
                        error.column().is_some() || error.to_string().contains("between pages");
                    assert!(named, "byte {at}: {error}");
                }
                Err(_) => {}
            }
        }
    }
}

#[test]
fn ten_thousand_mutations_with_checks_on_are_refused_or_read_the_same() {
    let (batch, bytes) = sample();
    check_mutations(&bytes, 10_000, &|batches| {
        crate::common::assert_rows(batches, &batch);
    });
}

#[test]
fn mutations_of_a_nested_file_with_checks_on_are_refused_or_read_the_same() {
    let (batch, bytes) = nested_sample();
    check_mutations(&bytes, 3_000, &|batches| {
        same_rows(batches, &batch, "rows");
    });
}

fn check_mutations(bytes: &[u8], n: u32, assert_same: &dyn Fn(&[RecordBatch])) {
    assert_same(&read_all(&open(bytes).unwrap()).unwrap());
    let mut rng = Rng::new(99);
    let mut n_refused = 0;
    for i in 0..n {
        let mut bad = bytes.to_vec();
        for _ in 0..1 + rng.below(3) {
            let at = rng.below(bad.len());
            bad[at] = rng.u8();
        }
        match open(&bad).and_then(|file| read_all(&file)) {
            Err(_) => n_refused += 1,
            // What was hit was not read (a digest, a slot, a gap) or did not change.
            Ok(batches) => assert_same(&batches),
        }
        // Takes and metadata meet the same bytes; once in a while is enough.
        if i % 20 == 0
            && let Ok(file) = open(&bad)
        {
            let _ = exercise(&file);
            let _ = file.verify();
        }
    }
    assert!(n_refused > n / 2, "only {n_refused} of {n} were refused");
}

/// A few bytes changed, each where `place` says, and the checksums and digests over them made right again.
fn mutate_and_reseal(
    bytes: &[u8],
    seals: &Seals,
    place: impl Fn(&mut Rng) -> usize,
    rng: &mut Rng,
) -> Vec<u8> {
    let mut bad = bytes.to_vec();
    for _ in 0..1 + rng.below(3) {
        let at = place(rng);
        bad[at] = match rng.below(4) {
            0 => rng.u8(),
            1 => 0xff,
            2 => bad[at].wrapping_add(1),
            _ => bad[at] ^ (1 << rng.below(8)),
        };
    }
    seals.reseal(&mut bad);
    bad
}

#[test]
fn resealed_mutations_never_panic_hang_or_take_much_memory() {
    check_resealed(&sample().1, 10_000, 0);
}

#[test]
fn resealed_mutations_of_a_nested_file_never_panic_hang_or_take_much_memory() {
    check_resealed(&nested_sample().1, 6_000, 0);
}

/// Reads through the file's kernel, where one can be run.
#[cfg(feature = "kernels")]
#[test]
fn resealed_mutations_of_a_nested_file_are_refused_or_read_by_its_kernel() {
    let (_, bytes) = nested_sample_with(EmbedKernels::Embed);
    let seals = Seals::of(&bytes);
    let pages = open(&bytes).unwrap().inspect().unwrap().layout[1].clone();
    let pages = pages.place as usize..(pages.place + pages.bytes) as usize;
    let mut rng = Rng::new(4321);
    let (mut n_read, mut n_refused) = (0, 0);
    for i in 0..400 {
        let in_pages = |rng: &mut Rng| pages.start + rng.below(pages.len());
        let bad = mutate_and_reseal(&bytes, &seals, in_pages, &mut rng);
        let options = OpenOptions::new()
            .with_threads(Threads::One)
            .with_kernels(tarsia::Kernels::Forced);
        let start = Instant::now();
        let file = open_with(&bad, options).unwrap();
        match exercise(&file).is_ok() {
            true => n_read += 1,
            false => n_refused += 1,
        }
        assert_eq!(file.decoder_counts().native, 0);
        assert!(start.elapsed() < Duration::from_secs(20), "mutation {i}");
    }
    assert!(
        n_read > 20 && n_refused > 20,
        "{n_read} read, {n_refused} refused"
    );
}

fn check_resealed(bytes: &[u8], n: u32, front: usize) {
    let seals = Seals::of(bytes);
    let pages = open(bytes).unwrap().inspect().unwrap().layout[1].place as usize;
    // One in two hits one of the `front` bytes at the start of the pages, where the first block's header and levels
    // are.
    let place = |rng: &mut Rng| match rng.below(2) {
        0 if front > 0 => pages + rng.below(front),
        _ => rng.below(bytes.len()),
    };
    let mut same = bytes.to_vec();
    seals.reseal(&mut same);
    assert!(same == bytes, "resealing an intact file changes nothing");
    let mut rng = Rng::new(1234);
    let (mut n_opened, mut n_read) = (0, 0);
    for i in 0..n {
        let bad = mutate_and_reseal(bytes, &seals, place, &mut rng);
        let start = Instant::now();
        let (read, allocated) = measure(|| {
            let options = if i % 2 == 0 {
                OpenOptions::new().with_threads(Threads::One)
            } else {
                unchecked()
            };
            let file = open_with(&bad, options).ok()?;
            Some(exercise(&file).is_ok())
        });
        n_opened += u32::from(read.is_some());
        n_read += u32::from(read == Some(true));
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "mutation {i} took {:?}",
            start.elapsed()
        );
        assert!(
            allocated.largest_bytes < 256 << 20,
            "mutation {i} allocated {} bytes at once",
            allocated.largest_bytes
        );
    }
    // Without resealing hardly any would get this far.
    assert!(n_opened > n * 4 / 5, "{n_opened} opened");
    assert!(n_read > n / 20, "{n_read} read");
}

#[test]
fn unchecked_reads_of_mutated_files_never_panic() {
    check_unchecked(&sample().1);
}

#[test]
fn unchecked_reads_of_mutated_nested_files_never_panic() {
    check_unchecked(&nested_sample().1);
}

fn check_unchecked(bytes: &[u8]) {
    let mut rng = Rng::new(77);
    let layout = open(bytes).unwrap().inspect().unwrap().layout;
    let pages = layout[1].place as usize..(layout[1].place + layout[1].bytes) as usize;
    for _ in 0..3_000 {
        let mut bad = bytes.to_vec();
        for _ in 0..1 + rng.below(6) {
            bad[pages.start + rng.below(pages.len())] = rng.u8();
        }
        if let Ok(file) = open_with(&bad, unchecked()) {
            let _ = exercise(&file);
        }
    }
}

#[test]
fn a_text_column_that_is_not_utf8_is_refused() {
    let array: ArrayRef = Arc::new(StringArray::from_iter_values(
        (0..50).map(|i| format!("text {i}")),
    ));
    let batch = crate::common::one_column(array);
    let bytes = write(batch.schema(), &[batch], deterministic());
    let at = bytes
        .windows(4)
        .position(|window| window == b"text")
        .unwrap();
    let seals = Seals::of(&bytes);
    let mut bad = bytes;
    bad[at] = 0xff;
    seals.reseal(&mut bad);
    let file = open(&bad).unwrap();
    let error = read_all(&file).unwrap_err();
    assert_eq!(
        (error.kind(), error.column()),
        (ErrorKind::Corrupt, Some("x"))
    );
    assert!(error.to_string().contains("UTF-8"), "{error}");
}

#[test]
fn what_this_build_does_not_know_is_refused_as_unsupported() {
    let (_, bytes) = sample();
    let seals = Seals::of(&bytes);
    // The format version, and a required feature bit with its number.
    let mut newer = bytes.clone();
    newer[8] = 9;
    seals.reseal(&mut newer);
    assert_eq!(open(&newer).unwrap_err().kind(), ErrorKind::Unsupported);
    let mut feature = bytes.clone();
    feature[32 + 5] = 1;
    seals.reseal(&mut feature);
    let error = open(&feature).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("40"), "{error}");
    assert_eq!(
        open(
            b"PAR1 and then something else, long enough to hold a header and a tail"
                .repeat(9)
                .as_slice()
        )
        .unwrap_err()
        .kind(),
        ErrorKind::Corrupt
    );
}

#[test]
fn a_payload_length_that_lies_takes_no_memory() {
    let array: ArrayRef = Arc::new(StringArray::from(vec!["oak"]));
    let batch = crate::common::one_column(array);
    let mut bad = write(
        batch.schema(),
        std::slice::from_ref(&batch),
        deterministic(),
    );
    // The only block starts behind the header: its decoded bytes, then its payload length.
    bad[212..216].copy_from_slice(&((1u32 << 30) + 1).to_le_bytes());
    bad[216..220].copy_from_slice(&u32::MAX.to_le_bytes());
    for options in [OpenOptions::new().with_threads(Threads::One), unchecked()] {
        let file = open_with(&bad, options).unwrap();
        let (taken, allocated) = measure(|| file.take(&[0]).read().map(drop));
        assert_eq!(taken.unwrap_err().kind(), ErrorKind::Corrupt);
        assert!(
            allocated.largest_bytes < 1 << 20,
            "{}",
            allocated.largest_bytes
        );
        let (read, allocated) = measure(|| read_all(&file).map(drop));
        assert_eq!(read.unwrap_err().kind(), ErrorKind::Corrupt);
        assert!(
            allocated.largest_bytes < 1 << 20,
            "{}",
            allocated.largest_bytes
        );
    }
}

/// Most bytes that one read of a nested file may take at once, however much its rows would decode to.
const NESTED_BYTES_AT_ONCE_MAX: u64 = 256 << 20;

/// Writes a column and reads it back. Rows that share few bytes make blocks of many slots: what is written must be
/// readable, and read in steps that bound memory. An error is allowed only to the writer.
fn check_bounded(name: &str, array: ArrayRef, compare: bool) -> Result<(), String> {
    let batch = crate::common::one_column(array);
    let sink = tarsia_io::MemorySink::new();
    let handle = sink.handle();
    let mut writer = tarsia::Writer::new(sink, batch.schema(), deterministic()).unwrap();
    let written = writer
        .write(&batch)
        .and_then(|()| writer.finish().map(drop));
    if written.is_err() {
        return Ok(());
    }
    let bytes = handle.take().unwrap();
    let options = OpenOptions::new().with_threads(Threads::One);
    let file = open_with(&bytes, options).unwrap();
    let (read, allocated) = measure(|| -> tarsia::Result<()> {
        let mut at = 0;
        for part in file.scan().build()? {
            let part = part?;
            let rows = part.num_rows();
            if compare {
                let want = batch.slice(at, rows);
                batch_logical_difference(&part, &want).unwrap_or_else(|e| panic!("{name}: {e}"));
            }
            at += rows;
        }
        assert_eq!(at, batch.num_rows(), "{name}");
        Ok(())
    });
    if let Err(error) = read {
        return Err(format!("{name}: written, and not read: {error}"));
    }
    if allocated.largest_bytes > NESTED_BYTES_AT_ONCE_MAX {
        let (most, n) = (allocated.largest_bytes >> 20, bytes.len());
        return Err(format!("{name}: {most} MiB at once for a file of {n}"));
    }
    Ok(())
}

#[test]
fn nested_rows_that_share_few_bytes_are_read_in_bounded_memory() {
    use arrow_array::types::Int8Type;
    use arrow_array::{
        BinaryArray, DictionaryArray, FixedSizeBinaryArray, FixedSizeListArray, Int8Array,
        Int32Array, ListArray, NullArray, RunArray, StructArray,
    };
    let structure = |name: &str, child: ArrayRef| -> ArrayRef {
        let field = field(name, child.data_type().clone(), true);
        Arc::new(StructArray::new(vec![field].into(), vec![child], None))
    };
    // One in so many is null.
    let fixed = |size: i32, child: ArrayRef, one_in: usize| -> ArrayRef {
        let rows = child.len() / size as usize;
        let rows = (0..rows).map(|i| (one_in == 0 || i % one_in != 0).then_some(true));
        let nulls = BooleanArray::from_iter(rows).nulls().cloned();
        let item = field("item", child.data_type().clone(), true);
        Arc::new(FixedSizeListArray::new(item, size, child, nulls))
    };
    let list =
        |lengths: &dyn Fn(usize) -> usize, rows: usize, child: &dyn Fn(usize) -> ArrayRef| {
            let zeros = [0; 2000];
            let strings = BinaryArray::from_iter_values((0..rows).map(|i| &zeros[..lengths(i)]));
            let offsets = strings.offsets().clone();
            let child = child(offsets[rows] as usize);
            let item = field("item", child.data_type().clone(), true);
            Arc::new(ListArray::new(item, offsets, child, None)) as ArrayRef
        };
    let ones = |n: usize| Arc::new(Int8Array::from(vec![1; n])) as ArrayRef;
    let nulls = |n: usize| Arc::new(NullArray::new(n)) as ArrayRef;
    let varying = |i: usize| 900 + i * 7 % 200;
    let mut found = Vec::new();
    let wide = |n: usize, width: i32, valid: bool| -> ArrayRef {
        let values = Buffer::from(vec![7u8; n * width as usize]);
        let nulls = (!valid).then(|| NullBuffer::new_null(n));
        Arc::new(FixedSizeBinaryArray::new(width, values, nulls))
    };
    let null_run = StructArray::new(
        vec![field("w", DataType::FixedSizeBinary(1 << 16), true)].into(),
        vec![wide(1, 1 << 16, true)],
        Some(vec![false].into()),
    );
    let null_keys = Int8Array::from(vec![None; 655_360]);
    let null_keys = DictionaryArray::<Int8Type>::new(null_keys, wide(1, 1024, true));
    for (name, array) in [
        (
            "long vectors of nulls, half null",
            fixed(1 << 26, nulls(100 << 26), 2),
        ),
        (
            "long vectors of nulls",
            fixed(1 << 24, nulls(1000 << 24), 0),
        ),
        (
            "runs of null structs",
            Arc::new(RunArray::try_new(&Int32Array::from(vec![8192]), &null_run).unwrap()),
        ),
        (
            "lists of null keys",
            list(&|_| 10, 65_536, &|_| Arc::new(null_keys.clone())),
        ),
        (
            "vectors of null structs in null vectors",
            fixed(
                64,
                structure("v", fixed(1024, structure("w", wide(65_536, 64, true)), 1)),
                1,
            ),
        ),
        (
            "vectors of structs of nulls",
            fixed(100, structure("n", nulls(6_553_600)), 0),
        ),
        (
            "vectors of structs of ones",
            fixed(100, structure("n", ones(6_553_600)), 0),
        ),
        ("vectors of ones", fixed(500, ones(16_384_000), 0)),
        ("lists of nulls", list(&varying, 20_000, &nulls)),
        ("lists of ones", list(&varying, 20_000, &ones)),
        (
            "lists of structs of ones",
            list(&varying, 20_000, &|n| structure("n", ones(n))),
        ),
    ] {
        found.extend(check_bounded(name, array, false).err());
    }
    assert!(found.is_empty(), "{found:#?}");
}
