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
        0xc9, 0x2f, 0x23, 0xda, 0xff, 0xc6, 0xeb, 0x50, 0x2c, 0x61, 0xc6, 0x60, 0x52, 0x99, 0x92, 0x3f,
        0xbe, 0x62, 0xc2, 0x12, 0xc6, 0xb1, 0x11, 0xd3, 0xa7, 0x80, 0x65, 0x6b, 0x0d, 0xec, 0xfb, 0x7b,
    ],
    raw_bytes: 147333,
    // 54632 bytes.
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
        0x6d, 0x7b, 0x7f, 0xec, 0x28, 0x5b, 0x3b, 0x33, 0x9c, 0xdf, 0x38, 0xbf, 0x5e, 0x97, 0x5f, 0xcf,
        0x04, 0xc3, 0x69, 0xc3, 0xeb, 0xf3, 0xcb, 0x9a, 0x51, 0x18, 0xfe, 0xfd, 0x44, 0x71, 0x09, 0xfe,
    ],
    raw_bytes: 192953,
    // 73051 bytes.
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
        0x1e, 0xec, 0x5f, 0xfe, 0xcf, 0x65, 0xe9, 0xb8, 0x35, 0x31, 0x9b, 0xab, 0x86, 0x3a, 0xfe, 0xa1,
        0x77, 0xa2, 0x0b, 0xef, 0xf1, 0xb0, 0x6c, 0xbd, 0x63, 0x17, 0x8e, 0xf1, 0xd5, 0x6f, 0x06, 0xaf,
    ],
    raw_bytes: 229806,
    // 85455 bytes.
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
        0x4e, 0x81, 0xc9, 0xab, 0xfe, 0x0a, 0x8a, 0xc4, 0x77, 0xaa, 0xcb, 0x9b, 0x1f, 0x14, 0xea, 0x6e,
        0x23, 0x66, 0x4d, 0x3c, 0xf3, 0xa4, 0xdf, 0xb6, 0xc8, 0x1e, 0x3e, 0x24, 0xd1, 0xca, 0xcf, 0x9f,
    ],
    raw_bytes: 291722,
    // 103527 bytes.
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
