//! Nested Arrow arrays, and comparison by logical value.
//!
//! What Arrow leaves undefined is filled on purpose: null lists have items, children of null structs have values,
//! offsets begin behind items that nobody names, views overlap and come in no order. A format must not depend on any of
//! it.

mod compare;
mod make;
mod types;

pub use compare::{
    assert_logically_equal, batch_logical_difference, logical_difference, picked_logical_difference,
};
pub use make::{nested_array, sliced_nested};
pub use types::{
    LENGTHS, Lengths, NestedProfile, is_uninhabited, nested_profiles, nested_types, random_type,
};
