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
        0xd6, 0x0b, 0x2f, 0xc6, 0x42, 0x17, 0x74, 0xad, 0x34, 0x6b, 0x73, 0x74, 0x3a, 0x36, 0xc2, 0xa7,
        0xb7, 0x7d, 0x35, 0x35, 0x31, 0xfd, 0x9e, 0xa8, 0x9f, 0x36, 0x24, 0x48, 0x71, 0x98, 0xb3, 0x3f,
    ],
    raw_bytes: 103982,
    // 39224 bytes.
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
        0x24, 0x47, 0x62, 0xa9, 0x50, 0x38, 0x11, 0x82, 0x8f, 0xbb, 0x8f, 0x52, 0xbf, 0x58, 0x92, 0xcf,
        0xf8, 0xe3, 0xac, 0x06, 0x58, 0x49, 0x47, 0xef, 0xc8, 0xf6, 0x86, 0x99, 0xfa, 0x59, 0xe2, 0x47,
    ],
    raw_bytes: 129809,
    // 49877 bytes.
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
