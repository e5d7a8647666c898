//! The kernels that writers embed in files, as `cargo xtask build-wasm` built them.
//!
//! A reader of this version trusts them by their digests. They are committed, so that nobody needs a wasm32 toolchain
//! to write files that decode themselves; `cargo xtask build-wasm --check` proves that they come from this source.
#![forbid(unsafe_code)]

mod generated;

pub use generated::{ALL, CORE, FULL, HEAVY, NESTED};

use std::borrow::Cow;

/// A built kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// Name of the kernel for people.
    pub name: Cow<'static, str>,
    /// BLAKE3 over the module.
    pub digest: [u8; 32],
    /// Bytes of the module.
    pub raw_bytes: u64,
    /// The module as one zstd frame.
    pub compressed: Cow<'static, [u8]>,
    /// Whether it decodes nested and full-zip pages.
    pub nested: bool,
    /// The encodings it decodes, each in the newest version of a major one.
    pub encodings: Cow<'static, [KernelEncoding]>,
}

/// An encoding that a kernel decodes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KernelEncoding {
    /// Its id.
    pub id: Cow<'static, str>,
    /// The major version.
    pub major: u16,
    /// The newest minor version.
    pub minor: u16,
}

impl KernelEncoding {
    /// An encoding of this build.
    pub const fn new(id: &'static str, major: u16, minor: u16) -> Self {
        Self {
            id: Cow::Borrowed(id),
            major,
            minor,
        }
    }
}

impl Kernel {
    /// Whether it decodes an encoding of this version.
    pub fn decodes(&self, id: &str, major: u16, minor: u16) -> bool {
        let mut known = self.encodings.iter();
        known.any(|known| known.id == id && known.major == major && known.minor >= minor)
    }

    /// A kernel of one's own, of the module that was built of a crate with `tarsia_kernel_guest::export_kernel!`: for
    /// writers to embed. `nested` says whether it was built with the feature of that name, `encodings` (id, major and
    /// minor version) what its registry holds.
    ///
    /// # Errors
    /// What zstd says of a module that cannot be compressed.
    #[cfg(feature = "compress")]
    pub fn of_module(
        name: &str,
        wasm: &[u8],
        nested: bool,
        encodings: impl IntoIterator<Item = (String, u16, u16)>,
    ) -> std::io::Result<Self> {
        const ZSTD_LEVEL: i32 = 19;
        let mut encodings: Vec<_> = encodings
            .into_iter()
            .map(|(id, major, minor)| KernelEncoding {
                id: id.into(),
                major,
                minor,
            })
            .collect();
        encodings.sort();
        Ok(Self {
            name: name.to_owned().into(),
            digest: blake3::hash(wasm).into(),
            raw_bytes: wasm.len() as u64,
            compressed: zstd::bulk::compress(wasm, ZSTD_LEVEL)?.into(),
            nested,
            encodings: encodings.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_modules_are_those_of_the_table() {
        let sets = tarsia_encodings::KERNELS;
        assert_eq!(ALL.len(), sets.len());
        for (kernel, set) in ALL.iter().zip(sets) {
            assert_eq!((&*kernel.name, kernel.nested), (set.name, set.nested));
            assert!(kernel.raw_bytes < set.raw_bytes_max, "{}", kernel.name);
            assert!((kernel.compressed.len() as u64) < kernel.raw_bytes);
            assert!(kernel.encodings.is_sorted());
            for row in set.rows() {
                let (id, version) = (row.encoding.id(), row.encoding.version());
                assert!(
                    kernel.decodes(id, version.major, version.minor),
                    "{id} is not in the kernel {}: run `cargo xtask build-wasm`",
                    kernel.name
                );
            }
            assert_eq!(kernel.encodings.len(), set.rows().count());
        }
        assert!(ALL.is_sorted_by_key(|kernel| kernel.compressed.len()));
    }

    #[test]
    fn versions_are_compared() {
        let KernelEncoding { id, major, minor } = &CORE.encodings[0];
        assert!(CORE.decodes(id, *major, *minor));
        assert!(!CORE.decodes(id, *major, minor + 1));
        assert!(!CORE.decodes(id, major + 1, *minor));
        assert!(!CORE.decodes("nobody.knows", *major, *minor));
    }

    #[cfg(feature = "compress")]
    #[test]
    fn a_kernel_of_ones_own_keeps_its_module() {
        let wasm = b"\0asm\x01\0\0\0".repeat(10);
        let encodings = [("org.example.b", 2, 1), ("org.example.a", 1, 0)];
        let encodings = encodings.map(|(id, major, minor)| (id.to_owned(), major, minor));
        let kernel = Kernel::of_module("mine", &wasm, true, encodings).unwrap();
        assert!(kernel.encodings.is_sorted() && kernel.decodes("org.example.b", 2, 0));
        assert_eq!(
            zstd::bulk::decompress(&kernel.compressed, 1 << 10).unwrap(),
            wasm
        );
    }
}
