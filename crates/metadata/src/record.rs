//! Node records: what a schema node is, and where its column or its children are.

use std::collections::HashMap;
use std::ops::Range;

use tarsia_codec::toolbox::{ByteReader, check_zero};

use crate::bytes::{check_crc, crc32c, len_u32, pad, slice};
use crate::child_range::{ChildRange, DESCENDANTS_LONG};
use crate::column::ColumnRecord;
use crate::error::{Error, Result};
use crate::limits::{
    COLUMN_RECORD_BYTES, RECORD_CHILDREN_BYTES, RECORD_HEADER_BYTES, RECORD_LEAF_BYTES,
};
use crate::path::{Strings, check_metadata, check_path, display_path, to_usize, utf8};
use crate::reserved::{LAYOUT_KEY, LAYOUT_PACKED};
use crate::types::{FORMAT_MAP, FORMAT_STRUCT};

const FLAG_NULLABLE: u16 = 1;
const FLAG_COLUMN: u16 = 2;
const FLAG_CHILDREN: u16 = 4;
const FLAG_KEYS_ORDERED: u16 = 8;
const FLAG_METADATA: u16 = 16;
const FLAG_LEAF: u16 = 32;
const FLAG_VALUE_KEYS_ORDERED: u16 = 64;
const FLAGS_KNOWN: u16 = FLAG_NULLABLE
    | FLAG_COLUMN
    | FLAG_CHILDREN
    | FLAG_KEYS_ORDERED
    | FLAG_METADATA
    | FLAG_LEAF
    | FLAG_VALUE_KEYS_ORDERED;
/// Bytes of length and checksum, which the checksum does not cover.
const UNCOVERED_BYTES: usize = 8;

/// One node of the schema; the root is the table itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeRecord<'a> {
    /// Number of the node in pre-order; the root is 0.
    pub ordinal: u32,
    /// Whether items may be null.
    pub nullable: bool,
    /// Whether the order of a dictionary's keys means something, or a map's keys are sorted.
    pub keys_ordered: bool,
    /// True if the keys of the maps of a dictionary are sorted.
    pub value_keys_ordered: bool,
    /// The children of a node that has some, and of the root.
    pub children: Option<ChildRange>,
    /// Number of the node's column, counted over the whole schema in pre-order; `Some` exactly where `column` is.
    pub leaf: Option<u32>,
    /// Where the node's column is, of a node that stores one.
    pub column: Option<ColumnRecord<'a>>,
    /// The type without its children, as [`crate::format_string`] spells it; `+s` for the root.
    pub format: &'a str,
    /// As [`crate::encode_path`] writes it; empty for the root.
    pub path: &'a [u8],
    /// As [`crate::encode_metadata`] writes it.
    pub metadata: &'a [u8],
}

impl<'a> NodeRecord<'a> {
    /// Bytes of the record that starts with these 4 bytes, for a bucket entry without a length.
    ///
    /// # Errors
    /// [`Error::Truncated`], [`Error::Corrupt`] for a length that no record has.
    pub fn length(prefix: &[u8]) -> Result<u32> {
        let length = ByteReader::new(prefix).u32("record.length")?;
        if !length.is_multiple_of(8) || (length as usize) < RECORD_HEADER_BYTES {
            return Err(Error::corrupt(
                "record.length",
                0,
                length,
                "multiples of 8 from 24",
            ));
        }
        Ok(length)
    }

    /// Reads the record at the start of `bytes`; bytes after it are ignored.
    ///
    /// # Errors
    /// [`Error::Truncated`], [`Error::Crc`], [`Error::Corrupt`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        let length = Self::length(bytes)? as usize;
        let bytes = slice(bytes, 0..length, "record")?;
        let mut reader = ByteReader::new(bytes);
        reader.take(4, "record.length")?;
        let stored = reader.u32("record.crc")?;
        let covered = slice(bytes, UNCOVERED_BYTES..length, "record")?;
        check_crc("record", UNCOVERED_BYTES, stored, &[covered])?;

        let ordinal = reader.u32("record.ordinal")?;
        let flags = reader.u16("record.flags")?;
        if flags & !FLAGS_KNOWN != 0 {
            return Err(Error::corrupt(
                "record.flags",
                12,
                flags,
                "bits 1, 2, 4, 8, 16, 32, 64",
            ));
        }
        let format_len = reader.u16("record.type_length")?;
        let path_len = to_usize(reader.u32("record.path_length")?, "record.path_length")?;
        let metadata_len = to_usize(
            reader.u32("record.metadata_length")?,
            "record.metadata_length",
        )?;
        if (metadata_len > 0) != (flags & FLAG_METADATA != 0) {
            return Err(Error::corrupt(
                "record.metadata_length",
                20,
                metadata_len as u64,
                "zero exactly without flag 16",
            ));
        }
        let children = match flags & FLAG_CHILDREN {
            0 => None,
            _ => Some(ChildRange::parse(&mut reader)?),
        };
        let stored_leaf = match flags & FLAG_LEAF {
            0 => None,
            _ => Some(parse_leaf(&mut reader, ordinal)?),
        };
        let column = match flags & FLAG_COLUMN {
            0 => None,
            _ => Some(ColumnRecord::parse(&mut reader)?),
        };
        let leaf = match column {
            // A stored number without a column is refused below, with the other rules.
            None => stored_leaf,
            Some(_) => stored_leaf.or_else(|| implied_leaf(ordinal)),
        };
        let format_at = reader.position();
        let format = utf8(
            reader.take(format_len.into(), "record.type")?,
            "record.type",
            format_at,
        )?;
        let path_at = reader.position();
        let path = reader.take(path_len, "record.path")?;
        check_path(path, path_at)?;
        let metadata_at = reader.position();
        let metadata = reader.take(metadata_len, "record.metadata")?;
        check_metadata(path, metadata, metadata_at)?;
        reader.pad_to(8, "record.padding")?;
        reader.finish("record.length")?;

        let record = Self {
            ordinal,
            nullable: flags & FLAG_NULLABLE != 0,
            keys_ordered: flags & FLAG_KEYS_ORDERED != 0,
            value_keys_ordered: flags & FLAG_VALUE_KEYS_ORDERED != 0,
            children,
            leaf,
            column,
            format,
            path,
            metadata,
        };
        record.check()?;
        Ok(record)
    }

    /// Rules that tie fields together.
    fn check(&self) -> Result<()> {
        let bad = |field, at, found: u64, allowed| Err(Error::corrupt(field, at, found, allowed));
        let is_root = self.ordinal == 0;
        let is_plain_struct = self.format == FORMAT_STRUCT
            && self.children.is_some()
            && self.column.is_none()
            && !self.nullable;
        if is_root != self.path.is_empty() {
            return bad(
                "record.path_length",
                16,
                self.path.len() as u64,
                "zero for the root alone",
            );
        }
        if is_root && !is_plain_struct {
            return bad(
                "record.flags",
                12,
                0,
                "those of a root: children, no column, not null",
            );
        }
        if self.leaf.is_some() != self.column.is_some() {
            return bad(
                "record.flags",
                12,
                FLAG_LEAF.into(),
                "32 with a column alone",
            );
        }
        if let Some(children) = &self.children {
            children.check(is_root, RECORD_HEADER_BYTES)?;
        }
        // At lower depths, run ends and the fields of packed structs store nothing. They are checked with their
        // parents.
        let stores_nothing = self.children.is_none() && self.column.is_none();
        if stores_nothing && self.components().count() <= 1 {
            return bad(
                "record.flags",
                12,
                0,
                "a column or children at the top level",
            );
        }
        if self.keys_ordered && !self.format.starts_with('D') && self.format != FORMAT_MAP {
            return bad(
                "record.flags",
                12,
                FLAG_KEYS_ORDERED.into(),
                "8 for dictionaries and maps alone",
            );
        }
        let value = self.format.strip_prefix('D').and_then(|dictionary| {
            let (_key, value) = dictionary.split_once(',')?;
            Some(value)
        });
        if self.value_keys_ordered && value != Some(FORMAT_MAP) {
            return bad(
                "record.flags",
                12,
                FLAG_VALUE_KEYS_ORDERED.into(),
                "64 for dictionaries of maps alone",
            );
        }
        Ok(())
    }

    /// Whether this is a struct at the top level whose rows are one column, and whose fields have none.
    pub fn is_packed(&self) -> bool {
        let is_struct = self.format == FORMAT_STRUCT && self.children.is_some();
        let layout = || self.metadata_pairs().find(|(key, _)| *key == LAYOUT_KEY);
        is_struct
            && self.components().count() == 1
            && layout().is_some_and(|(_, layout)| layout == LAYOUT_PACKED)
    }

    /// The number of the column, if the record stores it. It does not if the number is the one that a flat schema
    /// implies.
    fn stored_leaf(&self) -> Option<u32> {
        self.leaf
            .filter(|leaf| implied_leaf(self.ordinal) != Some(*leaf))
    }

    /// Where the column record starts in the record; `None` for a node without a column.
    pub fn column_at(&self) -> Option<usize> {
        self.column?;
        let children = self.children.map_or(0, |_| RECORD_CHILDREN_BYTES);
        let leaf = self.stored_leaf().map_or(0, |_| RECORD_LEAF_BYTES);
        Some(RECORD_HEADER_BYTES + children + leaf)
    }

    /// The record at the start of `bytes` with another column record, for programs that change a file in place: as long
    /// as before, and with as many bytes inside.
    ///
    /// # Errors
    /// As [`NodeRecord::parse`]; [`Error::InvalidInput`] for a node without a column.
    pub fn with_column(bytes: &[u8], column: &ColumnRecord<'_>) -> Result<Vec<u8>> {
        let old = NodeRecord::parse(bytes)?;
        let (Some(at), Some(old)) = (old.column_at(), old.column) else {
            return Err(Error::invalid("a node without a column"));
        };
        if old.more_bytes() != column.more_bytes() {
            return Err(Error::invalid("a column record of another length"));
        }
        let length = NodeRecord::length(bytes)? as usize;
        let mut out = slice(bytes, 0..length, "record")?.to_vec();
        let mut record = Vec::new();
        column.write_to(&mut record)?;
        if let Some(to) = out.get_mut(at..at + record.len()) {
            to.copy_from_slice(&record);
        }
        let crc = crc32c(&[slice(&out, UNCOVERED_BYTES..length, "record")?]);
        if let Some(to) = out.get_mut(4..UNCOVERED_BYTES) {
            to.copy_from_slice(&crc.to_le_bytes());
        }
        NodeRecord::parse(&out)?;
        Ok(out)
    }

    /// Bytes of the record, whatever its descendants are.
    pub(crate) fn stored_bytes(&self) -> Result<u32> {
        let fixed = RECORD_HEADER_BYTES
            + self.children.map_or(0, |_| RECORD_CHILDREN_BYTES)
            + self.stored_leaf().map_or(0, |_| RECORD_LEAF_BYTES)
            + self.column.map_or(0, |_| COLUMN_RECORD_BYTES);
        let inside = self.column.map_or(0, |column| column.more_bytes());
        let parts = [
            inside,
            self.format.len(),
            self.path.len(),
            self.metadata.len(),
        ];
        let bytes = parts.into_iter().fold(fixed, usize::saturating_add);
        // A saturated length is refused here.
        len_u32(
            bytes.checked_next_multiple_of(8).unwrap_or(usize::MAX),
            "record.length",
        )
    }

    /// Bytes of the record, which has `own` of them, and of its descendants; `None` where the record does not say how
    /// many these have. Those of the root do not count.
    pub(crate) fn range_bytes(&self, own: u32) -> Option<u64> {
        let below = match self.children {
            None => 0,
            Some(ChildRange {
                descendants_bytes: DESCENDANTS_LONG,
                ..
            }) => return None,
            Some(children) => children.descendants_bytes,
        };
        Some(u64::from(own).saturating_add(below.into()))
    }

    /// The byte range of the records of all descendants, to be read at once for [`crate::read_field`]. `None` if there
    /// are none, and for the root and descendants of 4 GiB or more, whose length is not stored.
    pub fn descendants_range(&self) -> Option<Range<u64>> {
        let children = self.children?;
        match children.descendants_bytes {
            0 | DESCENDANTS_LONG => None,
            bytes => {
                let start = children.first_child_place;
                Some(start..start.saturating_add(bytes.into()))
            }
        }
    }

    /// Appends the record.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] for lengths that do not fit, else what [`NodeRecord::parse`] would refuse.
    pub fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        let format_len = u16::try_from(self.format.len()).map_err(|_| {
            Error::limit(
                "record.type_length",
                self.format.len() as u64,
                u16::MAX.into(),
            )
        })?;
        let mut flags = 0;
        for (flag, set) in [
            (FLAG_NULLABLE, self.nullable),
            (FLAG_COLUMN, self.column.is_some()),
            (FLAG_CHILDREN, self.children.is_some()),
            (FLAG_KEYS_ORDERED, self.keys_ordered),
            (FLAG_METADATA, !self.metadata.is_empty()),
            (FLAG_LEAF, self.stored_leaf().is_some()),
            (FLAG_VALUE_KEYS_ORDERED, self.value_keys_ordered),
        ] {
            if set {
                flags |= flag;
            }
        }
        let mut record = vec![0; UNCOVERED_BYTES];
        record.extend_from_slice(&self.ordinal.to_le_bytes());
        record.extend_from_slice(&flags.to_le_bytes());
        record.extend_from_slice(&format_len.to_le_bytes());
        record.extend_from_slice(&len_u32(self.path.len(), "record.path_length")?.to_le_bytes());
        record.extend_from_slice(
            &len_u32(self.metadata.len(), "record.metadata_length")?.to_le_bytes(),
        );
        if let Some(children) = &self.children {
            record.extend_from_slice(&children.n_children.to_le_bytes());
            record.extend_from_slice(&children.first_leaf.to_le_bytes());
            record.extend_from_slice(&children.n_leaves.to_le_bytes());
            record.extend_from_slice(&children.descendants_bytes.to_le_bytes());
            record.extend_from_slice(&children.first_child_place.to_le_bytes());
        }
        if let Some(leaf) = self.stored_leaf() {
            record.extend_from_slice(&leaf.to_le_bytes());
            record.extend_from_slice(&[0; 4]);
        }
        if let Some(column) = &self.column {
            column.write_to(&mut record)?;
        }
        record.extend_from_slice(self.format.as_bytes());
        record.extend_from_slice(self.path);
        record.extend_from_slice(self.metadata);
        pad(&mut record, 8);
        let length = len_u32(record.len(), "record.length")?;
        let covered = record.get(UNCOVERED_BYTES..).unwrap_or_default();
        let sum = crc32c(&[covered]);
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&sum.to_le_bytes());
        out.extend_from_slice(covered);
        // Readers and writers use one predicate: what was written must parse.
        let written = out.get(start..).unwrap_or_default();
        match NodeRecord::parse(written) {
            Ok(parsed) if parsed == *self => Ok(()),
            Ok(_) => Err(Error::invalid("a record whose fields do not come back")),
            Err(error) => Err(error),
        }
    }

    /// The components of the path, outermost first; none for the root.
    pub fn components(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        Strings::of(self.path)
    }

    /// The field's name: the last component; empty for the root.
    pub fn name(&self) -> &'a str {
        self.components().last().unwrap_or_default()
    }

    /// Components joined by dots, for people.
    pub fn display_path(&self) -> String {
        display_path(self.path)
    }

    /// The metadata's pairs, sorted by key.
    pub fn metadata_pairs(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let mut strings = Strings::of(self.metadata);
        std::iter::from_fn(move || Some((strings.next()?, strings.next()?)))
    }

    /// The metadata as Arrow holds it.
    pub fn metadata_map(&self) -> HashMap<String, String> {
        self.metadata_pairs()
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    }
}

/// The number of a column in a flat schema, where all nodes but the root have one. It is not stored.
fn implied_leaf(ordinal: u32) -> Option<u32> {
    ordinal.checked_sub(1)
}

/// Reads the number of a column that is not [`implied_leaf`].
fn parse_leaf(reader: &mut ByteReader<'_>, ordinal: u32) -> Result<u32> {
    let at = reader.position();
    let leaf = reader.u32("record.leaf")?;
    check_zero(
        reader.take(4, "record.reserved")?,
        "record.reserved",
        at + 4,
    )?;
    // Each earlier column belongs to an earlier node, and the root has none: the implied number is the largest.
    if implied_leaf(ordinal).is_none_or(|implied| leaf >= implied) {
        return Err(Error::corrupt(
            "record.leaf",
            at,
            leaf,
            "less than the ordinal - 1, which is implied",
        ));
    }
    Ok(leaf)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ColumnSource, ErasureLevel, RegionPlace, encode_metadata, encode_path, unique_record,
    };
    use proptest::prelude::*;

    const COLUMN: ColumnRecord<'static> = ColumnRecord {
        zones: None,
        blooms: None,
        level: ErasureLevel::Hide,
        source: ColumnSource::Meta {
            place: 4096,
            length: 8,
            crc: 1,
        },
        digest: [7; 32],
    };

    fn with_sample(check: impl FnOnce(NodeRecord<'_>)) {
        let path = encode_path(["user", "", "näme"]).unwrap();
        let metadata = [("b", "1"), ("a", ""), ("", "x")];
        let metadata = metadata.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let metadata = encode_metadata(&metadata.into()).unwrap();
        check(NodeRecord {
            ordinal: 5,
            nullable: true,
            keys_ordered: true,
            value_keys_ordered: false,
            children: None,
            leaf: Some(2),
            column: Some(COLUMN),
            format: "Di,u",
            path: &path,
            metadata: &metadata,
        });
    }

    fn bytes_of(record: &NodeRecord<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        record.write_to(&mut out).unwrap();
        out
    }

    /// The bytes with a right checksum.
    fn resealed(mut bytes: Vec<u8>) -> Vec<u8> {
        let sum = crc32c(&[&bytes[UNCOVERED_BYTES..]]);
        bytes[4..8].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    #[test]
    fn round_trip() {
        with_sample(|record| {
            let bytes = bytes_of(&record);
            assert_eq!(NodeRecord::parse(&bytes), Ok(record));
            assert_eq!(NodeRecord::length(&bytes), Ok(bytes.len() as u32));
            assert_eq!(record.name(), "näme");
            assert_eq!(record.display_path(), "user..näme");
            let pairs: Vec<_> = record.metadata_pairs().collect();
            assert_eq!(pairs, [("", "x"), ("a", ""), ("b", "1")]);
        });
    }

    #[test]
    fn every_prefix_and_every_flipped_bit_is_found() {
        with_sample(|record| {
            let bytes = bytes_of(&record);
            for len in 0..bytes.len() {
                let got = NodeRecord::parse(&bytes[..len]);
                assert!(
                    matches!(got, Err(Error::Truncated { .. })),
                    "{len}: {got:?}"
                );
            }
            for bit in 0..bytes.len() * 8 {
                let mut bad = bytes.clone();
                bad[bit / 8] ^= 1 << (bit % 8);
                assert!(NodeRecord::parse(&bad).is_err(), "bit {bit}");
            }
        });
    }

    #[test]
    fn one_broken_field_under_a_right_checksum() {
        with_sample(|record| {
            let good = bytes_of(&record);
            let leaf_at = RECORD_HEADER_BYTES;
            let path_at = leaf_at + RECORD_LEAF_BYTES + COLUMN_RECORD_BYTES + 4;
            assert_eq!(good[leaf_at], 2);
            let padding = good.len() - 1;
            assert_eq!(good[padding], 0);
            for (what, at, value) in [
                ("unknown flag", 12, good[12] | 128),
                ("a column that needs no number", leaf_at, 4),
                ("a column behind the nodes", leaf_at, 5),
                ("reserved", leaf_at + 7, 1),
                ("flag of the column's number missing", 12, good[12] & !32),
                ("ordered keys of maps, without maps", 12, good[12] | 64),
                ("unknown flag in the second byte", 13, 1),
                ("flag of the metadata missing", 12, good[12] & !16),
                ("column missing", 12, good[12] & !2),
                ("type longer", 14, 5),
                ("path longer", 16, good[16] + 1),
                ("path reaches to the sky", 19, 0xff),
                ("metadata shorter", 20, good[20] - 1),
                ("component longer", path_at, 200),
                ("not UTF-8", path_at + 4, 0xff),
                ("ordered keys without dictionary", path_at - 4, b'E'),
                ("root with a path", 8, 0),
                ("padding", padding, 1),
            ] {
                let mut bad = good.clone();
                bad[at] = value;
                let got = NodeRecord::parse(&resealed(bad)).map(|_| ());
                assert!(got.is_err(), "{what}");
                assert!(!matches!(got, Err(Error::Crc { .. })), "{what}");
            }
        });
    }

    #[test]
    fn what_a_reader_refuses_is_not_written() {
        with_sample(|record| {
            let root = NodeRecord {
                ordinal: 0,
                nullable: false,
                keys_ordered: false,
                value_keys_ordered: false,
                children: Some(ChildRange {
                    n_children: 1,
                    first_leaf: 0,
                    n_leaves: 1,
                    descendants_bytes: 0,
                    first_child_place: 4096,
                }),
                leaf: None,
                column: None,
                format: FORMAT_STRUCT,
                path: &[],
                metadata: &[],
            };
            assert_eq!(bytes_of(&root).len(), 56);
            let children = root.children.unwrap();
            for bad in [
                NodeRecord {
                    nullable: true,
                    ..root
                },
                NodeRecord { ordinal: 1, ..root },
                NodeRecord {
                    children: None,
                    ..root
                },
                NodeRecord {
                    format: "+l",
                    ..root
                },
                NodeRecord {
                    children: Some(ChildRange {
                        n_children: 0,
                        ..children
                    }),
                    ..root
                },
                NodeRecord {
                    children: Some(ChildRange {
                        first_child_place: 4095,
                        ..children
                    }),
                    ..root
                },
                NodeRecord {
                    children: Some(ChildRange {
                        first_leaf: u32::MAX,
                        ..children
                    }),
                    ..root
                },
                NodeRecord {
                    children: Some(ChildRange {
                        descendants_bytes: 8,
                        ..children
                    }),
                    ..root
                },
                NodeRecord {
                    leaf: Some(0),
                    ..root
                },
                NodeRecord {
                    column: None,
                    ..record
                },
                NodeRecord {
                    leaf: None,
                    ..record
                },
                NodeRecord {
                    leaf: Some(5),
                    ..record
                },
                NodeRecord {
                    children: Some(ChildRange {
                        descendants_bytes: 16,
                        ..children
                    }),
                    ..record
                },
                NodeRecord {
                    children: Some(ChildRange {
                        descendants_bytes: 28,
                        ..children
                    }),
                    ..record
                },
                NodeRecord {
                    path: b"abc",
                    ..record
                },
                NodeRecord {
                    metadata: b"\xff\xff\xff\xff",
                    ..record
                },
            ] {
                assert!(bad.write_to(&mut Vec::new()).is_err(), "{bad:?}");
            }
            let long = "x".repeat(1 << 16);
            let long = NodeRecord {
                format: &long,
                ..record
            };
            assert!(matches!(
                long.write_to(&mut Vec::new()),
                Err(Error::LimitExceeded { .. })
            ));
        });
    }

    #[test]
    fn a_path_that_two_nodes_share_names_neither() {
        with_sample(|record| {
            let other_path = encode_path(["user"]).unwrap();
            let other = NodeRecord {
                path: &other_path,
                ..record
            };
            assert_eq!(
                unique_record(record.path, [other, record]),
                Ok(Some(record))
            );
            assert_eq!(unique_record(b"", [other, record]), Ok(None));
            assert_eq!(
                unique_record(record.path, [record, other, record]),
                Err(Error::AmbiguousPath {
                    path: "user..näme".into()
                })
            );
        });
    }

    proptest! {
        #[test]
        fn any_record_comes_back(
            ordinal in 1u32..,
            leaf: u32,
            nullable: bool,
            components in prop::collection::vec(".{0,8}", 1..4),
            metadata in prop::collection::hash_map(".{0,6}", ".{0,40}", 0..5),
            format in "[a-zA-Z:+]{1,9}",
            digest: [u8; 32],
            place: u64,
            crc: u32,
            length: u32,
        ) {
            let path = encode_path(&components).unwrap();
            let encoded = encode_metadata(&metadata).unwrap();
            let record = NodeRecord {
                ordinal,
                nullable,
                keys_ordered: false,
                value_keys_ordered: false,
                children: None,
                leaf: Some(leaf.min(ordinal - 1)),
                column: Some(ColumnRecord {
                    source: ColumnSource::Meta { place, length, crc },
                    level: ErasureLevel::Erase,
                    digest,
                    zones: nullable.then_some(RegionPlace { place: 4096, length: 64 }),
                    blooms: (length % 3 == 0).then_some(RegionPlace { place: 8192, length: 1 << 40 }),
                }),
                format: &format,
                path: &path,
                metadata: &encoded,
            };
            let bytes = bytes_of(&record);
            prop_assert_eq!(bytes.len() % 8, 0);
            prop_assert_eq!(NodeRecord::parse(&bytes), Ok(record));
            prop_assert_eq!(record.metadata_map(), metadata);
            prop_assert!(record.components().eq(components.iter().map(String::as_str)));
        }

        #[test]
        fn no_bytes_make_it_panic(mut bytes in prop::collection::vec(any::<u8>(), 24..300)) {
            let length = (bytes.len() / 8 * 8) as u32;
            bytes[..4].copy_from_slice(&length.to_le_bytes());
            // Likely flags and lengths, so that parsing gets further.
            bytes[13] = 0;
            bytes[12] &= 127;
            bytes[15] = 0;
            bytes[17..20].fill(0);
            bytes[21..24].fill(0);
            bytes.truncate(length as usize);
            let _ = NodeRecord::parse(&resealed(bytes));
        }
    }
}
