//! The writing side: prepare once per page, encode block after block.

use alloc::boxed::Box;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use crate::{
    Encoding, Error, ErrorKind, Facts, Node, NodeSpec, OwnedValues, Proposals, Registry, Result,
    SharedBuffers, Statistics, Tree, ValueType, Values, Version, limits,
};

/// The writing side of an encoding.
pub trait EncodingWriter: Encoding {
    /// Proposes nodes for values: none, one, or several with other parameters. A search over the proposals of all
    /// encodings decides, so a proposal that is not worth much costs only the time to make it.
    ///
    /// # Errors
    /// What the encoding's own formulas and trials refuse.
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()>;

    /// Sees the values of a whole page (or of the one block that is encoded again) and prepares. The node has been
    /// checked ([`Encoding::check`]), and the values are of its type.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for values the node cannot hold.
    fn prepare(
        &self,
        node: &Node<'_>,
        values: Values<'_>,
        page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>>;

    /// An upper bound on the bytes of one unit of `n_values` whose decoded size is `decoded_bytes`;
    /// `child(i, type, n_values, decoded_bytes)` is the bound of child `i`.
    fn encoded_bytes_max(
        &self,
        node: &Node<'_>,
        n_values: u64,
        decoded_bytes: u64,
        child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64;

    /// Whether survivors of an erasure, encoded again under the same node, always fit into their old place when the
    /// children's do. A search for columns that are to be erased in place takes only trees that say
    /// [`EraseFit::Always`].
    fn erase_fit(&self, node: &Node<'_>) -> EraseFit;

    /// Nodes to test the encoding with: for each type of values it holds, and for each kind of parameters, at least
    /// one. Fuzzing, erasure tests and random trees are made of these.
    fn samples(&self) -> Vec<Sample>;
}

/// Whether survivors of an erasure, encoded again with the same tree, always fit into their old place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EraseFit {
    /// Any subsequence of the values encodes to at most as many bytes.
    Always,
    /// It may grow: columns that are erased in place avoid the tree, or expect the block to move.
    MayGrow,
}

/// A node to test an encoding with.
#[derive(Debug, Clone)]
pub struct Sample {
    /// The type of the node's values.
    pub value_type: ValueType,
    /// The node's parameters.
    pub params: Vec<u8>,
    /// Whether the node holds any values of the type, if its children do. Such nodes without expensive decoders are
    /// what blocks fall back on that another tree does not hold, or not in less than their plain size.
    pub holds_any: bool,
    /// Makes values that the node holds of any values of the type; `None` where it holds any.
    pub fit: Option<fn(Values<'_>) -> OwnedValues>,
}

impl Sample {
    /// A node that holds any values of the type.
    pub fn any(value_type: ValueType, params: &[u8]) -> Self {
        Self {
            value_type,
            params: params.to_vec(),
            holds_any: true,
            fit: None,
        }
    }

    /// A node that holds some values of the type: what `fit` makes of any.
    pub fn fitting(
        value_type: ValueType,
        params: &[u8],
        fit: fn(Values<'_>) -> OwnedValues,
    ) -> Self {
        Self {
            holds_any: false,
            fit: Some(fit),
            ..Self::any(value_type, params)
        }
    }
}

/// The values of one block.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    page: Values<'a>,
    start: usize,
    end: usize,
}

impl<'a> Block<'a> {
    /// The values of `range` of a page's.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for a range beyond the page; [`ErrorKind::LimitExceeded`] for more than a unit may
    /// hold.
    pub fn new(page: Values<'a>, range: Range<usize>) -> Result<Self> {
        if range.start > range.end || range.end > page.len() {
            return Err(Error::invalid("a block reaches beyond the values it is of"));
        }
        let block = Self {
            page,
            start: range.start,
            end: range.end,
        };
        let (n, n_max) = (block.len() as u64, u64::from(limits::UNIT_VALUES_MAX));
        if n > n_max {
            return Err(Error::limit("UNIT_VALUES_MAX", n, n_max));
        }
        if let Values::Bytes(_) = page {
            let (bytes, max) = (
                block.values().decoded_bytes(),
                limits::UNIT_DECODED_BYTES_MAX,
            );
            if bytes > max {
                return Err(Error::limit("UNIT_DECODED_BYTES_MAX", bytes, max));
            }
        }
        Ok(block)
    }

    /// All of `values`.
    ///
    /// # Errors
    /// [`ErrorKind::LimitExceeded`] for more than a unit may hold.
    pub fn all(values: Values<'a>) -> Result<Self> {
        Self::new(values, 0..values.len())
    }

    /// The block's values.
    pub fn values(&self) -> Values<'a> {
        self.page.slice(self.range())
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Where in the page's values the block's are.
    pub fn range(&self) -> Range<usize> {
        self.start..self.end
    }

    /// The same places in other values of the page, such as the codes of all of them.
    ///
    /// # Errors
    /// As [`Block::new`].
    pub fn of<'b>(&self, other: Values<'b>) -> Result<Block<'b>> {
        Block::new(other, self.range())
    }
}

/// Encodes the blocks of one page.
pub trait PageEncoder: Send + Sync {
    /// Appends the unit of a block to `out`. The block is a range of the values given to [`EncodingWriter::prepare`],
    /// or (from a parent that cuts its children's values per block) values of the same type that all occur among those.
    /// A parent whose children get other values than that, as differences and run ends are, prepares them block by
    /// block with [`Prepare::block_child`].
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for values the node cannot hold.
    fn encode(&self, block: Block<'_>, out: &mut Vec<u8>) -> Result<()>;
}

/// A tree whose encoders are known and whose nodes were checked: what a reader would refuse was refused.
#[derive(Clone)]
pub struct TreeWriter {
    writer: &'static dyn EncodingWriter,
    value_type: ValueType,
    version: Version,
    params: Vec<u8>,
    spec: NodeSpec,
    shared: Vec<u8>,
    children: Vec<TreeWriter>,
}

impl core::fmt::Debug for TreeWriter {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("TreeWriter")
            .field("id", &self.writer.id())
            .field("children", &self.children)
            .finish_non_exhaustive()
    }
}

impl TreeWriter {
    /// Looks up and checks all nodes of `tree` over values of `value_type`.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for an unknown encoder or a version that it does not write, [`ErrorKind::Corrupt`]
    /// for a number of children or shared buffers that the encoding does not have, [`ErrorKind::LimitExceeded`] for a
    /// tree that is too deep, and what [`Encoding::check`] refuses.
    pub fn new(registry: &Registry, tree: &Tree, value_type: ValueType) -> Result<Self> {
        Self::at(registry, tree, value_type, 1)
    }

    fn at(registry: &Registry, tree: &Tree, value_type: ValueType, depth: u32) -> Result<Self> {
        let writer = registry.writer(tree)?;
        let node = Node {
            value_type: value_type.validate()?,
            version: tree.version,
            params: &tree.params,
        };
        if !writer.reads(tree.version) {
            return Err(Error::from(ErrorKind::Unsupported {
                what: format!("writing version {} of {}", tree.version, tree.id),
            }));
        }
        let spec = tree.check(writer, &node, depth)?;
        let types = spec.children.iter().zip(&tree.children);
        let children = types
            .map(|(value_type, child)| Self::at(registry, child, *value_type, depth + 1))
            .collect::<Result<_>>()?;
        Ok(Self {
            writer,
            value_type,
            version: tree.version,
            params: tree.params.clone(),
            spec,
            shared: tree.shared.clone(),
            children,
        })
    }

    /// Prepares an encoder for a page of `values`. Shared buffers that are there are used as they are; others are made
    /// and added.
    ///
    /// # Errors
    /// What [`EncodingWriter::prepare`] refuses; [`ErrorKind::InvalidInput`] for values of another type.
    pub fn prepare(
        &self,
        values: Values<'_>,
        shared: &mut SharedBuffers,
        statistics: Option<&Statistics<'_>>,
    ) -> Result<Box<dyn PageEncoder>> {
        if values.value_type() != self.value_type {
            return Err(Error::invalid("the values are not of the node's type"));
        }
        let mut page = Prepare {
            tree: self,
            shared,
            statistics,
        };
        self.writer.prepare(&self.node(), values, &mut page)
    }

    fn node(&self) -> Node<'_> {
        Node {
            value_type: self.value_type,
            version: self.version,
            params: &self.params,
        }
    }

    /// An upper bound on the bytes of a unit; see [`EncodingWriter::encoded_bytes_max`].
    pub fn encoded_bytes_max(&self, n_values: u64, decoded_bytes: u64) -> u64 {
        let child = |i: usize, _: ValueType, n: u64, bytes: u64| match self.children.get(i) {
            Some(child) => child.encoded_bytes_max(n, bytes),
            None => 0,
        };
        let node = self.node();
        self.writer
            .encoded_bytes_max(&node, n_values, decoded_bytes, &child)
    }

    /// Whether survivors of an erasure always fit under this tree.
    pub fn erase_fit(&self) -> EraseFit {
        let fits = |tree: &Self| tree.erase_fit() == EraseFit::Always;
        match self.writer.erase_fit(&self.node()) {
            EraseFit::Always if self.children.iter().all(fits) => EraseFit::Always,
            _ => EraseFit::MayGrow,
        }
    }

    fn needs_shared(&self) -> bool {
        !self.shared.is_empty() || self.children.iter().any(Self::needs_shared)
    }
}

/// What an encoder that prepares a page can ask for.
pub struct Prepare<'a> {
    tree: &'a TreeWriter,
    shared: &'a mut SharedBuffers,
    statistics: Option<&'a Statistics<'a>>,
}

impl Prepare<'_> {
    fn child_tree(&self, index: usize) -> Result<&TreeWriter> {
        let child = self.tree.children.get(index);
        child.ok_or_else(|| Error::invalid("the tree lacks a child that the encoding has"))
    }

    /// The encoder of child `index` for its `values` of the whole page: blocks may be any ranges of them, or values
    /// that occur among them.
    ///
    /// # Errors
    /// As [`EncodingWriter::prepare`]; [`ErrorKind::InvalidInput`] where the tree has no such child.
    pub fn child(&mut self, index: usize, values: Values<'_>) -> Result<Box<dyn PageEncoder>> {
        let child = self.tree.children.get(index);
        let child =
            child.ok_or_else(|| Error::invalid("the tree lacks a child that the encoding has"))?;
        child.prepare(values, self.shared, None)
    }

    /// The encoder of child `index` whose values are made block by block. Where the child's tree has shared buffers,
    /// they are made from `training`: values like those that will come, since blocks cannot add to what all of them
    /// share.
    ///
    /// # Errors
    /// As [`Prepare::child`].
    pub fn block_child(&mut self, index: usize, training: Values<'_>) -> Result<BlockChild> {
        let tree = self.child_tree(index)?.clone();
        if tree.needs_shared() {
            tree.prepare(training, self.shared, None)?;
        }
        let mut shared = self.shared.clone();
        shared.close();
        Ok(BlockChild { tree, shared })
    }

    /// The node's shared buffer `index`, counted in the order of its [`NodeSpec`]; `None` where it has to be made
    /// ([`Prepare::make_shared`]).
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] where the node has no such buffer, or where another node made something else of it.
    pub fn shared(&self, index: usize) -> Result<Option<Arc<OwnedValues>>> {
        let (number, spec) = self.slot(index)?;
        self.shared.get(number, spec)
    }

    /// Makes the node's shared buffer `index` of these values.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] where it is there already, or where the page exists and cannot get another.
    pub fn make_shared(&mut self, index: usize, values: OwnedValues) -> Result<Arc<OwnedValues>> {
        let (number, spec) = self.slot(index)?;
        self.shared.insert(number, spec, values)
    }

    fn slot(&self, index: usize) -> Result<(u8, crate::SharedSpec)> {
        let number = self.tree.shared.get(index).copied();
        match (number, self.tree.spec.shared.get(index).copied()) {
            (Some(number), Some(spec)) => Ok((number, spec)),
            _ => Err(Error::invalid("a node without such a shared buffer")),
        }
    }

    /// What was found out about the values while a tree was chosen, where that was done: an encoder need not find it
    /// again. They are of all values given to [`EncodingWriter::prepare`].
    pub fn statistics(&self) -> Option<&Statistics<'_>> {
        self.statistics
    }

    /// What is known of the values beside them: what they mean, and where rows begin, which encoders of whole rows need.
    /// Nothing below the root of a tree and where a block is encoded again.
    pub fn facts(&self) -> Facts<'_> {
        self.statistics.map_or(Facts::default(), |it| *it.facts())
    }
}

/// The encoder of a child whose values are made block by block.
pub struct BlockChild {
    tree: TreeWriter,
    shared: SharedBuffers,
}

impl BlockChild {
    /// Appends the unit of `values`, all of them.
    ///
    /// # Errors
    /// What the child's encoders refuse.
    pub fn encode(&self, values: Values<'_>, out: &mut Vec<u8>) -> Result<()> {
        let encoder = self.tree.prepare(values, &mut self.shared.clone(), None)?;
        encoder.encode(Block::all(values)?, out)
    }
}

/// Prepares an encoder for a page under a whole tree.
///
/// # Errors
/// As [`TreeWriter::new`] and [`TreeWriter::prepare`].
pub fn build_encoder(
    registry: &Registry,
    tree: &Tree,
    values: Values<'_>,
    shared: &mut SharedBuffers,
) -> Result<Box<dyn PageEncoder>> {
    TreeWriter::new(registry, tree, values.value_type())?.prepare(values, shared, None)
}
