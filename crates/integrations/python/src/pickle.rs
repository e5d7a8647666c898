//! Schemas, batches and tables as bytes: Arrow's streaming format, which Python's `pickle` keeps.

use std::io::Cursor;

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, Schema as ArrowSchema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::raised;

/// The result of `__reduce__`: a function of this module, and its argument.
pub(crate) type Reduced<'py> = (Bound<'py, PyAny>, (Bound<'py, PyBytes>,));

/// A schema and batches as a call that makes them again.
pub(crate) fn reduced<'py>(
    py: Python<'py>,
    function: &str,
    schema: &ArrowSchema,
    batches: &[RecordBatch],
) -> PyResult<Reduced<'py>> {
    let bytes = py.detach(|| to_bytes(schema, batches));
    let bytes = bytes.map_err(|error| raised(error.into()))?;
    let function = py.import("tarsia._tarsia")?.getattr(function)?;
    Ok((function, (PyBytes::new(py, &bytes),)))
}

fn to_bytes(schema: &ArrowSchema, batches: &[RecordBatch]) -> Result<Vec<u8>, ArrowError> {
    let mut writer = StreamWriter::try_new(Vec::new(), schema)?;
    for batch in batches {
        writer.write(batch)?;
    }
    writer.into_inner()
}

/// The schema and the batches of a stream.
pub(crate) fn of_bytes(
    py: Python<'_>,
    bytes: &Bound<'_, PyBytes>,
) -> PyResult<(SchemaRef, Vec<RecordBatch>)> {
    let bytes = bytes.as_bytes();
    let read = py.detach(|| {
        let reader = StreamReader::try_new(Cursor::new(bytes), None)?;
        let schema = reader.schema();
        Ok((schema, reader.collect::<Result<_, _>>()?))
    });
    read.map_err(|error: ArrowError| raised(error.into()))
}
