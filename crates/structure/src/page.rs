//! The prepared decoders of a page.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

#[cfg(feature = "zero-copy")]
use tarsia_codec::EntriesOfBuffer;
use tarsia_codec::{
    BitSlice, Decoder, Error, Output, OwnedValues, Reach, Registry, Result, Scratch, Selection,
    Tree, Unit, ValueType, build_decoder,
};

use crate::block::{Block, BlockExpectation, Validity};
use crate::full_zip::form::FullZipForm;
use crate::full_zip::rows::FullZipRows;
use crate::meta::{Level, Meta};

/// The prepared decoders of a page: made once per META and shared buffers, used by many threads.
pub struct PageDecoder {
    value_type: ValueType,
    compact: bool,
    levels: Vec<Level>,
    level_trees: Vec<Vec<Box<dyn Decoder>>>,
    validity: Option<Vec<Box<dyn Decoder>>>,
    trees: Vec<Box<dyn Decoder>>,
    full_zip: Option<FullZipForm>,
}

impl core::fmt::Debug for PageDecoder {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("PageDecoder")
            .field("value_type", &self.value_type)
            .field("compact", &self.compact)
            .finish_non_exhaustive()
    }
}

impl PageDecoder {
    /// Builds a decoder for every tree of the page. `shared` holds the decoded shared buffers of the page, in the order
    /// of their numbers.
    ///
    /// # Errors
    /// [`tarsia_codec::ErrorKind::Unsupported`] for encodings this build does not know, else what
    /// [`tarsia_codec::Encoding::init`] refuses; [`tarsia_codec::ErrorKind::InvalidInput`] for a page without values.
    pub fn new(registry: &Registry, meta: &Meta, shared: &[Arc<OwnedValues>]) -> Result<Self> {
        let value_type = meta
            .value_type
            .ok_or_else(|| Error::invalid("a page of type Null has nothing to decode"))?;
        let shared = meta.shared_buffers(shared)?;
        let build = |trees: &[Tree], value_type: ValueType| {
            trees
                .iter()
                .map(|tree| build_decoder(registry, tree, value_type, &shared))
                .collect::<Result<Vec<_>>>()
        };
        // Without nested pages there are none, and kernels need no code for them.
        let levels: &[Level] = match cfg!(feature = "nested") {
            true => &meta.levels,
            false => &[],
        };
        Ok(Self {
            value_type,
            compact: meta.compact,
            level_trees: levels
                .iter()
                .map(|level| {
                    let value_type = match level {
                        Level::Lengths(_) => ValueType::Fixed(4),
                        _ => ValueType::Bits,
                    };
                    build(level.trees(), value_type)
                })
                .collect::<Result<_>>()?,
            levels: levels.to_vec(),
            validity: match meta.layers.first() {
                Some(layer) => Some(build(&layer.trees, ValueType::Bits)?),
                None => None,
            },
            trees: build(&meta.trees, value_type)?,
            full_zip: match cfg!(feature = "nested") {
                true => FullZipForm::of(meta)?,
                false => None,
            },
        })
    }

    /// The type of the page's values.
    pub fn value_type(&self) -> ValueType {
        self.value_type
    }

    /// Whether null items have no value.
    pub(crate) fn is_compact(&self) -> bool {
        self.compact
    }

    /// Returns what a block of `rows` rows in this page must look like.
    pub fn expect(&self, rows: u32) -> BlockExpectation<'_> {
        BlockExpectation {
            value_type: self.value_type,
            levels: &self.levels,
            has_validity: self.validity.is_some(),
            compact: self.compact,
            rows,
            full_zip: self.full_zip,
        }
    }

    /// The layout of the rows of a full-zip page; `None` for a page of mini-blocks.
    pub fn full_zip(&self) -> Option<FullZipForm> {
        self.full_zip
    }

    /// The levels above the items, outermost first; none in flat pages.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    pub(crate) fn level_tree(&self, level: usize, tree: u8) -> Result<&dyn Decoder> {
        let trees = self.level_trees.get(level);
        match trees.and_then(|trees| trees.get(usize::from(tree))) {
            Some(tree) => Ok(tree.as_ref()),
            None => Err(Error::corrupt("level.tree", 0, tree, "the level's trees")),
        }
    }

    /// Which bytes of a block are read when the items of `range` are decoded, counted from the block's start. The first
    /// `front` bytes of the block have been read, all before its unit among them. See [`Decoder::reach`].
    ///
    /// # Errors
    /// What the decoders refuse.
    pub fn reach(
        &self,
        block: &Block<'_>,
        front: usize,
        range: Range<u32>,
        scratch: &mut Scratch,
    ) -> Result<Reach> {
        if let Some(form) = self.full_zip.filter(|form| form.is_indexed()) {
            let place = FullZipRows::of(form, block.levels, block.unit).place_of(range);
            let decoded_bytes = place.len() as u64;
            return Ok(Reach::Bytes {
                place: block.unit_at + place.start..block.unit_at + place.end,
                decoded_bytes,
            });
        }
        let values = match block.validity {
            Validity::Encoded { tree, bytes } if self.compact => {
                let unit = Unit {
                    bytes,
                    len: block.n_items,
                    decoded_bytes: block.n_items.div_ceil(8),
                };
                let decoder = self.validity_tree(tree)?;
                valid_before(decoder, unit, range.start, scratch)?
                    ..valid_before(decoder, unit, range.end, scratch)?
            }
            Validity::AllNull if self.compact => 0..0,
            _ => range,
        };
        if values.is_empty() {
            return Ok(Reach::bytes(0..0));
        }
        let unit_at = block.unit_at;
        let unit = block.encoded_values();
        let front = front.saturating_sub(unit_at).min(unit.bytes.len());
        let reach = self.tree(block)?.reach(unit, front, values, scratch)?;
        Ok(match reach {
            Reach::Front(bytes) if bytes <= front || bytes > unit.bytes.len() => Reach::All,
            Reach::Front(bytes) => Reach::Front(unit_at + bytes),
            Reach::Bytes {
                place,
                decoded_bytes,
            } => Reach::Bytes {
                place: unit_at + place.start..unit_at + place.end,
                decoded_bytes,
            },
            Reach::All => Reach::All,
        })
    }

    /// The place of a block's byte strings in its unit; `None` where they are not stored uncompressed and back to back.
    ///
    /// # Errors
    /// What the decoder refuses, and a tree that the page does not have.
    #[cfg(feature = "zero-copy")]
    pub fn strings<'a>(&'a self, block: &Block<'a>) -> Result<Option<Range<usize>>> {
        if self.full_zip.is_some_and(|form| form.is_indexed()) {
            return Ok(Some(0..block.unit.len()));
        }
        let strings = self.tree(block)?.strings(block.encoded_values())?;
        Ok(strings.map(|strings| strings.data))
    }

    /// The ways to decode a block's values as entries of a shared buffer, if they are.
    ///
    /// # Errors
    /// A tree that the page does not have.
    #[cfg(feature = "zero-copy")]
    pub fn entries(&self, block: &Block<'_>) -> Result<Option<EntriesOfBuffer<'_>>> {
        match self.full_zip {
            None => Ok(self.tree(block)?.entries()),
            Some(_) => Ok(None),
        }
    }

    pub(crate) fn tree(&self, block: &Block<'_>) -> Result<&dyn Decoder> {
        match self.trees.get(usize::from(block.header.tree)) {
            Some(tree) => Ok(tree.as_ref()),
            None => Err(Error::corrupt(
                "block.tree",
                4,
                block.header.tree,
                "the page's trees",
            )),
        }
    }

    pub(crate) fn validity_tree(&self, tree: u8) -> Result<&dyn Decoder> {
        match self
            .validity
            .as_ref()
            .and_then(|trees| trees.get(usize::from(tree)))
        {
            Some(tree) => Ok(tree.as_ref()),
            None => Err(Error::corrupt("layer.tree", 0, tree, "the layer's trees")),
        }
    }
}

/// How many of the first `end` items are valid.
fn valid_before(
    decoder: &dyn Decoder,
    unit: Unit<'_>,
    end: u32,
    scratch: &mut Scratch,
) -> Result<u32> {
    let mut bits = scratch.take((end as usize).div_ceil(8));
    let out = Output::Bits {
        bytes: &mut bits,
        offset: 0,
    };
    let done = decoder.decode(unit, Selection::from(&(0..end)), scratch, out);
    let valid = done.and_then(|_| Ok(BitSlice::new(&bits, 0, end as usize)?.count_ones()));
    scratch.give(bits);
    // At most the items of a block.
    valid.map(|valid| valid as u32)
}
