//! The tests of this crate, linked as one program.

mod any_table;
mod by_chance;
mod by_column;
mod captured;
mod common;
mod corrupt;
mod dictionaries;
mod element;
mod erasure;
mod erasure_dictionaries;
#[cfg(feature = "kernels")]
mod erasure_journals;
mod erasure_kernels;
mod erasure_places;
mod erasure_readers;
mod exhaustive;
mod faults;
mod features;
mod files_alike;
mod filter;
mod first_page;
mod golden;
#[cfg(feature = "kernels")]
mod kernels;
#[cfg(feature = "kernels")]
mod kernels_nested;
mod lies;
mod long_rows;
mod long_strings;
mod nested;
mod options;
mod packed;
mod placement;
mod projection;
mod promise;
mod read_ahead;
mod reads;
mod real_tables;
mod reorder;
mod round_trip;
mod rounding;
mod search_cache;
mod selection;
mod shared;
mod size;
mod skewed;
mod sparse;
mod strict;
mod threads;
mod versions;
mod views;
mod waves;
mod windows;
mod writer;
mod writer_memory;
mod zones;
