//! How many columns store a field.

use arrow_schema::{DataType, Field};

use crate::limits::SCHEMA_DEPTH_MAX;
use crate::reserved::is_packed;
use crate::types::{NodeType, children};

/// Number of columns that store a field of this type.
///
/// In pre-order: one for a flat type or a dictionary of one, for a struct or union without children, and for the type
/// ids of a union, before those of its children; else those of the children. Dictionaries of nested types have the
/// columns of their values, run-end encoded types those of the values alone, fixed-size lists those of their items.
///
/// A top-level field that [is packed](is_packed) has one. The result saturates, and is the largest number for types
/// nested deeper than [`SCHEMA_DEPTH_MAX`], which no file holds.
///
/// ```
/// use arrow_schema::{DataType, Field};
/// let pair = [("a", DataType::Int8), ("b", DataType::Utf8)].map(|(name, of)| Field::new(name, of, true));
/// let field = Field::new("s", DataType::Struct(pair.into_iter().collect()), true);
/// assert_eq!(tarsia_metadata::n_leaves(&field), 2);
/// let packed = (tarsia_metadata::LAYOUT_KEY.to_owned(), tarsia_metadata::LAYOUT_PACKED.to_owned());
/// assert_eq!(tarsia_metadata::n_leaves(&field.with_metadata([packed].into())), 1);
/// ```
pub fn n_leaves(field: &Field) -> u32 {
    match is_packed(field) {
        true => 1,
        false => n_leaves_of(field.data_type()),
    }
}

/// As [`n_leaves`], of a type that is not a packed field's.
pub(crate) fn n_leaves_of(data_type: &DataType) -> u32 {
    n_leaves_within(data_type, SCHEMA_DEPTH_MAX)
}

fn n_leaves_within(data_type: &DataType, depth: usize) -> u32 {
    let Some(depth) = depth.checked_sub(1) else {
        return u32::MAX;
    };
    let node = NodeType::of(data_type);
    let children = children(data_type);
    let own = u32::from(node.has_column(children.len()));
    let below = children.iter().enumerate();
    below
        .filter(|(i, _)| !node.is_run_ends(*i))
        .fold(own, |sum, (_, child)| {
            sum.saturating_add(n_leaves_within(child.data_type(), depth))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::made_up::{dictionary, item, nested};

    #[test]
    fn dictionaries_have_the_columns_of_their_values() {
        for (data_type, _, leaves) in nested() {
            assert_eq!(n_leaves_of(&data_type), leaves, "{data_type}");
            let outer = dictionary(data_type);
            assert_eq!(n_leaves_of(&outer), leaves, "{outer}");
        }
    }

    #[test]
    fn leaves_of_what_is_too_deep_saturate() {
        let mut deep = DataType::Int8;
        for _ in 1..SCHEMA_DEPTH_MAX {
            deep = DataType::List(item(deep));
        }
        assert_eq!(n_leaves_of(&deep), 1);
        assert_eq!(n_leaves_of(&DataType::List(item(deep))), u32::MAX);
    }
}
