//! The digest tree of a metadata region of which a few leaves changed.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::{DIGEST_BYTES, Digest, Kind, LEAF_BYTES, NODE_CHILDREN, RegionError, digest};

/// The digest of a leaf: of up to [`LEAF_BYTES`] bytes of the metadata region.
pub fn leaf_digest(index: u32, bytes: &[u8]) -> Digest {
    digest(Kind::Leaf, [0, 0, index], &[bytes])
}

/// Bytes of the stored tree over a region of `region_bytes`: all levels without the top one.
pub fn stored_tree_bytes(region_bytes: u64) -> u64 {
    let mut nodes = leaves(region_bytes);
    let mut stored = 0u64;
    while nodes > 1 {
        stored += nodes;
        nodes = nodes.div_ceil(NODE_CHILDREN as u64);
    }
    // A region of 2^64 bytes has fewer than 2^53 nodes.
    stored * DIGEST_BYTES as u64
}

/// An empty region has one leaf.
fn leaves(region_bytes: u64) -> u64 {
    region_bytes.div_ceil(LEAF_BYTES as u64).max(1)
}

/// Changes of a digest tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeUpdate {
    /// New bytes of the stored tree and their offsets in it. They rise and do not touch each other.
    pub changes: Vec<(u64, Vec<u8>)>,
    /// The new top.
    pub top: Digest,
}

/// The tree over a region of `region_bytes`, of which the `leaves` (index and new [`leaf_digest`], in any order)
/// changed; the length of the region did not. `read_stored` returns a byte range of the stored tree as it was. The
/// children of a node that changes are read, unless all of them changed; no range is read twice.
///
/// What is read is not checked; [`verify_region`](crate::verify_region) does.
///
/// # Errors
/// What `read_stored` returns; [`RegionError::NoSuchLeaf`], [`RegionError::TooLarge`] and
/// [`RegionError::NothingStored`] for arguments that do not fit, [`RegionError::Read`] where `read_stored` returns
/// another number of bytes.
pub fn update_tree<E: From<RegionError>>(
    region_bytes: u64,
    leaves: &[(u32, Digest)],
    mut read_stored: impl FnMut(Range<u64>) -> Result<Vec<u8>, E>,
) -> Result<TreeUpdate, E> {
    let children_max = NODE_CHILDREN as u64;
    let n_leaves = self::leaves(region_bytes);
    if n_leaves > 1 << 32 {
        return Err(RegionError::TooLarge {
            bytes: region_bytes,
        }
        .into());
    }
    let mut changed: BTreeMap<u64, Digest> = leaves
        .iter()
        .map(|(index, digest)| (u64::from(*index), *digest))
        .collect();
    if let Some((index, _)) = changed.last_key_value()
        && *index >= n_leaves
    {
        return Err(RegionError::NoSuchLeaf {
            index: *index,
            leaves: n_leaves,
        }
        .into());
    }
    let mut changes = Changes(Vec::new());
    // Of the level: its first node in the stored tree, its nodes, its height.
    let (mut first, mut nodes, mut height) = (0u64, n_leaves, 0u32);
    while nodes > 1 {
        height += 1;
        let parents = nodes.div_ceil(children_max);
        let mut touched: Vec<u64> = changed.keys().map(|index| index / children_max).collect();
        touched.dedup();
        if parents == 1 && touched.is_empty() {
            // Nothing changed: the top is still to be computed.
            touched.push(0);
        }
        let mut above = BTreeMap::new();
        for parent in touched {
            let start = parent * children_max;
            let range = start..(start + children_max).min(nodes);
            let n_changed = changed.range(range.clone()).count() as u64;
            let mut children = if n_changed == range.end - range.start {
                vec![[0; DIGEST_BYTES]; n_changed as usize]
            } else {
                read_nodes(first + range.start..first + range.end, &mut read_stored)?
            };
            for ((index, child), at) in children.iter_mut().enumerate().zip(range) {
                if let Some(new) = changed.get(&at) {
                    *child = *new;
                    changes.push(first + start + index as u64, new);
                }
            }
            // Fewer than 2^32 leaves have fewer parents.
            let numbers = [0, height, parent as u32];
            let node = digest(Kind::Node, numbers, &[children.as_flattened()]);
            above.insert(parent, node);
        }
        changed = above;
        first += nodes;
        nodes = parents;
    }
    match changed.first_key_value() {
        Some((_, top)) => Ok(TreeUpdate {
            changes: changes.0,
            top: *top,
        }),
        None => Err(RegionError::NothingStored.into()),
    }
}

/// The digests of nodes, counted from the start of the stored tree.
fn read_nodes<E: From<RegionError>>(
    nodes: Range<u64>,
    read_stored: &mut impl FnMut(Range<u64>) -> Result<Vec<u8>, E>,
) -> Result<Vec<Digest>, E> {
    let range = nodes.start * DIGEST_BYTES as u64..nodes.end * DIGEST_BYTES as u64;
    let bytes = read_stored(range.clone())?;
    let (digests, rest) = bytes.as_chunks::<DIGEST_BYTES>();
    if digests.len() as u64 != nodes.end - nodes.start || !rest.is_empty() {
        return Err(RegionError::Read {
            start: range.start,
            end: range.end,
            found: bytes.len() as u64,
        }
        .into());
    }
    Ok(digests.to_vec())
}

struct Changes(Vec<(u64, Vec<u8>)>);

impl Changes {
    /// Adds a node behind those that are there.
    fn push(&mut self, node: u64, digest: &Digest) {
        let place = node * DIGEST_BYTES as u64;
        match self.0.last_mut() {
            Some((start, bytes)) if *start + bytes.len() as u64 == place => {
                bytes.extend_from_slice(digest);
            }
            _ => self.0.push((place, digest.to_vec())),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::DigestTree;

    /// Updates `old` to the tree of `region`, of which `leaves` changed, and counts the bytes read.
    fn updated(old: &DigestTree, region: &[u8], leaves: &[usize]) -> (DigestTree, u64) {
        let leaves: Vec<_> = leaves
            .iter()
            .map(|index| {
                let end = region.len().min((index + 1) * LEAF_BYTES);
                let bytes = &region[index * LEAF_BYTES..end];
                (*index as u32, leaf_digest(*index as u32, bytes))
            })
            .collect();
        let mut read = 0;
        let update = update_tree::<RegionError>(region.len() as u64, &leaves, |range| {
            read += range.end - range.start;
            Ok(old.stored[range.start as usize..range.end as usize].to_vec())
        })
        .unwrap();
        let mut stored = old.stored.clone();
        let mut free = 0;
        for (at, bytes) in &update.changes {
            assert!(*at >= free && !bytes.is_empty());
            free = at + bytes.len() as u64 + 1;
            stored[*at as usize..*at as usize + bytes.len()].copy_from_slice(bytes);
        }
        let top = update.top;
        (DigestTree { stored, top }, read)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn an_update_is_the_tree_of_the_changed_region(
            bytes in prop_oneof![0..5 * LEAF_BYTES, 0..4200 * LEAF_BYTES],
            seeds in proptest::collection::vec(any::<prop::sample::Index>(), 1..40),
            run in 0..200usize,
        ) {
            let old = vec![7; bytes];
            let tree = DigestTree::build(&old);
            prop_assert_eq!(stored_tree_bytes(bytes as u64), tree.stored.len() as u64);
            let n_leaves = leaves(bytes as u64) as usize;
            let mut changed: Vec<usize> = seeds.iter().map(|seed| seed.index(n_leaves)).collect();
            changed.extend((0..run).map(|at| at % n_leaves));
            let mut new = old;
            for leaf in &changed {
                if let Some(byte) = new.get_mut(leaf * LEAF_BYTES) {
                    *byte = (leaf % 200) as u8 + 9;
                }
            }
            let (got, _) = updated(&tree, &new, &changed);
            prop_assert_eq!(got, DigestTree::build(&new));
        }
    }

    #[test]
    fn only_the_children_of_changed_nodes_are_read() {
        let old = vec![0; LEAF_BYTES * 64 * 65];
        let tree = DigestTree::build(&old);
        let mut new = old;
        new[LEAF_BYTES * 70] = 1;
        let (got, read) = updated(&tree, &new, &[70]);
        assert_eq!(got, DigestTree::build(&new));
        // 64 leaves, the 64 nodes of level 1 under one of level 2, the two nodes of level 2.
        assert_eq!(read, (64 + 64 + 2) * 32);
        let whole: Vec<usize> = (64..128).collect();
        assert_eq!(updated(&tree, &new, &whole).1, (64 + 2) * 32);
        let all: Vec<usize> = (0..64 * 65).collect();
        assert_eq!(updated(&tree, &new, &all).1, 0);
        assert_eq!(updated(&tree, &vec![0; new.len()], &[]).0, tree);
    }

    #[test]
    fn arguments_that_do_not_fit_are_refused() {
        let none = |_| -> Result<Vec<u8>, RegionError> { Ok(vec![]) };
        let leaf = leaf_digest(0, b"");
        assert_eq!(
            update_tree(0, &[(0, leaf)], none).unwrap(),
            TreeUpdate {
                changes: vec![],
                top: DigestTree::build(b"").top
            }
        );
        assert_eq!(update_tree(9, &[], none), Err(RegionError::NothingStored));
        assert_eq!(
            update_tree(9, &[(1, leaf)], none),
            Err(RegionError::NoSuchLeaf {
                index: 1,
                leaves: 1
            })
        );
        assert_eq!(
            update_tree(5000, &[(1, leaf)], none),
            Err(RegionError::Read {
                start: 0,
                end: 64,
                found: 0
            })
        );
        assert!(matches!(
            update_tree(u64::MAX, &[], none),
            Err(RegionError::TooLarge { .. })
        ));
        assert!(stored_tree_bytes(u64::MAX) > 1 << 57);
    }
}
