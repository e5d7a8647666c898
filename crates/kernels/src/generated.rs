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
        0x45, 0xff, 0x20, 0xee, 0x45, 0x2f, 0x8e, 0xf4, 0x11, 0x9e, 0x3d, 0x96, 0x47, 0x85, 0xdd, 0x38,
        0x06, 0xca, 0xf7, 0xb7, 0xa1, 0x26, 0xab, 0xa5, 0xdb, 0x32, 0x87, 0x68, 0x14, 0xef, 0xbe, 0x2c,
    ],
    raw_bytes: 106304,
    // 39793 bytes.
    compressed: Cow::Borrowed(include_bytes!("../core.wasm.zst")),
    nested: false,
    encodings: Cow::Borrowed(&[
        KernelEncoding::new("tarsia.bitmap", 1, 0),
        KernelEncoding::new("tarsia.bitpack", 1, 0),
        KernelEncoding::new("tarsia.bytes", 1, 0),
        KernelEncoding::new("tarsia.constant", 1, 0),
        KernelEncoding::new("tarsia.delta", 1, 0),
        KernelEncoding::new("tarsia.dict", 1, 0),
        KernelEncoding::new("tarsia.narrow", 1, 0),
        KernelEncoding::new("tarsia.plain", 1, 0),
    ]),
};

/// The same for nested pages too, mini-block and full-zip.
#[rustfmt::skip]
pub static NESTED: Kernel = Kernel {
    name: Cow::Borrowed("nested"),
    digest: [
        0xc6, 0x29, 0xf9, 0x9d, 0x17, 0xf3, 0x19, 0xbe, 0x44, 0x2f, 0xf1, 0x95, 0x98, 0x06, 0x84, 0xa2,
        0x26, 0x3b, 0x5c, 0xac, 0x2d, 0xe3, 0xe7, 0x8a, 0x83, 0xa6, 0xc4, 0x82, 0x6a, 0x25, 0x80, 0x54,
    ],
    raw_bytes: 132101,
    // 50350 bytes.
    compressed: Cow::Borrowed(include_bytes!("../nested.wasm.zst")),
    nested: true,
    encodings: Cow::Borrowed(&[
        KernelEncoding::new("tarsia.bitmap", 1, 0),
        KernelEncoding::new("tarsia.bitpack", 1, 0),
        KernelEncoding::new("tarsia.bytes", 1, 0),
        KernelEncoding::new("tarsia.constant", 1, 0),
        KernelEncoding::new("tarsia.delta", 1, 0),
        KernelEncoding::new("tarsia.dict", 1, 0),
        KernelEncoding::new("tarsia.narrow", 1, 0),
        KernelEncoding::new("tarsia.plain", 1, 0),
    ]),
};
