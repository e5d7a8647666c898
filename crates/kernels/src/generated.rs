// Made by `cargo xtask build-wasm`; do not edit.

use crate::Kernel;

/// The core kernel: mini-block pages under every encoding that the default chooser writes.
#[rustfmt::skip]
pub static CORE: Kernel = Kernel {
    name: "core",
    digest: [
        0x7d, 0x3e, 0xca, 0x1f, 0x43, 0xd8, 0x2f, 0x6d, 0x42, 0x1f, 0x7c, 0x12, 0x5c, 0x35, 0x1c, 0x4c,
        0xca, 0x81, 0x34, 0x55, 0x03, 0x0e, 0x82, 0x1e, 0xa4, 0x10, 0xe8, 0xa3, 0xb4, 0x41, 0xf2, 0x25,
    ],
    raw_bytes: 98116,
    // 36971 bytes.
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
