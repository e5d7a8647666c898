//! Pages whose rows will be erased in place: their blocks get salts, and room to grow.

use alloc::vec::Vec;

use tarsia_codec::{EraseFit, Error, Registry, Result, Tree, TreeWriter, ValueType};
use tarsia_structure::block::{BLOCK_ALIGN, BLOCK_HEADER_BYTES, BlockHeader, SALT_BYTES, reseal};
use tarsia_structure::meta::{Level, Meta};

use crate::page::EncodedPage;
use crate::strict::strict_place_bytes;

/// A block whose survivors may take more bytes gets a zero behind it for so many bytes that it has.
pub const SLACK_ONE_IN: usize = 96;

/// The blocks that get zeros behind them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// Blocks whose survivors may take more bytes, as the encodings of their page say ([`EraseFit::MayGrow`]): a 96th
    /// of the block.
    Growth,
    /// Blocks of a strict column: as many as make its place as long as that of any block of as many rows.
    Strict,
}

/// Rewrites the blocks of a page whose rows will be erased in place, and computes their checksums again. Every block
/// gets the salt that `salt` draws for its number, and zeros behind it that [make `room`](Room), up to a multiple of 8.
///
/// # Errors
/// What [`BlockHeader::parse`] refuses, and [`TreeWriter::new`];
/// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) for blocks that have salts.
pub fn protect_page(
    page: &mut EncodedPage,
    registry: &Registry,
    room: Room,
    salt: &dyn Fn(u32) -> [u8; SALT_BYTES],
    checksum: fn(&[u8]) -> u32,
) -> Result<()> {
    // A page of type Null has no blocks.
    if page.starts.is_empty() {
        return Ok(());
    }
    let growth = Growth::of(&page.meta, registry)?;
    let added = page.starts.len() * (SALT_BYTES + BLOCK_ALIGN) + page.bytes.len() / SLACK_ONE_IN;
    let mut bytes = Vec::with_capacity(page.bytes.len() + added);
    let mut starts = Vec::with_capacity(page.starts.len());
    for number in 0..page.starts.len() {
        let old = page.block(number);
        let header = BlockHeader::of_whole(old)?;
        if header.salted {
            return Err(Error::invalid("a block has a salt already"));
        }
        let start = bytes.len();
        starts.push(start as u64);
        let header = BlockHeader {
            salted: true,
            ..header
        };
        let number = u32::try_from(number).map_err(|_| Error::invalid("a page of 2^32 blocks"))?;
        bytes.extend_from_slice(&header.to_bytes());
        bytes.extend_from_slice(&salt(number));
        let behind_header = header.block_bytes() as usize - SALT_BYTES;
        let rest = old.get(BLOCK_HEADER_BYTES..behind_header);
        bytes.extend_from_slice(rest.unwrap_or_default());
        let n = bytes.len() - start;
        let place_bytes = match room {
            Room::Growth if growth.of_tree(header.tree.into()) => n + n / SLACK_ONE_IN,
            Room::Growth => n,
            Room::Strict => {
                let most = strict_place_bytes(&page.meta, header.logical_rows, registry)?;
                let most = most.and_then(|most| usize::try_from(most).ok());
                most.filter(|most| n <= *most)
                    .ok_or_else(|| Error::invalid("a block that a strict column does not have"))?
            }
        };
        bytes.resize((start + place_bytes).next_multiple_of(BLOCK_ALIGN), 0);
        reseal(bytes.get_mut(start..).unwrap_or_default(), checksum)?;
    }
    page.bytes = bytes;
    page.starts = starts;
    Ok(())
}

/// Which blocks of a page may grow when rows are taken out of them.
pub(crate) struct Growth {
    /// Whether any tree of the levels or of the items' validity may.
    layers: bool,
    /// Whether each tree of the values may.
    trees: Vec<bool>,
}

impl Growth {
    pub(crate) fn of(meta: &Meta, registry: &Registry) -> Result<Self> {
        let Some(value_type) = meta.value_type else {
            return Err(Error::invalid("a page of type Null has nothing to erase"));
        };
        let may_grow = |tree: &Tree, value_type: ValueType| {
            // What is left of a block under a tree that this build does not write is stored under another one.
            if !registry.writes(tree) {
                return Ok(true);
            }
            let tree = TreeWriter::new(registry, tree, value_type)?;
            Ok(tree.erase_fit() == EraseFit::MayGrow)
        };
        let mut layers = false;
        for level in &meta.levels {
            let of_slots = match level {
                Level::Lengths(_) => ValueType::Fixed(4),
                _ => ValueType::Bits,
            };
            for tree in level.trees() {
                layers |= may_grow(tree, of_slots)?;
            }
        }
        for tree in meta.layers.iter().flat_map(|layer| &layer.trees) {
            layers |= may_grow(tree, ValueType::Bits)?;
        }
        let trees = meta.trees.iter().map(|tree| may_grow(tree, value_type));
        Ok(Self {
            layers,
            trees: trees.collect::<Result<_>>()?,
        })
    }

    /// Whether a block under tree number `tree` of the values may grow.
    pub(crate) fn of_tree(&self, tree: usize) -> bool {
        self.layers || self.trees.get(tree).copied().unwrap_or(false)
    }
}
