//! Full-zip pages: wide values row by row, each of which can be read alone. Bytes: `docs/spec/page.md`, Full-zip.
//!
//! Source: the Lance paper on structural encodings, section 4 (full-zip, with its repetition index for values that
//! differ in length). Here a row has a checksum of its own, so that a row that is read alone is checked too. A row of
//! values of one length ends with its checksum and is found by multiplication. For byte strings, an index in front of
//! all rows holds the place and the checksum of each, so that the strings are one run of bytes that readers can borrow
//! as it is.
//!
//! | file | what |
//! |---|---|
//! | `form` | what rows look like ([`FullZipForm`]), as META says it |
//! | `index` | the index of a block of byte strings ([`RowIndex`]), and the front of such a block ([`IndexFront`]) |
//! | `rows` | the rows of a block ([`FullZipRows`]): checks, and what column memory gets of them |
//! | `block` | rows that were read without their block, as a [`Block`](crate::Block) |
//! | `levels` | the levels that a row's control byte says |
//!
//! The first three stand below [`block`](crate::block), the last two above it.

mod block;
pub(crate) mod form;
pub(crate) mod index;
pub(crate) mod levels;
pub(crate) mod rows;

pub use crate::layout::ROW_ENTRY_BYTES;
pub use form::{BYTES, FullZipForm, PLAIN, ROW_BYTES_MAX, ROW_CRC_BYTES};
pub use index::{INDEXED_BYTES_END, IndexFront, RowIndex, checksummed_rows};
pub use rows::FullZipRows;
