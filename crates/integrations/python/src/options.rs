//! Keyword arguments, and options of readers made of them.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};
use tarsia::{Access, Checksums, ErasureLevel, Kernels, OpenOptions};
use tarsia_store::StoreOptions;

use crate::error::{Exception, raised, wrong_type};
use crate::place::store_options;
use crate::process;

/// Options of a reader, and those of the store that it reads from.
pub(crate) fn of_reader(
    py: Python<'_>,
    given: Option<&Bound<'_, PyDict>>,
) -> PyResult<(OpenOptions, StoreOptions)> {
    let mut options = OpenOptions::new();
    let mut n_threads = None;
    let mut store = StoreOptions::new();
    for (name, value) in given.into_iter().flatten() {
        let name: String = name.extract()?;
        if value.is_none() {
            continue;
        }
        options = match &*name {
            "access" => options.with_access(match &*one_of(&name, &value, &["map", "read"])? {
                "map" => Access::Map,
                _ => Access::Read,
            }),
            "checksums" => {
                let named = one_of(&name, &value, &["once", "always", "never"])?;
                options.with_checksums(match &*named {
                    "once" => Checksums::Once,
                    "always" => Checksums::Always,
                    _ => Checksums::Never,
                })
            }
            "kernels" => {
                let named = one_of(&name, &value, &["trusted", "never", "forced"])?;
                options.with_kernels(match &*named {
                    "trusted" => Kernels::Trusted,
                    "never" => Kernels::Never,
                    _ => Kernels::Forced,
                })
            }
            "trusted_kernels" => {
                let digests = listed::<String>(&name, &value)?;
                let digests = digests.iter().map(|digest| digest_of(digest));
                options.with_trusted_kernels(digests.collect::<PyResult<Vec<_>>>()?)
            }
            "views" => options.with_views(flag(&name, &value)?),
            "pool_bytes" => options.with_pool_bytes(count(&name, &value)?),
            "threads" => {
                n_threads = Some(threads_asked(&value)?);
                options
            }
            "storage_options" => {
                let given = value.cast::<PyDict>();
                let given = given.map_err(|_| wrong_type(&name, "a dict", &value))?;
                store = store_options(Some(given))?;
                options
            }
            _ => return Err(unknown("open", &name)),
        };
    }
    let threads = process::threads(py, n_threads).map_err(raised)?;
    Ok((options.with_threads(threads), store))
}

/// An erasure level, which is a number.
pub(crate) fn erasure_level(name: &str, value: &Bound<'_, PyAny>) -> PyResult<ErasureLevel> {
    match value.is_instance_of::<PyBool>() {
        true => None,
        false => value.extract::<u8>().ok(),
    }
    .and_then(|number| match number {
        0 => Some(ErasureLevel::Immutable),
        1 => Some(ErasureLevel::Hide),
        2 => Some(ErasureLevel::Erase),
        _ => None,
    })
    .ok_or_else(|| Exception::InvalidInput.with(format!("{name} is 0, 1 or 2, not {value}")))
}

/// A list of names or other values; one text alone is none.
pub(crate) fn listed<T: for<'a, 'py> FromPyObject<'a, 'py>>(
    name: &str,
    value: &Bound<'_, PyAny>,
) -> PyResult<Vec<T>> {
    let wanted = || wrong_type(name, "a list of str", value);
    if value.is_instance_of::<PyString>() {
        return Err(wanted());
    }
    let items = value.try_iter().map_err(|_| wanted())?;
    items
        .map(|item| item?.extract::<T>().map_err(|_| wanted()))
        .collect()
}

/// A value that a text names.
pub(crate) fn parsed<T: std::str::FromStr<Err = tarsia::Error>>(
    name: &str,
    value: &Bound<'_, PyAny>,
) -> PyResult<T> {
    text(name, value)?.parse().map_err(raised)
}

/// One of several names.
pub(crate) fn one_of(name: &str, value: &Bound<'_, PyAny>, names: &[&str]) -> PyResult<String> {
    let text = text(name, value)?;
    match names.contains(&&*text) {
        true => Ok(text),
        false => {
            let text = format!("{name} is one of {}, not `{text}`", names.join(", "));
            Err(Exception::InvalidInput.with(text))
        }
    }
}

/// A text.
pub(crate) fn text(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    let text = value.extract::<String>();
    text.map_err(|_| wrong_type(name, "a str", value))
}

/// A bool.
pub(crate) fn flag(name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let flag = value.extract::<bool>();
    flag.map_err(|_| wrong_type(name, "a bool", value))
}

/// A whole number that is not negative.
pub(crate) fn count(name: &str, value: &Bound<'_, PyAny>) -> PyResult<usize> {
    if value.is_instance_of::<PyBool>() {
        return Err(wrong_type(name, "an int", value));
    }
    value.extract::<usize>().map_err(|error| {
        let overflow = error.is_instance_of::<pyo3::exceptions::PyOverflowError>(value.py());
        match overflow {
            true => Exception::InvalidInput.with(format!("{name} is {value}")),
            false => wrong_type(name, "an int", value),
        }
    })
}

/// A number of threads.
pub(crate) fn threads_asked(value: &Bound<'_, PyAny>) -> PyResult<usize> {
    match count("threads", value)? {
        0 => Err(Exception::InvalidInput.with("threads is at least 1, or None")),
        // More than the system gives would be an error of the system.
        asked => Ok(asked.min(1024)),
    }
}

/// A dictionary.
pub(crate) fn dict<'a, 'py>(
    name: &str,
    value: &'a Bound<'py, PyAny>,
) -> PyResult<&'a Bound<'py, PyDict>> {
    let found = value.cast::<PyDict>();
    found.map_err(|_| wrong_type(name, "a dict", value))
}

fn digest_of(hex: &str) -> PyResult<[u8; 32]> {
    let bad = || Exception::InvalidInput.with("a digest of a kernel has 64 hexadecimal digits");
    let digits = hex.as_bytes();
    if digits.len() != 64 {
        return Err(bad());
    }
    let mut digest = [0; 32];
    for (byte, pair) in digest.iter_mut().zip(digits.chunks_exact(2)) {
        let pair = std::str::from_utf8(pair).map_err(|_| bad())?;
        *byte = u8::from_str_radix(pair, 16).map_err(|_| bad())?;
    }
    Ok(digest)
}

/// The error of a name that is no option.
pub(crate) fn unknown(of: &str, name: &str) -> PyErr {
    PyTypeError::new_err(format!("{of} has no option `{name}`"))
}
