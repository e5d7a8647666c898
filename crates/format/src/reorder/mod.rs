//! A file written anew with its pages in another order. Blocks, block tables and digests are copied as they are, and
//! nothing is decoded; all that says where they lie is made by what makes it for writers.
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | which files can be reordered, and the metadata of the new one |
//! | `leaves.rs` | the columns as the old file lists them, and in which order their pages are copied |
//! | `copy.rs` | pages copied and checked, block by block |
//! | `read_log.rs` | an order of columns learned from what was read ([`ReadLog`]) |

mod copy;
mod leaves;
mod read_log;

use std::io;

use tarsia_codec::Version;
use tarsia_compliance as compliance;
use tarsia_io::Sink;
use tarsia_metadata as metadata;
use tarsia_metadata::{ErasureLevel, Header, Section};

use crate::error::{Error, ErrorKind, Result};
use crate::exec::OpenFile;
use crate::random::random;
use crate::write::{LeafPages, MetadataWriter, OfAllPages, Output, Placement, Table};
use leaves::{Leaf, in_new_order, leaves};
pub use read_log::ReadLog;

/// Counts of a file whose pages were copied in another order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReorderSummary {
    /// Rows of the table, deleted ones too.
    pub rows: u64,
    /// Top-level fields.
    pub columns: u32,
    /// Pages that were copied, those of shared buffers too.
    pub pages: u64,
    /// Their bytes.
    pub page_bytes: u64,
    /// Bytes of the new file.
    pub file_bytes: u64,
    /// The ids of sections that this build does not know. The new file lacks them: they may say where pages lie.
    pub left_out: Vec<u32>,
}

/// The sink of the caller. Its errors say that they are not those of the file that is read.
struct NewFile<'a>(&'a mut dyn Sink);

impl NewFile<'_> {
    fn named(error: io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("writing the new file: {error}"))
    }
}

impl Sink for NewFile<'_> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.append(bytes).map_err(Self::named)
    }

    fn overwrite(&mut self, place: u64, bytes: &[u8]) -> io::Result<bool> {
        self.0.overwrite(place, bytes).map_err(Self::named)
    }

    fn commit(&mut self) -> io::Result<()> {
        self.0.commit().map_err(Self::named)
    }
}

/// Writes the file into `sink` with the pages of the columns of `order` first, and commits it.
///
/// # Errors
/// [`ErrorKind::Unsupported`] for files that cannot be reordered; those of [`Placement::new`]; [`ErrorKind::Corrupt`]
/// for blocks that are not those that were written; what reading and writing may meet.
pub(crate) fn reorder(
    file: &OpenFile,
    order: &[String],
    sink: &mut dyn Sink,
) -> Result<ReorderSummary> {
    check(file)?;
    // Else metadata that somebody changed would get a good digest.
    file.check_metadata()?;
    let records = file.source.read(file.catalog.records_range())?;
    let place = file.catalog.records_range().start;
    let table = metadata::read_schema(&records, place, file.catalog.n_nodes())?;
    let placement = Placement::new(order, &table.schema)?;
    let mut leaves = leaves(file, &table, &placement)?;
    let pages = in_new_order(&leaves)?;

    // A file of a deterministic writer stays one.
    let file_id = match file.head()?.header.file_id == [0; 16] {
        true => [0; 16],
        false => random()?,
    };
    let mut output = Output::new(NewFile(sink));
    output.append(&Header::new(file_id).to_bytes()?)?;
    copy::pages(file, &mut leaves, &pages, &mut output)?;
    let page_bytes = pages.iter().map(|page| page.bytes).sum();
    let table = Table {
        schema: &table.schema,
        rows: file.rows(),
        file_id,
    };
    let of_all_pages = OfAllPages {
        encodings: file.catalog.encodings().to_vec(),
        metas: file.catalog.common_metas(),
    };
    let mut metadata = MetadataWriter::start(&mut output, &table, of_all_pages)?;
    let left_out = push_sections(file, &leaves, &mut metadata)?;
    push_columns(leaves, &mut metadata)?;
    let file_bytes = metadata.append_to(&table, &mut output)?;
    file.check_unchanged()?;
    let header = Header::new(file_id).with_first_slot(file_bytes);
    output.commit(&header.to_bytes()?)?;
    Ok(ReorderSummary {
        rows: file.rows(),
        columns: file.catalog.n_columns(),
        pages: pages.len() as u64,
        page_bytes,
        file_bytes,
        left_out,
    })
}

/// Checks that the file can be reordered.
fn check(file: &OpenFile) -> Result<()> {
    let refused = |what: &str| Err(Error::new(ErrorKind::Unsupported, what));
    // The header says whether an erasure is pending, and in which way the file may be changed.
    file.head()?;
    if file.catalog.erasure_is_pending() {
        return refused(
            "an erasure of the file was interrupted; reorder it after `tarsia recover` has finished that",
        );
    }
    if !file.catalog.changes().moved.is_empty() {
        return refused(
            "erasures have moved blocks of the file, which are not reordered; `tarsia compact` writes a file without \
             them, which can be reordered",
        );
    }
    file.catalog.check_modifiable()
}

/// Copies the sections that the new file has, too, and returns the ids of the others.
fn push_sections(
    file: &OpenFile,
    leaves: &[Leaf],
    metadata: &mut MetadataWriter,
) -> Result<Vec<u32>> {
    // Descriptions of pages number the kernels, which come first and keep their order.
    for section in file.catalog.kernel_sections() {
        metadata.push_section(section.id, &checked_bytes(file, section)?);
    }
    let mut left_out = Vec::new();
    for section in file.catalog.sections() {
        match section.id {
            metadata::SECTION_DELETED | metadata::SECTION_ERASED => {
                metadata.push_section(section.id, &checked_bytes(file, section)?);
            }
            // The one was copied, there are none of the second, and the new file has no history.
            metadata::SECTION_KERNEL | metadata::SECTION_MOVED | metadata::SECTION_HISTORY => {}
            unknown => left_out.push(unknown),
        }
    }
    let can_be_erased = leaves.iter().any(|leaf| leaf.level == ErasureLevel::Erase);
    if can_be_erased || file.catalog.changes().history.is_some() {
        metadata.push_history(random()?)?;
    }
    Ok(left_out)
}

/// The bytes of a section, compared with their digest.
fn checked_bytes(file: &OpenFile, section: &Section) -> Result<Vec<u8>> {
    let bytes = file.source.read(section.range.clone())?;
    let place = section.range.start;
    if compliance::section_digest(section.id, &bytes) != section.digest {
        let what = format!("section at byte {place}: digest");
        return Err(Error::new(ErrorKind::Corrupt, what));
    }
    // All sections that are copied have this version.
    if section.version != Version::new(1, 0) || !section.columns.is_empty() {
        let what = format!("section {} at byte {place}: another form", section.id);
        return Err(Error::new(ErrorKind::Unsupported, what));
    }
    Ok(bytes.to_vec())
}

/// Hands over the columns, those that come first in the file first.
fn push_columns(mut leaves: Vec<Leaf>, metadata: &mut MetadataWriter) -> Result<()> {
    leaves.sort_by_key(|leaf| (leaf.rank, leaf.number));
    for leaf in leaves {
        let pages = LeafPages {
            leaf: leaf.number,
            level: leaf.level,
            meta: leaf.meta,
            sides: leaf.sides,
            zones: leaf.zones,
            blooms: leaf.blooms,
        };
        let pushed = metadata.push_column(pages);
        pushed.map_err(|error| error.in_column(&leaf.name))?;
    }
    Ok(())
}
