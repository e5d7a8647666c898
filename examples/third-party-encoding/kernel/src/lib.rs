//! The kernel that files with the example's encoding carry. `scripts/example` builds it for wasm32; elsewhere it is the
//! list of its encodings.
#![cfg_attr(target_arch = "wasm32", no_std)]
#![cfg_attr(not(target_arch = "wasm32"), forbid(unsafe_code))]

use tarsia_codec::Registry;

/// The kernel's encodings: Tarsia's core ones, which may stand below and beside it, and its own.
pub fn registry() -> Registry {
    let mut registry = tarsia_encodings::decoders(&[tarsia_encodings::CORE]);
    registry.add(&example_linear::LINEAR);
    registry
}

tarsia_kernel_guest::export_kernel!(crate::registry);
