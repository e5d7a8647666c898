//! Full-zip pages: rows one by one, each of which can be read alone. Bytes: `docs/spec/page.md`, Full-zip; decoding:
//! [`tarsia_structure::full_zip`].
//!
//! | file | what |
//! |---|---|
//! | `page` | which pages are of this layout, and these encoded |
//! | `rows` | what each row is: null at some level, or a value |
//! | `blocks` | blocks of rows, of one length and of byte strings |
//! | `erase` | rows taken out of blocks |

pub(crate) mod blocks;
pub(crate) mod erase;
pub(crate) mod page;
mod rows;
