//! Everything behind the pages: metadata region and digest tree, and then the [end](crate::end).

use std::sync::Arc;

use arrow_schema::Schema;
use tarsia_compliance as compliance;
use tarsia_io::Sink;
use tarsia_kernels::Kernel;
use tarsia_metadata as metadata;
use tarsia_metadata::{ColumnMeta, ColumnRecord, FileBounds, PageDescriptor, Section};

use crate::end::{EndParts, Growing};
use crate::error::Result;
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
    let footer_parts = body.metas.finish()?;
    // It is small beside the pages, and its digest tree needs it whole.
    let mut region = Growing::at(body.output.position());
    let meta_place = region.end();
    let mut sections = push_kernels(&footer_parts.kernels, &mut region);
    if let Some(salt) = table.salt {
        sections.push(push_history(salt, &mut region)?);
    }
    let bounds = FileBounds {
        rows: table.rows,
        n_metas: footer_parts.metas.len() as u32,
        meta_place,
        // Not known yet; only an upper bound is needed for the check of places.
        tree_place: u64::MAX,
    };
    let mut records = Vec::with_capacity(columns.len());
    for column in columns {
        let record = push_column(column, &mut region, &bounds)
            .map_err(|error| error.in_column(column.field.name()))?;
        records.push(record.with_level(column.level));
    }
    let root_place = region.end();
    let encoded = metadata::write_schema(table.schema, &records, root_place)?;
    region.push(&encoded.records);
    let (buckets_log2, buckets) = metadata::Buckets::build(encoded.entries)?;
    let bucket_place = region.push(&buckets);
    let tree_place = region.end();

    let tree = compliance::DigestTree::build(region.bytes());
    let footer = metadata::Footer {
        encodings: footer_parts.encodings,
        metas: footer_parts.metas,
        sections,
        features: metadata::FeatureWords::default(),
        meta_place,
        tree_place,
        n_nodes: encoded.n_nodes,
        n_leaves: encoded.n_leaves,
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

/// Appends block tables, digests and, if there are several pages, their list; returns the column's record.
fn push_column(
    column: &mut ColumnWriter,
    region: &mut Growing,
    bounds: &FileBounds,
) -> Result<ColumnRecord> {
    if column.pages.is_empty() {
        return Ok(ColumnRecord::EMPTY);
    }
    let all_pages = column.pages.iter_mut().chain(&mut column.shared.pages);
    for page in all_pages.filter(|page| !page.side.is_empty()) {
        page.descriptor.side_place = region.push(&std::mem::take(&mut page.side));
    }
    if let ([page], []) = (column.pages.as_slice(), column.shared.pages.as_slice()) {
        return Ok(ColumnRecord::of_page(&page.descriptor)?);
    }
    let digests = |pages: &[WrittenPage]| -> Vec<[u8; 32]> {
        pages.iter().map(|page| page.descriptor.digest).collect()
    };
    let digest = compliance::column_digest(
        column.leaf,
        &digests(&column.pages),
        &digests(&column.shared.pages),
    );
    let descriptors = |pages: &[WrittenPage]| -> Vec<PageDescriptor> {
        pages.iter().map(|page| page.descriptor).collect()
    };
    let meta = ColumnMeta {
        pages: descriptors(&column.pages),
        shared_pages: descriptors(&column.shared.pages),
        shared_lists: std::mem::take(&mut column.shared.lists),
    }
    .to_bytes(bounds)?;
    let place = region.push(&meta);
    Ok(ColumnRecord::of_meta(place, &meta, digest)?)
}
