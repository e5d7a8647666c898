// Made by `cargo xtask build-wasm`; do not edit.

use crate::Kernel;

/// The core kernel: mini-block pages under every encoding that the default chooser writes.
#[rustfmt::skip]
pub static CORE: Kernel = Kernel {
    name: "core",
    digest: [
        0x3e, 0x1e, 0x95, 0x48, 0x41, 0xbe, 0xbf, 0xee, 0xe7, 0x7b, 0x95, 0x96, 0x11, 0x2a, 0xeb, 0x26,
        0xef, 0xbb, 0x7d, 0x37, 0x04, 0x0f, 0x75, 0x7d, 0x9c, 0xf5, 0x1b, 0x80, 0x1b, 0x08, 0x1d, 0x3b,
    ],
    raw_bytes: 112635,
    // 39332 bytes.
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
