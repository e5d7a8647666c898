// Made by `cargo xtask build-wasm`; do not edit.

use crate::Kernel;

/// The core kernel: mini-block pages under every encoding that the default chooser writes.
#[rustfmt::skip]
pub static CORE: Kernel = Kernel {
    name: "core",
    digest: [
        0xc9, 0xac, 0x45, 0x8a, 0x01, 0xf5, 0x58, 0xa7, 0x7a, 0x55, 0x11, 0xc1, 0x23, 0xd3, 0x5e, 0x1c,
        0x70, 0x82, 0x19, 0x2a, 0xca, 0xeb, 0xb6, 0x91, 0x14, 0x33, 0xce, 0xef, 0xb6, 0xa2, 0x1b, 0x64,
    ],
    raw_bytes: 98110,
    // 36978 bytes.
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
