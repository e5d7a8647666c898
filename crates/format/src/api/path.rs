//! Paths to single elements of nested rows: which columns a path leads to, and what of their lists is decoded.

use std::str::FromStr;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, GenericListArray, OffsetSizeTrait, RecordBatch,
    UInt64Array,
};
use arrow_schema::{DataType, Field, Fields, Schema};
use tarsia_arrow::reorder;
use tarsia_structure::Cut;

use crate::error::{Error, ErrorKind, Result};
use crate::exec::batch;
use crate::table::{list_item, n_leaves, retyped};

/// A path into a nested row: a column's name, then fields of structs and items of lists.
///
/// `frames[3]` is the fourth item of the list `frames`, `frames[2..5]` the list of three, `user.ids[0]` the first item
/// of the field `ids` of the struct `user`, `matrix[1][2]` an item of an item. A map is a list of entries, whose fields
/// have the names of the map's type, such as `key` and `value`: `tags[0].value`. The field of a list, or of a range of
/// it, is a list of this field of each item: `tags.key`, `events[2..5].time`. Names end at `.` and `[`; items count
/// from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElementPath {
    text: String,
    column: String,
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Field(String),
    Item(u32),
    Items(u32, u32),
}

impl ElementPath {
    /// The name of the top-level field.
    pub(crate) fn column(&self) -> &str {
        &self.column
    }
}

impl FromStr for ElementPath {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = |what: &str| {
            let what = format!("`{}` is no path into a row: {what}", text.escape_debug());
            Error::new(ErrorKind::InvalidInput, what)
        };
        let name_end = |rest: &str| rest.find(['.', '[']).unwrap_or(rest.len());
        let (column, mut rest) = text.split_at(name_end(text));
        let mut steps = Vec::new();
        while !rest.is_empty() {
            if let Some(field) = rest.strip_prefix('.') {
                let (name, after) = field.split_at(name_end(field));
                steps.push(Step::Field(name.to_owned()));
                rest = after;
                continue;
            }
            let inside = rest
                .strip_prefix('[')
                .ok_or_else(|| bad("`.` or `[` after `]`"))?;
            let (inside, after) = inside
                .split_once(']')
                .ok_or_else(|| bad("`[` without `]`"))?;
            let number = |text: &str| {
                let parsed = text.trim().parse::<u32>();
                parsed.map_err(|_| bad("items are numbers from 0 to 4,294,967,295"))
            };
            if let Some(Step::Items(..)) = steps.last() {
                return Err(bad("`[` after a range of items"));
            }
            steps.push(match inside.split_once("..") {
                None => Step::Item(number(inside)?),
                Some((start, end)) => match (number(start)?, number(end)?) {
                    (start, end) if start <= end => Step::Items(start, end),
                    _ => return Err(bad("items from a number to a smaller one")),
                },
            });
            rest = after;
        }
        match column.is_empty() {
            true => Err(bad("no column's name")),
            false => Ok(Self {
                text: text.to_owned(),
                column: column.to_owned(),
                steps,
            }),
        }
    }
}

/// The part of a field that is decoded.
pub(crate) struct Pruned {
    /// The type with only the fields on the way, and fixed-size lists cut.
    pub(crate) data_type: DataType,
    /// Its leaf columns among those of the whole field.
    pub(crate) first_leaf: usize,
    pub(crate) n_leaves: usize,
    pub(crate) cuts: Vec<(usize, Cut)>,
    /// The first wanted item of each list on the way, from the outermost one inwards.
    pub(crate) starts: Vec<u32>,
}

impl ElementPath {
    /// The column does not have what the path names.
    pub(crate) fn missing(&self, what: impl std::fmt::Display) -> Error {
        self.refused(ErrorKind::NoSuchColumn, what)
    }

    pub(crate) fn refused(&self, kind: ErrorKind, what: impl std::fmt::Display) -> Error {
        Error::new(kind, format!("`{}`: {what}", self.text.escape_debug()))
    }

    /// A column named like the path.
    pub(crate) fn batch(&self, element: ArrayRef, rows: usize) -> Result<RecordBatch> {
        let named = Field::new(&self.text, element.data_type().clone(), true);
        batch(&Arc::new(Schema::new(vec![named])), vec![element], rows)
    }

    /// Returns the part of a column of this type that the path leads to.
    pub(crate) fn pruned(&self, data_type: &DataType) -> Result<Pruned> {
        self.prune(data_type, &self.steps, 0)
    }

    fn prune(&self, data_type: &DataType, steps: &[Step], level: usize) -> Result<Pruned> {
        let Some((step, below)) = steps.split_first() else {
            return Ok(Pruned {
                data_type: data_type.clone(),
                first_leaf: 0,
                n_leaves: n_leaves(data_type),
                cuts: Vec::new(),
                starts: Vec::new(),
            });
        };
        let (cut, below) = match step {
            Step::Field(name) => match data_type {
                DataType::Struct(fields) => return self.prune_struct(fields, name, below, level),
                // The field of each item.
                other if list_item(other).is_some() => (None, steps),
                other => return Err(self.missing(format!("{other} has no field `{name}`"))),
            },
            Step::Item(item) => (
                Some(Cut {
                    start: *item,
                    end: item.saturating_add(1),
                }),
                below,
            ),
            Step::Items(start, end) => (
                Some(Cut {
                    start: *start,
                    end: *end,
                }),
                below,
            ),
        };
        let item =
            list_item(data_type).ok_or_else(|| self.missing(format!("{data_type} is no list")))?;
        let mut pruned = self.prune(item.data_type(), below, level + 2)?;
        pruned.cuts.extend(cut.map(|cut| (level + 1, cut)));
        pruned.starts.insert(0, cut.map_or(0, |cut| cut.start));
        let item = retyped(item, pruned.data_type);
        pruned.data_type = match data_type {
            // With all of its entries, each of them whole.
            DataType::Map(_, sorted) if matches!(step, Step::Items(..)) && below.is_empty() => {
                DataType::Map(item, *sorted)
            }
            DataType::LargeList(_) | DataType::LargeListView(_) => DataType::LargeList(item),
            DataType::FixedSizeList(_, length) => {
                let whole = u32::try_from(*length).unwrap_or(0);
                let length = cut.map_or(whole, |cut| cut.length_of(whole));
                // At most what it was.
                DataType::FixedSizeList(item, length as i32)
            }
            _ => DataType::List(item),
        };
        Ok(pruned)
    }

    /// As [`Self::prune`], of the struct's field of this name.
    fn prune_struct(
        &self,
        fields: &Fields,
        name: &str,
        below: &[Step],
        level: usize,
    ) -> Result<Pruned> {
        let mut first_leaf = 0;
        for field in fields {
            if field.name() == name {
                let pruned = self.prune(field.data_type(), below, level + 1)?;
                let of = Fields::from(vec![retyped(field, pruned.data_type)]);
                return Ok(Pruned {
                    data_type: DataType::Struct(of),
                    first_leaf: first_leaf + pruned.first_leaf,
                    ..pruned
                });
            }
            first_leaf += n_leaves(field.data_type());
        }
        Err(self.missing(format!("no field `{name}`")))
    }

    /// The element of each row, of arrays that were decoded by [`Pruned`].
    pub(crate) fn element_of(&self, array: ArrayRef) -> Result<ArrayRef> {
        self.element(array, &self.steps)
    }

    fn element(&self, array: ArrayRef, steps: &[Step]) -> Result<ArrayRef> {
        let Some((step, below)) = steps.split_first() else {
            return Ok(array);
        };
        let picked = |array: &ArrayRef, places: &dyn Fn(usize) -> Option<usize>, rows: usize| {
            let places = (0..rows).map(|row| places(row).map(|place| place as u64));
            let places: UInt64Array = places.collect();
            reorder(array.as_ref(), &places)
                .map_err(|error| Error::new(ErrorKind::LimitExceeded, error.to_string()))
        };
        let rows = array.len();
        match (step, array.data_type()) {
            (Step::Field(_), DataType::Struct(_)) => {
                let parent = array.as_struct();
                let child = parent.column(0);
                let child = match parent.null_count() {
                    0 => child.clone(),
                    _ => picked(child, &|row| parent.is_valid(row).then_some(row), rows)?,
                };
                self.element(child, below)
            }
            (Step::Field(_), DataType::List(_)) => self.of_each::<i32>(&array, steps),
            (Step::Field(_), DataType::LargeList(_)) => self.of_each::<i64>(&array, steps),
            (Step::Field(_), _) => {
                let list = array.as_fixed_size_list();
                let items = self.element(list.values().clone(), steps)?;
                let item = Arc::new(Field::new_list_field(items.data_type().clone(), true));
                let (length, nulls) = (list.value_length(), list.nulls().cloned());
                let made =
                    FixedSizeListArray::try_new_with_length(item, length, items, nulls, rows);
                Ok(Arc::new(made?))
            }
            (Step::Items(..), _) => self.element(array, below),
            (Step::Item(_), DataType::List(_)) => {
                let list = array.as_list::<i32>();
                let ends = list.value_offsets();
                let first = |row: usize| {
                    let there = list.is_valid(row) && ends[row] < ends[row + 1];
                    there.then(|| ends[row] as usize)
                };
                self.element(picked(list.values(), &first, rows)?, below)
            }
            (Step::Item(_), DataType::LargeList(_)) => {
                let list = array.as_list::<i64>();
                let ends = list.value_offsets();
                let first = |row: usize| {
                    let there = list.is_valid(row) && ends[row] < ends[row + 1];
                    there.then(|| ends[row] as usize)
                };
                self.element(picked(list.values(), &first, rows)?, below)
            }
            (Step::Item(_), _) => {
                let list = array.as_fixed_size_list();
                let first = |row: usize| {
                    let there = list.is_valid(row) && list.value_length() > 0;
                    there.then_some(row)
                };
                self.element(picked(list.values(), &first, rows)?, below)
            }
        }
    }

    /// Lists of what `steps` lead to from each item.
    fn of_each<O: OffsetSizeTrait>(&self, array: &ArrayRef, steps: &[Step]) -> Result<ArrayRef> {
        let list = array.as_list::<O>();
        let items = self.element(list.values().clone(), steps)?;
        let item = Arc::new(Field::new_list_field(items.data_type().clone(), true));
        let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
        let made = GenericListArray::try_new(item, offsets, items, nulls);
        Ok(Arc::new(made?))
    }
}
