//! Zone maps: what the rows of a run of blocks, a *zone*, have in common. A reader that looks for some values passes
//! over the zones that hold none of them.
//!
//! A zone states its rows, how many are null and how many NaN, and the smallest and the largest of the other values.
//! Numbers are compared as numbers, floating-point numbers in the order of IEEE 754's `totalOrder`, byte strings byte
//! by byte. A bound is a value, or the first 32 bytes of one, and says which. No bound is ever rounded up.
//!
//! | module | what |
//! |---|---|
//! | `form` | how values of a column are compared ([`ZoneForm`]) |
//! | `zone` | what is known of a zone ([`Zone`], [`Bound`]) |
//! | `collect` | zones computed from values ([`ZoneCollector`]) |
//! | `order` | the loops that find the smallest and the largest value |
//! | `page` | which zones a page has ([`zones_of_page`]) |
//! | `map` | the zone map of a column as bytes ([`ZoneMap`]) |
//!
//! Sources: small materialized aggregates, Moerkotte (VLDB 1998), section 2; for the bytes, `docs/spec/zones.md`.
//!
//! # What this crate does not do
//! It knows no Arrow type and no condition: `tarsia-filter` proves conditions by bounds, and the facade brings both
//! together.
#![deny(unsafe_code)]

mod collect;
mod form;
mod map;
mod order;
mod page;
mod zone;

pub use collect::ZoneCollector;
pub use form::ZoneForm;
pub use map::{PageZones, ZONE_BLOCKS_LOG2_MAX, ZoneMap};
pub use page::{ZoneRoom, zones_of_page};
pub use zone::{BOUND_BYTES_MAX, Bound, Bounds, Zone};
