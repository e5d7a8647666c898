//! The certificate of an erasure as a file: it is made, signed and on the disk before a byte of the table changes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chrono::{SecondsFormat, Utc};
use tarsia::ErasureReport;
use tarsia::compliance::certificate::{Certificate, SecretKey};
use tarsia::io::{FileSink, Sink};

use crate::destination::{is_standard_output, refuse_same};
use crate::failure::Failure;
use crate::place::Place;
use crate::stop::{Temporary, before_stopping, remove_if_stopped};

/// A certificate that is going to be written. Until then the file has a temporary name; it is removed if the command
/// fails, or is stopped by a signal.
pub(super) struct Certifying {
    path: PathBuf,
    sink: FileSink,
    key: Option<SecretKey>,
    note: Option<String>,
    _temporary: Temporary,
}

/// The meaning of a file that has the name of the certificate already. A certificate is evidence, and replaces nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Existing {
    /// It is another one.
    Refused,
    /// It may be the certificate itself, from a run that was interrupted behind it.
    MayBeTheSame,
}

impl Certifying {
    /// Reads the key and makes the file. `others` are files that are read or written beside it, with what they are.
    ///
    /// # Errors
    /// [`Failure::Usage`] where `path` is the standard output, one of the others or the key, under any name, or
    /// something that is there already; [`Failure::Bad`] for a key that is none, and where no file can be made.
    pub(super) fn open(
        place: &Place,
        key: Option<&Place>,
        note: Option<&String>,
        others: &[(&Place, &str)],
        existing: Existing,
    ) -> Result<Self, Failure> {
        let path = place.path()?;
        if is_standard_output(path) {
            let what = "--certificate -: the standard output has the summary; name a file";
            return Err(Failure::Usage(what.to_owned()));
        }
        for (other, what) in others {
            refuse_same(place, other, what)?;
        }
        if let Some(key) = key {
            refuse_same(place, key, "is the key")?;
        }
        let is_file = || fs::metadata(path).is_ok_and(|found| found.is_file());
        if is_there(path) && !(existing == Existing::MayBeTheSame && is_file()) {
            return Err(Failure::Usage(format!("{}: {IS_THERE}", path.display())));
        }
        let key = key.map(|key| secret_key(key.path()?)).transpose()?;
        let create = || FileSink::create(path);
        let made = remove_if_stopped(create, FileSink::temporary);
        let (sink, temporary) = made.map_err(|error| Failure::bad(path, error))?;
        Ok(Self {
            path: path.to_owned(),
            sink,
            key,
            note: note.cloned(),
            _temporary: temporary,
        })
    }

    /// The text of the certificate of the erasure of `file`. It is on the disk, under the temporary name.
    pub(super) fn prepare(
        &mut self,
        file: &Path,
        report: &ErasureReport,
    ) -> Result<Vec<u8>, Failure> {
        let time = Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true);
        let file = file.display().to_string();
        let certificate = report.certificate(&file, &time, self.note.as_deref());
        let mut certificate = certificate.map_err(|error| Failure::bad(&self.path, error))?;
        let text = self.signed(&mut certificate);
        let text = text.map_err(|error| Failure::bad(&self.path, error))?;
        let written = self.sink.append(text.as_bytes());
        let written = written.and_then(|()| self.sink.sync());
        written.map_err(|error| Failure::bad(&self.path, error))?;
        Ok(text.into_bytes())
    }

    fn signed(
        &self,
        certificate: &mut Certificate,
    ) -> Result<String, tarsia::compliance::certificate::CertificateError> {
        if let Some(key) = &self.key {
            certificate.sign(key)?;
        }
        certificate.to_json()
    }

    /// Gives the certificate its name. A signal that comes before ends the command with the journal in place, which has
    /// the certificate: it must not find the file gone, and go on without it.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] for a file that got that name meanwhile; what the system reports.
    pub(super) fn publish(&mut self) -> tarsia::Result<()> {
        if is_there(&self.path) {
            let what = format!("{}: {IS_THERE}", self.path.display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, what).into());
        }
        Ok(before_stopping(|| self.sink.commit())?)
    }

    /// Writes the certificate that an interrupted erasure has left, with another note or signature if these are asked
    /// for.
    ///
    /// # Errors
    /// What the system reports; [`io::ErrorKind::AlreadyExists`] where the name is that of another file; and
    /// [`io::ErrorKind::InvalidInput`] for a signed certificate that would get
    /// another note and no signature, and for a record that is no certificate.
    pub(super) fn publish_record(&mut self, record: &[u8]) -> tarsia::Result<()> {
        let text = self.of_record(record);
        let text = text.map_err(|what| io::Error::new(io::ErrorKind::InvalidInput, what))?;
        // The run that was interrupted may have come as far as this.
        if fs::read(&self.path).is_ok_and(|there| there == text) {
            return Ok(());
        }
        self.sink.append(&text)?;
        self.sink.sync()?;
        self.publish()
    }

    fn of_record(&self, record: &[u8]) -> Result<Vec<u8>, String> {
        if self.key.is_none() && self.note.is_none() {
            return Ok(record.to_vec());
        }
        let certificate = Certificate::parse(record).map_err(|error| error.to_string());
        let mut certificate = certificate?;
        if self.key.is_none() && certificate.signature.is_some() {
            return Err(
                "the certificate is signed, and another note needs another signature (--key)"
                    .to_owned(),
            );
        }
        if let Some(note) = &self.note {
            certificate.note = Some(note.clone());
        }
        let text = self.signed(&mut certificate);
        Ok(text.map_err(|error| error.to_string())?.into_bytes())
    }
}

/// Error for a name that is taken.
const IS_THERE: &str = "is there already, and a certificate replaces nothing; give another name";

/// Whether a name is taken, be it by a link that leads nowhere.
fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

fn secret_key(name: &Path) -> Result<SecretKey, Failure> {
    let bytes = fs::read(name).map_err(|error| Failure::bad(name, error))?;
    SecretKey::parse(&bytes).map_err(|error| Failure::bad(name, error))
}
