//! Runs reads on one thread or several: completes plans, prepares pages, decodes columns, and makes arrays and batches
//! of them.

mod batch;
mod batch_size;
mod blooms;
mod budget;
mod cancel;
mod collect;
mod costs;
mod elements;
mod fields;
mod filter;
mod job;
mod metadata;
mod narrow;
mod open_file;
mod pick;
mod prepare;
mod read_ahead;
mod read_zones;
mod schedule;
mod scratch;
mod window;
mod zones;

pub(crate) use batch::{batch, too_many_values};
pub(crate) use batch_size::batch_rows_of;
pub(crate) use budget::{batch_budget, rows_budget};
pub(crate) use cancel::Cancel;
pub(crate) use collect::{collect, collect_nested, collect_rows};
pub(crate) use elements::{decode_elements, fetch_elements};
pub(crate) use fields::{FieldsRead, decode_flat, decode_leaf};
pub use filter::ConjunctCounts;
pub(crate) use filter::RowFilter;
pub(crate) use narrow::narrow;
pub(crate) use open_file::{Known, OpenFile};
pub(crate) use prepare::{
    Wanted, blocks_of, foreign_decoder, plan_all, plan_and_fetch, plan_rows, prefetch_tables,
    prepare_shared,
};
pub(crate) use read_zones::read_zones;
pub use schedule::ROW_NUMBER;
pub(crate) use schedule::{Schedule, Wish};
pub(crate) use zones::extremes_by_zones;
