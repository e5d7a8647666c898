//! `tarsia explain`.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use serde::Serialize;
use tarsia::choose::{Candidate, Choice, Choose, Chooser};
use tarsia::codec::Statistics;
use tarsia::{
    ColumnInspection, ColumnOptions, EmbedKernels, PageChooser, Preset, Threads, Tree, WriteOptions,
};
use tarsia_convert::source::Source;

use crate::args::Explain;
use crate::failure::Failure;
use crate::progress::Bar;
use crate::shown::printable;

use super::open::budget_of;
use super::output::{NAME_CHARS, Out, SHOWN_CHARS, align_right, json_number, new_table, ratio};

/// Scans of a candidate; the fastest counts.
const SCANS: usize = 3;

#[derive(Serialize)]
struct LeafDocument {
    column: String,
    r#type: String,
    rows: u64,
    /// As Arrow holds them.
    decoded_bytes: u64,
    candidates: Vec<CandidateDocument>,
}

#[derive(Serialize)]
struct CandidateDocument {
    tree: String,
    chosen: bool,
    /// Bytes of the values of the first page, without validity and metadata.
    expected_bytes: u64,
    /// Bytes of the column.
    bytes: u64,
    gb_per_second: serde_json::Value,
}

pub(super) fn explain(args: &Explain) -> Result<(), Failure> {
    let input = args.input.path()?;
    // Of reading alone.
    let budget = budget_of(input, &args.limits);
    let mut source = Source::open(input, &args.text.options()?)?;
    let schema = source.schema();
    budget.has_columns(schema.fields().len());
    let columns: Vec<usize> = match &args.column {
        None => (0..schema.fields().len()).collect(),
        Some(name) => {
            let fields = schema.fields().iter().enumerate();
            let named = fields.filter(|(_, field)| field.name() == name);
            named.map(|(index, _)| index).collect()
        }
    };
    if let (Some(name), []) = (&args.column, columns.as_slice()) {
        let what = format!("{}: no column `{name}`", input.display());
        return Err(Failure::Usage(what));
    }
    let batches = first_rows(&mut source, args.n_rows)?;
    drop(budget);
    let bar = Bar::new("weighing");
    let mut leaves = Vec::new();
    for (n_done, column) in columns.iter().enumerate() {
        let of_column = Column::new(input, &schema, &batches, *column, args.preset.into())?;
        leaves.extend(of_column.explain()?);
        let (done, total) = (n_done as u64 + 1, columns.len() as u64);
        bar.set(done, total, leaves.len() as u64);
    }
    drop(bar);
    let mut out = Out::new();
    if args.json {
        out.document(&leaves)?;
        return out.finish();
    }
    for (i, leaf) in leaves.iter().enumerate() {
        if i > 0 {
            out.line("")?;
        }
        out.line(&format!(
            "{} ({}): {} rows, {} bytes",
            printable(&leaf.column, NAME_CHARS),
            printable(&leaf.r#type, SHOWN_CHARS),
            leaf.rows,
            leaf.decoded_bytes
        ))?;
        let mut table = new_table(&["tree", "expected", "bytes", "ratio", "GB/s"]);
        (1..=4).for_each(|column| align_right(&mut table, column));
        for it in &leaf.candidates {
            table.add_row([
                format!("{}{}", it.tree, if it.chosen { " (chosen)" } else { "" }),
                it.expected_bytes.to_string(),
                it.bytes.to_string(),
                ratio(leaf.decoded_bytes, it.bytes),
                it.gb_per_second
                    .as_f64()
                    .map_or("-".into(), |gb| format!("{gb:.2}")),
            ]);
        }
        out.table(&table)?;
    }
    out.finish()
}

/// At most so many rows of a source.
fn first_rows(source: &mut Source, n_rows: u64) -> Result<Vec<RecordBatch>, Failure> {
    let mut batches = Vec::new();
    let mut left = n_rows;
    while left > 0 {
        let Some(batch) = source.next_batch()? else {
            break;
        };
        let n = left.min(batch.num_rows() as u64);
        batches.push(batch.slice(0, n as usize));
        left -= n;
    }
    Ok(batches)
}

/// One column, alone.
struct Column<'a> {
    path: &'a Path,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    preset: Preset,
}

impl<'a> Column<'a> {
    fn new(
        path: &'a Path,
        schema: &SchemaRef,
        batches: &[RecordBatch],
        column: usize,
        preset: Preset,
    ) -> Result<Self, Failure> {
        let bad = |error: arrow_schema::ArrowError| Failure::bad(path, error.to_string());
        let project = |batch: &RecordBatch| batch.project(&[column]).map_err(bad);
        Ok(Self {
            path,
            schema: Arc::new(schema.project(&[column]).map_err(bad)?),
            batches: batches.iter().map(project).collect::<Result<_, _>>()?,
            preset,
        })
    }

    /// Lists what there is to choose for each leaf.
    fn explain(&self) -> Result<Vec<LeafDocument>, Failure> {
        let chosen = self.written(self.options())?;
        let mut leaves = Vec::new();
        for leaf in inspect(&chosen, &self.schema).map_err(|error| self.refused(&error))? {
            leaves.push(self.explain_leaf(leaf)?);
        }
        Ok(leaves)
    }

    fn explain_leaf(&self, leaf: ColumnInspection) -> Result<LeafDocument, Failure> {
        let weighing = Arc::new(Weighing::new(self.preset));
        let policy = PageChooser::new(weighing.clone());
        let own = ColumnOptions::new().with_chooser(policy);
        self.written(self.options().with_column(&leaf.name, own))?;
        let Weighed { found, chosen } = std::mem::take(&mut *weighing.lock());
        let mut candidates = Vec::new();
        for found in found {
            let own = ColumnOptions::new().with_tree(found.tree.clone());
            let file = self.written(self.options().with_column(&leaf.name, own))?;
            let measured = measure(&file, &self.schema, &leaf.name);
            let (bytes, speed) = measured.map_err(|error| self.refused(&error))?;
            candidates.push(CandidateDocument {
                tree: found.tree.to_string(),
                chosen: chosen.as_ref() == Some(&found.tree),
                expected_bytes: found.bytes,
                bytes,
                gb_per_second: json_number(speed),
            });
        }
        Ok(LeafDocument {
            column: leaf.name,
            r#type: leaf.data_type,
            rows: leaf.rows,
            decoded_bytes: leaf.decoded_bytes,
            candidates,
        })
    }

    fn options(&self) -> WriteOptions {
        WriteOptions::new()
            .with_preset(self.preset)
            .with_embed_kernels(EmbedKernels::Omit)
    }

    /// A file of the column, in memory.
    fn written(&self, options: WriteOptions) -> Result<tarsia::File, Failure> {
        let write = || {
            let schema = self.schema.clone();
            let mut writer = tarsia::Writer::new(Vec::new(), schema, options)?;
            for batch in &self.batches {
                writer.write(batch)?;
            }
            let (bytes, _) = writer.finish_into()?;
            let options = tarsia::OpenOptions::new().with_threads(Threads::One);
            tarsia::File::from_bytes(bytes, options)
        };
        write().map_err(|error| self.refused(&error))
    }

    fn refused(&self, error: &tarsia::Error) -> Failure {
        Failure::of_tarsia(self.path, error)
    }
}

/// The leaves of the only column.
fn inspect(
    file: &tarsia::File,
    schema: &SchemaRef,
) -> Result<Vec<ColumnInspection>, tarsia::Error> {
    file.inspect_columns(schema.field(0).name())
}

/// The bytes of a leaf, and how many bytes of Arrow arrays the file gives per second, in units of 10^9.
fn measure(
    file: &tarsia::File,
    schema: &SchemaRef,
    leaf: &str,
) -> Result<(u64, f64), tarsia::Error> {
    let leaves = inspect(file, schema)?;
    let found = leaves.iter().find(|it| it.name == leaf);
    let bytes = found.map_or(0, |it| it.encoded_bytes.saturating_add(it.metadata_bytes));
    let decoded: u64 = leaves.iter().map(|it| it.decoded_bytes).sum();
    let mut fastest = f64::INFINITY;
    for _ in 0..SCANS {
        let started = Instant::now();
        for batch in file.scan().build()? {
            batch?;
        }
        fastest = fastest.min(started.elapsed().as_secs_f64());
    }
    Ok((bytes, decoded as f64 / 1e9 / fastest.max(1e-9)))
}

/// Chooses as the writer would by itself, and notes all that there was to choose from for the items of the first page.
struct Weighing {
    chooser: Chooser,
    weighed: Mutex<Weighed>,
}

#[derive(Default)]
struct Weighed {
    /// The cheapest first.
    found: Vec<Candidate>,
    chosen: Option<Tree>,
}

impl Weighing {
    fn new(preset: Preset) -> Self {
        Self {
            chooser: Chooser::new(tarsia::registry().clone(), preset.into()),
            weighed: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Weighed> {
        let weighed = self.weighed.lock();
        weighed.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Choose for Weighing {
    fn choose(&self, values: &Statistics<'_>) -> tarsia::codec::Result<Choice> {
        let choice = self.chooser.choose(values)?;
        let is_of_items = values.facts().are_of_items();
        if is_of_items && !values.is_empty() && self.lock().found.is_empty() {
            *self.lock() = Weighed {
                found: self.chooser.candidates(values)?,
                chosen: choice.trees.first().cloned(),
            };
        }
        Ok(choice)
    }

    fn full_zip_bytes_min(&self) -> u32 {
        self.chooser.full_zip_bytes_min()
    }
}
