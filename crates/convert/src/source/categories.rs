//! Dictionaries of a source: what they say beside the values of its rows.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, new_empty_array};
use arrow_schema::DataType;

use crate::categories::{BYTES_MAX, Categories, VALUES_MAX, key_of};
use crate::merged::Merged;
use crate::nested::{dictionary_fields, has_dictionary, with_dictionaries};
use crate::source::stated::Stated;
use crate::{Error, Note};

/// The dictionaries of all columns, by their paths.
pub(super) struct Tracker {
    dictionaries: BTreeMap<String, Tracked>,
}

struct Tracked {
    /// The column that has it, or has it inside.
    column: String,
    ordered: bool,
    merged: Option<Merged>,
    /// Values that are known before the rows, as the pages of Parquet have them.
    are_known: bool,
    state: State,
}

#[derive(PartialEq)]
enum State {
    Fine,
    /// Two dictionaries have the same values in another order.
    Contradicts,
    /// A dictionary has a value twice, so that its values have no order.
    Repeats,
    /// Too many values to keep.
    Beyond,
    /// Another field has the same path: names hold dots, or occur twice.
    SharesItsPath,
}

/// Metadata that are known when all rows were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LateMetadata {
    /// The column that they belong to.
    pub column: String,
    /// Their key in the metadata of the schema.
    pub key: String,
    /// Their value: it has values of the column, also such that no row has.
    pub value: String,
}

impl Tracker {
    /// A tracker of the dictionaries of a schema. `known` are values that are known before, by path; stated categories
    /// count instead of them.
    pub(super) fn new(of_file: &Stated, known: &HashMap<String, Vec<ArrayRef>>) -> Tracker {
        let mut dictionaries = BTreeMap::new();
        for column in of_file
            .schema
            .fields()
            .iter()
            .filter(|f| has_dictionary(f.data_type()))
        {
            dictionary_fields(column, &mut |path, field| {
                let stated = of_file.categories.get(path);
                let mut tracked = Tracked {
                    column: column.name().clone(),
                    ordered: field.dict_is_ordered() == Some(true)
                        || stated.is_some_and(|stated| stated.ordered),
                    merged: None,
                    are_known: known.contains_key(path) || stated.is_some(),
                    state: match of_file.several.contains(path) {
                        true => State::SharesItsPath,
                        false => State::Fine,
                    },
                };
                // The order of a dictionary is known also where no batch has it.
                if let (true, DataType::Dictionary(_, values)) =
                    (tracked.ordered, field.data_type())
                {
                    tracked.add(&new_empty_array(values));
                }
                match stated {
                    Some(stated) => tracked.add(&stated.values),
                    None => {
                        let values = known.get(path).into_iter().flatten();
                        values.for_each(|values| tracked.add(values));
                    }
                }
                dictionaries.insert(path.to_owned(), tracked);
            });
        }
        Tracker { dictionaries }
    }

    /// Looks at the dictionaries of a batch.
    pub(super) fn see(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        if self.dictionaries.is_empty() {
            return Ok(());
        }
        for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            let mut see = |path: &str, array: &ArrayRef| -> Result<ArrayRef, Error> {
                if let Some(tracked) = self.dictionaries.get_mut(path) {
                    tracked.see(array);
                }
                Ok(Arc::clone(array))
            };
            with_dictionaries(array, field.name(), &mut see)?;
        }
        Ok(())
    }

    /// Returns what rows do not say: all values in their order of dictionaries that are ordered, or have values without
    /// rows.
    pub(super) fn late_metadata(&self) -> Result<Vec<LateMetadata>, Error> {
        let mut late = Vec::new();
        for (path, tracked) in &self.dictionaries {
            let in_column = |what: String| Error::new(what).in_column(path);
            let Some(merged) = tracked.kept() else {
                continue;
            };
            let values = merged.values().map_err(in_column)?;
            if values.get_array_memory_size() > BYTES_MAX {
                continue;
            }
            let ordered = tracked.ordered;
            let value = Categories { values, ordered }
                .to_text()
                .map_err(in_column)?;
            late.push(LateMetadata {
                column: tracked.column.clone(),
                key: key_of(path),
                value,
            });
        }
        Ok(late)
    }

    pub(super) fn notes(&self) -> Vec<Note> {
        let mut notes = Vec::new();
        for (path, tracked) in &self.dictionaries {
            let is_large = || {
                let merged = tracked.kept();
                let values = merged.and_then(|merged| merged.values().ok());
                values.is_some_and(|values| values.get_array_memory_size() > BYTES_MAX)
            };
            let what = match (&tracked.state, tracked.ordered) {
                (State::Contradicts, true) => {
                    "the order of the dictionary is left out, since its parts have other orders"
                }
                (State::Repeats, true) => {
                    "the order of the dictionary is left out, since it has a value twice"
                }
                (State::SharesItsPath, _) => {
                    "the order of the dictionary, and values that no row has, are left out, since several fields have \
                     this path"
                }
                (State::Beyond, true) => {
                    "the order of the dictionary is left out, since it has too many values"
                }
                (State::Fine, true) if is_large() => {
                    "the order of the dictionary is left out, since its values are too large"
                }
                (State::Fine, false) if is_large() => {
                    "values of the dictionary that no row has are left out, since they are too large"
                }
                _ => continue,
            };
            notes.push(Note::on_column(path, what));
        }
        notes
    }
}

impl Tracked {
    /// The values that are kept, if any.
    fn kept(&self) -> Option<&Merged> {
        let merged = self.merged.as_ref()?;
        let wanted = self.ordered || merged.used().contains(&false);
        (self.state == State::Fine && wanted).then_some(merged)
    }

    /// Values in an order, whatever rows have them.
    fn add(&mut self, values: &ArrayRef) {
        if self.state != State::Fine {
            return;
        }
        if self.merged.is_none() {
            self.merged = Merged::new(values).ok();
        }
        let Some(merged) = &mut self.merged else {
            return;
        };
        if merged.is_last(values) {
            return;
        }
        if merged.len().saturating_add(values.len()) > 2 * VALUES_MAX {
            self.state = State::Beyond;
            return;
        }
        match merged.places_of(values) {
            Ok(places) => {
                let rising = places.windows(2).all(|pair| pair[0] < pair[1]);
                if self.ordered && !rising {
                    let distinct: HashSet<_> = places.iter().collect();
                    self.state = match distinct.len() == places.len() {
                        true => State::Contradicts,
                        false => State::Repeats,
                    };
                }
            }
            Err(_) => self.state = State::Beyond,
        }
        if merged.len() > VALUES_MAX {
            self.state = State::Beyond;
        }
    }

    fn see(&mut self, array: &ArrayRef) {
        let values = array.as_any_dictionary().values();
        // Readers of pages may number values anew.
        if !self.are_known {
            self.add(values);
        }
        if self.state == State::Fine
            && let Some(merged) = &mut self.merged
            && merged.see(array).is_err()
        {
            self.state = State::Beyond;
        }
    }
}
