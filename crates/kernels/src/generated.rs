// Made by `cargo xtask build-wasm`; do not edit.

use crate::Kernel;

/// The core kernel: mini-block pages under every encoding that the default chooser writes.
#[rustfmt::skip]
pub static CORE: Kernel = Kernel {
    name: "core",
    digest: [
        0x3a, 0x21, 0x2c, 0x58, 0x6f, 0xe3, 0xab, 0x73, 0x65, 0xa6, 0x95, 0x7e, 0x83, 0x35, 0xb8, 0xfc,
        0x4e, 0xb3, 0x45, 0x2b, 0x9f, 0x81, 0xe6, 0xb8, 0xd2, 0x4a, 0x10, 0x79, 0xf2, 0xc1, 0x2f, 0x06,
    ],
    raw_bytes: 96608,
    // 36041 bytes.
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
