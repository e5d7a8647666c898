// Made by `cargo xtask build-wasm`; do not edit.

use std::borrow::Cow;

use crate::{Kernel, KernelEncoding};

/// All of them, smallest first.
pub static ALL: [&Kernel; 2] = [&CORE, &NESTED];

/// The core kernel: flat mini-block pages under every encoding that the default chooser writes.
#[rustfmt::skip]
pub static CORE: Kernel = Kernel {
    name: Cow::Borrowed("core"),
    digest: [
        0xa4, 0x3a, 0xf9, 0x6a, 0xdd, 0x55, 0x4c, 0x84, 0xa2, 0x57, 0x36, 0x83, 0x1a, 0xf4, 0xcb, 0x9e,
        0x0c, 0x0f, 0xea, 0x6a, 0xf8, 0xd1, 0xe0, 0x38, 0xc9, 0xf8, 0xca, 0xa3, 0xcc, 0xf6, 0xd1, 0xe6,
    ],
    raw_bytes: 99666,
    // 37578 bytes.
    compressed: Cow::Borrowed(include_bytes!("../core.wasm.zst")),
    nested: false,
    encodings: Cow::Borrowed(&[
        KernelEncoding::new("tarsia.bitmap", 1, 0),
        KernelEncoding::new("tarsia.bitpack", 1, 0),
        KernelEncoding::new("tarsia.bytes", 1, 0),
        KernelEncoding::new("tarsia.constant", 1, 0),
        KernelEncoding::new("tarsia.dict", 1, 0),
        KernelEncoding::new("tarsia.plain", 1, 0),
    ]),
};

/// The same for nested pages too, mini-block and full-zip.
#[rustfmt::skip]
pub static NESTED: Kernel = Kernel {
    name: Cow::Borrowed("nested"),
    digest: [
        0x71, 0x7c, 0x13, 0x8d, 0x3a, 0x57, 0x22, 0xa0, 0x71, 0x86, 0xf7, 0x13, 0x6e, 0xc4, 0xb3, 0xea,
        0x61, 0x46, 0xc9, 0x4e, 0xc7, 0x4e, 0x0e, 0x5c, 0xa3, 0x90, 0x9e, 0xe6, 0x3e, 0xc1, 0x08, 0x26,
    ],
    raw_bytes: 125499,
    // 48313 bytes.
    compressed: Cow::Borrowed(include_bytes!("../nested.wasm.zst")),
    nested: true,
    encodings: Cow::Borrowed(&[
        KernelEncoding::new("tarsia.bitmap", 1, 0),
        KernelEncoding::new("tarsia.bitpack", 1, 0),
        KernelEncoding::new("tarsia.bytes", 1, 0),
        KernelEncoding::new("tarsia.constant", 1, 0),
        KernelEncoding::new("tarsia.dict", 1, 0),
        KernelEncoding::new("tarsia.plain", 1, 0),
    ]),
};
