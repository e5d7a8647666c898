//! The laws of erasing rows of a block. [`check_erasure`] checks them for one page description and one block of rows.
//!
//! | law | in words |
//! |---|---|
//! | fit | survivors fit the old place, unless the tree says [`EraseFit::MayGrow`] or null items hold filler |
//! | survivors | their values and validity are those they had, bit for bit |
//! | filler | null items hold what survivors alone say |
//! | non-interference | two tables that differ in erased rows alone leave the same bytes, in places of one length with one salt |
//! | canonical | those bytes are what encoding the survivors for that place gives |
//! | order | erasing in several rounds, in any order, or again, leaves the bytes of erasing at once |
//! | nothing behind | the place is zero behind the new block |
//! | canary | a random value that was erased is not found in the place: raw, as an offset, as a varint |
//! | refusal | readers that expect all rows refuse the block; a wrong list of absent rows is refused |
//!
//! A broken law panics and names the case, the rows erased and the law.
//!
//! # What this module does not do
//! Whole files: journal, statistics, digests and dictionaries that several blocks share have laws of their own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tarsia_codec::{
    BitSlice, EraseFit, OwnedValues, Registry, Result, Tree, TreeWriter, ValueType, Values,
};
use tarsia_page_writer::{BlockContext, Outcome, decode_survivors, encode_block};
use tarsia_structure::Meta;

use crate::cases::Case;
pub use crate::erasure_block::{Erase, Report};
use crate::erasure_block::{ErasedBlock, without_slack};
use crate::rng::Rng;
use crate::units::checksum;

/// Rows that a test changes one by one.
#[derive(Debug, Clone)]
pub struct Rows {
    /// The values' type.
    pub value_type: ValueType,
    /// One value per row; a bit is one byte, 0 or 1.
    pub values: Vec<Vec<u8>>,
    /// One flag per row, `true` for valid; `None` in a page without validity.
    pub validity: Option<Vec<bool>>,
}

impl Rows {
    /// Rows of these values, all valid.
    pub fn new(values: Values<'_>) -> Self {
        let all = 0..values.len();
        Self {
            value_type: values.value_type(),
            values: match values {
                Values::Bits(bits) => all.map(|i| vec![u8::from(bits.get(i))]).collect(),
                Values::Fixed(fixed) => all.map(|i| fixed.get(i).to_vec()).collect(),
                Values::Bytes(strings) => all.map(|i| strings.get(i).to_vec()).collect(),
            },
            validity: None,
        }
    }

    /// Puts the case into a page with validity.
    ///
    /// # Panics
    /// Where there is not one flag per row.
    #[must_use]
    pub fn with_validity(mut self, validity: Vec<bool>) -> Self {
        assert_eq!(validity.len(), self.values.len());
        self.validity = Some(validity);
        self
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Whether row `i` is not null.
    pub fn is_valid(&self, i: usize) -> bool {
        self.validity.as_ref().is_none_or(|flags| flags[i])
    }

    /// The rows that are not in `erased`, which rises.
    #[must_use]
    pub fn without(&self, erased: &[u32]) -> Self {
        let kept: Vec<usize> = (0..self.len())
            .filter(|i| erased.binary_search(&(*i as u32)).is_err())
            .collect();
        Self {
            value_type: self.value_type,
            values: kept.iter().map(|i| self.values[*i].clone()).collect(),
            validity: self
                .validity
                .as_ref()
                .map(|flags| kept.iter().map(|i| flags[*i]).collect()),
        }
    }

    pub(crate) fn to_case(&self) -> Case {
        match self.value_type {
            ValueType::Bits => {
                let bits: Vec<bool> = self.values.iter().map(|value| value[0] == 1).collect();
                Case::bits("rows", &bits)
            }
            ValueType::Fixed(width) => {
                Case::fixed("rows", width as usize, self.len(), self.values.concat())
            }
            ValueType::Bytes => Case::strings("rows", &self.values),
        }
    }

    fn validity_bytes(&self) -> Option<Vec<u8>> {
        let mut bytes = vec![0; self.len().div_ceil(8)];
        for (i, flag) in self.validity.as_ref()?.iter().enumerate() {
            bytes[i / 8] |= u8::from(*flag) << (i % 8);
        }
        Some(bytes)
    }
}

/// One page description and one block of rows.
#[derive(Clone, Copy)]
pub struct ErasureCase<'a> {
    /// Names the rows in messages.
    pub name: &'a str,
    /// The page: registry, trees, dictionaries, checksum.
    pub context: BlockContext<'a>,
    /// The block's rows.
    pub rows: &'a Rows,
    /// The block as a writer wrote it; `None` encodes the rows.
    pub place: Option<&'a [u8]>,
    /// The function under test.
    pub erase: &'a Erase,
    /// Seed of the rows erased and of what replaces them.
    pub seed: u64,
}

/// Checks all laws.
///
/// # Panics
/// Where a law is broken.
pub fn check_erasure(case: &ErasureCase<'_>) -> Report {
    let mut report = Report::default();
    // A level-2 block has both a salt and slack, others have neither.
    for level_2 in [false, true] {
        for (name, erased) in erased_sets(case) {
            let context = format!(
                "{} of {:?} as {}, {name}{}",
                case.name,
                case.rows.value_type,
                case.context.meta.trees[0],
                if level_2 { ", salt and slack" } else { "" },
            );
            let seed = case.seed ^ erased.len() as u64;
            let checked = catch_unwind(AssertUnwindSafe(|| {
                let mut laws = Laws {
                    case: *case,
                    block: ErasedBlock {
                        context: case.context,
                        n_rows: case.rows.len() as u32,
                        salt: level_2.then_some([0xa5; 16]),
                        erase: case.erase,
                    },
                    slack: level_2,
                    rng: Rng::new(seed),
                };
                laws.check(&erased)
            }));
            match checked {
                Ok(checked) => report.add(checked),
                Err(panic) => panic!("[{context}] {}", panic_text(&*panic)),
            }
        }
    }
    report
}

pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
        (Some(text), _) => text.clone(),
        (None, Some(text)) => (*text).to_owned(),
        (None, None) => "a panic without text".to_owned(),
    }
}

/// Rows to erase, rising: edges, everything, random shares, a long run, nulls only, all but nulls.
fn erased_sets(case: &ErasureCase<'_>) -> Vec<(String, Vec<u32>)> {
    let n = case.rows.len() as u32;
    let mut rng = Rng::new(case.seed);
    let mut sets = vec![
        ("no row".to_owned(), vec![]),
        ("all rows".to_owned(), (0..n).collect()),
        ("the first row".to_owned(), vec![0]),
        ("the last row".to_owned(), vec![n - 1]),
        ("all but the first row".to_owned(), (1..n).collect()),
    ];
    for percent in [2, 50, 95] {
        let some = (0..n).filter(|_| rng.percent(percent)).collect();
        sets.push((format!("{percent} % of rows"), some));
    }
    if n > 1100 {
        sets.push(("a run of 1,050 rows".to_owned(), (17..1067).collect()));
    }
    if let Some(validity) = &case.rows.validity {
        for (name, wanted) in [("the null rows", false), ("all but the null rows", true)] {
            let rows = (0..n).filter(|i| validity[*i as usize] == wanted).collect();
            sets.push((name.to_owned(), rows));
        }
    }
    sets
}

struct Laws<'a> {
    case: ErasureCase<'a>,
    block: ErasedBlock<'a>,
    slack: bool,
    rng: Rng,
}

impl Laws<'_> {
    fn check(&mut self, erased: &[u32]) -> Report {
        let rows = self.case.rows;
        let mut old = match (self.case.place, self.block.salt) {
            (Some(place), None) => place.to_vec(),
            _ => self.fresh(rows),
        };
        let place_bytes = self.place_bytes(old.len());
        old.resize(place_bytes, 0);
        let new = self.block.erase(&old, &[], erased);

        self.block.check_fit(&old, &new, |tree| {
            let tree = &self.case.context.meta.trees[usize::from(tree)];
            may_grow(self.case.context.registry, tree, rows.value_type)
        });
        let survivors = rows.without(erased);
        self.check_survivors(&new, &survivors);
        self.check_canonical(&new, &survivors, place_bytes);
        let mut rng = Rng::new(self.rng.u64());
        self.block.check_order(&old, &new, erased, &mut rng);
        self.block.check_refusals(&old, &new, erased);
        self.check_interference(&old, erased);
        let last = erased.last().copied();
        let was_found = last.is_some_and(|row| self.check_canary(row as usize, erased));
        self.block.report(&new, was_found)
    }

    /// Bytes that a page with erasable blocks reserves for a block.
    fn place_bytes(&self, block_bytes: usize) -> usize {
        let slack = match self.slack {
            true => block_bytes / 96,
            false => 0,
        };
        (block_bytes + slack).next_multiple_of(8)
    }

    fn encode(&self, rows: &Rows, logical_rows: usize, place_bytes: usize) -> Result<Outcome> {
        let case = rows.to_case();
        let validity = rows.validity_bytes();
        encode_block(
            &self.case.context,
            None,
            validity
                .as_ref()
                .map(|bytes| BitSlice::new(bytes, 0, rows.len()).expect("validity of the rows")),
            case.values(),
            logical_rows as u32,
            self.block.salt,
            place_bytes,
        )
    }

    /// The block of the rows with the first tree that holds them, without reserved bytes.
    fn fresh(&self, rows: &Rows) -> Vec<u8> {
        let data: usize = rows.values.iter().map(Vec::len).sum();
        let ample = 1024 + 2 * data + 16 * rows.len();
        let outcome = self
            .encode(rows, rows.len(), ample)
            .expect("rows to encode");
        assert!(!outcome.must_move(), "{ample} bytes are not ample");
        without_slack(outcome.bytes())
    }

    fn check_survivors(&self, new: &Outcome, expected: &Rows) {
        let context = &self.case.context;
        let n = self.case.rows.len() as u32;
        let place = new.bytes();
        self.block.check_place(place, expected.len());

        let got = decode_survivors(context, place, n).expect("survivors to decode");
        assert_eq!(got.rows(), expected.len());
        let mut got_values = Rows::new(got.values().expect("values")).values.into_iter();
        let valid: Vec<bool> = (0..expected.len()).map(|i| expected.is_valid(i)).collect();
        let mut held = (0..expected.len()).find(|i| valid[*i]);
        let has_filler = held.is_some();
        for (i, valid) in valid.iter().enumerate() {
            if let Some(bits) = got.validity() {
                assert_eq!(
                    bits.get(i),
                    *valid,
                    "survivors: validity of row {i} of the rest"
                );
            }
            if *valid {
                held = Some(i);
                assert_eq!(
                    got_values.next().as_ref(),
                    Some(&expected.values[i]),
                    "survivors: row {i} of the rest"
                );
            } else if !context.meta.compact {
                let filler = match (expected.value_type, held) {
                    (ValueType::Bits, _) => vec![0],
                    (ValueType::Bytes, _) => vec![],
                    (ValueType::Fixed(_), Some(held)) => expected.values[held].clone(),
                    (ValueType::Fixed(width), None) => vec![0; width as usize],
                };
                let got = got_values.next();
                // If no survivor can be repeated, the filler depends on the page's dictionary.
                if has_filler || context.shared.is_empty() {
                    assert_eq!(got, Some(filler), "filler: row {i} of the rest");
                }
            }
        }
        assert_eq!(got_values.next(), None, "survivors: more values than rows");
    }

    fn check_canonical(&self, new: &Outcome, survivors: &Rows, place_bytes: usize) {
        let fresh = self
            .encode(survivors, self.case.rows.len(), place_bytes)
            .expect("survivors to encode");
        assert!(*new == fresh, "canonical: survivors encode to other bytes");
    }

    /// The entries of the page's dictionary, if it has one whose entries are the page's values.
    fn entries(&self) -> Option<Values<'_>> {
        let context = &self.case.context;
        let mut shared = context.meta.shared.iter().zip(context.shared);
        let found = shared.find(|(spec, _)| {
            spec.kind.has_entries() && spec.value_type == self.case.rows.value_type
        });
        found.map(|(_, entries)| entries.as_values().expect("a dictionary"))
    }

    /// A value to replace another with: random, or an entry if the page has a dictionary.
    fn other_value(&mut self) -> Vec<u8> {
        let mut rng = self.rng.clone();
        self.rng.u64();
        // Strings that are all empty have no tokens.
        if let Some(entries) = self.entries().filter(|entries| !entries.is_empty()) {
            let entry = rng.below(entries.len());
            return Rows::new(entries.slice(entry..entry + 1)).values.remove(0);
        }
        match self.case.rows.value_type {
            ValueType::Bits => vec![u8::from(self.rng.flip())],
            ValueType::Fixed(width) => self.rng.bytes(width as usize),
            ValueType::Bytes => {
                let len = self.rng.below(40);
                self.rng.bytes(len)
            }
        }
    }

    /// The rows with other values and other validity in the erased rows.
    fn twin(&mut self, erased: &[u32]) -> Rows {
        let mut twin = self.case.rows.clone();
        for row in erased {
            twin.values[*row as usize] = self.other_value();
            if let Some(validity) = &mut twin.validity {
                validity[*row as usize] = self.rng.flip();
            }
        }
        twin
    }

    fn check_interference(&mut self, old: &[u8], erased: &[u32]) {
        let twin = self.twin(erased);
        let (old, twin) = (without_slack(old), self.fresh(&twin));
        let place_bytes = self.place_bytes(old.len().max(twin.len()));
        self.block
            .check_interference(old, twin, place_bytes, erased);
    }

    /// Whether the search found the canary before the erasure.
    fn check_canary(&mut self, row: usize, erased: &[u32]) -> bool {
        let len = match self.case.rows.value_type {
            ValueType::Bytes => self.rng.between(8, 16),
            ValueType::Fixed(width) if width >= 4 => width as usize,
            // Too short to tell from chance.
            _ => return false,
        };
        if self.entries().is_some() {
            return false;
        }
        let canary = self.rng.bytes(len);
        let mut rows = self.case.rows.clone();
        rows.values[row] = canary.clone();
        if let Some(validity) = &mut rows.validity {
            validity[row] = true;
        }
        let patterns = patterns(&canary, &rows, row);
        let mut old = self.fresh(&rows);
        let place_bytes = self.place_bytes(old.len());
        old.resize(place_bytes, 0);
        let new = self.block.erase(&old, &[], erased);
        // Survivors may contain the pattern by chance. Then it is not searched for.
        let rest = rows.without(erased).values.concat();
        let mut found = false;
        for (name, pattern) in patterns {
            if contains(&rest, &pattern) {
                continue;
            }
            found |= contains(&old, &pattern);
            assert!(
                !contains(new.bytes(), &pattern),
                "canary: an erased value was found in the place, {name}"
            );
        }
        found
    }
}

/// A canary as bytes that an encoding might leave: raw, other byte order, less the smallest value with and without it,
/// varint.
fn patterns(canary: &[u8], rows: &Rows, row: usize) -> Vec<(&'static str, Vec<u8>)> {
    let mut patterns = vec![("raw", canary.to_vec())];
    let mut reversed = canary.to_vec();
    reversed.reverse();
    patterns.push(("big-endian", reversed));
    let ValueType::Fixed(width @ (4 | 8)) = rows.value_type else {
        return patterns;
    };
    let number = |bytes: &[u8]| {
        bytes
            .iter()
            .rev()
            .fold(0u64, |n, byte| n << 8 | u64::from(*byte))
    };
    let sign = 1u64 << (8 * width - 1);
    let value = number(canary);
    let others = || {
        let others = rows.values.iter().enumerate().filter(|(i, _)| *i != row);
        others.map(|(_, value)| number(value))
    };
    let bases = [
        ("offset from the smallest", others().min()),
        (
            "offset from the smallest, signed",
            others().map(|n| n ^ sign).min().map(|n| n ^ sign),
        ),
    ];
    for (name, base) in bases {
        let offset = value.wrapping_sub(base.unwrap_or_default());
        patterns.push((name, offset.to_le_bytes()[..width as usize].to_vec()));
    }
    let mut varint = vec![];
    let mut rest = value;
    while rest > 0x7f {
        varint.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    varint.push(rest as u8);
    patterns.push(("varint", varint));
    // Short or mostly zero patterns are everywhere.
    patterns.retain(|(_, pattern)| pattern.iter().filter(|byte| **byte != 0).count() >= 4);
    patterns
}

pub(crate) fn contains(bytes: &[u8], pattern: &[u8]) -> bool {
    bytes
        .windows(pattern.len())
        .any(|window| window[0] == pattern[0] && window == pattern)
}

/// Whether a node of the tree declares that survivors may need more bytes.
///
/// # Panics
/// For a tree that the registry cannot encode.
pub fn may_grow(registry: &Registry, tree: &Tree, value_type: ValueType) -> bool {
    let tree = TreeWriter::new(registry, tree, value_type).expect("a known tree");
    tree.erase_fit() == EraseFit::MayGrow
}

/// The context of a page, with the checksum of tests.
pub fn context<'a>(
    registry: &'a Registry,
    meta: &'a Meta,
    shared: &'a [Arc<OwnedValues>],
) -> BlockContext<'a> {
    BlockContext {
        registry,
        meta,
        shared,
        checksum,
    }
}
