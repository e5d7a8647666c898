//! The kernels that writers embed in files, as `cargo xtask build-wasm` built them.
//!
//! A reader of this version trusts them by their digests. They are committed, so that nobody needs a wasm32 toolchain to write files
//! that decode themselves; `cargo xtask build-wasm --check` proves that they come from this source.
#![forbid(unsafe_code)]

mod generated;

pub use generated::{CORE, NESTED};

/// A built kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kernel {
    /// What people call it.
    pub name: &'static str,
    /// BLAKE3 over the module.
    pub digest: [u8; 32],
    /// Bytes of the module.
    pub raw_bytes: u64,
    /// The module as one zstd frame.
    pub compressed: &'static [u8],
    /// Whether it decodes nested pages.
    pub nested: bool,
    /// Id, major and minor version of each encoding it decodes, sorted.
    pub encodings: &'static [(&'static str, u16, u16)],
}

/// All of them, smallest first.
pub static ALL: [&Kernel; 2] = [&CORE, &NESTED];

impl Kernel {
    /// Whether it decodes an encoding of this version.
    pub fn decodes(&self, id: &str, major: u16, minor: u16) -> bool {
        self.encodings
            .iter()
            .any(|known| (known.0, known.1) == (id, major) && known.2 >= minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_modules_are_small_and_sorted() {
        assert!(CORE.raw_bytes < 96 << 10);
        assert!(!CORE.nested && NESTED.nested);
        assert!(ALL.is_sorted_by_key(|kernel| kernel.compressed.len()));
        for kernel in ALL {
            assert!((kernel.compressed.len() as u64) < kernel.raw_bytes);
            assert!(kernel.encodings.is_sorted());
        }
    }

    #[test]
    fn versions_are_compared() {
        let (id, major, minor) = CORE.encodings[0];
        assert!(CORE.decodes(id, major, minor));
        assert!(!CORE.decodes(id, major, minor + 1));
        assert!(!CORE.decodes(id, major + 1, minor));
        assert!(!CORE.decodes("nobody.knows", major, minor));
    }
}
