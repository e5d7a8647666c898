//! Encoding a run of rows as a page.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::{BitSlice, Error, Result, RowStarts, Statistics, Values};
use tarsia_structure::meta::{Layer, LayerKind, Layout, Level, Meta};

use crate::collected_levels::LevelsSlice;
use crate::full_zip::page::FullZipInput;
use crate::levels::Nested;
use crate::mini_block::Encoder;
use crate::nulls::{compacted, filled, is_filled};
use crate::page::{BLOCK_ROWS_MIN, Choice, EncodeContext, EncodedPage, PageInput};
use crate::prepare::Prepared;

/// Values of null items are dropped where more than one item in this many is null. Below it, filler costs less than the
/// second pass that spreads values to their slots.
const COMPACT_NULLS_ONE_IN: usize = 8;

/// Memory set aside for a page before its bytes are known is at most this.
const CAPACITY_BYTES_MAX: u64 = 16 << 20;

/// Encodes a run of rows as one page.
///
/// # Errors
/// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) where validity and values differ in length or a
/// row is too large; what encoders refuse.
pub fn encode_page(input: PageInput<'_>, context: &EncodeContext<'_>) -> Result<EncodedPage> {
    let rows = Rows::of(input)?;
    let mut known_choice = None;
    if let Some(of_strings) = rows.encode_long_strings(context)? {
        match of_strings {
            LongStrings::Page(page) => return Ok(*page),
            LongStrings::Choice(choice) => known_choice = Some(choice),
        }
    }
    // Nulls cost a byte string an entry in its block's index, dropped or not, so this comes after it.
    let n_items = input.values.len();
    let compact = rows.null_count * COMPACT_NULLS_ONE_IN > n_items;
    let cleaned = match rows.validity {
        None => None,
        Some(bits) if compact => Some(compacted(input.values, bits, n_items - rows.null_count)?),
        Some(bits) if is_filled(input.values, bits) => None,
        Some(bits) => Some(filled(input.values, bits, BLOCK_ROWS_MIN)),
    };
    let values = match &cleaned {
        Some(cleaned) => cleaned.as_values()?,
        None => input.values,
    };
    let row_starts = PageRows {
        levels: input.levels,
        validity: rows.validity.filter(|_| compact),
    };
    let statistics = input.statistics(values, input.levels.map(|_| &row_starts as &dyn RowStarts));
    let choice = match known_choice.filter(|_| !compact) {
        Some(choice) => choice,
        None => context.chooser.choose(&statistics)?,
    };
    if input.levels.is_some()
        && !compact
        && let Some(page) = rows.full_zip(values).encode(&choice, context)?
    {
        return Ok(page);
    }
    rows.encode_mini_blocks(&statistics, compact, &choice, context)
}

/// Rows whose parts fit each other.
struct Rows<'a> {
    input: PageInput<'a>,
    n_rows: usize,
    /// `None` where no item is null.
    validity: Option<BitSlice<'a>>,
    /// Null items.
    null_count: usize,
}

/// What is known of byte strings that are long enough for full-zip.
enum LongStrings {
    /// They are a page of that layout.
    Page(Box<EncodedPage>),
    /// Encoded, they are smaller, by this choice.
    Choice(Choice),
}

impl<'a> Rows<'a> {
    fn of(input: PageInput<'a>) -> Result<Self> {
        let n_items = input.values.len();
        if input.validity.is_some_and(|bits| bits.len() != n_items) {
            return Err(Error::invalid("validity and values differ in length"));
        }
        let n_rows = match input.levels {
            None => n_items,
            Some(levels) if levels.n_items() == n_items => levels.rows(),
            Some(_) => return Err(Error::invalid("levels and values differ in length")),
        };
        let validity = input.validity.filter(|bits| bits.count_ones() < n_items);
        Ok(Self {
            input,
            n_rows,
            validity,
            null_count: validity.map_or(0, |bits| n_items - bits.count_ones()),
        })
    }

    /// The rows as a full-zip page would hold them; `values` has filler for null items.
    fn full_zip(&self, values: Values<'a>) -> FullZipInput<'a> {
        FullZipInput {
            levels: self.input.levels,
            validity: self.validity,
            values,
        }
    }

    /// A full-zip page of long byte strings; `None` for other values.
    fn encode_long_strings(&self, context: &EncodeContext<'_>) -> Result<Option<LongStrings>> {
        let input = &self.input;
        if input.shared.is_some() || !self.full_zip(input.values).are_long(context) {
            return Ok(None);
        }
        let has_garbage = |bits: &BitSlice<'_>| !is_filled(input.values, *bits);
        let refilled = self.validity.filter(has_garbage);
        let refilled = refilled.map(|bits| filled(input.values, bits, BLOCK_ROWS_MIN));
        let values = match &refilled {
            Some(refilled) => refilled.as_values()?,
            None => input.values,
        };
        let full_zip = FullZipInput {
            levels: input.levels,
            validity: self.validity,
            values,
        };
        // What stands under nulls does not count.
        if !full_zip.are_long(context) {
            return Ok(None);
        }
        let choice = context.chooser.choose(&input.statistics(values, None))?;
        Ok(Some(match full_zip.encode_strings(&choice, context)? {
            Some(page) => LongStrings::Page(Box::new(page)),
            None => LongStrings::Choice(choice),
        }))
    }

    /// A page of mini-blocks. `values` are those to be stored: of valid items alone in a compact page.
    fn encode_mini_blocks(
        &self,
        values: &Statistics<'_>,
        compact: bool,
        choice: &Choice,
        context: &EncodeContext<'_>,
    ) -> Result<EncodedPage> {
        let mut prepared = Prepared::default();
        let nested = match self.input.levels {
            Some(levels) => Some(Nested::new(levels, context, &mut prepared)?),
            None => None,
        };
        let levels = nested.iter().flat_map(|nested| &nested.levels);
        let levels: Vec<Level> = levels.map(|(level, _)| level.clone()).collect();
        let mut layers = vec![];
        let mut validity = None;
        if let Some(bits) = self.validity {
            let (trees, encoder) = prepared.bits(bits, context)?;
            layers.push(Layer {
                kind: LayerKind::ItemValidity,
                trees,
            });
            validity = Some((bits, encoder));
        }
        let (trees, encoders) = prepared.page(choice, values, context)?;
        let shared = prepared.shared.to_vec()?;
        let mut encoder = Encoder {
            nested,
            values: values.values(),
            validity,
            compact,
            trees: encoders,
            checksum: context.checksum,
            bytes: Vec::with_capacity(expected_bytes(values.values(), choice)),
            starts: Vec::new(),
        };
        let is_of_lengths = |level: &Level| matches!(level, Level::Lengths(_));
        let lists_differ = levels.iter().any(is_of_lengths);
        let n_items = self.input.values.len();
        let block_rows = match (&encoder.nested, choice.uniform && !lists_differ) {
            (_, true) => encoder.cut_uniform(self.n_rows, n_items, self.null_count, choice)?,
            (None, false) => encoder.cut_by_size(self.n_rows, choice)?,
            (Some(_), false) => encoder.cut_nested(self.n_rows, choice)?,
        };
        Ok(EncodedPage {
            bytes: encoder.bytes,
            starts: encoder.starts,
            block_rows,
            rows: self.n_rows as u64,
            null_count: self.null_count as u64,
            meta: Meta {
                layout: Layout::MiniBlock,
                value_type: Some(values.values().value_type()),
                compact,
                levels,
                layers,
                trees,
                shared: shared.iter().map(|(spec, _)| *spec).collect(),
            },
            shared: shared.into_iter().map(|(_, values)| values).collect(),
        })
    }
}

/// Where the rows of a nested page begin among its values.
struct PageRows<'a> {
    levels: Option<LevelsSlice<'a>>,
    /// Where values of null items are dropped: which are there.
    validity: Option<BitSlice<'a>>,
}

impl RowStarts for PageRows<'_> {
    fn row_starts(&self) -> Vec<u32> {
        let Some(levels) = self.levels else {
            return Vec::new();
        };
        let (mut item, mut value) = (0, 0);
        let mut starts = vec![0];
        for row in 0..levels.rows() {
            let end = levels.items(row..row + 1).end;
            value += match self.validity {
                None => end - item,
                Some(bits) => bits.slice(item..end).count_ones(),
            };
            item = end;
            // A page's values are counted in 32 bits.
            starts.push(value as u32);
        }
        starts
    }
}

/// Memory to set aside: growing would copy what is there, and what is not used is never touched.
fn expected_bytes(values: Values<'_>, choice: &Choice) -> usize {
    let bytes = match values {
        Values::Bytes(strings) if !choice.uniform => u64::from(strings.data_bytes()),
        _ => choice.bytes,
    };
    (bytes + bytes / 16).min(CAPACITY_BYTES_MAX) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collected_levels::CollectedLevels;
    use tarsia_structure::meta::LevelForm;

    #[test]
    fn rows_of_lists_begin_where_their_values_do() {
        let lengths = [2, 0, 3, 1];
        let mut levels = CollectedLevels::new([LevelForm::Lengths]);
        levels.push_lengths(0, lengths.into_iter()).unwrap();
        levels.end_rows(4);
        let slice = LevelsSlice::new(&levels, 0..4).unwrap();
        let starts = |validity| {
            let rows = PageRows {
                levels: Some(slice),
                validity,
            };
            rows.row_starts()
        };
        assert_eq!(starts(None), [0, 2, 2, 5, 6]);
        // Null items have no values in a compact page.
        let valid = BitSlice::new(&[0b101101], 0, 6).unwrap();
        assert_eq!(starts(Some(valid)), [0, 1, 1, 3, 4]);
    }
}
