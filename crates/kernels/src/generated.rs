// Made by `cargo xtask build-wasm`; do not edit.

use crate::Kernel;

/// The core kernel: flat mini-block pages under every encoding that the default chooser writes.
#[rustfmt::skip]
pub static CORE: Kernel = Kernel {
    name: "core",
    digest: [
        0x20, 0x11, 0x44, 0xcc, 0x67, 0x67, 0x38, 0x99, 0x65, 0xbf, 0xf9, 0xbf, 0x53, 0xb9, 0xc6, 0xb9,
        0x77, 0xa9, 0xe4, 0x48, 0x82, 0x4e, 0xab, 0x89, 0xda, 0xca, 0xf8, 0x11, 0x08, 0x94, 0x67, 0x1a,
    ],
    raw_bytes: 98068,
    // 36979 bytes.
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
        0xff, 0x12, 0x36, 0x55, 0xb6, 0xf2, 0x65, 0x9c, 0x2b, 0xd1, 0x8c, 0x70, 0x03, 0x02, 0x0f, 0xf3,
        0x13, 0x81, 0xad, 0x7f, 0x71, 0xdf, 0x00, 0xe6, 0x15, 0xaa, 0xd8, 0x49, 0xa1, 0x5d, 0xdb, 0x9d,
    ],
    raw_bytes: 121199,
    // 46669 bytes.
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
