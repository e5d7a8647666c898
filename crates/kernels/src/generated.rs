// Made by `cargo xtask build-wasm`; do not edit.

use std::borrow::Cow;

use crate::{Kernel, KernelEncoding};

/// All of them, smallest first.
pub static ALL: [&Kernel; 4] = [&CORE, &NESTED, &HEAVY, &FULL];

/// The core kernel: flat mini-block pages under every encoding that a search tries for them by itself.
#[rustfmt::skip]
pub static CORE: Kernel = Kernel {
    name: Cow::Borrowed("core"),
    digest: [
        0x3f, 0xc4, 0xea, 0xff, 0xe9, 0x00, 0x50, 0xe7, 0x34, 0xd9, 0xa7, 0xbe, 0xc0, 0xb4, 0x83, 0x1d,
        0x61, 0xc7, 0xca, 0x78, 0xf9, 0x87, 0x95, 0x7f, 0xf6, 0xa4, 0x6b, 0x24, 0x7c, 0x7b, 0x52, 0x82,
    ],
    raw_bytes: 146846,
    // 54541 bytes.
    compressed: Cow::Borrowed(include_bytes!("../core.wasm.zst")),
    nested: false,
    encodings: Cow::Borrowed(&[
        KernelEncoding::new("tarsia.alp", 1, 0),
        KernelEncoding::new("tarsia.alprd", 1, 0),
        KernelEncoding::new("tarsia.bitmap", 1, 0),
        KernelEncoding::new("tarsia.bitpack", 1, 0),
        KernelEncoding::new("tarsia.bytes", 1, 0),
        KernelEncoding::new("tarsia.constant", 1, 0),
        KernelEncoding::new("tarsia.delta", 1, 0),
        KernelEncoding::new("tarsia.dict", 1, 0),
        KernelEncoding::new("tarsia.divisor", 1, 0),
        KernelEncoding::new("tarsia.frequency", 1, 0),
        KernelEncoding::new("tarsia.narrow", 1, 0),
        KernelEncoding::new("tarsia.onpair", 1, 0),
        KernelEncoding::new("tarsia.plain", 1, 0),
        KernelEncoding::new("tarsia.roaring", 1, 0),
        KernelEncoding::new("tarsia.runend", 1, 0),
        KernelEncoding::new("tarsia.sequence", 1, 0),
        KernelEncoding::new("tarsia.split", 1, 0),
    ]),
};

/// The same for nested pages too, mini-block and full-zip, and the encodings of lists.
#[rustfmt::skip]
pub static NESTED: Kernel = Kernel {
    name: Cow::Borrowed("nested"),
    digest: [
        0xe9, 0x6f, 0x07, 0x2b, 0x4b, 0x54, 0x0a, 0x02, 0xd2, 0xd6, 0xe9, 0x40, 0x15, 0xa2, 0x27, 0x4f,
        0x39, 0xb6, 0x3e, 0x98, 0xdf, 0x2c, 0x34, 0x97, 0xbf, 0x2a, 0x9a, 0xd7, 0xe8, 0x89, 0x13, 0x3a,
    ],
    raw_bytes: 192292,
    // 72881 bytes.
    compressed: Cow::Borrowed(include_bytes!("../nested.wasm.zst")),
    nested: true,
    encodings: Cow::Borrowed(&[
        KernelEncoding::new("tarsia.alp", 1, 0),
        KernelEncoding::new("tarsia.alprd", 1, 0),
        KernelEncoding::new("tarsia.bitmap", 1, 0),
        KernelEncoding::new("tarsia.bitpack", 1, 0),
        KernelEncoding::new("tarsia.bytes", 1, 0),
        KernelEncoding::new("tarsia.constant", 1, 0),
        KernelEncoding::new("tarsia.delta", 1, 0),
        KernelEncoding::new("tarsia.dict", 1, 0),
        KernelEncoding::new("tarsia.divisor", 1, 0),
        KernelEncoding::new("tarsia.frequency", 1, 0),
        KernelEncoding::new("tarsia.narrow", 1, 0),
        KernelEncoding::new("tarsia.onpair", 1, 0),
        KernelEncoding::new("tarsia.plain", 1, 0),
        KernelEncoding::new("tarsia.quantized", 1, 0),
        KernelEncoding::new("tarsia.roaring", 1, 0),
        KernelEncoding::new("tarsia.runend", 1, 0),
        KernelEncoding::new("tarsia.sequence", 1, 0),
        KernelEncoding::new("tarsia.split", 1, 0),
        KernelEncoding::new("tarsia.window", 1, 0),
    ]),
};

/// The same and the encodings that a search tries where size counts more than time.
#[rustfmt::skip]
pub static HEAVY: Kernel = Kernel {
    name: Cow::Borrowed("heavy"),
    digest: [
        0x30, 0xa2, 0xc5, 0x64, 0x60, 0x1e, 0x79, 0xa6, 0xe2, 0xc1, 0x59, 0x8e, 0x9c, 0xd1, 0x43, 0x08,
        0xe8, 0x55, 0x13, 0x26, 0x41, 0xaa, 0x3b, 0x09, 0x5b, 0x99, 0x6b, 0x72, 0xd1, 0xa5, 0xa7, 0x7f,
    ],
    raw_bytes: 229061,
    // 85236 bytes.
    compressed: Cow::Borrowed(include_bytes!("../heavy.wasm.zst")),
    nested: true,
    encodings: Cow::Borrowed(&[
        KernelEncoding::new("tarsia.alp", 1, 0),
        KernelEncoding::new("tarsia.alprd", 1, 0),
        KernelEncoding::new("tarsia.bins", 1, 0),
        KernelEncoding::new("tarsia.bitmap", 1, 0),
        KernelEncoding::new("tarsia.bitpack", 1, 0),
        KernelEncoding::new("tarsia.bytes", 1, 0),
        KernelEncoding::new("tarsia.concat", 1, 0),
        KernelEncoding::new("tarsia.constant", 1, 0),
        KernelEncoding::new("tarsia.delta", 1, 0),
        KernelEncoding::new("tarsia.dict", 1, 0),
        KernelEncoding::new("tarsia.divisor", 1, 0),
        KernelEncoding::new("tarsia.frequency", 1, 0),
        KernelEncoding::new("tarsia.huffman", 1, 0),
        KernelEncoding::new("tarsia.narrow", 1, 0),
        KernelEncoding::new("tarsia.onpair", 1, 0),
        KernelEncoding::new("tarsia.plain", 1, 0),
        KernelEncoding::new("tarsia.quantized", 1, 0),
        KernelEncoding::new("tarsia.roaring", 1, 0),
        KernelEncoding::new("tarsia.runend", 1, 0),
        KernelEncoding::new("tarsia.sequence", 1, 0),
        KernelEncoding::new("tarsia.split", 1, 0),
        KernelEncoding::new("tarsia.window", 1, 0),
        KernelEncoding::new("tarsia.zstd", 1, 0),
    ]),
};

/// Flat and nested pages under all encodings.
#[rustfmt::skip]
pub static FULL: Kernel = Kernel {
    name: Cow::Borrowed("full"),
    digest: [
        0xb7, 0x81, 0xb4, 0x96, 0xc7, 0x14, 0x58, 0x84, 0x8d, 0x8b, 0x00, 0xb6, 0x7e, 0xc2, 0x69, 0x1b,
        0x31, 0x44, 0x84, 0x2f, 0xbb, 0xd8, 0x9a, 0x7b, 0x17, 0x89, 0xf9, 0x72, 0x45, 0x9e, 0x68, 0x2d,
    ],
    raw_bytes: 290562,
    // 103089 bytes.
    compressed: Cow::Borrowed(include_bytes!("../full.wasm.zst")),
    nested: true,
    encodings: Cow::Borrowed(&[
        KernelEncoding::new("tarsia.alp", 1, 0),
        KernelEncoding::new("tarsia.alprd", 1, 0),
        KernelEncoding::new("tarsia.bins", 1, 0),
        KernelEncoding::new("tarsia.bitmap", 1, 0),
        KernelEncoding::new("tarsia.bitpack", 1, 0),
        KernelEncoding::new("tarsia.bitshuffle", 1, 0),
        KernelEncoding::new("tarsia.bytes", 1, 0),
        KernelEncoding::new("tarsia.concat", 1, 0),
        KernelEncoding::new("tarsia.constant", 1, 0),
        KernelEncoding::new("tarsia.delta", 1, 0),
        KernelEncoding::new("tarsia.dict", 1, 0),
        KernelEncoding::new("tarsia.divisor", 1, 0),
        KernelEncoding::new("tarsia.fastpfor", 1, 0),
        KernelEncoding::new("tarsia.frequency", 1, 0),
        KernelEncoding::new("tarsia.front", 1, 0),
        KernelEncoding::new("tarsia.fsst", 1, 0),
        KernelEncoding::new("tarsia.gorilla", 1, 0),
        KernelEncoding::new("tarsia.huffman", 1, 0),
        KernelEncoding::new("tarsia.lz4", 1, 0),
        KernelEncoding::new("tarsia.narrow", 1, 0),
        KernelEncoding::new("tarsia.onpair", 1, 0),
        KernelEncoding::new("tarsia.plain", 1, 0),
        KernelEncoding::new("tarsia.pseudodecimal", 1, 0),
        KernelEncoding::new("tarsia.quantized", 1, 0),
        KernelEncoding::new("tarsia.roaring", 1, 0),
        KernelEncoding::new("tarsia.runend", 1, 0),
        KernelEncoding::new("tarsia.sequence", 1, 0),
        KernelEncoding::new("tarsia.split", 1, 0),
        KernelEncoding::new("tarsia.varint", 1, 0),
        KernelEncoding::new("tarsia.window", 1, 0),
        KernelEncoding::new("tarsia.zigzag", 1, 0),
        KernelEncoding::new("tarsia.zstd", 1, 0),
    ]),
};
