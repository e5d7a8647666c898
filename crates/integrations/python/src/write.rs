//! New files.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3_arrow::input::AnyRecordBatch;
use tarsia::WriteSummary;

use crate::error::{Exception, other_process, raised, wrong_type};
use crate::place::{AnySink, Place};
use crate::process::{OfProcess, OnSignal, run};
use crate::report;
use crate::table::schema_of;
use crate::write_options::OfWriter;

/// Rows that are written between two looks at whether the caller was interrupted.
const STEP_ROWS: usize = 1 << 16;

type FileWriter = tarsia::Writer<AnySink>;

/// The batches of anything with `__arrow_c_stream__` or `__arrow_c_array__`.
fn reader_of(data: &Bound<'_, PyAny>) -> PyResult<Box<dyn RecordBatchReader + Send>> {
    let has = |name| data.hasattr(name);
    if !has("__arrow_c_stream__")? && !has("__arrow_c_array__")? {
        let wanted = "a table: an object with `__arrow_c_stream__` or `__arrow_c_array__`";
        return Err(wrong_type("data", wanted, data));
    }
    let read = data.extract::<AnyRecordBatch>();
    read.and_then(AnyRecordBatch::into_reader)
        .map_err(|error| not_a_table(data.py(), error))
}

/// An error of an import: what Arrow's C interface says is a text.
fn not_a_table(py: Python<'_>, error: PyErr) -> PyErr {
    let is_import = error.is_instance_of::<pyo3::exceptions::PyValueError>(py)
        || error.is_instance_of::<pyo3::exceptions::PyTypeError>(py)
        || error
            .get_type(py)
            .name()
            .is_ok_and(|name| name == "ArrowException");
    match is_import {
        true => Exception::InvalidInput.with(format!("data is no table: {}", error.value(py))),
        false => error,
    }
}

/// Writes the batches; the caller may stop that between two steps.
fn write_batches(
    writer: &mut FileWriter,
    batches: Box<dyn RecordBatchReader + Send>,
    is_stopped: &AtomicBool,
) -> tarsia::Result<()> {
    for batch in batches {
        let batch: RecordBatch = batch?;
        let mut written = 0;
        // A batch without rows has a schema that is compared, too.
        loop {
            if is_stopped.load(Ordering::Relaxed) {
                return Ok(());
            }
            let rows = STEP_ROWS.min(batch.num_rows() - written);
            writer.write(&batch.slice(written, rows))?;
            written += rows;
            if written == batch.num_rows() {
                break;
            }
        }
    }
    Ok(())
}

fn begin(place: Place, schema: SchemaRef, of: OfWriter) -> PyResult<FileWriter> {
    // A schema that is not stored is refused before anything is made.
    tarsia::Writer::new(Vec::new(), schema.clone(), of.options.clone()).map_err(raised)?;
    tarsia::Writer::new(place.create(&of.store)?, schema, of.options).map_err(raised)
}

/// Writes a table as a file. Nothing is left of a file that was not completed.
#[pyfunction]
#[pyo3(signature = (data, place, **options))]
pub(crate) fn write<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    place: &Bound<'py, PyAny>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    let of = OfWriter::new(py, options)?;
    let place = Place::to_write(place)?;
    let batches = reader_of(data)?;
    let schema = of.schema(py, &batches.schema())?;
    let is_stopped = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&is_stopped);
    let work = move || -> PyResult<Option<WriteSummary>> {
        let mut writer = begin(place, schema, of)?;
        write_batches(&mut writer, batches, &told).map_err(raised)?;
        match told.load(Ordering::Relaxed) {
            true => Ok(None),
            false => writer.finish().map(Some).map_err(raised),
        }
    };
    let stop = || is_stopped.store(true, Ordering::Relaxed);
    let summary = py.detach(|| run(OnSignal::Wait(&stop), work))??;
    summary_of(py, summary)
}

/// Refuses columns of other names, or in another order: the facade goes by position.
fn same_names(of_file: &Schema, given: &Schema) -> PyResult<()> {
    let names = |schema: &Schema| -> Vec<String> {
        let fields = schema.fields().iter();
        fields.map(|field| field.name().clone()).collect()
    };
    let (of_file, given) = (names(of_file), names(given));
    // Another number of columns is refused with their types.
    let mut pairs = of_file.iter().zip(&given).enumerate();
    match pairs.find(|(_, (of_file, given))| of_file != given) {
        None => Ok(()),
        Some((at, (of_file, given))) => Err(Exception::InvalidInput.with(format!(
            "column {at} is `{given}`, that of the file `{of_file}`: columns are written in the order of the schema"
        ))),
    }
}

fn summary_of(py: Python<'_>, summary: Option<WriteSummary>) -> PyResult<Bound<'_, PyDict>> {
    match summary {
        Some(summary) => report::written(py, &summary),
        None => Err(Exception::Internal.with("a writer was stopped by nobody")),
    }
}

enum State {
    Open(Box<OfProcess<FileWriter>>),
    /// Another thread writes.
    Written,
    /// It failed, or was interrupted: nothing is left of the file.
    Failed,
    Closed,
}

impl State {
    fn open(writer: FileWriter) -> Self {
        Self::Open(Box::new(OfProcess::new(writer)))
    }
}

/// A file that is written batch by batch.
#[pyclass(frozen, module = "tarsia._tarsia")]
pub(crate) struct Writer {
    state: Mutex<State>,
}

impl Writer {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The writer, while it works. No exception is made under the lock: that runs Python code, in which another thread
    /// may get Python's lock, and wait for this one.
    fn taken(&self) -> PyResult<FileWriter> {
        let found = {
            let mut state = self.state();
            match &*state {
                State::Open(_) => std::mem::replace(&mut *state, State::Written),
                State::Written => State::Written,
                State::Failed => State::Failed,
                State::Closed => State::Closed,
            }
        };
        let text = match found {
            State::Open(writer) => {
                return writer.into_inner().ok_or_else(|| {
                    *self.state() = State::Failed;
                    other_process("the writer")
                });
            }
            State::Failed => "the writer has failed, and nothing is left of the file",
            State::Closed => "the writer is closed",
            State::Written => "another thread uses this writer",
        };
        Err(Exception::InvalidInput.with(text))
    }
}

#[pymethods]
impl Writer {
    #[new]
    #[pyo3(signature = (place, schema, **options))]
    fn new(
        py: Python<'_>,
        place: &Bound<'_, PyAny>,
        schema: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let of = OfWriter::new(py, options)?;
        let place = Place::to_write(place)?;
        let schema = of.schema(py, &schema_of(schema)?)?;
        let begun = move || begin(place, schema, of);
        let writer = py.detach(|| run(OnSignal::Wait(&|| ()), begun))??;
        Ok(Self {
            state: Mutex::new(State::open(writer)),
        })
    }

    /// Writes the rows of a table.
    fn write(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let batches = reader_of(data)?;
        let mut writer = self.taken()?;
        if let Err(other) = same_names(writer.schema(), &batches.schema()) {
            *self.state() = State::open(writer);
            return Err(other);
        }
        // Columns of other types change nothing, so the writer goes on.
        if let Err(error) = writer.write(&RecordBatch::new_empty(batches.schema())) {
            *self.state() = State::open(writer);
            return Err(raised(error));
        }
        let is_stopped = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&is_stopped);
        let work = move || {
            let written = write_batches(&mut writer, batches, &told);
            (written, writer)
        };
        let stop = || is_stopped.store(true, Ordering::Relaxed);
        let done = py.detach(|| run(OnSignal::Wait(&stop), work));
        let (state, result) = match done {
            Ok((Ok(()), writer)) => (State::open(writer), Ok(())),
            Ok((Err(error), _)) => (State::Failed, Err(raised(error))),
            Err(interrupted) => (State::Failed, Err(interrupted)),
        };
        *self.state() = state;
        result
    }

    /// Completes the file.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let writer = self.taken()?;
        let finish = move || writer.finish();
        let done = py.detach(|| run(OnSignal::Wait(&|| ()), finish));
        let finished = match done {
            Ok(finished) => finished.map_err(raised),
            Err(interrupted) => Err(interrupted),
        };
        *self.state() = match &finished {
            Ok(_) => State::Closed,
            Err(_) => State::Failed,
        };
        report::written(py, &finished?)
    }

    /// Gives the file up, if it is not complete.
    fn abandon(&self, py: Python<'_>) {
        let mut state = self.state();
        let writer = match &*state {
            State::Open(_) => std::mem::replace(&mut *state, State::Closed),
            State::Written | State::Failed | State::Closed => return,
        };
        drop(state);
        py.detach(|| drop(writer));
    }

    #[getter]
    fn is_open(&self) -> bool {
        matches!(&*self.state(), State::Open(_) | State::Written)
    }
}
