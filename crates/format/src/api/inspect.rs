//! Inspection: the parts that a file is made of.

use std::ops::Range;

use arrow_schema::DataType;
use tarsia_arrow::logical_type;
use tarsia_codec::ValueType;
use tarsia_metadata::{ErasureLevel, KernelSection, LAYOUT_FULL_ZIP};
use tarsia_structure::block::BlockExpectation;
use tarsia_structure::levels::LevelSections;
use tarsia_structure::{Block, BlockHeader, Layout, Level};

use crate::erase::is_strict;
use crate::error::{Result, while_reading};
use crate::exec::{OpenFile, blocks_of, prepare_shared};
use crate::plan::PageNumber;
use crate::table::{Column, FileMetadata, Page, Region};
use crate::write::ROUNDED_KEY_PREFIX;

/// The whole file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Inspection {
    /// Rows, sizes, identity.
    pub file: FileMetadata,
    /// The parts of the file in order; together they are all of it.
    pub layout: Vec<Region>,
    /// The kernels in the file, in the order in which its page descriptions number them.
    pub kernels: Vec<KernelInspection>,
    /// One per leaf column: per top-level field where that is flat.
    pub columns: Vec<ColumnInspection>,
}

/// A kernel in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelInspection {
    /// BLAKE3 over the module: what
    /// [`OpenOptions::with_trusted_kernels`](crate::OpenOptions::with_trusted_kernels) wants.
    pub digest: [u8; 32],
    /// Its name, if this build ships it.
    pub name: Option<String>,
    /// Bytes it takes, compressed.
    pub bytes: u64,
    /// Bytes of the module.
    pub raw_bytes: u64,
    /// Page descriptions that name it, of so many in the file.
    pub descriptions: (u64, u64),
}

/// One column.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ColumnInspection {
    /// The field's name; in nested fields the names from the top-level field down, joined by dots.
    pub name: String,
    /// The Arrow type of the column's items; of packed structs `packed ` and that of their rows.
    pub data_type: String,
    /// Whether the field allows nulls.
    pub nullable: bool,
    /// Rows.
    pub rows: u64,
    /// Items: rows, or in nested fields what their lists hold and their parents leave.
    pub items: u64,
    /// Null items.
    pub nulls: u64,
    /// Pages, shared pages not counted.
    pub pages: u64,
    /// Blocks of those pages.
    pub blocks: u64,
    /// Trees of encodings, and how many blocks each encodes; most used first. Those of full-zip pages begin with
    /// `full-zip `.
    pub trees: Vec<(String, u64)>,
    /// If its values were rounded when they were written: to what, and the largest errors
    /// ([`ColumnOptions::with_rounding`](crate::ColumnOptions::with_rounding)).
    pub rounding: Option<String>,
    /// The column's erasure level.
    pub level: ErasureLevel,
    /// Whether it says that erasures leave nothing of its values
    /// ([`ColumnOptions::with_strict_erasure`](crate::ColumnOptions::with_strict_erasure)).
    pub strict: bool,
    /// The byte of the file at which its first page or shared page starts, if it has one. Columns whose pages were
    /// written together lie in this order
    /// ([`WriteOptions::with_column_order`](crate::WriteOptions::with_column_order)).
    pub place: Option<u64>,
    /// Bytes of pages and shared pages.
    pub encoded_bytes: u64,
    /// Bytes of the column's record, block tables, digests, zone map and bloom filters.
    pub metadata_bytes: u64,
    /// Bytes of its zone map; 0 if it has none.
    pub zone_bytes: u64,
    /// Bytes of its bloom filters; 0 if it has none
    /// ([`ColumnOptions::with_blooms`](crate::ColumnOptions::with_blooms)).
    pub bloom_bytes: u64,
    /// Bytes of the Arrow buffers the column decodes to.
    pub decoded_bytes: u64,
    /// Bytes of block tables, which a reader that has touched every page keeps in memory to find blocks.
    pub search_cache_bytes: u64,
    /// Bytes of decoded shared buffers that such a reader keeps.
    pub shared_cache_bytes: u64,
}

impl ColumnInspection {
    /// Decoded bytes per stored byte; 0 where nothing is stored.
    pub fn ratio(&self) -> f64 {
        match self.encoded_bytes + self.metadata_bytes {
            0 => 0.0,
            stored => self.decoded_bytes as f64 / stored as f64,
        }
    }
}

/// The whole file.
pub(crate) fn file(file: &OpenFile) -> Result<Inspection> {
    let columns = file
        .all_columns()?
        .iter()
        .map(|column| self::column(file, column))
        .collect::<Result<_>>()?;
    Ok(Inspection {
        file: file.file_metadata()?,
        layout: file.catalog.layout(),
        kernels: kernels(file)?,
        columns,
    })
}

/// Describes the kernels in the file without running them.
fn kernels(file: &OpenFile) -> Result<Vec<KernelInspection>> {
    let descriptions = file.catalog.descriptions();
    let sections = file.catalog.kernel_sections().enumerate();
    let kernels = sections.map(|(number, section)| {
        let bytes = file.source.read(section.range.clone())?;
        let kernel = KernelSection::parse(&bytes)?;
        let mut known = tarsia_kernels::ALL.iter();
        let known = known.find(|known| known.digest == kernel.digest);
        Ok(KernelInspection {
            digest: kernel.digest,
            name: known.map(|known| known.name.to_string()),
            bytes: section.range.end - section.range.start,
            raw_bytes: kernel.raw_bytes,
            descriptions: descriptions.naming(number),
        })
    });
    kernels.collect()
}

/// One leaf column.
pub(crate) fn column(file: &OpenFile, column: &Column) -> Result<ColumnInspection> {
    let mut trees: Vec<(String, u64)> = Vec::new();
    let mut counts = Counts::default();
    for number in 0..column.pages.len() {
        page_blocks(file, column, number, &mut trees, &mut counts)
            .map_err(|error| error.in_page(number).in_column(column.name()))?;
    }
    trees.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let mut search_cache_bytes = 0;
    for (number, page) in column.pages.iter().enumerate() {
        search_cache_bytes +=
            blocks_of(file, column, PageNumber::Data(number))?.memory_bytes() as u64;
        search_cache_bytes += page.index_bytes(file.source.is_mapped());
    }
    let mut shared_cache_bytes = 0;
    for number in 0..column.shared_pages.len() {
        shared_cache_bytes += prepare_shared(file, column, number)?.memory_bytes() as u64;
    }
    let rows = file.rows();
    let items = match column.path.forms() {
        [] => rows,
        _ => counts.items,
    };
    let nulls = match column.value_type {
        None => items,
        Some(_) => column
            .pages
            .iter()
            .map(|page| u64::from(page.descriptor.null_count))
            .sum(),
    };
    let validity = if nulls > 0 && column.value_type.is_some() {
        items.div_ceil(8)
    } else {
        0
    };
    let values = match column.value_type {
        None => 0,
        Some(ValueType::Bits) => items.div_ceil(8),
        Some(ValueType::Fixed(width)) => items * u64::from(width),
        Some(ValueType::Bytes) => counts.value_bytes + offsets_bytes(&column.data_type, items),
    };
    let stored = |pages: &[Page]| -> u64 {
        pages
            .iter()
            .map(|page| u64::from(page.descriptor.length))
            .sum()
    };
    let rounding = format!("{ROUNDED_KEY_PREFIX}{}", column.name());
    let pages = column.pages.iter().chain(&column.shared_pages);
    Ok(ColumnInspection {
        name: column.name().to_owned(),
        rounding: file.schema_metadata()?.get(&rounding).cloned(),
        level: column.level,
        strict: is_strict(file, column)?,
        data_type: match column.packing {
            None => column.data_type.to_string(),
            Some(_) => format!("packed {}", column.data_type),
        },
        nullable: column.path.nullable(),
        rows,
        items,
        nulls,
        pages: column.pages.len() as u64,
        blocks: column
            .pages
            .iter()
            .map(|page| u64::from(page.descriptor.n_blocks))
            .sum(),
        trees,
        place: pages.map(|page| page.descriptor.place).min(),
        encoded_bytes: stored(&column.pages) + stored(&column.shared_pages),
        metadata_bytes: column.metadata_bytes,
        zone_bytes: column
            .zones
            .as_ref()
            .map_or(0, |zones| zones.range.end - zones.range.start),
        bloom_bytes: column
            .blooms
            .as_ref()
            .map_or(0, |blooms| blooms.range.end - blooms.range.start),
        decoded_bytes: values + validity + counts.level_bytes,
        search_cache_bytes,
        shared_cache_bytes,
    })
}

/// Bytes of the offsets or views of a string column; a dictionary counts as its values would.
fn offsets_bytes(data_type: &DataType, rows: u64) -> u64 {
    match logical_type(data_type) {
        DataType::LargeUtf8 | DataType::LargeBinary => (rows + 1) * 8,
        DataType::Utf8View | DataType::BinaryView => rows * 16,
        _ => (rows + 1) * 4,
    }
}

/// Counts over the blocks of a column.
#[derive(Default)]
struct Counts {
    /// Bytes of values.
    value_bytes: u64,
    /// Items, of nested columns alone.
    items: u64,
    /// Arrow's validity and offsets of the levels.
    level_bytes: u64,
}

/// Counts what is in the blocks of a page, and blocks per tree.
fn page_blocks(
    file: &OpenFile,
    column: &Column,
    number: usize,
    trees: &mut Vec<(String, u64)>,
    counts: &mut Counts,
) -> Result<()> {
    let page = column.page(number)?;
    let meta = page.description.meta()?;
    let blocks = blocks_of(file, column, PageNumber::Data(number))?;
    let mut of_trees = vec![0u64; meta.trees.len()];
    let is_flat = column.path.forms().is_empty();
    let place = |block: u32| {
        let Range { start, end } = page.place_of(blocks, block)?;
        // Levels say how many items there are; of flat blocks the header is enough.
        Ok(match is_flat {
            true => start..end.min(start + tarsia_structure::block::BLOCK_HEADER_BYTES as u64),
            false => start..end,
        })
    };
    let places: Vec<_> = (0..page.descriptor.n_blocks)
        .map(place)
        .collect::<Result<_>>()?;
    let windows = file.source.windows(&places);
    let fetched = windows.flat_map(|window| match file.source.read_window(window) {
        Some(fetched) => fetched.into_iter().map(Ok).collect::<Vec<_>>(),
        None => window
            .iter()
            .map(|place| file.source.read(place.clone()))
            .collect(),
    });
    for (block, bytes) in (0_u32..).zip(fetched) {
        let bytes = bytes?;
        let mut of_block = || -> tarsia_codec::Result<BlockHeader> {
            let header = BlockHeader::parse(&bytes)?;
            // Of a block of which no row is left there are no levels.
            if !column.path.forms().is_empty() && header.present_rows > 0 {
                let expect = BlockExpectation::of(meta, header.logical_rows)?;
                let parsed = Block::parse_erased(&bytes, &expect)?;
                if let Some(form) = expect.full_zip {
                    counts.items += parsed.full_zip_items(form);
                    return Ok(header);
                }
                counts.items += u64::from(parsed.n_items);
                for (section, level) in LevelSections::of(&parsed, &meta.levels)?.zip(&meta.levels)
                {
                    counts.level_bytes += match level {
                        Level::Validity(_) => u64::from(section?.n_slots).div_ceil(8),
                        Level::Lengths(_) => 4 * u64::from(section?.n_slots),
                        Level::AllValid | Level::ConstantLength(_) => 0,
                    };
                }
            }
            Ok(header)
        };
        let header = of_block().map_err(|error| while_reading(error).in_block(block.into()))?;
        counts.value_bytes += u64::from(header.decoded_bytes);
        let n_encoded = u64::from(header.present_rows > 0);
        if let Some(count) = of_trees.get_mut(usize::from(header.tree)) {
            *count += n_encoded;
        }
    }
    for (tree, count) in meta.trees.iter().zip(of_trees) {
        if count == 0 {
            continue;
        }
        let name = match meta.layout {
            Layout::MiniBlock => tree.to_string(),
            Layout::FullZip => format!("{LAYOUT_FULL_ZIP} {tree}"),
        };
        match trees.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known += count,
            None => trees.push((name, count)),
        }
    }
    Ok(())
}
