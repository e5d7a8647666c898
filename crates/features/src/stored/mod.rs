//! Floats in the format that they were rounded to, as columns of 16 or 8 bits per number.
//!
//! Source: "Bullion: A Column Store for Machine Learning", CIDR 2025, section 2.4.
//!
//! A writer that rounds a column of `Float32` to bfloat16 stores 16 bits per number, and a reader gives `Float32`, the
//! declared type. These functions give the stored type instead, in half or a quarter of the memory. They round nothing:
//! every number must be one that the format has, bit for bit.
//!
//! | format | name | type of the column | Arrow extension type |
//! |---|---|---|---|
//! | [`Format::F16`] | `f16` | `Float16` | none |
//! | [`Format::Bf16`] | `bf16` | `FixedSizeBinary(2)`, little-endian | `lance.bfloat16` |
//! | [`Format::E4M3`] | `e4m3` | `UInt8` | `tarsia.float8_e4m3fn` |
//! | [`Format::E5M2`] | `e5m2` | `UInt8` | `tarsia.float8_e5m2` |
//!
//! The two of 8 bits are those of the "OCP 8-bit Floating Point Specification (OFP8)", revision 1.0. Lists around the
//! floats stay, and the field inside all of them carries the extension type. The schema's metadata of a Tarsia file
//! names the format of each rounded column ([`rounded_columns`]); integers times a scale have no format here, since
//! each page has a scale of its own.
//!
//! | function | what |
//! |---|---|
//! | [`narrow`], [`narrow_field`], [`narrow_columns`] | `Float32` or `Float64` to the format |
//! | [`widen`], [`widen_field`], [`widen_columns`] | a marked column, or one of `Float16`, to `Float32` |
//! | [`rounded_columns`] | which columns of a schema were rounded to which format |
//!
//! # Nulls
//! What lies under nulls is zero in the result.

mod arrays;
mod batches;
mod fields;
mod format;

pub use arrays::{narrow, widen};
pub use batches::{narrow_columns, rounded_columns, widen_columns};
pub use fields::{narrow_field, widen_field};
pub use format::Format;
