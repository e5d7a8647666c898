//! Test tools shared by the crates of Tarsia. Only tests, benchmarks and fuzz targets depend on this crate.
//!
//! | module | job |
//! |---|---|
//! | [`laws`] | what every encoding promises, checked for one tree and one set of values |
//! | [`cases`] | named value sets: edge sizes, extremes, NaN payloads, skewed strings |
//! | [`cipher`] | an encoding with shared buffers of two kinds |
//! | [`disk`] | a disk that loses power, fills up and fails |
//! | `erasure` (feature `erasure`) | what is left of a block after rows were erased |
//! | `erasure_nested` (feature `erasure`) | the same for pages with levels, and for full-zip pages |
//! | [`faults`] | readers and sinks that fail where a test wants them to |
//! | `arrays` (feature `arrow`) | Arrow arrays of every flat type, and comparison bit for bit |
//! | `batches` (feature `arrow`) | a small table of record batches, and comparison of tables |
//! | `nested` (feature `arrow`) | nested Arrow arrays, and comparison by logical value |
//! | `shapes` (feature `arrow`) | nested shapes, and what a row of them may look like, by enumeration |
//! | [`tables`] | where the real tables are; reading them needs the feature `parquet` |
//! | `seal` (feature `seal`) | checksums and digests of a mutated file made right again |
//! | [`rng`] | a small generator whose seeds give the same numbers for ever |
//! | [`tokens`] | corruption that all encodings with a dictionary of tokens refuse |
//! | [`trees`] | trees of whatever encodings a registry has, by chance and one by one |
//! | [`units`] | whole units encoded, decoded, compared with frozen bytes |
//! | [`fuzzing`] | choices read from bytes, oracles and inputs of fuzz targets |
//! | [`effort`] | how much the tests try that try everything |
//! | `bench` (feature `bench`) | what the benchmarks of encodings share |
//! | `folder` (feature `folder`) | a folder for the files of a test |
//! | [`mutate`] | random changes of bytes |
//! | [`memory`] | counts what the current thread allocates |
//!
//! Everything here panics with a message where an expectation does not hold: it is test code.
//!
//! # What this crate does not do
//! It holds no golden files and no broken files: those lie beside the tests of the crate they belong to.

#[cfg(feature = "arrow")]
pub mod arrays;
#[cfg(feature = "arrow")]
pub mod batches;
#[cfg(feature = "bench")]
pub mod bench;
pub mod cases;
pub mod cipher;
pub mod disk;
pub mod effort;
#[cfg(feature = "erasure")]
pub mod erasure;
#[cfg(feature = "erasure")]
mod erasure_block;
#[cfg(feature = "erasure")]
pub mod erasure_nested;
pub mod faults;
#[cfg(feature = "folder")]
pub mod folder;
pub mod fuzzing;
pub mod laws;
pub mod memory;
pub mod mutate;
#[cfg(feature = "arrow")]
pub mod nested;
pub mod rng;
#[cfg(feature = "seal")]
pub mod seal;
#[cfg(feature = "arrow")]
pub mod shapes;
pub mod tables;
pub mod tokens;
pub mod trees;
pub mod units;
