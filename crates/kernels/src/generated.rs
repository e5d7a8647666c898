// Made by `cargo xtask build-wasm`; do not edit.

use crate::Kernel;

/// The core kernel: mini-block pages under every encoding that the default chooser writes.
#[rustfmt::skip]
pub static CORE: Kernel = Kernel {
    name: "core",
    digest: [
        0x32, 0x63, 0x8c, 0x06, 0xe2, 0x5c, 0xa5, 0x0a, 0x84, 0x21, 0xc0, 0x2e, 0x00, 0xcb, 0x89, 0x94,
        0xf4, 0xba, 0x32, 0xdf, 0x8f, 0xa6, 0x8d, 0xb5, 0x47, 0xf9, 0x2a, 0xd3, 0xe9, 0xde, 0x58, 0x45,
    ],
    raw_bytes: 98219,
    // 36830 bytes.
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
