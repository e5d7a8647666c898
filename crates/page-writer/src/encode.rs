//! Encoding a run of rows as a page.

use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::{BitSlice, Error, Result, RowStarts, Statistics, Values};
use tarsia_structure::meta::{Layer, LayerKind, Layout, Level, Meta};

use crate::bits::ones_of_few;
use crate::collected_levels::LevelsSlice;
use crate::full_zip::page::FullZipInput;
use crate::levels::Nested;
use crate::mini_block::Encoder;
use crate::nulls::{CopiedValues, compacted, filled, is_filled};
use crate::page::{Choice, EncodeContext, EncodedPage, PageInput};
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
    let refilled = rows.refill_long_strings(context);
    let mut known = None;
    if let Some(strings) = rows.long_strings(refilled.as_ref(), context)? {
        let statistics = input.statistics(strings.values, None, context);
        let choice = context.chooser.choose(&statistics)?;
        if let Some(page) = strings.encode_strings(&choice, context)? {
            return Ok(page);
        }
        known = Some((statistics, choice));
    }
    // Nulls cost a byte string an entry in its block's index, dropped or not, so this comes after it.
    let n_items = input.values.len();
    let compact = rows.null_count * COMPACT_NULLS_ONE_IN > n_items;
    let mut known_choice = None;
    if let Some((statistics, choice)) = known.filter(|_| !compact) {
        if input.levels.is_none() {
            // The same values: what the search has found out about them is not found out again.
            return rows.encode_mini_blocks(&statistics, compact, &choice, context);
        }
        known_choice = Some(choice);
    }
    let cleaned = match rows.validity {
        None => None,
        Some(bits) if compact => Some(compacted(input.values, bits, n_items - rows.null_count)?),
        Some(bits) if is_filled(input.values, bits) => None,
        Some(bits) => Some(filled(input.values, bits)),
    };
    let values = match &cleaned {
        Some(cleaned) => cleaned.as_values()?,
        None => input.values,
    };
    let row_starts = PageRows {
        levels: input.levels,
        validity: rows.validity.filter(|_| compact),
    };
    let statistics = input.statistics(
        values,
        input.levels.map(|_| &row_starts as &dyn RowStarts),
        context,
    );
    let choice = match known_choice {
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

    /// Byte strings that may be long with filler for nulls, where something else stands there.
    fn refill_long_strings(&self, context: &EncodeContext<'_>) -> Option<CopiedValues> {
        let input = &self.input;
        if input.shared.is_some() || !self.full_zip(input.values).are_long(context) {
            return None;
        }
        let garbage = self.validity.filter(|bits| !is_filled(input.values, *bits));
        garbage.map(|bits| filled(input.values, bits))
    }

    /// The rows if they are byte strings that are long enough for full-zip, with what
    /// [`Rows::refill_long_strings`] made of them. What stands under nulls does not count.
    fn long_strings<'b>(
        &self,
        refilled: Option<&'b CopiedValues>,
        context: &EncodeContext<'_>,
    ) -> Result<Option<FullZipInput<'b>>>
    where
        'a: 'b,
    {
        let values = match refilled {
            Some(refilled) => refilled.as_values()?,
            None => self.input.values,
        };
        let strings = FullZipInput {
            levels: self.input.levels,
            validity: self.validity,
            values,
        };
        let are_long = self.input.shared.is_none() && strings.are_long(context);
        Ok(are_long.then_some(strings))
    }

    /// A page of mini-blocks. `values` are those to be stored: of valid items alone in a compact page.
    fn encode_mini_blocks(
        &self,
        values: &Statistics<'_>,
        compact: bool,
        choice: &Choice,
        context: &EncodeContext<'_>,
    ) -> Result<EncodedPage> {
        let mut prepared = Prepared::new(context);
        let nested = match self.input.levels {
            Some(levels) => Some(Nested::new(levels, context, &mut prepared)?),
            None => None,
        };
        let levels = nested.iter().flat_map(|nested| &nested.levels);
        let levels: Vec<Level> = levels.map(|(level, _)| level.clone()).collect();
        let mut layers = vec![];
        let mut validity = None;
        if let Some(bits) = self.validity {
            let (trees, encoders) = prepared.bits(bits, context)?;
            layers.push(Layer {
                kind: LayerKind::ItemValidity,
                trees,
            });
            validity = Some((bits, encoders));
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
            shared: &shared,
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
pub(crate) struct PageRows<'a> {
    pub(crate) levels: Option<LevelsSlice<'a>>,
    /// Where values of null items are dropped: which are there.
    pub(crate) validity: Option<BitSlice<'a>>,
}

impl RowStarts for PageRows<'_> {
    fn row_starts(&self) -> Vec<u32> {
        let Some(levels) = self.levels else {
            return Vec::new();
        };
        let mut starts = levels.item_starts();
        if let Some(bits) = self.validity {
            let (mut item, mut value) = (0, 0);
            for start in &mut starts {
                let items = item..*start as usize;
                item = items.end;
                value += ones_of_few(bits, items) as u32;
                *start = value;
            }
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
