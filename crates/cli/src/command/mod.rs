//! One function per command. A command that prints its own kind of JSON document has a file of its own.

mod audit;
mod certificate;
mod certifying;
mod compact;
mod encodings;
mod erase;
mod explain;
mod import;
mod inspect;
mod open;
mod output;
mod print_rows;
mod reorder;
mod rows;
mod sql;
mod table;
mod table_input;
mod table_open;
mod table_update;
mod table_upkeep;
mod table_write;
mod verify;

use std::path::Path;
use std::time::Instant;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use serde::Serialize;
use tarsia_convert::Format;
use tarsia_convert::target::Plan;
use tarsia_convert::text::JsonRows;

use crate::args::{Command, Export, Head, Names, RowRange, Rows, Scan, Schema as SchemaArgs, Take};
use crate::destination::{Destination, is_standard_output};
use crate::failure::Failure;
use crate::place::{Place, Places};
use crate::progress::Bar;
use crate::shown::printable;

use audit::audit;
use certificate::verify_certificate;
use compact::compact;
use encodings::encodings;
use erase::{erase, recover};
use explain::explain;
use import::import;
use inspect::inspect;
use open::{
    Wanted, build_scan, describe_scan, first_rows, open, open_with, refuse_repeated_names,
    selected_rows, show_filter_counts, trusting,
};
use output::{NAME_CHARS, Out, SHOWN_CHARS, new_table, ratio, show_notes, summarise};
use print_rows::print_rows;
use reorder::reorder;
use rows::wanted_rows;
use sql::sql;
use verify::verify;

/// Runs a command; results go to the standard output. `places` opens what is named by URLs.
///
/// # Errors
/// [`Failure`] with the line to show and the exit code.
pub fn run(command: Command, places: &dyn Places) -> Result<(), Failure> {
    match command {
        Command::Import(args) => import(&args, places),
        Command::Export(args) => export(&args, places),
        Command::Schema(args) => schema(&args, places),
        Command::Head(args) => head(&args, places),
        Command::Take(args) => take(&args, places),
        Command::Scan(args) => scan(&args, places),
        Command::Inspect(args) => inspect(&args, places),
        Command::Verify(args) => verify(&args, places),
        Command::Explain(args) => explain(&args),
        Command::Erase(args) => erase(&args, places),
        Command::Recover(args) => recover(&args),
        Command::Audit(args) => audit(&args, places),
        Command::Compact(args) => compact(&args, places),
        Command::Reorder(args) => reorder(&args, places),
        Command::VerifyCertificate(args) => verify_certificate(&args, places),
        Command::Table(args) => table::table(&args.command, places),
        Command::Sql(args) => sql(&args),
        Command::Encodings(args) => encodings(&args),
    }
}

fn export(args: &Export, places: &dyn Places) -> Result<(), Failure> {
    let (input, output) = (args.input.name(), args.output.name());
    let format = match args.format {
        Some(format) => format.into(),
        None if is_standard_output(output) => {
            let what = "-: has no extension that says what to write; --format does";
            return Err(Failure::Usage(what.to_owned()));
        }
        None => Format::of_file(output)?,
    };
    let started = Instant::now();
    let file = open_with(places, &args.input, trusting(&args.trust))?;
    let metadata = file.metadata();
    let metadata = metadata.map_err(|error| Failure::of_tarsia(input, &error))?;
    let bytes_in = metadata.file_bytes;
    let bar = Bar::new("exporting");
    let condition = args.filter.read()?;
    let wanted = Wanted {
        names: args.columns.names.as_ref(),
        rows: &args.rows,
        condition: condition.as_ref(),
    };
    let mut scan = build_scan(input, &file, wanted)?;
    let schema = scan.schema();
    let in_output = |error: tarsia_convert::Error| error.in_file(output);
    let mut plan = Plan::new(format, schema.clone()).map_err(in_output)?;
    let merged = plan.needs_dictionaries();
    if !merged.is_empty() {
        // There are never two scans at once, since each reads ahead.
        drop(scan);
        merge_dictionaries(input, &file, wanted, &mut plan, &merged)?;
        scan = build_scan(input, &file, wanted)?;
    }
    let mut notes = plan.notes().to_vec();
    let destination = Destination::open(places, &args.output, &args.input)?;
    let mut target = plan.write_to(destination).map_err(in_output)?;
    let total = selected_rows(&file, &args.rows);
    let mut rows = 0;
    for batch in scan.by_ref() {
        let batch = batch.map_err(|error| Failure::of_tarsia(input, &error.into()))?;
        target.write(&batch).map_err(in_output)?;
        rows += batch.num_rows() as u64;
        if condition.is_none() {
            bar.set(rows, total, rows);
        }
    }
    notes.extend(target.notes());
    let (_, bytes_out) = target.finish().map_err(in_output)?;
    drop(bar);
    if args.filter.explain_filter {
        show_filter_counts(&scan)?;
    }
    show_notes(output, &notes);
    summarise(
        output,
        &[
            ("rows", rows.to_string()),
            ("columns", schema.fields().len().to_string()),
            ("bytes in", bytes_in.to_string()),
            ("bytes out", bytes_out.to_string()),
            ("ratio", ratio(bytes_in, bytes_out)),
            ("seconds", format!("{:.3}", started.elapsed().as_secs_f64())),
        ],
    )
}

/// Adds the dictionaries of all batches of an export, from a first pass over the columns that have one.
fn merge_dictionaries(
    path: &Path,
    file: &tarsia::File,
    wanted: Wanted<'_>,
    plan: &mut Plan,
    columns: &[usize],
) -> Result<(), Failure> {
    let schema = plan.schema();
    let mut names: Vec<_> = schema.fields().iter().map(|field| field.name()).collect();
    names.sort_unstable();
    let names_differ = names.windows(2).all(|pair| pair[0] != pair[1]);
    let names = columns.iter().map(|&i| schema.field(i).name().clone());
    let names = Names(names.collect());
    // Where two columns have one name, none is found by it.
    let names = match names_differ {
        true => Some(&names),
        false => wanted.names,
    };
    for batch in build_scan(path, file, Wanted { names, ..wanted })? {
        let batch = batch.map_err(|error| Failure::of_tarsia(path, &error.into()))?;
        let batch = match names_differ {
            true => Ok(batch),
            false => batch.project(columns),
        };
        let batch = batch.map_err(|error| Failure::bad(path, error))?;
        let merged = plan.merge(&batch, columns);
        merged.map_err(|error| error.in_file(path))?;
    }
    Ok(())
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

fn schema(args: &SchemaArgs, places: &dyn Places) -> Result<(), Failure> {
    let file = open(places, &args.file)?;
    let schema = file
        .schema()
        .map_err(|error| Failure::of_tarsia(args.file.name(), &error))?;
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

fn head(args: &Head, places: &dyn Places) -> Result<(), Failure> {
    let file = open_with(places, &args.file, trusting(&args.trust))?;
    let path = args.file.name();
    let condition = args.filter.read()?;
    let end = match condition {
        Some(_) => file.num_rows(),
        None => first_rows(&file, args.n_rows).end,
    };
    let first = RowRange {
        start: None,
        end: Some(end),
    };
    let wanted = Wanted {
        names: args.columns.names.as_ref(),
        rows: &Rows { range: Some(first) },
        condition: condition.as_ref(),
    };
    let scan = describe_scan(path, &file, wanted)?.limit(args.n_rows);
    let mut scan = scan
        .build()
        .map_err(|error| Failure::of_tarsia(path, &error))?;
    let schema = scan.schema();
    let bad = |error: arrow_schema::ArrowError| Failure::of_tarsia(path, &error.into());
    let batches = scan.by_ref().map(|batch| batch.map_err(bad));
    print_rows(path, &schema, batches, args.json)?;
    match args.filter.explain_filter {
        true => show_filter_counts(&scan),
        false => Ok(()),
    }
}

fn take(args: &Take, places: &dyn Places) -> Result<(), Failure> {
    let file = open_with(places, &args.file, trusting(&args.trust))?;
    let rows = wanted_rows(&args.rows, args.file.name(), file.num_rows())?;
    let mut taken = file.take(&rows);
    if let Some(path) = &args.element {
        taken = taken.element(path);
    }
    if let Some(names) = &args.columns.names {
        taken = taken.columns(&names.0);
    }
    let taken = taken.read_counted();
    let tarsia::Taken { batch, reads, .. } =
        taken.map_err(|error| Failure::of_tarsia(args.file.name(), &error))?;
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
        args.file.name(),
        &batch.schema(),
        std::iter::once(Ok(batch)),
        args.json,
    )
}

/// Requests and bytes of a take.
#[derive(Serialize)]
struct ReadsDocument {
    requests: u64,
    bytes: u64,
    metadata_requests: u64,
    metadata_bytes: u64,
}

fn scan(args: &Scan, places: &dyn Places) -> Result<(), Failure> {
    let options = trusting(&args.trust).with_kernels(match args.force_kernels {
        true => tarsia::Kernels::Forced,
        false => tarsia::Kernels::default(),
    });
    if args.map
        && let Some(failure) = no_map(&args.file)
    {
        return Err(failure);
    }
    let options = match args.map {
        true => options.with_access(tarsia::Access::Map),
        false => options,
    };
    let file = open_with(places, &args.file, options)?;
    let started = Instant::now();
    let condition = args.filter.read()?;
    let wanted = Wanted {
        names: args.columns.names.as_ref(),
        rows: &args.rows,
        condition: condition.as_ref(),
    };
    let mut scan = build_scan(args.file.name(), &file, wanted)?;
    if args.count {
        return count(args, &file, wanted);
    }
    let schema = scan.schema();
    let mut out = Out::new();
    if args.json {
        refuse_repeated_names(args.file.name(), &schema)?;
        let mut buffer = Vec::new();
        for batch in scan.by_ref() {
            let batch =
                batch.map_err(|error| Failure::of_tarsia(args.file.name(), &error.into()))?;
            let rows =
                JsonRows::new(&batch).map_err(|what| Failure::bad(args.file.name(), what))?;
            for row in 0..batch.num_rows() {
                rows.write(row, &mut buffer)
                    .map_err(|what| Failure::bad(args.file.name(), what))?;
                buffer.push(b'\n');
                out.write(&buffer)?;
                buffer.clear();
            }
        }
        out.finish()?;
        return explained(args, &scan);
    }
    let bar = Bar::new("scanning");
    let total = selected_rows(&file, &args.rows);
    let (mut rows, mut bytes) = (0, 0);
    let mut dictionaries = vec![None; schema.fields().len()];
    for batch in scan.by_ref() {
        let batch = batch.map_err(|error| Failure::of_tarsia(args.file.name(), &error.into()))?;
        rows += batch.num_rows() as u64;
        for (array, dictionary) in batch.columns().iter().zip(&mut dictionaries) {
            bytes += arrow_bytes(array, dictionary);
        }
        if condition.is_none() {
            bar.set(rows, total, rows);
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    drop(bar);
    out.facts(&[
        ("rows", rows.to_string()),
        ("bytes", bytes.to_string()),
        ("seconds", format!("{seconds:.6}")),
        (
            "GB/s",
            format!("{:.3}", bytes as f64 / 1e9 / seconds.max(1e-9)),
        ),
    ])?;
    out.finish()?;
    explained(args, &scan)
}

/// Prints how many rows a scan has.
fn count(args: &Scan, file: &tarsia::File, wanted: Wanted<'_>) -> Result<(), Failure> {
    let mut out = Out::new();
    if wanted.condition.is_none() {
        out.line(&selected_rows(file, &args.rows).to_string())?;
        return out.finish();
    }
    let path = args.file.name();
    let bad = |error: tarsia::Error| Failure::of_tarsia(path, &error);
    let scan = describe_scan(path, file, wanted)?.columns::<&str>(&[]);
    let mut scan = scan.build().map_err(bad)?;
    let n_rows = scan.by_ref().try_fold(0, |n_rows: u64, batch| {
        let batch = batch.map_err(|error| bad(error.into()))?;
        Ok::<_, Failure>(n_rows + batch.num_rows() as u64)
    });
    out.line(&n_rows?.to_string())?;
    out.finish()?;
    explained(args, &scan)
}

/// Says what the condition looked at, if that is asked for.
fn explained(args: &Scan, scan: &tarsia::Scan) -> Result<(), Failure> {
    match args.filter.explain_filter {
        true => show_filter_counts(scan),
        false => Ok(()),
    }
}

/// Why the file of a URL is not mapped.
fn no_map(file: &Place) -> Option<Failure> {
    let name = file.url().map(|_| file.name().display())?;
    Some(Failure::Usage(format!(
        "{name}: --map is for local files; without it the object is read in ranges"
    )))
}

/// Bytes of the array's buffers that belong to its rows. A dictionary that several batches in a row have counts once.
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
