// Made by `cargo xtask build-wasm`; do not edit.

use crate::Kernel;

/// The core kernel: mini-block pages under every encoding that the default chooser writes.
#[rustfmt::skip]
pub static CORE: Kernel = Kernel {
    name: "core",
    digest: [
        0x4c, 0x02, 0x0a, 0x13, 0x15, 0x89, 0x5c, 0xc4, 0x6f, 0x82, 0x4f, 0x5e, 0xfd, 0x19, 0x56, 0x34,
        0x65, 0x42, 0x84, 0xbe, 0xd1, 0xcf, 0x1d, 0xf6, 0x42, 0xd4, 0x9a, 0xbd, 0x32, 0x3c, 0x2b, 0x9e,
    ],
    raw_bytes: 94432,
    // 35097 bytes.
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
