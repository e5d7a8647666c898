//! Nested pages against a naive model: levels and items of every shape, whole, by range and by index, and hostile bytes.

use std::ops::Range;

use tarsia_codec::{
    AlignedBuf, BitSlice, BytesSlice, DecodeCost, ErrorKind, FixedSlice, LogicalType, Registry,
    Result, Scratch, Selection, Statistics, ValueType, Values,
};
use tarsia_page_writer::{
    BlockRows, Choice, Choose, EncodeContext, EncodedPage, PageInput, Shape, ShapeSlice,
    encode_page,
};
use tarsia_structure::block::BLOCK_HEADER_BYTES;
use tarsia_structure::full_zip::IndexFront;
use tarsia_structure::levels::LevelSections;
use tarsia_structure::{
    Block, Budget, DecodedForm, DecodedRows, DecodedSlots, Layout, Level, LevelForm, PageDecoder,
    ROW_ENTRY_BYTES, RawColumn, RawLevel, RawLevels, RawParts, ZipForm,
};

use LevelForm::{ConstantLength, Lengths, Validity};

struct Rng(u64);

impl Rng {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        // The low bits of this generator are its weakest.
        (self.0 >> 11) as usize % bound.max(1)
    }

    fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// Plain trees. Values are said to take `bits_per_value`, so that tests decide how long blocks get.
#[derive(Clone, Copy)]
struct Plain {
    bits_per_value: u32,
    uniform: bool,
    full_zip_bytes_min: u32,
}

const USUAL: Plain = Plain {
    bits_per_value: 32,
    uniform: true,
    full_zip_bytes_min: u32::MAX,
};

/// Rows one by one, where the layout can hold them.
const ZIPPED: Plain = Plain {
    full_zip_bytes_min: 0,
    ..USUAL
};

/// A row in each block, or nearly.
const TINY: Plain = Plain {
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
        })
    }

    fn full_zip_bytes_min(&self) -> u32 {
        self.full_zip_bytes_min
    }
}

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry
        .add_writer(&tarsia_plain::PLAIN, DecodeCost::default())
        .add_writer(&tarsia_bytes::BYTES, DecodeCost::default())
        .add_writer(&tarsia_bitmap::BITMAP, DecodeCost::default());
    registry
}

fn checksum(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(7, |sum, byte| sum.rotate_left(5) ^ u32::from(*byte))
}

fn pack(bits: &[bool]) -> Vec<u8> {
    let mut bytes = vec![0; bits.len().div_ceil(8)];
    for (i, bit) in bits.iter().enumerate() {
        bytes[i / 8] |= u8::from(*bit) << (i % 8);
    }
    bytes
}

/// A column as lists of what each slot says: for validity 0 or 1, else the length.
#[derive(Clone, Default)]
struct Model {
    rows: usize,
    levels: Vec<(LevelForm, Vec<u32>)>,
    value_type: Option<ValueType>,
    /// Null items have a value too, which must not come back.
    validity: Vec<bool>,
    values: Vec<Vec<u8>>,
}

/// What a row is, front to back: marks, lengths and values.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Null,
    Length(u32),
    Value(Vec<u8>),
}

impl Model {
    fn new(rows: usize, forms: &[LevelForm], value_type: ValueType) -> Self {
        Self {
            rows,
            levels: forms.iter().map(|form| (*form, vec![])).collect(),
            value_type: Some(value_type),
            ..Self::default()
        }
    }

    /// Slots chosen by `slot(level, number)` and items by `item(number)`, level by level.
    fn fill(
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

    fn random(rows: usize, forms: &[LevelForm], value_type: ValueType, rng: &mut Rng) -> Self {
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

    fn forms(&self) -> impl Iterator<Item = LevelForm> {
        self.levels.iter().map(|(form, _)| *form)
    }

    fn value_type(&self) -> ValueType {
        self.value_type.unwrap()
    }

    /// Tokens of one row after the other.
    fn tokens(&self, rows: impl IntoIterator<Item = usize>) -> Vec<Token> {
        let starts: Vec<Vec<usize>> = self.levels.iter().map(|(_, slots)| starts(slots)).collect();
        let mut out = vec![];
        for row in rows {
            self.walk(&starts, 0, row, &mut out);
        }
        out
    }

    fn walk(&self, starts: &[Vec<usize>], level: usize, slot: usize, out: &mut Vec<Token>) {
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

    fn shape(&self) -> Shape {
        let mut shape = Shape::new(self.forms());
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
                        shape.push_validity(number, slots.len(), bits).unwrap();
                    }
                    Lengths => shape.push_lengths(number, slots.iter().copied()).unwrap(),
                    ConstantLength(_) => shape.push_constant(number, slots.len()),
                }
            }
        }
        shape.end_rows(self.rows);
        shape
    }

    /// The page of all rows.
    fn encode(&self, chooser: Plain) -> EncodedPage {
        self.try_encode(chooser).unwrap()
    }

    fn try_encode(&self, chooser: Plain) -> Result<EncodedPage> {
        let shape = self.shape();
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
            shape: Some(ShapeSlice::new(&shape, 0..self.rows)?),
            validity: Some(BitSlice::new(&validity, 0, n_items)?),
            ..PageInput::of_values(values)
        };
        let registry = registry();
        let context = EncodeContext {
            registry: &registry,
            chooser: &chooser,
            checksum,
        };
        encode_page(input, &context)
    }
}

fn starts(slots: &[u32]) -> Vec<usize> {
    let mut starts = vec![0];
    for below in slots {
        starts.push(starts[starts.len() - 1] + *below as usize);
    }
    starts
}

/// Rows of each block.
fn block_rows(page: &EncodedPage) -> Vec<u32> {
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

/// Decoded levels and items as what they say of each slot.
fn model_of(rows: usize, levels: Vec<RawLevel>, items: &RawParts, value_type: ValueType) -> Model {
    let mut model = Model::new(rows, &[], value_type);
    let mut n = rows;
    for level in levels {
        assert_eq!(level.n_slots, n, "slots of {:?}", level.form);
        let slots: Vec<u32> = match level.form {
            Validity => {
                let bits = level.validity();
                let slots: Vec<u32> = (0..n)
                    .map(|i| u32::from(bits.is_none_or(|bits| bits.get(i))))
                    .collect();
                let nulls = slots.iter().filter(|slot| **slot == 0).count();
                assert_eq!(nulls, level.null_count);
                slots
            }
            // Where no slot ever came, there are no ends.
            Lengths if n == 0 => vec![],
            Lengths => {
                let ends = level.ends();
                assert_eq!((ends.len(), ends[0]), (n + 1, 0));
                ends.windows(2).map(|pair| pair[1] - pair[0]).collect()
            }
            ConstantLength(length) => vec![length; n],
        };
        n = slots.iter().map(|below| *below as usize).sum();
        model.levels.push((level.form, slots));
    }
    assert_eq!(items.rows, n, "items");
    let bit = |bytes: &[u8], i: usize| bytes[i / 8] >> (i % 8) & 1;
    let validity = items.validity.as_deref();
    model.validity = (0..n)
        .map(|i| validity.is_none_or(|bits| bit(bits, i) == 1))
        .collect();
    let nulls = model.validity.iter().filter(|valid| !**valid).count();
    assert_eq!(nulls, items.null_count);
    let offsets: Vec<usize> = items
        .offsets
        .chunks_exact(4)
        .map(|end| u32::from_le_bytes(end.try_into().unwrap()) as usize)
        .collect();
    model.values = (0..n)
        .map(|i| match value_type {
            ValueType::Bits => vec![bit(&items.values, i)],
            ValueType::Fixed(width) => {
                items.values[i * width as usize..(i + 1) * width as usize].to_vec()
            }
            ValueType::Bytes => items.values[offsets[i]..offsets[i + 1]].to_vec(),
        })
        .collect();
    model
}

/// What hostile blocks of a few rows may take at once: 16 MiB for each row asked for, grown to a power of two.
const HOSTILE_BYTES_MAX: usize = 1 << 28;

/// Output memory is poisoned.
fn poisoned(len: usize) -> AlignedBuf {
    let mut buf = AlignedBuf::zeroed(len);
    buf.fill(0xee);
    buf
}

/// Decodes the selected rows of some blocks.
fn decode<'a, 'b>(
    decoder: &PageDecoder,
    forms: impl Iterator<Item = LevelForm>,
    blocks: impl Iterator<Item = (&'b [u8], u32, Selection<'a>)>,
    bytes_max: usize,
) -> Result<Model> {
    let parse = |(bytes, rows, selection)| {
        Ok((Block::parse(bytes, &decoder.expect(rows))?, rows, selection))
    };
    let blocks: Vec<_> = blocks.map(parse).collect::<Result<_>>()?;
    decode_blocks(decoder, forms, blocks.into_iter(), bytes_max)
}

fn decode_blocks<'a, 'b>(
    decoder: &PageDecoder,
    forms: impl Iterator<Item = LevelForm>,
    blocks: impl Iterator<Item = (Block<'b>, u32, Selection<'a>)>,
    bytes_max: usize,
) -> Result<Model> {
    let mut take = |len| {
        assert!(len <= bytes_max, "{len} bytes at once");
        poisoned(len)
    };
    let mut scratch = Scratch::new();
    let budget = Budget::new(u64::MAX);
    let mut levels = RawLevels::new(forms, &budget);
    let (mut parsed, mut n_rows, mut data_bytes) = (vec![], 0, 0);
    for (block, rows, selection) in blocks {
        let mut ranges = vec![];
        let before = levels.n_items();
        levels.push(
            decoder,
            &block,
            selection,
            &mut scratch,
            &mut take,
            &mut ranges,
        )?;
        let n_items: usize = ranges.iter().map(Range::len).sum();
        assert_eq!(levels.n_items() - before, n_items);
        assert!(ranges.iter().all(|range| range.end <= block.n_items));
        n_rows += selection.check(rows)?;
        data_bytes += block.header.decoded_bytes as usize * selection.repeats() as usize;
        parsed.push((block, ranges));
    }
    let mut raw = RawColumn::new(
        decoder.value_type(),
        levels.n_items(),
        data_bytes,
        &mut take,
    )?;
    for (block, ranges) in &parsed {
        raw.push_ranges(decoder, block, ranges, &mut scratch, &mut take)?;
    }
    let items = raw.finish();
    let levels = levels.into_levels();
    Ok(model_of(n_rows, levels, &items, decoder.value_type()))
}

/// All rows, ranges, single rows and repeated ones of each block are those of the model.
fn check(model: &Model, page: &EncodedPage, what: &str) {
    let decoder = PageDecoder::new(&registry(), &page.meta, &[]).unwrap();
    for (form, level) in model.forms().zip(&page.meta.levels) {
        assert!(form.admits(level), "{what}: {level:?} for {form:?}");
    }
    let rows = block_rows(page);
    assert_eq!(rows.iter().map(|n| *n as usize).sum::<usize>(), model.rows);
    let mut first = 0;
    let starts: Vec<usize> = rows
        .iter()
        .map(|rows| {
            first += *rows as usize;
            first - *rows as usize
        })
        .collect();
    let mut rng = Rng::new(model.rows as u64);
    let picked: Vec<Vec<u32>> = rows
        .iter()
        .map(|rows| {
            // A giant row many times over only takes long.
            let n = rng.below(if model.rows < 10 { 4 } else { 40 });
            let mut picked: Vec<u32> = (0..n).map(|_| rng.below(*rows as usize) as u32).collect();
            // The same row again and again, where there are few.
            picked.sort_unstable();
            picked
        })
        .collect();
    let run = |name: &str, select: &dyn Fn(usize) -> Selection<'static>| {
        let blocks = (0..rows.len()).map(|i| (page.block(i), rows[i], select(i)));
        let got = decode(&decoder, model.forms(), blocks, usize::MAX)
            .unwrap_or_else(|error| panic!("{what}, {name}: {error}"));
        let want = (0..rows.len()).flat_map(|i| {
            let rows: Vec<u32> = match select(i) {
                Selection::All => (0..rows[i]).collect(),
                Selection::Range { start, len } => (start..start + len).collect(),
                Selection::Indices(indices) => indices.to_vec(),
            };
            rows.into_iter()
                .map(move |row| row as usize)
                .map(|row| (i, row))
                .collect::<Vec<_>>()
        });
        let want = model.tokens(want.map(|(i, row)| starts[i] + row));
        let got = got.tokens(0..got.rows);
        // Not assert_eq: some have millions.
        assert!(got == want, "{what}, {name}: other rows");
    };
    run("all", &|_| Selection::All);
    run("middle", &|i| Selection::Range {
        start: rows[i] / 3,
        len: (rows[i] / 2).max(1).min(rows[i] - rows[i] / 3),
    });
    run("one", &|i| Selection::Range {
        start: rows[i] - 1,
        len: 1,
    });
    run("none", &|i| Selection::Range {
        start: rows[i] / 2,
        len: 0,
    });
    // Selections that live as long as the test.
    let picked: &'static [Vec<u32>] = Vec::leak(picked);
    run("picked", &|i| Selection::Indices(&picked[i]));
    run("last twice", &|i| {
        let last = rows[i] - 1;
        Selection::Indices(Vec::leak(vec![0, last, last]))
    });
    if model.rows < 5000 {
        run("every second", &|i| {
            Selection::Indices(Vec::leak((0..rows[i]).step_by(2).collect()))
        });
        // Each block alone: nothing depends on those before it.
        for (i, start) in starts.iter().enumerate() {
            let blocks = [(page.block(i), rows[i], Selection::All)];
            let got = decode(&decoder, model.forms(), blocks.into_iter(), usize::MAX).unwrap();
            let want = model.tokens(*start..*start + rows[i] as usize);
            assert!(got.tokens(0..got.rows) == want, "{what}, block {i}");
        }
    }
}

fn shapes() -> Vec<Vec<LevelForm>> {
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

const TYPES: [ValueType; 5] = [
    ValueType::Fixed(4),
    ValueType::Bytes,
    ValueType::Bits,
    ValueType::Fixed(0),
    ValueType::Fixed(3),
];

#[test]
fn random_rows_come_back_under_every_selection() {
    let mut rng = Rng::new(11);
    for (number, forms) in shapes().iter().enumerate() {
        for value_type in TYPES {
            for rows in [1, 2, 63, 64, 65, 700, 3000] {
                let model = Model::random(rows, forms, value_type, &mut rng);
                let what = format!("shape {number}, {value_type:?}, {rows} rows");
                check(&model, &model.encode(USUAL), &what);
                if rows <= 65 {
                    check(&model, &model.encode(TINY), &format!("{what}, tiny blocks"));
                }
            }
        }
    }
}

/// Levels as a kernel hands them over.
fn decoded(levels: &[RawLevel]) -> Vec<DecodedSlots<'_>> {
    let mut decoded = vec![];
    for level in levels {
        let form = match level.form {
            Validity => DecodedForm::Validity(level.validity_bytes()),
            Lengths => DecodedForm::Ends(level.ends_bytes().as_chunks().0),
            ConstantLength(_) => DecodedForm::ConstantLength,
        };
        let n_slots = level.n_slots;
        decoded.push(DecodedSlots { n_slots, form });
    }
    decoded
}

/// Levels and items of each block, handed over as a kernel would into memory that grows, are those that were decoded into one.
#[test]
fn what_was_decoded_elsewhere_is_appended() {
    let mut rng = Rng::new(31);
    for forms in shapes() {
        for value_type in TYPES {
            let model = Model::random(700, &forms, value_type, &mut rng);
            let page = model.encode(TINY);
            let decoder = PageDecoder::new(&registry(), &page.meta, &[]).unwrap();
            let (budget, mut scratch) = (Budget::new(u64::MAX), Scratch::new());
            let mut take = poisoned;
            let mut all = RawLevels::new(forms.iter().copied(), &budget);
            let mut items = RawColumn::new(value_type, 0, 0, &mut take).unwrap();
            for (i, rows) in block_rows(&page).iter().enumerate() {
                let block = Block::parse(page.block(i), &decoder.expect(*rows)).unwrap();
                let mut alone = RawLevels::new(forms.iter().copied(), &budget);
                let mut ranges = vec![];
                alone
                    .push(
                        &decoder,
                        &block,
                        Selection::All,
                        &mut scratch,
                        &mut take,
                        &mut ranges,
                    )
                    .unwrap();
                let n_items = alone.n_items();
                let bytes = block.header.decoded_bytes as usize;
                let mut raw = RawColumn::new(value_type, n_items, bytes, &mut take).unwrap();
                raw.push_ranges(&decoder, &block, &ranges, &mut scratch, &mut take)
                    .unwrap();
                let (levels, raw) = (alone.into_levels(), raw.finish());
                let below = (value_type, n_items);
                all.push_decoded(*rows as usize, &decoded(&levels), below, &mut take)
                    .unwrap();
                let offsets = raw.offsets.get(..(n_items + 1) * 4);
                let rows = DecodedRows {
                    rows: n_items,
                    validity: raw.validity.as_deref().unwrap_or_default(),
                    offsets: offsets.unwrap_or_default(),
                    values: &raw.values[..raw.values_len],
                };
                items
                    .reserve(n_items, rows.values.len(), &mut take)
                    .unwrap();
                items.push_decoded(&rows, &mut take).unwrap();
            }
            let n_items = all.n_items();
            let items = items.finish();
            assert_eq!(items.rows, n_items);
            let got = model_of(model.rows, all.into_levels(), &items, value_type);
            let same = got.tokens(0..got.rows) == model.tokens(0..model.rows);
            assert!(same, "{forms:?}, {value_type:?}");
        }
    }
}

#[test]
fn levels_that_do_not_fit_are_refused() {
    let forms = [Validity, Lengths, ConstantLength(2)];
    let slots = |n_slots, form| DecodedSlots { n_slots, form };
    let ends = |ends: [u32; 4]| ends.map(u32::to_le_bytes);
    let [good, falling, late, more] =
        [[0, 2, 2, 5], [0, 6, 2, 5], [1, 2, 2, 5], [0, 2, 2, 6]].map(ends);
    let push = |rows, levels: &[DecodedSlots<'_>], n_items, budget| {
        let budget = Budget::new(budget);
        let mut raw = RawLevels::new(forms, &budget);
        let below = (ValueType::Fixed(4), n_items);
        raw.push_decoded(rows, levels, below, &mut poisoned)
    };
    let with =
        |validity, lengths, constant| [slots(4, validity), slots(3, lengths), slots(5, constant)];
    let (bits, constant) = (
        DecodedForm::Validity(&[0b1101]),
        DecodedForm::ConstantLength,
    );
    let lists = DecodedForm::Ends(&good);
    assert!(push(4, &with(bits, lists, constant), 10, 1000).is_ok());
    let refused: &[(&str, usize, &[DecodedSlots<'_>], usize)] = &[
        ("other rows", 3, &with(bits, lists, constant), 10),
        ("a level less", 4, &with(bits, lists, constant)[..2], 5),
        ("none", 4, &[], 4),
        (
            "all valid",
            4,
            &with(DecodedForm::Validity(&[]), lists, constant),
            10,
        ),
        (
            "fewer valid",
            4,
            &with(DecodedForm::Validity(&[0b1001]), lists, constant),
            10,
        ),
        (
            "short bits",
            9,
            &[slots(9, bits), slots(3, lists), slots(5, constant)],
            10,
        ),
        ("more items", 4, &with(bits, lists, constant), 11),
        ("another form", 4, &with(lists, lists, constant), 10),
        ("bits of lists", 4, &with(bits, bits, constant), 10),
        ("ends of fixed lists", 4, &with(bits, lists, lists), 10),
        (
            "a constant that is none",
            4,
            &with(bits, constant, constant),
            10,
        ),
        (
            "falling ends",
            4,
            &with(bits, DecodedForm::Ends(&falling), constant),
            10,
        ),
        (
            "a late start",
            4,
            &with(bits, DecodedForm::Ends(&late), constant),
            10,
        ),
        (
            "an end too few",
            4,
            &with(bits, DecodedForm::Ends(&good[1..]), constant),
            10,
        ),
        (
            "no ends",
            4,
            &with(bits, DecodedForm::Ends(&[]), constant),
            10,
        ),
        (
            "another end",
            4,
            &with(bits, DecodedForm::Ends(&more), constant),
            10,
        ),
    ];
    for (what, rows, levels, n_items) in refused {
        let refused = push(*rows, levels, *n_items, 1000);
        assert!(refused.is_err(), "{what}");
    }
    let limit = push(4, &with(bits, lists, constant), 10, 40).unwrap_err();
    assert!(
        matches!(limit.kind(), ErrorKind::LimitExceeded { .. }),
        "{limit}"
    );
}

/// What full-zip pages can hold: lists in them all have one length, and there are few nulls.
fn zip_models() -> Vec<(String, Model)> {
    let shapes: [&[LevelForm]; 8] = [
        &[Validity],
        &[Validity, Validity],
        &[Validity, ConstantLength(3)],
        &[Validity, Validity, ConstantLength(2), ConstantLength(3)],
        &[Validity, Lengths],
        &[Validity, Lengths, Validity, ConstantLength(5)],
        &[ConstantLength(1), Validity, Lengths, ConstantLength(1)],
        &[Lengths, ConstantLength(2), Validity, Lengths],
    ];
    let mut models = vec![];
    for forms in shapes {
        // 0 stands for byte strings.
        for width in [0, 1, 4, 20] {
            for (nulls, null_items) in [(0, false), (9, false), (9, true), (70, true)] {
                for rows in [1, 100, 2500] {
                    // Below what has more than one slot per row nothing is null.
                    let many = forms.iter().position(|form| *form != Validity);
                    let slot = |level: usize, i: usize| match forms[level] {
                        Validity if many.is_some_and(|many| level > many) => 1,
                        Validity => {
                            u32::from(nulls == 0 || !(i + 3 * level + 5).is_multiple_of(nulls))
                        }
                        _ => 4,
                    };
                    let item = |i: usize| {
                        let valid = !null_items || many.is_some() || i % 11 != 3;
                        let len = if width == 0 { i * 7 % 30 } else { width };
                        (valid, (i as u128).to_le_bytes().repeat(2)[..len].to_vec())
                    };
                    let value_type = match width {
                        0 => ValueType::Bytes,
                        width => ValueType::Fixed(width as u32),
                    };
                    let model = Model::new(rows, forms, value_type).fill(slot, item);
                    let name = format!("{forms:?} of {width}, {rows} rows, {nulls} {null_items}");
                    models.push((name, model));
                }
            }
        }
    }
    models
}

#[test]
fn rows_of_full_zip_pages_come_back_whole_and_alone() {
    let mut n_zipped = [0, 0];
    for (what, model) in zip_models() {
        let page = model.encode(ZIPPED);
        check(&model, &page, &what);
        assert_eq!(model.encode(USUAL).meta.layout, Layout::MiniBlock);
        if page.meta.layout == Layout::MiniBlock {
            continue;
        }
        let decoder = PageDecoder::new(&registry(), &page.meta, &[]).unwrap();
        let form = decoder.zip().unwrap();
        n_zipped[usize::from(form.is_indexed())] += 1;
        // Each row by itself, without its block, in one run of memory.
        let mut first = 0;
        for (i, rows) in block_rows(&page).into_iter().enumerate() {
            for row in (0..rows).step_by(1 + rows as usize / 50) {
                let (bytes, entries) = bare_row(page.block(i), form, rows, row);
                let block = Block::of_rows(bytes, form, &entries, 1).unwrap();
                let blocks = [(block, 1, Selection::All)];
                let got = decode_blocks(&decoder, model.forms(), blocks.into_iter(), usize::MAX);
                let want = model.tokens([first + row as usize]);
                assert!(got.unwrap().tokens(0..1) == want, "{what}, row {row}");
            }
            first += rows as usize;
        }
    }
    assert!(n_zipped[0] > 150 && n_zipped[1] > 20, "{n_zipped:?}");
}

/// A row of a full-zip block whose checksum is right, and its entry where the block has an index.
fn bare_row(
    block: &[u8],
    form: ZipForm,
    rows: u32,
    row: u32,
) -> (&[u8], Vec<[u8; ROW_ENTRY_BYTES]>) {
    let mut entries = vec![];
    let (bytes, covered, crc) = match form.stride() {
        Some(stride) => {
            let start = BLOCK_HEADER_BYTES + row as usize * stride;
            let bytes = &block[start..start + stride];
            let (covered, crc) = form.checksummed(bytes).unwrap();
            (bytes, covered, crc)
        }
        None => {
            let (front, (covered, crc)) = IndexFront::parse(block, form, rows).unwrap();
            assert_eq!(checksum(covered), crc);
            front.index.slice(row..row + 1).copy_to(&mut entries);
            let place = front.index.place(row);
            let bytes = &block[front.values_at..][place.start as usize..place.end as usize];
            (bytes, bytes, front.index.checksum(row))
        }
    };
    assert_eq!(checksum(covered), crc);
    (bytes, entries)
}

#[test]
fn hostile_full_zip_blocks_are_refused_or_consistent() {
    let (mut n_read, mut n_refused) = (0, 0);
    for (what, model) in zip_models() {
        let page = model.encode(ZIPPED);
        if page.meta.layout == Layout::MiniBlock || model.rows != 100 {
            continue;
        }
        let decoder = PageDecoder::new(&registry(), &page.meta, &[]).unwrap();
        let forms: Vec<_> = model.forms().collect();
        let (rows, block) = (block_rows(&page)[0], page.block(0));
        assert!(check_hostile(&decoder, &forms, block, rows), "{what}");
        for at in 4..block.len().min(160) {
            let mut bad = block.to_vec();
            bad[at] ^= 1 << (at % 8);
            match check_hostile(&decoder, &forms, &bad, rows) {
                true => n_read += 1,
                false => n_refused += 1,
            }
        }
        for len in (0..block.len()).step_by(31) {
            let cut = Block::parse(&block[..len], &decoder.expect(rows));
            // Only the padding may be missing.
            assert!(cut.is_err() || len + 8 > block.len(), "{what}: {len} bytes");
        }
        let form = decoder.zip().unwrap();
        let (bytes, entries) = bare_row(block, form, rows, 1);
        for n_rows in [0, 2, 100] {
            assert!(Block::of_rows(bytes, form, &entries, n_rows).is_err());
        }
    }
    assert!(n_read > 1000 && n_refused > 1000, "{n_read} {n_refused}");
}

/// Reads of some rows, rising and maybe repeated, across the blocks they are in.
fn check_rows(
    model: &Model,
    page: &EncodedPage,
    decoder: &PageDecoder,
    rows: &[usize],
    by_range: bool,
) {
    let mut first = 0;
    let mut wanted: Vec<(usize, u32, Vec<u32>)> = vec![];
    for (i, held) in block_rows(page).into_iter().enumerate() {
        let end = first + held as usize;
        let inside = rows.iter().filter(|row| (first..end).contains(*row));
        let inside: Vec<u32> = inside.map(|row| (row - first) as u32).collect();
        if !inside.is_empty() {
            wanted.push((i, held, inside));
        }
        first = end;
    }
    let blocks = wanted.iter().map(|(i, held, inside)| {
        let selection = match by_range {
            true if inside.len() == *held as usize => Selection::All,
            true => Selection::Range {
                start: inside[0],
                len: inside.len() as u32,
            },
            false => Selection::Indices(inside),
        };
        (page.block(*i), *held, selection)
    });
    let got = decode(decoder, model.forms(), blocks, usize::MAX).unwrap();
    assert!(
        got.tokens(0..got.rows) == model.tokens(rows.iter().copied()),
        "rows {rows:?} (by range: {by_range}) of {:?}, {:?}, blocks of {:?}",
        model.levels,
        model.validity,
        block_rows(page)
    );
}

/// Every range, every row and some rows more than once.
fn check_every_read(model: &Model, page: &EncodedPage) {
    let decoder = PageDecoder::new(&registry(), &page.meta, &[]).unwrap();
    for start in 0..model.rows {
        for end in start + 1..=model.rows {
            let rows: Vec<usize> = (start..end).collect();
            check_rows(model, page, &decoder, &rows, true);
        }
        check_rows(model, page, &decoder, &[start], false);
        check_rows(model, page, &decoder, &[start, start, start], false);
    }
    let last = model.rows - 1;
    for rows in [vec![0, 2, last], vec![0, 0, 1, 3, 3, last, last]] {
        check_rows(model, page, &decoder, &rows, false);
    }
}

/// Null, empty, one item and two, in each of five rows and at each of up to three levels, in blocks of all rows, of few and of one.
#[test]
fn small_shapes_in_all_combinations() {
    const ROWS: usize = 5;
    let nodes: [&[LevelForm]; 4] = [
        &[Validity],
        &[Validity, Lengths],
        &[Validity, ConstantLength(2)],
        &[Validity, ConstantLength(0)],
    ];
    // So that a block holds items of that many bits: all, two, or one.
    let cut = |bits_per_value| Plain {
        bits_per_value,
        uniform: false,
        ..USUAL
    };
    let choosers = [cut(32), cut(30_000), cut(60_000), ZIPPED];
    // What the slots of a node are is a number with a digit for each: of rows all combinations, of those below the walks through the
    // states.
    let digit = |number: usize, i: usize| (number >> (2 * i)) & 3;
    let walk = |number: usize, i: usize| (number + i * (1 + number / 4 % 4)) % 4;
    let mut n_of_blocks = [0; ROWS + 1];
    let mut check_shape = |nodes: &[&[LevelForm]], state: &dyn Fn(usize, usize) -> usize, case| {
        let forms = nodes.concat();
        let node_of: Vec<usize> = (0..nodes.len())
            .flat_map(|node| std::iter::repeat_n(node, nodes[node].len()))
            .collect();
        // A null slot has nothing below it, so that the slots of lengths are the valid ones.
        let valid: Vec<std::cell::RefCell<Vec<usize>>> = vec![Default::default(); nodes.len()];
        let slot = |level: usize, i: usize| match forms[level] {
            Validity => {
                let state = state(node_of[level], i);
                if state > 0 {
                    valid[node_of[level]].borrow_mut().push(state);
                }
                u32::from(state > 0)
            }
            _ => valid[node_of[level]].borrow()[i] as u32 - 1,
        };
        let item = |i: usize| {
            let is_valid = match case % 4 {
                0 => true,
                1 => i % 2 == 1,
                2 => !i.is_multiple_of(3),
                _ => false,
            };
            (is_valid, (case as u32 ^ i as u32).to_le_bytes().to_vec())
        };
        let model = Model::new(ROWS, &forms, ValueType::Fixed(4)).fill(slot, item);
        for chooser in choosers {
            let page = model.encode(chooser);
            n_of_blocks[page.starts.len()] += 1;
            check_every_read(&model, &page);
        }
    };
    for node in nodes {
        for case in 0..1 << (2 * ROWS) {
            check_shape(&[node], &|_, i| digit(case, i), case);
        }
    }
    for outer in nodes {
        for inner in nodes {
            for case in 0..256 {
                let state = |node: usize, i| walk(case >> (4 * node), i);
                check_shape(&[outer, inner], &state, case);
            }
            for innermost in nodes {
                // Each pair of walks at each two nodes.
                for case in 0..256 {
                    let walks = [case, case >> 4, (case >> 4) + case];
                    let state = |node: usize, i| walk(walks[node] % 16, i);
                    check_shape(&[outer, inner, innermost], &state, case);
                }
            }
        }
    }
    assert!(
        n_of_blocks[1..].iter().all(|n| *n > 100),
        "pages of 1 to 5 blocks: {n_of_blocks:?}"
    );
}

fn number(i: usize) -> Vec<u8> {
    (i as u64).to_le_bytes().to_vec()
}

#[test]
fn a_row_of_five_million_empty_lists_comes_back() {
    let forms = [Validity, Lengths, Validity, Lengths];
    let slot = |level: usize, i: usize| match (level, i) {
        (1, 2) => 5_000_000,
        (1, _) => 2,
        // Items in the first lists and the last ones.
        (3, i) => u32::from(!(4..5_000_000).contains(&i)),
        _ => 1,
    };
    let model = Model::new(5, &forms, ValueType::Fixed(8)).fill(slot, |i| (i != 1, number(i)));
    let page = model.encode(USUAL);
    assert!(page.bytes.len() < 22 << 20, "{}", page.bytes.len());
    check(&model, &page, "five million empty lists");
}

#[test]
fn a_row_of_three_million_null_items_comes_back() {
    let slot = |level: usize, i: usize| match (level, i) {
        (1, 1) => 3_000_000,
        _ => 1,
    };
    let model = Model::new(3, &[Validity, Lengths], ValueType::Fixed(8))
        .fill(slot, |i| (!(1..=3_000_000).contains(&i), number(i)));
    let page = model.encode(USUAL);
    check(&model, &page, "three million nulls");
    // 24 MB of nulls from a few bytes: the payload is longer than it would have to be.
    assert!(page.bytes.len() > (24_000_000 - (16 << 20)) / 1024);
    assert!(page.bytes.len() < 1 << 20, "{}", page.bytes.len());
}

#[test]
fn rows_without_items_come_back() {
    for forms in [
        vec![Validity, Lengths],
        vec![Validity, Lengths, Validity, Lengths],
        vec![Validity, ConstantLength(0)],
        vec![Validity],
    ] {
        for value_type in TYPES {
            // None has items: empty, null, or some of each. A validity level alone has items unless all are null.
            for style in 0..3 {
                let slot = |level: usize, i: usize| match forms[level] {
                    Validity if forms.len() == 1 => 0,
                    Validity => [1, 0, u32::from(!i.is_multiple_of(3))][style],
                    _ => 0,
                };
                let model =
                    Model::new(70_000, &forms, value_type).fill(slot, |i| (true, number(i)));
                assert!(model.values.is_empty());
                let page = model.encode(USUAL);
                check(&model, &page, &format!("{forms:?} {value_type:?} {style}"));
                assert!(page.starts.len() > 1, "a block has at most 65,536 rows");
            }
        }
    }
}

#[test]
fn long_rows_among_short_ones_come_back() {
    for value_type in TYPES {
        for long in [0, 300, 599] {
            let slot = |level: usize, i: usize| match (level, i) {
                (1, i) if i == long => 70_000,
                (1, i) => (i % 3) as u32,
                _ => 1,
            };
            let width = value_type.fixed_bytes().unwrap_or(6);
            let item = |i: usize| {
                let value = match value_type {
                    ValueType::Bits => vec![(i % 2) as u8],
                    _ => number(i).into_iter().take(width).collect(),
                };
                (!i.is_multiple_of(11), value)
            };
            let model = Model::new(600, &[Validity, Lengths], value_type).fill(slot, item);
            let page = model.encode(USUAL);
            check(
                &model,
                &page,
                &format!("{value_type:?}, row {long} is long"),
            );
            assert!(page.starts.len() > 1);
        }
    }
}

/// Rows of a decoded model that was not encoded by us: nothing but that all selections agree with the whole.
fn check_hostile(decoder: &PageDecoder, forms: &[LevelForm], bytes: &[u8], rows: u32) -> bool {
    let decode = |selection| {
        let block = [(bytes, rows, selection)];
        let forms = forms.iter().copied();
        decode(decoder, forms, block.into_iter(), HOSTILE_BYTES_MAX)
    };
    let whole = decode(Selection::All);
    let picked: Vec<u32> = (0..rows).flat_map(|i| [i, i]).step_by(3).collect();
    let parts = [
        Selection::Range {
            start: rows / 3,
            len: rows - rows / 3,
        },
        Selection::Range {
            start: rows - 1,
            len: 1,
        },
        Selection::Indices(&picked),
    ];
    for selection in parts {
        let part = decode(selection);
        let Ok(whole) = &whole else { continue };
        let part = part.unwrap_or_else(|error| {
            panic!("the whole decodes, {selection:?} does not: {error}");
        });
        let want: Vec<usize> = match selection {
            Selection::Range { start, len } => (start as usize..(start + len) as usize).collect(),
            Selection::Indices(indices) => indices.iter().map(|i| *i as usize).collect(),
            Selection::All => vec![],
        };
        assert!(part.tokens(0..part.rows) == whole.tokens(want));
    }
    whole.is_ok()
}

/// Small blocks with everything in them, and how they decode.
fn small_pages() -> Vec<(Vec<LevelForm>, EncodedPage)> {
    let mut rng = Rng::new(3);
    let mut pages = vec![];
    for forms in shapes() {
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

#[test]
fn every_prefix_of_a_payload_is_refused_or_consistent() {
    for (forms, page) in small_pages() {
        let decoder = PageDecoder::new(&registry(), &page.meta, &[]).unwrap();
        let rows = block_rows(&page)[0];
        let block = page.block(0);
        assert!(check_hostile(&decoder, &forms, block, rows));
        let payload = u32::from_le_bytes(block[24..28].try_into().unwrap()) as usize;
        let n_levels = Block::parse(block, &decoder.expect(rows))
            .unwrap()
            .levels
            .len();
        for len in 0..payload {
            let mut bad = block[..BLOCK_HEADER_BYTES + len].to_vec();
            bad[24..28].copy_from_slice(&(len as u32).to_le_bytes());
            let read = check_hostile(&decoder, &forms, &bad, rows);
            // What lies behind may be short of nothing, if it is padding; levels never are.
            assert!(
                !read || len >= n_levels,
                "{forms:?}: a prefix of {len} of {n_levels}"
            );
            // A place that ends before its payload does.
            let cut = &block[..BLOCK_HEADER_BYTES + len];
            let refused = Block::parse(cut, &decoder.expect(rows)).unwrap_err();
            assert!(
                matches!(refused.kind(), ErrorKind::Truncated { .. }),
                "{refused}"
            );
        }
    }
}

#[test]
fn every_flipped_bit_is_refused_or_consistent() {
    let (mut n_read, mut n_refused) = (0, 0);
    for (forms, page) in small_pages() {
        let decoder = PageDecoder::new(&registry(), &page.meta, &[]).unwrap();
        let rows = block_rows(&page)[0];
        let block = page.block(0);
        for at in 4..block.len() {
            for bit in 0..8 {
                let mut bad = block.to_vec();
                bad[at] ^= 1 << bit;
                match check_hostile(&decoder, &forms, &bad, rows) {
                    true => n_read += 1,
                    false => n_refused += 1,
                }
            }
        }
    }
    // Values and filler may be anything; headers and levels may not.
    assert!(n_read > 1000 && n_refused > 1000, "{n_read} {n_refused}");
}

#[test]
fn random_words_in_a_payload_are_refused_or_consistent() {
    let mut rng = Rng::new(8);
    for (forms, page) in small_pages() {
        let decoder = PageDecoder::new(&registry(), &page.meta, &[]).unwrap();
        let rows = block_rows(&page)[0];
        let block = page.block(0);
        for _ in 0..2000 {
            let mut bad = block.to_vec();
            for _ in 0..1 + rng.below(3) {
                let at = 8 + rng.below(bad.len() - 12) / 4 * 4;
                let word = match rng.below(4) {
                    0 => rng.below(16) as u32,
                    1 => u32::MAX >> rng.below(32),
                    2 => 0xfa + rng.below(6) as u32,
                    _ => 1 << rng.below(32),
                };
                bad[at..at + 4].copy_from_slice(&word.to_le_bytes());
            }
            check_hostile(&decoder, &forms, &bad, rows);
        }
    }
}

#[test]
fn sections_say_what_the_model_says() {
    let mut rng = Rng::new(5);
    for forms in shapes() {
        let model = Model::random(900, &forms, ValueType::Fixed(4), &mut rng);
        let page = model.encode(USUAL);
        let decoder = PageDecoder::new(&registry(), &page.meta, &[]).unwrap();
        let starts: Vec<_> = model
            .levels
            .iter()
            .map(|(_, slots)| starts(slots))
            .collect();
        let mut row = 0;
        for (i, rows) in block_rows(&page).into_iter().enumerate() {
            let block = Block::parse(page.block(i), &decoder.expect(rows)).unwrap();
            let mut slots = row..row + rows as usize;
            let mut sections = LevelSections::of(&block, decoder.levels()).unwrap();
            for starts in &starts {
                let section = sections.next().unwrap().unwrap();
                assert_eq!(section.n_slots as usize, slots.len());
                slots = starts[slots.start]..starts[slots.end];
                assert_eq!(section.n_below as usize, slots.len());
            }
            assert!(sections.next().is_none());
            assert_eq!(block.n_items as usize, slots.len());
            row += rows as usize;
        }
    }
}

/// What a writer writes is what a reader takes, or the writer refuses it.
#[test]
fn rows_of_many_slots_that_take_no_bytes_are_cut_into_blocks_that_are_read() {
    // Values of which nothing is stored.
    let free = Plain {
        bits_per_value: 0,
        ..USUAL
    };
    let nothing = ValueType::Fixed(0);
    let slot = |level: usize, i: usize| match level {
        1 => 3000 + (i % 200) as u32,
        _ => 1,
    };
    let mut unread = vec![];
    for (name, forms, rows) in [
        ("lists", vec![Validity, Lengths], 2500),
        ("lists of structs", vec![Validity, Lengths, Validity], 2500),
        (
            "vectors of structs",
            vec![Validity, ConstantLength(200), Validity],
            40_000,
        ),
        (
            "vectors of vectors",
            vec![Validity, ConstantLength(200), ConstantLength(1)],
            40_000,
        ),
    ] {
        let model = Model::new(rows, &forms, nothing).fill(slot, |_| (true, vec![]));
        let Ok(page) = model.try_encode(free) else {
            continue;
        };
        let decoder = PageDecoder::new(&registry(), &page.meta, &[]).unwrap();
        for (i, rows) in block_rows(&page).into_iter().enumerate() {
            if let Err(error) = Block::parse(page.block(i), &decoder.expect(rows)) {
                unread.push(format!("{name}, block {i} of {rows} rows: {error}"));
            }
        }
    }
    assert!(unread.is_empty(), "{unread:#?}");
}

/// What no level stores takes memory all the same: the ends of lists of one length are made for every list.
#[test]
fn slots_that_no_byte_stands_for_are_bounded() {
    let forms = [Validity, Lengths];
    let model = Model::new(4000, &forms, ValueType::Fixed(0));
    let slot = |level: usize, _| u32::from(level == 0);
    let mut page = model.fill(slot, |_| (true, vec![])).encode(USUAL);
    let rows = block_rows(&page)[0];
    assert!(rows >= 512);
    let empty = Level::ConstantLength(0);
    let long = Level::ConstantLength(1 << 15);
    let longest = Level::ConstantLength(1 << 18);
    for (levels, fits) in [
        (vec![Level::AllValid, empty.clone()], true),
        (
            vec![
                Level::AllValid,
                long.clone(),
                Level::AllValid,
                empty.clone(),
            ],
            false,
        ),
        (vec![long.clone(), Level::AllValid, empty.clone()], false),
        (vec![long.clone(), empty], false),
        (vec![longest.clone()], false),
    ] {
        page.meta.levels = levels;
        let decoder = PageDecoder::new(&registry(), &page.meta, &[]).unwrap();
        let mut block = page.block(0).to_vec();
        if page.meta.levels == [longest.clone()] {
            // Items without bytes, but each may be null.
            block[16..20].copy_from_slice(&(rows << 18).to_le_bytes());
        }
        let parsed = Block::parse(&block, &decoder.expect(rows));
        match parsed {
            Ok(_) => assert!(fits, "{:?}", page.meta.levels),
            Err(error) => {
                assert!(!fits, "{error}");
                let limit = matches!(error.kind(), ErrorKind::LimitExceeded { .. });
                assert!(limit, "{:?}: {error}", page.meta.levels);
            }
        }
    }
}

#[test]
fn a_budget_is_spent_before_memory_is_taken() {
    let forms = [Validity, Lengths];
    let model = Model::new(1000, &forms, ValueType::Fixed(4));
    let slot = |level: usize, i: usize| if level == 0 { 1 } else { (i % 5) as u32 };
    let page = model
        .fill(slot, |i| (true, (i as u32).to_le_bytes().to_vec()))
        .encode(USUAL);
    let decoder = PageDecoder::new(&registry(), &page.meta, &[]).unwrap();
    let rows = block_rows(&page)[0];
    let block = Block::parse(page.block(0), &decoder.expect(rows)).unwrap();
    let n_items = u64::from(block.n_items);
    let all = u64::from(rows).div_ceil(8) + 4 * u64::from(rows) + 4 * n_items;
    for (bytes, fits) in [(0, false), (all - 1, false), (all, true)] {
        let budget = Budget::new(bytes);
        let mut levels = RawLevels::new(forms, &budget);
        let (mut scratch, mut ranges) = (Scratch::new(), vec![]);
        let mut take = poisoned;
        let done = levels.push(
            &decoder,
            &block,
            Selection::All,
            &mut scratch,
            &mut take,
            &mut ranges,
        );
        assert_eq!(done.is_ok(), fits, "{bytes} of {all}: {done:?}");
    }
}
