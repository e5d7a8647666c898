//! Random tables, twins that differ in erased rows alone, and what happens to both: a function of the seed.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow_schema::{DataType, Field, Fields, Schema};
use tarsia::choose::{Chooser, Objective, Outline};
use tarsia::{
    ColumnOptions, EmbedKernels, ErasureLevel, ErrorKind, File, LAYOUT_KEY, OpenOptions,
    PageChooser, Preset, RowSet, Threads, WriteOptions, Writer,
};
use tarsia_arrow::{leaf_paths, reorder};
use tarsia_page_writer::not_strict;
use tarsia_testkit::arrays::{DISTRIBUTIONS, Distribution, Nulls, flat_types};
use tarsia_testkit::nested::{
    Lengths, NestedProfile, is_uninhabited, nested_array, nested_types, random_type,
};
use tarsia_testkit::rng::Rng;

use crate::kind::STRIDE;

/// Salts of all files and erasures here are made from this key, so that twins have the same.
pub(crate) const SALT_KEY: [u8; 32] = [0x5a; 32];

/// How often a busy file is opened.
const OPENINGS: u32 = 1000;

/// Trees that users name; what does not suit a column is passed over.
const OUTLINES: [&str; 14] = [
    "dict(bitpack)",
    "dict(runend)",
    "dict",
    "runend",
    "bitpack",
    "delta",
    "fsst",
    "onpair",
    "zstd",
    "lz4",
    "split",
    "bitshuffle",
    "front",
    "window",
];

/// A table, its twin, and how both are written and erased.
pub(crate) struct Scene {
    pub(crate) table: RecordBatch,
    /// The table with other values in the rows that are erased.
    pub(crate) twin: RecordBatch,
    /// The rows that are erased, round by round.
    pub(crate) rounds: Vec<RowSet>,
    pub(crate) options: WriteOptions,
    /// For `--replay`.
    pub(crate) text: String,
}

/// A column before its rows are picked: an array, and which of its rows the table and its twin have.
struct Source {
    field: Field,
    base: ArrayRef,
    places: Vec<u64>,
    /// For each row what the twin would have instead.
    others: Vec<u64>,
    /// Rows that are null besides: runs of so many, one in so many rows, where blocks may start.
    null_runs: Option<(usize, usize)>,
    options: ColumnOptions,
    text: String,
}

impl Scene {
    /// The scene of a seed. Kinds that come to the same scene have neighbouring seeds.
    pub(crate) fn of(seed: u64) -> Result<Self, String> {
        let seed = seed / STRIDE;
        let mut rng = Rng::new(seed ^ 0x7461_626c_6573);
        let rows = match rng.below(20) {
            0..2 => rng.between(1, 60),
            2..5 => rng.between(1000, 1100),
            5..17 => rng.between(60, 5000),
            _ => rng.between(5000, 20_000),
        };
        let n_columns = rng.between(1, 3);
        let sources: Vec<Source> = (0..n_columns)
            .map(|number| source(&mut rng, number, rows))
            .collect();
        let columns = pick(&sources, |source, row| source.places[row], rows)?;
        let rounds = rounds(&mut rng, &columns, rows as u64);
        let all = union(&rounds);
        let of_twin = |source: &Source, row: usize| match all.contains(row as u64) {
            true => source.others[row],
            false => source.places[row],
        };
        let twins = pick(&sources, of_twin, rows)?;
        let fields: Vec<Field> = sources.iter().map(|source| source.field.clone()).collect();
        let schema = Arc::new(Schema::new(fields));
        let batch = |columns: Vec<ArrayRef>| {
            let options = RecordBatchOptions::new().with_row_count(Some(rows));
            RecordBatch::try_new_with_options(schema.clone(), columns, &options)
                .map_err(|error| error.to_string())
        };
        let (options, how) = options(&mut rng, seed, &sources);
        let columns_text: Vec<&str> = sources.iter().map(|source| source.text.as_str()).collect();
        let sizes: Vec<u64> = rounds.iter().map(RowSet::len).collect();
        Ok(Self {
            text: format!(
                "{rows} rows; {}; {how}; rounds of {sizes:?} rows",
                columns_text.join("; ")
            ),
            table: batch(columns)?,
            twin: batch(twins)?,
            rounds,
            options,
        })
    }

    /// All rows that are erased.
    pub(crate) fn erased(&self) -> RowSet {
        union(&self.rounds)
    }
}

fn union(sets: &[RowSet]) -> RowSet {
    let sets = sets.iter();
    sets.fold(RowSet::new(), |all, set| all.union(set))
}

/// The picked rows of each column.
fn pick(
    sources: &[Source],
    place: impl Fn(&Source, usize) -> u64,
    rows: usize,
) -> Result<Vec<ArrayRef>, String> {
    let sources = sources.iter();
    let picked = sources.map(|source| {
        let is_null = |row: usize| match source.null_runs {
            Some((run, step)) => row >= step && row % step < run,
            None => false,
        };
        let places = (0..rows).map(|row| (!is_null(row)).then(|| place(source, row)));
        let places = UInt64Array::from_iter(places);
        reorder(source.base.as_ref(), &places)
            .map_err(|error| format!("column {}: {error}", source.field.data_type()))
    });
    picked.collect()
}

fn nullable(name: &str, data_type: DataType) -> Arc<Field> {
    Arc::new(Field::new(name, data_type, true))
}

/// Values of which null items hold filler, and those whose blocks have fewer than 1,024 rows.
fn wide_type(rng: &mut Rng) -> DataType {
    match rng.below(6) {
        0 | 1 => DataType::FixedSizeBinary(*rng.pick(&[16, 20, 32, 100, 9])),
        2 => DataType::Decimal128(38, 10),
        3 => DataType::Decimal256(76, 20),
        4 => DataType::Int64,
        _ => DataType::Float64,
    }
}

/// Nested types that tables of users have.
fn usual_nested(rng: &mut Rng) -> DataType {
    let leaf = match rng.below(3) {
        0 => DataType::Utf8,
        1 => DataType::Binary,
        _ => wide_type(rng),
    };
    let item = nullable("item", leaf.clone());
    let pair =
        || -> Fields { vec![nullable("a", leaf.clone()), nullable("b", DataType::Int64)].into() };
    match rng.below(8) {
        0 => DataType::List(item),
        1 => DataType::LargeList(item),
        2 => DataType::FixedSizeList(item, *rng.pick(&[1, 2, 5])),
        3 => DataType::FixedSizeList(
            Arc::new(Field::new("item", DataType::Float32, rng.percent(30))),
            *rng.pick(&[32, 64]),
        ),
        4 => DataType::Struct(pair()),
        5 => DataType::List(nullable("item", DataType::Struct(pair()))),
        6 => {
            let entries = DataType::Struct(
                vec![
                    Arc::new(Field::new("key", DataType::Utf8, false)),
                    nullable("value", leaf),
                ]
                .into(),
            );
            DataType::Map(Arc::new(Field::new("entries", entries, false)), false)
        }
        _ => DataType::FixedSizeList(nullable("item", DataType::Struct(pair())), 2),
    }
}

fn column_type(rng: &mut Rng) -> DataType {
    loop {
        let data_type = match rng.below(10) {
            0..2 => rng.pick(&flat_types()).clone(),
            2..5 => wide_type(rng),
            5 => rng
                .pick(&[DataType::Utf8, DataType::Binary, DataType::Utf8View])
                .clone(),
            6..8 => usual_nested(rng),
            8 => rng.pick(&nested_types()).clone(),
            _ => random_type(rng, 3),
        };
        if !has_empty_union(&data_type)
            && !is_uninhabited(&data_type)
            && leaf_paths(&data_type, true).is_ok()
        {
            return data_type;
        }
    }
}

/// Arrow picks no rows of unions without arms.
fn has_empty_union(data_type: &DataType) -> bool {
    let is_empty = matches!(data_type, DataType::Union(fields, _) if fields.is_empty());
    let children = tarsia_metadata::children(data_type);
    is_empty
        || children
            .iter()
            .any(|child| has_empty_union(child.data_type()))
}

/// Ends of runs of 16 bits number fewer rows than a table may have.
fn has_short_runs(data_type: &DataType) -> bool {
    let is_short = match data_type {
        DataType::RunEndEncoded(ends, _) => *ends.data_type() == DataType::Int16,
        _ => false,
    };
    let children = tarsia_metadata::children(data_type);
    is_short
        || children
            .iter()
            .any(|child| has_short_runs(child.data_type()))
}

/// An estimate of the bytes of a row.
fn row_bytes(data_type: &DataType) -> usize {
    let bytes = |field: &Arc<Field>| row_bytes(field.data_type());
    match data_type {
        DataType::FixedSizeBinary(width) => *width as usize,
        DataType::FixedSizeList(item, n) => *n as usize * bytes(item),
        DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) => {
            8 * bytes(item)
        }
        DataType::ListView(item) | DataType::LargeListView(item) => 8 * bytes(item),
        DataType::Struct(fields) => fields.iter().map(bytes).sum(),
        DataType::Union(fields, _) => fields.iter().map(|(_, field)| bytes(field)).sum(),
        DataType::RunEndEncoded(_, values) => bytes(values),
        DataType::Dictionary(_, values) => row_bytes(values),
        _ => 16,
    }
}

fn source(rng: &mut Rng, number: usize, rows: usize) -> Source {
    let data_type = column_type(rng);
    let rounding = match &data_type {
        DataType::Float64 => Some(*rng.pick(&["f32", "bf16", "int8", "int4", "int8", "int4"])),
        DataType::Float32 => Some(*rng.pick(&["bf16", "int8", "int4"])),
        DataType::FixedSizeList(item, _) if item.data_type().is_floating() => {
            Some(*rng.pick(&["int8", "int4", "int8-row", "int4-row"]))
        }
        _ => None,
    };
    let rounding = rounding.filter(|_| rng.percent(50));
    let distribution = match rng.below(10) {
        // No integer stands for infinities.
        _ if rounding.is_some_and(|name| name.starts_with("int")) => {
            *rng.pick(&[Distribution::Sorted, Distribution::Skewed])
        }
        0..6 => Distribution::Random,
        _ => *rng.pick(&DISTRIBUTIONS),
    };
    let nulls = match rng.below(10) {
        0..2 => Nulls::None,
        2..7 => Nulls::Percent(*rng.pick(&[1, 3, 5, 8, 10, 30, 50, 90])),
        7 | 8 => Nulls::Runs,
        _ => *rng.pick(&[Nulls::EmptyBitmap, Nulls::All, Nulls::Percent(99)]),
    };
    // Twice the rows where all are different. Large rows are repeated.
    let different = (3 << 20) / row_bytes(&data_type).max(1);
    let is_pooled = rng.percent(40) || 2 * rows > different || has_short_runs(&data_type);
    let n_base = match is_pooled {
        true => rng.between(2, different.clamp(3, 400)),
        false => 2 * rows,
    };
    let profile = NestedProfile {
        nulls,
        distribution,
        lengths: *rng.pick(&[
            Lengths::Short,
            Lengths::Short,
            Lengths::Empty,
            Lengths::Constant(2),
            Lengths::Skewed,
        ]),
        seed: rng.u64(),
    };
    let base = nested_array(&data_type, n_base, &profile);
    let any = |rng: &mut Rng| rng.below(n_base) as u64;
    let (places, order) = match is_pooled {
        true => pooled_places(rng, rows, n_base),
        false => ((0..rows as u64).collect(), "all different"),
    };
    let others = match is_pooled {
        true => (0..rows).map(|_| any(rng)).collect(),
        false => (rows as u64..2 * rows as u64).collect(),
    };
    let mut metadata = HashMap::new();
    let is_flat_struct = matches!(&data_type, DataType::Struct(fields)
        if !fields.is_empty() && fields.iter().all(|field| is_packable(field.data_type())));
    if is_flat_struct && rng.percent(40) {
        metadata.insert(LAYOUT_KEY.to_owned(), "packed".to_owned());
    } else if rng.percent(15) {
        let layout = *rng.pick(&["full-zip", "mini-block"]);
        metadata.insert(LAYOUT_KEY.to_owned(), layout.to_owned());
    }
    let mut options = ColumnOptions::new();
    let mut how = String::new();
    let is_strict = rng.percent(25) && may_be_strict(&data_type, &metadata, rounding);
    if is_strict {
        options = options.with_strict_erasure();
        how = ", strict".to_owned();
    } else if rng.percent(30) {
        let outline = *rng.pick(&OUTLINES);
        if let Ok(outline) = outline.parse::<Outline>() {
            options = options.with_outline(outline);
        }
        how = format!(", encoded as {outline}");
    }
    if let Some(rounding) = rounding {
        options = options.with_rounding(rounding);
        how += &format!(", rounded to {rounding}");
    }
    let null_runs = rng.percent(30).then(|| {
        let step = 1 << rng.between(6, 11);
        (rng.between(1, step / 10), step)
    });
    let text = format!(
        "{data_type}, {nulls:?} and {null_runs:?}, {distribution:?} of {n_base}, {order}, {metadata:?}{how}"
    );
    Source {
        field: Field::new(format!("c{number}"), data_type, true).with_metadata(metadata),
        base,
        places,
        others,
        null_runs,
        options,
        text,
    }
}

/// Rows of a pool of `n_base` values, and the words for their order.
fn pooled_places(rng: &mut Rng, rows: usize, n_base: usize) -> (Vec<u64>, &'static str) {
    let any = |rng: &mut Rng| rng.below(n_base) as u64;
    match rng.below(3) {
        0 => {
            let run = rng.between(2, 200);
            let mut places = Vec::new();
            while places.len() < rows {
                let place = any(rng);
                let n = rng.between(1, run).min(rows - places.len());
                places.extend(std::iter::repeat_n(place, n));
            }
            (places, "runs")
        }
        1 => {
            let mut places: Vec<u64> = (0..rows).map(|_| any(rng)).collect();
            places.sort_unstable();
            (places, "sorted")
        }
        _ => ((0..rows).map(|_| any(rng)).collect(), "in any order"),
    }
}

/// Whether a column can be stored so that erasures leave nothing that depends on erased values.
fn may_be_strict(
    data_type: &DataType,
    metadata: &HashMap<String, String>,
    rounding: Option<&str>,
) -> bool {
    // A packed struct, or one whose rows are stored one by one.
    let has_layout = metadata.contains_key(LAYOUT_KEY);
    let has_scale = rounding.is_some_and(|name| ["int8", "int4"].contains(&name));
    let is_strict =
        |path: &tarsia_arrow::LeafPath| not_strict(path.forms(), path.value_type()).is_none();
    let paths = leaf_paths(data_type, true);
    !has_layout && !has_scale && paths.is_ok_and(|paths| paths.iter().all(is_strict))
}

fn is_packable(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Int64
            | DataType::Int32
            | DataType::Float64
            | DataType::Float32
            | DataType::Utf8
            | DataType::Binary
            | DataType::FixedSizeBinary(_)
            | DataType::Decimal128(..)
            | DataType::Decimal256(..)
    )
}

/// Whether a column of a type may have bloom filters; others may, too.
fn has_blooms(data_type: &DataType) -> bool {
    data_type.is_integer()
        || data_type.is_decimal()
        || matches!(data_type, DataType::Utf8 | DataType::Binary)
        || matches!(data_type, DataType::FixedSizeBinary(bytes) if *bytes > 0)
}

fn options(rng: &mut Rng, seed: u64, sources: &[Source]) -> (WriteOptions, String) {
    let preset = *rng.pick(&[Preset::Fast, Preset::Balanced, Preset::Compact]);
    let page_bytes = *rng.pick(&[2000, 9000, 30_000, 200_000, 8 << 20]);
    let full_zip = *rng.pick(&[16, 128, 128, 1 << 20]);
    let mut options = WriteOptions::new()
        .with_preset(preset)
        .with_page_bytes(page_bytes)
        .with_full_zip_bytes_min(full_zip)
        .with_erasure(ErasureLevel::Erase)
        .with_embed_kernels(EmbedKernels::Omit)
        .with_deterministic(true)
        .with_salt_key(SALT_KEY)
        .with_threads(Threads::One);
    let mut text = format!("{preset}, pages of {page_bytes}, full-zip from {full_zip}");
    if rng.percent(35) {
        let weights = tarsia::choose::Weights {
            erasable: true,
            ..Objective::from(preset).weights()
        };
        let chooser = Chooser::new(tarsia::registry().clone(), Objective::from(preset));
        let chooser = chooser.with_weights(weights).with_chance(seed);
        options = options.with_chooser(PageChooser::new(Arc::new(chooser)));
        text += ", trees by chance";
    }
    let is_mixed = rng.percent(20);
    for (number, source) in sources.iter().enumerate() {
        let mut own = source.options.clone();
        if is_mixed && number > 0 && rng.flip() && !own.strict_erasure() {
            let level = *rng.pick(&[ErasureLevel::Immutable, ErasureLevel::Hide]);
            own = own.with_erasure(level);
            text += &format!(", {} at level {level}", source.field.name());
        }
        if rng.percent(30) && has_blooms(source.field.data_type()) {
            own = own.with_blooms(true);
            text += &format!(", bloom filters of {}", source.field.name());
        }
        options = options.with_column(source.field.name(), own);
    }
    (options, text)
}

/// One to four sets of rows.
fn rounds(rng: &mut Rng, columns: &[ArrayRef], rows: u64) -> Vec<RowSet> {
    let n_rounds = rng.between(1, 4);
    (0..n_rounds).map(|_| round(rng, columns, rows)).collect()
}

fn round(rng: &mut Rng, columns: &[ArrayRef], rows: u64) -> RowSet {
    let any = |rng: &mut Rng| rng.below(rows as usize) as u64;
    let mut set = RowSet::new();
    let mut add = |row: u64| {
        if row < rows {
            set.insert_range(row..row + 1);
        }
    };
    match rng.below(12) {
        0 | 1 => (0..rng.between(1, 3)).for_each(|_| add(any(rng))),
        2 | 3 => {
            let start = any(rng);
            let n = rng.between(1, 300) as u64;
            (start..start + n).for_each(add);
        }
        4 => {
            for _ in 0..rng.between(1, 5) {
                let start = any(rng);
                let n = rng.between(1, 20) as u64;
                (start..start + n).for_each(&mut add);
            }
        }
        // Around the ends of blocks of these many rows.
        5..7 => {
            let block = 1u64 << rng.between(3, 11);
            let step = block * rng.between(1, 3) as u64;
            let is_last = rng.flip();
            for edge in (0..=rows).step_by(step as usize) {
                match is_last {
                    true if edge > 0 => add(edge - 1),
                    true => {}
                    false => add(edge),
                }
            }
        }
        // Rows before nulls and after them.
        7..10 => {
            let column = rng.pick(columns);
            let nulls = column.logical_nulls();
            let is_null = |row: u64| {
                let is_null = |nulls: &arrow_buffer::NullBuffer| nulls.is_null(row as usize);
                row < rows && nulls.as_ref().is_some_and(is_null)
            };
            if rng.flip() {
                (0..rows.saturating_sub(1))
                    .filter(|row| !is_null(*row) && is_null(*row + 1))
                    .for_each(&mut add);
                add(any(rng));
                return set;
            }
            let n = rng.between(1, 100);
            let mut tries = 0;
            let mut found = 0;
            while found < n && tries < 20 * n {
                tries += 1;
                let row = any(rng);
                if !is_null(row) && (is_null(row + 1) || row > 0 && is_null(row - 1)) {
                    add(row);
                    found += 1;
                }
            }
            add(any(rng));
        }
        10 => {
            let percent = rng.between(1, 95) as u32;
            (0..rows)
                .filter(|_| rng.percent(percent))
                .for_each(&mut add);
            add(any(rng));
        }
        _ if rng.percent(30) => (0..rows).for_each(add),
        _ => add(rows - 1),
    }
    set
}

/// The table as a file.
///
/// # Errors
/// What the writer refuses.
pub(crate) fn write(batch: &RecordBatch, options: &WriteOptions) -> Result<Vec<u8>, tarsia::Error> {
    let mut writer = Writer::new(Vec::new(), batch.schema(), options.clone())?;
    writer.write(batch)?;
    Ok(writer.finish_into()?.0)
}

/// Opens a file. A command that another case starts holds the locks of this process for a moment.
pub(crate) fn open_path(path: &Path, options: OpenOptions) -> Result<File, String> {
    for _ in 0..OPENINGS {
        match File::open_with(path, options.clone()) {
            Err(error) if error.kind() == ErrorKind::Busy => {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            opened => return opened.map_err(|error| error.to_string()),
        }
    }
    Err("a file stays busy".to_owned())
}

/// How files are read here: by this thread alone, since cases run beside each other.
pub(crate) fn reading() -> OpenOptions {
    OpenOptions::new().with_threads(Threads::One)
}

/// A file in memory.
pub(crate) fn open(bytes: Vec<u8>) -> Result<File, String> {
    File::from_bytes(bytes, reading()).map_err(|error| format!("opening: {error}"))
}

/// The file as an erasure of each set in turn leaves it.
pub(crate) fn erased(
    mut bytes: Vec<u8>,
    rounds: &[RowSet],
    folder: &Path,
) -> Result<Vec<u8>, String> {
    let path = folder.join("erased.tarsia");
    for rows in rounds {
        let file = open(bytes)?;
        let plan = file.plan_erasure_with_salt_key(rows, ErasureLevel::Erase, SALT_KEY);
        let plan = plan.map_err(|error| format!("erasing: {error}"))?;
        let done = file.write_erased(plan, &path);
        done.map_err(|error| format!("erasing: {error}"))?;
        bytes = std::fs::read(&path).map_err(|error| error.to_string())?;
    }
    Ok(bytes)
}

/// All rows that readers see.
pub(crate) fn scan(file: &File) -> Result<RecordBatch, String> {
    let scan = file.scan().build().map_err(|error| error.to_string())?;
    let schema = arrow_array::RecordBatchReader::schema(&scan);
    let batches = scan.collect::<Result<Vec<_>, _>>();
    let batches = batches.map_err(|error| error.to_string())?;
    let columns = schema.fields().len();
    if columns == 0 || batches.is_empty() {
        return Ok(RecordBatch::new_empty(schema));
    }
    arrow_select::concat::concat_batches(&schema, &batches).map_err(|error| error.to_string())
}

/// Some rows of a table.
pub(crate) fn rows_of(
    batch: &RecordBatch,
    rows: impl Iterator<Item = u64>,
) -> Result<RecordBatch, String> {
    let places = UInt64Array::from_iter_values(rows);
    let columns = batch.columns().iter();
    let columns = columns.map(|column| reorder(column.as_ref(), &places));
    let columns = columns.collect::<Result<Vec<_>, _>>();
    let columns = columns.map_err(|error| error.to_string())?;
    let options = RecordBatchOptions::new().with_row_count(Some(places.len()));
    RecordBatch::try_new_with_options(batch.schema(), columns, &options)
        .map_err(|error| error.to_string())
}

/// The rows that are not in a set.
pub(crate) fn survivors(rows: u64, gone: &RowSet) -> impl Iterator<Item = u64> + '_ {
    (0..rows).filter(|row| !gone.contains(*row))
}
