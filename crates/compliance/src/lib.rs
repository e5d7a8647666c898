//! BLAKE3 digests from block to file root: the tree that `verify` checks, and of which an erasure recomputes the
//! touched paths. Sets of rows, salts, the journal of a modification, and certificates of erasures (feature
//! `certificate`).
//!
//! The input of every hash starts with 16 bytes that say what is hashed: kind, three zero bytes, three u32
//! (`docs/spec/file.md`, Digests). A block that is moved to another column, page or index therefore has another digest.
//!
//! | digest | function | bytes kept |
//! |---|---|---|
//! | block | [`block_digest`], [`stored_block_digest`] | 16, or 32 where it stands for its page |
//! | page | [`page_digest`] | 32 |
//! | column | [`column_digest`] | 32 |
//! | section | [`section_digest`] | 32 |
//! | metadata region | [`DigestTree`], [`verify_region`], [`update_tree`] | 32 per 4 KiB and inner node |
//! | file | [`root_digest`] | 32 |
//! | set of rows | [`RowSet::digest`] | 32 |
//! | journal | [`journal_digest`] | 16 |
//!
//! # What this crate does not do
//! It reads and writes no file and knows no layout.
#![forbid(unsafe_code)]

mod bytes;
#[cfg(feature = "certificate")]
pub mod certificate;
mod journal;
mod row_set;
mod salts;
mod update;

use std::ops::RangeInclusive;

use blake3::Hasher;

pub use journal::{
    Change, FileState, JOURNAL_FIRST_PLACE, JOURNAL_MAGIC, JOURNAL_RECORD_BYTES_MAX, Journal,
    JournalError, JournalHasher, JournalReader, journal_digest,
};
pub use row_set::{Ranges, RowSet, RowSetError};
pub use salts::{SALT_BYTES, Salts};
pub use update::{TreeUpdate, leaf_digest, stored_tree_bytes, update_tree};

/// Bytes of a digest from page upward.
pub const DIGEST_BYTES: usize = 32;

/// Bytes that are stored of a block's digest if its page has several blocks.
pub const BLOCK_DIGEST_BYTES: usize = 16;

/// Bytes of the metadata region under one leaf.
pub const LEAF_BYTES: usize = 4096;

/// Children of an inner node.
pub const NODE_CHILDREN: usize = 64;

/// Number of a column's first shared page. Data pages count from 0.
pub const SHARED_PAGE_FIRST: u32 = 1 << 31;

/// A digest from page upward.
pub type Digest = [u8; DIGEST_BYTES];

/// The stored bytes of a block's digest.
pub type BlockDigest = [u8; BLOCK_DIGEST_BYTES];

#[derive(Clone, Copy)]
enum Kind {
    Block = 1,
    Page = 2,
    Column = 3,
    Leaf = 4,
    Node = 5,
    Root = 6,
    Section = 7,
    RowSet = 8,
}

/// Bytes before what is hashed.
const BINDING_BYTES: usize = 16;

/// Inputs of so many bytes are copied behind the first 16 bytes and hashed in one piece. In two pieces, BLAKE3 hashes
/// the first KiB one by one instead of eight at once: all digests of a file with blocks of 11 KiB took 1.5 times as
/// long. Long inputs do not feel it.
const IN_ONE_PIECE: RangeInclusive<usize> = 2 << 10..=128 << 10;

fn binding(kind: Kind, numbers: [u32; 3]) -> [u8; BINDING_BYTES] {
    let mut binding = [0; BINDING_BYTES];
    binding[0] = kind as u8;
    for (to, number) in binding[4..].chunks_exact_mut(4).zip(numbers) {
        to.copy_from_slice(&number.to_le_bytes());
    }
    binding
}

/// A hasher that has seen the first 16 bytes.
fn hasher(kind: Kind, numbers: [u32; 3]) -> Hasher {
    let mut hasher = Hasher::new();
    hasher.update(&binding(kind, numbers));
    hasher
}

fn digest(kind: Kind, numbers: [u32; 3], parts: &[&[u8]]) -> Digest {
    let bytes = parts.iter().map(|part| part.len()).sum::<usize>();
    if IN_ONE_PIECE.contains(&bytes) {
        let mut whole = Vec::with_capacity(BINDING_BYTES + bytes);
        whole.extend_from_slice(&binding(kind, numbers));
        for part in parts {
            whole.extend_from_slice(part);
        }
        return *blake3::hash(&whole).as_bytes();
    }
    let mut hasher = hasher(kind, numbers);
    for part in parts {
        hasher.update(part);
    }
    *hasher.finalize().as_bytes()
}

/// The digest of a block: of its header, payload and padding.
pub fn block_digest(column: u32, page: u32, block: u32, place: &[u8]) -> Digest {
    digest(Kind::Block, [column, page, block], &[place])
}

/// The bytes of a block's digest that are stored if its page has several blocks.
pub fn stored_block_digest(digest: &Digest) -> BlockDigest {
    let mut kept = [0; BLOCK_DIGEST_BYTES];
    kept.copy_from_slice(&digest[..BLOCK_DIGEST_BYTES]);
    kept
}

/// The digest of a page of two blocks or more. A page of one block has its block's digest instead.
pub fn page_digest(column: u32, page: u32, blocks: &[BlockDigest]) -> Digest {
    // A page has fewer than 2^32 blocks, since its rows are counted in 32 bits.
    let numbers = [column, page, blocks.len() as u32];
    digest(Kind::Page, numbers, &[blocks.as_flattened()])
}

/// The digest of a column. If it has one page and no shared page, that is the page's digest.
pub fn column_digest(column: u32, pages: &[Digest], dictionaries: &[Digest]) -> Digest {
    if let ([page], []) = (pages, dictionaries) {
        return *page;
    }
    let numbers = [column, pages.len() as u32, dictionaries.len() as u32];
    digest(
        Kind::Column,
        numbers,
        &[pages.as_flattened(), dictionaries.as_flattened()],
    )
}

/// The digest of a section of the metadata region, without padding.
pub fn section_digest(id: u32, bytes: &[u8]) -> Digest {
    digest(Kind::Section, [id, 0, 0], &[bytes])
}

/// The digest tree over the metadata region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestTree {
    /// All nodes below the root, as they lie in the file: the leaves first, then the nodes above them. Empty for a
    /// region of one leaf.
    pub stored: Vec<u8>,
    /// The root.
    pub top: Digest,
}

impl DigestTree {
    /// The tree over a region. An empty region has one empty leaf.
    pub fn build(region: &[u8]) -> Self {
        let mut level: Vec<Digest> = leaves(region).collect();
        let mut stored = Vec::new();
        let mut height = 0;
        while level.len() > 1 {
            stored.extend_from_slice(level.as_flattened());
            height += 1;
            level = level
                .chunks(NODE_CHILDREN)
                .zip(0..)
                .map(|(children, index)| {
                    digest(Kind::Node, [0, height, index], &[children.as_flattened()])
                })
                .collect();
        }
        Self {
            stored,
            top: level.first().copied().unwrap_or_default(),
        }
    }
}

fn leaves(region: &[u8]) -> impl Iterator<Item = Digest> {
    let empty = region.is_empty().then_some(&[][..]);
    region
        .chunks(LEAF_BYTES)
        .chain(empty)
        .zip(0..)
        .map(|(bytes, index)| digest(Kind::Leaf, [0, 0, index], &[bytes]))
}

/// Why a metadata region and its stored tree do not belong together, or a tree cannot be updated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegionError {
    /// A leaf's bytes were changed.
    #[error("bytes {start}..{end} of the metadata region were changed")]
    Leaf {
        /// First byte of the leaf in the region.
        start: u64,
        /// Its end in the region.
        end: u64,
    },
    /// The tree has another size than the region asks for.
    #[error("the digest tree has {found} bytes, the region needs {needed}")]
    Size {
        /// Its size in bytes.
        found: u64,
        /// The size that the region asks for.
        needed: u64,
    },
    /// An inner node is not the digest of its children.
    #[error("byte {at} of the digest tree was changed")]
    Node {
        /// First byte of the node in the stored tree.
        at: u64,
    },
    /// A leaf is named that the region does not have.
    #[error("the metadata region has {leaves} leaves, so no leaf {index}")]
    NoSuchLeaf {
        /// The leaf, counted from 0.
        index: u64,
        /// Leaves of the region.
        leaves: u64,
    },
    /// The region has more leaves than are counted in 32 bits.
    #[error("a metadata region of {bytes} bytes is too large")]
    TooLarge {
        /// Its bytes.
        bytes: u64,
    },
    /// Other bytes came than were asked for.
    #[error("bytes {start}..{end} of the digest tree were asked for, {found} bytes came")]
    Read {
        /// First byte in the stored tree.
        start: u64,
        /// The end in the stored tree.
        end: u64,
        /// Bytes that came.
        found: u64,
    },
    /// The region is one leaf, of which nothing is stored, and its digest was not given.
    #[error("a metadata region of one leaf stores no digest to start from")]
    NothingStored,
}

/// Whether `stored` is the tree over `region`.
///
/// # Errors
/// [`RegionError`] names the first leaf or node that is wrong.
pub fn verify_region(region: &[u8], stored: &[u8]) -> Result<(), RegionError> {
    let tree = DigestTree::build(region);
    if tree.stored.len() != stored.len() {
        return Err(RegionError::Size {
            found: stored.len() as u64,
            needed: tree.stored.len() as u64,
        });
    }
    let n_leaves = region.len().div_ceil(LEAF_BYTES);
    let nodes = tree
        .stored
        .chunks(DIGEST_BYTES)
        .zip(stored.chunks(DIGEST_BYTES));
    for (index, (computed, found)) in nodes.enumerate() {
        if computed == found {
            continue;
        }
        if index >= n_leaves {
            return Err(RegionError::Node {
                at: (index * DIGEST_BYTES) as u64,
            });
        }
        let start = index * LEAF_BYTES;
        return Err(RegionError::Leaf {
            start: start as u64,
            end: (start + LEAF_BYTES).min(region.len()) as u64,
        });
    }
    Ok(())
}

/// The digest of a whole file. `header` is its first 64 bytes or more; `postscript` has digest and checksum zeroed.
pub fn root_digest(header: &[u8], top: &Digest, footer: &[u8], postscript: &[u8]) -> Digest {
    /// The state slots after them may change; the digest does not cover them.
    const HEADER_FIXED_BYTES: usize = 64;
    let header = &header[..header.len().min(HEADER_FIXED_BYTES)];
    digest(Kind::Root, [0; 3], &[header, top, footer, postscript])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(len: usize) -> Vec<u8> {
        (0..len).map(|i| (i * 31 % 251) as u8).collect()
    }

    #[test]
    fn digests_bind_their_place() {
        let base = block_digest(1, 2, 3, b"oak");
        for other in [
            block_digest(0, 2, 3, b"oak"),
            block_digest(1, 0, 3, b"oak"),
            block_digest(1, 2, 0, b"oak"),
            block_digest(1, 2, 3, b"elm"),
        ] {
            assert_ne!(base, other);
        }
        let kept = stored_block_digest(&base);
        assert_eq!(kept, base[..16]);
        assert_ne!(page_digest(1, 2, &[kept]), page_digest(1, 3, &[kept]));
        assert_eq!(column_digest(5, &[base], &[]), base);
        assert_ne!(column_digest(5, &[base], &[base]), base);
        assert_ne!(
            column_digest(5, &[base, base], &[]),
            column_digest(5, &[base], &[base])
        );
    }

    #[test]
    fn the_input_is_the_specs() {
        let mut input = vec![1, 0, 0, 0, 7, 0, 0, 0, 8, 0, 0, 0, 9, 0, 0, 0];
        input.extend_from_slice(b"payload");
        assert_eq!(
            block_digest(7, 8, 9, b"payload"),
            *blake3::hash(&input).as_bytes()
        );
        // In one piece or several.
        let (&shortest, &longest) = (IN_ONE_PIECE.start(), IN_ONE_PIECE.end());
        for len in [0, 1, shortest - 1, shortest, 11_000, longest, longest + 1] {
            let block = region(len);
            input.truncate(BINDING_BYTES);
            input.extend_from_slice(&block);
            let expected = *blake3::hash(&input).as_bytes();
            assert_eq!(block_digest(7, 8, 9, &block), expected, "{len}");
        }
    }

    #[test]
    fn every_changed_leaf_and_node_is_named() {
        for len in [
            0,
            1,
            LEAF_BYTES,
            LEAF_BYTES + 1,
            LEAF_BYTES * 64,
            LEAF_BYTES * 65 + 9,
        ] {
            let good = region(len);
            let tree = DigestTree::build(&good);
            assert_eq!(verify_region(&good, &tree.stored), Ok(()), "{len}");
            for at in (0..len).step_by(LEAF_BYTES / 2 + 1) {
                let mut bad = good.clone();
                bad[at] ^= 1;
                assert_ne!(DigestTree::build(&bad).top, tree.top);
                if len > LEAF_BYTES {
                    let start = (at / LEAF_BYTES * LEAF_BYTES) as u64;
                    match verify_region(&bad, &tree.stored) {
                        Err(RegionError::Leaf { start: found, .. }) => assert_eq!(found, start),
                        other => panic!("{other:?}"),
                    }
                }
            }
            for at in (0..tree.stored.len()).step_by(29) {
                let mut bad = tree.stored.clone();
                bad[at] ^= 0x80;
                assert!(verify_region(&good, &bad).is_err());
            }
            assert!(matches!(
                verify_region(&good, &[&tree.stored[..], &[0]].concat()),
                Err(RegionError::Size { .. })
            ));
        }
    }

    #[test]
    fn the_root_does_not_depend_on_the_slots() {
        let mut header = region(192);
        let root = root_digest(&header, &[1; 32], b"footer", b"postscript");
        header[100] ^= 1;
        assert_eq!(
            root,
            root_digest(&header, &[1; 32], b"footer", b"postscript")
        );
        header[10] ^= 1;
        assert_ne!(
            root,
            root_digest(&header, &[1; 32], b"footer", b"postscript")
        );
    }
}
