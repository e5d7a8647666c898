//! Fuzz targets of Tarsia.
//!
//! A target is a plain function of bytes that panics where it finds something. So the same bodies run under libFuzzer
//! (glue in `fuzz/fuzz_targets/`) and, with seeded inputs, on a stable toolchain ([`smoke`]).
//!
//! | module | what its targets try |
//! |---|---|
//! | [`encodings`] | the table's encodings, whatever they are: decoders with any trees, parameters and bytes; encoders with any values |
//! | [`bits`] | the loops: every level of the CPU against the portable one and a naive model |
//! | [`nested`] | blocks of nested pages: levels of any shape, written, changed and made up; and the inside of a kernel over them |
//! | [`metadata`] | each parser of metadata, past its checksum |
//! | [`file`](mod@file) | whole files: any bytes, changed and resealed files, tables written and read |
//! | [`table`] | objects of tables: commits, schemas, manifests, ref entries, keys |
//! | [`filter`] | conditions on rows as text: read, written, bound and evaluated |
//! | [`smoke`] | not a target: all of them in turn, within a time |
//!
//! [`TARGETS`] is the one list; [`CANARY`] has a planted panic, and a run that does not find it is worth nothing.
//! Generators and oracles are in `tarsia_testkit::fuzzing`.
//!
//! # What this crate does not do
//! It compares with no other implementation, and keeps no corpus: a find becomes a test of the crate it was found in.
#![forbid(unsafe_code)]

pub mod bits;
pub mod encodings;
pub mod file;
pub mod filter;
pub mod metadata;
pub mod nested;
mod run;
pub mod smoke;
pub mod table;
pub mod zones;

pub use run::{Find, minimise, run};

/// A target: a name and a body that panics where it finds something.
pub type Target = (&'static str, fn(&[u8]));

/// All targets. Each has a file of its name in `fuzz/fuzz_targets/`.
pub const TARGETS: &[Target] = &[
    ("decode_unit", encodings::decode_unit),
    ("decode_tree", encodings::decode_tree),
    ("round_trip_unit", encodings::round_trip_unit),
    ("round_trip_chosen", encodings::round_trip_chosen),
    ("bits_pack", bits::pack),
    ("bits_values", bits::values),
    ("nested_round_trip", nested::round_trip),
    ("nested_block", nested::block),
    ("nested_kernel", nested::kernel),
    ("nested_levels", nested::levels_made_up),
    ("meta_header", metadata::header),
    ("meta_journal", metadata::journal),
    ("meta_moved", metadata::moved),
    ("meta_row_set", metadata::row_set),
    ("meta_postscript", metadata::postscript),
    ("meta_footer", metadata::footer),
    ("meta_bucket", metadata::bucket),
    ("meta_record", metadata::record),
    ("meta_schema", metadata::schema),
    ("meta_field", metadata::field),
    ("meta_column", metadata::column),
    ("meta_block_table", metadata::block_table),
    ("meta_zones", zones::map),
    ("meta_blooms", zones::blooms),
    ("meta_page", metadata::page),
    ("meta_type", metadata::data_type),
    ("file_raw", file::raw),
    ("file_mutated", file::mutated),
    ("file_resealed", file::resealed),
    ("file_round_trip", file::round_trip),
    ("file_round_trip_nested", file::round_trip_nested),
    ("filter_text", filter::text),
    ("table_commit", table::commit),
    ("table_schema", table::schema),
    ("table_entries", table::entries),
    ("table_json", table::json),
    ("table_key", table::key),
];

/// The target whose panic must be found.
pub const CANARY: Target = ("canary", canary);

/// Panics where the first byte is the number of the bytes after it: rare enough that a run has to work for it.
fn canary(bytes: &[u8]) {
    tarsia_testkit::fuzzing::accepted();
    if let [n_bytes, rest @ ..] = bytes
        && usize::from(*n_bytes) == rest.len()
        && rest.len() > 3
    {
        panic!("the planted panic");
    }
}

/// The body of a target, for the glue.
///
/// # Panics
/// Where there is no such target, and where the body finds something.
pub fn run_named(name: &str, bytes: &[u8]) {
    let all = TARGETS.iter().chain([&CANARY]);
    let (_, body) = all
        .into_iter()
        .find(|(known, _)| *known == name)
        .expect("a target of that name");
    body(bytes);
}
