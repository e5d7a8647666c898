//! Dictionaries merged into one, whose values keep the place at which they came first.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_row::{RowConverter, SortField};

/// The values of dictionaries, each once. A null in a dictionary counts as a value.
pub(crate) struct Merged {
    /// All values so far, in parts: the values that each dictionary added.
    parts: Vec<ArrayRef>,
    converter: RowConverter,
    /// From a value, as comparable bytes, to its index.
    places: HashMap<Box<[u8]>, usize>,
    /// By index, whether a row has the value.
    used: Vec<bool>,
    /// The last dictionary and the indices of its values. Consecutive batches often share a dictionary.
    last: Option<(ArrayRef, Arc<[usize]>)>,
}

impl Merged {
    /// No values yet, of the type of these.
    ///
    /// # Errors
    /// Values of this type cannot be compared.
    pub(crate) fn new(values: &ArrayRef) -> Result<Merged, String> {
        let field = SortField::new(values.data_type().clone());
        Ok(Merged {
            parts: Vec::new(),
            converter: RowConverter::new(vec![field]).map_err(|error| error.to_string())?,
            places: HashMap::new(),
            used: Vec::new(),
            last: None,
        })
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether a dictionary is that of the last call.
    pub(crate) fn is_last(&self, values: &ArrayRef) -> bool {
        let last = self.last.as_ref();
        last.is_some_and(|(last, _)| {
            Arc::ptr_eq(last, values) || last.to_data().ptr_eq(&values.to_data())
        })
    }

    /// The index of each value of a dictionary in the merged one. Values that are not there yet are added.
    pub(crate) fn places_of(&mut self, values: &ArrayRef) -> Result<Arc<[usize]>, String> {
        if self.is_last(values)
            && let Some((_, places)) = &self.last
        {
            return Ok(Arc::clone(places));
        }
        let rows = self
            .converter
            .convert_columns(&[Arc::clone(values)])
            .map_err(|error| error.to_string())?;
        let mut places = Vec::with_capacity(values.len());
        let mut new = Vec::new();
        for (i, row) in rows.iter().enumerate() {
            let next = self.places.len();
            let place = *self.places.entry(row.as_ref().into()).or_insert_with(|| {
                new.push(i as u64);
                next
            });
            places.push(place);
        }
        if !new.is_empty() || self.parts.is_empty() {
            let indices = PrimitiveArray::<UInt64Type>::from(new);
            let part = arrow_select::take::take(values.as_ref(), &indices, None)
                .map_err(|error| error.to_string())?;
            self.parts.push(part);
        }
        self.used.resize(self.places.len(), false);
        let places: Arc<[usize]> = places.into();
        self.last = Some((Arc::clone(values), Arc::clone(&places)));
        Ok(places)
    }

    /// Adds the values of a dictionary, and marks those that a valid row has.
    pub(crate) fn see(&mut self, dictionary: &ArrayRef) -> Result<Arc<[usize]>, String> {
        let Some(of_array) = dictionary.as_any_dictionary_opt() else {
            return Err(format!("type {} is no dictionary", dictionary.data_type()));
        };
        let places = self.places_of(of_array.values())?;
        if !places.is_empty() && self.used.contains(&false) {
            let keys = of_array.normalized_keys().into_iter().enumerate();
            for (_, key) in keys.filter(|(row, _)| dictionary.is_valid(*row)) {
                self.used[places[key]] = true;
            }
        }
        Ok(places)
    }

    /// By index, whether a row has the value.
    pub(crate) fn used(&self) -> &[bool] {
        &self.used
    }

    /// All values, in one array.
    pub(crate) fn values(&self) -> Result<ArrayRef, String> {
        let parts: Vec<&dyn Array> = self.parts.iter().map(AsRef::as_ref).collect();
        arrow_select::concat::concat(&parts).map_err(|error| error.to_string())
    }
}
