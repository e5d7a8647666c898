//! Vortex: a column written with the default strategy, and where its bytes went.

pub(crate) mod speed;

use std::collections::{BTreeMap, HashSet};

use anyhow::{Context, Result, ensure};
use arrow_array::RecordBatch;
use serde::Serialize;
use vortex::VortexSessionDefault;
use vortex::array::ArrayRef;
use vortex::array::iter::ArrayIteratorAdapter;
use vortex::array::serde::SerializedArray;
use vortex::arrow::ArrowSessionExt;
use vortex::buffer::ByteBuffer;
use vortex::file::{Footer, SegmentSpec, WriteOptionsSessionExt};
use vortex::io::runtime::BlockingRuntime;
use vortex::io::runtime::single::SingleThreadRuntime;
use vortex::io::session::RuntimeSessionExt;
use vortex::layout::LayoutRef;
use vortex::layout::layouts::flat::Flat;
use vortex::session::VortexSession;
use vortex::session::registry::ReadContext;

/// Where the bytes of a one-column Vortex file are. Segments only: the data type, the layout tree,
/// the segment map, file statistics and the postscript are left out.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct VortexSize {
    /// Segments of the data itself, dictionaries included. A segment is the buffers of an array, its
    /// padding, and the FlatBuffer that describes them; without the last a reader has only bytes.
    pub(crate) data_bytes: u64,
    /// Segments of the zone maps (minimum, maximum, null count for each 8,192 rows).
    pub(crate) zones_bytes: u64,
    /// The buffers alone: `data_bytes` without padding and without the description of the arrays.
    pub(crate) buffers_bytes: u64,
    /// Segments counted in `data_bytes`.
    pub(crate) segments: u64,
    /// Encodings of the chunks with the number of chunks that have them, the most frequent first.
    pub(crate) trees: Vec<(String, u64)>,
}

/// A session is a registry of encodings and a runtime; one serves all columns.
pub(crate) struct Vortex {
    runtime: SingleThreadRuntime,
    session: VortexSession,
}

impl Vortex {
    pub(crate) fn new() -> Self {
        let runtime = SingleThreadRuntime::default();
        let session = VortexSession::default().with_handle(runtime.handle());
        Self { runtime, session }
    }

    /// Writes batches of one column to memory with the default write strategy.
    pub(crate) fn measure(&self, batches: &[RecordBatch]) -> Result<VortexSize> {
        let schema = batches.first().context("no batch")?.schema();
        let n_rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        let arrow = self.session.arrow();
        let dtype = arrow.from_arrow_schema(schema.as_ref())?;
        let chunks = batches
            .iter()
            .map(|batch| arrow.from_arrow_record_batch(batch.clone(), schema.as_ref()))
            .collect::<Vec<_>>();
        drop(arrow);

        let mut bytes = Vec::new();
        let summary = self.session.write_options().blocking(&self.runtime).write(
            &mut bytes,
            ArrayIteratorAdapter::new(dtype, chunks.into_iter()),
        )?;
        ensure!(
            summary.row_count() == n_rows as u64,
            "Vortex wrote {} of {n_rows} rows",
            summary.row_count()
        );
        self.attribute(summary.footer(), &bytes)
    }

    fn attribute(&self, footer: &Footer, bytes: &[u8]) -> Result<VortexSize> {
        let root = footer.layout();
        let columns = root.children()?;
        ensure!(
            columns.len() == 1 && root.encoding_id().to_string() == "vortex.struct",
            "expected a struct layout with one column, found {} with {} children",
            root.encoding_id(),
            columns.len()
        );
        let mut walk = Walk {
            session: &self.session,
            segments: Segments {
                specs: footer.segment_map(),
                bytes,
            },
            seen: HashSet::new(),
            size: VortexSize {
                data_bytes: 0,
                zones_bytes: 0,
                buffers_bytes: 0,
                segments: 0,
                trees: Vec::new(),
            },
        };
        let trees = walk.layout(&columns[0])?;
        walk.size.trees = sorted(trees);

        // Whatever the walk missed would make Vortex look smaller than it is.
        let n_total: u64 = footer
            .segment_map()
            .iter()
            .map(|s| u64::from(s.length))
            .sum();
        ensure!(
            walk.size.data_bytes + walk.size.zones_bytes == n_total,
            "segments hold {n_total} bytes, the layout tree leads to {}",
            walk.size.data_bytes + walk.size.zones_bytes
        );
        Ok(walk.size)
    }
}

type Trees = BTreeMap<String, u64>;

/// Free of `Walk`, so that the bytes outlive a borrow of it.
#[derive(Clone, Copy)]
struct Segments<'a> {
    specs: &'a [SegmentSpec],
    bytes: &'a [u8],
}

impl<'a> Segments<'a> {
    fn get(self, id: u32) -> Result<&'a [u8]> {
        let spec = self
            .specs
            .get(id as usize)
            .with_context(|| format!("no segment {id}"))?;
        let range = spec.byte_range();
        self.bytes
            .get(usize::try_from(range.start)?..usize::try_from(range.end)?)
            .with_context(|| format!("segment {id} is outside of the file"))
    }
}

struct Walk<'a> {
    session: &'a VortexSession,
    segments: Segments<'a>,
    /// A segment may be named by several layouts; it is counted once.
    seen: HashSet<u32>,
    size: VortexSize,
}

impl Walk<'_> {
    /// Counts the segments below `layout` as data and returns its encodings.
    fn layout(&mut self, layout: &LayoutRef) -> Result<Trees> {
        if let Some(flat) = layout.as_opt::<Flat>() {
            let id = flat.segment_id();
            let segment = self.segments.get(*id)?;
            let parts = match flat.array_tree() {
                Some(tree) => SerializedArray::from_array_tree(tree.clone())?,
                None => SerializedArray::try_from(ByteBuffer::copy_from(segment))?,
            };
            if self.seen.insert(*id) {
                self.size.data_bytes += segment.len() as u64;
                self.size.segments += 1;
                self.size.buffers_bytes += parts
                    .buffer_lengths()
                    .into_iter()
                    .map(|n| n as u64)
                    .sum::<u64>();
            }
            let array = parts.decode(
                layout.dtype(),
                usize::try_from(layout.row_count())?,
                flat.array_ctx(),
                self.session,
            )?;
            return Ok(Trees::from([(
                array_tree(&parts, &array, flat.array_ctx()),
                1,
            )]));
        }

        let id = layout.encoding_id().to_string();
        let names: Vec<_> = layout.child_names().collect();
        let mut children = Vec::new();
        for (name, child) in names.iter().zip(layout.children()?) {
            if matches!(id.as_str(), "vortex.zoned" | "vortex.stats") && name.as_ref() == "zones" {
                self.zones(&child)?;
            } else {
                children.push((name, self.layout(&child)?));
            }
        }
        Ok(match id.as_str() {
            "vortex.zoned" | "vortex.stats" | "vortex.chunked" => {
                let mut all = Trees::new();
                for (tree, n_chunks) in children.into_iter().flat_map(|(_, trees)| trees) {
                    *all.entry(tree).or_default() += n_chunks;
                }
                all
            }
            // A dictionary shared by many chunks of codes, above the level of arrays.
            _ => {
                let parts: Vec<_> = children
                    .into_iter()
                    .map(|(name, trees)| {
                        let trees = super::trees_line(&sorted(trees), usize::MAX);
                        format!("{name}: {trees}")
                    })
                    .collect();
                let tree = format!("{}-layout({})", short(&id), parts.join(", "));
                Trees::from([(tree, 1)])
            }
        })
    }

    fn zones(&mut self, layout: &LayoutRef) -> Result<()> {
        for id in layout.segment_ids() {
            if self.seen.insert(*id) {
                self.size.zones_bytes += self.segments.get(*id)?.len() as u64;
            }
        }
        for child in layout.children()? {
            self.zones(&child)?;
        }
        Ok(())
    }
}

fn sorted(trees: Trees) -> Vec<(String, u64)> {
    let mut trees: Vec<_> = trees.into_iter().collect();
    trees.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    trees
}

/// Encoding ids with their children, such as `dict(codes: bitpacked, values: fsst(..))`.
///
/// The ids are those in the file. A decoded array may carry another one, since Vortex reads several
/// serialized versions into one type; it knows the names of the children, which the file does not.
fn array_tree(parts: &SerializedArray, array: &ArrayRef, ctx: &ReadContext) -> String {
    let id = ctx
        .resolve(parts.encoding_id())
        .map_or_else(|| "unknown".to_owned(), |id| id.to_string());
    let mut tree = match short(&id) {
        name @ ("primitive" | "constant") => format!("{name}<{}>", array.dtype()),
        name => name.to_owned(),
    };
    let children = array.named_children();
    if parts.nchildren() != children.len() {
        if parts.nchildren() > 0 {
            tree.push_str("(..)");
        }
        return tree;
    }
    let children: Vec<_> = children
        .iter()
        .enumerate()
        .map(|(i, (name, child))| format!("{name}: {}", array_tree(&parts.child(i), child, ctx)))
        .collect();
    if !children.is_empty() {
        tree.push_str(&format!("({})", children.join(", ")));
    }
    tree
}

fn short(id: &str) -> &str {
    id.strip_prefix("vortex.")
        .or_else(|| id.strip_prefix("fastlanes."))
        .unwrap_or(id)
}
