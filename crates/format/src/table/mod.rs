//! What an open file holds: its catalog, fields, columns and pages. Pure data, parsed once, with slots in which the
//! layers above keep what they made of it. Nothing here knows of plans or decoders.

mod catalog;
mod checks;
mod column;
mod metas;
mod page;
mod projection;
mod views;

pub(crate) use catalog::Catalog;
pub use catalog::{FileMetadata, Region};
pub(crate) use checks::{check_block, check_covered};
pub(crate) use column::{Column, Estimates, Stored, TableField};
pub(crate) use metas::Metas;
pub(crate) use page::{Blocks, IndexOfRows, Page};
pub(crate) use projection::{Projection, n_leaves, retyped};
