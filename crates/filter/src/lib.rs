//! Conditions on the rows of Arrow tables, such as `user_id = 42 OR name LIKE 'a%'`.
//!
//! ```
//! use std::sync::Arc;
//! use arrow_array::{ArrayRef, Int32Array, RecordBatch};
//! use tarsia_filter::col;
//!
//! let ages: ArrayRef = Arc::new(Int32Array::from(vec![Some(3), None, Some(70)]));
//! let batch = RecordBatch::try_from_iter([("age", ages)])?;
//! let filter = col("age").gt(3.5).or(col("age").is_null()).bind(&batch.schema())?;
//! let rows: Vec<usize> = filter.matches(&batch)?.set_indices().collect();
//! assert_eq!(rows, [1, 2]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | job |
//! |---|---|
//! | `expr`, `literal`, `display` | conditions as data ([`Expr`], [`Literal`]), and as text |
//! | `sql` | text to conditions (feature `sql`) |
//! | `resolve`, `place`, `number` | names to columns; literals to values of a column's type, or between two |
//! | `bind` | conditions on a schema: [`Expr::bind`], [`Expr::bind_strict`] |
//! | `to_array` | literals as arrays of one value |
//! | `filter`, `truth` | which rows of a batch pass ([`Filter`]), with three values |
//! | `asked` | what decoders can answer ([`ColumnTest`]) |
//! | `test`, `range`, `set`, `like` | tests of one flat array |
//! | `prove` | what follows for runs of rows from their smallest and largest value, and from what they lack ([`Proof`]) |
//!
//! # Meaning
//! A condition is true, false or unknown for a row. Comparisons, `IN` and `LIKE` are unknown for null; `AND`, `OR` and
//! `NOT` are those of SQL; a row passes if the whole condition is true.
//!
//! [`Expr::bind`] compares as query engines and `arrow-ord` do: floating-point numbers in the order `totalOrder` of
//! IEEE 754, so NaN equals itself and is above all other numbers, and `-0.0` is below `0.0`. A number is compared with
//! integers and decimals exactly, whether or not the type holds it: `uint8 < 300` is true, `uint8 = 3.5` is false. For
//! floating-point columns it stands for the nearest value of the type (for Float16, that of the nearest Float64).
//!
//! [`Expr::bind_strict`] is for conditions that choose what is destroyed. A literal must be a value of its column's
//! type (`3.5` and `300` are errors for UInt8, since no row equals them); the low end of a range must not lie above
//! its high end; both zeros are equal; and comparisons are unknown for NaN, as for null.
//!
//! # What this crate does not do
//! It compares no column with another, knows no functions and no arithmetic, looks into no lists and maps, and reads
//! no files.
#![forbid(unsafe_code)]

mod asked;
mod bind;
mod display;
mod error;
mod expr;
mod filter;
mod like;
mod literal;
mod number;
mod place;
mod prove;
mod range;
mod resolve;
mod set;
#[cfg(feature = "sql")]
mod sql;
mod test;
mod to_array;
mod truth;

pub use error::FilterError;
pub use expr::{Column, Comparison, Expr, col};
pub use filter::{ColumnPlace, ColumnTest, Conjunct, Filter};
pub use literal::Literal;
pub use prove::{ColumnBounds, KeyRuns, Keys, Proof};
