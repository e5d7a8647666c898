//! Trees of encodings, as META blobs carry them.
//!
//! # Layout of a tree (little-endian, nodes in pre-order)
//! | bytes | field | rule |
//! |---|---|---|
//! | 1 | `id_len` | 1 ..= [`limits::ENCODING_ID_BYTES_MAX`] |
//! | `id_len` | `id` | ASCII graphic characters |
//! | 2 + 2 | `major`, `minor` | version of the encoding's layout |
//! | 1 | `params_len` | 0 ..= [`limits::NODE_PARAMS_BYTES_MAX`] |
//! | `params_len` | `params` | the encoding's own; page-wide widths and counts only, never values |
//! | 1 | `n_shared` | shared buffers of the page that the node refers to, 0 ..= [`limits::SHARED_BUFFERS_MAX`] |
//! | `n_shared` | `shared` | their numbers in the page's list, each below [`limits::SHARED_BUFFERS_MAX`] |
//! | 1 | `n_children` | the children follow, each a tree |
//!
//! A tree has at most [`limits::TREE_NODES_MAX`] nodes and [`limits::TREE_DEPTH_MAX`] levels.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::toolbox::ByteReader;
use crate::{Encoding, Error, Node, NodeSpec, Result, Version, limits};

/// One node of a tree: an encoding, its page-wide parameters and its children.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TreeNode {
    /// The encoding's id, `tarsia.bitpack` or `org.example.leco`.
    pub id: String,
    /// The version of its layout.
    pub version: Version,
    /// Page-wide parameters: widths and counts, never values.
    pub params: Vec<u8>,
    /// The numbers of the page's shared buffers that the node refers to, in the encoding's order.
    pub shared: Vec<u8>,
    /// One tree per child, in the encoding's order.
    pub children: Vec<TreeNode>,
}

/// A tree is its root node.
pub type Tree = TreeNode;

impl TreeNode {
    /// A node without children.
    pub fn leaf(id: &str, version: Version, params: &[u8]) -> Self {
        Self::node(id, version, params, Vec::new())
    }

    /// A node with children.
    pub fn node(id: &str, version: Version, params: &[u8], children: Vec<Self>) -> Self {
        Self {
            id: id.to_owned(),
            version,
            params: params.to_owned(),
            shared: Vec::new(),
            children,
        }
    }

    /// Returns the node with the numbers of its shared buffers.
    #[must_use]
    pub fn with_shared(self, shared: &[u8]) -> Self {
        Self {
            shared: shared.to_owned(),
            ..self
        }
    }

    /// **check** for one node of a tree, at `depth` (the root has depth 1). Returns what the node needs, after checking
    /// that it has exactly that. Readers and writers both call this function.
    ///
    /// # Errors
    /// [`ErrorKind::LimitExceeded`](crate::ErrorKind::LimitExceeded) for a node that is too deep,
    /// [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) for a wrong number of children or shared buffers; also the
    /// errors of [`Encoding::check`].
    pub fn check(
        &self,
        encoding: &(impl Encoding + ?Sized),
        node: &Node<'_>,
        depth: u32,
    ) -> Result<NodeSpec> {
        if depth > limits::TREE_DEPTH_MAX {
            let max = limits::TREE_DEPTH_MAX.into();
            return Err(Error::limit("TREE_DEPTH_MAX", depth.into(), max));
        }
        let spec = encoding.check(node)?;
        if spec.children.len() != self.children.len() {
            let (found, allowed) = (
                self.children.len() as u64,
                "the number of children the encoding has",
            );
            return Err(Error::corrupt("tree.n_children", 0, found, allowed));
        }
        if spec.shared.len() != self.shared.len() {
            let (found, allowed) = (
                self.shared.len() as u64,
                "the number of shared buffers the encoding has",
            );
            return Err(Error::corrupt("tree.n_shared", 0, found, allowed));
        }
        Ok(spec)
    }

    /// Appends the layout above.
    ///
    /// # Errors
    /// [`ErrorKind::LimitExceeded`](crate::ErrorKind::LimitExceeded) or
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for what [`TreeNode::parse`] would refuse.
    pub fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        self.write_node(out);
        // The reader's own parser checks what was written.
        let written = out.get(start..).unwrap_or_default();
        let mut reader = ByteReader::new(written);
        let parsed = Self::parse(&mut reader)?;
        reader.finish("tree")?;
        match parsed == *self {
            true => Ok(()),
            false => Err(Error::invalid(
                "an encoding's id, parameters or children are too many",
            )),
        }
    }

    fn write_node(&self, out: &mut Vec<u8>) {
        // Lengths that do not fit their field are cut here; the parse that follows finds them.
        out.push(self.id.len() as u8);
        out.extend_from_slice(self.id.as_bytes());
        out.extend_from_slice(&self.version.major.to_le_bytes());
        out.extend_from_slice(&self.version.minor.to_le_bytes());
        out.push(self.params.len() as u8);
        out.extend_from_slice(&self.params);
        out.push(self.shared.len() as u8);
        out.extend_from_slice(&self.shared);
        out.push(self.children.len() as u8);
        for child in &self.children {
            child.write_node(out);
        }
    }

    /// Reads one tree. The reader then stands behind it.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`](crate::ErrorKind::Truncated), [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt),
    /// [`ErrorKind::LimitExceeded`](crate::ErrorKind::LimitExceeded).
    pub fn parse(reader: &mut ByteReader<'_>) -> Result<Self> {
        let mut n_nodes = 0;
        Self::parse_node(reader, 1, &mut n_nodes)
    }

    fn parse_node(reader: &mut ByteReader<'_>, depth: u32, n_nodes: &mut usize) -> Result<Self> {
        *n_nodes += 1;
        if *n_nodes > limits::TREE_NODES_MAX {
            let max = limits::TREE_NODES_MAX as u64;
            return Err(Error::limit("TREE_NODES_MAX", *n_nodes as u64, max));
        }
        if depth > limits::TREE_DEPTH_MAX {
            let max = limits::TREE_DEPTH_MAX.into();
            return Err(Error::limit("TREE_DEPTH_MAX", depth.into(), max));
        }
        let at = reader.position();
        let id_len = reader.u8("tree.id_len")?;
        if id_len == 0 || usize::from(id_len) > limits::ENCODING_ID_BYTES_MAX {
            return Err(Error::corrupt("tree.id_len", at, id_len, "1 ..= 64"));
        }
        let at = reader.position();
        let id = reader.take(id_len.into(), "tree.id")?;
        if !id.iter().all(u8::is_ascii_graphic) {
            let allowed = "ASCII graphic characters";
            return Err(Error::corrupt("tree.id", at, id_len, allowed));
        }
        // Does not use `from_utf8`, which kernels would link only for this.
        let id = id.iter().map(|byte| char::from(*byte)).collect();
        let version = Version::new(reader.u16("tree.major")?, reader.u16("tree.minor")?);
        let at = reader.position();
        let params_len = reader.u8("tree.params_len")?;
        if usize::from(params_len) > limits::NODE_PARAMS_BYTES_MAX {
            return Err(Error::corrupt(
                "tree.params_len",
                at,
                params_len,
                "0 ..= 64",
            ));
        }
        let params = reader.take(params_len.into(), "tree.params")?.to_owned();
        let at = reader.position();
        let n_shared = reader.u8("tree.n_shared")?;
        let shared = reader.take(n_shared.into(), "tree.shared")?.to_owned();
        let is_high = |number: &u8| usize::from(*number) >= limits::SHARED_BUFFERS_MAX;
        if usize::from(n_shared) > limits::SHARED_BUFFERS_MAX || shared.iter().any(is_high) {
            return Err(Error::corrupt(
                "tree.shared",
                at,
                n_shared,
                "0 ..= 32 numbers below 32",
            ));
        }
        let n_children = reader.u8("tree.n_children")?;
        let mut children = Vec::new();
        for _ in 0..n_children {
            children.push(Self::parse_node(reader, depth + 1, n_nodes)?);
        }
        Ok(Self {
            id,
            version,
            params,
            shared,
            children,
        })
    }

    /// Adds `offset` to the numbers of all shared buffers, so that several trees whose numbers start at 0 can be used
    /// in one page. Returns the number after the last.
    ///
    /// # Errors
    /// [`ErrorKind::LimitExceeded`](crate::ErrorKind::LimitExceeded) if a number would reach
    /// [`limits::SHARED_BUFFERS_MAX`].
    pub fn shift_shared(&mut self, offset: u8) -> Result<u8> {
        let mut end = offset;
        for number in &mut self.shared {
            let shifted = usize::from(*number) + usize::from(offset);
            if shifted >= limits::SHARED_BUFFERS_MAX {
                let max = limits::SHARED_BUFFERS_MAX as u64;
                return Err(Error::limit("SHARED_BUFFERS_MAX", shifted as u64 + 1, max));
            }
            *number = shifted as u8;
            end = end.max(*number + 1);
        }
        for child in &mut self.children {
            end = end.max(child.shift_shared(offset)?);
        }
        Ok(end)
    }

    /// The number of nodes.
    pub fn n_nodes(&self) -> usize {
        let mut n = 0;
        self.visit(&mut |_| n += 1);
        n
    }

    /// Calls `visit` for every node, parents first.
    pub fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'a TreeNode)) {
        visit(self);
        for child in &self.children {
            child.visit(visit);
        }
    }
}

impl fmt::Display for TreeNode {
    /// For example `dict(bitpack)`: ids without the prefix `tarsia.`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id.strip_prefix("tarsia.").unwrap_or(&self.id))?;
        if self.children.is_empty() {
            return Ok(());
        }
        let children: Vec<String> = self
            .children
            .iter()
            .map(|child| format!("{child}"))
            .collect();
        write!(f, "({})", children.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use alloc::vec;

    const V: Version = Version::new(1, 0);

    fn sample() -> Tree {
        let codes = Tree::leaf("tarsia.bitpack", V, &[]);
        Tree::node(
            "tarsia.dict",
            V,
            &[1, 2],
            vec![codes, Tree::leaf("org.example.x", V, &[7])],
        )
        .with_shared(&[3, 0])
    }

    #[test]
    fn round_trip_and_every_prefix() {
        let mut bytes = vec![];
        sample().write_to(&mut bytes).unwrap();
        let mut reader = ByteReader::new(&bytes);
        assert_eq!(Tree::parse(&mut reader), Ok(sample()));
        assert_eq!(reader.rest(), b"");
        for len in 0..bytes.len() {
            let got = Tree::parse(&mut ByteReader::new(&bytes[..len]));
            assert!(
                matches!(
                    got.as_ref().map_err(|error| error.kind()),
                    Err(ErrorKind::Truncated { .. })
                ),
                "{len}: {got:?}"
            );
        }
        assert_eq!(format!("{}", sample()), "dict(bitpack, org.example.x)");
    }

    #[test]
    fn limits_hold_for_reader_and_writer() {
        let mut deep = Tree::leaf("x", V, &[]);
        for _ in 0..limits::TREE_DEPTH_MAX {
            deep = Tree::node("x", V, &[], vec![deep]);
        }
        assert!(matches!(
            deep.write_to(&mut vec![])
                .as_ref()
                .map_err(|error| error.kind()),
            Err(ErrorKind::LimitExceeded { .. })
        ));
        let wide = Tree::node("x", V, &[], vec![Tree::leaf("y", V, &[]); 32]);
        assert!(matches!(
            wide.write_to(&mut vec![])
                .as_ref()
                .map_err(|error| error.kind()),
            Err(ErrorKind::LimitExceeded { .. })
        ));
        assert!(Tree::leaf("", V, &[]).write_to(&mut vec![]).is_err());
        assert!(Tree::leaf("a b", V, &[]).write_to(&mut vec![]).is_err());
        for len in [65, 256 + 3, 512] {
            assert!(
                Tree::leaf(&"x".repeat(len), V, &[])
                    .write_to(&mut vec![])
                    .is_err()
            );
        }
        assert!(Tree::leaf("x", V, &[0; 65]).write_to(&mut vec![]).is_err());
        for (shared, fits) in [
            (&[31; 32][..], true),
            (&[32], false),
            (&[0; 33], false),
            (&[1; 256], false),
        ] {
            let tree = Tree::leaf("x", V, &[]).with_shared(shared);
            assert_eq!(tree.write_to(&mut vec![]).is_ok(), fits, "{shared:?}");
        }
    }

    #[test]
    fn versions_read_the_same_major_and_older_minors() {
        assert!(Version::new(1, 2).reads(Version::new(1, 1)));
        assert!(!Version::new(1, 0).reads(Version::new(1, 1)));
        assert!(!Version::new(2, 0).reads(Version::new(1, 0)));
    }
}
