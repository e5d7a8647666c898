// Made by `cargo xtask build-wasm`; do not edit.

use std::borrow::Cow;

use crate::{Kernel, KernelEncoding};

/// All of them, smallest first.
pub static ALL: [&Kernel; 3] = [&CORE, &NESTED, &FULL];

/// The core kernel: flat mini-block pages under every encoding that a search tries for them by itself.
#[rustfmt::skip]
pub static CORE: Kernel = Kernel {
    name: Cow::Borrowed("core"),
    digest: [
        0x64, 0x16, 0xc8, 0x07, 0xfe, 0xbd, 0x3d, 0x51, 0xd8, 0xcd, 0xc2, 0x16, 0x4f, 0x01, 0xc8, 0x9d,
        0x10, 0xef, 0x37, 0xf5, 0x48, 0x7a, 0x0c, 0x3c, 0x70, 0xa9, 0x70, 0xa7, 0x58, 0x6a, 0xfc, 0xbc,
    ],
    raw_bytes: 146756,
    // 54375 bytes.
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
        0xf4, 0xa4, 0x1a, 0x12, 0xb8, 0xc9, 0xe2, 0x9c, 0xd5, 0x02, 0x6c, 0xb4, 0xf1, 0xc6, 0xcf, 0xfe,
        0x5e, 0x3d, 0x40, 0xe2, 0x9b, 0x72, 0x26, 0x81, 0x18, 0x95, 0x80, 0xed, 0xac, 0x7b, 0xb9, 0x99,
    ],
    raw_bytes: 182527,
    // 68978 bytes.
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
        0xee, 0x2a, 0x4c, 0xfd, 0x57, 0xb3, 0x05, 0xf0, 0xf9, 0x9c, 0xed, 0xe0, 0xdd, 0xba, 0xd9, 0x70,
        0x0d, 0x84, 0xee, 0x82, 0x97, 0x22, 0x3e, 0x8d, 0x33, 0x63, 0x93, 0x2b, 0xfc, 0x56, 0x16, 0x96,
    ],
    raw_bytes: 189215,
    // 71304 bytes.
    compressed: Cow::Borrowed(include_bytes!("../full.wasm.zst")),
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
        KernelEncoding::new("tarsia.fsst", 1, 0),
        KernelEncoding::new("tarsia.narrow", 1, 0),
        KernelEncoding::new("tarsia.onpair", 1, 0),
        KernelEncoding::new("tarsia.plain", 1, 0),
        KernelEncoding::new("tarsia.roaring", 1, 0),
        KernelEncoding::new("tarsia.runend", 1, 0),
        KernelEncoding::new("tarsia.sequence", 1, 0),
        KernelEncoding::new("tarsia.split", 1, 0),
        KernelEncoding::new("tarsia.window", 1, 0),
        KernelEncoding::new("tarsia.zigzag", 1, 0),
    ]),
};
