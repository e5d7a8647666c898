//! Errors of loading and running kernels.

/// The result of a function that needs a kernel.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// Why a kernel was refused, or could not decode.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The module is not what `docs/spec/kernel.md` allows a kernel to be.
    #[error("not a kernel: {0}")]
    Profile(String),
    /// The process may not reserve the addresses that the Wasm engine wants.
    #[error(
        "the process may not reserve {GIB} GiB of addresses for each instance of a kernel: lift its limit \
         (`ulimit -v unlimited`), or decode natively, which needs none ({0})",
        GIB = crate::limits::MEMORY_ADDRESSES >> 30
    )]
    Addresses(String),
    /// The kernel says that it cannot decode this.
    #[error("the kernel does not support it: {0}")]
    Unsupported(String),
    /// The kernel says that the page or the request is malformed.
    #[error("{0}")]
    Malformed(String),
    /// The kernel needs more memory or output than allowed.
    #[error("{0}")]
    Limit(String),
    /// The kernel trapped or returned a value that the interface forbids. Its instance was dropped.
    #[error("the kernel failed: {0}")]
    Failed(String),
    /// The caller of [`crate::KernelPage::decode`] could not use a batch.
    #[error(transparent)]
    Batch(#[from] tarsia_codec::Error),
}

/// Why wasmtime did not make a module or an instance. It says "mmap failed" where the system refuses memory, in a text
/// only: the error inside is of a crate that it does not show.
pub(crate) fn refused(error: wasmtime::Error) -> Error {
    let why = format!("{error:#}");
    match why.contains("mmap failed") {
        true => Error::Addresses(why),
        false => Error::Profile(why),
    }
}
