//! Tables: what they hold after histories of all kinds, and what they refuse.

mod common;
mod fsck;
mod model;
mod protocol;
mod refused;
mod schemas;
mod tables;
mod updates;
