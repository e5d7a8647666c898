//! Which id has which number.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

use arrow_array::{Array, ArrayRef};
use arrow_schema::{ArrowError, DataType};

use super::types::Integers;
use crate::error::invalid;
use crate::nested::{Nested, leaf_type};

/// Ids and their numbers, which are dense: 0 is the first id that was added, 1 the next different one.
///
/// Source: "Bullion: A Column Store for Machine Learning", CIDR 2025, section 2.4, "rehashing the input space to a
/// smaller range". We differ in: no two ids share a number, so nothing is lost.
///
/// Ids are of type `Int32`, `Int64`, `UInt32` or `UInt64`, numbers of type `UInt8`, `UInt16` or `UInt32` (the default).
/// Arrays hold values or lists of them. What nulls and null lists hide is no id: it is not added and has no number.
///
/// A column has one type, so the type of numbers is fixed with the first [`encode`](Self::encode). To have the
/// narrowest one, [`add`](Self::add) all arrays, choose, then encode them:
///
/// ```text
/// let mut map = IdMap::new(&DataType::Int64)?;
/// for batch in &batches { map.add(batch.column(0))?; }
/// map.set_number_type(&map.narrowest())?;
/// for batch in &batches { write(map.encode(batch.column(0))?); }
/// write_table_of_ids(map.ids());
/// ```
///
/// [`ids`](Self::ids) and [`from_ids`](Self::from_ids) keep a map in a table of its own. More ids may be added to it
/// later; numbers that were given stay.
///
/// # Limits
/// As many ids as the type has numbers, 2³² at most. An id takes about 40 bytes of memory. No choice of
/// ids makes look-ups slow: their hash is keyed at random, which changes no number.
#[derive(Clone)]
pub struct IdMap {
    id_type: Integers,
    number_type: Integers,
    /// By number.
    ids: Vec<u64>,
    numbers: HashMap<u64, u32>,
    /// Numbers of type `number_type` have been handed out.
    has_encoded: bool,
}

impl IdMap {
    /// A map without ids. Its numbers are `UInt32`, unless [`set_number_type`](Self::set_number_type) says otherwise.
    ///
    /// # Errors
    /// A type that ids do not have.
    pub fn new(id_type: &DataType) -> Result<Self, ArrowError> {
        Ok(Self {
            id_type: Integers::of_ids(id_type)?,
            number_type: Integers::UInt32,
            ids: Vec::new(),
            numbers: HashMap::new(),
            has_encoded: false,
        })
    }

    /// The map whose [`ids`](Self::ids) these are. Its numbers are `UInt32`, as those of a new map.
    ///
    /// # Errors
    /// A type that ids do not have, lists, a null, an id that occurs twice, more than 2³² ids.
    pub fn from_ids(ids: &dyn Array) -> Result<Self, ArrowError> {
        let mut map = Self::new(ids.data_type())?;
        if ids.null_count() > 0 {
            return Err(invalid("an id is null"));
        }
        map.ids.reserve(ids.len());
        map.numbers.reserve(ids.len());
        for (i, id) in map.id_type.of_array(ids).into_iter().enumerate() {
            let number = map.number_or_add(id)?;
            if number as usize != i {
                let id = map.id_type.shown(id);
                return Err(invalid(format!("id {id} has the numbers {number} and {i}")));
            }
        }
        Ok(map)
    }

    /// The ids by number: the first one has number 0.
    pub fn ids(&self) -> ArrayRef {
        self.id_type.array(&self.ids, None)
    }

    /// Number of ids.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// True if there are no ids.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The type of ids.
    pub fn id_type(&self) -> DataType {
        self.id_type.data_type()
    }

    /// The type of the numbers that [`encode`](Self::encode) gives.
    pub fn number_type(&self) -> DataType {
        self.number_type.data_type()
    }

    /// The narrowest type that has numbers for all ids that are in the map now.
    pub fn narrowest(&self) -> DataType {
        match self.ids.len() as u64 {
            0..=0x100 => DataType::UInt8,
            0x101..=0x1_0000 => DataType::UInt16,
            _ => DataType::UInt32,
        }
    }

    /// Sets the type of the numbers that [`encode`](Self::encode) gives, which limits how many ids there may be.
    ///
    /// # Errors
    /// A type that numbers do not have or that has not enough of them, and another type than before once numbers of
    /// that one were given: `encode` was called. Then nothing changes. A second column with numbers of another type
    /// needs another map of the same ids.
    pub fn set_number_type(&mut self, number_type: &DataType) -> Result<(), ArrowError> {
        let numbers = Integers::of_numbers(number_type)?;
        let (n_numbers, n_ids) = (numbers.n_numbers(), self.ids.len());
        if n_ids as u64 > n_numbers {
            return Err(invalid(format!(
                "{number_type} has {n_numbers} numbers, and there are {n_ids} ids"
            )));
        }
        if self.has_encoded && numbers != self.number_type {
            return Err(invalid(format!(
                "{number_type} comes too late: ids have been encoded as {}",
                self.number_type()
            )));
        }
        self.number_type = numbers;
        Ok(())
    }

    /// Gives numbers to the ids that have none, in the order of the array.
    ///
    /// # Errors
    /// An array of other leaves than ids of the map's type, more ids than there are numbers. Then no id is added.
    pub fn add(&mut self, array: &dyn Array) -> Result<(), ArrowError> {
        self.check_ids(array)?;
        let nested = Nested::open(array);
        self.replace_by_numbers(&mut self.id_type.of_array(&nested.leaf), &nested)
    }

    /// The numbers of ids, as an array with the same lists and nulls. Ids without a number get the next one, in the
    /// order of the array.
    ///
    /// # Errors
    /// As those of [`add`](Self::add).
    pub fn encode(&mut self, array: &dyn Array) -> Result<ArrayRef, ArrowError> {
        self.check_ids(array)?;
        let nested = Nested::open(array);
        let mut items = self.id_type.of_array(&nested.leaf);
        self.replace_by_numbers(&mut items, &nested)?;
        self.has_encoded = true;
        nested.close(self.number_type.array(&items, nested.leaf_nulls.clone()))
    }

    /// The ids of numbers, as an array with the same lists and nulls. Numbers of any of the three types are taken: a
    /// file may have been written with another one.
    ///
    /// # Errors
    /// An array of other leaves than numbers, a number without an id.
    pub fn decode(&self, array: &dyn Array) -> Result<ArrayRef, ArrowError> {
        let number_type = Integers::of_numbers(leaf_type(array.data_type()))?;
        let nested = Nested::open(array);
        let mut items = number_type.of_array(&nested.leaf);
        replace_visible(&mut items, &nested, |number| {
            let id = usize::try_from(number).ok().and_then(|i| self.ids.get(i));
            id.copied().ok_or_else(|| {
                let n_ids = self.ids.len();
                invalid(format!("number {number} has no id: there are {n_ids} ids"))
            })
        })?;
        nested.close(self.id_type.array(&items, nested.leaf_nulls.clone()))
    }

    fn check_ids(&self, array: &dyn Array) -> Result<(), ArrowError> {
        match leaf_type(array.data_type()) {
            leaf if *leaf == self.id_type() => Ok(()),
            leaf => Err(invalid(format!(
                "the ids are {leaf}, those of the map {}",
                self.id_type()
            ))),
        }
    }

    fn replace_by_numbers(&mut self, items: &mut [u64], nested: &Nested) -> Result<(), ArrowError> {
        let n_known = self.ids.len();
        let replaced = replace_visible(items, nested, |id| self.number_or_add(id).map(u64::from));
        if replaced.is_err() {
            for id in self.ids.drain(n_known..) {
                self.numbers.remove(&id);
            }
        }
        replaced
    }

    fn number_or_add(&mut self, id: u64) -> Result<u32, ArrowError> {
        match self.numbers.entry(id) {
            Entry::Occupied(entry) => Ok(*entry.get()),
            Entry::Vacant(entry) => {
                let n_numbers = self.number_type.n_numbers();
                let number = u32::try_from(self.ids.len()).ok();
                let number = number.filter(|number| u64::from(*number) < n_numbers);
                let number = number.ok_or_else(|| {
                    let (id, number_type) = (self.id_type.shown(id), self.number_type.data_type());
                    invalid(format!(
                        "no number is left for id {id}: {number_type} has {n_numbers}"
                    ))
                })?;
                self.ids.push(id);
                Ok(*entry.insert(number))
            }
        }
    }
}

/// Types and number of ids: a map may hold millions.
impl fmt::Debug for IdMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdMap")
            .field("id_type", &self.id_type())
            .field("number_type", &self.number_type())
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// Replaces the visible items of `nested`; the others become 0, whatever they were.
fn replace_visible(
    items: &mut [u64],
    nested: &Nested,
    mut replacement: impl FnMut(u64) -> Result<u64, ArrowError>,
) -> Result<(), ArrowError> {
    match nested.visible() {
        None => {
            for item in items {
                *item = replacement(*item)?;
            }
        }
        Some(visible) => {
            for (item, is_visible) in items.iter_mut().zip(&visible) {
                *item = if is_visible { replacement(*item)? } else { 0 };
            }
        }
    }
    Ok(())
}
