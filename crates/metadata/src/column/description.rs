//! Descriptions of pages: META, the kernel, and the shared pages that decoding needs.

use tarsia_codec::limits::SHARED_BUFFERS_MAX;

use super::page::FileBounds;
use crate::{Error, MetaBlob, Result};

/// META of pages: in the footer, or beside the column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetaRef<'a> {
    /// The footer's, by its index.
    Common(u16),
    /// The column's own.
    Own {
        /// META, as the page writer made it.
        bytes: &'a [u8],
        /// Index among the kernels of the file; `None` where it carries no kernel for these pages.
        kernel: Option<u16>,
    },
}

/// META of pages, as [`MetaRef`], with bytes of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageMeta {
    /// The footer's, by its index.
    Common(u16),
    /// The column's own.
    Own(MetaBlob),
}

/// Things that pages have in common if they are decoded in the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageDescription {
    /// META, and the kernel.
    pub meta: PageMeta,
    /// Numbers of the shared pages in the order of the shared buffers that META lists; empty where it lists none.
    pub shared: Vec<u32>,
}

impl MetaRef<'_> {
    /// Checks that the footer has the META, or that the file has the kernel. `at` is where this is stored.
    pub(super) fn check(&self, bounds: &FileBounds, at: usize) -> Result<()> {
        match *self {
            Self::Common(index) if u32::from(index) >= bounds.n_metas => {
                let allowed = "the META blobs of the footer";
                Err(Error::corrupt("page.meta", at, index, allowed))
            }
            Self::Own {
                kernel: Some(kernel),
                ..
            } if u32::from(kernel) >= bounds.n_kernels || kernel == u16::MAX => {
                let allowed = "a kernel of the file";
                Err(Error::corrupt("page.kernel", at, kernel, allowed))
            }
            Self::Common(_) | Self::Own { .. } => Ok(()),
        }
    }

    /// Returns it with bytes of its own.
    pub fn to_owned(&self) -> PageMeta {
        match *self {
            Self::Common(index) => PageMeta::Common(index),
            Self::Own { bytes, kernel } => PageMeta::Own(MetaBlob {
                bytes: bytes.to_vec(),
                kernel,
            }),
        }
    }
}

impl PageMeta {
    /// Borrows it.
    pub fn as_ref(&self) -> MetaRef<'_> {
        match self {
            Self::Common(index) => MetaRef::Common(*index),
            Self::Own(blob) => MetaRef::Own {
                bytes: &blob.bytes,
                kernel: blob.kernel,
            },
        }
    }
}

impl PageDescription {
    /// The description of pages without shared buffers.
    pub fn of_meta(meta: PageMeta) -> Self {
        Self {
            meta,
            shared: Vec::new(),
        }
    }

    /// Checks what it says of the file alone.
    pub(super) fn check(&self, bounds: &FileBounds) -> Result<()> {
        self.meta.as_ref().check(bounds, 0)?;
        match self.shared.len() {
            0..=SHARED_BUFFERS_MAX => Ok(()),
            more => {
                let allowed = "0 ..= 32 shared pages";
                Err(Error::corrupt("page.shared", 0, more, allowed))
            }
        }
    }

    /// Checks that it names shared pages with a number below `end` alone.
    pub(super) fn check_shared(&self, end: usize) -> Result<()> {
        let beyond = |number: &&u32| **number as usize >= end;
        match self.shared.iter().find(beyond) {
            None => Ok(()),
            Some(number) => {
                let allowed = "shared pages that come before the page";
                Err(Error::corrupt("page.shared", 0, *number, allowed))
            }
        }
    }
}
