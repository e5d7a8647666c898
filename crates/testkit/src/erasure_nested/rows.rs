//! Rows with levels above their items, one by one, and the pages and blocks that they make.

use tarsia_codec::{BitSlice, Result, ValueType};
use tarsia_page_writer::{
    BlockContext, CollectedLevels, EncodeContext, EncodedPage, LevelsSlice, Outcome, PageInput,
    encode_block, encode_page,
};
use tarsia_structure::block::SALT_BYTES;
use tarsia_structure::{Level, LevelForm};

use crate::cases::Case;
use crate::erasure::Rows;
use crate::rng::Rng;

/// The content of a slot of a level, or of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Slot {
    /// Null, at a level of validity: nothing is below.
    Null,
    /// The slots below: one of a valid slot, as many as a list has.
    Below(Vec<Slot>),
    /// An item, and what its value is or what stands there if it is null.
    Item {
        /// Whether it is not null.
        valid: bool,
        /// Bytes of the value; a bit is one byte, 0 or 1.
        value: Vec<u8>,
    },
}

/// The shape that rows of a column may have.
#[derive(Debug, Clone)]
pub struct Shape {
    /// The levels above the items.
    pub forms: Vec<LevelForm>,
    /// The items' type.
    pub value_type: ValueType,
    /// Null slots among a hundred slots of validity.
    pub null_percent: u32,
    /// Null items among a hundred items.
    pub item_null_percent: u32,
    /// The items that a list has at most.
    pub length_max: usize,
    /// All lists have as many as that.
    pub one_length: bool,
    /// How many values there are to pick from; 0 for values of any bits.
    pub n_distinct: usize,
    /// Bytes of a string at most.
    pub string_bytes_max: usize,
}

impl Shape {
    /// Rows with these levels: some nulls at each level, lists of up to three, any values.
    pub fn new(forms: &[LevelForm], value_type: ValueType) -> Self {
        Self {
            forms: forms.to_vec(),
            value_type,
            null_percent: 15,
            item_null_percent: 0,
            length_max: 3,
            one_length: false,
            n_distinct: 0,
            string_bytes_max: 20,
        }
    }

    /// So many rows.
    pub fn rows(&self, n: usize, rng: &mut Rng) -> NestedRows {
        let rows = (0..n).map(|_| self.slot(0, None, true, rng));
        NestedRows {
            shape: self.clone(),
            rows: rows.collect(),
        }
    }

    /// A slot of level `number`. `stored` are the levels of a page that must be able to hold it, with `null_items` or
    /// without.
    pub(super) fn slot(
        &self,
        number: usize,
        stored: Option<&[Level]>,
        null_items: bool,
        rng: &mut Rng,
    ) -> Slot {
        let Some(form) = self.forms.get(number) else {
            return Slot::Item {
                valid: !null_items || !rng.percent(self.item_null_percent),
                value: self.value(rng),
            };
        };
        let stored_here = stored.map(|levels| &levels[number]);
        let n_below = match (form, stored_here) {
            (_, Some(Level::AllValid)) => 1,
            (_, Some(Level::ConstantLength(length))) => *length as usize,
            (LevelForm::Validity, _) => match rng.percent(self.null_percent) {
                true => return Slot::Null,
                false => 1,
            },
            (LevelForm::ConstantLength(length), _) => *length as usize,
            (LevelForm::Lengths, _) if self.one_length => self.length_max,
            (LevelForm::Lengths, _) => rng.between(0, self.length_max),
        };
        let below = (0..n_below).map(|_| self.slot(number + 1, stored, null_items, rng));
        Slot::Below(below.collect())
    }

    fn value(&self, rng: &mut Rng) -> Vec<u8> {
        // Few values: each from a generator of its own.
        let mut own;
        let rng = match self.n_distinct {
            0 => rng,
            n => {
                own = Rng::new(1 + rng.below(n) as u64);
                &mut own
            }
        };
        match self.value_type {
            ValueType::Bits => vec![u8::from(rng.flip())],
            ValueType::Fixed(width) => rng.bytes(width as usize),
            ValueType::Bytes => {
                let len = rng.between(0, self.string_bytes_max);
                rng.bytes(len)
            }
        }
    }
}

/// Rows of a column with levels.
#[derive(Debug, Clone)]
pub struct NestedRows {
    /// The shape that rows may have.
    pub shape: Shape,
    /// One slot of the outermost level for each row.
    pub rows: Vec<Slot>,
}

/// The slots of each level in order, and the items.
pub(super) struct Flat {
    /// Slots of each level: 0 or 1 for validity, else the length.
    pub(super) levels: Vec<Vec<u32>>,
    /// Whether they are valid, and their values.
    pub(super) items: Vec<(bool, Vec<u8>)>,
}

/// Rows as the encoders take them.
struct Collected {
    levels: CollectedLevels,
    validity: Vec<u8>,
    case: Case,
}

impl NestedRows {
    /// The rows that are not in `erased`, which rises.
    #[must_use]
    pub fn without(&self, erased: &[u32]) -> Self {
        let rows = self.rows.iter().enumerate();
        let kept = rows.filter(|(i, _)| erased.binary_search(&(*i as u32)).is_err());
        Self {
            shape: self.shape.clone(),
            rows: kept.map(|(_, row)| row.clone()).collect(),
        }
    }

    pub(super) fn flat(&self) -> Flat {
        let mut flat = Flat {
            levels: vec![vec![]; self.shape.forms.len()],
            items: vec![],
        };
        self.rows.iter().for_each(|row| flat.push(0, row));
        flat
    }

    fn collected(&self) -> Collected {
        let flat = self.flat();
        let mut levels = CollectedLevels::new(self.shape.forms.iter().copied());
        for (number, (form, slots)) in self.shape.forms.iter().zip(&flat.levels).enumerate() {
            match form {
                LevelForm::Validity => {
                    let bytes = pack(slots.iter().map(|slot| *slot == 1));
                    let bits = BitSlice::new(&bytes, 0, slots.len()).expect("bits");
                    levels.push_validity(number, slots.len(), Some(bits))
                }
                LevelForm::Lengths => levels.push_lengths(number, slots.iter().copied()),
                LevelForm::ConstantLength(_) => {
                    levels.push_constant(number, slots.len());
                    Ok(())
                }
            }
            .expect("a level of its form");
        }
        levels.end_rows(self.rows.len());
        let rows = Rows {
            value_type: self.shape.value_type,
            values: flat.items.iter().map(|(_, value)| value.clone()).collect(),
            validity: None,
        };
        Collected {
            levels,
            validity: pack(flat.items.iter().map(|(valid, _)| *valid)),
            case: rows.to_case(),
        }
    }

    /// The page that a writer makes of the rows.
    ///
    /// # Errors
    /// What [`encode_page`] refuses.
    pub fn encode(&self, context: &EncodeContext<'_>) -> Result<EncodedPage> {
        let collected = self.collected();
        let values = collected.case.values();
        let input = PageInput {
            levels: Some(LevelsSlice::new(&collected.levels, 0..self.rows.len())?),
            validity: Some(BitSlice::new(&collected.validity, 0, values.len())?),
            ..PageInput::of_values(values)
        };
        encode_page(input, context)
    }

    pub(super) fn encode_block(
        &self,
        context: &BlockContext<'_>,
        logical_rows: u32,
        salt: Option<[u8; SALT_BYTES]>,
        place_bytes: usize,
    ) -> Result<Outcome> {
        let collected = self.collected();
        let values = collected.case.values();
        encode_block(
            context,
            Some(LevelsSlice::new(&collected.levels, 0..self.rows.len())?),
            Some(BitSlice::new(&collected.validity, 0, values.len())?),
            values,
            logical_rows,
            salt,
            place_bytes,
        )
    }
}

impl Flat {
    fn push(&mut self, number: usize, slot: &Slot) {
        match slot {
            Slot::Null => self.levels[number].push(0),
            Slot::Below(slots) => {
                self.levels[number].push(slots.len() as u32);
                slots.iter().for_each(|slot| self.push(number + 1, slot));
            }
            Slot::Item { valid, value } => self.items.push((*valid, value.clone())),
        }
    }
}

fn pack(bits: impl Iterator<Item = bool>) -> Vec<u8> {
    let mut bytes = vec![];
    for (i, bit) in bits.enumerate() {
        bytes.resize(i / 8 + 1, 0);
        bytes[i / 8] |= u8::from(bit) << (i % 8);
    }
    bytes
}

/// Every item of a row gets this value.
pub(super) fn put_value(slot: &mut Slot, to: &[u8]) {
    match slot {
        Slot::Null => {}
        Slot::Below(slots) => slots.iter_mut().for_each(|slot| put_value(slot, to)),
        Slot::Item { value, .. } => *value = to.to_vec(),
    }
}
