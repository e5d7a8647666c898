// Made by `cargo xtask build-wasm`; do not edit.

use crate::Kernel;

/// The core kernel: mini-block pages under every encoding that the default chooser writes.
#[rustfmt::skip]
pub static CORE: Kernel = Kernel {
    name: "core",
    digest: [
        0x2a, 0x25, 0x01, 0x69, 0x11, 0x57, 0x6f, 0xf0, 0x56, 0xed, 0x5e, 0xa5, 0x76, 0xe7, 0x21, 0x1b,
        0x74, 0xdf, 0x49, 0x33, 0xd5, 0x70, 0x75, 0x0e, 0x78, 0x8e, 0xce, 0x46, 0x46, 0x85, 0x05, 0x95,
    ],
    raw_bytes: 96740,
    // 36447 bytes.
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
