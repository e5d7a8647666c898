//! Dictionaries as pages have them: in their order, also with values that no row has. The reader of the `parquet` crate
//! numbers values anew where a batch has rows of two row groups.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray};
use arrow_schema::{DataType, Field, FieldRef, SchemaRef};
use parquet::basic::{Encoding, Type as Physical};
use parquet::column::page::Page;
use parquet::file::reader::RowGroupReader;

use super::columns::Columns;
use crate::Error;
use crate::nested::has_dictionary;

/// The values of the dictionaries of texts, by the path of the field; those of one row group after those of another.
pub(super) fn categories(
    of_file: &Columns<'_>,
    schema: &SchemaRef,
) -> Result<HashMap<String, Vec<ArrayRef>>, Error> {
    let mut leaves = Vec::new();
    schema
        .fields()
        .iter()
        .for_each(|field| leaves_of(field, field.name(), &mut leaves));
    let mut found = HashMap::new();
    if !leaves
        .iter()
        .any(|(_, data_type)| has_dictionary(data_type))
    {
        return Ok(found);
    }
    let metadata = of_file.metadata();
    let columns = metadata.file_metadata().schema_descr().columns();
    if columns.len() != leaves.len() {
        return Ok(found);
    }
    for (i, (path, data_type)) in leaves.iter().enumerate() {
        let DataType::Dictionary(_, values) = data_type else {
            continue;
        };
        if columns[i].physical_type() != Physical::BYTE_ARRAY {
            continue;
        }
        let mut of_groups = Vec::new();
        for group in 0..metadata.num_row_groups() {
            let bad = |error: parquet::errors::ParquetError| {
                Error::new(format!("row group {group}: {error}")).in_column(path)
            };
            let group = of_file.row_group(group).map_err(bad)?;
            let mut pages = group.get_column_page_reader(i).map_err(bad)?;
            let Some(Page::DictionaryPage {
                buf,
                num_values,
                encoding,
                ..
            }) = pages.get_next_page().map_err(bad)?
            else {
                continue;
            };
            if matches!(encoding, Encoding::PLAIN | Encoding::PLAIN_DICTIONARY)
                && let Some(texts) = plain(&buf, num_values)
                && let Ok(texts) = arrow_cast::cast(&texts, values)
            {
                of_groups.push(texts);
            }
        }
        if !of_groups.is_empty() {
            found.insert(path.clone(), of_groups);
        }
    }
    Ok(found)
}

/// The leaves of a field in the order of Parquet's columns, by their paths.
fn leaves_of(field: &FieldRef, path: &str, leaves: &mut Vec<(String, DataType)>) {
    let inside = |inner: &Field| format!("{path}.{}", inner.name());
    match field.data_type() {
        DataType::Struct(fields) => {
            fields
                .iter()
                .for_each(|field| leaves_of(field, &inside(field), leaves));
        }
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => leaves_of(item, &inside(item), leaves),
        leaf => leaves.push((path.to_owned(), leaf.clone())),
    }
}

/// Texts with their lengths before them; `None` where the bytes are no such texts.
fn plain(mut bytes: &[u8], n: u32) -> Option<ArrayRef> {
    let mut texts = Vec::new();
    for _ in 0..n {
        let (length, rest) = bytes.split_first_chunk()?;
        let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        texts.push(text);
        bytes = rest;
    }
    Some(Arc::new(BinaryArray::from_iter_values(texts)))
}
