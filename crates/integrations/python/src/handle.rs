//! An open file of one process. `tarsia.File` opens it again where it is needed elsewhere.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tarsia::compliance::certificate::{Certificate, PublicKey};
use tarsia::{CapturedLayout, DeletedRows, ElementPath, File, RowSelection, ScanBuilder};

use crate::error::{Exception, other_process, raised};
use crate::filter::condition;
use crate::options::{count, listed, of_reader};
use crate::place::Place;
use crate::process::{LEAVE, OfProcess, OnSignal, run};
use crate::report;
use crate::rows::row_numbers;
use crate::scan::{Batches, Cancel};
use crate::table::{Batch, Schema};

/// Rows times columns of a take that is done at once, without another thread: it takes some milliseconds at most.
const CELLS_AT_ONCE_MAX: usize = 4096;

/// An open file.
#[pyclass(frozen, module = "tarsia._tarsia")]
pub(crate) struct Handle {
    file: OfProcess<File>,
    /// Whether reading waits for a disk or for memory alone, not for a server or for Python.
    is_local: bool,
}

/// Opens a file.
#[pyfunction]
#[pyo3(signature = (source, **options))]
pub(crate) fn open(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Handle> {
    let (options, store) = of_reader(py, options)?;
    let place = Place::to_read(source)?;
    let is_local = !matches!(place, Place::Url(_) | Place::Object(_));
    let open = move || place.open(options, &store);
    let file = py.detach(|| match is_local {
        // Some reads of a few KiB.
        true => crate::process::at_once(open),
        false => run(LEAVE, open),
    })??;
    Ok(Handle {
        file: OfProcess::new(file),
        is_local,
    })
}

impl Handle {
    pub(crate) fn file(&self) -> PyResult<File> {
        let file = self.file.get().cloned();
        file.ok_or_else(|| other_process("the file"))
    }

    /// Does work that reads the file.
    fn read<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(File) -> tarsia::Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let file = self.file()?;
        py.detach(|| run(LEAVE, move || work(file)))?
            .map_err(raised)
    }

    pub(crate) fn layout(&self, py: Python<'_>) -> PyResult<CapturedLayout> {
        self.read(py, |file| file.capture_layout())
    }

    /// A scan of what is asked for.
    fn wanted(&self, asked: Option<&Bound<'_, PyDict>>) -> PyResult<ScanBuilder> {
        let mut scan = self.file()?.scan();
        for (name, value) in asked.into_iter().flatten() {
            let name: String = name.extract()?;
            if value.is_none() {
                continue;
            }
            scan = match &*name {
                "columns" => scan.columns(&listed::<String>(&name, &value)?),
                "filter" => scan.filter(condition(&value)?),
                "range" => {
                    let (start, end) = value.extract::<(u64, u64)>()?;
                    scan.rows(start..end)
                }
                "rows" => {
                    let rows = RowSelection::from_rows(row_numbers(&value)?);
                    scan.selection(rows.map_err(raised)?)
                }
                "limit" => scan.limit(count(&name, &value)? as u64),
                "batch_size" => scan.batch_rows(count(&name, &value)?),
                "row_numbers" if value.extract::<bool>()? => scan.with_row_numbers(),
                "hidden" if value.extract::<bool>()? => scan.with_hidden_rows(),
                "row_numbers" | "hidden" => scan,
                _ => return Err(Exception::InvalidInput.with(format!("a scan has no `{name}`"))),
            };
        }
        Ok(scan)
    }
}

#[pymethods]
impl Handle {
    #[getter]
    fn num_rows(&self) -> PyResult<u64> {
        Ok(self.file()?.num_rows())
    }

    #[getter]
    fn live_rows(&self) -> PyResult<u64> {
        Ok(self.file()?.live_rows())
    }

    #[getter]
    fn num_columns(&self) -> PyResult<u32> {
        Ok(self.file()?.num_columns())
    }

    /// The state of the file: its id, the number of its last commit, and the digest of its content.
    fn identity(&self, py: Python<'_>) -> PyResult<(String, u64, String)> {
        let known = self.read(py, |file| file.metadata())?;
        Ok((
            report::hex(&known.file_id),
            known.epoch,
            report::hex(&known.root_digest),
        ))
    }

    fn schema(&self, py: Python<'_>) -> PyResult<Schema> {
        self.read(py, |file| file.schema()).map(Schema)
    }

    /// Starts a scan.
    #[pyo3(signature = (**asked))]
    fn scan(&self, py: Python<'_>, asked: Option<&Bound<'_, PyDict>>) -> PyResult<Batches> {
        let scan = self.wanted(asked)?;
        let scan = py.detach(|| run(LEAVE, move || scan.build()))?;
        scan.map(Batches::new).map_err(raised)
    }

    /// Counts the rows of a scan.
    #[pyo3(signature = (**asked))]
    fn count(&self, py: Python<'_>, asked: Option<&Bound<'_, PyDict>>) -> PyResult<u64> {
        let scan = self.wanted(asked)?.columns::<&str>(&[]);
        let cancel = Cancel::default();
        let told = cancel.clone();
        let counted = move || -> tarsia::Result<u64> {
            let scan = scan.build()?;
            told.begins(&scan);
            let mut n_rows = 0;
            for batch in scan {
                n_rows += batch?.num_rows() as u64;
            }
            Ok(n_rows)
        };
        let stop = || cancel.cancel();
        py.detach(|| run(OnSignal::Leave(&stop), counted))?
            .map_err(raised)
    }

    /// Counts the rows that a scan's filter looks at: those that zones do not rule out.
    #[pyo3(signature = (**asked))]
    fn count_looked_at(&self, py: Python<'_>, asked: Option<&Bound<'_, PyDict>>) -> PyResult<u64> {
        let scan = self.wanted(asked)?;
        let rows = py.detach(|| run(LEAVE, move || scan.prune_only()))?;
        rows.map(|rows| rows.len()).map_err(raised)
    }

    #[pyo3(signature = (rows, columns=None, element=None, nulls_for_deleted=false))]
    fn take(
        &self,
        py: Python<'_>,
        rows: &Bound<'_, PyAny>,
        columns: Option<&Bound<'_, PyAny>>,
        element: Option<&str>,
        nulls_for_deleted: bool,
    ) -> PyResult<Batch> {
        let rows = row_numbers(rows)?;
        let columns = columns.map(|columns| listed::<String>("columns", columns));
        let columns = columns.transpose()?;
        let element = element.map(|path| path.parse::<ElementPath>().map_err(raised));
        let element = element.transpose()?;
        let file = self.file()?;
        let width = match (&columns, &element) {
            (Some(columns), _) => columns.len(),
            (None, Some(_)) => 1,
            (None, None) => file.num_columns() as usize,
        };
        let is_short = self.is_local && rows.len().saturating_mul(width) <= CELLS_AT_ONCE_MAX;
        let work = move || {
            let mut take = file.take(&rows);
            if let Some(columns) = &columns {
                take = take.columns(columns);
            }
            if let Some(path) = &element {
                take = take.element(path);
            }
            if nulls_for_deleted {
                take = take.deleted(DeletedRows::Null);
            }
            take.read()
        };
        let taken = py.detach(|| match is_short {
            true => crate::process::at_once(work),
            false => run(LEAVE, work),
        })?;
        taken.map(Batch).map_err(raised)
    }

    fn inspect<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = self.read(py, |file| file.inspect())?;
        report::inspection(py, found)
    }

    fn verify<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = self.read(py, |file| file.verify())?;
        report::verified(py, &found)
    }

    /// Compares a certificate with the file; `trusted` are public keys.
    fn check_certificate<'py>(
        &self,
        py: Python<'py>,
        certificate: &[u8],
        trusted: Vec<Vec<u8>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let refused = |error: String| Exception::InvalidInput.with(error);
        let certificate = Certificate::parse(certificate).map_err(|it| refused(it.to_string()))?;
        let signed = certificate.verify_signature();
        let signed = signed.map_err(|error| refused(error.to_string()))?;
        let trusted = trusted.iter().map(|key| PublicKey::parse(key));
        let trusted = trusted.collect::<Result<Vec<_>, _>>();
        let trusted = trusted.map_err(|error| refused(error.to_string()))?;
        let checked = self.read(py, move |file| file.check_certificate(&certificate))?;
        report::certified(py, &checked, &signed, &trusted)
    }

    fn audit<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = self.read(py, |file| file.audit())?;
        report::audited(py, &found)
    }
}
