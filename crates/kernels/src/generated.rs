// Made by `cargo xtask build-wasm`; do not edit.

use crate::Kernel;

/// The core kernel: mini-block pages under every encoding that the default chooser writes.
#[rustfmt::skip]
pub static CORE: Kernel = Kernel {
    name: "core",
    digest: [
        0xf4, 0x12, 0xda, 0xa3, 0x6e, 0x1d, 0x7f, 0xf2, 0x70, 0x45, 0xe3, 0xd2, 0xa3, 0x54, 0x48, 0x33,
        0x02, 0x01, 0x10, 0x3c, 0x38, 0xd3, 0xcd, 0xce, 0x60, 0x84, 0xef, 0xde, 0x61, 0x9d, 0xb7, 0xdf,
    ],
    raw_bytes: 95348,
    // 36395 bytes.
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
