//! Everything behind the pages: metadata region and digest tree, and then the [end](crate::end).

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::Schema;
use tarsia_compliance as compliance;
use tarsia_compliance::Digest;
use tarsia_io::Sink;
use tarsia_kernels::Kernel;
use tarsia_metadata as metadata;
use tarsia_metadata::limits::COLUMN_META_INSIDE_BYTES_MAX;
use tarsia_metadata::{
    ColumnMeta, ColumnRecord, EncodingUse, ErasureLevel, FileBounds, MetaBlob, PageDescription,
    PageDescriptor, PageMeta, RegionPlace, Section,
};

use crate::end::{EndParts, Growing};
use crate::error::{Error, ErrorKind, Result};
use crate::write::body::{Body, WrittenPage};
use crate::write::column::ColumnWriter;
use crate::write::output::Output;

/// The table whose pages are written.
pub(crate) struct Table<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) rows: u64,
    pub(crate) file_id: [u8; 16],
}

/// A file that was written.
pub(super) struct Committed {
    pub(super) file_bytes: u64,
    /// The kernels in the file, in the order in which its pages number them.
    pub(super) kernels: Vec<Arc<Kernel>>,
}

/// Things that the footer says of all pages.
pub(crate) struct OfAllPages {
    /// The encodings that they use.
    pub(crate) encodings: Vec<EncodingUse>,
    /// The descriptions that lie in the footer.
    pub(crate) metas: Vec<MetaBlob>,
}

/// A leaf column whose pages are in the file.
pub(crate) struct LeafPages {
    pub(crate) leaf: u32,
    pub(crate) level: ErasureLevel,
    /// The pages; where their side data lie is not known yet.
    pub(crate) meta: ColumnMeta,
    /// Block table and digests of each page, then of each shared page; empty for one block.
    pub(crate) sides: Vec<Vec<u8>>,
    /// The zone map, if the column has one.
    pub(crate) zones: Option<Vec<u8>>,
    /// The bloom filters, if it has some.
    pub(crate) blooms: Option<Vec<u8>>,
}

/// A leaf column whose metadata are in the region, but for its record.
struct StoredColumn {
    pages: StoredPages,
    level: ErasureLevel,
    zones: Option<RegionPlace>,
    blooms: Option<RegionPlace>,
}

impl StoredColumn {
    const NONE: Self = Self {
        pages: StoredPages::None,
        level: ErasureLevel::Hide,
        zones: None,
        blooms: None,
    };

    fn record(&self) -> Result<ColumnRecord<'_>> {
        let record = self.pages.record()?.with_level(self.level);
        Ok(record.with_zones(self.zones).with_blooms(self.blooms))
    }
}

/// The metadata of a file as they grow: sections, of which kernels are the first, then columns, then the rest.
pub(crate) struct MetadataWriter {
    /// It is small beside the pages, and its digest tree needs it whole.
    region: Growing,
    bounds: FileBounds,
    of_all_pages: OfAllPages,
    sections: Vec<Section>,
    columns: Vec<StoredColumn>,
}

/// Appends the metadata of a table; its columns and descriptions are used up. `salt` is that of the root digest, if
/// values can be erased.
///
/// # Errors
/// [`ErrorKind::Io`](crate::ErrorKind::Io); [`ErrorKind::LimitExceeded`](crate::ErrorKind::LimitExceeded) for what does
/// not fit.
pub(super) fn append(
    table: &Table<'_>,
    salt: Option<[u8; 32]>,
    columns: &mut [ColumnWriter],
    body: &mut Body<dyn Sink + '_>,
) -> Result<Committed> {
    let uses = uses(columns, body.metas.len());
    let footer_parts = body.metas.finish(&uses)?;
    let of_all_pages = OfAllPages {
        encodings: footer_parts.encodings,
        metas: footer_parts.common,
    };
    let mut metadata = MetadataWriter::start(&mut body.output, table, of_all_pages)?;
    for kernel in &footer_parts.kernels {
        metadata.push_section(metadata::SECTION_KERNEL, &section_of(kernel));
    }
    if let Some(salt) = salt {
        metadata.push_history(salt)?;
    }
    let mut zones = zone_maps(columns, metadata.bounds.meta_place)?;
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by_key(|i| columns[*i].rank);
    for i in order {
        let column = &mut columns[i];
        leaf_pages(column, &footer_parts.of, zones[i].take())
            .and_then(|pages| metadata.push_column(pages))
            .map_err(|error| error.in_column(column.field.name()))?;
    }
    Ok(Committed {
        file_bytes: metadata.append_to(table, &mut body.output)?,
        kernels: footer_parts.kernels,
    })
}

/// The bytes of a kernel's section.
fn section_of(kernel: &Kernel) -> Vec<u8> {
    metadata::KernelSection {
        digest: kernel.digest,
        raw_bytes: kernel.raw_bytes,
        compressed: &kernel.compressed,
    }
    .to_bytes()
}

impl MetadataWriter {
    /// No metadata yet, of a table whose pages are all in `output`.
    ///
    /// # Errors
    /// [`ErrorKind::Io`].
    pub(crate) fn start(
        output: &mut Output<dyn Sink + '_>,
        table: &Table<'_>,
        of_all_pages: OfAllPages,
    ) -> Result<Self> {
        output.pad_to(8)?;
        let region = Growing::at(output.position());
        let bounds = FileBounds {
            rows: table.rows,
            n_metas: of_all_pages.metas.len() as u32,
            n_kernels: 0,
            meta_place: region.end(),
            // Not known yet; only an upper bound is needed for the check of places.
            tree_place: u64::MAX,
        };
        Ok(Self {
            region,
            bounds,
            of_all_pages,
            sections: Vec::new(),
            columns: Vec::new(),
        })
    }

    /// Appends a section of the whole table.
    pub(crate) fn push_section(&mut self, id: u32, bytes: &[u8]) {
        self.bounds.n_kernels += u32::from(id == metadata::SECTION_KERNEL);
        self.sections.push(self.region.push_section(id, bytes));
    }

    /// Appends the section of a file that has no earlier state.
    ///
    /// # Errors
    /// As [`metadata::History::to_bytes`].
    pub(crate) fn push_history(&mut self, salt: [u8; 32]) -> Result<()> {
        let states = Vec::new();
        let bytes = metadata::History { salt, states }.to_bytes()?;
        self.push_section(metadata::SECTION_HISTORY, &bytes);
        Ok(())
    }

    /// Appends block tables, digests and, if it is long, the list of pages of a column. Columns come in any order, each
    /// once.
    ///
    /// # Errors
    /// [`ErrorKind::LimitExceeded`], and what readers would refuse.
    pub(crate) fn push_column(&mut self, mut column: LeafPages) -> Result<()> {
        let leaf = column.leaf as usize;
        let level = column.level;
        let more = [column.zones.take(), column.blooms.take()];
        let pages = match column.meta.pages.is_empty() {
            true => StoredPages::None,
            false => self.push_pages(column)?,
        };
        let [zones, blooms] = more.map(|bytes| {
            bytes.map(|bytes| RegionPlace {
                length: bytes.len() as u64,
                place: self.region.push(&bytes),
            })
        });
        if self.columns.len() <= leaf {
            self.columns.resize_with(leaf + 1, || StoredColumn::NONE);
        }
        self.columns[leaf] = StoredColumn {
            pages,
            level,
            zones,
            blooms,
        };
        Ok(())
    }

    fn push_pages(&mut self, column: LeafPages) -> Result<StoredPages> {
        let LeafPages {
            leaf,
            mut meta,
            sides,
            ..
        } = column;
        let all_pages = meta.pages.iter_mut().chain(&mut meta.shared_pages);
        for (page, side) in all_pages.zip(sides) {
            if !side.is_empty() {
                page.side_place = self.region.push(&side);
            }
        }
        if let ([page], [], 1) = (&*meta.pages, &*meta.shared_pages, meta.descriptions.len())
            && let Some(description) = meta.descriptions.pop()
        {
            return Ok(StoredPages::One(*page, description));
        }
        let digest = digest_of(leaf, &meta);
        let list = meta.to_bytes(&self.bounds)?;
        if list.len() <= COLUMN_META_INSIDE_BYTES_MAX {
            return Ok(StoredPages::Inside { list, digest });
        }
        let place = self.region.push(&list);
        Ok(StoredPages::Outside(ColumnRecord::of_meta(
            place, &list, digest,
        )?))
    }

    /// Appends the region, its digest tree, footer and postscript; returns the bytes of the file. All columns of the
    /// table have been pushed.
    ///
    /// # Errors
    /// [`ErrorKind::Io`], [`ErrorKind::LimitExceeded`], and what readers would refuse.
    pub(crate) fn append_to(
        self,
        table: &Table<'_>,
        output: &mut Output<dyn Sink + '_>,
    ) -> Result<u64> {
        let Self {
            mut region,
            bounds,
            of_all_pages,
            sections,
            columns,
        } = self;
        let mut records = Vec::with_capacity(columns.len());
        for column in &columns {
            records.push(column.record()?);
        }
        let root_place = region.end();
        let encoded = metadata::write_schema(table.schema, &records, root_place)?;
        region.push(&encoded.records);
        let (buckets_log2, buckets) = metadata::Buckets::build(encoded.entries)?;
        let bucket_place = region.push(&buckets);
        let tree_place = region.end();

        let tree = compliance::DigestTree::build(region.bytes());
        let footer = metadata::Footer {
            encodings: of_all_pages.encodings,
            metas: of_all_pages.metas,
            sections,
            features: metadata::FeatureWords::default(),
            meta_place: bounds.meta_place,
            tree_place,
            n_nodes: encoded.n_nodes,
            n_leaves: encoded.n_leaves,
            // There are no more of them than nodes.
            n_columns: table.schema.fields().len() as u32,
            root_place,
            root_bytes: encoded.root_bytes,
            created_by: concat!("tarsia ", env!("CARGO_PKG_VERSION")).to_owned(),
        };
        let header = metadata::Header::new(table.file_id).to_bytes()?;
        let end = EndParts {
            header: &header,
            top: &tree.top,
            footer: &footer,
            place: tree_place + tree.stored.len() as u64,
            rows: table.rows,
            buckets: (buckets_log2, bucket_place),
        };
        let end = end.assemble()?;
        for part in [region.bytes(), &tree.stored, &end.bytes] {
            output.append(part)?;
        }
        Ok(end.file_bytes)
    }
}

/// The digest of a column with these pages.
pub(crate) fn digest_of(leaf: u32, meta: &ColumnMeta) -> Digest {
    let digests = |pages: &[PageDescriptor]| -> Vec<[u8; 32]> {
        pages.iter().map(|page| page.digest).collect()
    };
    compliance::column_digest(leaf, &digests(&meta.pages), &digests(&meta.shared_pages))
}

/// How many columns name each of `n` descriptions.
fn uses(columns: &[ColumnWriter], n: usize) -> Vec<u32> {
    let mut uses = vec![0u32; n];
    let mut of_column = Vec::new();
    for column in columns {
        let pages = column.pages.iter().chain(&column.shared.pages);
        of_column.extend(pages.map(|page| page.descriptor.description));
        of_column.sort_unstable();
        of_column.dedup();
        for description in of_column.drain(..) {
            if let Some(uses) = uses.get_mut(description as usize) {
                *uses = uses.saturating_add(1);
            }
        }
    }
    uses
}

/// How the pages of a column are stored.
enum StoredPages {
    None,
    /// One, which the record describes.
    One(PageDescriptor, PageDescription),
    /// A list that lies inside the record.
    Inside {
        list: Vec<u8>,
        digest: Digest,
    },
    /// A list that has a place of its own, which is in the region.
    Outside(ColumnRecord<'static>),
}

impl StoredPages {
    fn record(&self) -> Result<ColumnRecord<'_>> {
        Ok(match self {
            Self::None => ColumnRecord::EMPTY,
            Self::One(page, description) => ColumnRecord::of_page(page, description)?,
            Self::Inside { list, digest } => ColumnRecord::of_meta_inside(list, *digest)?,
            Self::Outside(record) => *record,
        })
    }
}

/// Zones of all columns take at most one byte in so many of all pages, or [`ZONES_BYTES_MIN`].
const PAGE_BYTES_PER_ZONE_BYTE: u64 = 128;

/// Bytes that zones may take however short the pages are.
const ZONES_BYTES_MIN: u64 = 4096;

/// The zone maps of the columns, of which those that are longest for the bytes of their pages are left out if all
/// together were too long.
fn zone_maps(columns: &mut [ColumnWriter], pages_end: u64) -> Result<Vec<Option<Vec<u8>>>> {
    let maps = columns.iter_mut().map(ColumnWriter::zone_map);
    let mut maps: Vec<Option<Vec<u8>>> = maps.collect::<Result<_>>()?;
    let length = |map: &Option<Vec<u8>>| map.as_ref().map_or(0, |map| map.len() as u64);
    let mut all: u64 = maps.iter().map(length).sum();
    let room = (pages_end / PAGE_BYTES_PER_ZONE_BYTE).max(ZONES_BYTES_MIN);
    if all <= room {
        return Ok(maps);
    }
    // Zone bytes in a million of page bytes.
    let share = |column: &ColumnWriter, map: &Option<Vec<u8>>| {
        let pages = column
            .pages
            .iter()
            .map(|page| u64::from(page.descriptor.length));
        length(map).saturating_mul(1_000_000) / pages.sum::<u64>().max(1)
    };
    let mut order: Vec<(u64, usize)> = columns
        .iter()
        .zip(&maps)
        .enumerate()
        .map(|(i, (column, map))| (share(column, map), i))
        .collect();
    order.sort_unstable_by(|a, b| b.cmp(a));
    for (_, i) in order {
        if all <= room {
            break;
        }
        all -= length(&maps[i]);
        maps[i] = None;
    }
    Ok(maps)
}

/// Takes the pages of a column that were written. `metas` are the descriptions of the file.
fn leaf_pages(
    column: &mut ColumnWriter,
    metas: &[PageMeta],
    zones: Option<Vec<u8>>,
) -> Result<LeafPages> {
    let all_pages = column.pages.iter_mut().chain(&mut column.shared.pages);
    let sides = all_pages
        .map(|page| std::mem::take(&mut page.side))
        .collect();
    let blooms = column.take_blooms();
    let mut described = Described::new(metas);
    Ok(LeafPages {
        leaf: column.leaf,
        level: column.level,
        meta: ColumnMeta {
            pages: described.all(&column.pages)?,
            shared_pages: described.all(&column.shared.pages)?,
            descriptions: described.descriptions,
        },
        sides,
        zones,
        blooms,
    })
}

/// The descriptions of a column's pages, each once.
struct Described<'a> {
    metas: &'a [PageMeta],
    descriptions: Vec<PageDescription>,
    numbers: HashMap<(u32, Vec<u32>), u32>,
}

impl<'a> Described<'a> {
    fn new(metas: &'a [PageMeta]) -> Self {
        Self {
            metas,
            descriptions: Vec::new(),
            numbers: HashMap::new(),
        }
    }

    /// These pages, with the numbers of their descriptions in the column.
    fn all(&mut self, pages: &[WrittenPage]) -> Result<Vec<PageDescriptor>> {
        let mut descriptors = Vec::with_capacity(pages.len());
        for page in pages {
            let mut descriptor = page.descriptor;
            let key = (descriptor.description, page.shared.clone());
            descriptor.description = match self.numbers.get(&key) {
                Some(number) => *number,
                None => self.describe(key.0, key.1)?,
            };
            descriptors.push(descriptor);
        }
        Ok(descriptors)
    }

    fn describe(&mut self, description: u32, shared: Vec<u32>) -> Result<u32> {
        let meta = self.metas.get(description as usize);
        let none = || Error::new(ErrorKind::InvalidInput, "a page without a description");
        // A column has fewer than 2^31 pages.
        let number = self.descriptions.len() as u32;
        self.descriptions.push(PageDescription {
            meta: meta.ok_or_else(none)?.clone(),
            shared: shared.clone(),
        });
        self.numbers.insert((description, shared), number);
        Ok(number)
    }
}
