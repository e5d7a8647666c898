// Made by `cargo xtask build-wasm`; do not edit.

use crate::Kernel;

/// The core kernel: mini-block pages under every encoding that the default chooser writes.
#[rustfmt::skip]
pub static CORE: Kernel = Kernel {
    name: "core",
    digest: [
        0x5c, 0xc8, 0xae, 0x04, 0x89, 0x2f, 0x8f, 0xaf, 0xd2, 0x5a, 0xf4, 0x84, 0x9e, 0x43, 0x42, 0x03,
        0xeb, 0xe6, 0x0c, 0x60, 0x6d, 0xef, 0x9e, 0x5b, 0x7d, 0xfe, 0x02, 0x0c, 0xd4, 0xaf, 0x68, 0x9d,
    ],
    raw_bytes: 112649,
    // 39350 bytes.
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
