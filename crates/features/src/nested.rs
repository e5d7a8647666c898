//! Lists around one leaf: opened to the leaf's items, and closed around other items of the same number.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, FixedSizeListArray, GenericListArray, OffsetSizeTrait};
use arrow_buffer::{ArrowNativeType, BooleanBufferBuilder, NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, Field, FieldRef};

use crate::error::invalid;

/// The type inside all lists.
pub(crate) fn leaf_type(data_type: &DataType) -> &DataType {
    let mut leaf = data_type;
    while let DataType::List(field)
    | DataType::LargeList(field)
    | DataType::FixedSizeList(field, _) = leaf
    {
        leaf = field.data_type();
    }
    leaf
}

/// Returns the type of the same lists around another leaf. Names, nullability and metadata of their fields stay.
pub(crate) fn with_leaf(data_type: &DataType, leaf: &DataType) -> DataType {
    let around = |field: &FieldRef| with_data_type(field, with_leaf(field.data_type(), leaf));
    match data_type {
        DataType::List(field) => DataType::List(around(field)),
        DataType::LargeList(field) => DataType::LargeList(around(field)),
        DataType::FixedSizeList(field, size) => DataType::FixedSizeList(around(field), *size),
        _ => leaf.clone(),
    }
}

fn with_data_type(field: &FieldRef, data_type: DataType) -> FieldRef {
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

/// An array as its levels of lists, outermost first, and the items inside all of them.
pub(crate) struct Nested {
    levels: Vec<Level>,
    pub(crate) leaf: ArrayRef,
    /// Nulls of the leaf, and those that are added to them.
    pub(crate) leaf_nulls: Option<NullBuffer>,
}

struct Level {
    /// Field of the items.
    field: FieldRef,
    shape: Shape,
    nulls: Option<NullBuffer>,
}

/// Where the items of each list are. The first list begins at item 0, the last one ends with the last item.
enum Shape {
    Offsets(OffsetBuffer<i32>),
    LargeOffsets(OffsetBuffer<i64>),
    Fixed { size: i32, n_lists: usize },
}

impl Nested {
    /// Items before, between and behind the rows of a slice are left out, unless they belong to null lists.
    pub(crate) fn open(array: &dyn Array) -> Self {
        let mut levels = Vec::new();
        let mut leaf = array.slice(0, array.len());
        loop {
            let (field, shape, items) = match leaf.data_type() {
                DataType::List(field) => {
                    let (offsets, items) = parts_of_lists(leaf.as_list::<i32>());
                    (field.clone(), Shape::Offsets(offsets), items)
                }
                DataType::LargeList(field) => {
                    let (offsets, items) = parts_of_lists(leaf.as_list::<i64>());
                    (field.clone(), Shape::LargeOffsets(offsets), items)
                }
                DataType::FixedSizeList(field, size) => {
                    let (size, n_lists) = (*size, leaf.len());
                    let items = leaf.as_fixed_size_list().values().clone();
                    (field.clone(), Shape::Fixed { size, n_lists }, items)
                }
                _ => {
                    let leaf_nulls = leaf.nulls().cloned();
                    return Self {
                        levels,
                        leaf,
                        leaf_nulls,
                    };
                }
            };
            levels.push(Level {
                field,
                shape,
                nulls: leaf.nulls().cloned(),
            });
            leaf = items;
        }
    }

    /// Puts the same lists around `leaf`, which has as many items as the leaf that was opened.
    pub(crate) fn close(&self, leaf: ArrayRef) -> Result<ArrayRef, ArrowError> {
        let around = |items: ArrayRef, level: &Level| level.around(items);
        self.levels.iter().rev().try_fold(leaf, around)
    }

    /// Changes the field of the leaf's items, where there are lists: its metadata, since `close` sets the type.
    pub(crate) fn map_items_field(
        &mut self,
        map: impl Fn(&Field) -> Result<Field, ArrowError>,
    ) -> Result<(), ArrowError> {
        if let Some(level) = self.levels.last_mut() {
            level.field = Arc::new(map(&level.field)?);
        }
        Ok(())
    }

    /// Which items are neither null nor inside of a null list; `None` if all are.
    ///
    /// What other items hold is arbitrary: nobody sees it.
    pub(crate) fn visible(&self) -> Option<NullBuffer> {
        let mut visible: Option<NullBuffer> = None;
        for level in &self.levels {
            let lists = NullBuffer::union(visible.as_ref(), level.nulls.as_ref());
            visible = lists
                .filter(|lists| lists.null_count() > 0)
                .map(|lists| level.shape.items_of(&lists));
        }
        NullBuffer::union(visible.as_ref(), self.leaf_nulls.as_ref())
    }

    /// Makes rows of the array null: one bit for each.
    pub(crate) fn add_nulls(&mut self, nulls: Option<&NullBuffer>) {
        let rows = match self.levels.first_mut() {
            Some(level) => &mut level.nulls,
            None => &mut self.leaf_nulls,
        };
        *rows = NullBuffer::union(rows.as_ref(), nulls);
    }

    /// Makes null what is null in `other`, an array of the same type: lists and items.
    ///
    /// # Errors
    /// Lists of other lengths, those of null lists included.
    pub(crate) fn unite_nulls(&mut self, other: &Self) -> Result<(), ArrowError> {
        for (depth, (level, other)) in self.levels.iter_mut().zip(&other.levels).enumerate() {
            if let Some(difference) = level.shape.difference(&other.shape) {
                return Err(invalid(format!(
                    "the halves have different lists at depth {depth}: {difference}"
                )));
            }
            level.nulls = NullBuffer::union(level.nulls.as_ref(), other.nulls.as_ref());
        }
        self.leaf_nulls = NullBuffer::union(self.leaf_nulls.as_ref(), other.leaf_nulls.as_ref());
        Ok(())
    }
}

impl Level {
    fn around(&self, items: ArrayRef) -> Result<ArrayRef, ArrowError> {
        let field = with_data_type(&self.field, items.data_type().clone());
        let nulls = self.nulls.clone();
        Ok(match &self.shape {
            Shape::Offsets(offsets) => Arc::new(GenericListArray::try_new(
                field,
                offsets.clone(),
                items,
                nulls,
            )?),
            Shape::LargeOffsets(offsets) => Arc::new(GenericListArray::try_new(
                field,
                offsets.clone(),
                items,
                nulls,
            )?),
            Shape::Fixed { size, n_lists } => Arc::new(FixedSizeListArray::try_new_with_length(
                field, *size, items, nulls, *n_lists,
            )?),
        })
    }
}

impl Shape {
    /// The items of valid lists, as valid ones.
    fn items_of(&self, lists: &NullBuffer) -> NullBuffer {
        match self {
            Self::Offsets(offsets) => items_of(offsets, lists),
            Self::LargeOffsets(offsets) => items_of(offsets, lists),
            Self::Fixed { size, .. } => lists.expand(size.as_usize()),
        }
    }

    /// The first list that has another length in `other`; `None` if all lists are as long. Both are of one type.
    fn difference(&self, other: &Self) -> Option<String> {
        match (self, other) {
            (Self::Offsets(a), Self::Offsets(b)) => difference(a, b),
            (Self::LargeOffsets(a), Self::LargeOffsets(b)) => difference(a, b),
            // A struct has fields of one length, and lists that are equal so far have items of one length.
            _ => None,
        }
    }
}

/// Offsets from 0 on, and the items that they point to.
fn parts_of_lists<O: OffsetSizeTrait>(list: &GenericListArray<O>) -> (OffsetBuffer<O>, ArrayRef) {
    let (offsets, items) = (list.offsets(), list.values());
    let first = offsets.first().copied().unwrap_or_default();
    let last = offsets.last().copied().unwrap_or_default();
    if first == O::default() && last.as_usize() == items.len() {
        return (offsets.clone(), items.clone());
    }
    let items = items.slice(first.as_usize(), (last - first).as_usize());
    let from_zero = offsets.iter().map(|offset| *offset - first).collect();
    (OffsetBuffer::new(from_zero), items)
}

fn items_of<O: OffsetSizeTrait>(offsets: &OffsetBuffer<O>, lists: &NullBuffer) -> NullBuffer {
    let n_items = offsets.last().copied().unwrap_or_default().as_usize();
    let mut items = BooleanBufferBuilder::new(n_items);
    for (len, is_valid) in offsets.lengths().zip(lists) {
        items.append_n(len, is_valid);
    }
    NullBuffer::new(items.finish())
}

fn difference<O: OffsetSizeTrait>(a: &OffsetBuffer<O>, b: &OffsetBuffer<O>) -> Option<String> {
    if a == b {
        return None;
    }
    let mut lens = a.lengths().zip(b.lengths()).enumerate();
    let (list, (a, b)) = lens.find(|(_, (a, b))| a != b)?;
    Some(format!(
        "list {list} has {a} items in `high`, {b} items in `low`"
    ))
}
