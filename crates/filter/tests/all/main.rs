//! Tests of conditions.

mod cases;
#[cfg(feature = "sql")]
mod exprs;
mod laws;
mod proofs;
#[cfg(feature = "sql")]
mod strict;
#[cfg(feature = "sql")]
mod text;
