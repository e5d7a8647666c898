//! The toolbox: what encodings are written with. Nothing of it is part of the contract.
//!
//! | module | for |
//! |---|---|
//! | `bits_out` | bits of an output ([`BitsOut`]) |
//! | `bytes` | fields of untrusted bytes, parts with their length ([`ByteReader`], [`append_sized`]) |
//! | `select` | children as an array, selections for layouts that have none of their own ([`decode_by_gather`]) |
//! | `numbers` | children whose values are lengths or codes ([`NumbersUnit`]) |
//! | `exceptions` | values that are stored apart, with their positions ([`Exceptions`]) |
//! | `holds` | for which values a predicate holds ([`Holds`]) |
//! | `needle` | comparing a byte string with the pieces that encoded values consist of ([`Needle`]) |
//! | `views` | Arrow views of byte strings ([`write_views`]) |
//! | `runs` | runs of equal values ([`run_starts`], [`is_constant`]) |
//! | `samples` | samples, lengths of strings ([`sample_of`], [`lengths_of`]) |
//! | `distinct` | distinct values and their codes ([`Distinct`]) |
//! | `tokens` | strings as tokens of a dictionary ([`strings_worth_tokens`], [`FirstPageSizes`]) |

mod bits_out;
mod bytes;
mod distinct;
mod exceptions;
#[cfg(not(feature = "kernel"))]
mod holds;
#[cfg(not(feature = "kernel"))]
mod needle;
mod numbers;
mod runs;
mod samples;
mod select;
mod tokens;
#[cfg(not(feature = "kernel"))]
mod views;

pub use bits_out::BitsOut;
pub use bytes::{ByteReader, append_sized, check_zero};
pub use distinct::{Distinct, are_codes_of, find_codes, narrow_numbers};
pub use exceptions::{ExceptionFields, Exceptions, Positions, position_bytes, write_exceptions};
#[cfg(not(feature = "kernel"))]
pub use holds::{Holds, test_values};
#[cfg(not(feature = "kernel"))]
pub use needle::{Begin, Codes, Needle, Piece};
pub use numbers::{Numbers, NumbersUnit, ends_from_lengths};
pub use runs::{is_constant, run_starts};
pub use samples::{lengths_of, sample_of};
pub use select::{children_of, decode_bits, decode_by_gather};
pub use tokens::{FirstPageSizes, codes_between, strings_worth_tokens};
#[cfg(not(feature = "kernel"))]
pub use views::{VIEW_BYTES, VIEW_INLINE_BYTES, view_in, view_of, write_views};
