//! Taking rows out of a block.

use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::{BitSlice, Error, Result, Values};
use tarsia_structure::block::{SALT_BYTES, checksummed};

use super::block::{BlockContent, Outcome};
use super::context::BlockContext;
use super::decode::{decode_survivors, parse};
use super::survivors::Survivors;
use crate::collected_levels::{CollectedLevels, LevelsSlice};
use crate::nulls::{CopiedValues, compacted};

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

/// Takes rows out of a block and encodes the others afresh: first under the first tree of the page, then the next. A
/// block of which no row is left is not decoded.
///
/// The result is a function of the survivors, the page's trees and dictionaries, the length of the place, the salt and
/// the number of rows; nothing else of the old bytes is in it.
///
/// # Errors
/// [`ErrorKind::Truncated`](tarsia_codec::ErrorKind::Truncated) and
/// [`ErrorKind::Corrupt`](tarsia_codec::ErrorKind::Corrupt) for bad bytes (a checksum that does not match among them)
/// and where the rows said to be absent are not as many as the block says;
/// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) for row lists that do not rise or reach beyond
/// the block; what decoders and encoders refuse.
pub fn erase_block(context: &BlockContext<'_>, erasure: &BlockErasure<'_>) -> Result<Outcome> {
    let decode = || decode_survivors(context, erasure.place, erasure.rows);
    erase_block_with(context, erasure, decode)
}

/// As [`erase_block`], with the present rows of the block decoded by `decode`: where something else decodes what this
/// build does not. It is called only for a block that is right, and of which rows are left.
///
/// # Errors
/// As [`erase_block`], and those of `decode`.
pub fn erase_block_with<E: From<Error>>(
    context: &BlockContext<'_>,
    erasure: &BlockErasure<'_>,
    decode: impl FnOnce() -> Result<Survivors, E>,
) -> Result<Outcome, E> {
    let n_present = check(context, erasure)?;
    let (kept, n_kept) = kept_rows(erasure, n_present);
    let place_bytes = erasure.place.len();
    if n_kept == 0 {
        // Nothing of the block is left, so nothing of it is decoded.
        let none = BlockContent::of_no_rows(erasure.rows, context.meta, erasure.salt)?;
        return Ok(none.encode(context, place_bytes)?);
    }
    let old = decode()?;
    if old.rows() != n_present {
        return Err(Error::invalid("decoded rows that are not the block's").into());
    }
    let kept = BitSlice::new(&kept, 0, n_present)?;
    let left = Left::of(&old, kept, context.meta.compact)?;
    Ok(left.parts(erasure)?.encode(context, place_bytes)?)
}

/// Checks the lists of rows and the block; returns how many rows are present.
fn check(context: &BlockContext<'_>, erasure: &BlockErasure<'_>) -> Result<usize> {
    check_rows(erasure.absent, erasure.rows)?;
    check_rows(erasure.erase, erasure.rows)?;
    for (covered, stored) in checksummed(erasure.place)? {
        if (context.checksum)(covered) != stored {
            // Else a damaged block would get a good checksum.
            return Err(Error::corrupt("block.crc", 0, stored, "the block's CRC"));
        }
    }
    let n_present = parse(context, erasure.place, erasure.rows)?
        .header
        .present_rows as usize;
    if n_present + erasure.absent.len() != erasure.rows as usize {
        return Err(Error::corrupt(
            "block.present_rows",
            12,
            n_present as u64,
            "the logical rows, less those absent",
        ));
    }
    Ok(n_present)
}

/// The rest of the entries of a block: those of some of its present rows.
struct Left {
    rows: usize,
    levels: Option<CollectedLevels>,
    validity: Option<CopiedValues>,
    values: CopiedValues,
}

impl Left {
    /// `kept` has a bit for each present row.
    fn of(old: &Survivors, kept: BitSlice<'_>, compact: bool) -> Result<Self> {
        let levels = match &old.levels {
            Some(levels) => Some(levels.keep(kept)?),
            None => None,
        };
        // In flat pages an item is a row.
        let kept_items = match &levels {
            Some((_, items)) => items.slice(0..items.len)?,
            None => kept,
        };
        let n_items = kept_items.count_ones();
        let validity = match old.validity() {
            Some(bits) => Some(compacted(Values::Bits(bits), kept_items, n_items)?),
            None => None,
        };
        let values = match old.validity() {
            Some(bits) if compact => {
                let of_valid = compacted(Values::Bits(kept_items), bits, bits.count_ones())?;
                let of_valid = of_valid.as_values()?.as_bits()?;
                compacted(old.values()?, of_valid, of_valid.count_ones())?
            }
            _ => compacted(old.values()?, kept_items, n_items)?,
        };
        Ok(Self {
            rows: kept.count_ones(),
            levels: levels.map(|(levels, _)| levels),
            validity,
            values,
        })
    }

    fn parts(&self, erasure: &BlockErasure<'_>) -> Result<BlockContent<'_>> {
        Ok(BlockContent {
            logical_rows: erasure.rows,
            present_rows: self.rows,
            levels: match &self.levels {
                Some(levels) => Some(LevelsSlice::new(levels, 0..self.rows)?),
                None => None,
            },
            validity: match &self.validity {
                Some(bits) => Some(bits.as_values()?.as_bits()?),
                None => None,
            },
            values: self.values.as_values()?,
            salt: erasure.salt,
        })
    }
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

/// One bit per present row, 1 for survivors, and how many they are.
fn kept_rows(erasure: &BlockErasure<'_>, n_present: usize) -> (Vec<u8>, usize) {
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
        if !is_erased {
            if let Some(byte) = kept.get_mut(at / 8) {
                *byte |= 1 << (at % 8);
            }
            n_kept += 1;
        }
        at += 1;
    }
    (kept, n_kept)
}

/// Each step that takes something away is left out in turn, by calling those around it, and what it takes away is then
/// found.
#[cfg(test)]
mod tests {
    use alloc::boxed::Box;

    use tarsia_codec::{
        BlockValues, Children, DecodeCost, Decoder, Encoding, EncodingWriter, EraseFit, Facts,
        FixedSlice, Node, NodeSpec, Output, PageEncoder, Prepare, Proposals, Registry, Sample,
        Scratch, Selection, SharedBuffer, Statistics, Tree, Unit, ValueType, Version,
    };
    use tarsia_structure::block::BlockHeader;
    use tarsia_structure::meta::{Layer, LayerKind, Layout, Meta};
    use tarsia_testkit::units::checksum;

    use super::*;
    use crate::erase::block::{encode_block, prepared};

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
        fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
            out.extend_from_slice(&self.0.to_le_bytes());
            for number in numbers(block.values())? {
                out.extend_from_slice(&(number - self.0).to_le_bytes());
            }
            Ok(())
        }
    }

    /// Calls `check` with the context of a page under `tree`, and a block of it. Row 20 has the canary, the smallest
    /// value; the null row 21 holds it as filler.
    fn with_block(tree: Tree, check: impl FnOnce(&BlockContext<'_>, &[u8])) {
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
            .map(|i| match i {
                20 => canary,
                _ => canary + 1 + i * i * 977,
            })
            .flat_map(u64::to_le_bytes)
            .collect();
        let values = FixedSlice::new(&values, 8, ROWS as usize).unwrap();
        let valid = [0xff, 0xff, 0b1101_1111, 0xff, 0xff, 0xff, 0xff];
        let valid = BitSlice::new(&valid, 0, ROWS as usize).unwrap();
        let values = Values::Fixed(values);
        let old = encode_block(&context, None, Some(valid), values, ROWS, OLD_SALT, 1024).unwrap();
        assert!(contains(old.bytes(), &CANARY) && contains(old.bytes(), &[1; SALT_BYTES]));
        check(&context, old.bytes());
    }

    const OLD_SALT: Option<[u8; SALT_BYTES]> = Some([1; SALT_BYTES]);

    fn contains(bytes: &[u8], pattern: &[u8]) -> bool {
        bytes.windows(pattern.len()).any(|window| window == pattern)
    }

    fn offsets() -> Tree {
        Tree::leaf("test.offsets", Version::new(1, 0), &[])
    }

    fn of_canary(place: &[u8]) -> BlockErasure<'_> {
        BlockErasure {
            place,
            rows: ROWS,
            absent: &[],
            erase: &[20],
            salt: Some([2; SALT_BYTES]),
        }
    }

    fn erased(context: &BlockContext<'_>, erasure: &BlockErasure<'_>) -> Vec<u8> {
        let outcome = erase_block(context, erasure).unwrap();
        assert!(!outcome.must_move());
        assert_eq!(outcome.bytes().len(), erasure.place.len());
        outcome.bytes().to_vec()
    }

    /// Returns what is left without the canary.
    fn left(context: &BlockContext<'_>, old: &Survivors) -> Left {
        let (kept, _) = kept_rows(&of_canary(&[]), ROWS as usize);
        let kept = BitSlice::new(&kept, 0, ROWS as usize).unwrap();
        Left::of(old, kept, context.meta.compact).unwrap()
    }

    #[test]
    fn all_steps_leave_neither_the_value_nor_the_salt() {
        for tree in [offsets(), tarsia_plain::tree()] {
            with_block(tree, |context, old| {
                let new = erased(context, &of_canary(old));
                assert!(!contains(&new, &CANARY) && !contains(&new, &[1; SALT_BYTES]));
            });
        }
    }

    #[test]
    fn rows_have_to_be_dropped_and_the_salt_drawn_anew() {
        with_block(tarsia_plain::tree(), |context, old| {
            let no_row = BlockErasure {
                erase: &[],
                ..of_canary(old)
            };
            assert!(contains(&erased(context, &no_row), &CANARY));
            let same_salt = BlockErasure {
                salt: OLD_SALT,
                ..of_canary(old)
            };
            assert!(contains(&erased(context, &same_salt), &[1; SALT_BYTES]));
        });
    }

    #[test]
    fn filler_has_to_be_computed_anew() {
        with_block(tarsia_plain::tree(), |context, old| {
            let erasure = of_canary(old);
            let left = left(context, &decode_survivors(context, old, ROWS).unwrap());
            let parts = left.parts(&erasure).unwrap();
            let kept = parts.encode_filled(context, old.len(), parts.values);
            assert!(contains(kept.unwrap().bytes(), &CANARY));
            // The same with the step is what an erasure does.
            let whole = parts.encode(context, old.len()).unwrap();
            assert_eq!(whole.bytes(), erased(context, &erasure));
        });
    }

    #[test]
    fn encoders_have_to_be_prepared_from_survivors() {
        with_block(offsets(), |context, old| {
            let all = decode_survivors(context, old, ROWS).unwrap();
            let left = left(context, &all);
            let survivors = left.values.as_values().unwrap();
            let unit = |prepared_from: Values<'_>| {
                let seen = Statistics::new(prepared_from, Facts::default());
                let encoder = prepared(context, &context.meta.trees[0], &seen).unwrap();
                let mut out = Vec::new();
                let block = BlockValues::new(survivors, 0..20).unwrap();
                encoder.encode(block, &mut out).unwrap();
                out
            };
            assert!(contains(&unit(all.values().unwrap()), &CANARY));
            assert!(!contains(&unit(survivors.slice(0..20)), &CANARY));
        });
    }

    #[test]
    fn what_lies_behind_the_new_block_has_to_be_zeroed() {
        with_block(tarsia_plain::tree(), |context, old| {
            let first = erased(context, &of_canary(old));
            // A second round, which leaves a smaller block; rows that the first has left lie behind it.
            let rest: Vec<u32> = (0..ROWS).filter(|i| !matches!(i, 3 | 21)).collect();
            let second = BlockErasure {
                place: &first,
                absent: &[20],
                erase: &rest,
                ..of_canary(old)
            };
            let new = erased(context, &second);
            let end = BlockHeader::parse(&new).unwrap().block_bytes() as usize;
            let survivor = (u64::from_le_bytes(CANARY) + 1 + 40 * 40 * 977).to_le_bytes();
            assert!(contains(&first[end..], &survivor));
            assert_eq!(new[end..], vec![0; new.len() - end]);
        });
    }
}
