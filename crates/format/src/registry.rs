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
