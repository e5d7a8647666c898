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
        0x90, 0xd8, 0x2d, 0x03, 0x47, 0x31, 0x81, 0x72, 0xf7, 0x69, 0x6e, 0x4d, 0x27, 0x59, 0x6d, 0xcc,
        0x57, 0x3a, 0xd7, 0x59, 0x9e, 0xa0, 0x4a, 0x57, 0xd8, 0x5a, 0x25, 0x33, 0x80, 0x4f, 0xa4, 0x66,
    ],
    raw_bytes: 103867,
    // 39142 bytes.
    compressed: Cow::Borrowed(include_bytes!("../core.wasm.zst")),
    nested: false,
    encodings: Cow::Borrowed(&[
        KernelEncoding::new("tarsia.bitmap", 1, 0),
        KernelEncoding::new("tarsia.bitpack", 1, 0),
        KernelEncoding::new("tarsia.bytes", 1, 0),
        KernelEncoding::new("tarsia.constant", 1, 0),
        KernelEncoding::new("tarsia.delta", 1, 0),
        KernelEncoding::new("tarsia.dict", 1, 0),
        KernelEncoding::new("tarsia.plain", 1, 0),
    ]),
};

/// The same for nested pages too, mini-block and full-zip.
#[rustfmt::skip]
pub static NESTED: Kernel = Kernel {
    name: Cow::Borrowed("nested"),
    digest: [
        0x3e, 0x9e, 0x1e, 0x53, 0x49, 0x31, 0x33, 0xab, 0xd9, 0xef, 0x3f, 0x4c, 0x9f, 0x56, 0x5d, 0x8f,
        0x14, 0x8d, 0x6c, 0x03, 0x4b, 0xd3, 0x1e, 0x55, 0x6b, 0x87, 0x5c, 0xc3, 0x54, 0xf9, 0x1c, 0xb8,
    ],
    raw_bytes: 129660,
    // 49673 bytes.
    compressed: Cow::Borrowed(include_bytes!("../nested.wasm.zst")),
    nested: true,
    encodings: Cow::Borrowed(&[
        KernelEncoding::new("tarsia.bitmap", 1, 0),
        KernelEncoding::new("tarsia.bitpack", 1, 0),
        KernelEncoding::new("tarsia.bytes", 1, 0),
        KernelEncoding::new("tarsia.constant", 1, 0),
        KernelEncoding::new("tarsia.delta", 1, 0),
        KernelEncoding::new("tarsia.dict", 1, 0),
        KernelEncoding::new("tarsia.plain", 1, 0),
    ]),
};
