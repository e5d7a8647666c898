//! Keyword arguments as options of writers.

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use tarsia::{ColumnOptions, ErasureLevel, LAYOUT_KEY, LAYOUTS, WriteOptions};
use tarsia_store::StoreOptions;

use crate::error::{Exception, raised};
use crate::handle::Handle;
use crate::options::{
    count, dict, erasure_level, flag, listed, one_of, parsed, text, threads_asked, unknown,
};
use crate::place::store_options;
use crate::process;

/// Findings of writers about the columns of their files, for files alike that are written after them.
///
/// One with the same columns is then written in a fraction of the time: encodings are not searched for, and text is
/// stored as the tokens of the file before, where these suit. So a file's bytes depend on the files before, and it may
/// hold pieces of their text of up to 16 bytes; columns of erasure level 2 take part in nothing. It can be used from
/// several threads, is of one process, and takes some KiB per column of small files.
#[pyclass(frozen, module = "tarsia._tarsia")]
pub(crate) struct WriterMemory(tarsia::WriterMemory);

#[pymethods]
impl WriterMemory {
    #[new]
    fn new() -> Self {
        Self(tarsia::WriterMemory::new())
    }

    /// Forgets all columns.
    fn clear(&self) {
        self.0.clear();
    }

    /// The number of leaf columns that it knows.
    #[getter]
    fn columns(&self) -> usize {
        self.0.columns()
    }
}

/// Options of a writer, of the store that it writes to, and layouts of columns, which their fields say.
pub(crate) struct OfWriter {
    pub(crate) options: WriteOptions,
    pub(crate) store: StoreOptions,
    layouts: HashMap<String, String>,
}

impl OfWriter {
    pub(crate) fn new(py: Python<'_>, given: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut this = Self {
            options: WriteOptions::new(),
            store: StoreOptions::new(),
            layouts: HashMap::new(),
        };
        let mut n_threads = None;
        for (name, value) in given.into_iter().flatten() {
            let name: String = name.extract()?;
            match &*name {
                _ if value.is_none() => {}
                "threads" => n_threads = Some(threads_asked(&value)?),
                _ => this.take(&name, &value)?,
            }
        }
        let threads = process::threads(py, n_threads).map_err(raised)?;
        this.options = this.options.with_threads(threads);
        Ok(this)
    }

    fn take(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let options = std::mem::take(&mut self.options);
        self.options = match name {
            "preset" => options.with_preset(parsed(name, value)?),
            "kernels" => options.with_embed_kernels(parsed(name, value)?),
            "page_bytes" => match count(name, value)? {
                0 => return Err(Exception::InvalidInput.with("page_bytes is at least 1")),
                bytes => options.with_page_bytes(bytes as u64),
            },
            "memory_bytes" => options.with_memory_budget_bytes(count(name, value)? as u64),
            "memory" => {
                let memory = value.cast::<WriterMemory>()?;
                options.with_memory(&memory.get().0)
            }
            "row_layout_bytes" => {
                let bytes = u32::try_from(count(name, value)?).unwrap_or(u32::MAX);
                options.with_full_zip_bytes_min(bytes)
            }
            "deterministic" => options.with_deterministic(flag(name, value)?),
            "zones" => options.with_zones(flag(name, value)?),
            "column_order" => options.with_column_order(listed::<String>(name, value)?),
            "erasure" => match erasure(value)? {
                Some(level) => options.with_erasure(level),
                None => options.with_strict_erasure(),
            },
            "metadata" => {
                let pairs = dict(name, value)?.iter();
                pairs
                    .into_iter()
                    .try_fold(options, |options, (key, value)| {
                        let key = text("a key of metadata", &key)?;
                        Ok::<_, PyErr>(options.with_key_value(key, text("metadata", &value)?))
                    })?
            }
            "like" => {
                let handle = value.cast::<Handle>()?;
                options.with_layout(handle.get().layout(value.py())?)
            }
            "storage_options" => {
                self.store = store_options(Some(dict(name, value)?))?;
                options
            }
            "columns" => {
                let columns = dict(name, value)?.iter();
                columns
                    .into_iter()
                    .try_fold(options, |options, (column, of)| {
                        let column = text("a column's name", &column)?;
                        let of = self.of_column(&column, dict("the options of a column", &of)?)?;
                        Ok::<_, PyErr>(options.with_column(column, of))
                    })?
            }
            _ => return Err(unknown("write", name)),
        };
        Ok(())
    }

    fn of_column(&mut self, column: &str, given: &Bound<'_, PyDict>) -> PyResult<ColumnOptions> {
        let mut options = ColumnOptions::new();
        for (name, value) in given {
            let name: String = name.extract()?;
            options = match &*name {
                "preset" => options.with_preset(parsed(&name, &value)?),
                "encode" => {
                    let outline = text(&name, &value)?.parse();
                    let outline = outline.map_err(|error: tarsia::codec::Error| {
                        let text = format!("encode of column `{column}`: {error}");
                        Exception::InvalidInput.with(text)
                    })?;
                    options.with_outline(outline)
                }
                "round" => options.with_rounding(text(&name, &value)?),
                "zones" => options.with_zones(flag(&name, &value)?),
                "bloom" => options.with_blooms(flag(&name, &value)?),
                "erasure" => match erasure(&value)? {
                    Some(level) => options.with_erasure(level),
                    None => options.with_strict_erasure(),
                },
                "layout" => {
                    let layout = one_of(&name, &value, &LAYOUTS)?;
                    self.layouts.insert(column.to_owned(), layout);
                    options
                }
                _ => return Err(unknown("the options of a column", &name)),
            };
        }
        Ok(options)
    }

    /// The schema of the file: with the layouts that were asked for. Dictionaries come back with their values in the
    /// order of the rows, so it says of none that its order means something; a warning names those that lose it.
    pub(crate) fn schema(&self, py: Python<'_>, schema: &SchemaRef) -> PyResult<SchemaRef> {
        let is_there = |name: &&String| schema.field_with_name(name).is_ok();
        if let Some(name) = self.layouts.keys().find(|name| !is_there(name)) {
            let text = format!("layout: there is no column `{name}`");
            return Err(Exception::NoSuchColumn.with(text));
        }
        let mut fields = Vec::with_capacity(schema.fields().len());
        for field in schema.fields() {
            let mut stored = field.clone();
            if is_ordered(field) {
                warn_of_order(py, field.name())?;
                stored = Arc::new(without_order(field));
            }
            if let Some(layout) = self.layouts.get(field.name()) {
                let mut metadata = stored.metadata().clone();
                metadata.insert(LAYOUT_KEY.to_owned(), layout.clone());
                stored = Arc::new(stored.as_ref().clone().with_metadata(metadata));
            }
            fields.push(stored);
        }
        let metadata = schema.metadata().clone();
        Ok(Arc::new(Schema::new_with_metadata(fields, metadata)))
    }
}

/// Whether a field, or one inside it, is a dictionary whose order means something.
fn is_ordered(field: &Field) -> bool {
    field.dict_is_ordered() == Some(true) || inner(field).any(|field| is_ordered(field))
}

/// The fields directly inside a field.
fn inner(field: &Field) -> impl Iterator<Item = &FieldRef> {
    let (one, several, tagged) = match field.data_type() {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => (Some(item), None, None),
        DataType::RunEndEncoded(_, values) => (Some(values), None, None),
        DataType::Struct(fields) => (None, Some(fields), None),
        DataType::Union(fields, _) => (None, None, Some(fields)),
        _ => (None, None, None),
    };
    let several = several.into_iter().flat_map(|fields| fields.iter());
    let tagged = tagged.into_iter().flat_map(|fields| fields.iter());
    one.into_iter()
        .chain(several)
        .chain(tagged.map(|(_, field)| field))
}

/// The field, in which no dictionary is ordered.
fn without_order(field: &Field) -> Field {
    let of = |field: &FieldRef| Arc::new(without_order(field));
    let data_type = match field.data_type() {
        DataType::List(item) => DataType::List(of(item)),
        DataType::LargeList(item) => DataType::LargeList(of(item)),
        DataType::ListView(item) => DataType::ListView(of(item)),
        DataType::LargeListView(item) => DataType::LargeListView(of(item)),
        DataType::FixedSizeList(item, length) => DataType::FixedSizeList(of(item), *length),
        DataType::Map(entries, sorted) => DataType::Map(of(entries), *sorted),
        DataType::RunEndEncoded(ends, values) => DataType::RunEndEncoded(ends.clone(), of(values)),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(of).collect()),
        DataType::Union(fields, mode) => {
            let fields = fields.iter().map(|(tag, field)| (tag, of(field)));
            DataType::Union(fields.collect(), *mode)
        }
        other => other.clone(),
    };
    let field = field.clone().with_data_type(data_type);
    match field.dict_is_ordered() {
        Some(true) => field.with_dict_is_ordered(false),
        _ => field,
    }
}

fn warn_of_order(py: Python<'_>, column: &str) -> PyResult<()> {
    let class = py.import("tarsia._errors")?.getattr("LossWarning")?;
    let text = format!("column `{column}`: the order of its dictionary is not stored");
    let text = text.replace('\0', "\\0");
    PyErr::warn(py, &class, &CString::new(text)?, 2)
}

/// An erasure level; `None` for `"strict"`.
fn erasure(value: &Bound<'_, PyAny>) -> PyResult<Option<ErasureLevel>> {
    if value.is_instance_of::<PyString>() && value.extract::<String>()? == "strict" {
        return Ok(None);
    }
    erasure_level("erasure", value).map(Some)
}
