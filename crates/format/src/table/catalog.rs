//! The metadata of a file: header, postscript, footer, and the fields that its records describe. Opening takes the
//! header, the postscript and the footer; of a file that nobody changes in place the header is taken when it is first
//! used, as the records of a field are. Nothing here reads: steps take bytes that are at hand, and stop where there are
//! none.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow_schema::{Field, Fields, Schema, SchemaRef};
use tarsia_arrow::{LeafPath, leaf_paths};
use tarsia_compliance::SHARED_PAGE_FIRST;
use tarsia_io::ReadBytes;
use tarsia_metadata as metadata;
use tarsia_metadata::{
    ColumnMeta, ColumnRecord, ColumnSource, ErasureLevel, Footer, MetaRef, NodeRecord,
    PageDescriptor, Postscript, Section, limits,
};

use super::changes::Changes;
use super::column::{Column, Stored, TableField, leaf_name};
use super::description::Descriptions;
use super::ends::{Head, Tail, by_end, head_of, tail};
use super::page::{Page, PageKind};
use super::views;
use super::zones::{Blooms, Zones};
use crate::end;
use crate::error::{Error, ErrorKind, Result};
use crate::source::{AtHand, Source, Step, Stop, all};

/// The metadata of a whole file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileMetadata {
    /// Rows of the table.
    pub rows: u64,
    /// Top-level fields.
    pub columns: u32,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Format version: major, minor.
    pub version: (u8, u8),
    /// Random, or zero where the writer was deterministic.
    pub file_id: [u8; 16],
    /// BLAKE3 over everything but the state slots.
    pub root_digest: [u8; 32],
    /// Grows with every change of the file; a new file's is 1.
    pub epoch: u64,
    /// The writer's name and version.
    pub created_by: String,
    /// Kernels that the file carries.
    pub kernels: u64,
    /// Bytes behind its end, which belong to nothing: of an erasure that was interrupted, or appended by another
    /// program.
    pub bytes_behind: u64,
    /// Rows that readers do not see.
    pub deleted_rows: u64,
    /// Rows that columns at level 2 do not hold any more.
    pub erased_rows: u64,
    /// Whether an erasure counts, but was interrupted before it was applied: readers see the file as it will be, and
    /// the bytes of the erased rows are still there. [`recover`](crate::recover) finishes it.
    pub erasure_is_pending: bool,
}

/// A part of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Region {
    /// Name of the part.
    pub name: &'static str,
    /// Its first byte.
    pub place: u64,
    /// Its length.
    pub bytes: u64,
}

/// The region that only files have of which rows were deleted.
const REGION_ERASURES: &str = "erasures";

/// The parsed metadata of an open file.
pub(crate) struct Catalog {
    head: OnceLock<Head>,
    footer_bytes: Vec<u8>,
    footer: Footer,
    postscript: Postscript,
    bounds: metadata::FileBounds,
    schema_metadata: OnceLock<HashMap<String, String>>,
    /// Whether strings are read as views.
    views: bool,
    descriptions: Descriptions,
    changes: Changes,
    fields: Mutex<HashMap<String, Arc<TableField>>>,
    all_fields: OnceLock<Vec<Arc<TableField>>>,
    schema: OnceLock<SchemaRef>,
}

/// A field as its records describe it, before its columns are made.
struct FieldRecords<'a> {
    first_leaf: u32,
    field: Field,
    columns: &'a [ColumnRecord<'a>],
}

/// A leaf of a field, and where the file says its pages are.
struct LeafRecord<'a> {
    leaf: u32,
    /// Its top-level field.
    field: &'a Field,
    stored: &'a Stored,
    path: LeafPath,
    record: &'a ColumnRecord<'a>,
}

impl Catalog {
    /// Checks the metadata of a file of `file_bytes` bytes. With `views`, strings are read as views.
    ///
    /// Nobody changes a file of one version in place. If such a file ends with a postscript for its length, that
    /// counts, and the header is left for later: it could only say the same, or that the file is damaged.
    pub(crate) fn open(hand: &AtHand<'_>, file_bytes: u64, views: bool) -> Step<Self> {
        let least = (limits::HEADER_BYTES + limits::POSTSCRIPT_BYTES) as u64;
        if file_bytes < least {
            let what = format!("{file_bytes} bytes are too few for a file of this format");
            return Err(Error::new(ErrorKind::Corrupt, what).into());
        }
        let tail_start = hand.tail_start(file_bytes);
        let by_end = match hand.is_one_version() && !hand.is_all() {
            true => {
                hand.want(std::iter::once(tail_start..file_bytes));
                by_end(hand, file_bytes)?
            }
            false => None,
        };
        let (head, tail) = match by_end {
            Some(tail) => (OnceLock::new(), tail),
            None => {
                hand.want([0..limits::HEADER_BYTES as u64, tail_start..file_bytes]);
                let head = head_of(hand, file_bytes)?;
                let tail = tail(hand, head.committed_bytes)?;
                (OnceLock::from(head), tail)
            }
        };
        let Tail {
            footer_bytes,
            postscript,
        } = tail;
        let mut footer = Footer::parse(&footer_bytes, &postscript, &metadata::SECTIONS_KNOWN)?;
        let bounds = footer.bounds(&postscript);
        let descriptions = Descriptions::new(std::mem::take(&mut footer.metas));
        let changes = Changes::read(hand, &footer, &postscript)?;
        let catalog = Self {
            head,
            bounds,
            footer_bytes,
            footer,
            postscript,
            schema_metadata: OnceLock::new(),
            views,
            descriptions,
            changes,
            fields: Mutex::new(HashMap::new()),
            all_fields: OnceLock::new(),
            schema: OnceLock::new(),
        };
        if let Some(head) = catalog.head.get() {
            catalog.check_head(head)?;
        }
        Ok(catalog)
    }

    /// The header, which is read and compared with the end of the file when it is first used.
    pub(crate) fn head(&self, hand: &AtHand<'_>, file_bytes: u64) -> Step<&Head> {
        if let Some(head) = self.head.get() {
            return Ok(head);
        }
        let head = head_of(hand, file_bytes)?;
        if head.committed_bytes != self.postscript.committed_bytes || head.is_pending() {
            let what = "the header states another end of the file than where it ends";
            return Err(Error::new(ErrorKind::Corrupt, what).into());
        }
        self.check_head(&head)?;
        Ok(self.head.get_or_init(|| head))
    }

    /// Compares the header with the end of the file.
    fn check_head(&self, head: &Head) -> Result<()> {
        self.footer.check_header(&head.header)?;
        self.changes.check_epoch(head.epoch)
    }

    /// The metadata of the schema, which the root record has. It is read once.
    pub(crate) fn schema_metadata(&self, hand: &AtHand<'_>) -> Step<&HashMap<String, String>> {
        if let Some(metadata) = self.schema_metadata.get() {
            return Ok(metadata);
        }
        let (place, length) = (self.footer.root_place, Some(self.footer.root_bytes));
        let bytes = self.record_bytes(hand, place, length)?;
        let record = NodeRecord::parse(&bytes).map_err(|error| error.at(place))?;
        let n_columns = record.children.map_or(0, |children| children.n_children);
        self.check_n_columns(n_columns)?;
        Ok(self.schema_metadata.get_or_init(|| record.metadata_map()))
    }

    /// Checks what the footer says of the number of columns against the records.
    fn check_n_columns(&self, of_root: u32) -> Result<()> {
        match self.n_columns() == of_root {
            true => Ok(()),
            false => {
                let stated = self.n_columns();
                let what = format!("footer: {stated} top-level columns, the schema has {of_root}");
                Err(Error::new(ErrorKind::Corrupt, what))
            }
        }
    }

    /// Rows of the table.
    pub(crate) fn rows(&self) -> u64 {
        self.postscript.rows
    }

    /// Top-level fields.
    pub(crate) fn n_columns(&self) -> u32 {
        self.footer.n_columns
    }

    /// Returns what erasures have changed.
    pub(crate) fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Bytes of the file.
    pub(crate) fn committed_bytes(&self) -> u64 {
        self.postscript.committed_bytes
    }

    /// Numbers that the places of pages are checked against.
    pub(crate) fn bounds(&self) -> &metadata::FileBounds {
        &self.bounds
    }

    pub(crate) fn postscript(&self) -> &Postscript {
        &self.postscript
    }

    /// Checks that this build may change the file.
    pub(crate) fn check_modifiable(&self) -> Result<()> {
        Ok(self.footer.features.check_modifiable()?)
    }

    /// Where the records of all schema nodes lie.
    pub(crate) fn records_range(&self) -> Range<u64> {
        self.footer.records_range(&self.postscript)
    }

    /// Schema nodes, the root counted.
    pub(crate) fn n_nodes(&self) -> u32 {
        self.footer.n_nodes
    }

    /// The page descriptions that were met so far: those of the footer, and of columns that were read.
    pub(crate) fn descriptions(&self) -> &Descriptions {
        &self.descriptions
    }

    /// The page descriptions of the footer, as they are stored.
    pub(crate) fn common_metas(&self) -> Vec<metadata::MetaBlob> {
        let common = self.descriptions.common().iter();
        common.map(|it| it.blob().clone()).collect()
    }

    pub(crate) fn file_metadata(&self, head: &Head, file_bytes: u64) -> FileMetadata {
        FileMetadata {
            rows: self.rows(),
            columns: self.n_columns(),
            file_bytes,
            // The postscript has one byte for each.
            version: (limits::VERSION_MAJOR as u8, limits::VERSION_MINOR as u8),
            file_id: head.header.file_id,
            root_digest: self.postscript.root_digest,
            epoch: head.epoch,
            created_by: self.footer.created_by.clone(),
            kernels: self.kernel_sections().count() as u64,
            bytes_behind: file_bytes.saturating_sub(self.committed_bytes()),
            deleted_rows: self.changes().deleted.len(),
            erased_rows: self.changes().erased.len(),
            erasure_is_pending: self.erasure_is_pending(),
        }
    }

    /// Whether the last erasure was interrupted after it was committed. A file that was opened by its end has none.
    pub(crate) fn erasure_is_pending(&self) -> bool {
        self.head.get().is_some_and(Head::is_pending)
    }

    /// Checks that the file's header is what it was when the file was opened. A program that erases rows changes it.
    pub(crate) fn check_unchanged(&self, source: &Source) -> Result<()> {
        // Not of a mapped file, which is locked: the system call takes 0.5 µs, a quarter of a take of one row.
        if !source.is_mapped() {
            source.check_unchanged()?;
        }
        if source.is_one_version() {
            return Ok(());
        }
        // Without it no byte depends on it.
        let Some(head) = self.head.get() else {
            return Ok(());
        };
        let now = source.read(0..limits::HEADER_BYTES as u64)?;
        match *now == *head.bytes {
            true => Ok(()),
            false => Err(Error::new(
                ErrorKind::FileChanged,
                "the file was changed while it was open",
            )),
        }
    }

    /// The kernels in the file, in the order in which page descriptions number them.
    pub(crate) fn kernel_sections(&self) -> impl Iterator<Item = &Section> {
        self.footer.sections_of(metadata::SECTION_KERNEL)
    }

    /// The encodings that the footer lists.
    pub(crate) fn encodings(&self) -> &[metadata::EncodingUse] {
        &self.footer.encodings
    }

    /// Leaf columns, as the footer says.
    pub(crate) fn n_leaves(&self) -> u32 {
        self.footer.n_leaves
    }

    /// Checks that the buckets lead to all records.
    pub(crate) fn check_buckets(&self, hand: &AtHand<'_>) -> Step<()> {
        let buckets = self.footer.buckets(&self.postscript)?;
        let range = self.footer.records_range(&self.postscript);
        let buckets_range = range.end..self.footer.tree_place;
        let (records, bytes) = (hand.get(range.clone()), hand.get(buckets_range));
        let (records, bytes) = (records?, bytes?);
        let n_nodes = self.footer.n_nodes;
        Ok(metadata::check_buckets(
            &records,
            range.start,
            n_nodes,
            &bytes,
            &buckets,
        )?)
    }

    /// All sections of the file.
    pub(crate) fn sections(&self) -> &[Section] {
        &self.footer.sections
    }

    /// The field of a name. It takes a bucket, then the field's record and those below it and then, for each column
    /// with many pages, their list.
    pub(crate) fn field(&self, hand: &AtHand<'_>, name: &str) -> Step<Arc<TableField>> {
        let lock = || self.fields.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(field) = lock().get(name) {
            return Ok(field.clone());
        }
        let path = metadata::encode_path([name])?;
        let hash = metadata::path_hash(&path);
        let buckets = self.footer.buckets(&self.postscript)?;
        let bytes = hand.get(buckets.range(hash))?;
        let bucket = metadata::Bucket::parse(&bytes, &buckets, buckets.index(hash))
            .map_err(|error| Error::from(error).prefixed("bucket"))?;
        // The record, and in most cases its descendants, in one range.
        let records = all(bucket.lookup(hash).map(|entry| {
            let bytes = self.record_bytes(hand, entry.place, entry.range_bytes)?;
            Ok((entry.place, bytes))
        }))?;
        let parsed = records
            .iter()
            .map(|(place, bytes)| NodeRecord::parse(bytes).map_err(|error| error.at(*place)))
            .collect::<metadata::Result<Vec<_>>>()?;
        let record = metadata::unique_record(&path, parsed)?.ok_or_else(|| no_such_column(name))?;
        let range = record.descendants_range();
        let mut below = None;
        let place = range.as_ref().map_or(0, |range| range.start);
        if let Some(range) = range {
            let of_record = records.iter().find_map(|(start, bytes)| {
                let at = |place: u64| place.checked_sub(*start)?.try_into().ok();
                bytes.get(at(range.start)?..at(range.end)?)
            });
            below = match of_record {
                Some(bytes) => Some(Cow::Borrowed(bytes)),
                None => Some(Cow::Owned(self.records(hand, range)?.to_vec())),
            };
        }
        let below = below.as_deref().unwrap_or_default();
        let found = metadata::read_field(&record, below, place)?;
        let field = match self.views {
            true => views::field(&Arc::new(found.field)).as_ref().clone(),
            false => found.field,
        };
        let records = FieldRecords {
            first_leaf: found.first_leaf,
            field,
            columns: &found.columns,
        };
        let field = Arc::new(self.make_field(hand, records)?);
        // A field that another thread made meanwhile stays: projections tell fields apart by their place in memory.
        Ok(lock().entry(name.to_owned()).or_insert(field).clone())
    }

    /// The leaf columns of a field, or one by its own name.
    pub(crate) fn columns_of(&self, hand: &AtHand<'_>, name: &str) -> Step<Vec<Arc<Column>>> {
        match self.field(hand, name) {
            Ok(field) => Ok(field.columns.clone()),
            Err(stop) if is_missing(&stop) => Ok(vec![self.column(hand, name)?]),
            Err(stop) => Err(stop),
        }
    }

    /// The leaf column of a name: the name of a field with one column, or the names from a top-level field down to the
    /// leaf, joined by dots.
    pub(crate) fn column(&self, hand: &AtHand<'_>, name: &str) -> Step<Arc<Column>> {
        let several = |field: &TableField| {
            let names: Vec<_> = field.columns.iter().map(|column| column.name()).collect();
            let what = format!("`{name}` has several columns: {}", names.join(", "));
            Error::new(ErrorKind::InvalidInput, what)
        };
        let missing = match self.field(hand, name) {
            Ok(field) => {
                return match field.columns.as_slice() {
                    [column] => Ok(column.clone()),
                    _ => Err(several(&field).into()),
                };
            }
            Err(stop) if is_missing(&stop) => stop,
            Err(stop) => return Err(stop),
        };
        for (dot, _) in name.match_indices('.') {
            let field = match self.field(hand, &name[..dot]) {
                Ok(field) => field,
                Err(Stop::Needs) => return Err(Stop::Needs),
                Err(Stop::Failed(_)) => continue,
            };
            let mut columns = field.columns.iter();
            if let Some(column) = columns.find(|column| column.name() == name) {
                return Ok(column.clone());
            }
        }
        Err(missing)
    }

    /// The bytes of a record. If its length is not known, it is read first.
    fn record_bytes<'s>(
        &self,
        hand: &AtHand<'s>,
        place: u64,
        known: Option<u32>,
    ) -> Step<ReadBytes<'s>> {
        let length = match known {
            Some(length) => length,
            None => NodeRecord::length(&hand.get(place..place.saturating_add(4))?)?,
        };
        self.records(hand, place..place.saturating_add(length.into()))
    }

    /// The bytes of records.
    fn records<'s>(&self, hand: &AtHand<'s>, range: Range<u64>) -> Step<ReadBytes<'s>> {
        let records = self.footer.records_range(&self.postscript);
        if range.start < records.start || range.end > records.end {
            let what = format!("a bucket leads to byte {}, where no record is", range.start);
            return Err(Error::new(ErrorKind::Corrupt, what).into());
        }
        hand.get(range)
    }

    fn make_field(&self, hand: &AtHand<'_>, records: FieldRecords<'_>) -> Step<TableField> {
        let FieldRecords {
            first_leaf,
            field,
            columns: records,
        } = records;
        let stored = Stored::of(&field)?;
        let paths = leaf_paths(&stored.data_type, field.is_nullable()).map_err(|unsupported| {
            Error::new(ErrorKind::Unsupported, format!("type {unsupported}"))
                .in_column(field.name())
        })?;
        if paths.len() != records.len() {
            return Err(Error::new(
                ErrorKind::Corrupt,
                "other columns than those of the field's type",
            )
            .in_column(field.name())
            .into());
        }
        let columns = paths.into_iter().zip(records).zip(first_leaf..);
        let columns = columns.map(|((path, record), leaf)| {
            let record = LeafRecord {
                leaf,
                field: &field,
                stored: &stored,
                path,
                record,
            };
            Ok(Arc::new(self.make_column(hand, record)?))
        });
        let columns = all(columns)?;
        Ok(TableField {
            field: Arc::new(field),
            columns,
        })
    }

    fn make_column(&self, hand: &AtHand<'_>, leaf: LeafRecord<'_>) -> Step<Column> {
        let LeafRecord {
            leaf,
            field,
            stored,
            path,
            record,
        } = leaf;
        let name = leaf_name(field, &path);
        let value_type = path.value_type();
        let corrupt = |what: &str| Error::new(ErrorKind::Corrupt, what).in_column(&name);
        let meta = ColumnMeta::load(record, &self.bounds, |range| hand.get(range))
            .map_err(|stop: Stop| stop.map(|error| error.in_column(&name)))?;
        if value_type.is_some() && meta.pages.is_empty() && self.rows() > 0 {
            return Err(corrupt("a column without pages in a file with rows").into());
        }
        if value_type.is_none() && !meta.pages.is_empty() {
            return Err(corrupt("a column of type Null with pages").into());
        }
        // Below lists there may be more items than rows.
        let too_many = |page: &&PageDescriptor| page.null_count > page.rows;
        if path.forms().is_empty() && meta.pages.iter().any(|page| too_many(&page)) {
            return Err(corrupt("a page with more nulls than rows").into());
        }
        let listed = match record.source {
            ColumnSource::Meta { length, .. } => u64::from(length),
            ColumnSource::Inside { bytes } => bytes.len() as u64,
            ColumnSource::Page {
                meta: MetaRef::Own { bytes, .. },
                ..
            } => bytes.len() as u64,
            ColumnSource::Page { .. } | ColumnSource::Empty => 0,
        };
        let kinds = meta.descriptions.into_iter().map(|description| {
            let shared = description.shared;
            Ok(PageKind {
                description: self.descriptions.resolve(description.meta)?,
                shared: (!shared.is_empty()).then(|| shared.into()),
            })
        });
        let kinds = kinds.collect::<Result<Vec<_>>>();
        let kinds = kinds.map_err(|error| error.in_column(&name))?;
        let pages = meta.pages.iter().chain(&meta.shared_pages);
        let sides: u64 = pages.map(|page| u64::from(page.side_length)).sum();
        let pages = |descriptors: Vec<PageDescriptor>, first: u32| -> Result<Vec<Page>> {
            let moved = |number| self.changes.moved_of(leaf, number);
            let pages = descriptors.into_iter().zip(first..);
            pages
                .map(|(descriptor, number)| {
                    let kind = kinds.get(descriptor.description as usize);
                    let kind = kind.ok_or_else(|| corrupt("a page without a description"))?;
                    Ok(Page::new(descriptor, kind, moved(number)))
                })
                .collect()
        };
        let (data_pages, shared_pages) = (
            pages(meta.pages, 0)?,
            pages(meta.shared_pages, SHARED_PAGE_FIRST)?,
        );
        let more = self.zones_and_blooms(record, stored, &path, &data_pages);
        let (zones, blooms) = more.map_err(|error| error.in_column(&name))?;
        let more = [
            zones.as_ref().map(|zones| &zones.range),
            blooms.as_ref().map(|blooms| &blooms.range),
        ];
        let more = more.into_iter().flatten();
        let more_bytes: u64 = more.map(|range| range.end - range.start).sum();
        Ok(Column {
            leaf,
            data_type: match path.is_flat() {
                true => stored.data_type.clone(),
                false => path.data_type().clone(),
            },
            name,
            path,
            packing: stored.packing.clone(),
            value_type,
            level: record.level,
            erased: match record.level {
                ErasureLevel::Erase if !self.changes.erased.is_empty() => {
                    Some(self.changes.erased.clone())
                }
                _ => None,
            },
            pages: data_pages,
            shared_pages,
            zones,
            blooms,
            digest: record.digest,
            metadata_bytes: limits::COLUMN_RECORD_BYTES as u64 + listed + sides + more_bytes,
        })
    }

    /// Where the zones and the bloom filters of a column with these pages lie.
    fn zones_and_blooms(
        &self,
        record: &ColumnRecord<'_>,
        stored: &Stored,
        path: &LeafPath,
        pages: &[Page],
    ) -> Result<(Option<Zones>, Option<Blooms>)> {
        let corrupt = |what: &str| Error::new(ErrorKind::Corrupt, what);
        let zones = match record.zones {
            None => None,
            Some(place) => {
                let form = stored.zone_form(path);
                let form = form.ok_or_else(|| corrupt("zones of a column that can have none"))?;
                Some(Zones::new(form, place.range("column.zones", &self.bounds)?))
            }
        };
        let blooms = match record.blooms {
            None => None,
            Some(_) if !stored.may_have_blooms(path) => {
                return Err(corrupt("bloom filters of a column that can have none"));
            }
            Some(place) => {
                let range = place.range("column.blooms", &self.bounds)?;
                Some(Blooms::new(range, pages)?)
            }
        };
        Ok((zones, blooms))
    }

    /// All fields in order. It takes all records, once.
    pub(crate) fn all_fields(&self, hand: &AtHand<'_>) -> Step<&[Arc<TableField>]> {
        if let Some(fields) = self.all_fields.get() {
            return Ok(fields);
        }
        let range = self.footer.records_range(&self.postscript);
        let bytes = hand.get(range.clone())?;
        let table = self.parse_schema(&bytes, range.start)?;
        let mut first_leaf = 0;
        let fields = table.schema.fields().iter().map(|field| {
            let n_leaves = metadata::n_leaves(field);
            let records = table.columns.get(first_leaf as usize..);
            let records = records.and_then(|records| records.get(..n_leaves as usize));
            let records = FieldRecords {
                first_leaf,
                field: field.as_ref().clone(),
                columns: records.unwrap_or_default(),
            };
            first_leaf += n_leaves;
            Ok(Arc::new(self.make_field(hand, records)?))
        });
        let fields = all(fields)?;
        Ok(self.all_fields.get_or_init(|| self.shared(fields)))
    }

    /// These fields, all of the table, with those that were made before in place of their equals. Whoever looks for one
    /// of them by its name finds it: what a filter has read of a column counts for the scan, too.
    fn shared(&self, mut fields: Vec<Arc<TableField>>) -> Vec<Arc<TableField>> {
        let mut places: HashMap<&str, Option<usize>> = HashMap::with_capacity(fields.len());
        for (place, field) in fields.iter().enumerate() {
            let name = field.field.name();
            // Of several fields of one name, none is found by it.
            places
                .entry(name)
                .and_modify(|it| *it = None)
                .or_insert(Some(place));
        }
        let places: Vec<usize> = places.into_values().flatten().collect();
        let mut known = self.fields.lock().unwrap_or_else(PoisonError::into_inner);
        known.reserve(places.len());
        for place in places {
            if let Some(field) = fields.get_mut(place) {
                let name = field.field.name().to_owned();
                *field = Arc::clone(known.entry(name).or_insert_with(|| Arc::clone(field)));
            }
        }
        fields
    }

    /// All leaf columns in order.
    pub(crate) fn all_columns(&self, hand: &AtHand<'_>) -> Step<Vec<Arc<Column>>> {
        let fields = self.all_fields(hand)?.iter();
        let columns = fields.flat_map(|field| field.columns.iter().cloned());
        Ok(columns.collect())
    }

    /// The schema of the records that lie at `place`, which is kept, and where its columns are.
    fn parse_schema<'a>(&self, records: &'a [u8], place: u64) -> Result<metadata::TableSchema<'a>> {
        let mut table = metadata::read_schema(records, place, self.footer.n_nodes)?;
        // A schema has fewer fields than nodes, which are counted in 32 bits.
        self.check_n_columns(table.schema.fields().len() as u32)?;
        if self.views {
            let fields = table.schema.fields().iter().map(views::field);
            let fields: Fields = fields.collect();
            table.schema = Schema::new_with_metadata(fields, table.schema.metadata);
        }
        let _ = self.schema.set(Arc::new(table.schema.clone()));
        Ok(table)
    }

    /// The whole schema.
    pub(crate) fn schema(&self, hand: &AtHand<'_>) -> Step<&SchemaRef> {
        if self.schema.get().is_none() {
            let range = self.footer.records_range(&self.postscript);
            self.parse_schema(&hand.get(range.clone())?, range.start)?;
        }
        let none = || Error::new(ErrorKind::Corrupt, "no schema").into();
        self.schema.get().ok_or_else(none)
    }

    pub(crate) fn footer_bytes(&self) -> &[u8] {
        &self.footer_bytes
    }

    pub(crate) fn root_digest(&self) -> [u8; 32] {
        self.postscript.root_digest
    }

    /// Returns what the root digest is if this is the top of the digest tree.
    pub(crate) fn root_digest_under(&self, head: &Head, top: &[u8; 32]) -> Result<[u8; 32]> {
        end::root_digest(&head.bytes, top, &self.footer_bytes, &self.postscript)
    }

    /// Where the metadata lies that the digest tree covers.
    pub(crate) fn meta_range(&self) -> Range<u64> {
        self.footer.meta_place..self.footer.tree_place
    }

    /// Where the digest tree lies.
    pub(crate) fn tree_range(&self) -> Range<u64> {
        self.footer.tree_place..self.footer.late_place()
    }

    /// Where what erasures have appended lies.
    pub(crate) fn late_range(&self) -> Range<u64> {
        self.footer.late_range(&self.postscript)
    }

    /// The parts of the file, in order.
    pub(crate) fn layout(&self) -> Vec<Region> {
        let end = self.postscript.committed_bytes;
        let postscript = end - limits::POSTSCRIPT_BYTES as u64;
        let kernels = self.kernel_sections();
        let kernels_end = kernels.map(|section| section.range.end.next_multiple_of(8));
        let kernels_end = kernels_end.max().unwrap_or(self.footer.meta_place);
        let starts = [
            ("header", 0),
            ("pages", limits::HEADER_BYTES as u64),
            ("kernels", self.footer.meta_place),
            ("column metadata", kernels_end),
            ("records", self.footer.root_place),
            ("buckets", self.postscript.bucket_place),
            ("digest tree", self.footer.tree_place),
            (REGION_ERASURES, self.late_range().start),
            ("footer", postscript - self.footer_bytes.len() as u64),
            ("postscript", postscript),
        ];
        let ends = starts.iter().skip(1).map(|(_, start)| *start).chain([end]);
        let regions = starts.iter().zip(ends);
        let regions = regions.map(|((name, place), end)| Region {
            name,
            place: *place,
            bytes: end.saturating_sub(*place),
        });
        regions
            .filter(|region| region.bytes > 0 || region.name != REGION_ERASURES)
            .collect()
    }
}

/// Whether a step has found that there is no such column.
pub(super) fn is_missing(stop: &Stop) -> bool {
    let Stop::Failed(error) = stop else {
        return false;
    };
    error.kind() == ErrorKind::NoSuchColumn && !error.is_of_several_columns()
}

fn no_such_column(name: &str) -> Error {
    Error::new(
        ErrorKind::NoSuchColumn,
        format!("no column is named `{}`", name.escape_debug()),
    )
}
