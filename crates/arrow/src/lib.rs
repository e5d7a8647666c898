//! Arrow arrays to the levels and values of leaf columns, and decoded columns to Arrow arrays.
//!
//! A column's *leaf type* is what its pages hold: the Arrow type of the values with dictionaries resolved. A dictionary
//! column is stored by logical value and comes back as a dictionary (its keys may be numbered differently), a run-end
//! array as one with its runs merged. A nested field has several leaf columns, each with the levels above it
//! ([`leaf_paths`]).
//!
//! | module | for | what |
//! |---|---|---|
//! | `types`, `path` | both | how a type is stored ([`value_type`]), and the leaf columns of a field ([`leaf_paths`]) |
//! | `shred` | writing | nested arrays to the levels and items of one leaf column |
//! | `extent`, `fit` | writing | how many rows fit, before they are copied ([`Fit`]) |
//! | `collect` | writing | a leaf column collected from arrays ([`LeafBuffer`]) |
//! | `rows_held` | writing | the rows that a writer holds of a leaf column, most of which may be null ([`RowsHeld`]) |
//! | `pool`, `buffers` | reading | memory that is reused ([`Pool`]), and the parts of a column ([`ColumnBuffers`]) |
//! | `views`, `borrowed` | reading | byte strings that are not copied: views of blocks in memory ([`BorrowedStrings`]) |
//! | `kernels`, `plain` | reading | arrays of flat types |
//! | `row_bytes`, `reorder` | reading | rows as comparable bytes; rows in another order ([`reorder`]) |
//! | `dictionary`, `runs` | reading | dictionaries and run-end arrays of logical values |
//! | `flat` | reading | the array of a flat column ([`array_from_raw`]) |
//! | `assemble` | reading | the array of a nested field ([`assemble()`]) |
//! | `decimals` | both | numbers that the precision of their type cannot hold ([`beyond_precision`]) |
//! | `packed` | both | structs as values of one flat column ([`Packing`]) |
//! | [`timestamp`] | texts | dates and timestamps as text, for imports and for conditions on rows |
//!
//! # What this crate does not do
//! It neither cuts nor encodes pages (`tarsia-page-writer`), decodes no blocks (`tarsia-structure`), and reads and
//! writes no files.
#![deny(unsafe_code)]

mod assemble;
mod borrowed;
mod buffers;
mod collect;
mod decimals;
mod dictionary;
mod extent;
mod fit;
mod flat;
mod kernels;
mod packed;
mod path;
mod plain;
mod pool;
mod reorder;
mod row_bytes;
mod rows_held;
mod runs;
mod select;
mod shred;
pub mod timestamp;
mod types;

pub use assemble::{BorrowedItems, LeafParts, assemble};
pub use borrowed::{BorrowedStrings, ViewBuffer};
pub use buffers::{ColumnBuffers, borrowed_buffer};
pub use collect::LeafBuffer;
pub use decimals::{BeyondPrecision, beyond_precision, is_decimal, leaf_beyond_precision};
pub use dictionary::{array_of_entries, dictionary_entries_max};
pub use fit::Fit;
pub use flat::{ArrayParts, array_from_buffers, array_from_raw, array_of_borrowed, array_of_views};
pub use packed::Packing;
pub use path::{LeafPath, leaf_paths};
pub use pool::Pool;
pub use reorder::reorder;
pub use rows_held::RowsHeld;
pub use select::{select, values_of};
pub use types::{logical_type, value_type};
