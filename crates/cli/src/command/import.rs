//! `tarsia import`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use arrow_schema::{Schema, SchemaRef};
use tarsia_convert::source::{Part, Source};
use tarsia_convert::{Format, Note};

use crate::args::{ColumnLayout, Erasure, Import};
use crate::command::open::{budget_of, open};
use crate::command::output::{ratio, show_notes, summarise};
use crate::destination::{Destination, is_standard_output};
use crate::failure::Failure;
use crate::place::{Place, Places};
use crate::progress::Bar;

/// Makes a Tarsia file of each input.
pub(super) fn import(args: &Import, places: &dyn Places) -> Result<(), Failure> {
    let outputs = outputs(args)?;
    // Files that follow each other are often alike.
    let memory = tarsia::WriterMemory::new();
    for (input, output) in args.inputs.iter().zip(&outputs) {
        import_one(args, input, output, &memory, places)?;
    }
    Ok(())
}

/// The file to write for each input: OUT, or one in the folder OUT.
fn outputs(args: &Import) -> Result<Vec<Place>, Failure> {
    let output = &args.output;
    let name = output.name().to_string_lossy();
    let is_folder = match output.url() {
        // Without anything behind its scheme it names nothing.
        Some(_) => name.ends_with('/') && !name.ends_with("://"),
        None => name.ends_with(['/', std::path::MAIN_SEPARATOR]) || output.path()?.is_dir(),
    };
    if !is_folder {
        if args.inputs.len() > 1 {
            return Err(Failure::Usage(format!(
                "{}: is no folder, and several files go into a folder that exists, or a URL that ends with /",
                output.name().display()
            )));
        }
        return Ok(vec![output.clone()]);
    }
    if output.url().is_some_and(|url| url.contains(['?', '#'])) {
        let what = format!("{name}: a URL with a query names a file, not a folder");
        return Err(Failure::Usage(what));
    }
    if output.url().is_none() && !output.path()?.is_dir() {
        return Err(Failure::Usage(format!("{name}: there is no such folder")));
    }
    let mut all: Vec<Place> = Vec::new();
    let mut from: BTreeMap<OsString, &Path> = BTreeMap::new();
    for input in &args.inputs {
        let path = input.path()?;
        let Some(stem) = path.file_stem().filter(|_| !is_standard_output(path)) else {
            let what = "has no name for a file in a folder";
            return Err(Failure::Usage(format!("{}: {what}", path.display())));
        };
        let mut file = stem.to_owned();
        file.push(".tarsia");
        if let Some(other) = from.insert(file.clone(), path) {
            return Err(Failure::Usage(format!(
                "{} and {} would both become {}",
                other.display(),
                path.display(),
                Path::new(&file).display()
            )));
        }
        all.push(match output.url() {
            Some(url) => Place::from(format!("{url}{}", file.to_string_lossy()).as_str()),
            None => Place::from(output.path()?.join(file)),
        });
    }
    Ok(all)
}

fn import_one(
    args: &Import,
    from: &Place,
    to: &Place,
    memory: &tarsia::WriterMemory,
    places: &dyn Places,
) -> Result<(), Failure> {
    let (input, output) = (from.path()?, to.name());
    if Format::of(output).is_some() {
        return Err(Failure::Usage(format!(
            "{}: the file to write would be a Tarsia file, whose names end in .tarsia",
            output.display()
        )));
    }
    let started = Instant::now();
    let budget = budget_of(input, &args.limits);
    let mut source = Source::open(input, &args.text.options()?)?;
    budget.has_columns(source.schema().fields().len());
    let bar = Bar::new("importing");
    let mut options = tarsia::WriteOptions::new()
        .with_preset(args.preset.into())
        .with_embed_kernels(args.kernels.into())
        .with_memory(memory);
    if let Some(level) = args.erasure.of_table()? {
        options = match level {
            Erasure::Strict => options.with_strict_erasure(),
            Erasure::Level(level) => options.with_erasure(level),
        };
    }
    if let Some(order) = &args.column_order {
        options = options.with_column_order(order.0.iter());
    }
    if args.no_zones {
        options = options.with_zones(false);
    }
    let mut layouts = Vec::new();
    if let Some(place) = &args.like {
        let like = open(places, place)?;
        let refused = |error| Failure::of_tarsia(place.name(), &error);
        options = options.with_layout(like.capture_layout().map_err(refused)?);
        let like = like.schema().map_err(refused)?;
        layouts = shared_layouts(&source.schema(), &like);
    }
    layouts.extend_from_slice(&args.layouts);
    for (column, own) in column_options(args)? {
        options = options.with_column(column, own);
    }
    let refused = |error: &tarsia::Error| import_failure(input, output, error);
    let schema = with_layouts(source.schema(), &layouts)?;
    let destination = Destination::open(places, to, from)?;
    let mut writer =
        tarsia::Writer::new(destination, schema, options).map_err(|error| refused(&error))?;
    while let Some(part) = next_part(&mut source, args)? {
        budget.progress();
        let written = match &part {
            Part::Columns { first, batch } => writer.write_columns(*first, batch),
            Part::Rows(batch) => writer.write(batch),
        };
        written.map_err(|error| refused(&error))?;
        let (done, total) = source.progress();
        bar.set(done, total, writer.rows_written());
    }
    let mut notes = source.notes();
    for late in source.late_metadata()? {
        // Metadata are not erased with rows.
        if is_erased(args, &late.column)? {
            let what =
                "what its dictionary says besides the rows is left out, since they can be erased";
            notes.push(Note::on_column(late.column, what));
            continue;
        }
        let added = writer.add_key_value(late.key, late.value);
        added.map_err(|error| refused(&error))?;
    }
    let summary = writer.finish().map_err(|error| refused(&error))?;
    drop(bar);
    show_notes(input, &notes);
    let mut pairs = vec![
        ("rows", summary.rows.to_string()),
        ("columns", summary.columns.to_string()),
        ("bytes in", source.bytes().to_string()),
        ("bytes out", summary.file_bytes.to_string()),
        ("ratio", ratio(source.bytes(), summary.file_bytes)),
        ("kernels", kernels_text(&summary)),
        ("seconds", format!("{:.3}", started.elapsed().as_secs_f64())),
    ];
    if output != args.output.name() {
        pairs.insert(0, ("file", output.display().to_string()));
    }
    summarise(output, &pairs)
}

/// The next rows to import. Columns that are to lie together are written together.
fn next_part(source: &mut Source, args: &Import) -> Result<Option<Part>, Failure> {
    Ok(match args.column_order {
        Some(_) => source.next_batch()?.map(Part::Rows),
        None => source.next_part()?,
    })
}

/// The options of single columns. One column may have several.
fn column_options(args: &Import) -> Result<BTreeMap<&str, tarsia::ColumnOptions>, Failure> {
    let mut all: BTreeMap<&str, tarsia::ColumnOptions> = BTreeMap::new();
    for of_column in &args.encodings {
        let own = all.entry(&of_column.column).or_default();
        *own = std::mem::take(own).with_outline(of_column.outline.clone());
    }
    for of_column in &args.roundings {
        let own = all.entry(&of_column.column).or_default();
        *own = std::mem::take(own).with_rounding(&of_column.rounding);
    }
    for column in args.bloom.iter().flat_map(|names| &names.0) {
        let own = all.entry(column).or_default();
        *own = std::mem::take(own).with_blooms(true);
    }
    for (column, level) in args.erasure.of_columns()? {
        let own = all.entry(column).or_default();
        let before = std::mem::take(own);
        *own = match level {
            Erasure::Strict => before.with_strict_erasure(),
            Erasure::Level(level) => before.with_erasure(level),
        };
    }
    Ok(all)
}

/// Whether the values of a column, or of a field inside it, can be erased so that none of them is left.
fn is_erased(args: &Import, column: &str) -> Result<bool, Failure> {
    let of_columns = args.erasure.of_columns()?;
    let is_inside = |path: &str| {
        let rest = path.strip_prefix(column);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let mut own = of_columns
        .into_iter()
        .filter(|(path, _)| is_inside(path))
        .peekable();
    let of_table = match own.peek() {
        None => args.erasure.of_table()?,
        Some(_) => None,
    };
    Ok(own.map(|(_, level)| level).chain(of_table).any(|level| {
        matches!(
            level,
            Erasure::Strict | Erasure::Level(tarsia::ErasureLevel::Erase)
        )
    }))
}

/// The kernels in a file that was written.
fn kernels_text(summary: &tarsia::WriteSummary) -> String {
    match summary.kernels.as_slice() {
        [] => "none".to_owned(),
        names => format!("{} ({} bytes)", names.join(", "), summary.kernel_bytes),
    }
}

/// The layouts that fields of `like` ask for, of fields that `schema` has too.
fn shared_layouts(schema: &Schema, like: &Schema) -> Vec<ColumnLayout> {
    let fields = like.fields().iter();
    let asked = fields.filter_map(|field| {
        let own = schema.field_with_name(field.name()).ok()?;
        let layout = field.metadata().get(tarsia::LAYOUT_KEY)?.clone();
        let column = field.name().clone();
        (own.data_type() == field.data_type()).then_some(ColumnLayout { column, layout })
    });
    asked.collect()
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

/// The output cannot be written; or the writer refuses a column, which is one of the input.
fn import_failure(input: &Path, output: &Path, error: &tarsia::Error) -> Failure {
    match error.kind() {
        tarsia::ErrorKind::Io => Failure::bad(output, error),
        _ => Failure::of_tarsia(input, error),
    }
}
