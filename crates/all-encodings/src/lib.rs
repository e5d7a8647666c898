//! The table of encodings: one crate, one row each. All code that needs every encoding iterates over it: registries of
//! readers and writers, the search for trees, kernels, erasure and fuzz tests, the tables in the docs, the command. No
//! other code of the workspace uses an encoding by its name.
//!
//! The order of rows is the order in which a search tries encodings: encodings with cheap proposals first, so that
//! expensive ones can stop early. Of equally good trees the first wins.
//!
//! # What this crate does not do
//! It chooses no encoding. An encoding from outside the workspace needs no row: add it to a copy of [`registry`].
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

use tarsia_codec::{DecodeCost, Encoding, Registry, Tried};

#[cfg(feature = "encode")]
use tarsia_codec::EncodingWriter;

/// One encoding.
#[derive(Clone, Copy)]
pub struct Row {
    /// Its decoder.
    pub encoding: &'static dyn Encoding,
    /// Its encoder.
    #[cfg(feature = "encode")]
    pub writer: &'static dyn EncodingWriter,
    /// How long its decoder takes without its children, measured by the crate's `benches/codec.rs` on the machine of
    /// `docs/benchmarks.md`.
    pub cost: DecodeCost,
    /// When a search asks it for proposals.
    pub tried: Tried,
}

macro_rules! row {
    ($encoding:path, value_ps: $value_ps:literal, byte_ps: $byte_ps:literal, $tried:ident) => {
        Row {
            encoding: &$encoding,
            #[cfg(feature = "encode")]
            writer: &$encoding,
            cost: DecodeCost {
                value_ps: $value_ps,
                byte_ps: $byte_ps,
            },
            tried: Tried::$tried,
        }
    };
}

/// The encodings of all kernels: those that a search tries by itself for any values. Their decoders are small.
#[rustfmt::skip]
pub static CORE: &[Row] = &[
    row!(tarsia_constant::CONSTANT, value_ps: 0, byte_ps: 12, Always),
    row!(tarsia_sequence::SEQUENCE, value_ps: 0, byte_ps: 20, Always),
    row!(tarsia_bitmap::BITMAP, value_ps: 0, byte_ps: 12, Always),
    row!(tarsia_plain::PLAIN, value_ps: 0, byte_ps: 12, Always),
    row!(tarsia_bitpack::BITPACK, value_ps: 0, byte_ps: 20, Always),
    row!(tarsia_narrow::NARROW, value_ps: 0, byte_ps: 20, Always),
    row!(tarsia_divisor::DIVISOR, value_ps: 0, byte_ps: 30, Always),
    row!(tarsia_bytes::BYTES, value_ps: 600, byte_ps: 45, Always),
    row!(tarsia_dict::DICT, value_ps: 150, byte_ps: 20, Always),
    row!(tarsia_delta::DELTA, value_ps: 60, byte_ps: 22, Always),
    row!(tarsia_runend::RUNEND, value_ps: 120, byte_ps: 25, Always),
    row!(tarsia_roaring::ROARING, value_ps: 10, byte_ps: 0, Always),
    row!(tarsia_frequency::FREQUENCY, value_ps: 100, byte_ps: 10, Always),
    row!(tarsia_split::SPLIT, value_ps: 0, byte_ps: 20, Always),
    row!(tarsia_alp::ALP, value_ps: 450, byte_ps: 5, Always),
    row!(tarsia_alprd::ALPRD, value_ps: 50, byte_ps: 15, Always),
    row!(tarsia_onpair::ONPAIR, value_ps: 1000, byte_ps: 150, Always),
];

/// The encodings that a search tries by itself and that are of use mostly for values and lengths of lists: in all
/// kernels but `core`.
#[rustfmt::skip]
pub static LISTS: &[Row] = &[
    row!(tarsia_window::WINDOW, value_ps: 0, byte_ps: 25, Always),
    row!(tarsia_quantized::QUANTIZED, value_ps: 60, byte_ps: 22, Always),
];

/// The encodings that a search tries where size counts more than time: in the kernels `heavy` and `full`.
#[rustfmt::skip]
pub static HEAVY: &[Row] = &[
    row!(tarsia_bins::BINS, value_ps: 550, byte_ps: 25, ForSize),
    row!(tarsia_huffman::HUFFMAN, value_ps: 340, byte_ps: 0, ForSize),
    row!(tarsia_concat::CONCAT, value_ps: 600, byte_ps: 0, ForSize),
    row!(tarsia_zstd::ZSTD, value_ps: 0, byte_ps: 700, ForSize),
];

/// The other encodings of the kernel `full`: those that are written where a user names them.
#[rustfmt::skip]
pub static EXTRA: &[Row] = &[
    row!(tarsia_zigzag::ZIGZAG, value_ps: 0, byte_ps: 27, WhenNamed),
    row!(tarsia_fsst::FSST, value_ps: 700, byte_ps: 240, WhenNamed),
    row!(tarsia_gorilla::GORILLA, value_ps: 2600, byte_ps: 150, WhenNamed),
    row!(tarsia_bitshuffle::BITSHUFFLE, value_ps: 0, byte_ps: 220, WhenNamed),
    row!(tarsia_front::FRONT, value_ps: 4000, byte_ps: 30, WhenNamed),
    row!(tarsia_varint::VARINT, value_ps: 2000, byte_ps: 0, WhenNamed),
    row!(tarsia_lz4::LZ4, value_ps: 0, byte_ps: 230, WhenNamed),
    row!(tarsia_fastpfor::FASTPFOR, value_ps: 110, byte_ps: 10, WhenNamed),
    row!(tarsia_pseudodecimal::PSEUDODECIMAL, value_ps: 480, byte_ps: 0, WhenNamed),
];

/// The sets of rows that kernels are built from. Together they are all rows.
pub static SETS: &[&[Row]] = &[CORE, LISTS, HEAVY, EXTRA];

/// A kernel: a Wasm module that decodes some encodings, built by `cargo xtask build-wasm`.
#[derive(Clone, Copy)]
pub struct KernelSet {
    /// Its name, from which those of its file and its static are made.
    pub name: &'static str,
    /// One sentence that describes it.
    pub about: &'static str,
    /// The package that is built.
    pub package: &'static str,
    /// Features of the package.
    pub features: &'static [&'static str],
    /// True if it also decodes nested and full-zip pages.
    pub nested: bool,
    /// The encodings that it decodes.
    pub sets: &'static [&'static [Row]],
    /// The module must be smaller than this, in bytes: every process that uses it compiles it, which takes about a
    /// millisecond per KiB.
    pub raw_bytes_max: u64,
}

/// All kernels of the workspace, smallest first.
pub static KERNELS: &[KernelSet] = &[
    KernelSet {
        name: "core",
        about: "The core kernel: flat mini-block pages under every encoding that a search tries for them by itself.",
        package: "tarsia-kernel-core",
        features: &[],
        nested: false,
        sets: &[CORE],
        raw_bytes_max: 144 << 10,
    },
    KernelSet {
        name: "nested",
        about: "The same for nested pages too, mini-block and full-zip, and the encodings of lists.",
        package: "tarsia-kernel-core",
        features: &["nested"],
        nested: true,
        sets: &[CORE, LISTS],
        raw_bytes_max: 192 << 10,
    },
    KernelSet {
        name: "heavy",
        about: "The same and the encodings that a search tries where size counts more than time.",
        package: "tarsia-kernel-core",
        features: &["nested", "heavy"],
        nested: true,
        sets: &[CORE, LISTS, HEAVY],
        raw_bytes_max: 288 << 10,
    },
    KernelSet {
        name: "full",
        about: "Flat and nested pages under all encodings.",
        package: "tarsia-kernel-core",
        features: &["nested", "heavy", "full"],
        nested: true,
        sets: SETS,
        raw_bytes_max: 384 << 10,
    },
];

impl KernelSet {
    /// The encodings that it decodes.
    pub fn rows(&self) -> impl Iterator<Item = &'static Row> {
        self.sets.iter().flat_map(|rows| rows.iter())
    }
}

/// All rows.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    SETS.iter().flat_map(|rows| rows.iter())
}

/// A registry with the decoders of some sets of rows.
pub fn decoders(sets: &[&[Row]]) -> Registry {
    let mut registry = Registry::new();
    for row in sets.iter().flat_map(|rows| rows.iter()) {
        registry.add(row.encoding);
    }
    registry
}

/// A registry with the decoders and encoders of all rows.
#[cfg(feature = "encode")]
pub fn registry() -> Registry {
    let mut registry = Registry::new();
    for row in rows() {
        registry.add_writer(row.writer, row.cost);
        registry.set_tried(row.writer.id(), row.tried);
    }
    registry
}

#[cfg(all(test, feature = "encode"))]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_an_encoding_of_its_own_that_can_be_tested() {
        let registry = registry();
        assert_eq!(registry.encodings().len(), rows().count());
        for row in rows() {
            let (id, samples) = (row.writer.id(), row.writer.samples());
            assert_eq!(row.encoding.id(), id);
            assert!(id.starts_with("tarsia."), "{id}");
            assert!(!samples.is_empty(), "{id} has no samples");
            for sample in samples {
                let node = tarsia_codec::Node {
                    value_type: sample.value_type,
                    version: row.encoding.version(),
                    params: &sample.params,
                };
                assert!(row.encoding.check(&node).is_ok(), "{id}: {sample:?}");
            }
        }
    }
}
