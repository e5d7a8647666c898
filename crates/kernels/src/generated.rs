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
        0x92, 0x9a, 0x78, 0x9b, 0x63, 0x3b, 0x11, 0x2e, 0xa2, 0x22, 0xf0, 0x21, 0xab, 0xb4, 0x84, 0x68,
        0x70, 0xc9, 0xe0, 0xad, 0x4a, 0x70, 0xb4, 0x4e, 0xd1, 0x58, 0x34, 0x28, 0xdf, 0x59, 0x29, 0x05,
    ],
    raw_bytes: 103867,
    // 39098 bytes.
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
        0x42, 0x83, 0xfc, 0xc2, 0x7b, 0x71, 0x81, 0x4a, 0x9c, 0xca, 0x0e, 0x45, 0xc6, 0x87, 0xea, 0x97,
        0x33, 0x28, 0xe4, 0xb8, 0x2d, 0x32, 0x31, 0x49, 0xd6, 0xd5, 0xd7, 0x5a, 0x17, 0x9c, 0x7e, 0x52,
    ],
    raw_bytes: 129660,
    // 49553 bytes.
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
