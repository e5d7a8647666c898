//! Taking rows out of a block.

use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::{BitSlice, Error, Result, Values};
use tarsia_structure::block::{BLOCK_HEADER_BYTES, BlockHeader, SALT_BYTES, checksummed};

use super::block::{BlockContent, Outcome};
use super::context::BlockContext;
use super::decode::{decode_survivors, parse};
use super::survivors::Survivors;
use crate::collected_levels::LevelsSlice;
use crate::nulls::compacted;

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

/// The steps of an erasure that take something away, so that tests can leave out each of them.
#[derive(Debug, Clone, Copy)]
struct Steps {
    /// Entries of erased rows leave levels, validity and values.
    drop_rows: bool,
    /// Null items get filler from the survivors.
    recompute_filler: bool,
    /// Encoders are prepared from the survivors, not from all values the block had.
    prepare_from_survivors: bool,
    /// True if the bytes behind the new block are zeroed.
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
    erase_with(context, erasure, ALL_STEPS, decode)
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
    erase_with(context, erasure, ALL_STEPS, decode)
}

fn erase_with<E: From<Error>>(
    context: &BlockContext<'_>,
    erasure: &BlockErasure<'_>,
    steps: Steps,
    decode: impl FnOnce() -> Result<Survivors, E>,
) -> Result<Outcome, E> {
    check_rows(erasure.absent, erasure.rows)?;
    check_rows(erasure.erase, erasure.rows)?;
    for (covered, stored) in checksummed(erasure.place)? {
        if (context.checksum)(covered) != stored {
            // Else a damaged block would get a good checksum.
            return Err(Error::corrupt("block.crc", 0, stored, "the block's CRC").into());
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
        )
        .into());
    }
    let (kept, n_kept) = kept_rows(erasure, n_present, steps);
    let salt = match steps.redraw_salt {
        true => erasure.salt,
        false => old_salt(erasure.place)?,
    };
    let tail = (!steps.zero_tail).then_some(erasure.place);
    let of_parts = |parts: BlockContent<'_>| {
        parts.encode(context, erasure.place.len(), steps.recompute_filler, tail)
    };
    if n_kept == 0 {
        // Nothing of the block is left, so nothing of it is decoded.
        return Ok(of_parts(BlockContent::of_no_rows(
            erasure.rows,
            context.meta,
            salt,
        )?)?);
    }
    let kept = BitSlice::new(&kept, 0, n_present)?;
    let old = decode()?;
    if old.rows() != n_present {
        return Err(Error::invalid("decoded rows that are not the block's").into());
    }
    let left = match &old.levels {
        Some(levels) => Some(levels.keep(kept)?),
        None => None,
    };
    // In flat pages an item is a row.
    let kept_items = match &left {
        Some((_, items)) => items.slice(0..items.len)?,
        None => kept,
    };
    let n_items = kept_items.count_ones();
    let validity = match old.validity() {
        Some(bits) => Some(compacted(Values::Bits(bits), kept_items, n_items)?),
        None => None,
    };
    let validity = match &validity {
        Some(bits) => Some(bits.as_values()?.as_bits()?),
        None => None,
    };
    let old_values = old.values()?;
    let values = match old.validity() {
        Some(bits) if context.meta.compact => {
            let of_valid = compacted(Values::Bits(kept_items), bits, bits.count_ones())?;
            let of_valid = of_valid.as_values()?.as_bits()?;
            compacted(old_values, of_valid, of_valid.count_ones())?
        }
        _ => compacted(old_values, kept_items, n_items)?,
    };
    Ok(of_parts(BlockContent {
        logical_rows: erasure.rows,
        present_rows: n_kept,
        levels: match &left {
            Some((levels, _)) => Some(LevelsSlice::new(levels, 0..n_kept)?),
            None => None,
        },
        validity,
        values: values.as_values()?,
        prepare_from: match steps.prepare_from_survivors {
            true => None,
            false => Some(old_values),
        },
        salt,
    })?)
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

/// Each step that takes something away is left out in turn, and what it takes away is then found.
#[cfg(test)]
mod tests {
    use alloc::boxed::Box;

    use tarsia_codec::{
        BlockValues, Children, DecodeCost, Decoder, Encoding, EncodingWriter, EraseFit, FixedSlice,
        Node, NodeSpec, Output, PageEncoder, Prepare, Proposals, Registry, Sample, Scratch,
        Selection, SharedBuffer, Statistics, Tree, Unit, ValueType, Version,
    };
    use tarsia_structure::meta::{Layer, LayerKind, Layout, Meta};
    use tarsia_testkit::units::checksum;

    use super::*;
    use crate::erase::block::encode_block;

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

    /// Erases row 20, whose value is the canary and the smallest; the null row 21 holds it as filler. Returns the
    /// place.
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
        let values = FixedSlice::new(&values, 8, ROWS as usize).unwrap();
        let valid = [0xff, 0xff, 0b1101_1111, 0xff, 0xff, 0xff, 0xff];
        let valid = BitSlice::new(&valid, 0, ROWS as usize).unwrap();
        let salt = |byte| Some([byte; SALT_BYTES]);
        let values = Values::Fixed(values);
        let old = encode_block(&context, None, Some(valid), values, ROWS, salt(1), 1024).unwrap();
        assert!(contains(old.bytes(), &CANARY) && contains(old.bytes(), &[1; SALT_BYTES]));
        let erasure = BlockErasure {
            place: old.bytes(),
            rows: ROWS,
            absent: &[],
            erase: &[20],
            salt: salt(2),
        };
        let erase = |erasure: &BlockErasure<'_>| {
            let decode = || decode_survivors(&context, erasure.place, erasure.rows);
            erase_with(&context, erasure, steps, decode).unwrap()
        };
        let new = erase(&erasure);
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
        let last = erase(&erasure);
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
