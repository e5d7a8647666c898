//! Rows encoded as one block for a place.

use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::{
    BitSlice, Block as ValuesOfBlock, Error, Result, Tree, Values, build_encoder, limits,
};
use tarsia_structure::block::{
    BLOCK_ALIGN, BLOCK_DECODED_BYTES_MAX, BlockHeader, SALT_BYTES, reseal,
};
use tarsia_structure::full_zip::FullZipForm;
use tarsia_structure::layout::{LAYER_ALL_NULL, LAYER_ALL_VALID};

use super::context::{BlockContext, refuse_nested};
use crate::full_zip::blocks::IndexedBlock;
use crate::full_zip::erase::present_rows;
use crate::nulls::{Cleaned, compacted, filled};
use crate::seal::length;

/// Where the survivors fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Into the place.
    InPlace {
        /// What the whole place must hold from now on.
        bytes: Vec<u8>,
    },
    /// Under no tree of the page into the place: the block must be written elsewhere, and then its old place zeroed.
    MustMove {
        /// The block for its new place, as small as the page's trees make it, zero-padded to 8.
        bytes: Vec<u8>,
    },
}

impl Outcome {
    /// The new block.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::InPlace { bytes } | Self::MustMove { bytes } => bytes,
        }
    }

    /// Whether the block must be written elsewhere.
    pub fn must_move(&self) -> bool {
        matches!(self, Self::MustMove { .. })
    }
}

/// Encodes rows as one block for a place of `place_bytes`, as an erasure would leave them.
///
/// `validity` and `values` have an entry for each present row. A block that is new has as many rows as `logical_rows`.
///
/// # Errors
/// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) where lengths do not fit each other, or for nulls
/// in a page without validity; what encoders refuse.
pub fn encode_block(
    context: &BlockContext<'_>,
    validity: Option<BitSlice<'_>>,
    values: Values<'_>,
    logical_rows: u32,
    salt: Option<[u8; SALT_BYTES]>,
    place_bytes: usize,
) -> Result<Outcome> {
    let rows = values.len();
    if rows > logical_rows as usize || validity.is_some_and(|bits| bits.len() != rows) {
        return Err(Error::invalid("validity, values and rows differ in length"));
    }
    refuse_nested(context.meta)?;
    if context.meta.value_type != Some(values.value_type()) {
        return Err(Error::invalid("the values are not of the page's type"));
    }
    let all_valid;
    let validity = match (validity, context.meta.layers.is_empty()) {
        (Some(bits), true) if bits.count_ones() < rows => {
            return Err(Error::invalid("a page without validity cannot hold nulls"));
        }
        (_, true) => None,
        (Some(bits), false) => Some(bits),
        (None, false) => {
            all_valid = vec![0xff; rows.div_ceil(8)];
            Some(BitSlice::new(&all_valid, 0, rows)?)
        }
    };
    let dense;
    let values = match validity {
        Some(bits) if context.meta.compact => {
            dense = compacted(values, bits, bits.count_ones())?;
            dense.as_values()?
        }
        _ => values,
    };
    let parts = Parts {
        logical_rows,
        present_rows: rows,
        validity,
        values,
        prepare_from: None,
        salt,
    };
    parts.encode(context, place_bytes, true, None)
}

/// What a block is made of.
pub(super) struct Parts<'a> {
    pub(super) logical_rows: u32,
    pub(super) present_rows: usize,
    /// One bit per present row where the page has validity.
    pub(super) validity: Option<BitSlice<'a>>,
    /// The values of the unit.
    pub(super) values: Values<'a>,
    /// What encoders are prepared from instead: only in tests.
    pub(super) prepare_from: Option<Values<'a>>,
    pub(super) salt: Option<[u8; SALT_BYTES]>,
}

impl Parts<'_> {
    pub(super) fn encode(
        &self,
        context: &BlockContext<'_>,
        place_bytes: usize,
        recompute_filler: bool,
        tail: Option<&[u8]>,
    ) -> Result<Outcome> {
        let put = |mut bytes: Vec<u8>| {
            let end = bytes.len();
            match tail.and_then(|old| old.get(end..)) {
                Some(old) => bytes.extend_from_slice(old),
                None => bytes.resize(place_bytes, 0),
            }
            Outcome::InPlace { bytes }
        };
        if let Some(form) = FullZipForm::of(context.meta)? {
            let rows = present_rows(self.values.as_bytes()?, self.validity, self.present_rows);
            let block = IndexedBlock {
                logical_rows: self.logical_rows,
                salt: self.salt,
                rows: &rows,
            };
            let mut bytes = Vec::new();
            block.push_to(&mut bytes, &form, context.checksum)?;
            let block = bytes;
            return Ok(match block.len() <= place_bytes {
                true => put(block),
                false => moved(block),
            });
        }
        if self.present_rows == 0 {
            let block = self.block(context, 0, &[], &[], 0)?;
            return Ok(match block.len() <= place_bytes {
                true => put(block),
                false => moved(block),
            });
        }
        let layer = self.layer(context)?;
        let filled_values;
        let values = match self.validity {
            Some(bits) if !context.meta.compact && recompute_filler => {
                // The whole block is one group. Zeros for a group of null items among others could widen packed values.
                filled_values = filled(self.values, bits, self.present_rows);
                filled_values.as_values()?
            }
            _ => self.values,
        };
        let other_filler = self.other_filler(context)?;
        let other_filler = match &other_filler {
            Some(filler) => Some(filler.as_values()?),
            None => None,
        };
        let mut smallest: Option<Vec<u8>> = None;
        let mut refused = None;
        for (i, tree) in context.meta.trees.iter().enumerate() {
            let unit = match (self.unit(context, tree, values), other_filler) {
                (Err(_), Some(values)) => self.unit(context, tree, values),
                (unit, _) => unit,
            };
            let block =
                unit.and_then(|unit| self.block(context, i, &layer, &unit, values.decoded_bytes()));
            match block {
                Ok(block) if block.len() <= place_bytes => return Ok(put(block)),
                Ok(block) if smallest.as_ref().is_none_or(|old| block.len() < old.len()) => {
                    smallest = Some(block);
                }
                Ok(_) => {}
                Err(error) => refused = Some(error),
            }
        }
        match (smallest, refused) {
            (Some(block), _) => Ok(moved(block)),
            (None, Some(error)) => Err(error),
            (None, None) => Err(Error::invalid("the page has no trees")),
        }
    }

    /// Where all items are null and the page is not compact, their filler is zero, which a dictionary may lack: any of
    /// its entries will do there, and that entry counts as unused.
    fn other_filler(&self, context: &BlockContext<'_>) -> Result<Option<Cleaned>> {
        let all_null = self.validity.is_some_and(|bits| bits.count_ones() == 0);
        let (true, false, Values::Fixed(values)) = (all_null, context.meta.compact, self.values)
        else {
            return Ok(None);
        };
        let mut shared = context.meta.shared.iter().zip(context.shared);
        let values_type = self.values.value_type();
        let dictionary =
            shared.find(|(spec, _)| spec.kind.has_entries() && spec.value_type == values_type);
        let Some((_, dictionary)) = dictionary else {
            return Ok(None);
        };
        Ok(match dictionary.as_values()? {
            Values::Fixed(entries) if entries.width() == values.width() && !entries.is_empty() => {
                let bytes = entries.get(0).repeat(values.len());
                Some(Cleaned::Fixed(bytes, values.width(), values.len()))
            }
            _ => None,
        })
    }

    /// The validity layer's descriptor and bytes, padded; empty in a page without.
    fn layer(&self, context: &BlockContext<'_>) -> Result<Vec<u8>> {
        let (Some(bits), Some(layer)) = (self.validity, context.meta.layers.first()) else {
            return Ok(Vec::new());
        };
        let mut out = vec![0; 8];
        let tree = match bits.count_ones() {
            valid if valid == bits.len() => LAYER_ALL_VALID,
            0 => LAYER_ALL_NULL,
            _ => {
                let values = Values::Bits(bits);
                let mut refused = Error::invalid("the validity layer has no trees");
                let mut found = None;
                for (i, tree) in (0..LAYER_ALL_NULL).zip(&layer.trees) {
                    out.truncate(8);
                    let mut shared = context.closed_buffers()?;
                    let encoder = build_encoder(context.registry, tree, values, &mut shared);
                    let block = ValuesOfBlock::all(values)?;
                    match encoder.and_then(|it| it.encode(block, &mut out)) {
                        Ok(()) => {
                            found = Some(i);
                            break;
                        }
                        Err(error) => refused = error,
                    }
                }
                found.ok_or(refused)?
            }
        };
        let len = length(out.len() - 8)?;
        out[0] = tree;
        out[4..8].copy_from_slice(&len.to_le_bytes());
        out.resize(out.len().next_multiple_of(BLOCK_ALIGN), 0);
        Ok(out)
    }

    fn unit(&self, context: &BlockContext<'_>, tree: &Tree, values: Values<'_>) -> Result<Vec<u8>> {
        let all = self.prepare_from.unwrap_or(values);
        let mut shared = context.closed_buffers()?;
        let encoder = build_encoder(context.registry, tree, all, &mut shared)?;
        let mut out = Vec::new();
        encoder.encode(ValuesOfBlock::all(values)?, &mut out)?;
        Ok(out)
    }

    /// Header, salt, layer and unit, without padding.
    fn block(
        &self,
        context: &BlockContext<'_>,
        tree: usize,
        layer: &[u8],
        unit: &[u8],
        decoded_bytes: u64,
    ) -> Result<Vec<u8>> {
        let valid = match self.validity {
            Some(bits) => bits.count_ones(),
            None => self.present_rows,
        };
        let decoded_max = match self.logical_rows {
            1 => limits::UNIT_DECODED_BYTES_MAX,
            _ => BLOCK_DECODED_BYTES_MAX.into(),
        };
        if decoded_bytes > decoded_max {
            return Err(Error::invalid("the rows are too large for a block"));
        }
        let header = BlockHeader {
            tree: u8::try_from(tree).map_err(|_| Error::invalid("a page has 254 trees"))?,
            salted: self.salt.is_some(),
            chunked: false,
            indexed: false,
            logical_rows: self.logical_rows,
            present_rows: length(self.present_rows)?,
            n_values: match self.present_rows {
                0 => 0,
                _ => length(self.values.len())?,
            },
            decoded_bytes: length(decoded_bytes as usize)?,
            payload_bytes: length(layer.len() + unit.len())?,
            crc: 0,
            null_count: length(self.present_rows - valid)?,
        };
        let mut bytes = header.to_bytes().to_vec();
        if let Some(salt) = self.salt {
            bytes.extend_from_slice(&salt);
        }
        bytes.extend_from_slice(layer);
        bytes.extend_from_slice(unit);
        // One predicate for reader and writer: what a reader would refuse is refused here.
        reseal(&mut bytes, context.checksum)?;
        Ok(bytes)
    }
}

fn moved(mut bytes: Vec<u8>) -> Outcome {
    bytes.resize(bytes.len().next_multiple_of(BLOCK_ALIGN), 0);
    Outcome::MustMove { bytes }
}
