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
        0x61, 0x70, 0xea, 0x19, 0x92, 0x90, 0x9b, 0x38, 0xf2, 0x4c, 0x4b, 0x03, 0x20, 0xe5, 0x94, 0xf9,
        0x0e, 0xab, 0x6d, 0xe6, 0x5a, 0x10, 0xfe, 0x62, 0x85, 0xe9, 0xa5, 0x41, 0x44, 0x8f, 0xa8, 0xad,
    ],
    raw_bytes: 104508,
    // 39427 bytes.
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
        0xe7, 0x2e, 0x33, 0x4c, 0x12, 0xfd, 0xe4, 0xfb, 0x42, 0x76, 0xe5, 0x64, 0x71, 0xa0, 0xdf, 0x0c,
        0x0d, 0xe9, 0x86, 0x30, 0x06, 0x4b, 0x47, 0xa1, 0x72, 0xb6, 0x5d, 0x65, 0xf6, 0xf3, 0x7c, 0xc0,
    ],
    raw_bytes: 130331,
    // 49996 bytes.
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
