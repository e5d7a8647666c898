//! Objects of tables, written and read back, whole and damaged.

mod commits;
mod spec;
