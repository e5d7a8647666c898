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
        0x82, 0x6d, 0xed, 0x63, 0x73, 0xbc, 0xfb, 0xce, 0x9e, 0x4a, 0x18, 0x1a, 0xf1, 0x71, 0x46, 0xb1,
        0x06, 0xd4, 0x41, 0x27, 0x4b, 0x2b, 0xd5, 0x28, 0x15, 0x72, 0xba, 0x1a, 0xb3, 0xf0, 0xa8, 0xcd,
    ],
    raw_bytes: 146758,
    // 54380 bytes.
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
        0xe2, 0x70, 0x29, 0xad, 0x6c, 0x21, 0x0b, 0x4a, 0x94, 0x8a, 0x27, 0x07, 0x87, 0xcf, 0x7d, 0x8c,
        0xae, 0xef, 0x57, 0x05, 0xd7, 0xed, 0x3b, 0x6b, 0x38, 0x90, 0x1b, 0x0f, 0x74, 0x62, 0x5e, 0xca,
    ],
    raw_bytes: 192218,
    // 72755 bytes.
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
        0x96, 0x7e, 0xb7, 0x07, 0x3f, 0x3a, 0xf7, 0x3e, 0x7b, 0x3a, 0x35, 0x83, 0x32, 0x40, 0x2f, 0x50,
        0x7d, 0x56, 0x44, 0xc4, 0x85, 0x50, 0x56, 0xab, 0x0e, 0xdf, 0x3a, 0xe9, 0x1f, 0x5e, 0xf6, 0xe7,
    ],
    raw_bytes: 229548,
    // 85335 bytes.
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
        0x9b, 0x63, 0x7f, 0xff, 0x4a, 0x9a, 0xd5, 0x73, 0xc8, 0xd9, 0x83, 0x60, 0x33, 0x82, 0xc6, 0x83,
        0x1e, 0x89, 0x29, 0x5f, 0xa0, 0x33, 0xb8, 0xde, 0xe7, 0xeb, 0xde, 0x0a, 0xa7, 0x5c, 0xd5, 0x06,
    ],
    raw_bytes: 278000,
    // 98631 bytes.
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
        KernelEncoding::new("tarsia.frequency", 1, 0),
        KernelEncoding::new("tarsia.front", 1, 0),
        KernelEncoding::new("tarsia.fsst", 1, 0),
        KernelEncoding::new("tarsia.gorilla", 1, 0),
        KernelEncoding::new("tarsia.huffman", 1, 0),
        KernelEncoding::new("tarsia.lz4", 1, 0),
        KernelEncoding::new("tarsia.narrow", 1, 0),
        KernelEncoding::new("tarsia.onpair", 1, 0),
        KernelEncoding::new("tarsia.plain", 1, 0),
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
