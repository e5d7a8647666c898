// Made by `cargo xtask build-wasm`; do not edit.

use crate::Kernel;

/// The core kernel: mini-block pages under every encoding that the default chooser writes.
#[rustfmt::skip]
pub static CORE: Kernel = Kernel {
    name: "core",
    digest: [
        0x3d, 0xd2, 0x96, 0x99, 0x51, 0x6b, 0x0d, 0xbe, 0x88, 0x8f, 0x25, 0xfb, 0x5c, 0xd5, 0xa6, 0xeb,
        0x88, 0x51, 0x45, 0xad, 0xc6, 0xb7, 0x0c, 0xa4, 0xf5, 0x7c, 0xc1, 0xa5, 0x8b, 0xe1, 0x28, 0x84,
    ],
    raw_bytes: 96825,
    // 36514 bytes.
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
