//! Lists of encodings, and building decoders and encoders from trees.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::{
    Decoder, EncodeChildren, Encoding, EncodingWriter, Error, ErrorKind, Node, PageEncoder, Result,
    Shared, Tree, ValueType, Values, limits,
};

/// The encodings a program knows. Small enough that a linear search by id beats a map.
#[derive(Clone, Default)]
pub struct Registry {
    encodings: Vec<&'static dyn Encoding>,
    writers: Vec<&'static dyn EncodingWriter>,
}

impl Registry {
    /// An empty list.
    pub const fn new() -> Self {
        Self {
            encodings: Vec::new(),
            writers: Vec::new(),
        }
    }

    /// Adds a decoder; a later one of the same id wins.
    // Kernels have one copy, not one per encoding.
    #[inline(never)]
    pub fn add(&mut self, encoding: &'static dyn Encoding) -> &mut Self {
        let mut known = self.encodings.iter_mut();
        match known.find(|known| known.id() == encoding.id()) {
            Some(known) => *known = encoding,
            None => self.encodings.push(encoding),
        }
        self
    }

    /// Adds an encoder; a later one of the same id wins.
    pub fn add_writer(&mut self, writer: &'static dyn EncodingWriter) -> &mut Self {
        let mut known = self.writers.iter_mut();
        match known.find(|known| known.id() == writer.id()) {
            Some(known) => *known = writer,
            None => self.writers.push(writer),
        }
        self
    }

    /// All decoders.
    pub fn encodings(&self) -> &[&'static dyn Encoding] {
        &self.encodings
    }

    /// All encoders.
    pub fn writers(&self) -> &[&'static dyn EncodingWriter] {
        &self.writers
    }

    /// The decoder for a node, if this build reads its version.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for an unknown id or a version that is too new.
    pub fn encoding(&self, node: &Tree) -> Result<&'static dyn Encoding> {
        let known = self
            .encodings
            .iter()
            .find(|known| known.id() == node.id)
            .copied();
        match known {
            Some(known) if known.version().reads(node.version) => Ok(known),
            known => Err(Self::unknown(node, known)),
        }
    }

    #[cold]
    #[inline(never)]
    fn unknown(node: &Tree, known: Option<&'static dyn Encoding>) -> Error {
        let mut what = String::new();
        ErrorKind::push_text(&mut what, "encoding ");
        ErrorKind::push_text(&mut what, &node.id);
        if let Some(known) = known {
            ErrorKind::push_text(&mut what, " version ");
            node.version.describe(&mut what);
            ErrorKind::push_text(&mut what, " (this build reads up to ");
            known.version().describe(&mut what);
            ErrorKind::push_text(&mut what, ")");
        }
        Error::from(ErrorKind::Unsupported { what })
    }

    /// The encoder for a node.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for an unknown id.
    pub fn writer(&self, node: &Tree) -> Result<&'static dyn EncodingWriter> {
        self.writers
            .iter()
            .find(|known| known.id() == node.id)
            .copied()
            .ok_or_else(|| {
                Error::from(ErrorKind::Unsupported {
                    what: format!("encoder {}", node.id),
                })
            })
    }

    /// Whether every node of the tree can be decoded by this build.
    pub fn reads(&self, tree: &Tree) -> bool {
        let mut all = true;
        tree.visit(&mut |node| all &= self.encoding(node).is_ok());
        all
    }

    /// An upper bound on the bytes of a unit under `tree`; see [`EncodingWriter::encoded_bytes_max`].
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for an unknown id.
    pub fn encoded_bytes_max(
        &self,
        tree: &Tree,
        value_type: ValueType,
        n_values: u64,
        decoded_bytes: u64,
    ) -> Result<u64> {
        let mut all_known = true;
        tree.visit(&mut |node| all_known &= self.writer(node).is_ok());
        if !all_known {
            return Err(Error::from(ErrorKind::Unsupported {
                what: format!("an encoder of {tree}"),
            }));
        }
        Ok(self.bytes_max(tree, value_type, n_values, decoded_bytes))
    }

    fn bytes_max(&self, tree: &Tree, value_type: ValueType, n_values: u64, bytes: u64) -> u64 {
        let node = Node {
            value_type,
            params: &tree.params,
        };
        match self.writer(tree) {
            Ok(writer) => {
                writer.encoded_bytes_max(&node, n_values, bytes, &|i, t, n, b| match tree
                    .children
                    .get(i)
                {
                    Some(child) => self.bytes_max(child, t, n, b),
                    None => 0,
                })
            }
            Err(_) => 0,
        }
    }
}

impl core::fmt::Debug for Registry {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list()
            .entries(self.encodings.iter().map(|known| known.id()))
            .finish()
    }
}

/// **init** for a whole tree: children first, each with the type its parent names.
///
/// # Errors
/// [`ErrorKind::Unsupported`] for encodings this build does not know, else what [`Encoding::init`] refuses.
pub fn build_decoder(
    registry: &Registry,
    tree: &Tree,
    value_type: ValueType,
    shared: Shared<'_>,
) -> Result<Box<dyn Decoder>> {
    build_decoder_at(registry, tree, value_type, shared, 1)
}

fn build_decoder_at(
    registry: &Registry,
    tree: &Tree,
    value_type: ValueType,
    shared: Shared<'_>,
    depth: u32,
) -> Result<Box<dyn Decoder>> {
    if depth > limits::TREE_DEPTH_MAX {
        let max = limits::TREE_DEPTH_MAX.into();
        return Err(Error::limit("TREE_DEPTH_MAX", depth.into(), max));
    }
    let encoding = registry.encoding(tree)?;
    let node = Node {
        value_type: value_type.validate()?,
        params: &tree.params,
    };
    let types = encoding.child_types(&node)?;
    if types.len() != tree.children.len() {
        return Err(Error::corrupt(
            "tree.n_children",
            0,
            tree.children.len() as u64,
            "the number of children the encoding has",
        ));
    }
    let mut children = Vec::with_capacity(types.len());
    for (child_type, child) in types.iter().zip(&tree.children) {
        children.push(build_decoder_at(
            registry,
            child,
            *child_type,
            shared,
            depth + 1,
        )?);
    }
    encoding.init(&node, children, shared)
}

struct ChildBuilder<'a> {
    registry: &'a Registry,
    tree: &'a Tree,
    shared: Shared<'a>,
}

impl EncodeChildren for ChildBuilder<'_> {
    fn prepare(&self, index: usize, values: Values<'_>) -> Result<Box<dyn PageEncoder>> {
        let child = self
            .tree
            .children
            .get(index)
            .ok_or_else(|| Error::invalid("the tree lacks a child that the encoding has"))?;
        build_encoder(self.registry, child, values, self.shared)
    }
}

/// Prepares an encoder for a page under a whole tree.
///
/// # Errors
/// [`ErrorKind::Unsupported`] for an unknown id, else what [`EncodingWriter::prepare`] refuses.
pub fn build_encoder(
    registry: &Registry,
    tree: &Tree,
    values: Values<'_>,
    shared: Shared<'_>,
) -> Result<Box<dyn PageEncoder>> {
    let node = Node {
        value_type: values.value_type().validate()?,
        params: &tree.params,
    };
    registry.writer(tree)?.prepare(
        &node,
        values,
        &ChildBuilder {
            registry,
            tree,
            shared,
        },
        shared,
    )
}
