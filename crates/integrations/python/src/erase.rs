//! Rows erased in place, or left out of a new file; interrupted erasures.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use tarsia::compliance::certificate::{Certificate, SecretKey};
use tarsia::io::{FileSink, OnBusy, Sink};
use tarsia::{
    Eraser, ErasureLevel, ErasurePlan, ErasureReport, File, OpenOptions, Recovery, RowSelection,
    RowSet,
};
use tarsia_filter::Expr;

use crate::error::{Exception, of_system, raised, wrong_type};
use crate::filter::of_sql;
use crate::options::{erasure_level, of_reader};
use crate::place::Place;
use crate::process::{OnSignal, at_once, run};
use crate::report;
use crate::rows::row_numbers;
use crate::scan::Cancel;

/// Which rows are erased.
enum Rows {
    Named(Vec<u64>),
    Where(Expr),
}

impl Rows {
    fn new(rows: Option<&Bound<'_, PyAny>>, passing: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        match (rows, passing) {
            (Some(rows), None) => row_numbers(rows).map(Self::Named),
            (None, Some(passing)) => match passing.cast::<PyString>() {
                Ok(text) => of_sql(text.extract()?).map(Self::Where),
                // Other languages compare in ways that are too lax for what cannot be undone.
                Err(_) => Err(wrong_type("where", "SQL text", passing)),
            },
            _ => Err(Exception::InvalidInput.with("an erasure has either `where` or `rows`")),
        }
    }

    /// The rows of a file. Conditions are strict: each literal is a value of its column's type.
    fn of(&self, file: &File, level: ErasureLevel, cancel: &Cancel) -> tarsia::Result<RowSet> {
        let condition = match self {
            Self::Named(rows) => return Ok(rows.iter().copied().collect()),
            Self::Where(condition) => condition,
        };
        let scan = file.scan().columns::<&str>(&[]).with_row_numbers();
        let scan = scan.strict_filter(condition.clone());
        let scan = match level {
            ErasureLevel::Erase => scan.with_hidden_rows(),
            _ => scan,
        };
        let mut found = RowSet::new();
        let scan = scan.build()?;
        cancel.begins(&scan);
        for batch in scan {
            let batch = batch?;
            let bits = arrow_array::cast::AsArray::as_primitive_opt::<arrow_array::types::UInt64Type>(
                batch.column(0),
            );
            let numbers = bits.map_or(&[][..], |numbers| numbers.values());
            for run in RowSelection::from_rows(numbers.iter().copied())?.runs() {
                found.insert_range(run);
            }
        }
        Ok(found)
    }
}

/// The certificate of an erasure as a file: it is made, signed and on the disk before a byte of the table changes.
struct Certifying {
    path: PathBuf,
    sink: FileSink,
    key: Option<SecretKey>,
    note: Option<String>,
    time: String,
}

/// Arguments of a certificate.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct CertificateAsked {
    path: PathBuf,
    key: Option<PathBuf>,
    note: Option<String>,
    time: String,
}

impl Certifying {
    /// Reads the key, and begins the file. Its name must be free: a certificate is evidence, and replaces nothing.
    fn new(asked: CertificateAsked, may_be_there: bool) -> PyResult<Self> {
        let path = asked.path;
        let key = asked.key.map(|key| secret_key(&key)).transpose()?;
        let name = path.display().to_string();
        if is_there(&path) && !(may_be_there && path.is_file()) {
            return Err(of_system(io::Error::from_raw_os_error(EEXIST), &name));
        }
        let sink = FileSink::create(&path).map_err(|error| of_system(error, &name))?;
        Ok(Self {
            path,
            sink,
            key,
            note: asked.note,
            time: asked.time,
        })
    }

    /// The text of the certificate. It is on the disk, under a temporary name.
    fn prepare(&mut self, file: &Path, report: &ErasureReport) -> PyResult<Vec<u8>> {
        let file = file.display().to_string();
        let certificate = report.certificate(&file, &self.time, self.note.as_deref());
        let text = self.signed(certificate.map_err(raised)?)?;
        let written = self.sink.append(&text).and_then(|()| self.sink.sync());
        written.map_err(|error| of_system(error, &self.name()))?;
        Ok(text)
    }

    fn signed(&self, mut certificate: Certificate) -> PyResult<Vec<u8>> {
        let made = match &self.key {
            Some(key) => certificate.sign(key).and_then(|()| certificate.to_json()),
            None => certificate.to_json(),
        };
        let made = made.map_err(|error| Exception::InvalidInput.with(error.to_string()));
        made.map(String::into_bytes)
    }

    /// Gives the certificate its name.
    fn publish(&mut self) -> tarsia::Result<()> {
        if is_there(&self.path) {
            let text = format!("{}: is there already", self.name());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, text).into());
        }
        Ok(self.sink.commit()?)
    }

    /// Writes the certificate that an interrupted erasure has left.
    fn publish_record(&mut self, record: &[u8]) -> tarsia::Result<()> {
        let refused = |text: String| io::Error::new(io::ErrorKind::InvalidInput, text);
        let text = match self.key.is_none() && self.note.is_none() {
            true => record.to_vec(),
            false => {
                let parsed = Certificate::parse(record);
                let mut certificate = parsed.map_err(|error| refused(error.to_string()))?;
                if self.key.is_none() && certificate.signature.is_some() {
                    let text = "the certificate is signed: another note needs a key";
                    return Err(refused(text.to_owned()).into());
                }
                if let Some(note) = &self.note {
                    certificate.note = Some(note.clone());
                }
                self.signed(certificate)
                    .map_err(|error| refused(error.to_string()))?
            }
        };
        // The run that was interrupted may have come as far as this.
        if fs::read(&self.path).is_ok_and(|there| there == text) {
            return Ok(());
        }
        self.sink.append(&text)?;
        self.sink.sync()?;
        self.publish()
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }
}

/// The system's number for a name that is taken.
const EEXIST: i32 = 17;

/// Whether a name is taken, be it by a link that leads nowhere.
fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

fn secret_key(path: &Path) -> PyResult<SecretKey> {
    let bytes = fs::read(path).map_err(|error| of_system(error, &path.display().to_string()))?;
    let key = SecretKey::parse(&bytes);
    key.map_err(|error| Exception::InvalidInput.with(format!("{}: {error}", path.display())))
}

fn on_busy(wait: bool) -> OnBusy {
    match wait {
        true => OnBusy::Wait,
        false => OnBusy::Refuse,
    }
}

/// An erasure that is asked for.
struct Asked {
    rows: Rows,
    level: ErasureLevel,
    certifying: Option<Certifying>,
    on_busy: OnBusy,
    options: OpenOptions,
    cancel: Cancel,
}

/// The outcome of an erasure.
type Done = (ErasureReport, Recovery, Option<String>);

impl Asked {
    /// Erases in place. An interruption counts until the file begins to change.
    fn in_place(mut self, path: &Path) -> PyResult<Done> {
        is_found(path)?;
        let eraser = Eraser::open(path, self.on_busy, self.options.clone()).map_err(raised)?;
        let recovery = eraser.recovery();
        let rows = self.rows.of(eraser.file(), self.level, &self.cancel);
        let plan = eraser
            .plan(&rows.map_err(raised)?, self.level)
            .map_err(raised)?;
        let record = self.prepare(path, &plan)?;
        if self.cancel.is_cancelled() {
            return Err(Exception::Error.with("interrupted before anything changed"));
        }
        let report = match (&mut self.certifying, &record) {
            (Some(certifying), Some(record)) => {
                eraser.commit_with(plan, record.clone(), &mut || certifying.publish())
            }
            _ => eraser.commit(plan),
        };
        Ok((report.map_err(raised)?, recovery, self.certified(&record)))
    }

    /// Plans alone.
    fn planned(self, file: &File) -> PyResult<Done> {
        let rows = self
            .rows
            .of(file, self.level, &self.cancel)
            .map_err(raised)?;
        let plan = file.plan_erasure(&rows, self.level).map_err(raised)?;
        Ok((plan.report().clone(), Recovery::Clean, None))
    }

    /// Writes another file.
    fn rewritten(mut self, file: &File, name: &Path, mut sink: Box<dyn Sink>) -> PyResult<Done> {
        let rows = self
            .rows
            .of(file, self.level, &self.cancel)
            .map_err(raised)?;
        let plan = file.plan_erasure(&rows, self.level).map_err(raised)?;
        let record = self.prepare(name, &plan)?;
        let report = file.write_erased_into(plan, &mut *sink).map_err(raised)?;
        if let (Some(certifying), Some(_)) = (&mut self.certifying, &record) {
            certifying.publish().map_err(raised)?;
        }
        Ok((report, Recovery::Clean, self.certified(&record)))
    }

    /// The certificate, if one is asked for and rows are.
    fn prepare(&mut self, file: &Path, plan: &ErasurePlan) -> PyResult<Option<Vec<u8>>> {
        match &mut self.certifying {
            Some(certifying) if plan.summary().rows > 0 => {
                certifying.prepare(file, plan.report()).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn certified(&self, record: &Option<Vec<u8>>) -> Option<String> {
        let certifying = self.certifying.as_ref().filter(|_| record.is_some());
        certifying.map(Certifying::name)
    }
}

/// Refuses a file that is not there as Python's own functions do.
fn is_found(path: &Path) -> PyResult<()> {
    let found = fs::metadata(path);
    found
        .map(|_| ())
        .map_err(|error| of_system(error, &path.display().to_string()))
}

/// Erases rows.
#[pyfunction]
#[pyo3(signature = (
    place, *, rows=None, passing=None, level=None, certificate=None, wait=false, dry_run=false, out=None, options=None
))]
#[expect(
    clippy::too_many_arguments,
    reason = "these are Python's keyword arguments"
)]
pub(crate) fn erase<'py>(
    py: Python<'py>,
    place: &Bound<'py, PyAny>,
    rows: Option<&Bound<'py, PyAny>>,
    passing: Option<&Bound<'py, PyAny>>,
    level: Option<&Bound<'py, PyAny>>,
    certificate: Option<CertificateAsked>,
    wait: bool,
    dry_run: bool,
    out: Option<&Bound<'py, PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    let rows = Rows::new(rows, passing)?;
    let level = level.map(|level| erasure_level("level", level));
    let level = level.transpose()?.unwrap_or(ErasureLevel::Erase);
    if level == ErasureLevel::Immutable {
        return Err(Exception::InvalidInput.with("level is 1 (hide) or 2 (erase)"));
    }
    let (options, store) = of_reader(py, options)?;
    let in_place = match dry_run || out.is_some() {
        true => None,
        false => Some(Place::local(place)?),
    };
    let source = Place::to_read(place)?;
    let out = out.map(Place::to_write).transpose()?;
    let certifying = certificate.filter(|_| !dry_run);
    let certifying = certifying
        .map(|asked| Certifying::new(asked, false))
        .transpose()?;
    let cancel = Cancel::default();
    let asked = Asked {
        rows,
        level,
        certifying,
        on_busy: on_busy(wait),
        options: options.clone(),
        cancel: cancel.clone(),
    };
    let work = move || -> PyResult<Done> {
        if let Some(path) = in_place {
            return asked.in_place(&path);
        }
        let file = source.open(options, &store)?;
        match out {
            None => asked.planned(&file),
            Some(out) => {
                let name = out.name();
                let sink = Box::new(out.create(&store)?);
                asked.rewritten(&file, Path::new(&name), sink)
            }
        }
    };
    let stop = || cancel.cancel();
    let done = py.detach(|| run(OnSignal::Wait(&stop), work))??;
    let (report, recovery, certificate) = done;
    report::erased(py, &report, recovery, certificate.as_deref())
}

/// Finishes or drops an interrupted erasure.
#[pyfunction]
#[pyo3(signature = (place, *, certificate=None, wait=false))]
pub(crate) fn recover<'py>(
    py: Python<'py>,
    place: &Bound<'py, PyAny>,
    certificate: Option<CertificateAsked>,
    wait: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let path = Place::local(place)?;
    is_found(&path)?;
    let certifying = certificate.map(|asked| Certifying::new(asked, true));
    let mut certifying = certifying.transpose()?;
    let mut written = None;
    let mut is_dropped = false;
    let found = py.detach(|| {
        let mut publish = |record: &[u8]| {
            match (&mut certifying, record) {
                (_, []) => {}
                (None, _) => is_dropped = true,
                (Some(certifying), record) => {
                    certifying.publish_record(record)?;
                    written = Some(certifying.name());
                }
            }
            Ok(())
        };
        // It writes in place, so it is not left half-way: signals count afterwards.
        at_once(|| tarsia::recover_with(&path, on_busy(wait), &mut publish))
    });
    let found = found?.map_err(raised)?;
    report::recovered(py, found, written.as_deref(), is_dropped)
}
