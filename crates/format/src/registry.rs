//! The one list of encodings this build knows.

use std::sync::OnceLock;

use tarsia_codec::Registry;

/// Decoders and encoders of this build, by id.
pub fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        let mut registry = Registry::new();
        tarsia_cascade::register(&mut registry);
        registry
    })
}

/// CRC-32C over parts, back to back.
pub(crate) fn crc32c(parts: &[&[u8]]) -> u32 {
    parts
        .iter()
        .fold(0, |crc, part| crc32c::crc32c_append(crc, part))
}
