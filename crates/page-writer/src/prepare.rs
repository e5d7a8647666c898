//! Encoders of a page, prepared from all of its values.

use alloc::boxed::Box;
use alloc::vec::Vec;

use tarsia_codec::{
    BitSlice, Error, Facts, LogicalType, PageEncoder, Result, SharedBuffers, Statistics, Tree,
    TreeWriter, Values,
};

use crate::page::{Choice, EncodeContext};

/// One for each tree.
pub(crate) type Encoders = Vec<Box<dyn PageEncoder>>;

/// Encoders of a page that were prepared so far, and the shared buffers they made.
#[derive(Default)]
pub(crate) struct Prepared {
    pub(crate) shared: SharedBuffers,
    n_shared: u8,
}

impl Prepared {
    /// Trees and encoders for the values of `choice`.
    pub(crate) fn page(
        &mut self,
        choice: &Choice,
        values: &Statistics<'_>,
        context: &EncodeContext<'_>,
    ) -> Result<(Vec<Tree>, Encoders)> {
        let mut trees = choice.trees.clone();
        let mut encoders = Vec::with_capacity(trees.len());
        let (first, value_type) = (self.n_shared, values.values().value_type());
        for tree in &mut trees {
            // All trees of a choice are numbered together, and may refer to the same buffers.
            self.n_shared = self.n_shared.max(tree.shift_shared(first)?);
            let writer = TreeWriter::new(context.registry, tree, value_type)?;
            encoders.push(writer.prepare(values.values(), &mut self.shared, Some(values))?);
        }
        match trees.is_empty() {
            false => Ok((trees, encoders)),
            true => Err(Error::invalid("the chooser names no tree")),
        }
    }

    /// The same for validity: only the first tree is written with.
    pub(crate) fn bits(
        &mut self,
        bits: BitSlice<'_>,
        context: &EncodeContext<'_>,
    ) -> Result<(Vec<Tree>, Box<dyn PageEncoder>)> {
        let values = Statistics::new(Values::Bits(bits), Facts::of(LogicalType::Validity));
        let choice = context.chooser.choose(&values)?;
        let (trees, encoders) = self.page(&choice, &values, context)?;
        let first = encoders.into_iter().next();
        let first = first.ok_or_else(|| Error::invalid("the chooser names no tree"))?;
        Ok((trees, first))
    }
}
