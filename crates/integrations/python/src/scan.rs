//! A running scan.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3_arrow::error::PyArrowResult;
use tarsia::{Scan, ScanCancel};

use crate::error::{Exception, other_process, raised};
use crate::process::{OfProcess, OnSignal, run};
use crate::table::{Batch, Schema, Table, batch_of, in_stream, to_stream};

/// Cancels a scan whether it has begun or not.
#[derive(Clone, Default)]
pub(crate) struct Cancel(Arc<(AtomicBool, OnceLock<ScanCancel>)>);

impl Cancel {
    /// Whoever of the two comes second, this or [`Cancel::cancel`], sees what the first has set.
    pub(crate) fn begins(&self, scan: &Scan) {
        let handle = self.0.1.get_or_init(|| scan.cancel_handle());
        if self.is_cancelled() {
            handle.cancel();
        }
    }

    pub(crate) fn cancel(&self) {
        self.0.0.store(true, Ordering::SeqCst);
        if let Some(scan) = self.0.1.get() {
            scan.cancel();
        }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.0.load(Ordering::SeqCst)
    }
}

enum State {
    Open(Box<OfProcess<Scan>>),
    /// Another thread waits for its next batch.
    Read,
    /// It ended, was interrupted, or went elsewhere.
    Over,
}

impl State {
    fn open(scan: Scan) -> Self {
        Self::Open(Box::new(OfProcess::new(scan)))
    }
}

/// The batches of a scan, which is ahead of its reader.
#[pyclass(frozen, module = "tarsia._tarsia")]
pub(crate) struct Batches {
    state: Mutex<State>,
    schema: SchemaRef,
    cancel: ScanCancel,
}

impl Batches {
    pub(crate) fn new(scan: Scan) -> Self {
        Self {
            schema: scan.schema(),
            cancel: scan.cancel_handle(),
            state: Mutex::new(State::open(scan)),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The scan, for whoever reads it next; `None` after its end. No exception is made under the lock: that runs Python
    /// code, in which another thread may get Python's lock, and wait for this one.
    fn taken(&self, then: State) -> PyResult<Option<Scan>> {
        let found = {
            let mut state = self.state();
            match &*state {
                State::Open(_) => std::mem::replace(&mut *state, then),
                State::Read => State::Read,
                State::Over => State::Over,
            }
        };
        match found {
            State::Over => Ok(None),
            State::Read => Err(Exception::InvalidInput.with("another thread reads this scan")),
            State::Open(scan) => match scan.into_inner() {
                Some(scan) => Ok(Some(scan)),
                None => {
                    *self.state() = State::Over;
                    Err(other_process("the scan"))
                }
            },
        }
    }
}

#[pymethods]
impl Batches {
    #[getter]
    fn schema(&self) -> Schema {
        Schema(self.schema.clone())
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let Some(scan) = self.taken(State::Read)? else {
            return Ok(None);
        };
        let next = py.detach(|| next_of(scan, &self.cancel));
        let (state, batch) = match next {
            Ok((scan, Some(Ok(batch)))) => (State::open(scan), Ok(Some(batch))),
            Ok((_, Some(Err(error)))) => (State::Over, Err(raised(error.into()))),
            Ok((_, None)) => (State::Over, Ok(None)),
            Err(interrupted) => (State::Over, Err(interrupted)),
        };
        *self.state() = state;
        Ok(batch?.map(Batch))
    }

    /// The rest of the batches.
    fn read_all(&self, py: Python<'_>) -> PyResult<Table> {
        let scan = self.taken(State::Over)?;
        let read = move || scan.into_iter().flatten().collect::<Vec<_>>();
        let stop = || self.cancel.cancel();
        let batches = py.detach(|| run(OnSignal::Leave(&stop), read))?;
        Ok(Table {
            schema: self.schema.clone(),
            batches: batches.into_iter().map(batch_of).collect::<PyResult<_>>()?,
        })
    }

    /// Cancels the scan, from any thread.
    fn close(&self) {
        self.cancel.cancel();
        // Another thread that reads it finds that it was cancelled.
        drop(self.taken(State::Over));
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyArrowResult<Bound<'py, PyCapsule>> {
        let reader = Reader {
            scan: self.taken(State::Over)?.map(OfProcess::new),
            schema: self.schema.clone(),
            cancel: self.cancel.clone(),
        };
        to_stream(py, Box::new(reader), requested_schema)
    }
}

/// The next batch, and the scan for those after it.
fn next_of(
    mut scan: Scan,
    cancel: &ScanCancel,
) -> PyResult<(Scan, Option<Result<RecordBatch, ArrowError>>)> {
    let stop = || cancel.cancel();
    run(OnSignal::Leave(&stop), move || {
        let next = scan.next();
        (scan, next)
    })
}

/// The batches of a scan for another library.
struct Reader {
    /// `None` after the last batch.
    scan: Option<OfProcess<Scan>>,
    schema: SchemaRef,
    cancel: ScanCancel,
}

impl Reader {
    /// Whoever asks may hold Python's lock, which Python code under the scan would wait for.
    fn read(&mut self) -> PyResult<Option<Result<RecordBatch, ArrowError>>> {
        let Some(scan) = self.scan.take() else {
            return Ok(None);
        };
        let scan = scan.into_inner().ok_or_else(|| other_process("the scan"))?;
        let cancel = &self.cancel;
        let (scan, batch) = Python::attach(|py| py.detach(|| next_of(scan, cancel)))?;
        if let Some(Ok(_)) = &batch {
            self.scan = Some(OfProcess::new(scan));
        }
        Ok(batch)
    }
}

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read()
            .map_err(in_stream)
            .transpose()
            .map(Result::flatten)
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
