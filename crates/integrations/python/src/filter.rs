//! Conditions, as the Python code of the package describes them.
//!
//! | tuple | condition |
//! |---|---|
//! | `("sql", text)` | SQL text |
//! | `("and", [condition, …])`, `("or", […])`, `("not", condition)` | of others |
//! | `("compare", column, "<", literal)` | a comparison: `=`, `<>`, `<`, `<=`, `>`, `>=` |
//! | `("in", column, [literal, …])` | one of several values |
//! | `("null", column)` | a value that is missing |
//! | `("like", column, pattern)` | text like a pattern of SQL |
//!
//! A literal is None, a bool, an int, a float, a str, bytes, `("float", value)`, which keeps the sign of zero, or
//! anything with `__arrow_c_array__` or `__arrow_c_stream__` and one value.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyString, PyTuple};
use pyo3_arrow::input::AnyArray;
use tarsia_filter::{Comparison, Expr, Literal, col};

use crate::error::Exception;

/// Conditions inside of each other, at most: the readers of SQL text allow fewer.
const DEPTH_MAX: usize = 500;

/// The condition that a tuple describes.
pub(crate) fn condition(described: &Bound<'_, PyAny>) -> PyResult<Expr> {
    at_depth(described, 0)
}

/// SQL text as a condition.
pub(crate) fn of_sql(text: &str) -> PyResult<Expr> {
    let parsed = text.parse::<Expr>();
    parsed.map_err(|error| Exception::InvalidFilter.with(format!("condition: {error}")))
}

/// The SQL text of a condition, for people.
#[pyfunction]
pub(crate) fn condition_text(described: &Bound<'_, PyAny>) -> PyResult<String> {
    condition(described).map(|condition| condition.to_string())
}

fn at_depth(described: &Bound<'_, PyAny>, depth: usize) -> PyResult<Expr> {
    if depth > DEPTH_MAX {
        let text = "a filter with too many conditions inside of each other";
        return Err(Exception::InvalidFilter.with(text));
    }
    let parts = described.cast::<PyTuple>()?;
    let kind: String = parts.get_item(0)?.extract()?;
    let first = parts.get_item(1)?;
    let column = || -> PyResult<_> { Ok(col(first.extract::<String>()?)) };
    let several = || -> PyResult<Vec<Expr>> {
        let items = first.try_iter()?;
        items.map(|item| at_depth(&item?, depth + 1)).collect()
    };
    Ok(match &*kind {
        "sql" => of_sql(&first.extract::<String>()?)?,
        "and" => Expr::And(several()?),
        "or" => Expr::Or(several()?),
        "not" => at_depth(&first, depth + 1)?.not(),
        "null" => column()?.is_null(),
        "like" => column()?.like(parts.get_item(2)?.extract::<String>()?),
        "in" => {
            let items = parts.get_item(2)?;
            let literals = items.try_iter()?.map(|item| literal(&item?));
            column()?.is_in(literals.collect::<PyResult<Vec<_>>>()?)
        }
        "compare" => {
            let comparison = comparison(&parts.get_item(2)?.extract::<String>()?)?;
            column()?.compare(comparison, literal(&parts.get_item(3)?)?)
        }
        other => return Err(PyTypeError::new_err(format!("no condition `{other}`"))),
    })
}

fn comparison(symbol: &str) -> PyResult<Comparison> {
    Ok(match symbol {
        "=" => Comparison::Equal,
        "<>" => Comparison::NotEqual,
        "<" => Comparison::Less,
        "<=" => Comparison::LessOrEqual,
        ">" => Comparison::Greater,
        ">=" => Comparison::GreaterOrEqual,
        other => return Err(PyTypeError::new_err(format!("no comparison `{other}`"))),
    })
}

fn literal(value: &Bound<'_, PyAny>) -> PyResult<Literal> {
    if value.is_none() {
        return Ok(Literal::null());
    }
    // A bool is an int, too.
    if value.is_instance_of::<PyBool>() {
        return Ok(value.extract::<bool>()?.into());
    }
    if value.is_instance_of::<PyInt>() {
        let number = value.extract::<i128>();
        let number = number.map_err(|_| Exception::InvalidFilter.with("a number is too large"))?;
        return Ok(number.into());
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(value.extract::<f64>()?.into());
    }
    if value.is_instance_of::<PyString>() {
        return Ok(value.extract::<String>()?.into());
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().into());
    }
    if let Ok(parts) = value.cast::<PyTuple>() {
        let number = Float64Array::from(vec![parts.get_item(1)?.extract::<f64>()?]);
        return Ok(Literal::array(Arc::new(number)));
    }
    let chunks = value.extract::<AnyArray>()?.into_chunked_array()?;
    let (chunks, _) = chunks.into_inner();
    match <[ArrayRef; 1]>::try_from(chunks) {
        Ok([array]) => Ok(Literal::array(array)),
        Err(_) => Err(Exception::InvalidFilter.with("a literal is one value")),
    }
}
