//! One function per command.

use std::io::{BufWriter, StdoutLock, Write, stdout};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema, SchemaRef};
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use crate::args::{
    ColumnLayout, Command, Encodings, Export, Head, Import, Inspect, Names, Rows, Scan,
    Schema as SchemaArgs, Take, Trust, Verify,
};
use crate::failure::Failure;
use crate::progress::Bar;
use crate::source::{Format, Source};
use crate::target::{Dictionaries, Target};
use crate::text::{JsonRows, Style, cell, printable, repeated_name, shown};

/// Characters of a value that a table shows.
const SHOWN_CHARS: usize = 60;

/// Characters of a name, a type or a tree that a table shows.
const NAME_CHARS: usize = 1_000;

/// Runs a command; results go to the standard output.
///
/// # Errors
/// [`Failure`] with the line to show and the exit code.
pub fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Import(args) => import(&args),
        Command::Export(args) => export(&args),
        Command::Schema(args) => schema(&args),
        Command::Head(args) => head(&args),
        Command::Take(args) => take(&args),
        Command::Scan(args) => scan(&args),
        Command::Inspect(args) => inspect(&args),
        Command::Verify(args) => verify(&args),
        Command::Encodings(args) => encodings(&args),
    }
}

fn import(args: &Import) -> Result<(), Failure> {
    if Format::of(&args.output).is_some() {
        return Err(Failure::Usage(format!(
            "{}: the file to write would be a Tarsia file, whose names end in .tarsia",
            args.output.display()
        )));
    }
    let started = Instant::now();
    let mut source = Source::open(&args.input)?;
    let bar = Bar::new("importing");
    let options = tarsia::WriteOptions::new()
        .with_preset(args.preset.into())
        .with_embed_kernels(args.kernels.into());
    let refused = |error: &tarsia::Error| import_failure(&args.input, &args.output, error);
    let schema = with_layouts(source.schema(), &args.layouts)?;
    let mut writer =
        tarsia::Writer::create(&args.output, schema, options).map_err(|error| refused(&error))?;
    let mut rows = 0;
    while let Some(batch) = source.next_batch()? {
        writer.write(&batch).map_err(|error| refused(&error))?;
        rows += batch.num_rows() as u64;
        let (done, total) = source.progress();
        bar.set(done, total, rows);
    }
    let summary = writer.finish().map_err(|error| refused(&error))?;
    drop(bar);
    let mut out = Out::new();
    out.facts(&[
        ("rows", summary.rows.to_string()),
        ("columns", summary.columns.to_string()),
        ("bytes in", source.bytes().to_string()),
        ("bytes out", summary.file_bytes.to_string()),
        ("ratio", ratio(source.bytes(), summary.file_bytes)),
        ("kernels", kernels_text(&summary)),
        ("seconds", format!("{:.3}", started.elapsed().as_secs_f64())),
    ])?;
    out.finish()
}

/// The kernels in a file that was written.
fn kernels_text(summary: &tarsia::WriteSummary) -> String {
    match summary.kernels.as_slice() {
        [] => "none".to_owned(),
        names => format!("{} ({} bytes)", names.join(", "), summary.kernel_bytes),
    }
}

/// The schema with the layouts that the user wants.
fn with_layouts(schema: SchemaRef, layouts: &[ColumnLayout]) -> Result<SchemaRef, Failure> {
    let mut fields = schema.fields().to_vec();
    for ColumnLayout { column, layout } in layouts {
        let named: Vec<_> = fields.iter_mut().filter(|f| f.name() == column).collect();
        if named.is_empty() {
            return Err(Failure::Usage(format!("--layout: no column `{column}`")));
        }
        for field in named {
            let mut metadata = field.metadata().clone();
            metadata.insert(tarsia::LAYOUT_KEY.to_owned(), layout.clone());
            *field = Arc::new(field.as_ref().clone().with_metadata(metadata));
        }
    }
    let metadata = schema.metadata().clone();
    Ok(Arc::new(Schema::new_with_metadata(fields, metadata)))
}

/// What the writer refuses is a column of the input, although the facade knows only the output's name.
fn import_failure(input: &Path, output: &Path, error: &tarsia::Error) -> Failure {
    if error.kind() == tarsia::ErrorKind::Io {
        return Failure::bad(output, error);
    }
    let text = error.to_string();
    let what = text
        .strip_prefix(&format!("{}: ", output.display()))
        .unwrap_or(&text);
    Failure::bad(input, what)
}

fn export(args: &Export) -> Result<(), Failure> {
    let format = Format::of_or_usage(&args.output)?;
    let started = Instant::now();
    let file = open_with(&args.input, trusting(&args.trust))?;
    let bar = Bar::new("exporting");
    let names = args.columns.names.as_ref();
    let mut scan = build_scan(&args.input, &file, names, &args.rows)?;
    let schema = scan.schema();
    let mut dictionaries = Dictionaries::default();
    if format == Format::Arrow && Dictionaries::needed(&schema) {
        // Not two scans at once: each reads ahead.
        drop(scan);
        dictionaries = merged_dictionaries(&args.input, &file, &schema, &args.rows)?;
        scan = build_scan(&args.input, &file, names, &args.rows)?;
    }
    let mut target = Target::create(&args.output, format, schema.clone(), dictionaries)?;
    let total = selected_rows(&file, &args.rows);
    let mut rows = 0;
    for batch in scan {
        let batch = batch.map_err(|error| Failure::of_tarsia(&args.input, &error.into()))?;
        target.write(&batch)?;
        rows += batch.num_rows() as u64;
        bar.set(rows, total, rows);
    }
    let bytes_out = target.finish()?;
    drop(bar);
    let bytes_in = file.metadata().file_bytes;
    let mut out = Out::new();
    out.facts(&[
        ("rows", rows.to_string()),
        ("columns", schema.fields().len().to_string()),
        ("bytes in", bytes_in.to_string()),
        ("bytes out", bytes_out.to_string()),
        ("ratio", ratio(bytes_in, bytes_out)),
        ("seconds", format!("{:.3}", started.elapsed().as_secs_f64())),
    ])?;
    out.finish()
}

/// The dictionaries of all batches of an export, from a first pass over the columns that have one.
fn merged_dictionaries(
    path: &Path,
    file: &tarsia::File,
    schema: &Schema,
    rows: &Rows,
) -> Result<Dictionaries, Failure> {
    let columns: Vec<usize> = (0..schema.fields().len())
        .filter(|&i| matches!(schema.field(i).data_type(), DataType::Dictionary(_, _)))
        .collect();
    let names = Names(
        columns
            .iter()
            .map(|&i| schema.field(i).name().clone())
            .collect(),
    );
    let mut dictionaries = Dictionaries::default();
    for batch in build_scan(path, file, Some(&names), rows)? {
        let batch = batch.map_err(|error| Failure::of_tarsia(path, &error.into()))?;
        dictionaries
            .merge(&batch, &columns)
            .map_err(|what| Failure::bad(path, what))?;
    }
    Ok(dictionaries)
}

#[derive(Serialize)]
struct SchemaDocument<'a> {
    rows: u64,
    fields: Vec<FieldDocument<'a>>,
    metadata: std::collections::BTreeMap<&'a str, &'a str>,
}

#[derive(Serialize)]
struct FieldDocument<'a> {
    name: &'a str,
    r#type: String,
    nullable: bool,
    metadata: std::collections::BTreeMap<&'a str, &'a str>,
}

fn schema(args: &SchemaArgs) -> Result<(), Failure> {
    let file = open(&args.file)?;
    let schema = file
        .schema()
        .map_err(|error| Failure::of_tarsia(&args.file, &error))?;
    let pairs = |metadata: &'_ std::collections::HashMap<String, String>| -> Vec<(String, String)> {
        let mut pairs: Vec<_> = metadata
            .iter()
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        pairs.sort();
        pairs
    };
    let mut out = Out::new();
    if args.json {
        out.document(&SchemaDocument {
            rows: file.num_rows(),
            fields: schema
                .fields()
                .iter()
                .map(|field| FieldDocument {
                    name: field.name(),
                    r#type: field.data_type().to_string(),
                    nullable: field.is_nullable(),
                    metadata: field
                        .metadata()
                        .iter()
                        .map(|(key, value)| (key.as_str(), value.as_str()))
                        .collect(),
                })
                .collect(),
            metadata: schema
                .metadata()
                .iter()
                .map(|(key, value)| (key.as_str(), value.as_str()))
                .collect(),
        })?;
        return out.finish();
    }
    let mut table = new_table(&["column", "type", "nullable", "metadata"]);
    for field in schema.fields() {
        let metadata: Vec<String> = pairs(field.metadata())
            .into_iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        table.add_row([
            printable(field.name(), NAME_CHARS),
            printable(&field.data_type().to_string(), NAME_CHARS),
            if field.is_nullable() { "yes" } else { "no" }.into(),
            printable(&metadata.join(", "), SHOWN_CHARS),
        ]);
    }
    out.table(&table)?;
    let metadata = pairs(schema.metadata());
    if !metadata.is_empty() {
        let mut table = new_table(&["metadata", "value"]);
        for (key, value) in metadata {
            table.add_row([printable(&key, NAME_CHARS), printable(&value, SHOWN_CHARS)]);
        }
        out.line("")?;
        out.table(&table)?;
    }
    out.finish()
}

fn head(args: &Head) -> Result<(), Failure> {
    let file = open_with(&args.file, trusting(&args.trust))?;
    let rows = 0..args.n_rows.min(file.num_rows());
    let bad = |error: &tarsia::Error| Failure::of_tarsia(&args.file, error);
    let scan = file
        .scan()
        .rows(rows)
        .build()
        .map_err(|error| bad(&error))?;
    let schema = scan.schema();
    let batches = scan.map(|batch| batch.map_err(|error| bad(&error.into())));
    print_rows(&args.file, &schema, batches, args.json)
}

fn take(args: &Take) -> Result<(), Failure> {
    let file = open_with(&args.file, trusting(&args.trust))?;
    let n_rows = file.num_rows();
    if let Some(row) = args.rows.0.iter().find(|row| **row >= n_rows) {
        return Err(Failure::Usage(format!(
            "{}: row {row} is not one of its {n_rows} rows",
            args.file.display()
        )));
    }
    let mut taken = file.take(&args.rows.0);
    if let Some(path) = &args.element {
        taken = taken.element(path);
    }
    if let Some(names) = &args.columns.names {
        taken = taken.columns(&names.0);
    }
    let taken = taken.read_counted();
    let tarsia::Taken { batch, reads, .. } =
        taken.map_err(|error| Failure::of_tarsia(&args.file, &error))?;
    if args.stats {
        let document = ReadsDocument {
            requests: reads.requests,
            bytes: reads.bytes,
            metadata_requests: reads.metadata_requests,
            metadata_bytes: reads.metadata_bytes,
        };
        match args.json {
            true => eprintln!("{}", serde_json::json!(document)),
            false => eprintln!(
                "{} bytes of blocks in {} requests, {} bytes of metadata in {}",
                reads.bytes, reads.requests, reads.metadata_bytes, reads.metadata_requests
            ),
        }
    }
    print_rows(
        &args.file,
        &batch.schema(),
        std::iter::once(Ok(batch)),
        args.json,
    )
}

/// What a take read.
#[derive(Serialize)]
struct ReadsDocument {
    requests: u64,
    bytes: u64,
    metadata_requests: u64,
    metadata_bytes: u64,
}

/// Rows as a table, or as a JSON array of objects.
fn print_rows(
    path: &Path,
    schema: &Schema,
    batches: impl Iterator<Item = Result<RecordBatch, Failure>>,
    json: bool,
) -> Result<(), Failure> {
    let mut out = Out::new();
    if json {
        refuse_repeated_names(path, schema)?;
        // The rows come batch by batch, so the brackets are written by hand.
        let mut buffer = vec![b'['];
        let mut n_rows = 0;
        for batch in batches {
            let batch = batch?;
            let rows = JsonRows::new(&batch).map_err(|what| Failure::bad(path, what))?;
            for row in 0..batch.num_rows() {
                buffer.extend_from_slice(if n_rows == 0 { b"\n" } else { b",\n" });
                n_rows += 1;
                rows.write(row, &mut buffer)
                    .map_err(|what| Failure::bad(path, what))?;
                out.write(&buffer)?;
                buffer.clear();
            }
        }
        buffer.extend_from_slice(if n_rows == 0 { b"]\n" } else { b"\n]\n" });
        out.write(&buffer)?;
        return out.finish();
    }
    let header: Vec<String> = schema
        .fields()
        .iter()
        .map(|field| printable(field.name(), SHOWN_CHARS))
        .collect();
    let mut table = new_table(&header);
    for (i, field) in schema.fields().iter().enumerate() {
        if field.data_type().is_numeric() {
            align_right(&mut table, i);
        }
    }
    for batch in batches {
        let batch = batch?;
        let mut cells = Vec::with_capacity(batch.num_columns());
        for (field, array) in schema.fields().iter().zip(batch.columns()) {
            let in_column =
                |what: String| Failure::bad(path, format!("column `{}`: {what}", field.name()));
            cells.push(cell(Style::Json, array.as_ref()).map_err(in_column)?);
        }
        for row in 0..batch.num_rows() {
            let texts: Result<Vec<String>, String> = cells
                .iter()
                .map(|cell| shown(cell, row, SHOWN_CHARS))
                .collect();
            table.add_row(texts.map_err(|what| Failure::bad(path, what))?);
        }
    }
    out.table(&table)?;
    out.finish()
}

fn scan(args: &Scan) -> Result<(), Failure> {
    let options = trusting(&args.trust).with_kernels(match args.force_kernels {
        true => tarsia::Kernels::Forced,
        false => tarsia::Kernels::default(),
    });
    let file = open_with(&args.file, options)?;
    let started = Instant::now();
    let scan = build_scan(&args.file, &file, args.columns.names.as_ref(), &args.rows)?;
    let schema = scan.schema();
    let mut out = Out::new();
    if args.json {
        refuse_repeated_names(&args.file, &schema)?;
        let mut buffer = Vec::new();
        for batch in scan {
            let batch = batch.map_err(|error| Failure::of_tarsia(&args.file, &error.into()))?;
            let rows = JsonRows::new(&batch).map_err(|what| Failure::bad(&args.file, what))?;
            for row in 0..batch.num_rows() {
                rows.write(row, &mut buffer)
                    .map_err(|what| Failure::bad(&args.file, what))?;
                buffer.push(b'\n');
                out.write(&buffer)?;
                buffer.clear();
            }
        }
        return out.finish();
    }
    let bar = Bar::new("scanning");
    let total = selected_rows(&file, &args.rows);
    let (mut rows, mut bytes) = (0, 0);
    let mut dictionaries = vec![None; schema.fields().len()];
    for batch in scan {
        let batch = batch.map_err(|error| Failure::of_tarsia(&args.file, &error.into()))?;
        rows += batch.num_rows() as u64;
        for (array, dictionary) in batch.columns().iter().zip(&mut dictionaries) {
            bytes += arrow_bytes(array, dictionary);
        }
        bar.set(rows, total, rows);
    }
    let seconds = started.elapsed().as_secs_f64();
    drop(bar);
    if args.count {
        out.line(&rows.to_string())?;
    } else {
        out.facts(&[
            ("rows", rows.to_string()),
            ("bytes", bytes.to_string()),
            ("seconds", format!("{seconds:.6}")),
            (
                "GB/s",
                format!("{:.3}", bytes as f64 / 1e9 / seconds.max(1e-9)),
            ),
        ])?;
    }
    out.finish()
}

/// Bytes of the array's buffers that belong to its rows. A dictionary that the batch before had too counts once.
fn arrow_bytes(array: &ArrayRef, last_dictionary: &mut Option<ArrayRef>) -> u64 {
    let views = |lengths: &mut dyn Iterator<Item = usize>| -> u64 {
        // A view is 16 bytes; values of up to 12 bytes are inside it.
        lengths
            .map(|n| 16 + if n > 12 { n as u64 } else { 0 })
            .sum()
    };
    let validity = |array: &dyn Array| {
        if array.nulls().is_some() {
            array.len().div_ceil(8) as u64
        } else {
            0
        }
    };
    match array.data_type() {
        DataType::Utf8View => {
            let array = array.as_string_view();
            views(&mut array.lengths().map(|n| n as usize)) + validity(array)
        }
        DataType::BinaryView => {
            let array = array.as_binary_view();
            views(&mut array.lengths().map(|n| n as usize)) + validity(array)
        }
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            let values = dictionary.values();
            let known = last_dictionary
                .as_ref()
                .is_some_and(|last| last.to_data().ptr_eq(&values.to_data()));
            let keys = dictionary
                .keys()
                .to_data()
                .get_slice_memory_size()
                .unwrap_or(0) as u64;
            if known {
                return keys;
            }
            *last_dictionary = Some(values.clone());
            keys + arrow_bytes(values, &mut None)
        }
        _ => array
            .to_data()
            .get_slice_memory_size()
            .unwrap_or_else(|_| array.get_buffer_memory_size()) as u64,
    }
}

#[derive(Serialize)]
struct InspectDocument {
    file: FileDocument,
    #[serde(skip_serializing_if = "Option::is_none")]
    layout: Option<Vec<RegionDocument>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernels: Option<Vec<KernelDocument>>,
    columns: Vec<ColumnDocument>,
}

#[derive(Serialize)]
struct FileDocument {
    rows: u64,
    columns: u32,
    bytes: u64,
    version: String,
    file_id: String,
    root_digest: String,
    epoch: u64,
    created_by: String,
}

#[derive(Serialize)]
struct KernelDocument {
    digest: String,
    /// If this program ships it.
    name: Option<String>,
    bytes: u64,
    raw_bytes: u64,
    /// Page descriptions that name it.
    descriptions: u64,
}

impl From<tarsia::KernelInspection> for KernelDocument {
    fn from(kernel: tarsia::KernelInspection) -> KernelDocument {
        KernelDocument {
            digest: hex(&kernel.digest),
            name: kernel.name,
            bytes: kernel.bytes,
            raw_bytes: kernel.raw_bytes,
            descriptions: kernel.descriptions.0,
        }
    }
}

#[derive(Serialize)]
struct RegionDocument {
    name: &'static str,
    place: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct ColumnDocument {
    name: String,
    r#type: String,
    nullable: bool,
    rows: u64,
    items: u64,
    nulls: u64,
    pages: u64,
    blocks: u64,
    trees: Vec<TreeDocument>,
    /// Pages and metadata.
    bytes: u64,
    encoded_bytes: u64,
    metadata_bytes: u64,
    decoded_bytes: u64,
    search_cache_bytes: u64,
    shared_cache_bytes: u64,
    ratio: serde_json::Value,
}

#[derive(Serialize)]
struct TreeDocument {
    tree: String,
    blocks: u64,
}

impl From<tarsia::FileMetadata> for FileDocument {
    fn from(file: tarsia::FileMetadata) -> FileDocument {
        FileDocument {
            rows: file.rows,
            columns: file.columns,
            bytes: file.file_bytes,
            version: format!("{}.{}", file.version.0, file.version.1),
            file_id: hex(&file.file_id),
            root_digest: hex(&file.root_digest),
            epoch: file.epoch,
            created_by: file.created_by,
        }
    }
}

impl From<tarsia::ColumnInspection> for ColumnDocument {
    fn from(column: tarsia::ColumnInspection) -> ColumnDocument {
        ColumnDocument {
            ratio: json_number(column.ratio()),
            name: column.name,
            r#type: column.data_type,
            nullable: column.nullable,
            rows: column.rows,
            items: column.items,
            nulls: column.nulls,
            pages: column.pages,
            blocks: column.blocks,
            trees: column
                .trees
                .into_iter()
                .map(|(tree, blocks)| TreeDocument { tree, blocks })
                .collect(),
            bytes: column.encoded_bytes.saturating_add(column.metadata_bytes),
            encoded_bytes: column.encoded_bytes,
            metadata_bytes: column.metadata_bytes,
            decoded_bytes: column.decoded_bytes,
            search_cache_bytes: column.search_cache_bytes,
            shared_cache_bytes: column.shared_cache_bytes,
        }
    }
}

fn inspect(args: &Inspect) -> Result<(), Failure> {
    let file = open(&args.file)?;
    let bad = |error: tarsia::Error| Failure::of_tarsia(&args.file, &error);
    let document = match &args.column {
        Some(name) => InspectDocument {
            file: file.metadata().into(),
            layout: None,
            kernels: None,
            columns: file
                .inspect_columns(name)
                .map_err(bad)?
                .into_iter()
                .map(Into::into)
                .collect(),
        },
        None => {
            let inspection = file.inspect().map_err(bad)?;
            let region = |region: tarsia::Region| RegionDocument {
                name: region.name,
                place: region.place,
                bytes: region.bytes,
            };
            InspectDocument {
                file: inspection.file.into(),
                layout: Some(inspection.layout.into_iter().map(region).collect()),
                kernels: Some(inspection.kernels.into_iter().map(Into::into).collect()),
                columns: inspection
                    .columns
                    .into_iter()
                    .map(ColumnDocument::from)
                    .collect(),
            }
        }
    };
    let mut out = Out::new();
    if args.json {
        out.document(&document)?;
        return out.finish();
    }
    let about = &document.file;
    out.facts(&[
        ("rows", about.rows.to_string()),
        ("columns", about.columns.to_string()),
        ("bytes", about.bytes.to_string()),
        ("version", about.version.clone()),
        ("file id", about.file_id.clone()),
        ("root digest", about.root_digest.clone()),
        ("epoch", about.epoch.to_string()),
        ("created by", printable(&about.created_by, SHOWN_CHARS)),
    ])?;
    if let Some(layout) = &document.layout {
        let mut table = new_table(&["region", "place", "bytes"]);
        align_right(&mut table, 1);
        align_right(&mut table, 2);
        for region in layout {
            table.add_row([
                region.name.to_owned(),
                region.place.to_string(),
                region.bytes.to_string(),
            ]);
        }
        out.line("")?;
        out.table(&table)?;
    }
    if let Some(kernels) = document.kernels.as_ref().filter(|it| !it.is_empty()) {
        let mut table = new_table(&["kernel", "digest", "bytes", "page descriptions"]);
        align_right(&mut table, 2);
        align_right(&mut table, 3);
        for kernel in kernels {
            table.add_row([
                kernel
                    .name
                    .clone()
                    .unwrap_or_else(|| "not of this build".to_owned()),
                kernel.digest.clone(),
                kernel.bytes.to_string(),
                kernel.descriptions.to_string(),
            ]);
        }
        out.line("")?;
        out.table(&table)?;
    }
    let mut table = new_table(&[
        "column",
        "type",
        "items",
        "nulls",
        "pages",
        "blocks",
        "tree (blocks)",
        "bytes",
        "ratio",
        "search cache",
    ]);
    for i in [2, 3, 4, 5, 7, 8, 9] {
        align_right(&mut table, i);
    }
    for column in &document.columns {
        let trees: Vec<String> = column
            .trees
            .iter()
            .map(|tree| format!("{} ({})", tree.tree, tree.blocks))
            .collect();
        table.add_row([
            printable(&column.name, SHOWN_CHARS),
            printable(&column.r#type, SHOWN_CHARS),
            column.items.to_string(),
            column.nulls.to_string(),
            column.pages.to_string(),
            column.blocks.to_string(),
            printable(&trees.join(", "), NAME_CHARS),
            column.bytes.to_string(),
            ratio(column.decoded_bytes, column.bytes),
            column.search_cache_bytes.to_string(),
        ]);
    }
    out.line("")?;
    out.table(&table)?;
    out.finish()
}

#[derive(Serialize)]
struct EncodingDocument {
    id: &'static str,
    version: String,
    /// Whether this program writes it, too.
    written: bool,
    /// Those of this program that decode it.
    kernels: Vec<String>,
}

fn encodings(args: &Encodings) -> Result<(), Failure> {
    let registry = tarsia::registry();
    let writers = registry.writers();
    let mut documents: Vec<EncodingDocument> = registry
        .encodings()
        .iter()
        .map(|encoding| {
            let (id, version) = (encoding.id(), encoding.version());
            let kernels = tarsia::kernels().iter();
            let decoding = kernels.filter(|it| it.decodes(id, version.major, version.minor));
            EncodingDocument {
                id,
                version: version.to_string(),
                written: writers.iter().any(|known| known.writer.id() == id),
                kernels: decoding.map(|it| it.name.to_string()).collect(),
            }
        })
        .collect();
    documents.sort_by_key(|document| document.id);
    let mut out = Out::new();
    if args.json {
        out.document(&documents)?;
        return out.finish();
    }
    let mut table = new_table(&["encoding", "version", "written", "kernels"]);
    for document in &documents {
        table.add_row([
            document.id.to_owned(),
            document.version.clone(),
            if document.written { "yes" } else { "no" }.to_owned(),
            document.kernels.join(", "),
        ]);
    }
    out.table(&table)?;
    out.finish()
}

#[derive(Serialize)]
struct VerifyDocument<'a> {
    file: String,
    ok: bool,
    #[serde(flatten)]
    result: VerifyResult<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum VerifyResult<'a> {
    Checked {
        columns: u64,
        pages: u64,
        blocks: u64,
        bytes: u64,
    },
    Bad {
        error: String,
        column: Option<&'a str>,
        page: Option<u64>,
        block: Option<u64>,
    },
}

fn verify(args: &Verify) -> Result<(), Failure> {
    let name = || args.file.display().to_string();
    let opened = tarsia::File::open_with(&args.file, trusting(&args.trust));
    let checked = opened.and_then(|file| match (&args.column, args.page) {
        (None, _) => file.verify(),
        (Some(column), None) => file.verify_column(column),
        // A page number that does not fit is beyond every file, and the facade says so.
        (Some(column), Some(page)) => {
            file.verify_page(column, usize::try_from(page).unwrap_or(usize::MAX))
        }
    });
    let mut out = Out::new();
    match checked {
        Ok(report) => {
            let tarsia::VerifyReport {
                columns,
                pages,
                blocks,
                bytes,
                ..
            } = report;
            if args.json {
                out.document(&VerifyDocument {
                    file: name(),
                    ok: true,
                    result: VerifyResult::Checked {
                        columns,
                        pages,
                        blocks,
                        bytes,
                    },
                })?;
            } else {
                // One page is no whole column.
                let columns = if args.page.is_some() {
                    String::new()
                } else {
                    format!("{columns} columns, ")
                };
                out.line(&format!(
                    "ok: {columns}{pages} pages, {blocks} blocks, {bytes} bytes"
                ))?;
            }
            out.finish()
        }
        Err(error) => {
            let failure = Failure::of_tarsia(&args.file, &error);
            // A mistake of the caller says nothing about the file.
            if args.json && matches!(failure, Failure::Bad(_)) {
                out.document(&VerifyDocument {
                    file: name(),
                    ok: false,
                    result: VerifyResult::Bad {
                        error: error.to_string(),
                        column: error.column(),
                        page: error.page(),
                        block: error.block(),
                    },
                })?;
                out.finish()?;
            }
            Err(failure)
        }
    }
}

fn open(path: &Path) -> Result<tarsia::File, Failure> {
    open_with(path, tarsia::OpenOptions::default())
}

/// Options of a reader that trusts these kernels, too.
fn trusting(trust: &Trust) -> tarsia::OpenOptions {
    tarsia::OpenOptions::new().with_trusted_kernels(trust.kernels.clone())
}

fn open_with(path: &Path, options: tarsia::OpenOptions) -> Result<tarsia::File, Failure> {
    tarsia::File::open_with(path, options).map_err(|error| Failure::of_tarsia(path, &error))
}

fn build_scan(
    path: &Path,
    file: &tarsia::File,
    names: Option<&Names>,
    rows: &Rows,
) -> Result<tarsia::Scan, Failure> {
    let mut builder = file.scan();
    if let Some(names) = names {
        builder = builder.columns(&names.0);
    }
    if let Some(range) = rows.range {
        let n_rows = file.num_rows();
        let within = range.within(n_rows).ok_or_else(|| {
            Failure::Usage(format!(
                "{}: rows {range} are not all among its {n_rows} rows",
                path.display()
            ))
        })?;
        builder = builder.rows(within);
    }
    builder
        .build()
        .map_err(|error| Failure::of_tarsia(path, &error))
}

/// How many rows a scan will give.
fn selected_rows(file: &tarsia::File, rows: &Rows) -> u64 {
    let n_rows = file.num_rows();
    rows.range
        .and_then(|range| range.within(n_rows))
        .map_or(n_rows, |range| range.end - range.start)
}

/// Asked for twice, or twice in the file: either way no JSON object can say it.
fn refuse_repeated_names(path: &Path, schema: &Schema) -> Result<(), Failure> {
    match repeated_name(schema) {
        Some(name) => Err(Failure::Usage(format!(
            "{}: column `{name}` would be there twice, and a JSON object holds a name only once",
            path.display()
        ))),
        None => Ok(()),
    }
}

fn ratio(before: u64, after: u64) -> String {
    if after == 0 {
        "-".into()
    } else {
        format!("{:.2}", before as f64 / after as f64)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A number, or the text that stands for one that JSON cannot write.
fn json_number(value: f64) -> serde_json::Value {
    match serde_json::Number::from_f64(value) {
        Some(number) => number.into(),
        None if value.is_nan() => "NaN".into(),
        None if value > 0.0 => "Infinity".into(),
        None => "-Infinity".into(),
    }
}

/// A table in Markdown's form: plain characters, easy to search, the same on a terminal and in a pipe.
fn new_table(header: &[impl AsRef<str>]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(header.iter().map(AsRef::as_ref));
    table
}

fn align_right(table: &mut Table, column: usize) {
    if let Some(column) = table.column_mut(column) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

/// The standard output, buffered. Whoever reads it may close it at any time.
struct Out(BufWriter<StdoutLock<'static>>);

impl Out {
    fn new() -> Out {
        Out(BufWriter::with_capacity(1 << 16, stdout().lock()))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.0
            .write_all(bytes)
            .map_err(|error| Failure::of_output(&error))
    }

    fn line(&mut self, text: &str) -> Result<(), Failure> {
        self.write(text.as_bytes())?;
        self.write(b"\n")
    }

    /// Names and values in two columns.
    fn facts(&mut self, facts: &[(&str, String)]) -> Result<(), Failure> {
        let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        facts
            .iter()
            .try_for_each(|(name, value)| self.line(&format!("{name:width$}  {value}")))
    }

    fn table(&mut self, table: &Table) -> Result<(), Failure> {
        for line in table.lines() {
            self.line(line.trim_end())?;
        }
        Ok(())
    }

    fn document(&mut self, document: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(document)
            .map_err(|error| Failure::Bad(format!("the result has no JSON form: {error}")))?;
        self.line(&text)
    }

    /// What is still buffered goes out now, where an error can still be told.
    fn finish(mut self) -> Result<(), Failure> {
        self.0.flush().map_err(|error| Failure::of_output(&error))
    }
}
