//! Columns of a table in files that were written under older schemas.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array, new_null_array};
use arrow_schema::{FieldRef, Schema, SchemaRef};
use tarsia::{File, OpenOptions, WriteOptions, Writer};
use tarsia_filter::Expr;
use tarsia_table_meta::{FieldId, TableField, TableSchema, default_array};

use crate::error::{Error, Result};

/// Columns that a scan yields.
#[derive(Debug, Clone)]
pub(crate) struct Projection {
    outputs: Vec<Output>,
    schema: SchemaRef,
}

#[derive(Debug, Clone)]
struct Output {
    of_table: TableField,
    /// Parts of the field that are read, as names behind its own; none for the whole field.
    parts: Vec<String>,
    /// The field as it is yielded.
    field: FieldRef,
}

/// Where the columns of a projection are in a file.
#[derive(Debug)]
pub(crate) struct InFile {
    /// Names for the file's own scan.
    pub(crate) names: Vec<String>,
    /// Columns of that scan.
    pub(crate) n_columns: usize,
    /// For each output, its place among the columns of that scan; `None` if the file does not have it.
    places: Vec<Option<usize>>,
}

impl Projection {
    /// All fields, or those that `names` lead to.
    pub(crate) fn new(schema: &TableSchema, names: Option<&[String]>) -> Result<Self> {
        let mut outputs: Vec<Output> = Vec::new();
        let mut is_nested = false;
        match names {
            None => outputs.extend(schema.fields().iter().map(whole)),
            Some(names) => {
                for name in names {
                    let (field, part) = resolve(schema, name)?;
                    is_nested |= part.is_some();
                    match outputs.iter_mut().find(|it| it.of_table.id == field.id) {
                        Some(output) => match part {
                            // Parts of a field are yielded as one column, the whole field includes them.
                            Some(part) if !output.parts.is_empty() => output.parts.push(part),
                            Some(_) => {}
                            None => output.parts.clear(),
                        },
                        None => outputs.push(Output {
                            parts: part.into_iter().collect(),
                            ..whole(field)
                        }),
                    }
                }
            }
        }
        let mut projection = Self {
            outputs,
            schema: Arc::new(Schema::empty()),
        };
        if is_nested {
            projection.find_parts(schema)?;
        }
        let fields: Vec<_> = projection
            .outputs
            .iter()
            .map(|it| it.field.clone())
            .collect();
        let metadata = schema.metadata().clone();
        projection.schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        Ok(projection)
    }

    /// Asks a file without rows which types the parts of fields give.
    fn find_parts(&mut self, schema: &TableSchema) -> Result<()> {
        let writer = Writer::new(Vec::new(), schema.arrow(), WriteOptions::new())?;
        let file = File::from_bytes(writer.finish_into()?.0, OpenOptions::new())?;
        for output in &mut self.outputs {
            let names = names_in_file(output, output.of_table.field.name());
            let found = file.scan().columns(&names).build()?.schema();
            if let Some(field) = found.fields().first() {
                output.field = field.clone();
            }
        }
        Ok(())
    }

    /// The schema of the batches.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The ids of the fields of the columns, by place.
    pub(crate) fn ids(&self) -> Vec<FieldId> {
        self.outputs.iter().map(|it| it.of_table.id).collect()
    }

    /// The columns in files of another schema of the table.
    pub(crate) fn in_file(&self, file: &TableSchema) -> InFile {
        self.part_in_file(file, |_| true)
    }

    /// The columns at some places in a file that does not have all of them.
    pub(crate) fn part_in_file(
        &self,
        file: &TableSchema,
        is_there: impl Fn(usize) -> bool,
    ) -> InFile {
        let mut names = Vec::new();
        let mut n_columns = 0;
        let places = self.outputs.iter().enumerate().map(|(place, output)| {
            let field = file.by_id(output.of_table.id)?;
            if !is_there(place) {
                return None;
            }
            names.extend(names_in_file(output, field.field.name()));
            n_columns += 1;
            Some(n_columns - 1)
        });
        let places = places.collect();
        InFile {
            names,
            n_columns,
            places,
        }
    }

    /// The column at a place as the table has it, from the batch of a file's scan whose first columns are those of
    /// `in_file`; `None` if the file does not have it.
    pub(crate) fn column(
        &self,
        place: usize,
        in_file: &InFile,
        batch: &RecordBatch,
    ) -> Result<Option<ArrayRef>> {
        let found = in_file.places.get(place).copied().flatten();
        match (
            found.and_then(|it| batch.columns().get(it)),
            self.outputs.get(place),
        ) {
            (Some(column), Some(output)) => Ok(Some(as_wanted(column, output)?)),
            _ => Ok(None),
        }
    }

    /// The column at a place for rows that were written before the field was added.
    pub(crate) fn missing(&self, place: usize, n_rows: usize) -> Result<ArrayRef> {
        match self.outputs.get(place) {
            Some(output) => missing(output, n_rows),
            None => Err(Error::invalid("a column of another projection")),
        }
    }

    /// A batch of these columns.
    pub(crate) fn batch(&self, columns: Vec<ArrayRef>, n_rows: usize) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(n_rows));
        Ok(RecordBatch::try_new_with_options(
            self.schema.clone(),
            columns,
            &options,
        )?)
    }

    /// The batch of a file's scan as the table has it.
    pub(crate) fn apply(&self, in_file: &InFile, batch: &RecordBatch) -> Result<RecordBatch> {
        let n_rows = batch.num_rows();
        let columns =
            (0..self.outputs.len()).map(|place| match self.column(place, in_file, batch)? {
                Some(column) => Ok(column),
                None => self.missing(place, n_rows),
            });
        self.batch(columns.collect::<Result<Vec<_>>>()?, n_rows)
    }
}

fn whole(field: &TableField) -> Output {
    Output {
        of_table: field.clone(),
        parts: Vec::new(),
        field: field.field.clone(),
    }
}

fn names_in_file(output: &Output, name: &str) -> Vec<String> {
    match output.parts.is_empty() {
        true => vec![name.to_owned()],
        false => output
            .parts
            .iter()
            .map(|part| format!("{name}.{part}"))
            .collect(),
    }
}

/// The field that a name leads to, and the names behind its own. A name may have dots itself: the longest one counts.
pub(crate) fn resolve<'s>(
    schema: &'s TableSchema,
    name: &str,
) -> Result<(&'s TableField, Option<String>)> {
    if let Some(field) = schema.by_name(name) {
        return Ok((field, None));
    }
    let mut dots = name.rmatch_indices('.');
    let found = dots.find_map(|(at, _)| {
        let (field, part) = (name.get(..at)?, name.get(at + 1..)?);
        Some((schema.by_name(field)?, Some(part.to_owned())))
    });
    found.ok_or_else(|| {
        Error::not_found(format!("the table has no field `{}`", name.escape_debug()))
    })
}

fn as_wanted(column: &ArrayRef, output: &Output) -> Result<ArrayRef> {
    let wanted = output.field.data_type();
    match column.data_type() == wanted {
        true => Ok(column.clone()),
        false => Ok(arrow_cast::cast(column, wanted)?),
    }
}

/// Rows that were written before the field was added.
fn missing(output: &Output, n_rows: usize) -> Result<ArrayRef> {
    match default_array(&output.of_table)? {
        Some(value) if output.parts.is_empty() => {
            let zeros = UInt64Array::from(vec![0; n_rows]);
            Ok(arrow_select::take::take(value.as_ref(), &zeros, None)?)
        }
        _ => Ok(new_null_array(output.field.data_type(), n_rows)),
    }
}

/// Top-level fields that a filter looks at.
pub(crate) fn fields_of(filter: &Expr, schema: &TableSchema) -> Result<Vec<FieldId>> {
    let mut ids: Vec<FieldId> = Vec::new();
    for name in filter.columns() {
        let id = resolve(schema, name)?.0.id;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(ids)
}

/// Whether a file has fields as the table has them, so that a filter means the same in both.
pub(crate) fn are_same(ids: &[FieldId], table: &TableSchema, file: &TableSchema) -> bool {
    ids.iter()
        .all(|id| match (table.by_id(*id), file.by_id(*id)) {
            (Some(one), Some(other)) => {
                let is_alone =
                    resolve(file, one.field.name()).is_ok_and(|(found, _)| found.id == *id);
                is_alone
                    && one.field.name() == other.field.name()
                    && one.field.data_type() == other.field.data_type()
            }
            _ => false,
        })
}
