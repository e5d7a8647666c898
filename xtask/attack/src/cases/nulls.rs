//! Guesses from a certificate at an erased row: which of its values were null.
//!
//! Whoever holds the erased file and the certificate knows the metadata as it was but for the null counts of the pages
//! that lost a row. For each guess of these the metadata are built again, up to the root; the certificate says which
//! root is right.

use std::collections::HashMap;

use serde_json::Value;
use tarsia_compliance as compliance;
use tarsia_compliance::DigestTree;
use tarsia_metadata::{
    ColumnMeta, ColumnRecord, ColumnSource, NodeRecord, Postscript, Section, limits,
};
use tarsia_testkit::rng::Rng;

use super::context::Context;
use crate::outcome::Outcome;
use crate::scene;
use crate::tool::Tool;
use crate::users::Users;
use crate::walk::{Walked, WalkedColumn};

/// Sections that an erasure adds or writes anew. The history before had a salt that nobody has any more.
const ADDED_SECTIONS: [u32; 4] = [5, 6, 7, 8];

/// Runs a case.
pub(super) fn run(seed: u64, context: &Context<'_>, outcome: &mut Outcome) -> Result<(), String> {
    let mut rng = Rng::new(seed ^ 0x6e75_6c6c);
    let users = Users {
        rows: rng.between(20, 1200),
        secrets: rng.between(1, 10),
        nulls: *rng.pick(&[20, 50]),
        page_bytes: *rng.pick(&[4000, 8 << 20]),
    };
    let table = users.table(&mut rng)?;
    let tool = Tool {
        command: context.command,
        folder: context.folder,
    };
    let path = tool.path("users.tarsia");
    // Zones before are not guessed: with their bounds nothing but the metadata would be right.
    let written = scene::write(&table, &users.options().with_zones(false));
    let written = written.map_err(|error| error.to_string())?;
    std::fs::write(&path, written).map_err(|error| error.to_string())?;
    let row = rng.below(users.rows);
    outcome.note(format!("{users:?}, row {row}"));
    let row_text = row.to_string();
    tool.must(&[
        "erase",
        "users.tarsia",
        "--rows",
        &row_text,
        "--certificate",
        "c.json",
    ])?;
    let bytes = std::fs::read(&path).map_err(|error| error.to_string())?;
    let certificate = std::fs::read(tool.path("c.json")).map_err(|error| error.to_string())?;
    let certificate: Value =
        serde_json::from_slice(&certificate).map_err(|error| error.to_string())?;
    let pattern = (0..users.secrets)
        .filter(|number| table.column(number + 1).is_null(row))
        .fold(0u32, |pattern, number| pattern | 1 << number);
    outcome.count("patterns of nulls guessed", 1);
    match guess(&bytes, &certificate, users.secrets, outcome)? {
        Guessed::Nothing => outcome.count("certificates that no guess can be held against", 1),
        Guessed::None => outcome.count("certificates that no guess fits", 1),
        Guessed::Pattern(found) => {
            let is_right = if found == pattern {
                "rightly"
            } else {
                "wrongly"
            };
            outcome.find(format!(
                "file and certificate say {is_right} which of {} values of erased row {row} were null: {found:0width$b}, lowest column last",
                users.secrets,
                width = users.secrets
            ));
        }
    }
    Ok(())
}

/// Result of guessing.
enum Guessed {
    /// The certificate does not say enough of the state before.
    Nothing,
    /// No guess gives the root before.
    None,
    /// The columns that lost a null.
    Pattern(u32),
}

fn digest(value: &Value) -> Option<[u8; 32]> {
    let mut digest = [0; 32];
    hex::decode_to_slice(value.as_str()?, &mut digest).ok()?;
    Some(digest)
}

/// Tries all patterns of nulls of a row.
fn guess(
    bytes: &[u8],
    certificate: &Value,
    n_secrets: usize,
    outcome: &mut Outcome,
) -> Result<Guessed, String> {
    let Some(old_root) = digest(&certificate["old_root"]) else {
        return Ok(Guessed::Nothing);
    };
    let Some(before) = Before::of(bytes, certificate)? else {
        return Ok(Guessed::Nothing);
    };
    for pattern in 0..1u32 << n_secrets {
        outcome.count("guesses tried", 1);
        let lost_null = |name: &str| -> u32 {
            let number = name
                .strip_prefix('s')
                .and_then(|number| number.parse::<u32>().ok());
            number.map_or(0, |number| pattern >> number & 1)
        };
        if before.root(&lost_null)? == old_root {
            return Ok(Guessed::Pattern(pattern));
        }
    }
    Ok(Guessed::None)
}

/// The state before an erasure, but for null counts.
struct Before<'a> {
    walked: Walked<'a>,
    /// Digests of blocks before, by column, page and block.
    blocks: HashMap<(String, u32, u32), [u8; 32]>,
    /// The history before, with its salt: what an adversary lacks.
    history: Option<(Section, Vec<u8>)>,
}

impl<'a> Before<'a> {
    /// Reads what a certificate says of the blocks before; `None` where it says nothing.
    fn of(bytes: &'a [u8], certificate: &Value) -> Result<Option<Self>, String> {
        let mut blocks = HashMap::new();
        let none = Vec::new();
        for column in certificate["columns"].as_array().unwrap_or(&none) {
            let name = column["name"].as_str().unwrap_or_default();
            for block in column["blocks"].as_array().unwrap_or(&none) {
                let Some(before) = digest(&block["before"]) else {
                    return Ok(None);
                };
                let number = |field: &str| block[field].as_u64().unwrap_or(0) as u32;
                let first = match block["shared"].as_bool() {
                    Some(true) => compliance::SHARED_PAGE_FIRST,
                    _ => 0,
                };
                let key = (name.to_owned(), first + number("page"), number("block"));
                blocks.insert(key, before);
            }
        }
        let walked = Walked::of(bytes)?;
        Ok((!blocks.is_empty()).then_some(Self {
            walked,
            blocks,
            history: None,
        }))
    }

    /// The root before, where each page that lost a row has lost so many nulls.
    fn root(&self, lost_nulls: &dyn Fn(&str) -> u32) -> Result<[u8; 32], String> {
        let text = |error: tarsia_metadata::Error| error.to_string();
        let walked = &self.walked;
        let start = walked.footer.meta_place;
        let mut region = walked.bytes[start as usize..walked.footer.tree_place as usize].to_vec();
        for column in &walked.columns {
            let mut meta = column.meta.clone();
            let data = (0..).zip(meta.pages.iter_mut());
            let shared = (compliance::SHARED_PAGE_FIRST..).zip(meta.shared_pages.iter_mut());
            let mut is_changed = false;
            for (number, page) in data.chain(shared) {
                let before = (0..page.n_blocks).filter_map(|block| {
                    let key = (column.name.clone(), number, block);
                    Some((block, *self.blocks.get(&key)?))
                });
                let before: Vec<(u32, [u8; 32])> = before.collect();
                if before.is_empty() {
                    continue;
                }
                is_changed = true;
                if number < compliance::SHARED_PAGE_FIRST {
                    page.null_count += lost_nulls(&column.name);
                }
                // A file that was never erased is in epoch 1.
                page.epoch = page.epoch.min(1);
                match page.digests_range() {
                    None => page.digest = before[0].1,
                    Some(range) => {
                        let at = (range.start - start) as usize;
                        let digests = &mut region[at..at + 16 * page.n_blocks as usize];
                        let digests = digests.as_chunks_mut::<16>().0;
                        for (block, before) in before {
                            digests[block as usize] = compliance::stored_block_digest(&before);
                        }
                        page.digest = compliance::page_digest(column.leaf, number, digests);
                    }
                }
            }
            if !is_changed {
                continue;
            }
            let digests = |pages: &[tarsia_metadata::PageDescriptor]| -> Vec<[u8; 32]> {
                pages.iter().map(|page| page.digest).collect()
            };
            let (data, shared) = (digests(&meta.pages), digests(&meta.shared_pages));
            let digest = compliance::column_digest(column.leaf, &data, &shared);
            reseal_record(&mut region, start, column, &meta, digest)?;
        }
        let mut footer = walked.footer.clone();
        footer
            .sections
            .retain(|section| !ADDED_SECTIONS.contains(&section.id));
        if let Some((section, bytes)) = &self.history {
            let at = (section.range.start - start) as usize;
            region[at..at + bytes.len()].copy_from_slice(bytes);
            let sections = &mut footer.sections;
            let behind = sections.partition_point(|it| it.range.start < section.range.start);
            sections.insert(behind, section.clone());
        }
        let footer_bytes = footer.to_bytes().map_err(text)?;
        let postscript = Postscript {
            committed_bytes: footer.late_place()
                + (footer_bytes.len() + limits::POSTSCRIPT_BYTES) as u64,
            footer_bytes: footer_bytes.len() as u32,
            root_digest: [0; 32],
            ..walked.postscript
        };
        let postscript = postscript
            .bytes_for_root_digest(&footer_bytes)
            .map_err(text)?;
        let top = DigestTree::build(&region).top;
        Ok(compliance::root_digest(
            walked.bytes,
            &top,
            &footer_bytes,
            &postscript,
        ))
    }
}

/// A guess is held against a root that its file had, so the attack works where it can.
/// Writes a column's record anew, with what a list of pages says now. `region` lies at `start`.
fn reseal_record(
    region: &mut [u8],
    start: u64,
    column: &WalkedColumn,
    meta: &ColumnMeta,
    digest: [u8; 32],
) -> Result<(), String> {
    let text = |error: tarsia_metadata::Error| error.to_string();
    let at = (column.record_place - start) as usize;
    let stored = region[at..].to_vec();
    let stored = NodeRecord::parse(&stored).map_err(text)?.column;
    let stored = stored.ok_or("a record without a column")?;
    let (patched, description);
    let record = match stored.source {
        ColumnSource::Meta { place, length, .. } => {
            let at = (place - start) as usize;
            let old = &region[at..at + length as usize];
            let patched = meta.patched(old).map_err(text)?;
            region[at..at + patched.len()].copy_from_slice(&patched);
            ColumnRecord::of_meta(place, &patched, digest).map_err(text)?
        }
        ColumnSource::Inside { bytes } => {
            patched = meta.patched(bytes).map_err(text)?;
            ColumnRecord::of_meta_inside(&patched, digest).map_err(text)?
        }
        ColumnSource::Page { .. } | ColumnSource::Empty => {
            description = meta.description_of(&meta.pages[0]).map_err(text)?;
            ColumnRecord::of_page(&meta.pages[0], description).map_err(text)?
        }
    };
    let record = record
        .with_level(column.level)
        .with_zones(column.zones)
        .with_blooms(column.blooms);
    let node = NodeRecord::with_column(&region[at..], &record).map_err(text)?;
    region[at..at + node.len()].copy_from_slice(&node);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarsia::RowSet;

    #[test]
    fn the_root_before_is_built_from_digests_and_null_counts() {
        let mut rng = Rng::new(3);
        let users = Users {
            rows: 500,
            secrets: 4,
            nulls: 50,
            page_bytes: 4000,
        };
        let table = users.table(&mut rng).unwrap();
        let written = scene::write(&table, &users.options().with_zones(false)).unwrap();
        let old = Walked::of(&written).unwrap();
        let root = old.postscript.root_digest;
        let is_history = |section: &&Section| section.id == 8;
        let history = old.footer.sections.iter().find(is_history).unwrap().clone();
        let place = history.range.start as usize..history.range.end as usize;
        let salted = (history, written[place].to_vec());
        let file = scene::open(written).unwrap();
        let rows: RowSet = [123].into_iter().collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.tarsia");
        let plan = file
            .plan_erasure(&rows, tarsia::ErasureLevel::Erase)
            .unwrap();
        let report = file.write_erased(plan, &path).unwrap();
        let mut blocks = HashMap::new();
        for column in &report.columns {
            for block in &column.blocks {
                let first = if block.shared {
                    compliance::SHARED_PAGE_FIRST
                } else {
                    0
                };
                let key = (column.name.clone(), first + block.page, block.block);
                blocks.insert(key, block.before);
            }
        }
        let bytes = std::fs::read(&path).unwrap();
        let walked = Walked::of(&bytes).unwrap();
        let mut before = Before {
            walked,
            blocks,
            history: Some(salted),
        };
        let truth = |name: &str| {
            let column = table.column_by_name(name).unwrap();
            u32::from(column.is_null(123))
        };
        assert_eq!(before.root(&truth).unwrap(), root);
        let lie = |name: &str| truth(name) ^ u32::from(name == "s0");
        assert_ne!(before.root(&lie).unwrap(), root);
        // Without the salt, the truth is not told from a lie.
        before.history = None;
        assert_ne!(before.root(&truth).unwrap(), root);
    }
}
