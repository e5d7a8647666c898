//! Where a column's pages are: the column record, and the FlatBuffer of columns that need more.

mod column_meta;
mod description;
pub(crate) mod page;
mod record;

pub use column_meta::ColumnMeta;
pub use description::{MetaRef, PageDescription, PageMeta};
pub use page::{FileBounds, PageDescriptor, page_align};
pub use record::{ColumnRecord, ColumnSource, ErasureLevel, RegionPlace};
