//! The levels of a nested block as they are stored: one section for each.

use tarsia_codec::toolbox::{ByteReader, check_zero};
use tarsia_codec::{Error, Result, limits};

use crate::header::BlockHeader;
use crate::layout::{BLOCK_ALIGN, LAYER_ALL_NULL, LAYER_ALL_VALID, LAYER_CONSTANT};
use crate::meta::Level;

/// Slots of one level of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slots<'a> {
    /// All valid.
    AllValid,
    /// All null.
    AllNull,
    /// All of this length.
    ConstantLength(u32),
    /// Encoded bits or lengths, one per slot.
    Encoded {
        /// Index into the level's trees.
        tree: u8,
        /// The encoded slots.
        bytes: &'a [u8],
    },
}

/// One level of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LevelSection<'a> {
    /// Slots of the level.
    pub slots: Slots<'a>,
    /// Its slots.
    pub n_slots: u32,
    /// Slots below.
    pub n_below: u32,
}

/// Parses the levels of a block, outermost first. Counts are checked as far as they are known without decoding.
#[derive(Debug, Clone)]
pub struct LevelSections<'a, 'l> {
    start: &'a [u8],
    reader: ByteReader<'a>,
    levels: core::slice::Iter<'l, Level>,
    n_slots: u32,
    bytes_max: u64,
    /// Place of the payload in the block, for errors.
    at: usize,
}

impl<'a, 'l> LevelSections<'a, 'l> {
    pub(crate) fn new(
        payload: &'a [u8],
        levels: &'l [Level],
        header: &BlockHeader,
        at: usize,
    ) -> Result<Self> {
        let mut reader = ByteReader::new(payload);
        // One row may decode to a multiple of its payload; where that is not enough, the payload is made longer.
        let padding = reader.u32("levels.padding_length")?;
        check_zero(
            reader.take(4, "levels.reserved")?,
            "levels.reserved",
            at + 4,
        )?;
        let padding = reader.take(padding as usize, "levels.padding")?;
        check_zero(padding, "levels.padding", at + 8)?;
        reader.pad_to(BLOCK_ALIGN, "levels.padding")?;
        Ok(Self {
            start: payload,
            reader,
            levels: levels.iter(),
            n_slots: header.present_rows,
            bytes_max: header.decoded_bytes_max(),
            at,
        })
    }

    /// Slots of the next level; at the end the items.
    pub fn n_slots(&self) -> u32 {
        self.n_slots
    }

    /// The bytes that were parsed, and the rest.
    pub(crate) fn split(&self) -> (&'a [u8], &'a [u8]) {
        let rest = self.reader.rest();
        let read = self.start.len() - rest.len();
        (self.start.get(..read).unwrap_or_default(), rest)
    }

    fn section(&mut self, level: &Level) -> Result<LevelSection<'a>> {
        let n_slots = self.n_slots;
        let section = match level {
            Level::AllValid => LevelSection {
                slots: Slots::AllValid,
                n_slots,
                n_below: n_slots,
            },
            Level::ConstantLength(length) => LevelSection {
                slots: Slots::ConstantLength(*length),
                n_slots,
                n_below: self.times(n_slots, *length)?,
            },
            Level::Validity(_) | Level::Lengths(_) => self.stored(level)?,
        };
        // What the level itself takes when decoded, stored or not: lists of many empty lists take memory too.
        let bytes = level.form().slots_bytes(n_slots.into());
        if bytes > self.bytes_max {
            return Err(Error::limit(
                "slots of a block's level",
                bytes,
                self.bytes_max,
            ));
        }
        self.n_slots = section.n_below;
        Ok(section)
    }

    fn times(&self, n_slots: u32, length: u32) -> Result<u32> {
        let n_below = u64::from(n_slots) * u64::from(length);
        match u32::try_from(n_below) {
            Ok(n_below) if n_below <= limits::UNIT_VALUES_MAX => Ok(n_below),
            _ => Err(Error::limit(
                "items of a block",
                n_below,
                limits::UNIT_VALUES_MAX.into(),
            )),
        }
    }

    fn stored(&mut self, level: &Level) -> Result<LevelSection<'a>> {
        let n_slots = self.n_slots;
        let at = self.at + self.reader.position();
        let tree = self.reader.u8("level.tree")?;
        check_zero(
            self.reader.take(3, "level.reserved")?,
            "level.reserved",
            at + 1,
        )?;
        let len = self.reader.u32("level.length")?;
        let n_below = self.reader.u32("level.slots_below")?;
        check_zero(
            self.reader.take(4, "level.reserved")?,
            "level.reserved",
            at + 12,
        )?;
        let bytes = self.reader.take(len as usize, "level")?;
        self.reader.pad_to(BLOCK_ALIGN, "level.padding")?;
        let is_validity = matches!(level, Level::Validity(_));
        let (slots, expected) = match (tree, bytes) {
            (LAYER_ALL_VALID, []) if is_validity => (Slots::AllValid, Some(n_slots)),
            (LAYER_ALL_NULL, []) if is_validity => (Slots::AllNull, Some(0)),
            (LAYER_CONSTANT, bytes) if !is_validity => {
                let length = bytes.try_into().map(u32::from_le_bytes);
                let length = length
                    .map_err(|_| Error::corrupt("level.length", at + 4, len, "4 for one length"))?;
                (
                    Slots::ConstantLength(length),
                    Some(self.times(n_slots, length)?),
                )
            }
            (tree, bytes) => (Slots::Encoded { tree, bytes }, None),
        };
        let fits = match expected {
            Some(expected) => n_below == expected,
            None if is_validity => n_below <= n_slots,
            None => n_below <= limits::UNIT_VALUES_MAX,
        };
        if !fits {
            let allowed = "as many as the level's slots say";
            return Err(Error::corrupt(
                "level.slots_below",
                at + 8,
                n_below,
                allowed,
            ));
        }
        Ok(LevelSection {
            slots,
            n_slots,
            n_below,
        })
    }
}

impl<'a> Iterator for LevelSections<'a, '_> {
    type Item = Result<LevelSection<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        let level = self.levels.next()?;
        Some(self.section(level))
    }
}
