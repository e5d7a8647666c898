//! `tarsia inspect`.

use serde::Serialize;

use crate::args::Inspect;
use crate::failure::Failure;
use crate::place::Places;
use crate::shown::printable;

use super::open::{ERASURE_IS_PENDING, open};
use super::output::{
    NAME_CHARS, Out, SHOWN_CHARS, align_right, hex, json_number, new_table, ratio,
};

#[derive(Serialize)]
struct InspectDocument {
    file: FileDocument,
    #[serde(skip_serializing_if = "Option::is_none")]
    layout: Option<Vec<RegionDocument>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernels: Option<Vec<KernelDocument>>,
    columns: Vec<ColumnDocument>,
}

#[derive(Serialize)]
struct FileDocument {
    rows: u64,
    columns: u32,
    bytes: u64,
    version: String,
    file_id: String,
    root_digest: String,
    epoch: u64,
    created_by: String,
    deleted_rows: u64,
    erased_rows: u64,
    erasure_is_pending: bool,
}

#[derive(Serialize)]
struct KernelDocument {
    digest: String,
    /// Its name, if this program ships it.
    name: Option<String>,
    bytes: u64,
    raw_bytes: u64,
    /// Number of METAs that name it.
    descriptions: u64,
}

impl From<tarsia::KernelInspection> for KernelDocument {
    fn from(kernel: tarsia::KernelInspection) -> KernelDocument {
        KernelDocument {
            digest: hex(&kernel.digest),
            name: kernel.name,
            bytes: kernel.bytes,
            raw_bytes: kernel.raw_bytes,
            descriptions: kernel.descriptions.0,
        }
    }
}

#[derive(Serialize)]
struct RegionDocument {
    name: &'static str,
    place: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct ColumnDocument {
    name: String,
    r#type: String,
    nullable: bool,
    /// Erasure level: 0 nothing, 1 hide rows, 2 remove their values.
    erasure_level: u8,
    rows: u64,
    items: u64,
    nulls: u64,
    pages: u64,
    blocks: u64,
    trees: Vec<TreeDocument>,
    /// Format that its numbers were rounded to, and the largest errors.
    rounding: Option<String>,
    /// Whether erasures leave nothing that depends on erased values.
    strict: bool,
    /// The byte at which its first page starts.
    place: Option<u64>,
    /// Pages and metadata.
    bytes: u64,
    encoded_bytes: u64,
    metadata_bytes: u64,
    zone_bytes: u64,
    bloom_bytes: u64,
    decoded_bytes: u64,
    search_cache_bytes: u64,
    shared_cache_bytes: u64,
    ratio: serde_json::Value,
}

#[derive(Serialize)]
struct TreeDocument {
    tree: String,
    blocks: u64,
}

impl From<tarsia::FileMetadata> for FileDocument {
    fn from(file: tarsia::FileMetadata) -> FileDocument {
        FileDocument {
            rows: file.rows,
            columns: file.columns,
            bytes: file.file_bytes,
            version: format!("{}.{}", file.version.0, file.version.1),
            file_id: hex(&file.file_id),
            root_digest: hex(&file.root_digest),
            epoch: file.epoch,
            created_by: file.created_by,
            deleted_rows: file.deleted_rows,
            erased_rows: file.erased_rows,
            erasure_is_pending: file.erasure_is_pending,
        }
    }
}

impl From<tarsia::ColumnInspection> for ColumnDocument {
    fn from(column: tarsia::ColumnInspection) -> ColumnDocument {
        ColumnDocument {
            ratio: json_number(column.ratio()),
            name: column.name,
            r#type: column.data_type,
            nullable: column.nullable,
            erasure_level: column.level.number(),
            rows: column.rows,
            items: column.items,
            nulls: column.nulls,
            pages: column.pages,
            blocks: column.blocks,
            trees: column
                .trees
                .into_iter()
                .map(|(tree, blocks)| TreeDocument { tree, blocks })
                .collect(),
            rounding: column.rounding,
            strict: column.strict,
            place: column.place,
            bytes: column.encoded_bytes.saturating_add(column.metadata_bytes),
            encoded_bytes: column.encoded_bytes,
            metadata_bytes: column.metadata_bytes,
            zone_bytes: column.zone_bytes,
            bloom_bytes: column.bloom_bytes,
            decoded_bytes: column.decoded_bytes,
            search_cache_bytes: column.search_cache_bytes,
            shared_cache_bytes: column.shared_cache_bytes,
        }
    }
}

/// Collects what is shown of a file, or of one of its columns.
fn document(file: &tarsia::File, column: Option<&str>) -> Result<InspectDocument, tarsia::Error> {
    Ok(match column {
        Some(name) => InspectDocument {
            file: file.metadata()?.into(),
            layout: None,
            kernels: None,
            columns: file
                .inspect_columns(name)?
                .into_iter()
                .map(Into::into)
                .collect(),
        },
        None => {
            let inspection = file.inspect()?;
            let region = |region: tarsia::Region| RegionDocument {
                name: region.name,
                place: region.place,
                bytes: region.bytes,
            };
            InspectDocument {
                file: inspection.file.into(),
                layout: Some(inspection.layout.into_iter().map(region).collect()),
                kernels: Some(inspection.kernels.into_iter().map(Into::into).collect()),
                columns: inspection
                    .columns
                    .into_iter()
                    .map(ColumnDocument::from)
                    .collect(),
            }
        }
    })
}

pub(super) fn inspect(args: &Inspect, places: &dyn Places) -> Result<(), Failure> {
    let file = open(places, &args.file)?;
    let bad = |error: tarsia::Error| Failure::of_tarsia(args.file.name(), &error);
    let document = document(&file, args.column.as_deref()).map_err(bad)?;
    let mut out = Out::new();
    if args.json {
        out.document(&document)?;
        return out.finish();
    }
    let about = &document.file;
    out.facts(&[
        ("rows", about.rows.to_string()),
        ("columns", about.columns.to_string()),
        ("bytes", about.bytes.to_string()),
        ("version", about.version.clone()),
        ("file id", about.file_id.clone()),
        ("root digest", about.root_digest.clone()),
        ("epoch", about.epoch.to_string()),
        ("created by", printable(&about.created_by, SHOWN_CHARS)),
        ("deleted rows", about.deleted_rows.to_string()),
        ("erased rows", about.erased_rows.to_string()),
    ])?;
    if about.erasure_is_pending {
        out.line(ERASURE_IS_PENDING)?;
    }
    regions_and_kernels(&mut out, &document)?;
    columns(&mut out, &document.columns)?;
    out.finish()
}

/// Prints the tables of regions and of kernels.
fn regions_and_kernels(out: &mut Out, document: &InspectDocument) -> Result<(), Failure> {
    if let Some(layout) = &document.layout {
        let mut table = new_table(&["region", "place", "bytes"]);
        align_right(&mut table, 1);
        align_right(&mut table, 2);
        for region in layout {
            table.add_row([
                region.name.to_owned(),
                region.place.to_string(),
                region.bytes.to_string(),
            ]);
        }
        out.line("")?;
        out.table(&table)?;
    }
    if let Some(kernels) = document.kernels.as_ref().filter(|it| !it.is_empty()) {
        let mut table = new_table(&["kernel", "digest", "bytes", "page descriptions"]);
        align_right(&mut table, 2);
        align_right(&mut table, 3);
        for kernel in kernels {
            table.add_row([
                kernel
                    .name
                    .clone()
                    .unwrap_or_else(|| "not of this build".to_owned()),
                kernel.digest.clone(),
                kernel.bytes.to_string(),
                kernel.descriptions.to_string(),
            ]);
        }
        out.line("")?;
        out.table(&table)?;
    }
    Ok(())
}

/// Prints the table of columns, and what their numbers were rounded to.
fn columns(out: &mut Out, columns: &[ColumnDocument]) -> Result<(), Failure> {
    let mut table = new_table(&[
        "column",
        "type",
        "items",
        "nulls",
        "pages",
        "blocks",
        "tree (blocks)",
        "at byte",
        "bytes",
        "ratio",
        "search cache",
        "erasure",
    ]);
    for i in [2, 3, 4, 5, 7, 8, 9, 10, 11] {
        align_right(&mut table, i);
    }
    for column in columns {
        let trees: Vec<String> = column
            .trees
            .iter()
            .map(|tree| format!("{} ({})", tree.tree, tree.blocks))
            .collect();
        table.add_row([
            printable(&column.name, SHOWN_CHARS),
            printable(&column.r#type, SHOWN_CHARS),
            column.items.to_string(),
            column.nulls.to_string(),
            column.pages.to_string(),
            column.blocks.to_string(),
            printable(&trees.join(", "), NAME_CHARS),
            column
                .place
                .map_or(String::new(), |place| place.to_string()),
            column.bytes.to_string(),
            ratio(column.decoded_bytes, column.bytes),
            column.search_cache_bytes.to_string(),
            column.erasure_level.to_string(),
        ]);
    }
    out.line("")?;
    out.table(&table)?;
    for column in columns {
        if let Some(rounding) = &column.rounding {
            let name = printable(&column.name, SHOWN_CHARS);
            let rounding = printable(rounding, NAME_CHARS);
            out.line(&format!("{name} was rounded: {rounding}"))?;
        }
        if column.bloom_bytes > 0 {
            let name = printable(&column.name, SHOWN_CHARS);
            let bytes = column.bloom_bytes;
            out.line(&format!("{name} has bloom filters: {bytes} bytes"))?;
        }
        if column.strict {
            let name = printable(&column.name, SHOWN_CHARS);
            out.line(&format!(
                "{name} is strict at erasure level 2: an erasure leaves nothing that depends on erased values"
            ))?;
        }
    }
    Ok(())
}
