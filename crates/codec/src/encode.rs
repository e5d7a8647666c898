//! The writing side: prepare once per page, encode block after block.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use crate::{
    Encoding, Error, Facts, Node, NodeSpec, OwnedValues, Proposals, Result, Rounding,
    SharedBuffers, Statistics, ValueType, Values, Version, limits,
};

/// The writing side of an encoding.
pub trait EncodingWriter: Encoding {
    /// Proposes nodes for values: none, one, or several with different parameters. A search compares the proposals of
    /// all encodings, so a bad proposal costs only the time to compute it.
    ///
    /// # Errors
    /// The errors of the encoding's own formulas and trials.
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()>;

    /// Says when a search asks for proposals for all values of a large page: always, or only where those for a small
    /// sample of the values cost about as little as the best ones. So an expensive proposal can have a cheap estimate.
    fn asked(&self) -> Asked {
        Asked::default()
    }

    /// Creates the encoder of a page from all its values, or of the one block that is encoded again. The caller has
    /// checked the node ([`Encoding::check`]) and the type of the values.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for values that the node cannot hold.
    fn prepare(
        &self,
        node: &Node<'_>,
        values: Values<'_>,
        page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>>;

    /// An upper bound on the bytes of one unit of `n_values` whose decoded size is `decoded_bytes`; `child(i, type,
    /// n_values, decoded_bytes)` returns the bound of child `i`.
    fn encoded_bytes_max(
        &self,
        node: &Node<'_>,
        n_values: u64,
        decoded_bytes: u64,
        child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64;

    /// Says whether the survivors of an erasure, encoded again under the same node, always fit the byte range of their
    /// block, provided that those of the children do. For columns at erasure level 2 a search compares the best tree
    /// with the best of those that always fit, and the answer decides whether a page gets a spare tree and its blocks
    /// get room to grow ([`EraseFit::MayGrow`]).
    fn erase_fit(&self, node: &Node<'_>) -> EraseFit;

    /// Returns true if values of a page stand in the parameters of its nodes, where an erasure does not reach them. A
    /// search does not use such encodings for columns at erasure level 2.
    fn keeps_values(&self) -> bool {
        false
    }

    /// Says what the parameters and the shared buffers of a node tell of erased values, in words that follow a colon;
    /// `None` if nothing. What its children tell is theirs, and which node a search has found for a page does not
    /// count. The page of the encoding says the same at length. Strict columns have only trees of which no node tells
    /// anything.
    fn residue(&self, _node: &Node<'_>) -> Option<&'static str> {
        None
    }

    /// The roundings whose results the encoding holds in fewer bytes.
    fn roundings(&self) -> &'static [&'static dyn Rounding] {
        &[]
    }

    /// Nodes for tests: at least one for each type of values and each kind of parameters. Fuzzing, erasure tests and
    /// random trees use them.
    fn samples(&self) -> Vec<Sample>;
}

/// When a search asks an encoding for proposals for all values of a large page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Asked {
    /// Before all others: it knows at once that it does not suit.
    First,
    /// Where it is near the best for a sample: short runs of values, evenly spread over the page
    /// ([`Proposals::are_of_sample`]). It takes about as many bytes per value of the sample as of the page, shared
    /// buffers left out: these come once per page.
    BySample,
    /// By a sample if it proposes something for it, else after all others: a sample of values has no rows, without
    /// which it may have nothing to propose.
    BySampleOrLast,
    /// After all others: a sample does not tell how many bytes it takes for all values.
    #[default]
    Last,
}

/// The answer to whether the survivors of an erasure, encoded again with the same tree, always fit the byte range of
/// their block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EraseFit {
    /// Any subsequence of the values encodes to at most as many bytes.
    Always,
    /// A subsequence may take more bytes: the block may have to move. In columns at erasure level 2, blocks under such
    /// a tree get some zeros behind them, and a page whose survivors this tree would hold in many more bytes gets a
    /// spare tree for them.
    MayGrow,
}

/// A node for tests of an encoding.
#[derive(Debug, Clone)]
pub struct Sample {
    /// The type of the node's values.
    pub value_type: ValueType,
    /// The node's parameters.
    pub params: Vec<u8>,
    /// True if the node holds all values of the type, provided that its children do. Blocks fall back to such a node
    /// with a cheap decoder if another tree cannot hold them, or only in more than their plain size.
    pub holds_any: bool,
    /// Turns any values of the type into values that the node holds; `None` if it holds all.
    pub fit: Option<fn(Values<'_>) -> OwnedValues>,
}

impl Sample {
    /// A node that holds all values of the type.
    pub fn any(value_type: ValueType, params: &[u8]) -> Self {
        Self {
            value_type,
            params: params.to_vec(),
            holds_any: true,
            fit: None,
        }
    }

    /// A node that holds only some values of the type: those that `fit` returns.
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
pub struct BlockValues<'a> {
    page: Values<'a>,
    start: usize,
    end: usize,
}

impl<'a> BlockValues<'a> {
    /// The block of the values `range` of a page.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a range beyond the page;
    /// [`ErrorKind::LimitExceeded`](crate::ErrorKind::LimitExceeded) for more values or bytes than a unit may hold.
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

    /// One block of all `values`.
    ///
    /// # Errors
    /// [`ErrorKind::LimitExceeded`](crate::ErrorKind::LimitExceeded) for more than a unit may hold.
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

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// The range of the block in the page's values.
    pub fn range(&self) -> Range<usize> {
        self.start..self.end
    }

    /// The block of values that were derived, one from each, from this block's: `of_page` from all of the page,
    /// `of_block` from the block alone. It is a range of `of_page`, which is faster to encode, unless a parent that
    /// derives its child's values per block has passed others.
    ///
    /// # Errors
    /// As [`BlockValues::new`]; [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for values without a fixed
    /// width.
    pub fn derived<'b>(
        &self,
        of_page: Values<'b>,
        of_block: Values<'b>,
    ) -> Result<BlockValues<'b>> {
        let is_of_page = self.end <= of_page.len() && {
            let range = of_page.slice(self.range()).as_fixed()?;
            range.bytes() == of_block.as_fixed()?.bytes()
        };
        match is_of_page {
            true => self.of(of_page),
            false => BlockValues::all(of_block),
        }
    }

    /// Returns the block of the same range of other values of the page, such as the codes of all its values.
    ///
    /// # Errors
    /// As [`BlockValues::new`].
    pub fn of<'b>(&self, other: Values<'b>) -> Result<BlockValues<'b>> {
        BlockValues::new(other, self.range())
    }
}

/// Encodes the blocks of one page.
pub trait PageEncoder: Send + Sync {
    /// Appends the unit of a block to `out`. The block is a range of the values given to [`EncodingWriter::prepare`],
    /// or values of the same type that all occur among those (from a parent that derives its child's values per block).
    /// A parent whose child gets values that do not occur there, such as run ends, prepares the child block by block
    /// with [`Prepare::block_child`].
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for values that the node cannot hold.
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()>;
}

/// A tree with its encoders. Its nodes were checked: a tree that a reader would refuse is refused here.
#[derive(Clone)]
pub struct TreeWriter {
    pub(crate) writer: &'static dyn EncodingWriter,
    pub(crate) value_type: ValueType,
    pub(crate) version: Version,
    pub(crate) params: Vec<u8>,
    pub(crate) spec: NodeSpec,
    pub(crate) shared: Vec<u8>,
    pub(crate) children: Vec<TreeWriter>,
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
    /// Prepares an encoder for a page of `values`. Existing shared buffers are used unchanged; missing ones are created
    /// and added to `shared`.
    ///
    /// # Errors
    /// The errors of [`EncodingWriter::prepare`]; [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for
    /// values of another type.
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

    /// Says whether the survivors of an erasure always fit the byte range of their block under this tree.
    pub fn erase_fit(&self) -> EraseFit {
        let fits = |tree: &Self| tree.erase_fit() == EraseFit::Always;
        match self.writer.erase_fit(&self.node()) {
            EraseFit::Always if self.children.iter().all(fits) => EraseFit::Always,
            _ => EraseFit::MayGrow,
        }
    }

    /// Appends what its nodes tell of erased values ([`EncodingWriter::residue`]), with the ids of their encodings.
    pub fn residue(&self, told: &mut Vec<(&'static str, &'static str)>) {
        if let Some(what) = self.writer.residue(&self.node()) {
            told.push((self.writer.id(), what));
        }
        self.children.iter().for_each(|child| child.residue(told));
    }

    fn needs_shared(&self) -> bool {
        !self.shared.is_empty() || self.children.iter().any(Self::needs_shared)
    }
}

/// The parts that an encoder may use while it prepares a page: its children, shared buffers and statistics.
pub struct Prepare<'a> {
    tree: &'a TreeWriter,
    shared: &'a mut SharedBuffers,
    statistics: Option<&'a Statistics<'a>>,
}

impl<'a> Prepare<'a> {
    fn child_tree(&self, index: usize) -> Result<&TreeWriter> {
        let child = self.tree.children.get(index);
        child.ok_or_else(|| Error::invalid("the tree lacks a child that the encoding has"))
    }

    /// The encoder of child `index` for `values`, its values of the whole page. Blocks may be ranges of them, or values
    /// that occur among them.
    ///
    /// # Errors
    /// As [`EncodingWriter::prepare`]; [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the tree has no
    /// such child.
    pub fn child(&mut self, index: usize, values: Values<'_>) -> Result<Box<dyn PageEncoder>> {
        let child = self.tree.children.get(index);
        let child =
            child.ok_or_else(|| Error::invalid("the tree lacks a child that the encoding has"))?;
        child.prepare(values, self.shared, None)
    }

    /// The encoder of child `index` whose values are derived block by block. If the child's tree has shared buffers,
    /// they are created from `training`, values like those of the blocks, because blocks cannot add to shared buffers.
    ///
    /// # Errors
    /// As [`Prepare::child`].
    pub fn block_child(
        &mut self,
        index: usize,
        training: impl FnOnce() -> OwnedValues,
    ) -> Result<BlockChild> {
        let tree = self.child_tree(index)?.clone();
        if tree.needs_shared() {
            tree.prepare(training().as_values()?, self.shared, None)?;
        }
        let mut shared = self.shared.clone();
        shared.close();
        Ok(BlockChild { tree, shared })
    }

    /// The node's shared buffer `index`, counted in the order of its [`NodeSpec`]; `None` if it does not exist yet
    /// ([`Prepare::make_shared`]).
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the node has no such buffer, or if another node
    /// created it with another kind or type.
    pub fn shared(&self, index: usize) -> Result<Option<Arc<OwnedValues>>> {
        let (number, spec) = self.slot(index)?;
        self.shared.get(number, spec)
    }

    /// Creates the node's shared buffer `index` from these values.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if it exists already, or if the page exists and
    /// cannot get more buffers.
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

    /// Whether rows of the values may be erased: entries of buffers that are [made](Prepare::make_shared) must then be
    /// in the order of their values, and not in that of their first appearance.
    pub fn is_erasable(&self) -> bool {
        self.shared.is_erasable()
    }

    /// Statistics of the values given to [`EncodingWriter::prepare`], computed while the tree was chosen, so that an
    /// encoder need not compute them again. `None` if no search was made.
    pub fn statistics(&self) -> Option<&'a Statistics<'a>> {
        self.statistics
    }

    /// The logical type of the values, and where rows begin, which encoders of whole rows need. Unknown below the root
    /// of a tree, and when a block is encoded again.
    pub fn facts(&self) -> Facts<'_> {
        self.statistics.map_or(Facts::default(), |it| *it.facts())
    }
}

/// The encoder of a child whose values are derived block by block.
pub struct BlockChild {
    tree: TreeWriter,
    shared: SharedBuffers,
}

impl BlockChild {
    /// Appends one unit with all `values`.
    ///
    /// # Errors
    /// The errors of the child's encoders.
    pub fn encode(&self, values: Values<'_>, out: &mut Vec<u8>) -> Result<()> {
        let encoder = self.tree.prepare(values, &mut self.shared.clone(), None)?;
        encoder.encode(BlockValues::all(values)?, out)
    }
}
