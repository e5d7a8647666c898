//! Tables: what they hold after histories of all kinds, and what they refuse.

mod common;
mod copies;
mod fsck;
mod gc;
mod losses;
mod merged_schemas;
mod model;
mod protocol;
mod refused;
mod schemas;
mod tables;
mod update_by;
mod updates;
