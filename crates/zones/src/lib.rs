//! Zone maps and bloom filters: what the rows of a run have in common, and which values they lack. A reader that looks
//! for some values passes over the runs that hold none of them.
//!
//! A *zone* is a run of blocks. It states its rows, how many are null and how many NaN, and the smallest and the
//! largest of the other values. Numbers are compared as numbers, floating-point numbers in the order of IEEE 754's
//! `totalOrder`, byte strings byte by byte. A bound is a value, or the first 32 bytes of one, and says which. No bound
//! is ever rounded up.
//!
//! A bloom filter is of a run of at most 65,536 rows. It says of a value that no row of the run has it, or nothing.
//!
//! | module | what |
//! |---|---|
//! | `form` | how values of a column are compared ([`ZoneForm`]) |
//! | `zone` | what is known of a zone ([`Zone`], [`Bound`]) |
//! | `collect` | zones computed from values ([`ZoneCollector`]); what is collected of rows ([`Collect`]) |
//! | `order` | the loops that find the smallest and the largest value |
//! | `page` | which zones a page has ([`zones_of_page`]) |
//! | `map` | the zone map of a column as bytes ([`ZoneMap`]) |
//! | `bloom` | bloom filters, computed and as bytes ([`BloomCollector`], [`BloomShape`]) |
//!
//! Sources: small materialized aggregates, Moerkotte (VLDB 1998), section 2; for the bytes, `docs/spec/zones.md` and
//! `docs/spec/blooms.md`.
//!
//! # What this crate does not do
//! It knows no Arrow type and no condition: `tarsia-filter` proves conditions by bounds, and the facade brings both
//! together.
#![deny(unsafe_code)]

mod bloom;
mod collect;
mod form;
mod map;
mod order;
mod page;
mod zone;

pub use bloom::{
    BLOOM_ROWS_MAX, BloomCollector, BloomLie, BloomRun, BloomShape, KeyHash, KeyHashes,
    bloom_bytes, bloom_runs,
};
pub use collect::{Collect, ZoneCollector};
pub use form::ZoneForm;
pub use map::{PageZones, ZONE_BLOCKS_LOG2_MAX, ZoneMap};
pub use page::{ZoneRoom, zones_of_page};
pub use zone::{BOUND_BYTES_MAX, Bound, Bounds, Zone};
