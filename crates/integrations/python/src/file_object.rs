//! File objects of Python as readers and sinks.
//!
//! Threads of ours call them, which must have ended that when Python ends: a thread that asks for Python's lock then is
//! stopped in the middle of its work, which no Rust program survives. So Python's end waits for such calls, and begins
//! no other.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCFunction, PyDict, PyTuple};

/// Calls of file objects that go on, of the process that counts them.
static CALLS: AtomicUsize = AtomicUsize::new(0);

/// The process, 0 before the first file object.
static PROCESS: AtomicUsize = AtomicUsize::new(0);

/// Whether Python ends.
static ENDS: AtomicBool = AtomicBool::new(false);

/// The time that Python's end waits for calls that do not return.
const PATIENCE: Duration = Duration::from_secs(5);

/// A file object of Python, such as `open(…, "rb")` or `io.BytesIO`.
pub(crate) struct FileObject(Py<PyAny>);

impl FileObject {
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let process = std::process::id() as usize;
        // A forked process has none of the threads whose calls its parent counted.
        if PROCESS.swap(process, Ordering::SeqCst) != process {
            CALLS.store(0, Ordering::SeqCst);
            let at_end = |args: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| {
                args.py().detach(wait_for_calls);
            };
            let at_end = PyCFunction::new_closure(py, None, None, at_end)?;
            py.import("atexit")?.call_method1("register", (at_end,))?;
        }
        Ok(Self(object.clone().unbind()))
    }

    /// Calls the object, unless Python ends.
    fn call<T>(&self, work: impl FnOnce(&Bound<'_, PyAny>) -> io::Result<T>) -> io::Result<T> {
        let _call = Call::begin();
        let ended = || io::Error::other("Python ends");
        if ENDS.load(Ordering::SeqCst) {
            return Err(ended());
        }
        Python::try_attach(|py| work(self.0.bind(py))).ok_or_else(ended)?
    }
}

/// A call that Python's end waits for.
struct Call;

impl Call {
    fn begin() -> Self {
        CALLS.fetch_add(1, Ordering::SeqCst);
        Self
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        CALLS.fetch_sub(1, Ordering::SeqCst);
    }
}

fn wait_for_calls() {
    ENDS.store(true, Ordering::SeqCst);
    let is_ours = PROCESS.load(Ordering::SeqCst) == std::process::id() as usize;
    let began = Instant::now();
    while is_ours && CALLS.load(Ordering::SeqCst) > 0 && began.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(1));
    }
}

impl Read for FileObject {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.call(|object| {
            let read = object.call_method1("read", (buf.len(),))?;
            let bytes = read.cast::<PyBytes>().map_err(|_| {
                io::Error::other("the file object gives no bytes: open it in binary mode")
            })?;
            let bytes = bytes.as_bytes();
            match buf.get_mut(..bytes.len()) {
                Some(part) => part.copy_from_slice(bytes),
                None => return Err(io::Error::other("the file object gives too many bytes")),
            }
            Ok(bytes.len())
        })
    }
}

impl Seek for FileObject {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.call(|object| {
            match to {
                SeekFrom::Start(place) => object.call_method1("seek", (place, 0))?,
                SeekFrom::Current(by) => object.call_method1("seek", (by, 1))?,
                SeekFrom::End(by) => object.call_method1("seek", (by, 2))?,
            };
            // Not every `seek` says where it is.
            Ok(object.call_method0("tell")?.extract::<u64>()?)
        })
    }
}

impl Write for FileObject {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.call(|object| {
            let bytes = PyBytes::new(object.py(), buf);
            let written = object.call_method1("write", (bytes,))?;
            match written.is_none() {
                true => Ok(buf.len()),
                false => Ok(written.extract::<usize>()?.min(buf.len())),
            }
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.call(|object| {
            if object.hasattr("flush")? {
                object.call_method0("flush")?;
            }
            Ok(())
        })
    }
}
