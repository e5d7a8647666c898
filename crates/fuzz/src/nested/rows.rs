//! Rows as levels and items in a form that is easy to compare.

use tarsia_codec::{BitSlice, ValueType};
use tarsia_structure::{LevelForm, RawLevels, RawParts};

/// Rows of so many slots are held against each other; those of more are only decoded.
pub(super) const COMPARED_SLOTS_MAX: usize = 1 << 15;

/// One level: slots below each of its slots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Slots {
    pub(super) form: LevelForm,
    pub(super) below: Vec<u32>,
}

/// Levels and items that were decoded, or are to be encoded.
pub(super) struct Rows {
    pub(super) n: usize,
    pub(super) levels: Vec<Slots>,
    /// `None` for null.
    pub(super) items: Vec<Option<Vec<u8>>>,
}

impl Rows {
    pub(super) fn n_slots(&self) -> usize {
        let slots = self.levels.iter().map(|level| level.below.len());
        slots.sum::<usize>() + self.items.len()
    }

    /// Appends what some rows are, front to back.
    pub(super) fn tokens(&self, rows: impl Iterator<Item = usize>) -> Vec<Option<Vec<u8>>> {
        let starts: Vec<Vec<usize>> = self
            .levels
            .iter()
            .map(|level| {
                let mut end = 0;
                let ends = level.below.iter().map(|below| {
                    end += *below as usize;
                    end
                });
                std::iter::once(0).chain(ends).collect()
            })
            .collect();
        let mut out = Vec::new();
        for row in rows {
            self.walk(&starts, 0, row, &mut out);
        }
        out
    }

    fn walk(
        &self,
        starts: &[Vec<usize>],
        level: usize,
        slot: usize,
        out: &mut Vec<Option<Vec<u8>>>,
    ) {
        let Some(slots) = self.levels.get(level) else {
            out.push(self.items[slot].clone());
            return;
        };
        match slots.form {
            LevelForm::Validity if slots.below[slot] == 0 => out.push(None),
            LevelForm::Validity => {}
            _ => out.push(Some(slots.below[slot].to_le_bytes().to_vec())),
        }
        for below in starts[level][slot]..starts[level][slot + 1] {
            self.walk(starts, level + 1, below, out);
        }
    }
}

/// Rows that were decoded. Where it is much, only how much: then levels and items are empty.
pub(super) struct Decoded {
    pub(super) rows: Rows,
    pub(super) n_slots: usize,
}

/// Checks that levels and items add up, and lists them where they are few.
pub(super) fn rows_of(
    n_rows: usize,
    levels: RawLevels,
    items: &RawParts,
    value_type: ValueType,
) -> Decoded {
    let mut rows = Rows {
        n: n_rows,
        levels: Vec::new(),
        items: Vec::new(),
    };
    let (mut n, mut n_slots) = (n_rows, 0);
    let levels = levels.into_levels();
    let total: usize = levels.iter().map(|level| level.n_slots).sum();
    let few = total + items.rows <= COMPARED_SLOTS_MAX;
    for level in levels {
        assert_eq!(level.n_slots, n, "slots of a level of {:?}", level.form);
        n_slots += n;
        let bits = level.validity();
        let nulls = bits.map_or(0, |bits| n - bits.count_ones());
        assert_eq!(nulls, level.null_count, "null slots");
        let ends = level.ends();
        let below = match level.form {
            LevelForm::Validity => n - nulls,
            LevelForm::Lengths if n == 0 => 0,
            LevelForm::Lengths => {
                assert_eq!((ends.len(), ends[0]), (n + 1, 0));
                assert!(ends.is_sorted(), "ends fall");
                ends[n] as usize
            }
            LevelForm::ConstantLength(length) => n * length as usize,
        };
        if few {
            let below = match level.form {
                LevelForm::Validity => (0..n)
                    .map(|i| u32::from(bits.is_none_or(|bits| bits.get(i))))
                    .collect(),
                LevelForm::Lengths if n == 0 => vec![],
                LevelForm::Lengths => ends.windows(2).map(|pair| pair[1] - pair[0]).collect(),
                LevelForm::ConstantLength(length) => vec![length; n],
            };
            rows.levels.push(Slots {
                form: level.form,
                below,
            });
        }
        n = below;
    }
    assert_eq!(items.rows, n, "items");
    n_slots += n;
    let validity = items
        .validity
        .as_deref()
        .map(|bytes| BitSlice::new(bytes, 0, n).expect("validity of all items"));
    let valid = validity.map_or(n, |bits| bits.count_ones());
    assert_eq!(n - valid, items.null_count, "null items");
    if few {
        let offsets: Vec<usize> = items
            .offsets
            .chunks_exact(4)
            .map(|end| u32::from_le_bytes(end.try_into().expect("4 bytes")) as usize)
            .collect();
        let values = &items.values[..items.values_len];
        let value = |i: usize| match value_type {
            ValueType::Bits => vec![values[i / 8] >> (i % 8) & 1],
            ValueType::Fixed(width) => {
                let width = width as usize;
                values[i * width..(i + 1) * width].to_vec()
            }
            ValueType::Bytes => values[offsets[i]..offsets[i + 1]].to_vec(),
        };
        rows.items = (0..n)
            .map(|i| validity.is_none_or(|bits| bits.get(i)).then(|| value(i)))
            .collect();
    }
    Decoded { rows, n_slots }
}
