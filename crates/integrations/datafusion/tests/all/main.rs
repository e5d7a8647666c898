//! Tests of the format in the engine.

mod copying;
mod data;
mod files;
mod oracle;
mod plans;
mod tables;
mod tpch;
