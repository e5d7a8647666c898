//! One encoding of Tarsia without the file format: slices, strings and Arrow arrays to one byte buffer and back.
//!
//! The caller names the encodings ([`registry`]) and the tree ([`Tree`](tarsia_codec::Tree)): `bitpack`, or
//! `dict(codes: bitpack)`. [`encode`], [`encode_slice`], [`encode_strings`], [`encode_bits`] and [`encode_array`] write
//! one buffer with all that a decoder needs. [`Encoded::open`] checks such a buffer and decodes all values, a range,
//! selected values or a single one.
//!
//! ```
//! use tarsia_plain::PLAIN;
//! use tarsia_standalone::{Encoded, Selection, encode_slice, registry};
//!
//! let registry = registry(&[&PLAIN]);
//! let bytes = encode_slice(&registry, &tarsia_plain::tree(), &[1.5f32, -2.0, 7.25])?;
//!
//! let mut encoded = Encoded::open(&registry, &bytes)?;
//! assert_eq!(encoded.to_vec::<f32>(Selection::All)?, [1.5, -2.0, 7.25]);
//! assert_eq!(encoded.to_vec::<f32>(Selection::Indices(&[0, 2]))?, [1.5, 7.25]);
//! assert_eq!(encoded.value::<f32>(1)?, -2.0);
//! # Ok::<(), tarsia_standalone::Error>(())
//! ```
//!
//! # Layout (little-endian)
//! | bytes | field | rule |
//! |---|---|---|
//! | 4 | `magic` | `TSA` and the version of this layout, 1 |
//! | 4 | `n_shared` | number of shared buffers, 0 ..= [`limits::SHARED_BUFFERS_MAX`](tarsia_codec::limits::SHARED_BUFFERS_MAX) |
//! | 16 | `head` | of the array, see below; `shared_kind` is 0 |
//! | | `tree` | as [`Tree`](tarsia_codec::Tree) says |
//! | | `shared` | `n_shared` times a `head` and the values |
//! | the rest | `unit` | the values as one unit of the tree |
//!
//! | bytes of a `head` | field | rule |
//! |---|---|---|
//! | 1 | `values` | 0 bits, 1 fixed width, 2 byte strings |
//! | 1 | `shared_kind` | [`SharedKind::code`](tarsia_codec::SharedKind::code) |
//! | 2 | reserved | zero |
//! | 4 | `width` | bytes of a value of fixed width, else zero |
//! | 4 | `n_values` | 0 ..= [`limits::UNIT_VALUES_MAX`](tarsia_codec::limits::UNIT_VALUES_MAX) |
//! | 4 | `data_bytes` | bytes of all byte strings together, else zero |
//!
//! The values of a shared buffer are not encoded: `ceil(n_values / 8)` bytes of bits, `n_values * width` bytes of
//! fixed-width values, or for byte strings `n_values` ends of 4 bytes and `data_bytes` bytes.
//!
//! # Limits
//! An array has at most 2^31 values, and byte strings at most 2^31 bytes. [`Encoded::open`] refuses a buffer that
//! claims to decode to more than [`DECODED_BYTES_MAX`]; [`Encoded::open_with_limit`] takes another limit. Decoding
//! allocates a small multiple of that limit at most, whatever the bytes are.
//!
//! # Features
//! `arrow` (on by default): [`encode_array`] and [`Encoded::array`]. Without it the crate is `no_std`.
//!
//! # What this crate does not do
//! Nulls: encodings hold none, so an array with nulls is refused. Encode its validity as a `BooleanArray` of its own.
//! Checksums, blocks, columns, the choice of a tree, a promise that later versions read the buffer: that is what the
//! file format, the crate `tarsia`, is for.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

#[cfg(feature = "arrow")]
mod arrow;
mod decode;
mod encode;
mod layout;
mod number;

#[cfg(feature = "arrow")]
pub use arrow::encode_array;
/// The version of Arrow that [`encode_array`] takes and [`Encoded::array`] returns.
#[cfg(feature = "arrow")]
pub use arrow_array;
/// The version of Arrow's data types that [`Encoded::array`] takes.
#[cfg(feature = "arrow")]
pub use arrow_schema;
pub use decode::{DECODED_BYTES_MAX, Encoded, Strings};
pub use encode::{encode, encode_bits, encode_slice, encode_strings, registry};
pub use number::Number;
pub use tarsia_codec::{Error, ErrorKind, Result, Selection};
