// Made by `cargo xtask build-wasm`; do not edit.

use crate::Kernel;

/// The core kernel: mini-block pages under every encoding that the default chooser writes.
#[rustfmt::skip]
pub static CORE: Kernel = Kernel {
    name: "core",
    digest: [
        0x53, 0xff, 0x66, 0x32, 0xed, 0xae, 0x0a, 0xf5, 0xb7, 0xfc, 0x57, 0x44, 0xcb, 0xb2, 0xd1, 0x38,
        0x59, 0x52, 0x2a, 0x5a, 0x22, 0xce, 0xfa, 0xeb, 0x5a, 0x08, 0x48, 0xa9, 0x4e, 0x51, 0x4f, 0x4d,
    ],
    raw_bytes: 112810,
    // 39408 bytes.
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
