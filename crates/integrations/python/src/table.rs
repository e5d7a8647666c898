//! Schemas, batches and tables, with Arrow's C interfaces.

use std::sync::Arc;

use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::{Array, RecordBatch, RecordBatchReader, StructArray};
use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{ArrowError, DataType, Field, Schema as ArrowSchema, SchemaRef};
use arrow_select::interleave::interleave_record_batch;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyStopIteration;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyTuple};
use pyo3_arrow::PyRecordBatch;
use pyo3_arrow::error::PyArrowResult;
use pyo3_arrow::ffi::{
    ArrayIterator, to_array_pycapsules, to_schema_pycapsule, to_stream_pycapsule,
};

use crate::error::{Exception, raised};
use crate::pickle::{Reduced, of_bytes, reduced};

/// The schema of a table.
#[pyclass(frozen, module = "tarsia", name = "Schema")]
pub(crate) struct Schema(pub(crate) SchemaRef);

#[pymethods]
impl Schema {
    /// The names of the columns.
    #[getter]
    fn names(&self) -> Vec<String> {
        names_of(&self.0)
    }

    /// The format of a column's type in Arrow's C interface. None for a column that is not there, or twice, and for
    /// types whose values are compared in ways of their own: nested ones, dictionaries, extensions.
    fn column_format(&self, name: &str) -> PyResult<Option<String>> {
        let mut named = self.0.fields().iter().filter(|field| field.name() == name);
        match (named.next(), named.next()) {
            (Some(field), None) => format_of_field(field),
            _ => Ok(None),
        }
    }

    /// The metadata of the table.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let metadata = PyDict::new(py);
        for (key, value) in self.0.metadata() {
            metadata.set_item(key, value)?;
        }
        Ok(metadata)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyArrowResult<Bound<'py, PyCapsule>> {
        to_schema_pycapsule(py, self.0.as_ref())
    }

    /// The schema as a `pyarrow.Schema`.
    fn to_pyarrow<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("schema", (slf,))
    }

    fn __len__(&self) -> usize {
        self.0.fields().len()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        reduced(py, "schema_of_ipc", &self.0, &[])
    }

    fn __repr__(&self) -> String {
        let of = |field: &Arc<Field>| {
            let null = if field.is_nullable() { "" } else { " not null" };
            format!("{}: {}{null}", field.name(), field.data_type())
        };
        let fields: Vec<String> = self.0.fields().iter().map(of).collect();
        format!("<tarsia.Schema {}>", fields.join(", "))
    }
}

/// Rows in memory, as one batch.
#[pyclass(frozen, module = "tarsia", name = "Batch")]
pub(crate) struct Batch(pub(crate) RecordBatch);

#[pymethods]
impl Batch {
    #[getter]
    fn num_rows(&self) -> usize {
        self.0.num_rows()
    }

    #[getter]
    fn num_columns(&self) -> usize {
        self.0.num_columns()
    }

    #[getter]
    fn schema(&self) -> Schema {
        Schema(self.0.schema())
    }

    #[getter]
    fn nbytes(&self) -> usize {
        self.0.get_array_memory_size()
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        reduced(
            py,
            "batch_of_ipc",
            &self.0.schema(),
            std::slice::from_ref(&self.0),
        )
    }

    fn __repr__(&self) -> String {
        shown("Batch", self.0.num_rows(), &self.0.schema())
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyArrowResult<Bound<'py, PyCapsule>> {
        to_schema_pycapsule(py, self.0.schema().as_ref())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyArrowResult<Bound<'py, PyTuple>> {
        let rows = StructArray::from(self.0.clone());
        to_array_pycapsules(py, row_field(&self.0.schema()), &rows, requested_schema)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyArrowResult<Bound<'py, PyCapsule>> {
        let reader = reader_of(self.0.schema(), vec![self.0.clone()]);
        to_stream(py, Box::new(reader), requested_schema)
    }

    /// Some of the rows, which are not copied.
    fn slice(&self, start: usize, num_rows: usize) -> PyResult<Self> {
        match start.checked_add(num_rows) {
            Some(end) if end <= self.0.num_rows() => Ok(Self(self.0.slice(start, num_rows))),
            _ => {
                let n_rows = self.0.num_rows();
                let text = format!("rows {start} and {num_rows} more: the batch has {n_rows}");
                Err(Exception::OutOfRange.with(text))
            }
        }
    }

    /// The rows as a `pyarrow.RecordBatch`.
    fn to_pyarrow<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let pyarrow = slf.py().import("pyarrow")?;
        pyarrow.call_method1("record_batch", (slf,))
    }

    /// The rows as a `pandas.DataFrame`; needs pyarrow, too.
    fn to_pandas<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        to_pandas(slf.as_any())
    }

    /// The rows as a `polars.DataFrame`.
    fn to_polars<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        to_polars(slf.as_any())
    }
}

/// Makes one batch of rows of several batches with the same schema: for each row the number of its batch, and its
/// number in there.
#[pyfunction]
pub(crate) fn interleave(
    py: Python<'_>,
    batches: Vec<Bound<'_, Batch>>,
    batch_of_row: PyBuffer<i64>,
    row_in_batch: PyBuffer<i64>,
) -> PyResult<Batch> {
    let batches: Vec<_> = batches.iter().map(|batch| batch.get().0.clone()).collect();
    let (of, rows) = (batch_of_row.to_vec(py)?, row_in_batch.to_vec(py)?);
    if of.len() != rows.len() {
        let text = format!("{} batches for {} rows", of.len(), rows.len());
        return Err(Exception::InvalidInput.with(text));
    }
    let indices = of.into_iter().zip(rows).map(|(batch, row)| {
        let (batch, row) = (usize::try_from(batch).ok()?, usize::try_from(row).ok()?);
        let is_there = row < batches.get(batch)?.num_rows();
        is_there.then_some((batch, row))
    });
    let indices = indices.collect::<Option<Vec<_>>>();
    let indices = indices.ok_or_else(|| Exception::OutOfRange.with("a row is in no batch"))?;
    let Some(first) = batches.first() else {
        return Err(Exception::InvalidInput.with("there is no batch"));
    };
    let schema = first.schema();
    let batches = batches
        .iter()
        .map(|batch| with_columns_of(&schema, batch))
        .collect::<PyResult<Vec<_>>>()?;
    let joined = py.detach(|| {
        let batches: Vec<_> = batches.iter().collect();
        interleave_record_batch(&batches, &indices)
    });
    batch_of(joined).map(Batch)
}

/// A batch with the columns of a schema, which may name items of lists and nulls in another way.
fn with_columns_of(schema: &ArrowSchema, batch: &RecordBatch) -> PyResult<RecordBatch> {
    let named = batch.schema();
    let are_same = named.fields().len() == schema.fields().len()
        && (named.fields().iter().zip(schema.fields()))
            .all(|(one, other)| one.name() == other.name());
    if !are_same {
        return Err(Exception::InvalidInput.with("a batch has columns of other names"));
    }
    let fields = schema.fields().iter().map(|field| {
        // A column without nulls in one batch may have some in another.
        field.as_ref().clone().with_nullable(true)
    });
    let fields =
        ArrowSchema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone());
    let columns = batch
        .columns()
        .iter()
        .zip(schema.fields())
        .map(
            |(column, field)| match column.data_type() == field.data_type() {
                true => Ok(column.clone()),
                false => arrow_cast::cast(column, field.data_type()),
            },
        );
    let columns = columns.collect::<Result<Vec<_>, _>>();
    batch_of(columns.and_then(|columns| RecordBatch::try_new(Arc::new(fields), columns)))
}

/// Rows in memory, as batches.
#[pyclass(frozen, module = "tarsia", name = "Table")]
pub(crate) struct Table {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Vec<RecordBatch>,
}

impl Table {
    fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

#[pymethods]
impl Table {
    #[new]
    fn new(schema: &Bound<'_, Schema>, batches: Vec<Bound<'_, Batch>>) -> PyResult<Self> {
        let schema = schema.get().0.clone();
        let batches: Vec<_> = batches.iter().map(|batch| batch.get().0.clone()).collect();
        match batches.iter().all(|batch| batch.schema() == schema) {
            true => Ok(Self { schema, batches }),
            false => Err(Exception::InvalidInput.with("a batch has another schema")),
        }
    }

    #[getter]
    fn num_rows(&self) -> usize {
        self.rows()
    }

    #[getter]
    fn num_columns(&self) -> usize {
        self.schema.fields().len()
    }

    #[getter]
    fn schema(&self) -> Schema {
        Schema(self.schema.clone())
    }

    /// The batches.
    fn batches(&self) -> Vec<Batch> {
        self.batches.iter().cloned().map(Batch).collect()
    }

    fn __len__(&self) -> usize {
        self.rows()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        reduced(py, "table_of_ipc", &self.schema, &self.batches)
    }

    fn __repr__(&self) -> String {
        shown("Table", self.rows(), &self.schema)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyArrowResult<Bound<'py, PyCapsule>> {
        to_schema_pycapsule(py, self.schema.as_ref())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyArrowResult<Bound<'py, PyCapsule>> {
        let reader = reader_of(self.schema.clone(), self.batches.clone());
        to_stream(py, Box::new(reader), requested_schema)
    }

    /// The rows as a `pyarrow.Table`.
    fn to_pyarrow<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("table", (slf,))
    }

    /// The rows as a `pandas.DataFrame`; needs pyarrow, too.
    fn to_pandas<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        to_pandas(slf.as_any())
    }

    /// The rows as a `polars.DataFrame`.
    fn to_polars<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        to_polars(slf.as_any())
    }
}

/// The schema of a stream.
#[pyfunction]
pub(crate) fn schema_of_ipc(py: Python<'_>, bytes: &Bound<'_, PyBytes>) -> PyResult<Schema> {
    Ok(Schema(of_bytes(py, bytes)?.0))
}

/// The one batch of a stream.
#[pyfunction]
pub(crate) fn batch_of_ipc(py: Python<'_>, bytes: &Bound<'_, PyBytes>) -> PyResult<Batch> {
    let (_, batches) = of_bytes(py, bytes)?;
    match <[RecordBatch; 1]>::try_from(batches) {
        Ok([batch]) => Ok(Batch(batch)),
        Err(batches) => {
            let text = format!("a batch was pickled as {} batches", batches.len());
            Err(Exception::InvalidInput.with(text))
        }
    }
}

/// The batches of a stream.
#[pyfunction]
pub(crate) fn table_of_ipc(py: Python<'_>, bytes: &Bound<'_, PyBytes>) -> PyResult<Table> {
    let (schema, batches) = of_bytes(py, bytes)?;
    Ok(Table { schema, batches })
}

/// The format of the type that a capsule of Arrow's C interface has; None as [`Schema::column_format`].
#[pyfunction]
pub(crate) fn format_of(capsule: &Bound<'_, PyCapsule>) -> PyResult<Option<String>> {
    let field = pyo3_arrow::PyField::from_arrow_pycapsule(capsule)?.into_inner();
    format_of_field(&field)
}

fn format_of_field(field: &Field) -> PyResult<Option<String>> {
    let is_extension = field.metadata().contains_key(EXTENSION_TYPE_NAME_KEY);
    let is_dictionary = matches!(field.data_type(), DataType::Dictionary(..));
    if is_extension || is_dictionary || field.data_type().is_nested() {
        return Ok(None);
    }
    let schema = FFI_ArrowSchema::try_from(field.data_type());
    let schema = schema.map_err(|error| raised(error.into()))?;
    Ok(Some(schema.format().to_owned()))
}

/// Makes a stream of Arrow's C interface from a schema and an iterator of batches, which may be a generator.
#[pyfunction]
#[pyo3(signature = (schema, batches, requested_schema=None))]
pub(crate) fn stream_of<'py>(
    schema: &Bound<'py, Schema>,
    batches: Bound<'py, PyAny>,
    requested_schema: Option<Bound<'py, PyCapsule>>,
) -> PyArrowResult<Bound<'py, PyCapsule>> {
    let reader = PythonReader {
        schema: schema.get().0.clone(),
        batches: Some(batches.try_iter()?.into_any().unbind()),
    };
    to_stream(schema.py(), Box::new(reader), requested_schema)
}

/// The batches that a Python iterator has. An exception of it ends the stream.
struct PythonReader {
    schema: SchemaRef,
    /// `None` after the last batch.
    batches: Option<Py<PyAny>>,
}

impl Iterator for PythonReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batches = self.batches.take()?;
        Python::attach(|py| {
            let next = batches.bind(py).call_method0("__next__");
            match next.and_then(|batch| batch.extract::<PyRecordBatch>()) {
                Ok(batch) => {
                    self.batches = Some(batches);
                    Some(Ok(batch.into_inner()))
                }
                Err(end) if end.is_instance_of::<PyStopIteration>(py) => None,
                Err(error) => Some(Err(in_stream(error))),
            }
        })
    }
}

impl RecordBatchReader for PythonReader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// An exception inside of a stream, whose errors are texts. An interruption is asked for again, so that Python raises
/// it when the consumer of the stream returns.
pub(crate) fn in_stream(error: PyErr) -> ArrowError {
    Python::attach(|py| {
        // Python code, such as that of the text, would raise the interruption itself, so it comes first.
        let text = error.to_string();
        let is_interrupt = error.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py);
        drop(error);
        if is_interrupt && let Ok(thread) = py.import("_thread") {
            // Without it, the error of the stream says that it was interrupted.
            let _ = thread.call_method0("interrupt_main");
        }
        ArrowError::ExternalError(text.into())
    })
}

/// A stream of Arrow's C interface.
pub(crate) fn to_stream<'py>(
    py: Python<'py>,
    reader: Box<dyn RecordBatchReader + Send>,
    requested_schema: Option<Bound<'py, PyCapsule>>,
) -> PyArrowResult<Bound<'py, PyCapsule>> {
    let field = row_field(&reader.schema());
    let rows = reader.map(|batch| Ok(Arc::new(StructArray::from(batch?)) as Arc<dyn Array>));
    to_stream_pycapsule(
        py,
        Box::new(ArrayIterator::new(rows, field)),
        requested_schema,
    )
}

fn reader_of(schema: SchemaRef, batches: Vec<RecordBatch>) -> impl RecordBatchReader + Send {
    arrow_array::RecordBatchIterator::new(batches.into_iter().map(Ok), schema)
}

/// A whole row as a field, with the metadata of the table.
fn row_field(schema: &ArrowSchema) -> Arc<Field> {
    let field = Field::new_struct("", schema.fields().clone(), false);
    Arc::new(field.with_metadata(schema.metadata().clone()))
}

fn names_of(schema: &ArrowSchema) -> Vec<String> {
    let fields = schema.fields().iter();
    fields.map(|field| field.name().clone()).collect()
}

fn shown(class: &str, rows: usize, schema: &ArrowSchema) -> String {
    let names = names_of(schema).join(", ");
    format!("<tarsia.{class} of {rows} rows: {names}>")
}

fn to_pandas<'py>(rows: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let table = rows
        .py()
        .import("pyarrow")?
        .call_method1("table", (rows,))?;
    table.call_method0("to_pandas")
}

fn to_polars<'py>(rows: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    rows.py()
        .import("polars")?
        .call_method1("DataFrame", (rows,))
}

/// A batch with its error as an exception.
pub(crate) fn batch_of(batch: Result<RecordBatch, ArrowError>) -> PyResult<RecordBatch> {
    batch.map_err(|error| raised(error.into()))
}

/// The schema of anything that has one, by Arrow's C interface.
pub(crate) fn schema_of(of: &Bound<'_, PyAny>) -> PyResult<SchemaRef> {
    if !of.hasattr("__arrow_c_schema__")? {
        let wanted = "a schema: an object with `__arrow_c_schema__`";
        return Err(crate::error::wrong_type("schema", wanted, of));
    }
    let schema = of.extract::<pyo3_arrow::PySchema>();
    let schema = schema.map_err(|error| Exception::InvalidInput.with(error.to_string()))?;
    Ok(schema.into_inner())
}
