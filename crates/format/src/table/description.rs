//! Descriptions of pages: META, parsed when it is first needed, and the kernel that decodes the pages. Pages with the
//! same bytes share one, and with it their decoders.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tarsia_metadata::{MetaBlob, PageMeta};
use tarsia_structure::Meta;

use super::once_any::OnceAny;
use crate::error::{Error, ErrorKind, Result, while_reading};

/// META of pages, and the kernel that decodes them.
pub(crate) struct Description {
    blob: MetaBlob,
    parsed: OnceLock<Meta>,
    /// Decoders of pages without shared buffers, which the folder `decode` keeps here.
    pub(crate) kept: OnceAny,
}

impl Description {
    pub(crate) fn new(blob: MetaBlob) -> Self {
        Self {
            blob,
            parsed: OnceLock::new(),
            kept: OnceAny::default(),
        }
    }

    /// The parsed META.
    pub(crate) fn meta(&self) -> Result<&Meta> {
        if let Some(meta) = self.parsed.get() {
            return Ok(meta);
        }
        let meta = Meta::parse(&self.blob.bytes).map_err(while_reading)?;
        Ok(self.parsed.get_or_init(|| meta))
    }

    /// META as it is stored.
    pub(crate) fn blob(&self) -> &MetaBlob {
        &self.blob
    }

    /// The bytes of META, which a kernel parses by itself.
    #[cfg(feature = "kernels")]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.blob.bytes
    }

    /// The kernel for the pages, by its number among the file's kernels.
    pub(crate) fn kernel(&self) -> Option<u16> {
        self.blob.kernel
    }
}

/// The descriptions of a file that were met so far, each once.
pub(crate) struct Descriptions {
    /// The footer's, in its order.
    common: Vec<Arc<Description>>,
    /// Descriptions that lie beside columns.
    own: Mutex<HashMap<MetaBlob, Arc<Description>>>,
}

impl Descriptions {
    /// The descriptions of a footer.
    pub(crate) fn new(common: Vec<MetaBlob>) -> Self {
        let common = common.into_iter().map(Description::new);
        Self {
            common: common.map(Arc::new).collect(),
            own: Mutex::default(),
        }
    }

    fn own(&self) -> MutexGuard<'_, HashMap<MetaBlob, Arc<Description>>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The description that a column refers to.
    pub(crate) fn resolve(&self, meta: PageMeta) -> Result<Arc<Description>> {
        match meta {
            PageMeta::Common(index) => {
                let found = self.common.get(usize::from(index)).cloned();
                found.ok_or_else(|| {
                    let what = format!("page description {index} of {}", self.common.len());
                    Error::new(ErrorKind::Corrupt, what)
                })
            }
            PageMeta::Own(blob) => {
                let mut own = self.own();
                if let Some(known) = own.get(&blob) {
                    return Ok(known.clone());
                }
                let new = Arc::new(Description::new(blob.clone()));
                own.insert(blob, new.clone());
                Ok(new)
            }
        }
    }

    /// The footer's descriptions, in its order.
    pub(crate) fn common(&self) -> &[Arc<Description>] {
        &self.common
    }

    /// How many descriptions of those met so far name a kernel, and how many there are.
    pub(crate) fn naming(&self, kernel: usize) -> (u64, u64) {
        let own = self.own();
        let all = self.common.iter().chain(own.values());
        let names = |it: &&Arc<Description>| it.kernel().map(usize::from) == Some(kernel);
        (all.clone().filter(names).count() as u64, all.count() as u64)
    }
}
