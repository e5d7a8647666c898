//! Trees for what an erasure leaves of a block, where the tree of its page does not suit that.

use std::sync::Arc;

use tarsia_codec::{
    AlignedBuf, BlockValues, EraseFit, Facts, LogicalType, OwnedValues, Result, RowStarts,
    SharedBuffers, Statistics, Tree, TreeWriter, Values, limits,
};

use crate::ask::Place;
use crate::encoders::Encoders;
use crate::search::Search;
use crate::{Outline, Weights};

/// The first so many values, the most of a flat block, and about so many bytes of them are tried.
const TRIAL_VALUES: usize = limits::BLOCK_ROWS_MAX as usize;
const TRIAL_BYTES: u64 = 1 << 20;

/// One value in so many is taken out, and a run of one in so many: erased rows lie scattered or together.
const SCATTERED_ONE_IN: usize = 128;
const RUN_ONE_IN: usize = 50;

/// Survivors may take an eighth more than all values did, and so many bytes: then the tree of the page will do.
const GROWTH_ONE_IN: usize = 8;
const GROWTH_BYTES: usize = 64;

/// A spare tree must save a quarter of the survivors' bytes, and so many: every reader loads it with the page's
/// description.
const GAIN_ONE_IN: usize = 4;
const GAIN_BYTES_MIN: usize = 1024;

/// The spare tree of the first page of a column, and the encodings of the tree that it stands beside. Later pages like
/// it have the same: a spare tree holds any values.
struct SpareOfFirst {
    first: Outline,
    spare: Option<Tree>,
}

/// A tree for blocks of which rows were erased, beside the page's `first` tree and its `fallback`: a few rows are taken
/// out of the values, and where the first tree does not hold the others or needs many more bytes for them, the best
/// tree for them is searched for. It has only encodings that hold any values, and no shared buffers. `None` where it
/// would gain too little.
///
/// Where all run ends are multiples of ten, for example, those behind erased rows are other numbers. Without a spare
/// tree, a block that had a hundred runs would be stored as 65,536 plain values.
///
/// # Errors
/// What encodings refuse of their own proposals.
pub(crate) fn spare_tree(
    encoders: &Encoders,
    first: &Tree,
    fallback: &Tree,
    values: &Statistics<'_>,
) -> Result<Option<Tree>> {
    let all = values.values();
    if all.decoded_bytes() < 2 * GAIN_BYTES_MIN as u64 {
        return Ok(None);
    }
    let of_first = TreeWriter::new(&encoders.registry, first, all.value_type())?;
    if of_first.erase_fit() == EraseFit::Always {
        return Ok(None);
    }
    let outline = Outline::of(first);
    if let Some(kept) = values.recall::<SpareOfFirst>()
        && kept.first == outline
    {
        return Ok(kept.spare.clone());
    }
    let spare = search(encoders, &of_first, fallback, values)?;
    values.remember(Arc::new(SpareOfFirst {
        first: outline,
        spare: spare.clone(),
    }));
    Ok(spare)
}

/// Searches for a spare tree without the one that the first page has left.
fn search(
    encoders: &Encoders,
    of_first: &TreeWriter,
    fallback: &Tree,
    values: &Statistics<'_>,
) -> Result<Option<Tree>> {
    let trial = Trial::of(values);
    let left = trial.without_some()?;
    let (all, left) = (trial.statistics()?, left.statistics()?);
    if left.is_empty() {
        return Ok(None);
    }
    let mut shared = SharedBuffers::new();
    let Ok(n_before) = bytes_under(of_first, &all, &mut shared) else {
        return Ok(None);
    };
    shared.close();
    let value_type = values.values().value_type();
    let of_fallback = TreeWriter::new(&encoders.registry, fallback, value_type)?;
    let of_fallback = bytes_under(&of_fallback, &left, &mut SharedBuffers::new())?;
    let n_after = match bytes_under(of_first, &left, &mut shared) {
        Ok(bytes) => bytes.min(of_fallback),
        Err(_) => of_fallback,
    };
    if n_after <= n_before + n_before / GROWTH_ONE_IN + GROWTH_BYTES {
        return Ok(None);
    }
    let encoders = encoders.under(Weights {
        any_values: true,
        ..encoders.weights
    });
    let found = Search::new(&encoders).best(&left, Place::ROOT, u64::MAX)?;
    let Some(tree) = found.map(|found| found.tree) else {
        return Ok(None);
    };
    let of_spare = TreeWriter::new(&encoders.registry, &tree, value_type)?;
    let of_spare = bytes_under(&of_spare, &left, &mut SharedBuffers::new())?;
    let gain = n_after.saturating_sub(of_spare);
    Ok((gain >= GAIN_BYTES_MIN.max(n_after / GAIN_ONE_IN)).then_some(tree))
}

fn bytes_under(
    writer: &TreeWriter,
    values: &Statistics<'_>,
    shared: &mut SharedBuffers,
) -> Result<usize> {
    let mut out = Vec::new();
    let encoder = writer.prepare(values.values(), shared, Some(values))?;
    encoder.encode(BlockValues::all(values.values())?, &mut out)?;
    Ok(out.len())
}

/// Values that are encoded to find out what an erasure costs.
struct Trial {
    values: OwnedValues,
    logical_type: LogicalType,
    rows: Option<Starts>,
}

/// Where rows of lists begin, and where the last ends.
struct Starts(Vec<u32>);

impl RowStarts for Starts {
    fn row_starts(&self) -> Vec<u32> {
        self.0.clone()
    }
}

impl Trial {
    /// The first values of a page; of lists, those of whole rows.
    fn of(page: &Statistics<'_>) -> Self {
        let all = page.values();
        let all = all.slice(0..all.len().min(TRIAL_VALUES));
        let n_fitting = all.len() as u64 * TRIAL_BYTES / all.decoded_bytes().max(TRIAL_BYTES);
        let mut n = n_fitting as usize;
        let rows = page.facts().rows.map(|rows| {
            let mut starts = rows.row_starts();
            starts.truncate(starts.partition_point(|start| *start as usize <= n));
            n = starts.last().map_or(0, |end| *end as usize);
            Starts(starts)
        });
        Self {
            values: OwnedValues::copy_of(all.slice(0..n)),
            logical_type: page.facts().logical_type,
            rows,
        }
    }

    fn statistics(&self) -> Result<Statistics<'_>> {
        let facts = Facts {
            rows: self.rows.as_ref().map(|rows| rows as &dyn RowStarts),
            ..Facts::of(self.logical_type)
        };
        Ok(Statistics::new(self.values.as_values()?, facts))
    }

    /// Takes out a run of rows and scattered ones.
    fn without_some(&self) -> Result<Self> {
        let values = self.values.as_values()?;
        let Some(Starts(starts)) = &self.rows else {
            let left: Vec<usize> = left_of(values.len()).collect();
            return Ok(Self {
                values: values_at(values, &left),
                rows: None,
                ..*self
            });
        };
        let n_rows = starts.len().saturating_sub(1);
        let (mut left, mut starts_left) = (Vec::new(), vec![0]);
        for row in left_of(n_rows) {
            left.extend(starts[row] as usize..starts[row + 1] as usize);
            // No more values than there are in all, whose rows are counted in 32 bits.
            starts_left.push(left.len() as u32);
        }
        Ok(Self {
            values: values_at(values, &left),
            rows: Some(Starts(starts_left)),
            ..*self
        })
    }
}

/// Returns those of `n` rows that a trial leaves: not those of a run, and not scattered ones.
fn left_of(n: usize) -> impl Iterator<Item = usize> {
    let run_start = n * 3 / 8;
    let run = run_start..run_start + n.div_ceil(RUN_ONE_IN);
    (0..n).filter(move |i| !run.contains(i) && i % SCATTERED_ONE_IN != SCATTERED_ONE_IN / 2)
}

/// The values at some places.
fn values_at(values: Values<'_>, left: &[usize]) -> OwnedValues {
    match values {
        Values::Bits(bits) => {
            let byte = |places: &[usize]| {
                let numbered = places.iter().enumerate();
                numbered.fold(0, |byte, (at, i)| byte | u8::from(bits.get(*i)) << at)
            };
            let bytes: Vec<u8> = left.chunks(8).map(byte).collect();
            OwnedValues::Bits {
                bytes: AlignedBuf::copy_of(&bytes),
                len: left.len(),
            }
        }
        Values::Fixed(fixed) => {
            let mut bytes = Vec::with_capacity(fixed.bytes().len());
            left.iter()
                .for_each(|i| bytes.extend_from_slice(fixed.get(*i)));
            OwnedValues::Fixed {
                bytes: AlignedBuf::copy_of(&bytes),
                width: fixed.width(),
                len: left.len(),
            }
        }
        Values::Bytes(strings) => {
            let (mut offsets, mut data) = (vec![0], Vec::new());
            for i in left {
                data.extend_from_slice(strings.get(*i));
                // No more than there are in all, whose offsets are of 32 bits.
                offsets.push(data.len() as u32);
            }
            OwnedValues::Bytes {
                offsets,
                data: AlignedBuf::copy_of(&data),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarsia_codec::{BitSlice, FixedSlice};

    #[test]
    fn a_run_and_scattered_values_are_taken_out() {
        let bytes: Vec<u8> = (0..2000u16).flat_map(u16::to_le_bytes).collect();
        let values = Values::Fixed(FixedSlice::new(&bytes, 2, 2000).unwrap());
        let numbers = |left: &Trial| -> Vec<u16> {
            let left = left.values.as_values().unwrap().as_fixed().unwrap();
            let numbers = left.bytes().as_chunks::<2>().0.iter();
            numbers.map(|it| u16::from_le_bytes(*it)).collect()
        };
        let left = self::left(values, None);
        let expected: Vec<u16> = (0..2000)
            .filter(|i| !(750..790).contains(i) && i % 128 != 64)
            .collect();
        assert_eq!(numbers(&left), expected);
        assert!(left.rows.is_none());
        // The same bits.
        let bits: Vec<u8> = (0..250).map(|i| (i * 37 % 251) as u8).collect();
        let bits = BitSlice::new(&bits, 0, 2000).unwrap();
        let left = self::left(Values::Bits(bits), None);
        let left = left.values.as_values().unwrap().as_bits().unwrap();
        assert_eq!(left.len(), expected.len());
        for (i, from) in expected.iter().enumerate() {
            assert_eq!(left.get(i), bits.get(usize::from(*from)));
        }
        // Lists of ten values are taken out as a whole.
        let starts = Starts((0..=200).map(|row| row * 10).collect());
        let left = self::left(values, Some(&starts));
        let is_left = |i: &u16| !(750..790).contains(i) && i / 10 % 128 != 64;
        let expected: Vec<u16> = (0..2000).filter(is_left).collect();
        assert_eq!(numbers(&left), expected);
        let starts = left.rows.unwrap().0;
        let expected: Vec<u32> = (0..=194).map(|row| row * 10).collect();
        assert_eq!(starts, expected);
    }

    /// Returns what a trial leaves of some values.
    fn left(values: Values<'_>, rows: Option<&Starts>) -> Trial {
        let facts = Facts {
            rows: rows.map(|rows| rows as &dyn RowStarts),
            ..Facts::default()
        };
        let trial = Trial::of(&Statistics::new(values, facts));
        trial.without_some().unwrap()
    }
}
