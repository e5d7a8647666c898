//! The page descriptions (META) of a file, each stored once in its footer.

use std::collections::HashMap;
use std::sync::Arc;

use tarsia_codec::Tree;
use tarsia_kernels::Kernel;
use tarsia_metadata::limits::METAS_MAX;
use tarsia_metadata::{EncodingUse, MetaBlob};
use tarsia_structure::Meta;

use crate::error::{Error, ErrorKind, Result};
use crate::write::kernels::{self, Needs};

/// The descriptions met so far, by their index in the footer.
#[derive(Default)]
pub(super) struct Metas {
    /// Kernels that may be embedded; `None` if none are to be.
    candidates: Option<Vec<Arc<Kernel>>>,
    blobs: Vec<Vec<u8>>,
    /// Needs of decoding the pages of each.
    needs: Vec<Needs>,
    index: HashMap<Vec<u8>, u16>,
    /// Trees of all blobs.
    trees: Vec<Tree>,
}

/// The parts of the footer that are about all pages together.
pub(super) struct FooterParts {
    /// The encodings that the pages use.
    pub(super) encodings: Vec<EncodingUse>,
    pub(super) metas: Vec<MetaBlob>,
    /// The kernels to embed, in the order in which `metas` number them.
    pub(super) kernels: Vec<Arc<Kernel>>,
}

impl Metas {
    /// No descriptions yet. Each that comes has to be decoded by one of `candidates`, unless there is no list of them.
    pub(super) fn new(candidates: Option<Vec<Arc<Kernel>>>) -> Self {
        Self {
            candidates,
            ..Self::default()
        }
    }

    /// The index of a description.
    ///
    /// # Errors
    /// [`ErrorKind::LimitExceeded`] if there are too many; [`ErrorKind::Unsupported`] if no candidate decodes such
    /// pages.
    pub(super) fn index_of(&mut self, meta: &Meta) -> Result<u16> {
        let mut blob = Vec::new();
        meta.write_to(&mut blob)?;
        if let Some(index) = self.index.get(&blob) {
            return Ok(*index);
        }
        let n = self.blobs.len();
        let index = u16::try_from(n).ok().filter(|_| n < METAS_MAX);
        let index = index.ok_or_else(|| {
            let what = format!("more than {METAS_MAX} different page descriptions in a file");
            Error::new(ErrorKind::LimitExceeded, what)
        })?;
        let needs = Needs::of(meta);
        if let Some(candidates) = &self.candidates {
            kernels::check(candidates, &needs)?;
        }
        self.trees.extend(meta.all_trees().cloned());
        self.blobs.push(blob.clone());
        self.needs.push(needs);
        self.index.insert(blob, index);
        Ok(index)
    }

    /// Hands over what the footer holds; nothing is left.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if the candidates do not decode all pages.
    pub(super) fn finish(&mut self) -> Result<FooterParts> {
        let all = std::mem::take(self);
        let (kernels, numbers) = match &all.candidates {
            Some(candidates) => kernels::choose(candidates, &all.needs)?,
            None => (Vec::new(), Vec::new()),
        };
        // Of a file that needs no kernel at all, none is named.
        let numbers = numbers
            .into_iter()
            .map(|number| (!kernels.is_empty()).then_some(number))
            .chain(std::iter::repeat(None));
        let metas = all.blobs.into_iter().zip(numbers);
        Ok(FooterParts {
            encodings: EncodingUse::of_trees(&all.trees),
            metas: metas
                .map(|(bytes, kernel)| MetaBlob { bytes, kernel })
                .collect(),
            kernels,
        })
    }
}
