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
        0x95, 0x51, 0x49, 0x80, 0x62, 0xe3, 0x47, 0x05, 0x8d, 0x10, 0xd7, 0x22, 0x06, 0x85, 0xc0, 0x71,
        0xc3, 0x52, 0xbb, 0x21, 0x83, 0x84, 0x96, 0x3a, 0xf3, 0xf9, 0x5b, 0x29, 0x45, 0x64, 0x7d, 0x7f,
    ],
    raw_bytes: 146758,
    // 54378 bytes.
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
        0xe4, 0x35, 0x62, 0x5a, 0x1b, 0x08, 0x16, 0xd2, 0xc2, 0x5c, 0x95, 0x7f, 0x2f, 0x07, 0xe4, 0xa5,
        0xc4, 0xae, 0x26, 0x25, 0x9b, 0x70, 0x8c, 0x99, 0x6e, 0xae, 0xd2, 0x91, 0x6b, 0xca, 0xc9, 0x00,
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
        0xa3, 0x3e, 0xe4, 0x28, 0x77, 0x2d, 0xe0, 0x37, 0x49, 0xc5, 0xa4, 0xb0, 0x7f, 0xa9, 0xb6, 0x1e,
        0x1c, 0x8d, 0x2e, 0x1b, 0x6c, 0x6b, 0x33, 0xa0, 0x89, 0xdc, 0x8b, 0x4c, 0x0a, 0x3e, 0x5e, 0x4e,
    ],
    raw_bytes: 213161,
    // 79054 bytes.
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
    ]),
};

/// Flat and nested pages under all encodings.
#[rustfmt::skip]
pub static FULL: Kernel = Kernel {
    name: Cow::Borrowed("full"),
    digest: [
        0x44, 0x82, 0xd4, 0xf4, 0x89, 0xaa, 0xa4, 0x4e, 0x7d, 0xb6, 0xde, 0x97, 0x08, 0xf3, 0x37, 0xd0,
        0x52, 0xa6, 0x63, 0x96, 0xe9, 0x69, 0xee, 0x29, 0xde, 0xc8, 0xd2, 0xd1, 0x44, 0xcd, 0x74, 0xa1,
    ],
    raw_bytes: 258835,
    // 91489 bytes.
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
    ]),
};
