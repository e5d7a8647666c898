//! A naive model of nested rows, the pages it makes, and what decoding them must give.

use tarsia_codec::{
    BitSlice, BytesSlice, DecodeCost, FixedSlice, LogicalType, Registry, Result, Statistics,
    ValueType, Values,
};
use tarsia_page_writer::{
    BlockRows, Choice, Choose, CollectedLevels, EncodeContext, EncodedPage, LevelsSlice, PageInput,
    encode_page,
};
use tarsia_structure::LevelForm;
pub(crate) use tarsia_testkit::units::checksum;

use LevelForm::{ConstantLength, Lengths, Validity};

pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        // The low bits of this generator are its weakest.
        (self.0 >> 11) as usize % bound.max(1)
    }

    pub(crate) fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// Plain trees. Values are said to take `bits_per_value`, so that tests decide how long blocks get.
#[derive(Clone, Copy)]
pub(crate) struct Plain {
    pub(crate) bits_per_value: u32,
    pub(crate) uniform: bool,
    pub(crate) full_zip_bytes_min: u32,
}

pub(crate) const USUAL: Plain = Plain {
    bits_per_value: 32,
    uniform: true,
    full_zip_bytes_min: u32::MAX,
};

/// Rows one by one, where the layout can hold them.
pub(crate) const ZIPPED: Plain = Plain {
    full_zip_bytes_min: 0,
    ..USUAL
};

/// A row in each block, or nearly.
pub(crate) const TINY: Plain = Plain {
    bits_per_value: 9000,
    uniform: false,
    full_zip_bytes_min: u32::MAX,
};

impl Choose for Plain {
    fn choose(&self, values: &Statistics<'_>) -> Result<Choice> {
        let tree = match (values.values(), values.facts().logical_type) {
            (_, LogicalType::Validity) => tarsia_bitmap::tree(),
            (Values::Bytes(_), _) => tarsia_bytes::tree(tarsia_plain::tree()),
            _ => tarsia_plain::tree(),
        };
        Ok(Choice {
            trees: vec![tree],
            bytes: (u64::from(self.bits_per_value) * values.len() as u64).div_ceil(8),
            uniform: self.uniform,
            block_bytes: tarsia_page_writer::BLOCK_PAYLOAD_BYTES_TARGET,
        })
    }

    fn full_zip_bytes_min(&self) -> u32 {
        self.full_zip_bytes_min
    }
}

pub(crate) fn registry() -> Registry {
    let mut registry = Registry::new();
    registry
        .add_writer(&tarsia_plain::PLAIN, DecodeCost::default())
        .add_writer(&tarsia_bytes::BYTES, DecodeCost::default())
        .add_writer(&tarsia_bitmap::BITMAP, DecodeCost::default());
    registry
}

pub(crate) fn pack(bits: &[bool]) -> Vec<u8> {
    let mut bytes = vec![0; bits.len().div_ceil(8)];
    for (i, bit) in bits.iter().enumerate() {
        bytes[i / 8] |= u8::from(*bit) << (i % 8);
    }
    bytes
}

/// A column as lists of what each slot says: for validity 0 or 1, else the length.
#[derive(Clone, Default)]
pub(crate) struct Model {
    pub(crate) rows: usize,
    pub(crate) levels: Vec<(LevelForm, Vec<u32>)>,
    pub(crate) value_type: Option<ValueType>,
    /// Null items have a value too, which must not come back.
    pub(crate) validity: Vec<bool>,
    pub(crate) values: Vec<Vec<u8>>,
}

/// Parts of a row, front to back: marks, lengths and values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token {
    Null,
    Length(u32),
    Value(Vec<u8>),
}

impl Model {
    pub(crate) fn new(rows: usize, forms: &[LevelForm], value_type: ValueType) -> Self {
        Self {
            rows,
            levels: forms.iter().map(|form| (*form, vec![])).collect(),
            value_type: Some(value_type),
            ..Self::default()
        }
    }

    /// Slots chosen by `slot(level, number)` and items by `item(number)`, level by level.
    pub(crate) fn fill(
        mut self,
        mut slot: impl FnMut(usize, usize) -> u32,
        mut item: impl FnMut(usize) -> (bool, Vec<u8>),
    ) -> Self {
        let mut n = self.rows;
        for (number, (form, slots)) in self.levels.iter_mut().enumerate() {
            *slots = (0..n)
                .map(|i| match form {
                    Validity => slot(number, i).min(1),
                    Lengths => slot(number, i),
                    ConstantLength(length) => *length,
                })
                .collect();
            n = slots.iter().map(|below| *below as usize).sum();
        }
        (self.validity, self.values) = (0..n).map(&mut item).unzip();
        self
    }

    pub(crate) fn random(
        rows: usize,
        forms: &[LevelForm],
        value_type: ValueType,
        rng: &mut Rng,
    ) -> Self {
        let null_percent = [0, 0, 5, 40, 100];
        let of_level: Vec<_> = forms
            .iter()
            .map(|_| null_percent[rng.below(5)] * usize::from(rng.percent(70)))
            .collect();
        let of_items = null_percent[rng.below(5)];
        let style = rng.below(5);
        let mut of_values = Rng::new(rng.below(1 << 30) as u64);
        let slot = |level: usize, _: usize| {
            let length = match style {
                0 => 2,
                1 => 0,
                2 if rng.percent(1) => 300,
                _ => rng.below(4),
            };
            match forms[level] {
                Validity => u32::from(!rng.percent(of_level[level])),
                _ => length as u32,
            }
        };
        let item = |_: usize| {
            let len = match value_type {
                ValueType::Bits => 1,
                ValueType::Fixed(width) => width as usize,
                ValueType::Bytes => of_values.below(9),
            };
            let range = if value_type == ValueType::Bits {
                2
            } else {
                256
            };
            let value = (0..len).map(|_| of_values.below(range) as u8).collect();
            (!of_values.percent(of_items), value)
        };
        Self::new(rows, forms, value_type).fill(slot, item)
    }

    pub(crate) fn forms(&self) -> impl Iterator<Item = LevelForm> {
        self.levels.iter().map(|(form, _)| *form)
    }

    pub(crate) fn value_type(&self) -> ValueType {
        self.value_type.unwrap()
    }

    /// Tokens of one row after the other.
    pub(crate) fn tokens(&self, rows: impl IntoIterator<Item = usize>) -> Vec<Token> {
        let starts: Vec<Vec<usize>> = self.levels.iter().map(|(_, slots)| starts(slots)).collect();
        let mut out = vec![];
        for row in rows {
            self.walk(&starts, 0, row, &mut out);
        }
        out
    }

    pub(crate) fn walk(
        &self,
        starts: &[Vec<usize>],
        level: usize,
        slot: usize,
        out: &mut Vec<Token>,
    ) {
        let Some((form, slots)) = self.levels.get(level) else {
            out.push(match self.validity[slot] {
                false => Token::Null,
                true => Token::Value(self.values[slot].clone()),
            });
            return;
        };
        match form {
            Validity if slots[slot] == 0 => out.push(Token::Null),
            Validity => {}
            _ => out.push(Token::Length(slots[slot])),
        }
        for below in starts[level][slot]..starts[level][slot + 1] {
            self.walk(starts, level + 1, below, out);
        }
    }

    pub(crate) fn collected(&self) -> CollectedLevels {
        let mut levels = CollectedLevels::new(self.forms());
        for (number, (form, slots)) in self.levels.iter().enumerate() {
            // In two pieces, so that appending at odd offsets is seen.
            let cut = slots.len() * 3 / 7;
            for slots in [&slots[..cut], &slots[cut..]] {
                match form {
                    Validity => {
                        let bits: Vec<_> = slots.iter().map(|slot| *slot > 0).collect();
                        let bytes = pack(&bits);
                        let bits = BitSlice::new(&bytes, 0, bits.len()).unwrap();
                        let all = bits.count_ones() == bits.len();
                        let bits = (!all).then_some(bits);
                        levels.push_validity(number, slots.len(), bits).unwrap();
                    }
                    Lengths => levels.push_lengths(number, slots.iter().copied()).unwrap(),
                    ConstantLength(_) => levels.push_constant(number, slots.len()),
                }
            }
        }
        levels.end_rows(self.rows);
        levels
    }

    /// The page of all rows.
    pub(crate) fn encode(&self, chooser: Plain) -> EncodedPage {
        self.try_encode(chooser).unwrap()
    }

    pub(crate) fn try_encode(&self, chooser: Plain) -> Result<EncodedPage> {
        let levels = self.collected();
        let validity = pack(&self.validity);
        let n_items = self.values.len();
        let joined = self.values.concat();
        let (mut bits, mut offsets) = (vec![], vec![0u32]);
        let values = match self.value_type() {
            ValueType::Bits => {
                bits.extend(pack(&joined.iter().map(|bit| *bit > 0).collect::<Vec<_>>()));
                Values::Bits(BitSlice::new(&bits, 0, n_items)?)
            }
            ValueType::Fixed(width) => {
                Values::Fixed(FixedSlice::new(&joined, width as usize, n_items)?)
            }
            ValueType::Bytes => {
                for value in &self.values {
                    offsets.push(offsets[offsets.len() - 1] + value.len() as u32);
                }
                Values::Bytes(BytesSlice::new(&offsets, &joined)?)
            }
        };
        let input = PageInput {
            levels: Some(LevelsSlice::new(&levels, 0..self.rows)?),
            validity: Some(BitSlice::new(&validity, 0, n_items)?),
            ..PageInput::of_values(values)
        };
        let registry = registry();
        let context = EncodeContext {
            registry: &registry,
            memory: None,
            chooser: &chooser,
            checksum,
            erasable: false,
        };
        encode_page(input, &context)
    }
}

pub(crate) fn starts(slots: &[u32]) -> Vec<usize> {
    let mut starts = vec![0];
    for below in slots {
        starts.push(starts[starts.len() - 1] + *below as usize);
    }
    starts
}

/// Rows of each block.
pub(crate) fn block_rows(page: &EncodedPage) -> Vec<u32> {
    match &page.block_rows {
        BlockRows::Table(rows) => rows.clone(),
        BlockRows::Uniform(log2) => {
            let n = page.starts.len() as u64;
            (0..n)
                .map(|i| (page.rows - (i << log2)).min(1 << log2) as u32)
                .collect()
        }
    }
}

pub(crate) fn level_forms() -> Vec<Vec<LevelForm>> {
    vec![
        vec![Validity],
        vec![Validity, Lengths],
        vec![Validity, ConstantLength(3)],
        vec![Validity, ConstantLength(0)],
        vec![Validity, Lengths, Validity, Lengths],
        vec![Validity, Validity, Validity],
        vec![Validity, Lengths, Validity],
        vec![Validity, ConstantLength(2), Validity, Lengths, Validity],
        vec![Validity, Lengths, Validity, ConstantLength(5), Validity],
        vec![Lengths, Lengths, ConstantLength(1), Lengths],
    ]
}

pub(crate) const TYPES: [ValueType; 5] = [
    ValueType::Fixed(4),
    ValueType::Bytes,
    ValueType::Bits,
    ValueType::Fixed(0),
    ValueType::Fixed(3),
];

pub(crate) fn number(i: usize) -> Vec<u8> {
    (i as u64).to_le_bytes().to_vec()
}

/// Small blocks with everything in them, and how they decode.
pub(crate) fn small_pages() -> Vec<(Vec<LevelForm>, EncodedPage)> {
    let mut rng = Rng::new(3);
    let mut pages = vec![];
    for forms in level_forms() {
        for value_type in [ValueType::Fixed(4), ValueType::Bytes, ValueType::Bits] {
            // Nulls at every level, lengths that differ.
            let slot = |level: usize, i: usize| match forms[level] {
                Validity => u32::from(!(i + level).is_multiple_of(5)),
                _ => ((i + level) % 4) as u32,
            };
            let item = |i: usize| {
                let value = match value_type {
                    ValueType::Bits => vec![(i % 2) as u8],
                    ValueType::Bytes => vec![b'x'; i % 4],
                    ValueType::Fixed(_) => (i as u32).to_le_bytes().to_vec(),
                };
                (rng.below(6) > 0, value)
            };
            let model = Model::new(12, &forms, value_type).fill(slot, item);
            pages.push((forms.clone(), model.encode(USUAL)));
        }
    }
    pages
}
