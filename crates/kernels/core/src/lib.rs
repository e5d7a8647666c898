//! The core kernel: flat pages under every encoding that a search tries by itself. With the feature `nested` it
//! decodes nested pages and the encodings of lists too, with `heavy` also those that are tried for size, with `full`
//! pages under all encodings.
//!
//! `cargo xtask build-wasm` builds all of them for wasm32. On other targets this crate only lists the kernel's
//! encodings.
#![cfg_attr(target_arch = "wasm32", no_std)]
#![cfg_attr(not(target_arch = "wasm32"), forbid(unsafe_code))]

use tarsia_codec::Registry;

/// The kernel's encodings.
pub fn registry() -> Registry {
    #[cfg(feature = "full")]
    let sets = tarsia_encodings::SETS;
    #[cfg(all(feature = "heavy", not(feature = "full")))]
    let sets = &[
        tarsia_encodings::CORE,
        tarsia_encodings::LISTS,
        tarsia_encodings::HEAVY,
    ];
    #[cfg(all(feature = "nested", not(any(feature = "heavy", feature = "full"))))]
    let sets = &[tarsia_encodings::CORE, tarsia_encodings::LISTS];
    #[cfg(not(any(feature = "nested", feature = "heavy", feature = "full")))]
    let sets = &[tarsia_encodings::CORE];
    tarsia_encodings::decoders(sets)
}

tarsia_kernel_guest::export_kernel!(crate::registry);
