//! Taking rows out of a block: what is left is encoded afresh into the block's place. See `docs/spec/erasure.md`.
//!
//! | file | what |
//! |---|---|
//! | `context` | what the blocks of a page have in common ([`BlockContext`]) |
//! | `survivors`, `decode` | the present rows of a block, decoded ([`decode_survivors`]) |
//! | `foreign` | blocks that this build does not decode, but something else does ([`is_readable`]) |
//! | `filler` | what stands under null items ([`filler_of`]) |
//! | `block` | rows encoded as one block for a place ([`encode_block`]) |
//! | `rows` | rows taken out of a block ([`erase_block`]) |
//! | `shared` | shared buffers: which entries are still in use, and the others wiped ([`mark_used`], [`wipe_unused`]) |

mod block;
mod context;
mod decode;
mod filler;
mod foreign;
mod rows;
mod shared;
pub(crate) mod survivors;

pub use block::{Outcome, encode_block};
pub use context::BlockContext;
pub use decode::decode_survivors;
pub use filler::{Filler, are_equal, filler_of};
pub use foreign::is_readable;
pub use rows::{BlockErasure, erase_block, erase_block_with};
pub use shared::{mark_used, used_entries, wipe_unused};
pub use survivors::Survivors;
