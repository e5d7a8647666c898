//! From the bytes of a column's blocks to decoded rows: by this build's decoders or by a kernel, copied or zero-copy.
//! Nothing here reads. Before a plan is decoded its pages have to be prepared, which is when shared pages and kernels
//! are read (`exec::prepare`).

mod checks;
mod column_read;
mod decoder;
mod elements;
mod entries;
mod flat;
mod holds;
#[cfg(feature = "kernels")]
mod kernel;
mod memory;
mod nested;
mod parts;
mod shared;
mod sizes;
mod zero_copy;

pub(crate) use column_read::{ColumnRead, Decoding, decoder_of, values_of};
pub use decoder::DecoderCounts;
pub(crate) use decoder::{Decoder, DecoderCache};
pub(crate) use elements::{BlockBytes, Front, Partial};
pub(crate) use flat::Decoded;
#[cfg(feature = "kernels")]
pub(crate) use kernel::{check as check_kernel, load as load_kernel};
pub(crate) use memory::Memory;
pub(crate) use nested::ItemsBelow;
pub(crate) use shared::{SharedRead, decode_shared};
