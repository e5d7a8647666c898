//! Chooses a tree of encodings for the values of a page: a search over what the encodings propose.
//!
//! Every encoding in the registry proposes nodes for the values ([`tarsia_codec::EncodingWriter::propose`]):
//! parameters, what its children and shared buffers would hold, and bytes by an exact formula or a trial on a sample.
//! The search finds trees for children and shared buffers in the same way, adds everything up in units of time, and
//! takes the cheapest tree:
//!
//! ```text
//! cost = bytes x (picoseconds that a byte is worth) + values x (picoseconds per value) + decoded bytes x (picoseconds per byte)
//! ```
//!
//! What a byte is worth is the user's [`Objective`]; the times of decoders are in the registry, next to the encodings.
//! Nothing here names an encoding.
//!
//! The search is a branch and bound: an encoding is told how many bytes it has to beat, a child is searched for only
//! while its parent can still win, and the number of nodes looked at is bounded. All of it is a function of the values,
//! the registry and the options, so the same input gives the same bytes on every machine.
//!
//! Exact closed-form sizes decide wherever an encoding has them, not trial encodes of samples: sampling was measured to
//! lose 5 to 9 % of size on integer columns (`docs/design/choosing-trees.md`). A sample of the values of a large page
//! only says in which order encodings are asked, and which of them need not be
//! ([`Asked`](tarsia_codec::Asked)).
//!
//! # What this crate does not do
//! It encodes nothing, and it does not know what an encoding is.
#![forbid(unsafe_code)]

mod ask;
mod chance;
mod chooser;
mod encoders;
mod first_page;
mod outline;
mod scout;
mod scouted;
mod search;
mod spare;
mod weights;

pub use chooser::Chooser;
pub use outline::Outline;
pub use search::Candidate;
pub use weights::{Objective, Weights};
