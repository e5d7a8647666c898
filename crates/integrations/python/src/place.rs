//! Places that files are read from and written to.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBool, PyBytes, PyDict, PyMemoryView, PyString};
use tarsia::io::{FileSink, ReadAt, SeekFile, Sink};
use tarsia::{File, OpenOptions};
use tarsia_store::{RemoteFile, RemoteStore, StoreOptions, StoreUrl, UrlSink};

use crate::error::{Exception, of_system, raised, wrong_type};
use crate::file_object::FileObject;

/// A place that a file is read from or written to.
pub(crate) enum Place {
    Path(PathBuf),
    Url(String),
    Bytes(PyBackedBytes),
    Object(FileObject),
}

const READABLE: &str = "a path, a URL, bytes or a binary file object with `read` and `seek`";
const WRITABLE: &str = "a path, a URL or a binary file object with `write`";

impl Place {
    /// A place that is read from.
    pub(crate) fn to_read(of: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = of.cast::<PyBytes>() {
            return Ok(Self::Bytes(bytes.clone().into()));
        }
        if let Some(named) = Self::named(of)? {
            return Ok(named);
        }
        if of.hasattr("read")? && of.hasattr("seek")? {
            return Ok(Self::Object(FileObject::new(of)?));
        }
        let view = PyMemoryView::from(of);
        let is_bytes = |view: &Bound<'_, PyMemoryView>| -> PyResult<bool> {
            Ok(view.getattr("itemsize")?.extract::<usize>()? == 1)
        };
        match view {
            // Others could change these bytes while they are read, so they are copied.
            Ok(view) if is_bytes(&view)? => {
                let copied = view.call_method0("tobytes")?;
                Ok(Self::Bytes(copied.cast_into::<PyBytes>()?.into()))
            }
            _ => Err(wrong_type("a file", READABLE, of)),
        }
    }

    /// A place that is written to.
    pub(crate) fn to_write(of: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Some(named) = Self::named(of)? {
            return Ok(named);
        }
        match of.hasattr("write")? {
            true => FileObject::new(of).map(Self::Object),
            false => Err(wrong_type("a file to write", WRITABLE, of)),
        }
    }

    /// The path of a local file that is changed in place.
    pub(crate) fn local(of: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
        match Self::named(of)? {
            Some(Self::Path(path)) => Ok(path),
            Some(Self::Url(url)) => match tarsia::io::local_path(&url) {
                Some(path) => Ok(path),
                None => Err(Exception::Unsupported.with(
                    "the objects of a store cannot be changed in place; `out` writes another file",
                )),
            },
            _ => Err(wrong_type("a file to change", "a path", of)),
        }
    }

    fn named(of: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        if of.is_instance_of::<PyString>() {
            let text = of.extract::<String>();
            if let Ok(text) = text
                && text.contains("://")
            {
                return Ok(Some(Self::Url(text)));
            }
            return Ok(Some(Self::Path(of.extract()?)));
        }
        match of.hasattr("__fspath__")? {
            true => Ok(Some(Self::Path(of.extract()?))),
            false => Ok(None),
        }
    }

    /// The name for people, which holds nothing secret.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Url(url) => tarsia::io::redact(url).to_string(),
            Self::Bytes(_) => "<memory>".to_owned(),
            Self::Object(_) => "<file object>".to_owned(),
        }
    }

    /// Opens the file. Reads and waits; the caller does not hold Python's lock.
    pub(crate) fn open(self, options: OpenOptions, store: &StoreOptions) -> PyResult<File> {
        match self {
            Self::Path(path) => open_local(&path, options),
            Self::Url(url) => {
                if let Some(path) = tarsia::io::local_path(&url) {
                    return open_local(&path, options);
                }
                let failed = |error: io::Error| of_system(error, "");
                let url: StoreUrl = url
                    .parse()
                    .map_err(|error| failed(io::Error::from(error)))?;
                let open = || -> io::Result<Arc<dyn ReadAt>> {
                    let store = Arc::new(RemoteStore::new(&url, store)?);
                    Ok(Arc::new(RemoteFile::open(store, url.key())?))
                };
                File::open_named(open().map_err(failed)?, url.to_string(), options).map_err(raised)
            }
            Self::Bytes(bytes) => File::from_bytes(bytes, options).map_err(raised),
            Self::Object(object) => {
                let reader = SeekFile::new(object).map_err(|error| of_system(error, ""))?;
                File::open_reader(Arc::new(reader), options).map_err(raised)
            }
        }
    }

    /// Begins a file. The caller does not hold Python's lock.
    pub(crate) fn create(self, store: &StoreOptions) -> PyResult<AnySink> {
        match self {
            Self::Path(path) => {
                let name = path.display().to_string();
                let sink = FileSink::create(&path).map_err(|error| of_system(error, &name))?;
                Ok(AnySink::Url(UrlSink::Local(sink)))
            }
            Self::Url(url) => {
                let sink = tarsia_store::create(&url, store);
                sink.map(AnySink::Url).map_err(|error| of_system(error, ""))
            }
            Self::Object(object) => Ok(AnySink::Object(object)),
            Self::Bytes(_) => Err(Exception::InvalidInput.with("bytes cannot be written to")),
        }
    }
}

/// Opens a local file. What is not there, and what may not be read, is an error of the system.
pub(crate) fn open_local(path: &Path, options: OpenOptions) -> PyResult<File> {
    let name = path.display().to_string();
    let found = fs::File::open(path).and_then(|file| file.metadata());
    let found = found.map_err(|error| of_system(error, &name))?;
    if found.is_dir() {
        return Err(of_system(io::Error::from_raw_os_error(EISDIR), &name));
    }
    File::open_with(path, options).map_err(raised)
}

/// The system's number for a folder where a file is wanted.
const EISDIR: i32 = 21;

/// The options of stores, of a dictionary of texts.
pub(crate) fn store_options(given: Option<&Bound<'_, PyDict>>) -> PyResult<StoreOptions> {
    let mut options = StoreOptions::new();
    for (name, value) in given.into_iter().flatten() {
        let name: String = name.extract()?;
        if name == "anonymous" {
            let wanted = value.cast::<PyBool>().map(|value| value.is_true());
            if wanted.map_err(|_| wrong_type("anonymous", "a bool", &value))? {
                options = options.anonymous();
            }
            continue;
        }
        let text = value.extract::<String>();
        let text = text.map_err(|_| wrong_type(&format!("`{name}`"), "a str", &value))?;
        options = match &*name {
            "endpoint" => options.endpoint(text),
            "region" => options.region(text),
            "authorization" => options.authorization(text),
            _ => options.with(name, text),
        };
    }
    Ok(options)
}

/// Where a writer's bytes go.
pub(crate) enum AnySink {
    Url(UrlSink),
    Object(FileObject),
}

impl AnySink {
    fn sink(&mut self) -> &mut dyn Sink {
        match self {
            Self::Url(sink) => sink,
            Self::Object(object) => object,
        }
    }
}

impl Sink for AnySink {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sink().append(bytes)
    }

    fn overwrite(&mut self, place: u64, bytes: &[u8]) -> io::Result<bool> {
        self.sink().overwrite(place, bytes)
    }

    fn commit(&mut self) -> io::Result<()> {
        self.sink().commit()
    }
}
