//! Node records: what a schema node is, and where its column or its children are.

use std::collections::HashMap;

use tarsia_codec::{Reader, check_zero};

use crate::bytes::{check_crc, crc32c, len_u32, pad, slice};
use crate::limits::{HEADER_BYTES, RECORD_HEADER_BYTES, U48_MAX};
use crate::{ColumnRecord, Error, Result};

const FLAG_NULLABLE: u16 = 1;
const FLAG_COLUMN: u16 = 2;
const FLAG_CHILDREN: u16 = 4;
const FLAG_KEYS_ORDERED: u16 = 8;
const FLAG_METADATA: u16 = 16;
const FLAGS_KNOWN: u16 =
    FLAG_NULLABLE | FLAG_COLUMN | FLAG_CHILDREN | FLAG_KEYS_ORDERED | FLAG_METADATA;
/// Length and checksum.
const UNCOVERED_BYTES: usize = 8;
/// Format string of the root and of structs.
pub(crate) const FORMAT_STRUCT: &str = "+s";

/// Which nodes lie under a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChildRange {
    /// Number of direct children.
    pub n_children: u32,
    /// Number of the first column below, counted over the whole schema in pre-order.
    pub first_leaf: u32,
    /// Columns below.
    pub n_leaves: u32,
    /// Place of the first child's record; 0 where there is none.
    pub first_child_place: u64,
}

/// One node of the schema; the root is the table itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeRecord<'a> {
    /// Number of the node in pre-order; the root is 0.
    pub ordinal: u32,
    /// Whether items may be null.
    pub nullable: bool,
    /// Whether the order of a dictionary's keys means something.
    pub keys_ordered: bool,
    /// Of nodes with children; the root always has it.
    pub children: Option<ChildRange>,
    /// Of nodes that store values.
    pub column: Option<ColumnRecord>,
    /// The type, as [`crate::parse_type`] reads it; `+s` for the root.
    pub format: &'a str,
    /// As [`encode_path`] writes it; empty for the root.
    pub path: &'a [u8],
    /// As [`encode_metadata`] writes it.
    pub metadata: &'a [u8],
}

impl<'a> NodeRecord<'a> {
    /// Bytes of the record that starts with these 4 bytes, for an entry without a length.
    ///
    /// # Errors
    /// [`Error::Truncated`], [`Error::Corrupt`] for a length that no record has.
    pub fn length(prefix: &[u8]) -> Result<u32> {
        let length = Reader::new(prefix).u32("record.length")?;
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
        let mut reader = Reader::new(bytes);
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
                "bits 1, 2, 4, 8, 16",
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
            _ => Some(parse_children(&mut reader)?),
        };
        let column = match flags & FLAG_COLUMN {
            0 => None,
            _ => Some(ColumnRecord::parse(&mut reader)?),
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
        check_metadata(metadata, metadata_at)?;
        reader.pad_to(8, "record.padding")?;
        reader.finish("record.length")?;

        let record = Self {
            ordinal,
            nullable: flags & FLAG_NULLABLE != 0,
            keys_ordered: flags & FLAG_KEYS_ORDERED != 0,
            children,
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
        if self.children.is_none() && self.column.is_none() {
            return bad("record.flags", 12, 0, "a column or children");
        }
        if self.keys_ordered && !self.format.starts_with('D') {
            return bad(
                "record.flags",
                12,
                FLAG_KEYS_ORDERED.into(),
                "8 for dictionaries alone",
            );
        }
        Ok(())
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
            record.extend_from_slice(&[0; 4]);
            record.extend_from_slice(&children.first_child_place.to_le_bytes());
        }
        if let Some(column) = &self.column {
            column.write_to(&mut record);
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
        // One predicate for reader and writer: what was written must parse.
        let written = out.get(start..).unwrap_or_default();
        match NodeRecord::parse(written) {
            Ok(parsed) if parsed == *self => Ok(()),
            Ok(_) => Err(Error::invalid("a record whose fields do not come back")),
            Err(error) => Err(error),
        }
    }

    /// The components of the path, outermost first; none for the root.
    pub fn components(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        Strings(Reader::new(self.path))
    }

    /// The field's name: the last component; empty for the root.
    pub fn name(&self) -> &'a str {
        self.components().last().unwrap_or_default()
    }

    /// Components joined by dots, for people.
    pub fn display_path(&self) -> String {
        self.components().collect::<Vec<_>>().join(".")
    }

    /// The metadata's pairs, sorted by key.
    pub fn metadata_pairs(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let mut strings = Strings(Reader::new(self.metadata));
        std::iter::from_fn(move || Some((strings.next()?, strings.next()?)))
    }

    /// The metadata as Arrow holds it.
    pub fn metadata_map(&self) -> HashMap<String, String> {
        self.metadata_pairs()
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    }
}

fn to_usize(value: u32, field: &'static str) -> Result<usize> {
    usize::try_from(value).map_err(|_| Error::limit(field, value.into(), usize::MAX as u64))
}

fn parse_children(reader: &mut Reader<'_>) -> Result<ChildRange> {
    let at = reader.position();
    let n_children = reader.u32("record.n_children")?;
    let first_leaf = reader.u32("record.first_leaf")?;
    let n_leaves = reader.u32("record.n_leaves")?;
    check_zero(
        reader.take(4, "record.reserved")?,
        "record.reserved",
        at + 12,
    )?;
    let place = reader.u64("record.first_child_place")?;
    let good = match n_children {
        0 => place == 0 && n_leaves == 0,
        _ => place >= HEADER_BYTES as u64 && place <= U48_MAX && place.is_multiple_of(8),
    };
    if !good {
        return Err(Error::corrupt(
            "record.first_child_place",
            at + 16,
            place,
            "an 8-aligned place, 0 without children",
        ));
    }
    if first_leaf.checked_add(n_leaves).is_none() {
        return Err(Error::corrupt(
            "record.n_leaves",
            at + 8,
            n_leaves,
            "at most 2^32 leaves",
        ));
    }
    Ok(ChildRange {
        n_children,
        first_leaf,
        n_leaves,
        first_child_place: place,
    })
}

fn utf8<'a>(bytes: &'a [u8], field: &'static str, at: usize) -> Result<&'a str> {
    std::str::from_utf8(bytes)
        .map_err(|error| Error::corrupt(field, at, error.valid_up_to() as u64, "UTF-8"))
}

/// A u32 length, then that many bytes of UTF-8.
fn string<'a>(reader: &mut Reader<'a>, field: &'static str, at: usize) -> Result<&'a str> {
    let start = at.saturating_add(reader.position());
    let len = to_usize(reader.u32(field)?, field)?;
    if len > reader.rest().len() {
        return Err(Error::corrupt(field, start, len as u64, "the bytes left"));
    }
    utf8(reader.take(len, field)?, field, start + 4)
}

/// `at` is where the path starts in its record.
fn check_path(path: &[u8], at: usize) -> Result<()> {
    let mut reader = Reader::new(path);
    while !reader.rest().is_empty() {
        string(&mut reader, "record.path", at)?;
    }
    Ok(())
}

/// `at` is where the metadata start in their record.
fn check_metadata(metadata: &[u8], at: usize) -> Result<()> {
    let mut reader = Reader::new(metadata);
    let mut last = None;
    while !reader.rest().is_empty() {
        let start = at.saturating_add(reader.position());
        let key = string(&mut reader, "record.metadata", at)?;
        string(&mut reader, "record.metadata", at)?;
        if last.is_some_and(|last| last >= key) {
            return Err(Error::corrupt(
                "record.metadata",
                start,
                key.len() as u64,
                "keys sorted, each once",
            ));
        }
        last = Some(key);
    }
    Ok(())
}

/// Strings that were checked when their record was parsed; stops at the first that is not well formed.
struct Strings<'a>(Reader<'a>);

impl<'a> Iterator for Strings<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.0.rest().is_empty() {
            return None;
        }
        string(&mut self.0, "record.strings", 0).ok()
    }
}

/// A path as records store it and [`crate::path_hash`] takes it: per component a u32 length and its bytes.
///
/// ```
/// let path = tarsia_metadata::encode_path(["user", "id"]).unwrap();
/// assert_eq!(path, b"\x04\0\0\0user\x02\0\0\0id");
/// ```
///
/// # Errors
/// [`Error::LimitExceeded`] for a component of 4 GiB or more.
pub fn encode_path<S: AsRef<str>>(components: impl IntoIterator<Item = S>) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    for component in components {
        push_string(&mut out, component.as_ref())?;
    }
    Ok(out)
}

/// Metadata as records store them: pairs sorted by key.
///
/// # Errors
/// [`Error::LimitExceeded`] for a string of 4 GiB or more.
pub fn encode_metadata(metadata: &HashMap<String, String>) -> Result<Vec<u8>> {
    let mut pairs: Vec<_> = metadata.iter().collect();
    pairs.sort_unstable();
    let mut out = Vec::new();
    for (key, value) in pairs {
        push_string(&mut out, key)?;
        push_string(&mut out, value)?;
    }
    Ok(out)
}

fn push_string(out: &mut Vec<u8>, string: &str) -> Result<()> {
    out.extend_from_slice(&len_u32(string.len(), "record.string_length")?.to_le_bytes());
    out.extend_from_slice(string.as_bytes());
    Ok(())
}

/// The one record with this path among those a bucket's entries led to; `None` where only the hash was the same.
///
/// # Errors
/// [`Error::AmbiguousPath`] where two nodes have the path.
pub fn unique_record<'a>(
    path: &[u8],
    records: impl IntoIterator<Item = NodeRecord<'a>>,
) -> Result<Option<NodeRecord<'a>>> {
    let mut found = None;
    for record in records {
        if record.path == path && found.replace(record).is_some() {
            return Err(Error::AmbiguousPath {
                path: record.display_path(),
            });
        }
    }
    Ok(found)
}

/// All records in pre-order, as they lie back to back. An error ends the iteration; its place counts from the start of the
/// bytes.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    bytes: &'a [u8],
    at: usize,
    ordinal: u32,
    n_nodes: u32,
    failed: bool,
}

impl<'a> Records<'a> {
    /// The `n_nodes` records that fill `bytes`.
    pub fn new(bytes: &'a [u8], n_nodes: u32) -> Self {
        Self {
            bytes,
            at: 0,
            ordinal: 0,
            n_nodes,
            failed: false,
        }
    }

    /// Where the next record starts in the bytes.
    pub fn position(&self) -> usize {
        self.at
    }

    fn step(&mut self) -> Result<Option<NodeRecord<'a>>> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if self.ordinal == self.n_nodes {
            if rest.is_empty() {
                return Ok(None);
            }
            return Err(Error::corrupt(
                "record",
                0,
                rest.len() as u64,
                "no bytes after the last",
            ));
        }
        let record = NodeRecord::parse(rest)?;
        if record.ordinal != self.ordinal {
            return Err(Error::corrupt(
                "record.ordinal",
                8,
                record.ordinal,
                "records in order",
            ));
        }
        self.ordinal += 1;
        self.at = self.at.saturating_add(NodeRecord::length(rest)? as usize);
        Ok(Some(record))
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<NodeRecord<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let at = self.at as u64;
        let step = self.step().map_err(|error| error.at(at));
        self.failed = !matches!(step, Ok(Some(_)));
        step.transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ColumnSource;
    use proptest::prelude::*;

    const COLUMN: ColumnRecord = ColumnRecord {
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
            children: None,
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
            let path_at = RECORD_HEADER_BYTES + 72 + 4;
            let padding = good.len() - 1;
            assert_eq!(good[padding], 0);
            for (what, at, value) in [
                ("unknown flag", 12, good[12] | 32),
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
    fn metadata_keys_are_sorted_and_unique() {
        let mut twice = encode_path(["a", "1", "a", "2"]).unwrap();
        assert!(check_metadata(&twice, 0).is_err());
        twice[18] = b'b';
        assert!(check_metadata(&twice, 0).is_err());
        let sorted = encode_path(["a", "1", "b", "2"]).unwrap();
        assert!(check_metadata(&sorted, 0).is_ok());
        let odd = encode_path(["a", "1", "b"]).unwrap();
        assert!(check_metadata(&odd, 0).is_err());
    }

    #[test]
    fn what_a_reader_refuses_is_not_written() {
        with_sample(|record| {
            let root = NodeRecord {
                ordinal: 0,
                nullable: false,
                keys_ordered: false,
                children: Some(ChildRange {
                    n_children: 1,
                    first_leaf: 0,
                    n_leaves: 1,
                    first_child_place: 4096,
                }),
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
                    column: None,
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
                children: None,
                column: Some(ColumnRecord { source: ColumnSource::Meta { place, length, crc }, digest }),
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
            bytes[12] &= 31;
            bytes[15] = 0;
            bytes[17..20].fill(0);
            bytes[21..24].fill(0);
            bytes.truncate(length as usize);
            let _ = NodeRecord::parse(&resealed(bytes));
        }
    }
}
