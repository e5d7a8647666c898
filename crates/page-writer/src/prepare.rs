//! Encoders of a page, prepared from all of its values.

use alloc::boxed::Box;
use alloc::vec::Vec;

use tarsia_codec::{
    BitSlice, BlockValues, Error, Facts, LogicalType, PageEncoder, Result, SharedBuffers,
    Statistics, Tree, TreeWriter, Values,
};

use crate::page::{Choice, EncodeContext};

/// One for each tree.
pub(crate) type Encoders = Vec<Box<dyn PageEncoder>>;

/// Appends the unit of a block under the first of the trees that holds its values; the last one holds any. Returns the
/// index of the tree.
///
/// A tree may hold all values of a page and not what a node of it derives from a block: run ends of a page may be
/// multiples of ten, those of a block, which are counted from its first value on, others. A tree that does not hold the
/// values may hold `other` ones that will do.
pub(crate) fn encode_unit(
    encoders: &[Box<dyn PageEncoder>],
    block: BlockValues<'_>,
    other: Option<BlockValues<'_>>,
    out: &mut Vec<u8>,
) -> Result<u8> {
    let start = out.len();
    let mut refused = Error::invalid("a unit without trees");
    for (number, encoder) in (0..=u8::MAX).zip(encoders) {
        for block in [Some(block), other].into_iter().flatten() {
            match encoder.encode(block, out) {
                Ok(()) => return Ok(number),
                Err(error) => refused = error,
            }
            out.truncate(start);
        }
    }
    Err(refused)
}

/// Encoders of a page that were prepared so far, and the shared buffers they made.
pub(crate) struct Prepared {
    pub(crate) shared: SharedBuffers,
    n_shared: u8,
}

impl Prepared {
    /// Nothing yet.
    pub(crate) fn new(context: &EncodeContext<'_>) -> Self {
        Self {
            shared: SharedBuffers::for_values(context.erasable),
            n_shared: 0,
        }
    }

    /// Trees and encoders for the values of `choice`.
    pub(crate) fn page(
        &mut self,
        choice: &Choice,
        values: &Statistics<'_>,
        context: &EncodeContext<'_>,
    ) -> Result<(Vec<Tree>, Encoders)> {
        let mut trees = Vec::with_capacity(choice.trees.len());
        let mut encoders = Vec::with_capacity(choice.trees.len());
        let (first, value_type) = (self.n_shared, values.values().value_type());
        for (i, tree) in choice.trees.iter().enumerate() {
            let mut tree = tree.clone();
            // All trees of a choice are numbered together, and may refer to the same buffers.
            let n_shared = tree.shift_shared(first)?;
            let writer = TreeWriter::new(context.registry, &tree, value_type)?;
            let mut shared = self.shared.clone();
            match writer.prepare(values.values(), &mut shared, Some(values)) {
                Ok(encoder) => {
                    self.shared = shared;
                    self.n_shared = self.n_shared.max(n_shared);
                    trees.push(tree);
                    encoders.push(encoder);
                }
                // A node may hold the values that its parent proposed for it and not those that the parent makes now,
                // such as other tokens. The fallback, which is the last, holds the page.
                Err(_) if i + 1 < choice.trees.len() => {}
                Err(error) => return Err(error),
            }
        }
        match trees.is_empty() {
            false => Ok((trees, encoders)),
            true => Err(Error::invalid("the chooser names no tree")),
        }
    }

    /// Prepares the encoders of validity.
    pub(crate) fn bits(
        &mut self,
        bits: BitSlice<'_>,
        context: &EncodeContext<'_>,
    ) -> Result<(Vec<Tree>, Encoders)> {
        let values = Statistics::new(Values::Bits(bits), Facts::of(LogicalType::Validity));
        let choice = context.chooser.choose(&values)?;
        self.page(&choice, &values, context)
    }
}
