//! The page descriptions (META) of a file, each once: those that many columns share go into the footer, the others lie
//! beside their column.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use tarsia_codec::Registry;
use tarsia_kernels::Kernel;
use tarsia_metadata::limits::{
    COMMON_METAS_BYTES_MAX, ENCODING_OVERHEAD_BYTES, ENCODINGS_BYTES_MAX, KERNELS_MAX,
    META_OVERHEAD_BYTES,
};
use tarsia_metadata::{EncodingUse, MetaBlob, PageMeta};
use tarsia_structure::Meta;

use crate::error::{Error, ErrorKind, Result};
use crate::write::kernels::{self, Needs};

/// The descriptions met so far, by their index.
#[derive(Default)]
pub(super) struct Metas {
    /// Kernels that may be embedded; `None` if none are to be.
    candidates: Option<Vec<Arc<Kernel>>>,
    known: Vec<KnownMeta>,
    index: HashMap<Arc<[u8]>, u32>,
    /// Needs of decoding pages, each once: there are few, whatever the number of descriptions.
    needs: Vec<Needs>,
    index_of_needs: HashMap<Needs, u32>,
}

struct KnownMeta {
    bytes: Arc<[u8]>,
    /// Index of what decoding the pages needs.
    needs: u32,
}

/// The parts of the file that are about all pages together.
pub(super) struct FooterParts {
    /// The encodings that the pages use.
    pub(super) encodings: Vec<EncodingUse>,
    /// The descriptions that lie in the footer.
    pub(super) common: Vec<MetaBlob>,
    /// The kernels to embed, in the order in which descriptions number them.
    pub(super) kernels: Vec<Arc<Kernel>>,
    /// How columns refer to each description, by its index.
    pub(super) of: Vec<PageMeta>,
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
    /// [`ErrorKind::Unsupported`] if no candidate decodes such pages.
    pub(super) fn index_of(&mut self, meta: &Meta) -> Result<u32> {
        let mut blob = Vec::new();
        meta.write_to(&mut blob)?;
        if let Some(index) = self.index.get(blob.as_slice()) {
            return Ok(*index);
        }
        let needs = self.needs_of(meta)?;
        let index = number(self.known.len())?;
        let bytes: Arc<[u8]> = blob.into();
        self.known.push(KnownMeta {
            bytes: bytes.clone(),
            needs,
        });
        self.index.insert(bytes, index);
        Ok(index)
    }

    fn needs_of(&mut self, meta: &Meta) -> Result<u32> {
        let needs = Needs::of(meta);
        if let Some(index) = self.index_of_needs.get(&needs) {
            return Ok(*index);
        }
        if let Some(candidates) = &self.candidates {
            kernels::check(candidates, &needs)?;
        }
        let index = number(self.needs.len())?;
        self.needs.push(needs.clone());
        self.index_of_needs.insert(needs, index);
        Ok(index)
    }

    /// Descriptions so far.
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// Hands over what the file says of its pages; nothing is left. `uses` says how many columns name each description.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if the candidates do not decode all pages.
    pub(super) fn finish(&mut self, uses: &[u32]) -> Result<FooterParts> {
        let all = std::mem::take(self);
        let (kernels, numbers) = match &all.candidates {
            Some(candidates) => kernels::choose(candidates, &all.needs)?,
            None => (Vec::new(), Vec::new()),
        };
        let blobs = all.known.iter().map(|meta| MetaBlob {
            bytes: meta.bytes.to_vec(),
            // Of a file that needs no kernel at all, none is named.
            kernel: match kernels.is_empty() {
                true => None,
                false => numbers.get(meta.needs as usize).copied(),
            },
        });
        let is_common = common(&all.known, uses);
        let (mut common, mut of) = (Vec::new(), Vec::with_capacity(all.known.len()));
        for (blob, is_common) in blobs.zip(is_common) {
            of.push(match is_common {
                true => {
                    common.push(blob);
                    // They all fit in the footer.
                    PageMeta::Common((common.len() - 1) as u16)
                }
                false => PageMeta::Own(blob),
            });
        }
        let encodings = all.needs.into_iter().flat_map(|needs| needs.encodings);
        let encodings: BTreeSet<_> = encodings.collect();
        Ok(FooterParts {
            encodings: encodings.into_iter().collect(),
            common,
            kernels,
            of,
        })
    }
}

/// Which descriptions go into the footer: those that more than one column names; if there is no room for all, those
/// that save most.
fn common(known: &[KnownMeta], uses: &[u32]) -> Vec<bool> {
    let stored = |meta: &KnownMeta| meta.bytes.len() + META_OVERHEAD_BYTES;
    let mut shared: Vec<(usize, usize)> = Vec::new();
    for (at, (meta, uses)) in known.iter().zip(uses).enumerate() {
        let saved = (*uses as usize).saturating_mul(meta.bytes.len());
        if saved > stored(meta) {
            shared.push((saved - stored(meta), at));
        }
    }
    // Of equals the one that came first.
    shared.sort_by_key(|(saved, at)| (std::cmp::Reverse(*saved), *at));
    let mut is_common = vec![false; known.len()];
    let mut bytes = 0;
    for (_, at) in shared {
        bytes += stored(&known[at]);
        if bytes > COMMON_METAS_BYTES_MAX {
            break;
        }
        is_common[at] = true;
    }
    is_common
}

/// Checks that all encodings and kernels that pages may use fit in the footer, before a page is written.
///
/// # Errors
/// [`ErrorKind::LimitExceeded`].
pub(super) fn check_footer(registry: &Registry, candidates: Option<&[Arc<Kernel>]>) -> Result<()> {
    let known = registry.writers().iter();
    let bytes = known.map(|known| known.writer.id().len() + ENCODING_OVERHEAD_BYTES);
    let bytes: usize = bytes.sum();
    let n_kernels = candidates.map_or(0, <[_]>::len);
    let what = match (bytes > ENCODINGS_BYTES_MAX, n_kernels > KERNELS_MAX) {
        (true, _) => {
            format!("a registry of encodings whose ids do not fit {ENCODINGS_BYTES_MAX} bytes")
        }
        (_, true) => format!("{n_kernels} kernels; a file carries at most {KERNELS_MAX}"),
        (false, false) => return Ok(()),
    };
    Err(Error::new(ErrorKind::LimitExceeded, what))
}

fn number(len: usize) -> Result<u32> {
    u32::try_from(len).map_err(|_| {
        let what = "2^32 different page descriptions";
        Error::new(ErrorKind::LimitExceeded, what)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_that_save_most_lie_in_the_footer_as_long_as_there_is_room() {
        let known: Vec<_> = (0..1000)
            .map(|i| KnownMeta {
                bytes: vec![i as u8; 40 + i % 3].into(),
                needs: 0,
            })
            .collect();
        let none = common(&known, &vec![1; 1000]);
        assert!(none.iter().all(|is_common| !is_common));
        let mut uses = vec![2; 1000];
        (uses[999], uses[500]) = (9, 8);
        let all = common(&known, &uses);
        assert!(all[999] && all[500]);
        let bytes: usize = known
            .iter()
            .zip(&all)
            .filter(|(_, is_common)| **is_common)
            .map(|(meta, _)| meta.bytes.len() + META_OVERHEAD_BYTES)
            .sum();
        assert!(bytes <= COMMON_METAS_BYTES_MAX, "{bytes}");
        assert!(bytes > COMMON_METAS_BYTES_MAX - 100, "{bytes}");
    }
}
