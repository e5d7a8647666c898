//! The core kernel: flat pages under every encoding that the default chooser writes. With the feature `nested` it
//! decodes nested pages too.
//!
//! `cargo xtask build-wasm` builds both for wasm32. On other targets this crate only lists the kernel's encodings.
#![cfg_attr(target_arch = "wasm32", no_std)]
#![cfg_attr(not(target_arch = "wasm32"), forbid(unsafe_code))]

use tarsia_codec::Registry;

/// The kernel's encodings.
pub fn registry() -> Registry {
    tarsia_encodings::decoders(tarsia_encodings::CORE)
}

tarsia_kernel_guest::export_kernel!(crate::registry);
