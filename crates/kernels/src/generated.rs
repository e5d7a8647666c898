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
        0xcd, 0xf8, 0x6f, 0x06, 0x1d, 0x0a, 0x9f, 0x40, 0x4b, 0x85, 0xa1, 0xda, 0xd2, 0x3e, 0x17, 0x5a,
        0x0a, 0xf6, 0x5c, 0x75, 0xec, 0x26, 0x38, 0x14, 0xcb, 0xb9, 0x46, 0x14, 0xa9, 0xc1, 0x2b, 0xaf,
    ],
    raw_bytes: 123165,
    // 46248 bytes.
    compressed: Cow::Borrowed(include_bytes!("../core.wasm.zst")),
    nested: false,
    encodings: Cow::Borrowed(&[
        KernelEncoding::new("tarsia.alp", 1, 0),
        KernelEncoding::new("tarsia.bitmap", 1, 0),
        KernelEncoding::new("tarsia.bitpack", 1, 0),
        KernelEncoding::new("tarsia.bytes", 1, 0),
        KernelEncoding::new("tarsia.constant", 1, 0),
        KernelEncoding::new("tarsia.delta", 1, 0),
        KernelEncoding::new("tarsia.dict", 1, 0),
        KernelEncoding::new("tarsia.narrow", 1, 0),
        KernelEncoding::new("tarsia.onpair", 1, 0),
        KernelEncoding::new("tarsia.plain", 1, 0),
        KernelEncoding::new("tarsia.runend", 1, 0),
    ]),
};

/// The same for nested pages too, mini-block and full-zip.
#[rustfmt::skip]
pub static NESTED: Kernel = Kernel {
    name: Cow::Borrowed("nested"),
    digest: [
        0x02, 0x1a, 0x00, 0x2e, 0x48, 0x99, 0x9a, 0xd3, 0xf8, 0x81, 0x87, 0x58, 0xd8, 0xf1, 0xaf, 0xd8,
        0x43, 0xac, 0xfd, 0x90, 0xdb, 0x8f, 0xef, 0xfe, 0x6d, 0x67, 0xeb, 0x06, 0xf3, 0x31, 0xe1, 0x15,
    ],
    raw_bytes: 148983,
    // 56719 bytes.
    compressed: Cow::Borrowed(include_bytes!("../nested.wasm.zst")),
    nested: true,
    encodings: Cow::Borrowed(&[
        KernelEncoding::new("tarsia.alp", 1, 0),
        KernelEncoding::new("tarsia.bitmap", 1, 0),
        KernelEncoding::new("tarsia.bitpack", 1, 0),
        KernelEncoding::new("tarsia.bytes", 1, 0),
        KernelEncoding::new("tarsia.constant", 1, 0),
        KernelEncoding::new("tarsia.delta", 1, 0),
        KernelEncoding::new("tarsia.dict", 1, 0),
        KernelEncoding::new("tarsia.narrow", 1, 0),
        KernelEncoding::new("tarsia.onpair", 1, 0),
        KernelEncoding::new("tarsia.plain", 1, 0),
        KernelEncoding::new("tarsia.runend", 1, 0),
    ]),
};
