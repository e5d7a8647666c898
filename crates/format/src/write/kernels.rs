//! Which kernels a writer embeds, and which of them each page description names.

use std::sync::Arc;

use tarsia_kernels::Kernel;
use tarsia_metadata::EncodingUse;
use tarsia_structure::{Layout, Meta};

use crate::error::{Error, ErrorKind, Result};

/// Up to so many kernels all combinations are tried; of more, the smallest that decodes each page is taken.
const COMBINED_MAX: usize = 12;

/// Needs of decoding the pages of one description.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Needs {
    pub(super) encodings: Vec<EncodingUse>,
    nested: bool,
}

impl Needs {
    pub(crate) fn of(meta: &Meta) -> Self {
        Self {
            encodings: EncodingUse::of_trees(meta.all_trees()),
            nested: !meta.levels.is_empty() || meta.layout == Layout::FullZip,
        }
    }

    pub(crate) fn met_by(&self, kernel: &Kernel) -> bool {
        let decodes = |used: &EncodingUse| {
            let version = used.version;
            kernel.decodes(&used.id, version.major, version.minor)
        };
        (kernel.nested || !self.nested) && self.encodings.iter().all(decodes)
    }
}

/// The kernels that may be embedded, smallest first: those of this build, and others.
pub(crate) fn candidates(others: &[Arc<Kernel>]) -> Vec<Arc<Kernel>> {
    let built_in = tarsia_kernels::ALL
        .iter()
        .map(|kernel| Arc::new((*kernel).clone()));
    let mut all: Vec<_> = built_in.chain(others.iter().cloned()).collect();
    all.sort_by_key(|kernel| (kernel.compressed.len(), kernel.digest));
    all.dedup_by_key(|kernel| kernel.digest);
    all
}

/// Checks that some kernel decodes these pages.
///
/// # Errors
/// [`ErrorKind::Unsupported`], with what to do about it.
pub(crate) fn check(candidates: &[Arc<Kernel>], needs: &Needs) -> Result<()> {
    if candidates.iter().any(|kernel| needs.met_by(kernel)) {
        return Ok(());
    }
    let list: Vec<String> = needs
        .encodings
        .iter()
        .map(|used| format!("{} {}", used.id, used.version))
        .collect();
    let pages = if needs.nested {
        "nested pages"
    } else {
        "pages"
    };
    Err(Error::new(
        ErrorKind::Unsupported,
        format!(
            "no kernel at hand decodes {pages} encoded with {}: add one with WriteOptions::with_kernel, or write without \
             kernels (EmbedKernels::Omit)",
            list.join(", ")
        ),
    ))
}

/// The kernels to embed, which together decode the pages of all descriptions and take the fewest bytes to do so; and
/// for each description which of them is the smallest that decodes it.
///
/// # Errors
/// As [`check`].
pub(crate) fn choose(
    candidates: &[Arc<Kernel>],
    descriptions: &[Needs],
) -> Result<(Vec<Arc<Kernel>>, Vec<u16>)> {
    for needs in descriptions {
        check(candidates, needs)?;
    }
    let bytes = |kernel: &Kernel| kernel.compressed.len();
    let decodes_all = |kernels: &[&Arc<Kernel>]| {
        let met = |needs: &Needs| kernels.iter().any(|kernel| needs.met_by(kernel));
        descriptions.iter().all(met)
    };
    let chosen: Vec<&Arc<Kernel>> = match candidates.len() {
        ..=COMBINED_MAX => {
            let of_bits = |bits: u32| -> Vec<&Arc<Kernel>> {
                let numbered = candidates.iter().enumerate();
                let taken = numbered.filter(|(i, _)| bits >> i & 1 == 1);
                taken.map(|(_, kernel)| kernel).collect()
            };
            let combinations = (0..1u32 << candidates.len()).map(of_bits);
            let fitting = combinations.filter(|kernels| decodes_all(kernels));
            let size = |kernels: &Vec<&Arc<Kernel>>| -> usize {
                kernels.iter().map(|kernel| bytes(kernel)).sum()
            };
            fitting.min_by_key(size).unwrap_or_default()
        }
        _ => {
            let is_first = |kernel: &Arc<Kernel>| {
                descriptions.iter().any(|needs| {
                    let first = candidates.iter().find(|kernel| needs.met_by(kernel));
                    first.is_some_and(|first| first.digest == kernel.digest)
                })
            };
            candidates
                .iter()
                .filter(|kernel| is_first(kernel))
                .collect()
        }
    };
    let number = |needs: &Needs| {
        // Candidates come smallest first.
        let found = chosen.iter().position(|kernel| needs.met_by(kernel));
        found.unwrap_or_default() as u16
    };
    let numbers = descriptions.iter().map(number).collect();
    Ok((chosen.into_iter().cloned().collect(), numbers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarsia_codec::Version;
    use tarsia_kernels::KernelEncoding;

    fn kernel(name: &'static str, bytes: usize, nested: bool, ids: &[&'static str]) -> Arc<Kernel> {
        let encodings = ids.iter().map(|id| KernelEncoding::new(id, 1, 2));
        Arc::new(Kernel {
            name: name.into(),
            digest: [bytes as u8; 32],
            raw_bytes: bytes as u64 * 2,
            compressed: vec![0; bytes].into(),
            nested,
            encodings: encodings.collect(),
        })
    }

    fn needs(nested: bool, ids: &[(&str, u16)]) -> Needs {
        let of = |(id, minor): &(&str, u16)| EncodingUse {
            id: (*id).to_owned(),
            version: Version::new(1, *minor),
        };
        Needs {
            encodings: ids.iter().map(of).collect(),
            nested,
        }
    }

    #[test]
    fn the_fewest_bytes_that_decode_everything() {
        let kernels = [
            kernel("small", 30, false, &["a"]),
            kernel("nested", 50, true, &["a"]),
            kernel("other", 60, false, &["b"]),
            kernel("large", 100, true, &["a", "b"]),
        ];
        let check = |descriptions: &[Needs], expect: &[&str], numbers: &[u16]| {
            let (chosen, found) = choose(&kernels, descriptions).unwrap();
            let names: Vec<&str> = chosen.iter().map(|kernel| &*kernel.name).collect();
            assert_eq!((names.as_slice(), found.as_slice()), (expect, numbers));
        };
        let (flat, nested) = (needs(false, &[("a", 2)]), needs(true, &[("a", 0)]));
        let (other, both) = (
            needs(false, &[("b", 1)]),
            needs(false, &[("a", 1), ("b", 0)]),
        );
        check(&[], &[], &[]);
        check(std::slice::from_ref(&flat), &["small"], &[0]);
        // One that decodes both is smaller than one for each.
        check(&[flat.clone(), nested.clone()], &["nested"], &[0, 0]);
        check(&[flat.clone(), other.clone()], &["small", "other"], &[0, 1]);
        check(&[nested, other], &["large"], &[0, 0]);
        check(&[flat, both], &["large"], &[0, 0]);
    }

    #[test]
    fn what_no_kernel_decodes_is_an_error_that_says_what_to_do() {
        let kernels = [kernel("small", 30, false, &["a"])];
        for needs in [
            needs(true, &[("a", 0)]),
            needs(false, &[("a", 3)]),
            needs(false, &[("c", 0)]),
        ] {
            let error = choose(&kernels, &[needs]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(
                error.to_string().contains("WriteOptions::with_kernel"),
                "{error}"
            );
        }
    }

    #[test]
    fn candidates_are_smallest_first_and_named_once() {
        let mine = kernel("mine", 10, false, &["a"]);
        let all = candidates(&[mine.clone(), mine]);
        assert_eq!(all.len(), tarsia_kernels::ALL.len() + 1);
        assert_eq!(all[0].name, "mine");
        assert!(all.is_sorted_by_key(|kernel| kernel.compressed.len()));
    }
}
