// Made by `cargo xtask build-wasm`; do not edit.

use crate::Kernel;

/// The core kernel: mini-block pages under every encoding that the default chooser writes.
#[rustfmt::skip]
pub static CORE: Kernel = Kernel {
    name: "core",
    digest: [
        0x88, 0x7a, 0xf0, 0x67, 0xe5, 0x19, 0x71, 0x39, 0x04, 0x3e, 0x4d, 0x90, 0xe9, 0x4a, 0xd0, 0x8b,
        0x6e, 0x6f, 0x3a, 0xe5, 0xd4, 0x57, 0xfe, 0x47, 0xb0, 0x7f, 0xd3, 0x8d, 0x0d, 0xbf, 0x6d, 0x4e,
    ],
    raw_bytes: 98066,
    // 36982 bytes.
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
