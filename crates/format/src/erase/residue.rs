//! The residue: what an erasure leaves that may depend on erased values.

use tarsia_codec::{Node, Registry, Tree, ValueType};
use tarsia_metadata::ErasureLevel;
use tarsia_page_writer::{is_strict as is_strict_page, strict_place_bytes};
use tarsia_structure::meta::{Layout, Meta};

use crate::error::Result;
use crate::exec::{OpenFile, blocks_of};
use crate::plan::PageNumber;
use crate::table::Column;
use crate::write::{STRICT_KEY_PREFIX, STRICT_VALUE};

/// A part of a column that may depend on erased values. `docs/spec/residue.md` says more of each.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Residue {
    /// The id of an encoding, or `pages`, or `blocks`.
    pub holder: String,
    /// Says what it tells, in words that follow a colon.
    pub tells: String,
}

impl Residue {
    fn new(holder: &str, tells: impl Into<String>) -> Self {
        Self {
            holder: holder.to_owned(),
            tells: tells.into(),
        }
    }
}

/// Whether a file says that erasures leave nothing of a column.
pub(crate) fn is_strict(file: &OpenFile, column: &Column) -> Result<bool> {
    let key = format!("{STRICT_KEY_PREFIX}{}", column.name());
    let said = file.schema_metadata()?.get(&key);
    let is_said = said.is_some_and(|value| value == STRICT_VALUE);
    Ok(column.level == ErasureLevel::Erase && is_said)
}

/// Finds what erasures leave of a column at level 2, each thing once; nothing of a strict column that is stored as
/// such.
pub(crate) fn residue_of(file: &OpenFile, column: &Column) -> Result<Vec<Residue>> {
    if column.value_type.is_none() || column.pages.is_empty() {
        return Ok(Vec::new());
    }
    let mut left = Vec::new();
    match is_strict(file, column)? {
        true if is_stored_strictly(file, column)? => return Ok(left),
        true => left.push(Residue::new(
            "pages",
            "the column is said to be strict, and is not stored as strict columns are",
        )),
        false => {}
    }
    left.push(Residue::new(
        "pages",
        "of which kind the values were: trees of encodings and their parameters, whether some were null, where pages and blocks were cut",
    ));
    let mut has_sizes = column.value_type == Some(ValueType::Bytes);
    let data = (0..column.pages.len()).map(PageNumber::Data);
    let shared = (0..column.shared_pages.len()).map(PageNumber::Shared);
    for number in data.chain(shared) {
        let page = number.of(column)?;
        let meta = page.description.meta()?;
        has_sizes |= meta.layout == Layout::MiniBlock;
        of_trees(meta, &file.session.registry, &mut left);
    }
    if has_sizes {
        left.push(Residue::new(
            "blocks",
            "how many bytes their rows took: of texts and lists about how long they were",
        ));
    }
    left.sort();
    left.dedup();
    Ok(left)
}

fn of_trees(meta: &Meta, registry: &Registry, left: &mut Vec<Residue>) {
    let mut add = |tree: &Tree| {
        tree.visit(&mut |node| {
            let mut known = registry.writers().iter();
            match known.find(|known| known.writer.id() == node.id) {
                Some(known) => {
                    // What a node tells does not depend on the type of its values.
                    let value_type = meta.value_type.unwrap_or(ValueType::Bits);
                    let node = Node {
                        value_type,
                        version: node.version,
                        params: &node.params,
                    };
                    if let Some(tells) = known.writer.residue(&node) {
                        left.push(Residue::new(known.writer.id(), tells));
                    }
                }
                None => left.push(Residue::new(
                    &node.id,
                    "this program does not write the encoding, and does not know what its parameters tell",
                )),
            }
        });
    };
    meta.all_trees().for_each(&mut add);
}

/// Whether all pages of a column are as those of any other values of as many rows would be.
fn is_stored_strictly(file: &OpenFile, column: &Column) -> Result<bool> {
    let registry = &file.session.registry;
    if !column.shared_pages.is_empty() {
        return Ok(false);
    }
    for number in (0..column.pages.len()).map(PageNumber::Data) {
        let page = number.of(column)?;
        let meta = page.description.meta()?;
        let writes = meta.all_trees().all(|tree| registry.writes(tree));
        if !writes || !page.moved().is_empty() {
            return Ok(false);
        }
        if !is_strict_page(meta, column.path.nullable(), registry)? {
            return Ok(false);
        }
        let blocks = blocks_of(file, column, number)?;
        for block in 0..page.descriptor.n_blocks {
            let rows = blocks.rows_of(block)?;
            let place = page.first_place_of(blocks, block)?;
            let most = strict_place_bytes(meta, rows.end - rows.start, registry)?;
            if most != Some(place.end - place.start) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
