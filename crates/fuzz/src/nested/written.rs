//! Pages that a writer makes of levels and items that the input describes.

use tarsia_cascade::{Chooser, Objective};
use tarsia_codec::{BitSlice, LogicalType, Result, Statistics, ValueType, Values};
use tarsia_page_writer::{
    BlockRows, Choice, Choose, CollectedLevels, EncodeContext, EncodedPage, LevelsSlice, PageInput,
    encode_page,
};
use tarsia_structure::LevelForm;
use tarsia_testkit::cases::Case;
use tarsia_testkit::fuzzing::Input;

use super::rows::{Rows, Slots};

/// Most rows of an input's pages, and items in front of which no longer lists are made.
pub(super) const ROWS_MAX: usize = 300;
const ITEMS_MAX: usize = 1 << 14;

pub(super) const TYPES: [ValueType; 7] = [
    ValueType::Fixed(4),
    ValueType::Bytes,
    ValueType::Bits,
    ValueType::Fixed(1),
    ValueType::Fixed(0),
    ValueType::Fixed(8),
    ValueType::Fixed(12),
];

/// A page, and what is in it.
pub(super) struct Written {
    pub(super) page: EncodedPage,
    pub(super) forms: Vec<LevelForm>,
    pub(super) rows: Rows,
}

/// Makes the page that the input describes, of trees without shared buffers.
pub(super) fn written(input: &mut Input<'_>) -> Option<Written> {
    let mut forms = forms(input);
    let value_type = *input.pick(&TYPES);
    let rows = 1 + input.below(ROWS_MAX);
    let (levels, n_items) = levels(input, &forms, rows);
    if n_items > 16 * ITEMS_MAX {
        return None;
    }
    forms.truncate(levels.len());
    let case = items(input, value_type, n_items);
    let validity: Vec<bool> = match input.below(4) {
        0 => vec![true; n_items],
        1 => vec![false; n_items],
        2 => {
            let step = 1 + input.below(50);
            (0..n_items).map(|i| !i.is_multiple_of(step)).collect()
        }
        _ => (0..n_items).map(|i| (i / 9).is_multiple_of(2)).collect(),
    };
    let page = encode(&levels, rows, &case, &validity, input)?;
    if !page.shared.is_empty() {
        return None;
    }
    let value = |i: usize| match case.values() {
        Values::Bits(bits) => vec![u8::from(bits.get(i))],
        Values::Fixed(fixed) => fixed.get(i).to_vec(),
        Values::Bytes(strings) => strings.get(i).to_vec(),
    };
    let items = (0..n_items)
        .map(|i| validity[i].then(|| value(i)))
        .collect();
    let rows = Rows {
        n: rows,
        levels,
        items,
    };
    Some(Written { page, forms, rows })
}

/// The levels of up to four nodes, as a schema has them.
pub(super) fn forms(input: &mut Input<'_>) -> Vec<LevelForm> {
    let mut forms = Vec::new();
    for _ in 0..1 + input.below(4) {
        forms.push(LevelForm::Validity);
        match input.below(4) {
            0 | 1 => forms.push(LevelForm::Lengths),
            2 => {
                let length = match input.below(5) {
                    4 => input.number() as u32,
                    length => length as u32,
                };
                forms.push(LevelForm::ConstantLength(length));
            }
            _ => {}
        }
    }
    forms
}

/// Levels of `rows` rows, and the number of items.
fn levels(input: &mut Input<'_>, forms: &[LevelForm], rows: usize) -> (Vec<Slots>, usize) {
    let mut n = rows;
    let mut levels = Vec::new();
    for form in forms {
        // Where there are many slots, all further lists are empty.
        let many = n > ITEMS_MAX;
        let style = input.below(6);
        let step = 1 + input.below(70);
        let length = input.below(5) as u32;
        let mut slot = |i: usize| match (form, style) {
            (LevelForm::ConstantLength(length), _) => *length,
            (LevelForm::Validity, 0) => 1,
            (LevelForm::Validity, 1) => 0,
            (LevelForm::Validity, 2) => u32::from(!i.is_multiple_of(step)),
            (LevelForm::Validity, 3) => u32::from((i / step).is_multiple_of(2)),
            (LevelForm::Validity, _) => u32::from(input.u8() % 4 != 3),
            (LevelForm::Lengths, _) if many => 0,
            (LevelForm::Lengths, 0) => length,
            (LevelForm::Lengths, 1) => 0,
            (LevelForm::Lengths, 2) if i == step => 2000,
            (LevelForm::Lengths, 2) => 1,
            (LevelForm::Lengths, 3) => (i % step) as u32 % 7,
            (LevelForm::Lengths, _) => u32::from(input.u8() % 5),
        };
        let below: Vec<u32> = (0..n).map(&mut slot).collect();
        n = below.iter().map(|below| *below as usize).sum();
        levels.push(Slots { form: *form, below });
        // Lengths of constant levels are the schema's: the caller looks at what they came to.
        if n > 16 * ITEMS_MAX {
            break;
        }
    }
    (levels, n)
}

/// Exactly `n` values: those of the input again and again.
fn items(input: &mut Input<'_>, value_type: ValueType, n: usize) -> Case {
    let case = input.values(value_type, n.min(2000));
    let len = case.len().max(1);
    match (case.values(), value_type) {
        (Values::Bits(bits), _) => {
            let bit = |i: usize| !bits.is_empty() && bits.get(i % len);
            Case::bits("items", &(0..n).map(bit).collect::<Vec<_>>())
        }
        (Values::Fixed(fixed), ValueType::Fixed(width)) => {
            let zeros = vec![0; width as usize];
            let value = |i: usize| match fixed.is_empty() {
                true => &zeros[..],
                false => fixed.get(i % len),
            };
            let bytes = (0..n).flat_map(|i| value(i).iter().copied()).collect();
            Case::fixed("items", width as usize, n, bytes)
        }
        (Values::Bytes(strings), _) => {
            // Long strings again and again would only take long.
            let value = |i: usize| match strings.is_empty() || i >= 4 * len {
                true => &b"x"[..],
                false => strings.get(i % len),
            };
            Case::strings("items", &(0..n).map(value).collect::<Vec<_>>())
        }
        (Values::Fixed(_), _) => Case::fixed("items", 0, n, vec![]),
    }
}

pub(super) fn pack(bits: impl ExactSizeIterator<Item = bool>) -> Vec<u8> {
    let mut bytes = vec![0; bits.len().div_ceil(8)];
    for (i, bit) in bits.enumerate() {
        bytes[i / 8] |= u8::from(bit) << (i % 8);
    }
    bytes
}

/// The usual trees, with blocks as short as the input says, and either layout.
#[derive(Debug)]
struct Cut {
    chooser: Chooser,
    bits_per_value: Option<u32>,
}

impl Choose for Cut {
    fn choose(&self, values: &Statistics<'_>) -> Result<Choice> {
        let mut choice = self.chooser.choose(values)?;
        if let Some(bits_per_value) = self.bits_per_value
            && values.facts().logical_type == LogicalType::Unknown
        {
            choice.bytes = values.len() as u64 * u64::from(bits_per_value) / 8;
            choice.uniform = false;
        }
        Ok(choice)
    }

    fn full_zip_bytes_min(&self) -> u32 {
        self.chooser.full_zip_bytes_min()
    }
}

fn encode(
    levels: &[Slots],
    rows: usize,
    items: &Case,
    validity: &[bool],
    input: &mut Input<'_>,
) -> Option<EncodedPage> {
    let mut collected = CollectedLevels::new(levels.iter().map(|level| level.form));
    for (number, level) in levels.iter().enumerate() {
        let n = level.below.len();
        match level.form {
            LevelForm::Validity => {
                let bytes = pack(level.below.iter().map(|below| *below > 0));
                let bits = BitSlice::new(&bytes, 0, n).expect("as many bits");
                collected
                    .push_validity(number, n, Some(bits))
                    .expect("a level");
            }
            LevelForm::Lengths => {
                let lengths = level.below.iter().copied();
                collected.push_lengths(number, lengths).expect("a level");
            }
            LevelForm::ConstantLength(_) => collected.push_constant(number, n),
        }
    }
    collected.end_rows(rows);
    let bytes = pack(validity.iter().copied());
    let bits = BitSlice::new(&bytes, 0, validity.len()).expect("as many bits");
    let page = PageInput {
        levels: Some(LevelsSlice::new(&collected, 0..rows).expect("all rows")),
        validity: Some(bits),
        ..PageInput::of_values(items.values())
    };
    let full_zip_bytes_min = if input.one_in(2) { 0 } else { u32::MAX };
    let chooser = Cut {
        chooser: Chooser::new(tarsia::registry().clone(), Objective::Balanced)
            .with_full_zip_bytes_min(full_zip_bytes_min),
        bits_per_value: input.one_in(2).then(|| 1 << input.below(16)),
    };
    let context = EncodeContext {
        registry: tarsia::registry(),
        memory: None,
        chooser: &chooser,
        checksum: tarsia_metadata::crc32c_of,
        erasable: false,
    };
    // A row may be too large for a block; nothing else is refused.
    encode_page(page, &context).ok()
}

pub(super) fn block_rows(page: &EncodedPage) -> Vec<u32> {
    match &page.block_rows {
        BlockRows::Table(rows) => rows.clone(),
        BlockRows::Uniform(log2) => (0..page.starts.len() as u64)
            .map(|i| (page.rows - (i << log2)).min(1 << log2) as u32)
            .collect(),
    }
}
