//! The encodings and kernels of this build.

use std::sync::{Arc, OnceLock};

use tarsia_codec::Registry;
use tarsia_kernels::Kernel;

/// Decoders and encoders of this build: what writers and readers use unless their options name another registry.
///
/// An encoding from outside is added to a copy, which then goes into
/// [`WriteOptions::with_registry`](crate::WriteOptions::with_registry) and
/// [`OpenOptions::with_registry`](crate::OpenOptions::with_registry).
pub fn registry() -> &'static Arc<Registry> {
    static REGISTRY: OnceLock<Arc<Registry>> = OnceLock::new();
    REGISTRY.get_or_init(|| Arc::new(tarsia_encodings::registry()))
}

/// The kernels of this build, smallest first: those that writers embed of themselves, and that readers trust.
pub fn kernels() -> &'static [&'static Kernel] {
    &tarsia_kernels::ALL
}
