//! The form of the rows of a full-zip page.

use tarsia_codec::{Error, Result, Tree, ValueType};

use crate::meta::{Layout, Level, Meta};

/// Bytes of a row's checksum, the last of it.
pub const ROW_CRC_BYTES: usize = 4;

/// The encoding of values of fixed width, and of the lengths of byte strings.
pub const PLAIN: &str = "tarsia.plain";

/// The encoding of byte strings, whose lengths are [`PLAIN`].
pub const BYTES: &str = "tarsia.bytes";

/// The values of a row take at most this many bytes. Larger rows are stored in mini-blocks.
pub const ROW_BYTES_MAX: u64 = 16 << 20;

/// The layout of a row of a full-zip page. For values of fixed width: a control byte if any row may be null, the values
/// of all of the row's items, a checksum. For byte strings: the string alone; control byte and checksum are in the
/// block's index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FullZipForm {
    /// Levels that store validity, and one more if items do.
    n_controls: u8,
    /// Whether the last of them is the items' own.
    item_validity: bool,
    /// Items of a row that is not null.
    items: u32,
    /// Bytes of an item's value; `None` for byte strings.
    width: Option<u32>,
}

impl FullZipForm {
    /// The form of a page's rows; `None` for a page of mini-blocks.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`](tarsia_codec::ErrorKind::Corrupt) for levels that no full-zip page has,
    /// [`ErrorKind::Unsupported`](tarsia_codec::ErrorKind::Unsupported) for values that are not plain.
    pub fn of(meta: &Meta) -> Result<Option<Self>> {
        if meta.layout == Layout::MiniBlock {
            return Ok(None);
        }
        let corrupt = |found: usize| {
            let allowed = "a full-zip page's: one slot per row where validity is stored, lengths that are constant";
            Error::corrupt("meta.layers", 12, found as u64, allowed)
        };
        let width = match meta.value_type {
            Some(ValueType::Fixed(width @ 1..)) => Some(width),
            Some(ValueType::Bytes) => None,
            _ => return Err(corrupt(0)),
        };
        let (mut n_controls, mut items) = (0, 1u32);
        for (number, level) in meta.levels.iter().enumerate() {
            match level {
                Level::AllValid => {}
                Level::ConstantLength(length) => {
                    items = items.checked_mul(*length).ok_or_else(|| corrupt(number))?;
                }
                Level::Validity(_) if items == 1 => n_controls += 1,
                Level::Validity(_) | Level::Lengths(_) => return Err(corrupt(number)),
            }
        }
        let item_validity = !meta.layers.is_empty();
        let one_item = item_validity || width.is_none();
        if items == 0 || one_item && items > 1 || meta.compact {
            return Err(corrupt(meta.levels.len()));
        }
        n_controls += u8::from(item_validity);
        match (meta.trees.as_slice(), width) {
            ([tree], Some(_)) if tree.id == PLAIN => {}
            ([tree], None) if holds_strings_as_they_are(tree) => {}
            _ => {
                return Err(Error::unsupported(
                    "a full-zip page of values that are not plain",
                ));
            }
        }
        let form = Self {
            n_controls,
            item_validity,
            items,
            width,
        };
        match form.values_bytes() {
            0..=ROW_BYTES_MAX => Ok(Some(form)),
            bytes => Err(Error::limit(
                "bytes of a full-zip row",
                bytes,
                ROW_BYTES_MAX,
            )),
        }
    }

    /// How many levels store validity, the items' own counted.
    pub fn n_controls(&self) -> u8 {
        self.n_controls
    }

    /// Whether the page stores the validity of the items.
    pub fn has_item_validity(&self) -> bool {
        self.item_validity
    }

    /// Items of a row that is not null.
    pub fn items_per_row(&self) -> u32 {
        self.items
    }

    /// Bytes of a row's values; 0 for byte strings.
    pub fn values_bytes(&self) -> u64 {
        u64::from(self.items) * u64::from(self.width.unwrap_or(0))
    }

    /// Bytes in front of a row's values of fixed width: 1 where a row may be null, else 0.
    pub fn control_bytes(&self) -> usize {
        usize::from(self.n_controls > 0)
    }

    /// Bytes from one row to the next; `None` for byte strings, whose places are in the block's index.
    pub fn stride(&self) -> Option<usize> {
        // At most 16 MiB and five.
        self.width?;
        Some(self.control_bytes() + self.values_bytes() as usize + ROW_CRC_BYTES)
    }

    /// Whether blocks have an index of their rows. Blocks of byte strings do.
    pub fn is_indexed(&self) -> bool {
        self.width.is_none()
    }

    /// The bytes of a row that its checksum covers, and the stored checksum.
    pub fn checksummed<'a>(&self, row: &'a [u8]) -> Option<(&'a [u8], u32)> {
        let (covered, crc) = row.split_last_chunk()?;
        Some((covered, u32::from_le_bytes(*crc)))
    }
}

fn holds_strings_as_they_are(tree: &Tree) -> bool {
    let is_plain = |lengths: &Tree| lengths.id == PLAIN;
    tree.id == BYTES && matches!(tree.children.as_slice(), [lengths] if is_plain(lengths))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::samples::{flat, full_zip, full_zip_strings};
    use crate::meta::{Layer, LayerKind};
    use alloc::vec;
    use tarsia_codec::Version;

    #[test]
    fn what_a_full_zip_page_cannot_hold_is_refused() {
        let form = |meta: &Meta| {
            FullZipForm::of(meta).map(|form| form.map(|form| form.stride().unwrap_or(0)))
        };
        assert_eq!(form(&flat()), Ok(None));
        assert_eq!(form(&full_zip()), Ok(Some(1 + 768 * 8 + 4)));
        let with = |levels: &[Level]| Meta {
            levels: levels.to_vec(),
            ..full_zip()
        };
        let tree = || Tree::leaf("tarsia.bitmap", Version::new(1, 0), &[]);
        let constant = |length| Level::ConstantLength(length);
        assert_eq!(form(&with(&[])), Ok(Some(8 + 4)));
        assert_eq!(form(&with(&[constant(2), constant(3)])), Ok(Some(48 + 4)));
        for levels in [
            vec![constant(0)],
            vec![constant(1 << 22)],
            vec![constant(1 << 16), constant(1 << 16)],
            vec![constant(2), Level::Validity(vec![])],
            vec![Level::Lengths(vec![tree()])],
        ] {
            assert!(form(&with(&levels)).is_err(), "{levels:?}");
        }
        let items = vec![Layer {
            kind: LayerKind::ItemValidity,
            trees: vec![],
        }];
        for (meta, fits) in [
            (
                Meta {
                    layers: items.clone(),
                    ..with(&[Level::AllValid])
                },
                true,
            ),
            (
                Meta {
                    layers: items,
                    ..full_zip()
                },
                false,
            ),
            (
                Meta {
                    compact: true,
                    ..full_zip()
                },
                false,
            ),
            (
                Meta {
                    value_type: Some(ValueType::Bytes),
                    ..full_zip()
                },
                false,
            ),
            (
                Meta {
                    value_type: Some(ValueType::Fixed(0)),
                    ..full_zip()
                },
                false,
            ),
            (
                Meta {
                    trees: flat().trees,
                    ..full_zip()
                },
                false,
            ),
        ] {
            assert_eq!(form(&meta).is_ok(), fits, "{meta:?}");
        }
        // Validity without trees is full-zip's alone.
        for levels in [vec![Level::Validity(vec![])], vec![]] {
            let meta = Meta {
                layout: Layout::MiniBlock,
                levels,
                ..full_zip()
            };
            let written = meta.write_to(&mut vec![]);
            assert_eq!(written.is_ok(), meta.levels.is_empty());
        }
        let trees = Meta {
            levels: vec![Level::Validity(vec![tree()])],
            ..full_zip()
        };
        assert!(trees.write_to(&mut vec![]).is_err());
    }

    #[test]
    fn what_a_full_zip_page_of_strings_cannot_hold_is_refused() {
        let is_indexed = |meta: &Meta| {
            FullZipForm::of(meta).map(|form| form.is_some_and(|form| form.is_indexed()))
        };
        let with = |levels: &[Level], trees: &[Tree]| Meta {
            levels: levels.to_vec(),
            trees: trees.to_vec(),
            ..full_zip_strings()
        };
        let trees = full_zip_strings().trees;
        let above = [Level::Validity(vec![]), Level::AllValid];
        for levels in [&[][..], &above, &[Level::ConstantLength(1)]] {
            let meta = with(levels, &trees);
            assert_eq!(is_indexed(&meta), Ok(true), "{levels:?}");
            assert!(meta.write_to(&mut vec![]).is_ok());
        }
        for levels in [
            &[Level::ConstantLength(2)][..],
            &[Level::ConstantLength(0)],
            &[Level::Lengths(trees.clone())],
        ] {
            assert!(is_indexed(&with(levels, &trees)).is_err(), "{levels:?}");
        }
        let (v, plain) = (
            Version::new(1, 0),
            Tree::leaf("tarsia.plain", Version::new(1, 0), &[]),
        );
        let packed = Tree::leaf("tarsia.bitpack", v, &[]);
        let of = |children: &[Tree]| Tree {
            children: children.to_vec(),
            ..trees[0].clone()
        };
        for trees in [
            vec![plain.clone()],
            vec![of(&[packed])],
            vec![of(&[])],
            vec![of(&[plain.clone(), plain])],
            vec![trees[0].clone(), trees[0].clone()],
        ] {
            assert!(is_indexed(&with(&[], &trees)).is_err(), "{trees:?}");
        }
        let compact = Meta {
            compact: true,
            ..full_zip_strings()
        };
        assert!(is_indexed(&compact).is_err());
        // Without levels, other full-zip pages are none.
        let fixed = Meta {
            levels: vec![],
            ..full_zip()
        };
        assert!(fixed.write_to(&mut vec![]).is_err());
    }
}
