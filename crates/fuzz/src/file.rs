//! Whole files: opened, scanned, taken from, inspected and verified; and tables written and read back.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use tarsia::choose::{Chooser, Objective};
use tarsia::{
    Checksums, ColumnOptions, EmbedKernels, ErrorKind, File, LAYOUT_KEY, OpenOptions, PageChooser,
    Preset, Threads, WriteOptions, Writer,
};
use tarsia_arrow::{Packing, leaf_paths, reorder};
use tarsia_io::{MemoryFile, MemorySink};
use tarsia_testkit::arrays::{
    DISTRIBUTIONS, Distribution, NULLS, Nulls, Profile, array, bit_difference, flat_types,
};
use tarsia_testkit::faults::FailingReader;
use tarsia_testkit::fuzzing::{Input, accepted};
use tarsia_testkit::memory::measure;
use tarsia_testkit::nested::{
    LENGTHS, Lengths, NestedProfile, is_uninhabited, logical_difference, nested_array,
    nested_types, random_type,
};
use tarsia_testkit::rng::Rng;
use tarsia_testkit::seal::Seals;

/// The most a reader may allocate at once, whatever a small file says: a batch of 64 MiB, grown to a power of two, and
/// room for its offsets.
const ALLOCATED_AT_ONCE_MAX: u64 = 256 << 20;

/// More than any table here holds.
const NEVER_FULL: u64 = 1 << 30;

/// A well-formed file to start from.
pub struct Base {
    /// The file.
    pub bytes: Vec<u8>,
    /// Its rows.
    batch: RecordBatch,
    seals: Seals,
    /// Its parts, in order; empty ones left out.
    regions: Vec<Range<usize>>,
}

fn write(schema: Arc<Schema>, batches: &[RecordBatch], options: WriteOptions) -> Vec<u8> {
    let sink = MemorySink::new();
    let handle = sink.handle();
    let mut writer = Writer::new(sink, schema, options).expect("a schema of types that are stored");
    for batch in batches {
        writer.write(batch).expect("a batch of the schema");
    }
    writer.finish().expect("a file in memory");
    handle.take().expect("a finished file")
}

fn one_thread(page_bytes: u64) -> WriteOptions {
    WriteOptions::new()
        .with_threads(Threads::One)
        .with_deterministic(true)
        .with_page_bytes(page_bytes)
        // Most of a small file would be the kernel.
        .with_embed_kernels(EmbedKernels::Omit)
}

fn table(rows: usize, columns: &[(DataType, Nulls, Distribution)]) -> RecordBatch {
    let made = columns
        .iter()
        .enumerate()
        .map(|(i, (data_type, nulls, distribution))| {
            let array = array(
                data_type,
                rows,
                Profile::new(*nulls, *distribution, i as u64),
            );
            let field = Field::new(format!("c{i}"), data_type.clone(), true);
            (
                field.with_metadata([("unit".to_owned(), i.to_string())].into()),
                array,
            )
        });
    let (fields, columns): (Vec<_>, Vec<_>) = made.unzip();
    let metadata = [
        ("owner".to_owned(), "fuzz".to_owned()),
        (String::new(), "empty key".to_owned()),
    ];
    let schema = Schema::new_with_metadata(fields, metadata.into());
    RecordBatch::try_new(Arc::new(schema), columns).expect("a batch")
}

/// The field as a packed struct, where it can be one.
fn packed(field: Field) -> Field {
    match Packing::of(field.data_type()) {
        Ok(_) => field.with_metadata([(LAYOUT_KEY.to_owned(), "packed".to_owned())].into()),
        Err(_) => field,
    }
}

/// A table of nested columns with nulls at all levels.
fn nested_table(rows: usize, types: &[DataType], lengths: &[Lengths]) -> RecordBatch {
    let made = types.iter().enumerate().map(|(i, data_type)| {
        let profile = NestedProfile::new(
            Nulls::Percent(20),
            DISTRIBUTIONS[i % DISTRIBUTIONS.len()],
            lengths[i % lengths.len()],
            i as u64,
        );
        let field = Field::new(format!("c{i}"), data_type.clone(), true);
        let field = match i % 2 {
            0 => field,
            _ => packed(field),
        };
        (field, nested_array(data_type, rows, &profile))
    });
    let (fields, columns): (Vec<_>, Vec<_>) = made.unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).expect("a batch")
}

/// Nested types that are stored and have rows; vectors of 768 would be most of a table.
fn stored_types() -> &'static [DataType] {
    static TYPES: OnceLock<Vec<DataType>> = OnceLock::new();
    TYPES.get_or_init(|| {
        let is_short = |data_type: &DataType| {
            !matches!(data_type, DataType::FixedSizeList(_, length) if *length > 100)
        };
        let mut types = nested_types();
        types.retain(|data_type| {
            is_short(data_type) && !is_uninhabited(data_type) && leaf_paths(data_type, true).is_ok()
        });
        types
    })
}

/// The files that targets change. Together they have every encoding, several pages and blocks, dictionary pages, nulls
/// of all kinds, all flat types and all kinds of nested ones.
pub fn bases() -> &'static [Base] {
    static BASES: OnceLock<Vec<Base>> = OnceLock::new();
    BASES.get_or_init(|| {
        use Distribution::{Constant, Extremes, LowCardinality, Random, Skewed, Sorted};
        let dictionary = |key, value| DataType::Dictionary(Box::new(key), Box::new(value));
        let mixed = [
            (DataType::Int32, Nulls::None, Skewed),
            (DataType::Boolean, Nulls::Percent(10), Random),
            (DataType::Utf8, Nulls::Percent(30), LowCardinality),
            (DataType::Utf8, Nulls::None, Random),
            (DataType::Float64, Nulls::Percent(95), Random),
            (DataType::Int32, Nulls::None, Constant),
        ];
        let strings = [
            (DataType::Utf8View, Nulls::Runs, Extremes),
            (DataType::LargeBinary, Nulls::None, Skewed),
            (DataType::Binary, Nulls::Percent(1), Constant),
        ];
        let dictionaries = [
            (
                dictionary(DataType::Int8, DataType::Utf8),
                Nulls::Percent(5),
                LowCardinality,
            ),
            (
                dictionary(DataType::UInt32, DataType::Int32),
                Nulls::None,
                Random,
            ),
            (DataType::Int64, Nulls::None, LowCardinality),
            (DataType::FixedSizeBinary(16), Nulls::Runs, LowCardinality),
        ];
        let numbers = [
            (DataType::Int64, Nulls::Runs, Random),
            (DataType::UInt16, Nulls::None, Sorted),
            (DataType::Decimal128(15, 2), Nulls::Percent(30), Skewed),
        ];
        let all_types: Vec<_> = flat_types()
            .into_iter()
            .enumerate()
            .map(|(i, data_type)| {
                let nulls = if data_type == DataType::Null {
                    Nulls::All
                } else {
                    NULLS[i % NULLS.len()]
                };
                (data_type, nulls, DISTRIBUTIONS[i % DISTRIBUTIONS.len()])
            })
            .collect();
        // One of each kind: every ninth of them.
        let several: Vec<_> = stored_types().iter().step_by(9).cloned().collect();
        let row_by_row = |page_bytes| one_thread(page_bytes).with_full_zip_bytes_min(0);
        let of_strings = [
            (DataType::Binary, Nulls::Percent(10), Random),
            (DataType::Utf8View, Nulls::None, Random),
            (DataType::LargeBinary, Nulls::Runs, Random),
        ];
        let tables = [
            (table(2600, &mixed), one_thread(9000)),
            (table(3000, &strings), one_thread(1 << 20)),
            (table(6000, &dictionaries), one_thread(1 << 20)),
            (table(5000, &numbers), blooms(one_thread(30_000), 3)),
            (table(60, &all_types), one_thread(1 << 20)),
            (table(0, &mixed), one_thread(1 << 20)),
            (table(1, &dictionaries), one_thread(1 << 20)),
            (table(400, &of_strings), row_by_row(3000)),
            // Few columns of several pages, and many of few rows.
            (
                nested_table(700, &several, &[Lengths::Short, Lengths::Skewed]),
                one_thread(4000),
            ),
            (
                nested_table(40, stored_types(), &LENGTHS[..1]),
                row_by_row(1 << 20),
            ),
        ];
        tables
            .into_iter()
            .map(|(batch, options)| base(batch, options))
            .collect()
    })
}

/// The first columns have bloom filters.
fn blooms(options: WriteOptions, n_columns: usize) -> WriteOptions {
    (0..n_columns).fold(options, |options, i| {
        options.with_column(format!("c{i}"), ColumnOptions::new().with_blooms(true))
    })
}

/// A table as a file, and what is known of the file.
fn base(batch: RecordBatch, options: WriteOptions) -> Base {
    let batches = std::slice::from_ref(&batch);
    let bytes = write(batch.schema(), batches, options);
    let seals = Seals::of(&bytes);
    let layout = open(&bytes, How::PLAIN)
        .and_then(|file| file.inspect())
        .expect("a well-formed file")
        .layout;
    let range =
        |region: &tarsia::Region| region.place as usize..(region.place + region.bytes) as usize;
    let regions = layout
        .iter()
        .map(range)
        .filter(|range| !range.is_empty())
        .collect();
    Base {
        bytes,
        batch,
        seals,
        regions,
    }
}

/// How a file is opened.
#[derive(Clone, Copy)]
struct How {
    checksums: Checksums,
    /// The bytes are at hand as those of a mapped file are; else every read is a request, and neighbours share one.
    mapped: bool,
    /// Strings come as views, and byte strings are borrowed.
    views: bool,
}

impl How {
    const PLAIN: Self = Self {
        checksums: Checksums::Once,
        mapped: true,
        views: false,
    };

    fn pick(input: &mut Input<'_>) -> Self {
        let bits = input.u8();
        Self {
            checksums: match bits & 9 {
                0 => Checksums::Once,
                8 => Checksums::Always,
                _ => Checksums::Never,
            },
            mapped: bits & 6 != 6,
            views: bits & 16 != 0,
        }
    }
}

fn open(bytes: &[u8], how: How) -> tarsia::Result<File> {
    let options = OpenOptions::new()
        .with_checksums(how.checksums)
        .with_threads(Threads::One)
        .with_views(how.views)
        .with_pool_bytes(1 << 20);
    let file = MemoryFile::new(bytes.to_vec());
    match how.mapped {
        true => File::open_reader(Arc::new(file), options),
        // Without a fault it only hides that the file is in memory.
        false => File::open_reader(Arc::new(FailingReader::new(file)), options),
    }
}

/// Everything a reader can be asked for. What it answers must agree with itself.
/// Returns all rows where they scan.
fn exercise(bytes: &[u8], how: How, input: &mut Input<'_>) -> Option<Vec<RecordBatch>> {
    let (rows, allocated) = measure(|| {
        let file = open(bytes, how).ok()?;
        let schema = file.schema();
        let _ = file.inspect();
        if let Ok(schema) = &schema
            && let Some(field) = schema.fields().get(input.below(schema.fields().len()))
        {
            let _ = file.inspect_columns(field.name());
            let _ = file.verify_page(field.name(), input.below(3));
        }
        let verified = file.verify();
        let scanned: tarsia::Result<Vec<RecordBatch>> =
            file.scan().build().and_then(tarsia::Scan::read_all);
        if let (Ok(_), Err(error)) = (&verified, &scanned) {
            panic!("verified, yet it does not scan: {error}");
        }
        let scanned = scanned.ok();
        scanned.iter().flatten().for_each(assert_valid);
        look_up(&file, scanned.as_deref(), verified.is_ok());
        read_parts(&file, scanned.as_deref(), input);
        scanned
    });
    assert!(
        allocated.largest_bytes <= ALLOCATED_AT_ONCE_MAX,
        "{} bytes allocated at once for a file of {}",
        allocated.largest_bytes,
        bytes.len()
    );
    rows
}

/// Looks for a value of the first row, which zones and bloom filters of a verified file do not hide.
fn look_up(file: &File, scanned: Option<&[RecordBatch]>, is_verified: bool) {
    let batch = scanned.and_then(|batches| batches.iter().find(|it| it.num_rows() > 0));
    let Some((batch, value)) = batch.and_then(|it| Some((it, it.columns().first()?.slice(0, 1))))
    else {
        return;
    };
    let data_type = value.data_type();
    let is_compared = data_type.is_integer() || data_type.is_decimal();
    if !(is_compared || *data_type == DataType::Utf8) || value.is_null(0) {
        return;
    }
    let name = batch.schema().field(0).name().clone();
    let expr = tarsia::filter::col(name).eq(tarsia::filter::Literal::array(value));
    let found = file.scan().filter(expr).count();
    if is_verified && !matches!(found, Ok(1..)) {
        panic!("verified, yet a value of the first row is not found: {found:?}");
    }
}

/// The arrays are what Arrow demands, whoever checked it: offsets that rise, UTF-8, keys that exist.
fn assert_valid(batch: &RecordBatch) {
    for (column, array) in batch.columns().iter().enumerate() {
        if let Err(error) = array.to_data().validate_full() {
            panic!("column {column} is no valid array: {error}");
        }
    }
}

/// Checks that what checksums let through of a changed file are the rows of the file.
fn exercise_changed(base: &Base, file: &[u8], how: How, input: &mut Input<'_>) {
    let Some(batches) = exercise(file, how, input) else {
        return;
    };
    // Views are other types than those of the table.
    if how.checksums == Checksums::Never || how.views {
        return;
    }
    let mut at = 0;
    for batch in &batches {
        assert_eq!(batch.schema(), base.batch.schema());
        assert_same_columns(batch, &base.batch.slice(at, batch.num_rows()));
        at += batch.num_rows();
    }
    assert_eq!(at, base.batch.num_rows());
}

/// Ranges and takes of the file; where all of it scanned, they give the same rows.
fn read_parts(file: &File, scanned: Option<&[RecordBatch]>, input: &mut Input<'_>) {
    let rows = file.num_rows();
    if let Some(batches) = scanned {
        accepted();
        let n: usize = batches.iter().map(RecordBatch::num_rows).sum();
        assert_eq!(n as u64, rows, "rows of all batches");
    }
    if rows == 0 {
        return;
    }
    let row = |input: &mut Input<'_>| match input.below(4) {
        0 => rows - 1 - u64::from(input.u8()) % rows,
        _ => u64::from(input.u32()) % rows,
    };
    let (a, b) = (row(input), row(input));
    let range = a.min(b)..(a.max(b) + 1).min(a.min(b) + 5000);
    let batch_rows = 1 + input.below(3000).max(range.end as usize / 50);
    let part: tarsia::Result<Vec<RecordBatch>> = file
        .scan()
        .rows(range.clone())
        .batch_rows(batch_rows)
        .build()
        .and_then(tarsia::Scan::read_all);
    let places: Vec<u64> = (0..1 + input.below(6)).map(|_| row(input)).collect();
    let taken = file.take(&places).read();
    if let Ok(schema) = file.schema()
        && let Some(field) = schema.fields().get(input.below(schema.fields().len()))
    {
        let path = match input.below(3) {
            0 => format!("{}[{}..{}]", field.name(), 1, 1 + input.below(4)),
            _ => format!("{}[{}]", field.name(), input.below(4)),
        };
        // Names may hold what ends one.
        if let Ok(path) = path.parse() {
            let elements = file.take(&places).element(&path).read();
            elements.iter().for_each(assert_valid);
        }
    }
    let Some(batches) = scanned else {
        // Not all scans, but these rows may have been read.
        taken.iter().for_each(assert_valid);
        part.iter().flatten().for_each(assert_valid);
        return;
    };
    let part = part.unwrap_or_else(|error| panic!("all rows scan, {range:?} do not: {error}"));
    let mut at = range.start;
    for batch in &part {
        assert_valid(batch);
        for row in 0..batch.num_rows() {
            assert_same_row(batch, row, batches, at);
            at += 1;
        }
    }
    assert_eq!(at, range.end, "rows of a part");
    match taken {
        Ok(taken) => {
            assert_valid(&taken);
            for (to, from) in places.iter().enumerate() {
                assert_same_row(&taken, to, batches, *from);
            }
        }
        // Rows of several batches may have more entries than a key type numbers.
        Err(error) if error.kind() == ErrorKind::LimitExceeded => {}
        Err(error) => panic!("all rows scan, rows {places:?} cannot be taken: {error}"),
    }
}

fn assert_same_row(got: &RecordBatch, row: usize, batches: &[RecordBatch], mut at: u64) {
    for batch in batches {
        if at < batch.num_rows() as u64 {
            let columns = got.columns().iter().zip(batch.columns());
            for (column, (got, expected)) in columns.enumerate() {
                let (got, expected) = (got.slice(row, 1), expected.slice(at as usize, 1));
                if let Err(difference) = difference(&got, &expected) {
                    panic!("column {column}: {difference}");
                }
            }
            return;
        }
        at -= batch.num_rows() as u64;
    }
    panic!("row {at} beyond the batches");
}

/// Any bytes: the input's own, a base cut or grown, a base with its middle replaced. Nothing is resealed.
pub fn raw(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let how = How::pick(&mut input);
    let base = input.pick(bases());
    let mut choices = Input::new(input.take(20));
    let mut file = match input.below(5) {
        0 => {
            exercise(input.rest(), how, &mut choices);
            return;
        }
        1 => base.bytes[..input.below(base.bytes.len() + 1)].to_vec(),
        2 => {
            let at = input.below(base.bytes.len() + 1);
            let replaced = input.below(300).min(base.bytes.len() - at);
            let by = input.rest();
            let mut file = base.bytes.clone();
            file.splice(at..at + replaced, by.iter().copied());
            file
        }
        // The header and the tail of a file around anything.
        3 => {
            let tail = base.bytes.len() - input.below(2000).min(base.bytes.len());
            [&base.bytes[..192], input.rest(), &base.bytes[tail..]].concat()
        }
        _ => {
            // Behind the committed length nothing counts.
            let mut file = base.bytes.clone();
            file.extend_from_slice(input.rest());
            file
        }
    };
    if choices.one_in(3) {
        choices.overwrite(&mut file);
    }
    exercise_changed(base, &file, how, &mut choices);
}

/// Changes a few bytes of a base, in a part of the file that the input picks.
fn change(base: &Base, input: &mut Input<'_>) -> Vec<u8> {
    let mut file = base.bytes.clone();
    for _ in 0..1 + input.below(4) {
        let region = match input.below(4) {
            0 => 0..file.len(),
            _ => input.pick(&base.regions).clone(),
        };
        if region.len() > 64 && input.one_in(2) {
            // Fields that matter stand anywhere in a region, so a window decides, not the front alone.
            let start = region.start + input.below(region.len() - 40);
            input.overwrite(&mut file[start..start + 40]);
        } else {
            input.overwrite(&mut file[region]);
        }
    }
    file
}

/// Changed files with checks on or off; with checks on only what no check covers can be read.
pub fn mutated(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let how = How::pick(&mut input);
    let base = input.pick(bases());
    let file = change(base, &mut input);
    exercise_changed(base, &file, how, &mut input);
}

/// Changed files whose checksums and digests were made right again: only so do they reach the parsers and decoders.
pub fn resealed(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let how = How::pick(&mut input);
    let base = input.pick(bases());
    let mut file = change(base, &mut input);
    base.seals.reseal(&mut file);
    exercise(&file, how, &mut input);
}

/// A table that the input describes, written and read.
pub fn round_trip(bytes: &[u8]) {
    static TYPES: OnceLock<Vec<DataType>> = OnceLock::new();
    let types = TYPES.get_or_init(flat_types);
    round_trip_of(bytes, 3000, |input, rows| {
        let data_type = input.pick(types);
        let nulls = *input.pick(&NULLS);
        let distribution = *input.pick(&DISTRIBUTIONS);
        // A slice of a longer array now and then.
        let before = match input.one_in(3) {
            true => 1 + input.below(20),
            false => 0,
        };
        let profile = Profile::new(nulls, distribution, input.u16().into());
        array(data_type, before + rows, profile).slice(before, rows)
    });
}

/// Writes and reads nested columns, of types by hand and of random ones.
pub fn round_trip_nested(bytes: &[u8]) {
    round_trip_of(bytes, 600, |input, rows| {
        let mut rng = Rng::new(input.u16().into());
        let mut data_type = match input.below(2) {
            0 => input.pick(stored_types()).clone(),
            _ => random_type(&mut rng, 1 + input.below(4) as u32),
        };
        if leaf_paths(&data_type, true).is_err() {
            // A dictionary of dictionaries or of runs.
            data_type = stored_types()[0].clone();
        }
        let profile = NestedProfile::new(
            *input.pick(&NULLS),
            *input.pick(&DISTRIBUTIONS),
            *input.pick(&LENGTHS),
            input.u16().into(),
        );
        let before = match input.one_in(3) {
            true => 1 + input.below(20),
            false => 0,
        };
        nested_array(&data_type, before + rows, &profile).slice(before, rows)
    });
}

/// A table of up to four columns, whose names may be equal.
fn picked_table(
    input: &mut Input<'_>,
    rows: usize,
    mut column: impl FnMut(&mut Input<'_>, usize) -> ArrayRef,
) -> RecordBatch {
    let (mut fields, mut columns): (Vec<Field>, Vec<ArrayRef>) = (Vec::new(), Vec::new());
    for i in 0..input.below(5) {
        let array = column(input, rows);
        let data_type = array.data_type().clone();
        let nullable = data_type.is_nested()
            || data_type == DataType::Null
            || array.logical_null_count() > 0
            || input.one_in(2);
        // Names may be equal, and empty.
        let name = if input.one_in(8) {
            String::new()
        } else {
            format!("c{i}")
        };
        let field = Field::new(name, data_type, nullable);
        fields.push(match input.one_in(2) {
            true => packed(field),
            false => field,
        });
        columns.push(array);
    }
    let schema = Arc::new(Schema::new(fields));
    RecordBatch::try_new_with_options(schema, columns, &row_count(rows)).expect("a batch")
}

fn row_count(rows: usize) -> arrow_array::RecordBatchOptions {
    arrow_array::RecordBatchOptions::new().with_row_count(Some(rows))
}

fn picked_options(input: &mut Input<'_>) -> WriteOptions {
    let preset = *input.pick(&[Preset::Balanced, Preset::Fast, Preset::Compact]);
    let full_zip_bytes_min = *input.pick(&[128, 0, u32::MAX]);
    let memory_budget_bytes = match input.below(4) {
        0 => input.number() % (1 << 20),
        _ => NEVER_FULL,
    };
    let page_bytes = match input.below(3) {
        0 => input.number() % (1 << 20),
        1 => 1000 + input.below(20_000) as u64,
        _ => NEVER_FULL,
    };
    let options = one_thread(page_bytes)
        .with_preset(preset)
        .with_full_zip_bytes_min(full_zip_bytes_min)
        .with_memory_budget_bytes(memory_budget_bytes);
    match input.one_in(2) {
        true => options,
        // Trees that no search would find.
        false => {
            let chooser = Chooser::new(options.registry().clone(), Objective::Balanced);
            let chooser = chooser.with_chance(input.number());
            options.with_chooser(PageChooser::new(Arc::new(chooser)))
        }
    }
}

/// The batch in parts of any sizes.
fn cuts(batch: &RecordBatch, input: &mut Input<'_>) -> Vec<RecordBatch> {
    let rows = batch.num_rows();
    let mut parts = Vec::new();
    let mut at = 0;
    while at < rows {
        let n = match input.is_empty() {
            true => rows - at,
            false => input.count(3000).min(rows - at),
        };
        parts.push(batch.slice(at, n));
        at += n;
        // Empty batches are legal; a hundred say no more than one.
        if parts.len() > 100 {
            parts.push(batch.slice(at, rows - at));
            break;
        }
    }
    parts
}

fn round_trip_of(
    bytes: &[u8],
    rows_max: usize,
    column: impl FnMut(&mut Input<'_>, usize) -> ArrayRef,
) {
    let mut input = Input::new(bytes);
    let rows = input.count(rows_max);
    let batch = picked_table(&mut input, rows, column);
    let (schema, row_count) = (batch.schema(), row_count(rows));
    let options = picked_options(&mut input);
    let parts = match rows {
        0 => vec![batch.clone()],
        _ => cuts(&batch, &mut Input::new(input.take(16))),
    };
    let written = write(schema.clone(), &parts, options.clone());
    if input.one_in(8) {
        let again = write(schema.clone(), &parts, options.clone());
        assert!(again == written, "the same batches give other bytes");
    }
    let how = How {
        // The types of the table are compared.
        views: false,
        ..How::pick(&mut input)
    };
    let file = open(&written, how).expect("a file that was written opens");
    assert_eq!(file.num_rows(), rows as u64);
    assert_eq!(file.schema().expect("a schema that was written"), schema);
    file.verify()
        .unwrap_or_else(|error| panic!("what was written does not verify: {error}"));
    file.inspect().expect("an inspection");
    let batch_rows = 1 + input.below(4000);
    let scan = file.scan().batch_rows(batch_rows).build().expect("a scan");
    let mut at = 0;
    for part in scan {
        let part = part.unwrap_or_else(|error| panic!("row {at} does not scan: {error}"));
        assert_eq!(part.schema(), schema);
        let expected = batch.slice(at, part.num_rows());
        assert_same_columns(&part, &expected);
        at += part.num_rows();
    }
    assert_eq!(at, rows);
    if rows > 0 {
        let places: Vec<u64> = (0..input.below(200))
            .map(|_| input.below(rows) as u64)
            .collect();
        match file.take(&places).read() {
            Ok(taken) => {
                let order = arrow_array::UInt64Array::from(places);
                for (got, all) in taken.columns().iter().zip(batch.columns()) {
                    let expected = reorder(all, &order).expect("rows that exist");
                    if let Err(difference) = difference(got, &expected) {
                        panic!("taken: {difference}");
                    }
                }
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}"),
        }
    }
    if rows > 0 {
        // The bytes depend on the rows: not on how they were cut, nor on what stands under nulls, which `reorder`
        // clears.
        let all = arrow_array::UInt64Array::from_iter_values(0..rows as u64);
        let columns = batch
            .columns()
            .iter()
            .map(|column| reorder(column, &all).expect("rows that exist"))
            .collect();
        let cleared = RecordBatch::try_new_with_options(schema.clone(), columns, &row_count)
            .expect("a batch");
        let again = write(schema, &cuts(&cleared, &mut input), options);
        assert!(again == written, "the same rows give other bytes");
    }
    accepted();
}

/// Nested arrays are the same where they mean the same; flat ones are the same bits.
fn difference(got: &ArrayRef, expected: &ArrayRef) -> Result<(), String> {
    let is_nested = |data_type: &DataType| {
        data_type.is_nested() || matches!(data_type, DataType::RunEndEncoded(..))
    };
    let nested = match expected.data_type() {
        DataType::Dictionary(_, values) => is_nested(values),
        data_type => is_nested(data_type),
    };
    match nested {
        true => logical_difference(got, expected),
        false => bit_difference(got, expected),
    }
}

fn assert_same_columns(got: &RecordBatch, expected: &RecordBatch) {
    for (column, (got, expected)) in got.columns().iter().zip(expected.columns()).enumerate() {
        if let Err(difference) = difference(got, expected) {
            panic!("column {column}: {difference}");
        }
    }
}
