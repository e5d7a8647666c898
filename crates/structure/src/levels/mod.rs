//! The levels of nested rows: their sections in a block, and what these decode to.
//!
//! | file | what |
//! |---|---|
//! | `decode` | the levels of blocks, decoded one block after the other ([`RawLevels`]) |
//! | `run` | one level of one block |
//! | `level` | one decoded level ([`RawLevel`]) |
//! | `ranges` | which slots are wanted, level by level; [`Cut`] |
//! | `budget` | how much may be decoded ([`Budget`]) |

pub(crate) mod budget;
mod decode;
pub(crate) mod level;
pub(crate) mod ranges;
mod run;

pub use crate::sections::{LevelSection, LevelSections, Slots};
pub use budget::Budget;
pub use decode::RawLevels;
pub use level::{DecodedForm, DecodedSlots, RawLevel};
pub use ranges::Cut;
