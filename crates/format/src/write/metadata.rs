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
    ColumnMeta, ColumnRecord, ErasureLevel, FileBounds, PageDescription, PageDescriptor, PageMeta,
    Section, ZonesPlace,
};

use crate::end::{EndParts, Growing};
use crate::error::{Error, ErrorKind, Result};
use crate::write::body::{Body, WrittenPage};
use crate::write::column::ColumnWriter;

/// The table whose pages are written.
pub(super) struct Table<'a> {
    pub(super) schema: &'a Schema,
    pub(super) rows: u64,
    pub(super) file_id: [u8; 16],
    /// The salt of the root digest, if values can be erased.
    pub(super) salt: Option<[u8; 32]>,
}

/// A file that was written.
pub(super) struct Committed {
    pub(super) file_bytes: u64,
    /// The kernels in the file, in the order in which its pages number them.
    pub(super) kernels: Vec<Arc<Kernel>>,
}

/// Appends the metadata of a table; its columns and descriptions are used up.
///
/// # Errors
/// [`ErrorKind::Io`](crate::ErrorKind::Io); [`ErrorKind::LimitExceeded`](crate::ErrorKind::LimitExceeded) for what does
/// not fit.
pub(super) fn append(
    table: &Table<'_>,
    columns: &mut [ColumnWriter],
    body: &mut Body<dyn Sink + '_>,
) -> Result<Committed> {
    body.output.pad_to(8)?;
    let uses = uses(columns, body.metas.len());
    let footer_parts = body.metas.finish(&uses)?;
    // It is small beside the pages, and its digest tree needs it whole.
    let mut region = Growing::at(body.output.position());
    let meta_place = region.end();
    let mut sections = push_kernels(&footer_parts.kernels, &mut region);
    if let Some(salt) = table.salt {
        sections.push(push_history(salt, &mut region)?);
    }
    let bounds = FileBounds {
        rows: table.rows,
        n_metas: footer_parts.common.len() as u32,
        n_kernels: footer_parts.kernels.len() as u32,
        meta_place,
        // Not known yet; only an upper bound is needed for the check of places.
        tree_place: u64::MAX,
    };
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by_key(|i| columns[*i].rank);
    let empty = columns.iter().map(|column| StoredColumn {
        pages: StoredPages::None,
        level: column.level,
        zones: None,
    });
    let mut stored: Vec<StoredColumn> = empty.collect();
    for i in order {
        let (column, stored) = (&mut columns[i], &mut stored[i]);
        push_column(column, &mut region, &bounds, &footer_parts.of)
            .and_then(|pages| {
                stored.pages = pages;
                stored.zones = push_zones(column, &mut region)?;
                Ok(())
            })
            .map_err(|error| error.in_column(column.field.name()))?;
    }
    let records = stored.iter().map(StoredColumn::record);
    let records: Vec<_> = records.collect::<Result<_>>()?;
    let root_place = region.end();
    let encoded = metadata::write_schema(table.schema, &records, root_place)?;
    region.push(&encoded.records);
    let (buckets_log2, buckets) = metadata::Buckets::build(encoded.entries)?;
    let bucket_place = region.push(&buckets);
    let tree_place = region.end();

    let tree = compliance::DigestTree::build(region.bytes());
    let footer = metadata::Footer {
        encodings: footer_parts.encodings,
        metas: footer_parts.common,
        sections,
        features: metadata::FeatureWords::default(),
        meta_place,
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
        body.output.append(part)?;
    }
    Ok(Committed {
        file_bytes: end.file_bytes,
        kernels: footer_parts.kernels,
    })
}

/// Appends kernels as sections.
fn push_kernels(kernels: &[Arc<Kernel>], region: &mut Growing) -> Vec<Section> {
    let mut sections = Vec::with_capacity(kernels.len());
    for kernel in kernels {
        let bytes = metadata::KernelSection {
            digest: kernel.digest,
            raw_bytes: kernel.raw_bytes,
            compressed: &kernel.compressed,
        }
        .to_bytes();
        sections.push(region.push_section(metadata::SECTION_KERNEL, &bytes));
    }
    sections
}

/// Appends the section of a file that has no earlier state.
fn push_history(salt: [u8; 32], region: &mut Growing) -> Result<Section> {
    let states = Vec::new();
    let bytes = metadata::History { salt, states }.to_bytes()?;
    Ok(region.push_section(metadata::SECTION_HISTORY, &bytes))
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

/// How a column is stored.
struct StoredColumn {
    pages: StoredPages,
    level: ErasureLevel,
    zones: Option<ZonesPlace>,
}

impl StoredColumn {
    fn record(&self) -> Result<ColumnRecord<'_>> {
        let record = self.pages.record()?.with_level(self.level);
        Ok(record.with_zones(self.zones))
    }
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

/// Appends block tables, digests and, if it is long, the list of pages. `metas` are the descriptions of the file.
fn push_column(
    column: &mut ColumnWriter,
    region: &mut Growing,
    bounds: &FileBounds,
    metas: &[PageMeta],
) -> Result<StoredPages> {
    if column.pages.is_empty() {
        return Ok(StoredPages::None);
    }
    let all_pages = column.pages.iter_mut().chain(&mut column.shared.pages);
    for page in all_pages.filter(|page| !page.side.is_empty()) {
        page.descriptor.side_place = region.push(&std::mem::take(&mut page.side));
    }
    let mut described = Described::new(metas);
    let pages = described.all(&column.pages)?;
    let shared_pages = described.all(&column.shared.pages)?;
    let mut descriptions = described.descriptions;
    if let ([page], [], 1) = (&*pages, &*shared_pages, descriptions.len())
        && let Some(description) = descriptions.pop()
    {
        return Ok(StoredPages::One(*page, description));
    }
    let digests = |pages: &[PageDescriptor]| -> Vec<[u8; 32]> {
        pages.iter().map(|page| page.digest).collect()
    };
    let digest = compliance::column_digest(column.leaf, &digests(&pages), &digests(&shared_pages));
    let list = ColumnMeta {
        pages,
        shared_pages,
        descriptions,
    }
    .to_bytes(bounds)?;
    if list.len() <= COLUMN_META_INSIDE_BYTES_MAX {
        return Ok(StoredPages::Inside { list, digest });
    }
    let place = region.push(&list);
    Ok(StoredPages::Outside(ColumnRecord::of_meta(
        place, &list, digest,
    )?))
}

/// Appends the zone map of a column, if it has one.
fn push_zones(column: &mut ColumnWriter, region: &mut Growing) -> Result<Option<ZonesPlace>> {
    let Some(map) = column.zone_map()? else {
        return Ok(None);
    };
    let too_long = |_| Error::new(ErrorKind::LimitExceeded, "zones of 4 GiB or more");
    Ok(Some(ZonesPlace {
        length: u32::try_from(map.len()).map_err(too_long)?,
        place: region.push(&map),
    }))
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
