// Made by `cargo xtask build-wasm`; do not edit.

use crate::Kernel;

/// The core kernel: mini-block pages under every encoding that the default chooser writes.
#[rustfmt::skip]
pub static CORE: Kernel = Kernel {
    name: "core",
    digest: [
        0x1b, 0xf8, 0x41, 0x65, 0xcf, 0xdd, 0x86, 0x35, 0x93, 0xdf, 0x81, 0x92, 0x6f, 0x52, 0x0b, 0x2b,
        0x6b, 0xec, 0x94, 0x34, 0x3a, 0xdb, 0xe9, 0x71, 0xcc, 0x92, 0xa4, 0xed, 0x4d, 0x5b, 0x24, 0xa9,
    ],
    raw_bytes: 94445,
    // 35084 bytes.
    compressed: include_bytes!("../core.wasm.zst"),
    encodings: &[
        ("tarsia.bitmap", 1, 0),
        ("tarsia.bitpack", 1, 0),
        ("tarsia.bytes", 1, 0),
        ("tarsia.constant", 1, 0),
        ("tarsia.dict", 1, 0),
        ("tarsia.plain", 1, 0),
    ],
};
