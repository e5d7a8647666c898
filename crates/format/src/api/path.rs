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
use crate::table::{TableField, list_item, n_leaves, retyped};

/// A path into a nested row: a column's name, then fields of structs and items of lists.
///
/// `frames[3]` is the fourth item of the list `frames`, `frames[2..5]` the list of three, `user.ids[0]` the first item
/// of the field `ids` of the struct `user`, `matrix[1][2]` an item of an item. A map is a list of entries, whose fields
/// have the names of the map's type, such as `key` and `value`: `tags[0].value`. The field of a list, or of a range of
/// it, is a list of this field of each item: `tags.key`, `events[2..5].time`. Items count from 0.
///
/// As in projections, a name may contain dots, and a column of the whole name comes before a field of a struct:
/// `a.b[0]` is an item of the column `a.b`, if there is one. A name in double quotes is taken as it stands:
/// `"a"."b"[0]`, `"x[1]"[0]`; a double quote inside is doubled. Without them names end at `.` and `[`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElementPath {
    text: String,
    /// Begin with a name.
    steps: Vec<Step>,
}

/// A part of a path, or of what it leads through.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// A name, or a part of a name that has dots.
    Name(String),
    /// A whole name.
    Field(String),
    Item(u32),
    Items(u32, u32),
}

impl FromStr for ElementPath {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = |what: &str| {
            let what = format!("`{}` is no path into a row: {what}", text.escape_debug());
            Error::new(ErrorKind::InvalidInput, what)
        };
        if text.is_empty() || text.starts_with(['.', '[']) {
            return Err(bad("no column's name"));
        }
        let (name, mut rest) = split_name(text).map_err(&bad)?;
        let mut steps = vec![name];
        while !rest.is_empty() {
            if let Some(field) = rest.strip_prefix('.') {
                let (name, after) = split_name(field).map_err(&bad)?;
                steps.push(name);
                rest = after;
                continue;
            }
            let inside = rest
                .strip_prefix('[')
                .ok_or_else(|| bad("`.` or `[` after `]` and after a name in quotes"))?;
            let (inside, after) = inside
                .split_once(']')
                .ok_or_else(|| bad("`[` without `]`"))?;
            if let Some(Step::Items(..)) = steps.last() {
                return Err(bad("`[` after a range of items"));
            }
            steps.push(items(inside).map_err(&bad)?);
            rest = after;
        }
        let text = text.to_owned();
        Ok(Self { text, steps })
    }
}

/// The name that a text begins with, and what follows it.
fn split_name(text: &str) -> std::result::Result<(Step, &str), &'static str> {
    let Some(mut rest) = text.strip_prefix('"') else {
        let (name, rest) = text.split_at(text.find(['.', '[']).unwrap_or(text.len()));
        return Ok((Step::Name(name.to_owned()), rest));
    };
    let mut name = String::new();
    loop {
        let (inside, after) = rest.split_once('"').ok_or("a quote that does not end")?;
        name.push_str(inside);
        match after.strip_prefix('"') {
            Some(after) => {
                name.push('"');
                rest = after;
            }
            None => return Ok((Step::Field(name), after)),
        }
    }
}

/// Reads the text between brackets.
fn items(inside: &str) -> std::result::Result<Step, &'static str> {
    let number = |text: &str| {
        let parsed = text.trim().parse::<u32>();
        parsed.map_err(|_| "items are numbers from 0 to 4,294,967,295")
    };
    match inside.split_once("..") {
        None => Ok(Step::Item(number(inside)?)),
        Some((start, end)) => match (number(start)?, number(end)?) {
            (start, end) if start <= end => Ok(Step::Items(start, end)),
            _ => Err("items from a number to a smaller one"),
        },
    }
}

/// The names that steps may begin with, and the steps behind each: a whole name, or ever more parts joined by dots.
fn names(steps: &[Step]) -> Vec<(String, &[Step])> {
    let mut found: Vec<(String, &[Step])> = Vec::new();
    let mut rest = steps;
    while let Some((step, below)) = rest.split_first() {
        let name = match (step, found.last()) {
            (Step::Name(name) | Step::Field(name), None) => name.clone(),
            (Step::Name(name), Some((before, _))) => format!("{before}.{name}"),
            _ => break,
        };
        found.push((name, below));
        if let Step::Field(_) = step {
            break;
        }
        rest = below;
    }
    found
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
    /// The steps that lead from the field to the part, with whole names.
    steps: Vec<Step>,
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

    /// Finds the column that the path begins with, and the part of it that the path leads to. Columns are looked up by
    /// name: first by all names that the path begins with, then by ever more of them, as a projection does.
    ///
    /// # Errors
    /// [`ErrorKind::NoSuchColumn`] if there is none.
    pub(crate) fn found(
        &self,
        field: impl Fn(&str) -> Result<Arc<TableField>>,
    ) -> Result<(Arc<TableField>, Pruned)> {
        let mut names = names(&self.steps);
        let n_names = names.len();
        names.rotate_right(n_names.min(1));
        let (mut missing, mut refused) = (None, None);
        for (name, below) in names {
            match field(&name) {
                Ok(field) => match self.prune(field.field.data_type(), below, 0) {
                    Ok(pruned) => return Ok((field, pruned)),
                    Err(error) => refused = refused.or(Some(error)),
                },
                Err(error) if error.is_of_several_columns() => return Err(error),
                Err(error) if error.kind() == ErrorKind::NoSuchColumn => missing = Some(error),
                Err(error) => return Err(error),
            }
        }
        let error = refused.or(missing);
        Err(error.unwrap_or_else(|| self.missing("no column's name")))
    }

    fn prune(&self, data_type: &DataType, steps: &[Step], level: usize) -> Result<Pruned> {
        let Some((step, below)) = steps.split_first() else {
            return Ok(Pruned {
                data_type: data_type.clone(),
                first_leaf: 0,
                n_leaves: n_leaves(data_type),
                cuts: Vec::new(),
                starts: Vec::new(),
                steps: Vec::new(),
            });
        };
        let (cut, below) = match step {
            Step::Name(name) | Step::Field(name) => match data_type {
                DataType::Struct(fields) => return self.prune_struct(fields, steps, level),
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
        if cut.is_some() {
            pruned.steps.insert(0, step.clone());
        }
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

    /// As [`Self::prune`], of the first of a struct's fields that the names lead to.
    fn prune_struct(&self, fields: &Fields, steps: &[Step], level: usize) -> Result<Pruned> {
        let names = names(steps);
        let mut first_leaf = 0;
        let mut refused = None;
        for field in fields {
            let below = names.iter().find(|(name, _)| name == field.name());
            match below.map(|(_, below)| self.prune(field.data_type(), below, level + 1)) {
                Some(Ok(mut pruned)) => {
                    pruned.steps.insert(0, Step::Field(field.name().clone()));
                    let of = Fields::from(vec![retyped(field, pruned.data_type)]);
                    return Ok(Pruned {
                        data_type: DataType::Struct(of),
                        first_leaf: first_leaf + pruned.first_leaf,
                        ..pruned
                    });
                }
                Some(Err(error)) => refused = refused.or(Some(error)),
                None => {}
            }
            first_leaf += n_leaves(field.data_type());
        }
        let missing = || match steps.first() {
            Some(Step::Name(name) | Step::Field(name)) => {
                self.missing(format!("no field `{name}`"))
            }
            _ => self.missing("no field"),
        };
        Err(refused.unwrap_or_else(missing))
    }

    /// The element of each row, of arrays that were decoded by [`Pruned`].
    pub(crate) fn element_of(&self, array: ArrayRef, pruned: &Pruned) -> Result<ArrayRef> {
        self.element(array, &pruned.steps)
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
            (Step::Name(_) | Step::Field(_), DataType::Struct(_)) => {
                let parent = array.as_struct();
                let child = parent.column(0);
                let child = match parent.null_count() {
                    0 => child.clone(),
                    _ => picked(child, &|row| parent.is_valid(row).then_some(row), rows)?,
                };
                self.element(child, below)
            }
            (Step::Name(_) | Step::Field(_), DataType::List(_)) => {
                self.of_each::<i32>(&array, steps)
            }
            (Step::Name(_) | Step::Field(_), DataType::LargeList(_)) => {
                self.of_each::<i64>(&array, steps)
            }
            (Step::Name(_) | Step::Field(_), _) => {
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
