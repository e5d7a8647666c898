//! Dual columns: floats as two halves, of which the first alone is a rounded float.
//!
//! Source: "Bullion: A Column Store for Machine Learning", CIDR 2025, section 2.4, "dual-column storage strategy". We
//! differ in: the first half is a bfloat16 instead of an FP16 value, which has the range of a float32, and the pair
//! has exactly the bits of the float.
//!
//! An array of `Float32` becomes a struct of two fields of `UInt16`, named `high` and `low`; an array of `Float64` one
//! of two fields of `UInt32`. Lists around the floats are around both halves: `FixedSizeList<Float32, 768>` becomes
//! `Struct{high: FixedSizeList<UInt16, 768>, low: FixedSizeList<UInt16, 768>}`. A columnar file stores each field as a
//! column of its own, so a read of `high` alone reads half of the bytes.
//!
//! | function | what |
//! |---|---|
//! | [`split`], [`split_columns`] | floats to the halves |
//! | [`join`], [`join_columns`] | the halves to the floats, bit for bit |
//! | [`widen_high`], [`widen_columns`] | `high` alone to rounded floats |
//! | [`dual_field`], [`whole_field`], [`is_dual`] | the fields of schemas; [`EXTENSION_NAME`] marks dual ones |
//!
//! # The halves
//! `low` is the lower half of the float's bits. `high` is the upper half `upper` of the float's bits, rounded to
//! nearest: one is added where the top bit of `low` is set. For `Float32`, that is the nearest bfloat16; ties are
//! rounded away from zero. For `Float64`, it is the nearest of the floats with 20 bits after the point. Rounding halves
//! the largest error of cutting `low` off (2⁻⁸ instead of 2⁻⁷ of a `Float32`, relative), and does not shrink values on
//! average.
//!
//! Without its sign bit, `upper` becomes `high` like this. `inf` is the upper half of infinity: 0x7F80 or 0x7FF0_0000.
//! The sign bit is copied.
//!
//! | `low` | `upper` | `high` |
//! |---|---|---|
//! | 0 | any | `upper` |
//! | top bit clear, not 0 | `inf` | `inf + 1` |
//! | | `inf + 1` | `inf` |
//! | | other | `upper` |
//! | top bit set | 0 ..= `inf` | `upper + 1` |
//! | | `inf + 1` | 0 |
//! | | other | `upper` |
//!
//! Each row can be undone, since `low` is known. What `high` alone says of special values:
//!
//! - Infinity is infinity. Finite values that are not nearer to the largest finite value of `high` than to 2¹²⁸ (2¹⁰²⁴
//!   for `Float64`) look like infinity, as in any rounding to bfloat16: the largest `Float32` is one of them.
//! - Zero keeps its sign.
//! - NaN is NaN, with one exception for each sign: a signalling NaN whose upper half is `inf + 1`, such as 0x7F81_0001,
//!   looks like infinity or, where the top bit of `low` is set, like zero. Some NaN must: there are 2²³ - 1 of each
//!   sign, and only 127 · 2¹⁶ pairs whose `high` is NaN. No arithmetic makes these, and neither R's NA nor NaN of other
//!   small payloads is among them.
//!
//! # Nulls
//! [`split`] gives the struct and both of its fields the nulls of the array, so each is right without the others.
//! Nulls inside lists are in both halves. [`join`] makes null what is null in the struct or in either half. Bits under
//! nulls are split like others, not cleared.
//!
//! # Limits
//! Arrays take as much memory as before; reads of `high` alone take half of it.

mod arrays;
mod batches;
mod fields;
mod halves;

pub use arrays::{join, split, widen_high};
pub use batches::{join_columns, split_columns, widen_columns};
pub use fields::{EXTENSION_NAME, dual_field, is_dual, whole_field};
