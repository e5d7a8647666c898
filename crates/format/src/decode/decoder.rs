//! Decoders of the blocks of a page: this build's own decoders, or a kernel that the file carries.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
#[cfg(feature = "kernels")]
use std::sync::{Mutex, PoisonError};

use tarsia_codec::OwnedValues;
#[cfg(feature = "kernels")]
use tarsia_kernel_host::Kernel;
use tarsia_structure::{PageDecoder, RawColumn};

#[cfg(feature = "kernels")]
use super::kernel::KernelDecoder;
use super::memory::Memory;
use super::parts::PageRun;
use crate::error::{Error, ErrorKind, Result, while_reading};
use crate::session::Session;
use crate::table::Description;

/// The prepared decoders of a page.
pub(crate) enum Decoder {
    Native(Box<PageDecoder>),
    #[cfg(feature = "kernels")]
    Kernel(KernelDecoder),
}

/// How the pages that were decoded so far were decoded, in prepared decoders: each serves all pages of the file that
/// have the same description (and shared buffers).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecoderCounts {
    /// This build's own.
    pub native: u64,
    /// By a kernel of the file.
    pub kernel: u64,
}

/// The kernels of an open file, each loaded once, and counts of its decoders, which lie with descriptions and pages.
#[derive(Default)]
pub(crate) struct DecoderCache {
    /// The kernels that were loaded, with their numbers.
    #[cfg(feature = "kernels")]
    kernels: Mutex<Vec<(u16, Arc<Kernel>)>>,
    n_native: AtomicU64,
    n_kernel: AtomicU64,
}

impl DecoderCache {
    pub(crate) fn counts(&self) -> DecoderCounts {
        DecoderCounts {
            native: self.n_native.load(Ordering::Relaxed),
            kernel: self.n_kernel.load(Ordering::Relaxed),
        }
    }

    /// A kernel that was loaded.
    #[cfg(feature = "kernels")]
    pub(crate) fn kernel(&self, number: u16) -> Option<Arc<Kernel>> {
        let kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = kernels.iter();
        let found = known.find(|(known, _)| *known == number);
        found.map(|(_, kernel)| kernel.clone())
    }

    /// Keeps a kernel under its number in the file.
    #[cfg(feature = "kernels")]
    pub(crate) fn keep_kernel(&self, number: u16, kernel: Arc<Kernel>) {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        kernels.push((number, kernel));
    }

    /// The decoders of pages with this description that name no shared buffers: all columns share them.
    pub(crate) fn without_shared(
        &self,
        description: &Description,
        session: &Session,
    ) -> Result<Arc<Decoder>> {
        if let Some(decoder) = description.kept.get::<Arc<Decoder>>() {
            return Ok(decoder.clone());
        }
        let decoder = self.make(description, session, &[])?;
        description.kept.set(decoder.clone());
        // Another thread may have been faster.
        Ok(description.kept.get().cloned().unwrap_or(decoder))
    }

    /// Decoders of pages with this description and these shared buffers. A kernel that the pages need has been loaded.
    pub(crate) fn make(
        &self,
        description: &Description,
        session: &Session,
        shared: &[Arc<OwnedValues>],
    ) -> Result<Arc<Decoder>> {
        let meta = description.meta()?;
        let kernel = description.kernel();
        if session.decodes_natively(meta, kernel.is_some()) {
            let decoder = PageDecoder::new(&session.registry, meta, shared);
            let decoder = Decoder::Native(Box::new(decoder.map_err(while_reading)?));
            self.n_native.fetch_add(1, Ordering::Relaxed);
            return Ok(Arc::new(decoder));
        }
        #[cfg(feature = "kernels")]
        {
            let kernel = kernel.and_then(|number| self.kernel(number));
            let none = || Error::new(ErrorKind::Unsupported, "a kernel that was not loaded");
            let kernel = kernel.ok_or_else(none)?;
            let decoder = KernelDecoder::new(kernel, meta, description.bytes(), shared)?;
            self.n_kernel.fetch_add(1, Ordering::Relaxed);
            Ok(Arc::new(Decoder::Kernel(decoder)))
        }
        #[cfg(not(feature = "kernels"))]
        Err(Error::new(
            ErrorKind::Unsupported,
            "this build runs no kernels (feature `kernels`)",
        ))
    }
}

impl Decoder {
    /// This build's own decoders, if it is them.
    pub(crate) fn native(&self) -> Option<&PageDecoder> {
        match self {
            Self::Native(decoder) => Some(decoder),
            #[cfg(feature = "kernels")]
            Self::Kernel(_) => None,
        }
    }

    /// The kernel's decoder, if it is that.
    #[cfg(feature = "kernels")]
    pub(crate) fn kernel(&self) -> Option<&KernelDecoder> {
        match self {
            Self::Native(_) => None,
            Self::Kernel(decoder) => Some(decoder),
        }
    }

    /// Decodes the selected rows of the blocks of a flat page, in order, behind what `raw` holds.
    pub(crate) fn decode<B: AsRef<[u8]>>(
        &self,
        run: &PageRun<'_, B>,
        raw: &mut RawColumn,
        memory: &mut Memory<'_>,
    ) -> Result<()> {
        match self {
            Self::Native(decoder) => {
                for part in run.each() {
                    let selection = part.plan.selection(part.part);
                    part.with_block(Some(decoder), Some(run.checks), |decoder, block| {
                        raw.push(decoder, block, selection, memory.scratch, memory.take)
                    })?;
                }
                Ok(())
            }
            #[cfg(feature = "kernels")]
            Self::Kernel(decoder) => decoder.decode(run, raw, memory.take),
        }
    }
}
