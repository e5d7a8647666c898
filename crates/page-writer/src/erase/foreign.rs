//! Blocks under trees that this build does not decode. Something else does, such as a kernel that the file carries.

use alloc::vec;

use tarsia_codec::{BitSlice, Error, OwnedValues, Result, Tree};
use tarsia_structure::block::Validity;
use tarsia_structure::levels::{LevelSections, Slots};
use tarsia_structure::meta::{Layout, Level, LevelForm, Meta};
use tarsia_structure::{RawLevel, RawParts};

use super::context::{BlockContext, tree_of};
use super::decode::parse;
use super::survivors::Survivors;
use crate::collected_levels::CollectedLevels;
use crate::nulls::compacted;

/// Whether this build decodes a block: all trees that it uses of its page.
///
/// # Errors
/// What [`Block::parse_erased`](tarsia_structure::block::Block::parse_erased) refuses.
pub fn is_readable(context: &BlockContext<'_>, place: &[u8], rows: u32) -> Result<bool> {
    let (registry, meta) = (context.registry, context.meta);
    let block = parse(context, place, rows)?;
    // The rows of full-zip pages are stored as they are.
    if meta.layout == Layout::FullZip || block.header.present_rows == 0 {
        return Ok(true);
    }
    let reads = |trees: &[Tree], tree: u8, field: &'static str| -> Result<bool> {
        Ok(registry.reads(tree_of(trees, tree, field)?))
    };
    if !meta.levels.is_empty() {
        for (level, section) in meta
            .levels
            .iter()
            .zip(LevelSections::of(&block, &meta.levels)?)
        {
            if let Slots::Encoded { tree, .. } = section?.slots
                && !reads(level.trees(), tree, "level.tree")?
            {
                return Ok(false);
            }
        }
    }
    if let (Some(layer), Validity::Encoded { tree, .. }) = (meta.layers.first(), block.validity)
        && !reads(&layer.trees, tree, "layer.tree")?
    {
        return Ok(false);
    }
    Ok(block.header.n_values == 0 || reads(&meta.trees, block.header.tree, "block.tree")?)
}

impl Survivors {
    /// The present rows of a mini-block that something else decoded: levels above the items, outermost first, and the
    /// items with something for each null one.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) where they are not what `meta` says of the
    /// page, or do not fit each other.
    pub fn of_decoded(
        meta: &Meta,
        rows: usize,
        levels: &[RawLevel],
        mut items: RawParts,
    ) -> Result<Self> {
        let n_items = items.rows;
        let value_type = meta.value_type.ok_or_else(misfit)?;
        let is_of_rows = !meta.levels.is_empty() || n_items == rows;
        if meta.layout == Layout::FullZip || !is_of_rows {
            return Err(misfit());
        }
        let validity = match (items.validity.take(), meta.layers.is_empty()) {
            (None, true) => None,
            (None, false) => Some(vec![0xff; n_items.div_ceil(8)]),
            (Some(_), true) => return Err(misfit()),
            (Some(bits), false) => Some(bits.to_vec()),
        };
        let values = items.into_values(value_type);
        if values.as_values()?.len() != n_items {
            return Err(misfit());
        }
        let values = match &validity {
            Some(bits) if meta.compact => {
                let bits = BitSlice::new(bits, 0, n_items)?;
                OwnedValues::copy_of(
                    compacted(values.as_values()?, bits, bits.count_ones())?.as_values()?,
                )
            }
            _ => values,
        };
        Ok(Self {
            rows,
            levels: levels_of(meta, rows, levels, n_items)?,
            n_items,
            validity,
            values,
        })
    }
}

#[cold]
fn misfit() -> Error {
    Error::invalid("decoded rows that are not the page's")
}

/// The levels in the forms that the page has them.
fn levels_of(
    meta: &Meta,
    rows: usize,
    decoded: &[RawLevel],
    n_items: usize,
) -> Result<Option<CollectedLevels>> {
    if decoded.len() != meta.levels.len() {
        return Err(misfit());
    }
    if decoded.is_empty() {
        return Ok(None);
    }
    let mut levels = CollectedLevels::new(meta.levels.iter().map(Level::form));
    let mut n_slots = rows;
    for (number, (level, from)) in meta.levels.iter().zip(decoded).enumerate() {
        if from.n_slots != n_slots || !from.form.admits(level) {
            return Err(misfit());
        }
        match level {
            Level::AllValid if from.null_count == 0 => {
                levels.push_validity(number, n_slots, None)?;
            }
            Level::AllValid => return Err(misfit()),
            Level::Validity(_) => {
                let bits = from.validity();
                levels.push_validity(number, n_slots, bits)?;
                n_slots = bits.map_or(n_slots, |bits| bits.count_ones());
            }
            Level::Lengths(_) | Level::ConstantLength(_) if from.form == LevelForm::Lengths => {
                let ends = from.ends();
                let lengths = ends.windows(2).map(|pair| pair[1].wrapping_sub(pair[0]));
                match level {
                    Level::ConstantLength(length) => {
                        if !lengths.clone().all(|it| it == *length) {
                            return Err(misfit());
                        }
                        levels.push_constant(number, n_slots);
                    }
                    _ => levels.push_lengths(number, lengths)?,
                }
                n_slots = ends.last().copied().unwrap_or_default() as usize;
            }
            Level::Lengths(_) | Level::ConstantLength(_) => {
                let LevelForm::ConstantLength(length) = from.form else {
                    return Err(misfit());
                };
                levels.push_constant(number, n_slots);
                n_slots = n_slots.saturating_mul(length as usize);
            }
        }
    }
    levels.end_rows(rows);
    match n_slots == n_items {
        true => Ok(Some(levels)),
        false => Err(misfit()),
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use tarsia_codec::{AlignedBuf, ValueType};
    use tarsia_structure::levels::{DecodedForm, DecodedSlots};
    use tarsia_structure::meta::{Layer, LayerKind};
    use tarsia_structure::{Budget, DecodedRows, RawColumn, RawLevels};

    use super::*;

    fn page(levels: Vec<Level>, has_validity: bool, compact: bool) -> Meta {
        let layer = Layer {
            kind: LayerKind::ItemValidity,
            trees: vec![tarsia_bitmap::tree()],
        };
        Meta {
            layout: Layout::MiniBlock,
            value_type: Some(ValueType::Fixed(1)),
            compact,
            levels,
            layers: has_validity.then_some(layer).into_iter().collect(),
            trees: vec![tarsia_plain::tree()],
            shared: vec![],
        }
    }

    /// Items of one byte; bit `i` of `validity` says whether item `i` is valid.
    fn items(values: &[u8], validity: &[u8]) -> RawParts {
        let take = &mut AlignedBuf::zeroed;
        let mut raw = RawColumn::new(ValueType::Fixed(1), values.len(), 0, take).unwrap();
        let decoded = DecodedRows {
            rows: values.len(),
            validity,
            offsets: &[],
            values,
        };
        raw.push_decoded(&decoded, take).unwrap();
        raw.finish()
    }

    fn level(form: LevelForm, slots: DecodedForm<'_>, n_slots: usize, n_below: usize) -> RawLevel {
        let budget = Budget::new(1 << 20);
        let mut levels = RawLevels::new([form], &budget);
        let decoded = [DecodedSlots {
            n_slots,
            form: slots,
        }];
        let take = &mut AlignedBuf::zeroed;
        levels
            .push_decoded(n_slots, &decoded, ValueType::Fixed(1), n_below, take)
            .unwrap();
        levels.into_levels().remove(0)
    }

    #[test]
    fn flat_rows_are_taken_as_the_page_has_them() {
        let of = |meta: &Meta, validity: &[u8]| {
            Survivors::of_decoded(meta, 3, &[], items(b"abc", validity))
        };
        let values = |survivors: Survivors| {
            survivors
                .values()
                .unwrap()
                .as_fixed()
                .unwrap()
                .bytes()
                .to_vec()
        };
        assert_eq!(
            values(of(&page(vec![], false, false), &[]).unwrap()),
            b"abc"
        );
        assert_eq!(
            values(of(&page(vec![], true, false), &[0b101]).unwrap()),
            b"abc"
        );
        let compact = of(&page(vec![], true, true), &[0b101]).unwrap();
        assert_eq!(compact.validity().unwrap().count_ones(), 2);
        assert_eq!(values(compact), b"ac");
        // Nulls in a page without any, other rows than there are, levels that the page lacks.
        of(&page(vec![], false, false), &[0b101]).unwrap_err();
        let flat = page(vec![], false, false);
        Survivors::of_decoded(&flat, 2, &[], items(b"abc", &[])).unwrap_err();
        let valid = level(LevelForm::Validity, DecodedForm::Validity(&[]), 3, 3);
        Survivors::of_decoded(&flat, 3, &[valid], items(b"abc", &[])).unwrap_err();
    }

    #[test]
    fn levels_are_what_the_page_says() {
        let of = |stored: Level, decoded: RawLevel, items: RawParts| {
            let rows = decoded.n_slots;
            let meta = page(vec![stored], false, false);
            Survivors::of_decoded(&meta, rows, &[decoded], items)
        };
        let trees = || vec![tarsia_bitmap::tree()];
        let validity =
            |bits, n_below| level(LevelForm::Validity, DecodedForm::Validity(bits), 3, n_below);
        let lengths = |ends: [u32; 3]| {
            let ends = ends.map(u32::to_le_bytes);
            level(LevelForm::Lengths, DecodedForm::Ends(&ends), 2, 4)
        };
        let abc = || items(b"abc", &[]);
        let survivors = of(
            Level::Validity(trees()),
            validity(&[0b110], 2),
            items(b"bc", &[]),
        );
        assert_eq!(survivors.unwrap().n_items(), 2);
        of(Level::AllValid, validity(&[], 3), abc()).unwrap();
        of(Level::AllValid, validity(&[0b110], 2), items(b"bc", &[])).unwrap_err();
        of(Level::Validity(trees()), validity(&[0b110], 2), abc()).unwrap_err();
        of(Level::Lengths(trees()), validity(&[], 3), abc()).unwrap_err();
        let abcd = || items(b"abcd", &[]);
        of(Level::Lengths(trees()), lengths([0, 1, 4]), abcd()).unwrap();
        of(Level::ConstantLength(2), lengths([0, 2, 4]), abcd()).unwrap();
        of(Level::ConstantLength(2), lengths([0, 1, 4]), abcd()).unwrap_err();
        of(Level::Lengths(trees()), lengths([0, 1, 4]), abc()).unwrap_err();
        let vectors = level(
            LevelForm::ConstantLength(2),
            DecodedForm::ConstantLength,
            2,
            4,
        );
        of(Level::ConstantLength(2), vectors, abcd()).unwrap();
    }
}
