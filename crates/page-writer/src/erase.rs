//! Taking rows out of a block: what is left is encoded afresh into the block's place. See `docs/spec/erasure.md`.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::{
    AlignedBuf, BitSlice, Block as ValuesOfBlock, Error, Output, OwnedValues, Registry, Result,
    Scratch, Selection, SharedBuffer, SharedBuffers, Tree, Unit, UsedEntries, ValueType, Values,
    build_decoder, build_encoder, limits,
};

use crate::encode::{Cleaned, compacted, filled, length};
use crate::full_zip::push_indexed;
use tarsia_structure::block::{
    BLOCK_ALIGN, BLOCK_DECODED_BYTES_MAX, BLOCK_HEADER_BYTES, Block, BlockExpectation, BlockHeader,
    LAYER_ALL_NULL, LAYER_ALL_VALID, SALT_BYTES, Validity, checksummed, reseal,
};
use tarsia_structure::meta::Meta;
use tarsia_structure::zip::{ZipForm, ZipRows};

/// What the blocks of a page have in common.
#[derive(Clone, Copy)]
pub struct BlockContext<'a> {
    /// Decoders and encoders by id.
    pub registry: &'a Registry,
    /// How the page is encoded.
    pub meta: &'a Meta,
    /// What the page's shared buffers decode to, in the order of their numbers; they are used as they are and never
    /// added to.
    pub shared: &'a [Arc<OwnedValues>],
    /// CRC-32C.
    pub checksum: fn(&[u8]) -> u32,
}

impl BlockContext<'_> {
    /// The page's shared buffers as encoders get them.
    fn closed_buffers(&self) -> Result<SharedBuffers> {
        // One check for both sides.
        self.meta.shared_buffers(self.shared)?;
        let specs = self.meta.shared.iter().copied();
        let buffers: Vec<_> = specs.zip(self.shared.iter().cloned()).collect();
        Ok(SharedBuffers::closed(&buffers))
    }
}

/// One block and what is to be taken out of it.
#[derive(Debug, Clone, Copy)]
pub struct BlockErasure<'a> {
    /// All of the block's place: header, salt, payload, and zeros to the place's end. Hostile.
    pub place: &'a [u8],
    /// Rows the block table gives the block.
    pub rows: u32,
    /// Rows of the block erased before, rising.
    pub absent: &'a [u32],
    /// Rows of the block to erase now, rising; those absent already may be among them.
    pub erase: &'a [u32],
    /// The block's new salt; `None` writes the block without one.
    pub salt: Option<[u8; SALT_BYTES]>,
}

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

/// The decoded present rows of a block.
#[derive(Debug)]
pub struct Survivors {
    rows: usize,
    validity: Option<Vec<u8>>,
    values: OwnedValues,
}

impl Survivors {
    /// Present rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// One bit per present row, 1 for valid; `None` in a page without validity.
    pub fn validity(&self) -> Option<BitSlice<'_>> {
        let bytes = self.validity.as_ref()?;
        BitSlice::new(bytes, 0, self.rows).ok()
    }

    /// The values of the unit: in a compact page those of the valid rows, else one per present row.
    ///
    /// # Errors
    /// What a decoder that breaks its contract may leave.
    pub fn values(&self) -> Result<Values<'_>> {
        self.values.as_values()
    }
}

/// The steps of an erasure that take something away, so that tests can leave out each of them.
#[derive(Debug, Clone, Copy)]
struct Steps {
    /// Entries of erased rows leave validity and values.
    drop_rows: bool,
    /// Null items get filler from the survivors.
    recompute_filler: bool,
    /// Encoders are prepared from the survivors, not from all values the block had.
    prepare_from_survivors: bool,
    /// What lies behind the new block is zeroed.
    zero_tail: bool,
    /// The old salt gives way to the new one.
    redraw_salt: bool,
}

const ALL_STEPS: Steps = Steps {
    drop_rows: true,
    recompute_filler: true,
    prepare_from_survivors: true,
    zero_tail: true,
    redraw_salt: true,
};

/// Takes rows out of a block and encodes the others afresh: first under the first tree of the page, then the next.
///
/// The result is a function of the survivors, the page's trees and dictionaries, the length of the place, the salt and
/// the number of rows; nothing else of the old bytes is in it.
///
/// # Errors
/// [`ErrorKind::Truncated`](tarsia_codec::ErrorKind::Truncated) and [`ErrorKind::Corrupt`](tarsia_codec::ErrorKind::Corrupt) for bad bytes (a checksum that does not match among them) and where the
/// rows said to be absent are not as many as the block says; [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) for row lists that do not rise or reach
/// beyond the block; what decoders and encoders refuse.
pub fn erase_block(context: &BlockContext<'_>, erasure: &BlockErasure<'_>) -> Result<Outcome> {
    erase_with(context, erasure, ALL_STEPS)
}

fn erase_with(
    context: &BlockContext<'_>,
    erasure: &BlockErasure<'_>,
    steps: Steps,
) -> Result<Outcome> {
    check_rows(erasure.absent, erasure.rows)?;
    check_rows(erasure.erase, erasure.rows)?;
    for (covered, stored) in checksummed(erasure.place)? {
        if (context.checksum)(covered) != stored {
            // Else a damaged block would get a good checksum.
            return Err(Error::corrupt("block.crc", 0, stored, "the block's CRC"));
        }
    }
    let old = decode_survivors(context, erasure.place, erasure.rows)?;
    if old.rows + erasure.absent.len() != erasure.rows as usize {
        return Err(Error::corrupt(
            "block.present_rows",
            12,
            old.rows as u64,
            "the logical rows, less those absent",
        ));
    }
    let (kept, n_kept) = kept_rows(erasure, old.rows, steps);
    let kept = BitSlice::new(&kept, 0, old.rows)?;
    let validity = match old.validity() {
        Some(bits) => Some(compacted(Values::Bits(bits), kept, n_kept)?),
        None => None,
    };
    let validity = match &validity {
        Some(bits) => Some(bits.as_values()?.as_bits()?),
        None => None,
    };
    let old_values = old.values()?;
    let values = match old.validity() {
        Some(bits) if context.meta.compact => {
            let of_valid = compacted(Values::Bits(kept), bits, bits.count_ones())?;
            let of_valid = of_valid.as_values()?.as_bits()?;
            compacted(old_values, of_valid, of_valid.count_ones())?
        }
        _ => compacted(old_values, kept, n_kept)?,
    };
    let parts = Parts {
        logical_rows: erasure.rows,
        present_rows: n_kept,
        validity,
        values: values.as_values()?,
        prepare_from: match steps.prepare_from_survivors {
            true => None,
            false => Some(old_values),
        },
        salt: match steps.redraw_salt {
            true => erasure.salt,
            false => old_salt(erasure.place)?,
        },
    };
    let tail = (!steps.zero_tail).then_some(erasure.place);
    parts.encode(context, erasure.place.len(), steps.recompute_filler, tail)
}

/// Encodes rows as one block for a place of `place_bytes`, as an erasure would leave them.
///
/// `validity` and `values` have an entry for each present row. A block that is new has as many rows as `logical_rows`.
///
/// # Errors
/// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) where lengths do not fit each other, or for nulls in a page without validity; what encoders refuse.
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

/// Rows of nested pages are not taken out yet. The form of others, if their rows lie one by one.
fn refuse_nested(meta: &Meta) -> Result<Option<ZipForm>> {
    match meta.levels.is_empty() {
        true => ZipForm::of(meta),
        false => Err(Error::unsupported("erasing from a nested page")),
    }
}

/// Decodes the present rows of a block, erased ones being absent.
///
/// # Errors
/// What [`Block::parse_erased`] and the decoders refuse; [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) for a page without values.
pub fn decode_survivors(context: &BlockContext<'_>, place: &[u8], rows: u32) -> Result<Survivors> {
    let shared = context.meta.shared_buffers(context.shared)?;
    decode_present(context, &shared, place, rows)
}

fn decode_present(
    context: &BlockContext<'_>,
    shared: &[SharedBuffer],
    place: &[u8],
    rows: u32,
) -> Result<Survivors> {
    let meta = context.meta;
    let zip = refuse_nested(meta)?;
    let value_type = meta
        .value_type
        .ok_or_else(|| Error::invalid("a page of type Null has nothing to erase"))?;
    let expect = BlockExpectation::of(meta, rows)?;
    let block = Block::parse_erased(place, &expect)?;
    let header = block.header;
    let rows = header.present_rows as usize;
    if let Some(form) = zip {
        return indexed_survivors(form, &block);
    }
    let mut scratch = Scratch::new();
    let validity = match (meta.layers.first(), block.validity) {
        (None, _) => None,
        (Some(_), Validity::AllValid) => Some(vec![0xff; rows.div_ceil(8)]),
        (Some(_), Validity::AllNull) => Some(vec![0; rows.div_ceil(8)]),
        (Some(layer), Validity::Encoded { tree, bytes }) => {
            let tree = tree_of(&layer.trees, tree, "layer.tree")?;
            let decoder = build_decoder(context.registry, tree, ValueType::Bits, shared)?;
            let unit = Unit {
                bytes,
                len: header.present_rows,
                decoded_bytes: header.present_rows.div_ceil(8),
            };
            let mut bits = vec![0; rows.div_ceil(8)];
            let out = Output::Bits {
                bytes: &mut bits,
                offset: 0,
            };
            decoder.decode(unit, Selection::All, &mut scratch, out)?;
            Some(bits)
        }
    };
    if let Some(bits) = &validity {
        let nulls = rows - BitSlice::new(bits, 0, rows)?.count_ones();
        if nulls != header.null_count as usize {
            return Err(Error::corrupt(
                "block.null_count",
                28,
                header.null_count,
                "what the validity layer says",
            ));
        }
    }
    // Header and limits bound both: a block decodes to 16 MiB at most, or to a multiple of its payload.
    let (n, decoded_bytes) = (header.n_values as usize, header.decoded_bytes as usize);
    let mut bytes = AlignedBuf::zeroed(decoded_bytes);
    let mut ends = vec![0; if value_type == ValueType::Bytes { n } else { 0 }];
    let mut written = decoded_bytes;
    if n > 0 {
        let tree = tree_of(&meta.trees, header.tree, "block.tree")?;
        let decoder = build_decoder(context.registry, tree, value_type, shared)?;
        let unit = Unit {
            bytes: block.unit,
            len: header.n_values,
            decoded_bytes: header.decoded_bytes,
        };
        let out = match value_type {
            ValueType::Bits => Output::Bits {
                bytes: &mut bytes,
                offset: 0,
            },
            ValueType::Fixed(_) => Output::Fixed(&mut bytes),
            ValueType::Bytes => Output::Bytes {
                ends: &mut ends,
                base: 0,
                data: &mut bytes,
            },
        };
        let done = decoder.decode(unit, Selection::All, &mut scratch, out)?;
        if value_type == ValueType::Bytes {
            written = done;
        }
    }
    if written != decoded_bytes {
        return Err(Error::corrupt(
            "block.decoded_bytes",
            20,
            header.decoded_bytes,
            "the bytes of the strings",
        ));
    }
    let values = match value_type {
        ValueType::Bits => OwnedValues::Bits { bytes, len: n },
        ValueType::Fixed(width) => OwnedValues::Fixed {
            bytes,
            width: width as usize,
            len: n,
        },
        ValueType::Bytes => OwnedValues::Bytes {
            offsets: core::iter::once(0).chain(ends).collect(),
            data: bytes,
        },
    };
    Ok(Survivors {
        rows,
        validity,
        values,
    })
}

/// The present rows of a full-zip block of a flat column.
fn indexed_survivors(form: ZipForm, block: &Block<'_>) -> Result<Survivors> {
    if !form.is_indexed() {
        return Err(Error::unsupported(
            "erasing from a full-zip page of fixed width",
        ));
    }
    let zip = ZipRows::of(form, block);
    let rows = block.header.present_rows;
    let validity = zip.has_item_validity().then(|| {
        let mut bits = vec![0; (rows as usize).div_ceil(8)];
        for row in 0..rows {
            bits[row as usize / 8] |= u8::from(zip.item_is_valid(row)) << (row % 8);
        }
        bits
    });
    let ends = (0..rows).map(|row| zip.place_of(0..row + 1).end as u32);
    Ok(Survivors {
        rows: rows as usize,
        validity,
        values: OwnedValues::Bytes {
            offsets: core::iter::once(0).chain(ends).collect(),
            data: AlignedBuf::copy_of(block.unit),
        },
    })
}

/// Notes in `used`, which has one for each shared buffer of the page, which entries of buffers of a kind with entries
/// the present rows of a block refer to, whatever encodings stand between the rows and the buffer. The filler of null
/// items refers to nothing: were its entry wiped, it would read as another filler.
///
/// # Errors
/// As [`decode_survivors`]; [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) where there is not one
/// for each buffer.
pub fn mark_used(
    context: &BlockContext<'_>,
    place: &[u8],
    rows: u32,
    used: &[Arc<UsedEntries>],
) -> Result<()> {
    let buffers = context.meta.shared_buffers(context.shared)?;
    if used.len() != buffers.len() {
        return Err(Error::invalid(
            "one note for each shared buffer of the page",
        ));
    }
    let of_all = |buffers: &[SharedBuffer]| -> Vec<SharedBuffer> {
        let recording = buffers.iter().zip(used);
        recording
            .map(|(buffer, used)| buffer.clone().recording(used.clone()))
            .collect()
    };
    let meta = context.meta;
    if buffers.is_empty() {
        return Ok(());
    }
    if meta.layers.is_empty() || meta.compact {
        return decode_present(context, &of_all(&buffers), place, rows).map(|_| ());
    }
    // What is valid first; then of the values those alone.
    let survivors = decode_present(context, &buffers, place, rows)?;
    let Some(validity) = survivors.validity() else {
        return Ok(());
    };
    let valid: Vec<u32> = (0..survivors.rows() as u32)
        .filter(|i| validity.get(*i as usize))
        .collect();
    // The validity layer's own shared buffers, if it has any, are all in use.
    let trees = meta.layers.iter().flat_map(|layer| &layer.trees);
    for tree in trees {
        tree.visit(&mut |node| {
            for number in &node.shared {
                if let Some(used) = used.get(usize::from(*number)) {
                    (0..used.len()).for_each(|i| used.insert(i));
                }
            }
        });
    }
    let expect = BlockExpectation::of(meta, rows)?;
    let block = Block::parse_erased(place, &expect)?;
    let header = block.header;
    if valid.is_empty() || header.n_values == 0 {
        return Ok(());
    }
    let value_type = survivors.values()?.value_type();
    let tree = tree_of(&meta.trees, header.tree, "block.tree")?;
    let decoder = build_decoder(context.registry, tree, value_type, &of_all(&buffers))?;
    let unit = Unit {
        bytes: block.unit,
        len: header.n_values,
        decoded_bytes: header.decoded_bytes,
    };
    let mut bytes = AlignedBuf::zeroed(header.decoded_bytes as usize);
    let mut ends = vec![
        0;
        if value_type == ValueType::Bytes {
            valid.len()
        } else {
            0
        }
    ];
    let out = match value_type {
        ValueType::Bits => Output::Bits {
            bytes: &mut bytes,
            offset: 0,
        },
        ValueType::Fixed(width) => {
            let len = valid.len() * width as usize;
            let bytes = bytes.get_mut(..len);
            Output::Fixed(bytes.ok_or_else(|| Error::invalid("values beyond their block"))?)
        }
        ValueType::Bytes => Output::Bytes {
            ends: &mut ends,
            base: 0,
            data: &mut bytes,
        },
    };
    decoder.decode(unit, Selection::Indices(&valid), &mut Scratch::new(), out)?;
    Ok(())
}

/// A copy of a shared buffer whose unused entries are zero, or strings of length 0. Entries keep their numbers. A
/// buffer of a kind that is needed whole ([`SharedKind::has_entries`](tarsia_codec::SharedKind::has_entries)) is copied
/// as it is.
///
/// # Errors
/// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) where there is not one flag per entry.
pub fn wipe_unused(buffer: &SharedBuffer, used: &UsedEntries) -> Result<OwnedValues> {
    let entries = buffer.values();
    if entries.len() != used.len() {
        return Err(Error::invalid("a shared buffer has a flag for each entry"));
    }
    if !buffer.kind().has_entries() {
        return Ok(OwnedValues::copy_of(entries.as_values()?));
    }
    let used: Vec<bool> = (0..used.len()).map(|i| used.contains(i)).collect();
    Ok(match entries.as_values()? {
        Values::Bits(bits) => {
            let mut bytes = AlignedBuf::zeroed(bits.len().div_ceil(8));
            for (i, used) in used.iter().enumerate() {
                bytes[i / 8] |= u8::from(*used && bits.get(i)) << (i % 8);
            }
            OwnedValues::Bits {
                bytes,
                len: bits.len(),
            }
        }
        Values::Fixed(fixed) => {
            let mut bytes = AlignedBuf::copy_of(fixed.bytes());
            for (i, _) in used.iter().enumerate().filter(|(_, used)| !**used) {
                bytes[i * fixed.width()..(i + 1) * fixed.width()].fill(0);
            }
            OwnedValues::Fixed {
                bytes,
                width: fixed.width(),
                len: fixed.len(),
            }
        }
        Values::Bytes(strings) => {
            let mut offsets = vec![0];
            let mut data = Vec::new();
            for (i, used) in used.iter().enumerate() {
                if *used {
                    data.extend_from_slice(strings.get(i));
                }
                // The strings were addressed by u32, so a subset of them is too.
                offsets.push(data.len() as u32);
            }
            OwnedValues::Bytes {
                offsets,
                data: AlignedBuf::copy_of(&data),
            }
        }
    })
}

fn tree_of<'a>(trees: &'a [Tree], tree: u8, field: &'static str) -> Result<&'a Tree> {
    trees
        .get(usize::from(tree))
        .ok_or_else(|| Error::corrupt(field, 0, tree, "the page's trees"))
}

fn check_rows(rows: &[u32], n_rows: u32) -> Result<()> {
    let rising = rows.windows(2).all(|pair| pair[0] < pair[1]);
    if rising && rows.last().is_none_or(|last| *last < n_rows) {
        Ok(())
    } else {
        Err(Error::invalid(
            "erased rows do not rise or reach beyond the block",
        ))
    }
}

fn old_salt(place: &[u8]) -> Result<Option<[u8; SALT_BYTES]>> {
    let salted = BlockHeader::parse(place)?.salted;
    let behind = place.get(BLOCK_HEADER_BYTES..).unwrap_or_default();
    Ok(behind.first_chunk().copied().filter(|_| salted))
}

/// One bit per present row, 1 for survivors, and how many they are.
fn kept_rows(erasure: &BlockErasure<'_>, n_present: usize, steps: Steps) -> (Vec<u8>, usize) {
    let mut kept = vec![0; n_present.div_ceil(8)];
    let (mut absent, mut erase) = (erasure.absent.iter(), erasure.erase.iter());
    let (mut next_absent, mut next_erase) = (absent.next(), erase.next());
    let (mut at, mut n_kept) = (0, 0);
    for row in 0..erasure.rows {
        let is_erased = next_erase == Some(&row);
        if is_erased {
            next_erase = erase.next();
        }
        if next_absent == Some(&row) {
            next_absent = absent.next();
            continue;
        }
        if !is_erased || !steps.drop_rows {
            if let Some(byte) = kept.get_mut(at / 8) {
                *byte |= 1 << (at % 8);
            }
            n_kept += 1;
        }
        at += 1;
    }
    (kept, n_kept)
}

/// What a block is made of.
struct Parts<'a> {
    logical_rows: u32,
    present_rows: usize,
    /// One bit per present row where the page has validity.
    validity: Option<BitSlice<'a>>,
    /// The values of the unit.
    values: Values<'a>,
    /// What encoders are prepared from instead: only in tests.
    prepare_from: Option<Values<'a>>,
    salt: Option<[u8; SALT_BYTES]>,
}

impl Parts<'_> {
    fn encode(
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
        if let Some(form) = ZipForm::of(context.meta)? {
            let block = self.indexed_block(form, context.checksum)?;
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

    /// The block of a full-zip page of byte strings.
    fn indexed_block(&self, form: ZipForm, checksum: fn(&[u8]) -> u32) -> Result<Vec<u8>> {
        let strings = self.values.as_bytes()?;
        let row = |i: usize| match self.validity {
            Some(bits) if !bits.get(i) => (0, &[][..]),
            Some(_) => (1, strings.get(i)),
            None => (0, strings.get(i)),
        };
        let rows: Vec<(u8, &[u8])> = (0..self.present_rows).map(row).collect();
        let mut block = Vec::new();
        push_indexed(
            &form,
            (self.logical_rows, self.salt),
            &rows,
            &mut block,
            checksum,
        )?;
        Ok(block)
    }

    /// Where all items are null and the page is not compact, their filler is zero, which a dictionary may lack: any of its
    /// entries will do there, and that entry counts as unused.
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

/// Each step that takes something away is left out in turn, and what it takes away is then found.
#[cfg(test)]
mod tests {
    use super::*;
    use alloc::boxed::Box;
    use tarsia_codec::{
        Children, DecodeCost, Decoder, Encoding, EncodingWriter, EraseFit, Node, NodeSpec,
        PageEncoder, Prepare, Proposals, Sample, Statistics, Version,
    };
    use tarsia_structure::meta::{Layer, LayerKind, Layout};

    const CANARY: [u8; 8] = [0x9d, 0x3b, 0xe1, 0x57, 0xc6, 0x2a, 0x84, 0x0f];
    const ROWS: u32 = 50;

    /// The smallest value as a number of the page, then each value less it: what bit-packing does, in whole bytes. The
    /// contract lets an encoder look at all values it was prepared from.
    struct Offsets(u64);

    fn numbers(values: Values<'_>) -> Result<Vec<u64>> {
        let bytes = values.as_fixed()?.bytes();
        Ok(bytes
            .as_chunks()
            .0
            .iter()
            .map(|number| u64::from_le_bytes(*number))
            .collect())
    }

    impl Encoding for Offsets {
        fn id(&self) -> &'static str {
            "test.offsets"
        }

        fn version(&self) -> Version {
            Version::new(1, 0)
        }

        fn check(&self, _node: &Node<'_>) -> Result<NodeSpec> {
            Ok(NodeSpec::LEAF)
        }

        fn init(
            &self,
            _node: &Node<'_>,
            _children: Children,
            _shared: &[SharedBuffer],
        ) -> Result<Box<dyn Decoder>> {
            Ok(Box::new(Self(0)))
        }
    }

    impl Decoder for Offsets {
        fn decode(
            &self,
            unit: Unit<'_>,
            _selection: Selection<'_>,
            _scratch: &mut Scratch,
            out: Output<'_>,
        ) -> Result<usize> {
            let to = out.into_fixed(8, unit.len as usize)?;
            let words = unit.bytes.as_chunks::<8>().0;
            let base = u64::from_le_bytes(words[0]);
            for (to, from) in to.as_chunks_mut::<8>().0.iter_mut().zip(&words[1..]) {
                *to = (base + u64::from_le_bytes(*from)).to_le_bytes();
            }
            Ok(0)
        }
    }

    impl EncodingWriter for Offsets {
        fn propose<'v>(&self, _: &Statistics<'v>, _: &mut Proposals<'v>) -> Result<()> {
            Ok(())
        }

        fn erase_fit(&self, _node: &Node<'_>) -> EraseFit {
            EraseFit::Always
        }

        fn samples(&self) -> Vec<Sample> {
            vec![]
        }

        fn prepare(
            &self,
            _node: &Node<'_>,
            values: Values<'_>,
            _page: &mut Prepare<'_>,
        ) -> Result<Box<dyn PageEncoder>> {
            let smallest = numbers(values)?.into_iter().min();
            Ok(Box::new(Self(smallest.unwrap_or_default())))
        }

        fn encoded_bytes_max(
            &self,
            _node: &Node<'_>,
            n_values: u64,
            _decoded_bytes: u64,
            _child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
        ) -> u64 {
            8 * (n_values + 1)
        }
    }

    impl PageEncoder for Offsets {
        fn encode(&self, block: ValuesOfBlock<'_>, out: &mut Vec<u8>) -> Result<()> {
            out.extend_from_slice(&self.0.to_le_bytes());
            for number in numbers(block.values())? {
                out.extend_from_slice(&(number - self.0).to_le_bytes());
            }
            Ok(())
        }
    }

    fn checksum(bytes: &[u8]) -> u32 {
        bytes
            .iter()
            .fold(7, |sum, byte| sum.rotate_left(5) ^ u32::from(*byte))
    }

    /// Erases row 20, whose value is the canary and the smallest; the null row 21 holds it as filler. Returns the place.
    fn erase(tree: Tree, steps: Steps) -> Vec<u8> {
        static OFFSETS: Offsets = Offsets(0);
        let mut registry = Registry::new();
        let cost = DecodeCost::default();
        registry
            .add_writer(&OFFSETS, cost)
            .add_writer(&tarsia_plain::PLAIN, cost)
            .add_writer(&tarsia_bitmap::BITMAP, cost);
        let meta = Meta {
            layout: Layout::MiniBlock,
            value_type: Some(ValueType::Fixed(8)),
            compact: false,
            levels: vec![],
            layers: vec![Layer {
                kind: LayerKind::ItemValidity,
                trees: vec![tarsia_bitmap::tree()],
            }],
            trees: vec![tree, tarsia_plain::tree()],
            shared: vec![],
        };
        let context = BlockContext {
            registry: &registry,
            meta: &meta,
            shared: &[],
            checksum,
        };
        let canary = u64::from_le_bytes(CANARY);
        let values: Vec<u8> = (0..u64::from(ROWS))
            .map(|i| {
                if i == 20 {
                    canary
                } else {
                    canary + 1 + i * i * 977
                }
            })
            .flat_map(u64::to_le_bytes)
            .collect();
        let values = tarsia_codec::FixedSlice::new(&values, 8, ROWS as usize).unwrap();
        let valid = [0xff, 0xff, 0b1101_1111, 0xff, 0xff, 0xff, 0xff];
        let valid = BitSlice::new(&valid, 0, ROWS as usize).unwrap();
        let salt = |byte| Some([byte; SALT_BYTES]);
        let values = Values::Fixed(values);
        let old = encode_block(&context, Some(valid), values, ROWS, salt(1), 1024).unwrap();
        assert!(contains(old.bytes(), &CANARY) && contains(old.bytes(), &[1; SALT_BYTES]));
        let erasure = BlockErasure {
            place: old.bytes(),
            rows: ROWS,
            absent: &[],
            erase: &[20],
            salt: salt(2),
        };
        let new = erase_with(&context, &erasure, steps).unwrap();
        // A second round, so that also the tail of a smaller block is looked at.
        let rest: Vec<u32> = (0..ROWS).filter(|i| !matches!(i, 3 | 21)).collect();
        let absent = match steps.drop_rows {
            true => vec![20],
            false => vec![],
        };
        let erasure = BlockErasure {
            place: new.bytes(),
            absent: &absent,
            erase: &rest,
            ..erasure
        };
        let last = erase_with(&context, &erasure, steps).unwrap();
        assert!(!new.must_move() && !last.must_move());
        assert_eq!((new.bytes().len(), last.bytes().len()), (1024, 1024));
        [new.bytes(), last.bytes()].concat()
    }

    fn contains(bytes: &[u8], pattern: &[u8]) -> bool {
        bytes.windows(pattern.len()).any(|window| window == pattern)
    }

    #[test]
    fn each_step_is_needed() {
        let offsets = || Tree::leaf("test.offsets", Version::new(1, 0), &[]);
        for tree in [offsets(), tarsia_plain::tree()] {
            let clean = erase(tree, ALL_STEPS);
            assert!(!contains(&clean, &CANARY) && !contains(&clean, &[1; SALT_BYTES]));
        }
        let without = |change: fn(&mut Steps)| {
            let mut steps = ALL_STEPS;
            change(&mut steps);
            steps
        };
        for (step, tree, steps) in [
            (
                "drop rows",
                tarsia_plain::tree(),
                without(|it| it.drop_rows = false),
            ),
            (
                "filler",
                tarsia_plain::tree(),
                without(|it| it.recompute_filler = false),
            ),
            (
                "prepare",
                offsets(),
                without(|it| it.prepare_from_survivors = false),
            ),
        ] {
            assert!(contains(&erase(tree, steps), &CANARY), "{step}");
        }
        let kept = erase(tarsia_plain::tree(), without(|it| it.redraw_salt = false));
        assert!(contains(&kept, &[1; SALT_BYTES]));
        // The survivors of the first round lie behind the block that the second leaves.
        let survivor = (u64::from_le_bytes(CANARY) + 1 + 40 * 40 * 977).to_le_bytes();
        let kept = erase(tarsia_plain::tree(), without(|it| it.zero_tail = false));
        assert!(contains(&kept[1024..], &survivor));
        assert!(!contains(
            &erase(tarsia_plain::tree(), ALL_STEPS)[1024..],
            &survivor
        ));
    }
}
