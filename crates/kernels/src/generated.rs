// Made by `cargo xtask build-wasm`; do not edit.

use crate::Kernel;

/// The core kernel: mini-block pages under every encoding that the default chooser writes.
#[rustfmt::skip]
pub static CORE: Kernel = Kernel {
    name: "core",
    digest: [
        0x56, 0x23, 0x10, 0xcd, 0xb6, 0x51, 0x47, 0x07, 0xc7, 0x2d, 0xbd, 0xa3, 0xd1, 0x0f, 0x9b, 0x46,
        0x04, 0x21, 0xce, 0xe3, 0xd5, 0xbb, 0x3d, 0x1f, 0x26, 0x25, 0xd8, 0xa3, 0x07, 0x43, 0xd3, 0xa6,
    ],
    raw_bytes: 94180,
    // 37192 bytes.
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
