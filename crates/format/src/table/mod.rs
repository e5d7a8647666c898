//! The parsed metadata of an open file: catalog, fields, columns and pages. It is parsed once. The layers above keep
//! with it what they make of it, such as decoders, but nothing here knows of plans or decoders.

mod catalog;
mod changes;
mod checks;
mod column;
mod description;
mod ends;
mod once_any;
mod page;
mod projection;
mod views;
mod zones;

pub(crate) use catalog::Catalog;
pub use catalog::{FileMetadata, Region};
pub(crate) use changes::{Changes, Present};
pub(crate) use checks::{check_block, check_covered, check_digest, check_listed};
pub(crate) use column::{Column, Estimates, Stored, TableField, leaf_name, leaf_names};
pub(crate) use description::Description;
pub(crate) use ends::Head;
#[cfg(test)]
pub(crate) use page::PageKind;
pub(crate) use page::{Blocks, IndexOfRows, IndexedRows, Page};
pub(crate) use projection::{Projection, full_name, list_item, n_leaves, retyped};
pub(crate) use zones::{BloomOfRun, values_of};
