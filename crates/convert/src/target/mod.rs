//! Record batches to files of other formats.

mod counted;
mod dictionary;
mod of_writer;
mod parquet;

use std::collections::{HashMap, HashSet};
use std::io::{BufWriter, Write};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use tarsia_io::Sink;

use crate::categories::{self, Categories};
use crate::nested::dictionary_fields;
use crate::text::{Cell, JsonRows, Style, cell, csv_text, holds, repeated_name};
use crate::{Error, Format, Note};
use counted::Counted;
use dictionary::Dictionaries;
use of_writer::text;

/// Text is written to the file in pieces of at least this size.
const TEXT_BYTES: usize = 1 << 20;

/// A table to write in a format that can hold it.
///
/// An Arrow file has one dictionary for each column, so that those of all batches are merged before the first batch is
/// written. A caller that can read its batches twice gives them to [`Plan::merge`] first, where
/// [`Plan::needs_dictionaries`].
pub struct Plan {
    format: Format,
    schema: SchemaRef,
    dictionaries: Dictionaries,
    notes: Vec<Note>,
}

impl Plan {
    /// A plan for batches of this schema.
    ///
    /// # Errors
    /// Names the column whose type the format cannot hold.
    pub fn new(format: Format, schema: SchemaRef) -> Result<Plan, Error> {
        check(format, &schema)?;
        let mut plan = Plan {
            format,
            schema,
            dictionaries: Dictionaries::default(),
            notes: Vec::new(),
        };
        if matches!(format, Format::Arrow | Format::Parquet) {
            plan.restore_categories()?;
        }
        Ok(plan)
    }

    /// Begins the dictionaries of an Arrow file with the categories that the metadata of the schema have, and takes the
    /// word `ordered` from dictionaries whose order is not known or, in Parquet, is not kept.
    fn restore_categories(&mut self) -> Result<(), Error> {
        let mut metadata = self.schema.metadata().clone();
        let mut fields = Vec::new();
        let mut exported: HashSet<String> = HashSet::new();
        for (i, field) in self.schema.fields().iter().enumerate() {
            let mut found: HashMap<String, Option<Categories>> = HashMap::new();
            dictionary_fields(field, &mut |path, field| {
                let text = metadata.get(&categories::key_of(path));
                let of_path = text.and_then(|text| Categories::parse(text).ok());
                let DataType::Dictionary(_, values) = field.data_type() else {
                    return;
                };
                let of_path =
                    of_path.filter(|of_path| of_path.values.data_type() == values.as_ref());
                exported.insert(path.to_owned());
                found.insert(path.to_owned(), of_path);
            });
            if found.is_empty() {
                fields.push(Arc::clone(field));
                continue;
            }
            let is_arrow = self.format == Format::Arrow;
            fields.push(with_order(field, field.name(), &mut |path, was_ordered| {
                let of_path = found.get(path).and_then(Option::as_ref);
                let ordered = of_path.is_some_and(|of_path| of_path.ordered);
                if ordered && !is_arrow {
                    let what = "Parquet keeps no order of categories, so that readers find none";
                    self.notes.push(Note::on_column(path, what));
                } else if was_ordered && !ordered {
                    let what =
                        "the order of the dictionary is not known, so that readers find none";
                    self.notes.push(Note::on_column(path, what));
                }
                ordered && is_arrow
            }));
            if is_arrow {
                for (path, of_path) in &found {
                    if let Some(of_path) = of_path {
                        self.dictionaries.begin(i, path, &of_path.values)?;
                        metadata.remove(&categories::key_of(path));
                    }
                }
            }
        }
        // Of columns that are not exported nothing is told.
        metadata.retain(|key, text| {
            let of_export = |path| exported.contains(path) || Categories::parse(text).is_err();
            categories::path_of(key).is_none_or(of_export)
        });
        self.schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        Ok(())
    }

    /// The schema of every batch.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Columns whose dictionaries have to be merged.
    #[must_use]
    pub fn needs_dictionaries(&self) -> Vec<usize> {
        match self.format {
            Format::Arrow => dictionary::columns_with_dictionaries(&self.schema),
            _ => Vec::new(),
        }
    }

    /// Adds the dictionaries of a batch. `columns` says which columns of the file its columns are.
    ///
    /// # Errors
    /// Names the column whose values cannot be compared.
    pub fn merge(&mut self, batch: &RecordBatch, columns: &[usize]) -> Result<(), Error> {
        let fields = batch.schema_ref().fields().iter().zip(batch.columns());
        for ((field, array), &column) in fields.zip(columns) {
            self.dictionaries.merge(column, field.name(), array)?;
        }
        Ok(())
    }

    /// Lists what the format cannot carry, although it holds every value.
    #[must_use]
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Begins the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_to<S: Sink>(self, sink: S) -> Result<Target<S>, Error> {
        let Plan {
            format,
            schema,
            dictionaries,
            ..
        } = self;
        let writer = Writer::new(Counted::new(sink), format, schema.clone(), dictionaries);
        Ok(Target {
            schema,
            writer: writer?,
            n_batches: 0,
            rows: 0,
        })
    }
}

/// A file being written. Dropping it without [`Target::finish`] abandons it: the sink is dropped, too.
pub struct Target<S: Sink> {
    schema: SchemaRef,
    writer: Writer<S>,
    n_batches: u64,
    rows: u64,
}

impl<S: Sink> Target<S> {
    /// A file for batches of this schema, whose dictionaries are the same in all batches.
    ///
    /// # Errors
    /// Those of [`Plan::new`] and [`Plan::write_to`].
    pub fn new(sink: S, format: Format, schema: SchemaRef) -> Result<Target<S>, Error> {
        Plan::new(format, schema)?.write_to(sink)
    }

    /// Appends the rows of a batch.
    ///
    /// # Errors
    /// The file cannot be written; or the column has a value that the format cannot hold.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        self.n_batches += 1;
        self.rows += batch.num_rows() as u64;
        match &mut self.writer {
            Writer::Parquet(writer) => writer.write(batch),
            Writer::Arrow {
                writer,
                dictionaries,
            } => {
                let batch = dictionaries.apply(batch, &self.schema)?;
                writer.write(&batch).map_err(text)
            }
            Writer::Csv { file, buffer } => write_csv(file, buffer, batch),
            Writer::JsonLines { file, buffer } => write_json_lines(file, buffer, batch),
        }
    }

    /// Lists what the file does not say of the table because of its rows so far.
    #[must_use]
    pub fn notes(&self) -> Vec<Note> {
        let says_no_columns = matches!(self.writer, Writer::JsonLines { .. })
            && self.rows == 0
            && !self.schema.fields().is_empty();
        let what =
            "JSON lines without rows do not say the columns; an import needs --types for them";
        says_no_columns
            .then(|| Note::new(what))
            .into_iter()
            .collect()
    }

    /// Completes the file, commits the sink, and returns it with the number of its bytes.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self) -> Result<(S, u64), Error> {
        if self.n_batches == 0
            && let Writer::Arrow { dictionaries, .. } = &self.writer
            && dictionaries.have_values()
        {
            // Arrow files have the values of dictionaries beside batches alone.
            self.write(&RecordBatch::new_empty(self.schema.clone()))?;
        }
        let file = self.writer.complete()?;
        file.commit().map_err(text)
    }
}

/// The writers of the formats.
enum Writer<S: Sink> {
    Parquet(parquet::Writer<Counted<S>>),
    Arrow {
        writer: Box<FileWriter<BufWriter<Counted<S>>>>,
        dictionaries: Dictionaries,
    },
    Csv {
        file: Counted<S>,
        buffer: Vec<u8>,
    },
    JsonLines {
        file: Counted<S>,
        buffer: Vec<u8>,
    },
}

impl<S: Sink> Writer<S> {
    fn new(
        file: Counted<S>,
        format: Format,
        schema: SchemaRef,
        dictionaries: Dictionaries,
    ) -> Result<Self, Error> {
        Ok(match format {
            Format::Parquet => Writer::Parquet(parquet::Writer::new(file, &schema)?),
            Format::Arrow => {
                let buffered = BufWriter::with_capacity(TEXT_BYTES, file);
                let writer = FileWriter::try_new(buffered, &schema).map_err(text)?;
                Writer::Arrow {
                    writer: Box::new(writer),
                    dictionaries,
                }
            }
            Format::Csv => {
                let mut buffer = Vec::new();
                for (i, field) in schema.fields().iter().enumerate() {
                    if i > 0 {
                        buffer.push(b',');
                    }
                    csv_text(&mut buffer, field.name());
                }
                buffer.push(b'\n');
                Writer::Csv { file, buffer }
            }
            Format::JsonLines => Writer::JsonLines {
                file,
                buffer: Vec::new(),
            },
        })
    }

    /// Writes the end of the file.
    fn complete(self) -> Result<Counted<S>, Error> {
        Ok(match self {
            Writer::Parquet(writer) => writer.finish()?,
            Writer::Arrow { mut writer, .. } => {
                writer.finish().map_err(text)?;
                let buffered = writer.into_inner().map_err(text)?;
                buffered.into_inner().map_err(text)?
            }
            Writer::Csv { mut file, buffer } | Writer::JsonLines { mut file, buffer } => {
                file.write_all(&buffer).map_err(text)?;
                file
            }
        })
    }
}

/// The field, in which dictionaries are ordered where a function says so of their path and of whether they were.
fn with_order(
    field: &FieldRef,
    path: &str,
    is_ordered: &mut dyn FnMut(&str, bool) -> bool,
) -> FieldRef {
    let mut inside =
        |inner: &FieldRef| with_order(inner, &format!("{path}.{}", inner.name()), is_ordered);
    let data_type = match field.data_type() {
        DataType::Dictionary(..) => {
            let ordered = is_ordered(path, field.dict_is_ordered() == Some(true));
            return Arc::new(field.as_ref().clone().with_dict_is_ordered(ordered));
        }
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inside).collect()),
        DataType::List(item) => DataType::List(inside(item)),
        DataType::LargeList(item) => DataType::LargeList(inside(item)),
        DataType::ListView(item) => DataType::ListView(inside(item)),
        DataType::LargeListView(item) => DataType::LargeListView(inside(item)),
        DataType::FixedSizeList(item, n) => DataType::FixedSizeList(inside(item), *n),
        DataType::Map(entries, sorted) => DataType::Map(inside(entries), *sorted),
        _ => return Arc::clone(field),
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

/// Refuses a schema that the format cannot hold, with the name of the column.
fn check(format: Format, schema: &Schema) -> Result<(), Error> {
    let refuse = |field: &Field, what: &str| {
        let what = format!("type {} cannot be written as {what}", field.data_type());
        Err(Error::new(what).in_column(field.name()))
    };
    match format {
        Format::Arrow => Ok(()),
        // A line without a field is an empty line, which readers skip.
        Format::Csv if schema.fields().is_empty() => {
            Err(Error::new("CSV cannot hold a table without columns"))
        }
        Format::Csv => match schema
            .fields()
            .iter()
            .find(|field| !holds(Style::Csv, field.data_type()))
        {
            Some(field) => refuse(field, "CSV"),
            None => Ok(()),
        },
        Format::JsonLines => match repeated_name(schema) {
            Some(name) => Err(Error::new("a JSON object holds a name only once").in_column(name)),
            None => Ok(()),
        },
        Format::Parquet => {
            // Each type is tried once: wide tables have few types.
            let mut held: Vec<&DataType> = Vec::new();
            for field in schema.fields() {
                if held.contains(&field.data_type()) {
                    continue;
                }
                if !parquet::holds(field.data_type()) {
                    return refuse(field, "Parquet");
                }
                held.push(field.data_type());
            }
            Ok(())
        }
    }
}

fn write_csv(
    file: &mut impl Write,
    buffer: &mut Vec<u8>,
    batch: &RecordBatch,
) -> Result<(), Error> {
    let mut columns: Vec<(&str, Cell<'_>)> = Vec::with_capacity(batch.num_columns());
    for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        let cell = cell(Style::Csv, array.as_ref())
            .map_err(|what| Error::new(what).in_column(field.name()))?;
        columns.push((field.name(), cell));
    }
    for row in 0..batch.num_rows() {
        for (i, (name, cell)) in columns.iter().enumerate() {
            if i > 0 {
                buffer.push(b',');
            }
            cell(row, buffer).map_err(|what| Error::new(what).in_column(*name))?;
        }
        buffer.push(b'\n');
        hand_over(file, buffer)?;
    }
    Ok(())
}

fn write_json_lines(
    file: &mut impl Write,
    buffer: &mut Vec<u8>,
    batch: &RecordBatch,
) -> Result<(), Error> {
    let rows = JsonRows::of_file(batch)?;
    for row in 0..batch.num_rows() {
        rows.write(row, buffer)?;
        buffer.push(b'\n');
        hand_over(file, buffer)?;
    }
    Ok(())
}

fn hand_over(file: &mut impl Write, buffer: &mut Vec<u8>) -> Result<(), Error> {
    if buffer.len() >= TEXT_BYTES {
        file.write_all(buffer).map_err(text)?;
        buffer.clear();
    }
    Ok(())
}
