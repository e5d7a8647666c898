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
        0x94, 0x60, 0xd3, 0xed, 0x7b, 0x14, 0x22, 0x20, 0x06, 0xbc, 0x93, 0xdb, 0x8a, 0xec, 0xff, 0xd6,
        0x79, 0xbe, 0x45, 0xa8, 0x5a, 0xb1, 0xda, 0x43, 0xeb, 0x92, 0x8b, 0x5e, 0xec, 0xd7, 0x38, 0xb9,
    ],
    raw_bytes: 121348,
    // 46682 bytes.
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
