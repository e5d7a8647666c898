//! Categories that the metadata of a file state: those that an export of Tarsia has left there.
//!
//! Other programs keep metadata of a schema and change its columns, and a column that is left out leaves its metadata
//! behind. So what is stated counts only where nobody but an exporter can have written the file, and where it has all
//! values that the file has. It is taken out of the metadata in any case: it holds values, which must not outlive the
//! rows of a column.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Schema, SchemaRef};

use crate::Note;
use crate::categories::{Categories, path_of};
use crate::merged::Merged;
use crate::nested::dictionary_fields;

/// The categories that were stated, and the schema without them.
pub(super) struct Stated {
    pub(super) schema: SchemaRef,
    /// Categories that count, by the path of their dictionary.
    pub(super) categories: HashMap<String, Categories>,
    /// Paths that several dictionaries have: names hold dots, or occur twice.
    pub(super) several: HashSet<String>,
    pub(super) notes: Vec<Note>,
}

/// Takes categories out of the metadata of a schema. `known` are the values that the file has, by path, or `None` for a
/// file whose own dictionaries say all.
pub(super) fn take(schema: &SchemaRef, known: Option<&HashMap<String, Vec<ArrayRef>>>) -> Stated {
    let mut types: HashMap<String, DataType> = HashMap::new();
    let mut several = HashSet::new();
    for field in schema.fields() {
        dictionary_fields(field, &mut |path, field| {
            if let DataType::Dictionary(_, values) = field.data_type()
                && types
                    .insert(path.to_owned(), values.as_ref().clone())
                    .is_some()
            {
                several.insert(path.to_owned());
            }
        });
    }
    let mut metadata = schema.metadata().clone();
    let mut stated = Stated {
        schema: schema.clone(),
        categories: HashMap::new(),
        several,
        notes: Vec::new(),
    };
    let mut keys: Vec<_> = schema.metadata().iter().collect();
    keys.sort_unstable();
    for (key, text) in keys {
        let Some(path) = path_of(key) else { continue };
        let parsed = Categories::parse(text).ok();
        let of_dictionary = types.get(path);
        if parsed.is_none() && of_dictionary.is_none() {
            // Somebody else's key.
            continue;
        }
        metadata.remove(key);
        let counts = |categories: &Categories| {
            of_dictionary == Some(categories.values.data_type())
                && !stated.several.contains(path)
                && known.is_some_and(|known| {
                    let parts = known.get(path).map_or(&[][..], Vec::as_slice);
                    covers(&categories.values, parts)
                })
        };
        match parsed {
            Some(categories) if counts(&categories) => {
                stated.categories.insert(path.to_owned(), categories);
            }
            _ => {
                let what = format!(
                    "the metadata key `{}` is left out: the column's own values count",
                    key.escape_debug()
                );
                stated.notes.push(Note::new(what));
            }
        }
    }
    if metadata.len() != schema.metadata().len() {
        let fields = schema.fields().clone();
        stated.schema = Arc::new(Schema::new_with_metadata(fields, metadata));
    }
    stated
}

/// Whether all of `parts` are among the values.
fn covers(values: &ArrayRef, parts: &[ArrayRef]) -> bool {
    let all = || -> Result<bool, String> {
        let mut merged = Merged::new(values)?;
        merged.places_of(values)?;
        let n = merged.len();
        for part in parts {
            merged.places_of(part)?;
        }
        Ok(merged.len() == n)
    };
    all().unwrap_or(false)
}
