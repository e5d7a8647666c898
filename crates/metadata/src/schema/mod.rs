//! The Arrow schema as records, in pre-order: the root, then each field with its descendants directly behind it.
//!
//! The columns are the *leaves*, numbered in pre-order; [`crate::n_leaves`] says which nodes have one. The format
//! strings are in [`crate::format_string`].

mod in_field;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use read::{FieldColumns, TableSchema, read_field, read_schema};
pub use write::{EncodedSchema, check_schema, write_schema};
