// Made by `cargo xtask build-wasm`; do not edit.

use crate::Kernel;

/// The core kernel: mini-block pages under every encoding that the default chooser writes.
#[rustfmt::skip]
pub static CORE: Kernel = Kernel {
    name: "core",
    digest: [
        0x87, 0x9a, 0x24, 0x97, 0xb4, 0x3a, 0x29, 0x92, 0xf2, 0xb8, 0x0c, 0x39, 0x85, 0xbd, 0xe2, 0xf3,
        0x25, 0xd5, 0xfb, 0x25, 0x9f, 0x7b, 0xdb, 0x9c, 0x96, 0xf0, 0xf7, 0x9e, 0x25, 0x34, 0xce, 0xef,
    ],
    raw_bytes: 96664,
    // 36448 bytes.
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
