// Made by `cargo xtask build-wasm`; do not edit.

use crate::Kernel;

/// The core kernel: flat mini-block pages under every encoding that the default chooser writes.
#[rustfmt::skip]
pub static CORE: Kernel = Kernel {
    name: "core",
    digest: [
        0x26, 0x39, 0x93, 0xa7, 0x38, 0x39, 0x5e, 0x32, 0xe4, 0x41, 0x63, 0x9b, 0x6e, 0xa6, 0xc2, 0x6f,
        0x07, 0x59, 0x6e, 0xbe, 0x07, 0x14, 0x86, 0xd6, 0x02, 0x69, 0x99, 0x3a, 0xa9, 0xd5, 0x7d, 0xa3,
    ],
    raw_bytes: 98165,
    // 37066 bytes.
    compressed: include_bytes!("../core.wasm.zst"),
    nested: false,
    encodings: &[
        ("tarsia.bitmap", 1, 0),
        ("tarsia.bitpack", 1, 0),
        ("tarsia.bytes", 1, 0),
        ("tarsia.constant", 1, 0),
        ("tarsia.dict", 1, 0),
        ("tarsia.plain", 1, 0),
    ],
};

/// The same for nested pages too, mini-block and full-zip.
#[rustfmt::skip]
pub static NESTED: Kernel = Kernel {
    name: "nested",
    digest: [
        0x3e, 0x0d, 0x82, 0x7f, 0x44, 0xf6, 0xa9, 0xe0, 0xcf, 0xdf, 0xf8, 0xf8, 0x01, 0xbd, 0x8b, 0x5b,
        0x44, 0xa7, 0x38, 0x76, 0x89, 0xcf, 0xaa, 0xfe, 0x8b, 0xfa, 0x00, 0x2a, 0x2d, 0xbf, 0xc1, 0xeb,
    ],
    raw_bytes: 123906,
    // 47856 bytes.
    compressed: include_bytes!("../nested.wasm.zst"),
    nested: true,
    encodings: &[
        ("tarsia.bitmap", 1, 0),
        ("tarsia.bitpack", 1, 0),
        ("tarsia.bytes", 1, 0),
        ("tarsia.constant", 1, 0),
        ("tarsia.dict", 1, 0),
        ("tarsia.plain", 1, 0),
    ],
};
