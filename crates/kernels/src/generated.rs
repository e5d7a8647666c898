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
        0x78, 0x55, 0xa3, 0x68, 0x5e, 0x68, 0xb0, 0xbc, 0xe4, 0xc6, 0xab, 0xe9, 0x69, 0x9c, 0xba, 0x8d,
        0x4e, 0x7c, 0xca, 0xc4, 0x77, 0x73, 0xcf, 0x6a, 0x1e, 0x67, 0x02, 0xe7, 0xb5, 0x62, 0xe5, 0x64,
    ],
    raw_bytes: 126905,
    // 47287 bytes.
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
        0x26, 0x4c, 0x25, 0x95, 0x6d, 0xaa, 0x0b, 0xb7, 0xb9, 0x0a, 0xbf, 0xd3, 0x80, 0x2b, 0xc3, 0x46,
        0xd4, 0x0c, 0x24, 0xd5, 0x53, 0xfc, 0x8f, 0x16, 0x1f, 0x0f, 0x4f, 0xea, 0x30, 0xe4, 0xdd, 0x7c,
    ],
    raw_bytes: 152726,
    // 57886 bytes.
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
        KernelEncoding::new("tarsia.narrow", 1, 0),
        KernelEncoding::new("tarsia.onpair", 1, 0),
        KernelEncoding::new("tarsia.plain", 1, 0),
        KernelEncoding::new("tarsia.runend", 1, 0),
    ]),
};
