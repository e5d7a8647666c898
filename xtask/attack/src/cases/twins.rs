//! Two tables that differ in erased rows alone: after the erasure the files may differ only as the specification
//! declares (`docs/spec/erasure.md`, Declared residue).

use std::collections::HashSet;

use tarsia_codec::SharedKind;

use super::context::Context;
use crate::outcome::Outcome;
use crate::scene::{self, Scene};
use crate::walk::{Walked, WalkedColumn, WalkedPage, each_value};

/// The checksum at the start of a block.
const CRC_BYTES: usize = 4;

/// Behind the header of a block.
const SALT: std::ops::Range<usize> = 32..48;

/// Runs a case.
pub(super) fn run(seed: u64, context: &Context<'_>, outcome: &mut Outcome) -> Result<(), String> {
    let scene = Scene::of(seed)?;
    outcome.note(&*scene.text);
    let Some(one) = super::context::written(&scene.table, &scene.options, outcome)? else {
        return Ok(());
    };
    let Some(other) = super::context::written(&scene.twin, &scene.options, outcome)? else {
        return Ok(());
    };
    let one = scene::erased(one, &scene.rounds, context.folder)?;
    let other = scene::erased(other, &scene.rounds, context.folder)?;
    outcome.count("twins compared", 1);
    if one[192..] == other[192..] {
        outcome.count("twins that are equal to the byte", 1);
    }
    compare(&Walked::of(&one)?, &Walked::of(&other)?, outcome);
    Ok(())
}

/// Compares two files.
pub(crate) fn compare(one: &Walked<'_>, other: &Walked<'_>, outcome: &mut Outcome) {
    let same = |what: &str, is_same: bool, outcome: &mut Outcome| {
        outcome.count("facts about the whole file compared", 1);
        if !is_same {
            outcome.find(format!("twins differ in {what}"));
        }
    };
    let rows = one.postscript.rows == other.postscript.rows;
    same("their number of rows", rows, outcome);
    same("their deleted rows", one.deleted == other.deleted, outcome);
    same("their erased rows", one.erased == other.erased, outcome);
    let metadata = one.schema_metadata == other.schema_metadata;
    // Numbers of columns that keep their values may differ.
    let is_all = one.columns.iter().all(WalkedColumn::is_erasable);
    same(
        "what the schema's metadata say",
        metadata || !is_all,
        outcome,
    );
    for (one_column, other_column) in one.columns.iter().zip(&other.columns) {
        if one_column.is_strict(&one.schema_metadata) {
            strict(one, other, one_column, other_column, outcome);
        } else if one_column.is_erasable() {
            columns(one_column, other_column, outcome);
            scales(one_column, outcome);
        }
    }
    let pairs = one.columns.iter().zip(&other.columns);
    for (one_column, other_column) in pairs.filter(|(column, _)| column.is_erasable()) {
        blocks(one, other, one_column, other_column, outcome);
    }
}

/// Looks at the scales of rounded pages: they are steps, and tell no more.
fn scales(column: &WalkedColumn, outcome: &mut Outcome) {
    for tree in column.pages.iter().flat_map(|page| page.meta.all_trees()) {
        tree.visit(&mut |node| {
            let scale = match node.params.as_slice() {
                [5 | 6, 0, scale @ ..] if node.id == "tarsia.quantized" => scale,
                _ => return,
            };
            outcome.count("scales of rounded pages looked at", 1);
            // Two bits of fraction, whatever the width of the number.
            let finest = match scale {
                [a, b, c, _] => u64::from(a | b | c & 0x1f),
                [lower @ .., f, _] => lower
                    .iter()
                    .fold(u64::from(f & 3), |all, it| all | u64::from(*it)),
                [] | [_] => 1,
            };
            if finest != 0 {
                outcome.find(format!(
                    "column `{}`: the scale {} of a page is no step, and tells its largest value",
                    column.name,
                    hex::encode(scale)
                ));
            }
        });
    }
}

/// Whether a column is rounded to multiples of a scale of each page.
fn has_page_scales(file: &Walked<'_>, column: &WalkedColumn) -> bool {
    let rounded = file
        .schema_metadata
        .get(&format!("rounded.{}", column.name));
    rounded.is_some_and(|name| ["int8", "int4"].contains(&name.as_str()))
}

/// Compares all of two strict columns, of which nothing may differ.
fn strict(
    one_file: &Walked<'_>,
    other_file: &Walked<'_>,
    one: &WalkedColumn,
    other: &WalkedColumn,
    outcome: &mut Outcome,
) {
    outcome.count("strict columns compared", 1);
    let mut differ = |what: String| {
        outcome.find(format!(
            "column `{}` is strict, and twins differ in {what}",
            one.name
        ));
    };
    let n_pages = (one.pages.len(), other.pages.len());
    if n_pages.0 != n_pages.1 || one.shared_pages.len() + other.shared_pages.len() > 0 {
        return differ(format!("pages: {n_pages:?}, or they have shared ones"));
    }
    for (number, (a, b)) in one.pages.iter().zip(&other.pages).enumerate() {
        let rows = |page: &WalkedPage| (page.descriptor.first_row, page.descriptor.rows);
        let nulls = |page: &WalkedPage| page.descriptor.null_count;
        let blocks = |page: &WalkedPage| -> Vec<_> {
            let blocks = page.blocks.iter();
            let place = |it: &crate::walk::WalkedBlock| it.place.end - it.place.start;
            blocks.map(|it| (it.rows.clone(), place(it))).collect()
        };
        if a.meta != b.meta {
            return differ(format!("page {number}: {:?} and {:?}", a.meta, b.meta));
        }
        if rows(a) != rows(b) || nulls(a) != nulls(b) || blocks(a) != blocks(b) {
            return differ(format!(
                "page {number}: rows, nulls or the places of blocks"
            ));
        }
        for (at, (a, b)) in a.blocks.iter().zip(&b.blocks).enumerate() {
            let bytes = |file: &Walked<'_>, block: &crate::walk::WalkedBlock| {
                file.bytes[block.place.start as usize..block.place.end as usize].to_vec()
            };
            if bytes(one_file, a) != bytes(other_file, b) {
                return differ(format!("page {number}, block {at}: {}", difference(a, b)));
            }
        }
    }
}

/// The entries of a dictionary in their order, each once. A wiped entry repeats one before it, or is zero.
fn order(page: &WalkedPage) -> Vec<Vec<u8>> {
    let mut seen = HashSet::new();
    let mut order = Vec::new();
    for block in &page.blocks {
        let Ok(values) = block.decoded.values() else {
            continue;
        };
        each_value(values, &mut |_, value| {
            if value.iter().any(|byte| *byte != 0) && seen.insert(value.to_vec()) {
                order.push(value.to_vec());
            }
        });
    }
    order
}

/// Which pages refer to a shared page: number, first row, rows, first tree.
fn users(column: &WalkedColumn, number: usize) -> Vec<(usize, u64, u32, String)> {
    let pages = column.pages.iter().chain(&column.shared_pages).enumerate();
    let of = pages.filter(|(_, page)| page.shared.iter().any(|at| *at as usize == number));
    of.map(|(at, page)| {
        let tree = page
            .meta
            .trees
            .first()
            .map_or(String::new(), ToString::to_string);
        (at, page.descriptor.first_row, page.descriptor.rows, tree)
    })
    .collect()
}

fn is_dictionary(column: &WalkedColumn, number: usize) -> bool {
    let pages = column.pages.iter().chain(&column.shared_pages);
    let mut kinds = pages.flat_map(|page| page.shared.iter().zip(&page.meta.shared));
    kinds.any(|(at, spec)| *at as usize == number && spec.kind == SharedKind::Dictionary)
}

/// Compares the dictionaries of two columns, and what their metadata say of pages.
fn columns(one: &WalkedColumn, other: &WalkedColumn, outcome: &mut Outcome) {
    for number in 0..one.shared_pages.len().min(other.shared_pages.len()) {
        if !is_dictionary(one, number) || users(one, number) != users(other, number) {
            outcome.count("shared pages that differ in whom they serve (declared)", 1);
            continue;
        }
        outcome.count("dictionaries compared", 1);
        let (entries, others) = (&one.shared_pages[number], &other.shared_pages[number]);
        let (mut entries, mut others) = (order(entries), order(others));
        // A block under another tree refers to no entry, which is wiped then.
        let both: HashSet<Vec<u8>> = entries.iter().cloned().collect();
        others.retain(|entry| both.contains(entry));
        let both: HashSet<Vec<u8>> = others.iter().cloned().collect();
        entries.retain(|entry| both.contains(entry));
        outcome.count("entries of dictionaries compared", entries.len() as u64);
        let at = entries
            .iter()
            .zip(&others)
            .position(|(one, other)| one != other);
        if let Some(at) = at {
            outcome.find(format!(
                "column `{}`, shared page {number}: twins have the entries of a dictionary in another order, which tells where erased rows had them (from entry {at} of {} on)",
                one.name,
                entries.len()
            ));
        }
    }
    let cuts = |column: &WalkedColumn| -> Vec<(u64, u32)> {
        let pages = column.pages.iter();
        pages
            .map(|page| (page.descriptor.first_row, page.descriptor.rows))
            .collect()
    };
    if cuts(one) != cuts(other) {
        outcome.count("columns with other pages (declared)", 1);
        return;
    }
    for (number, (one_page, other_page)) in one.pages.iter().zip(&other.pages).enumerate() {
        outcome.count("null counts of pages compared", 1);
        let nulls = (
            one_page.descriptor.null_count,
            other_page.descriptor.null_count,
        );
        if nulls.0 != nulls.1 {
            outcome.find(format!(
                "column `{}`, page {number}: twins have {} and {} nulls",
                one.name, nulls.0, nulls.1
            ));
        }
    }
}

/// Compares blocks where all that is declared is equal.
fn blocks(
    one_file: &Walked<'_>,
    other_file: &Walked<'_>,
    one: &WalkedColumn,
    other: &WalkedColumn,
    outcome: &mut Outcome,
) {
    for ((number, one_page), (_, other_page)) in one.all_pages().zip(other.all_pages()) {
        let n_blocks = one_page.blocks.len().max(other_page.blocks.len()) as u64;
        let is_data = number < tarsia_compliance::SHARED_PAGE_FIRST;
        let cuts = |page: &WalkedPage| -> Vec<std::ops::Range<u32>> {
            page.blocks.iter().map(|block| block.rows.clone()).collect()
        };
        let is_same_page = one_page.meta == other_page.meta
            && one_page.shared == other_page.shared
            && one_page.descriptor.first_row == other_page.descriptor.first_row
            && cuts(one_page) == cuts(other_page);
        // Numbers of entries and those of wiped ones are declared.
        let has_same_buffers = || {
            one_page.shared.iter().all(|at| {
                let pages = (
                    one.shared_pages.get(*at as usize),
                    other.shared_pages.get(*at as usize),
                );
                matches!(pages, (Some(one), Some(other)) if entries(one) == entries(other))
            })
        };
        if !is_data && is_same_page && entries(one_page) != entries(other_page) {
            outcome.count(
                "blocks of shared pages with other entries (declared)",
                n_blocks,
            );
            continue;
        }
        if !is_same_page || !has_same_buffers() {
            outcome.count(
                "blocks under other trees, cuts or entries (declared)",
                n_blocks,
            );
            continue;
        }
        for (at, (one_block, other_block)) in
            one_page.blocks.iter().zip(&other_page.blocks).enumerate()
        {
            let place = |block: &crate::walk::WalkedBlock| block.place.end - block.place.start;
            if place(one_block) != place(other_block) {
                outcome.count("blocks with places of other lengths (declared)", 1);
                continue;
            }
            outcome.count("blocks compared byte by byte", 1);
            let bytes = |file: &Walked<'_>, block: &crate::walk::WalkedBlock| {
                file.bytes[block.place.start as usize..block.place.end as usize].to_vec()
            };
            let (mut a, mut b) = (bytes(one_file, one_block), bytes(other_file, other_block));
            if a == b {
                continue;
            }
            // A block that one erasure wrote anew and the other did not.
            for (block, bytes) in [(one_block, &mut a), (other_block, &mut b)] {
                bytes[..CRC_BYTES].fill(0);
                if block.header.salted {
                    bytes[SALT].fill(0);
                }
            }
            if a == b {
                outcome.count("blocks that differ in their salts alone", 1);
            } else if has_page_scales(one_file, one) {
                // Another step of the scale, which no parameter shows where other encodings were better.
                outcome.count("blocks of rounded pages that differ (declared)", 1);
            } else {
                let first = a.iter().zip(&b).position(|(a, b)| a != b).unwrap_or(0);
                let trees = (one_block.header.tree, other_block.header.tree);
                let kind = if is_data { "page" } else { "shared page" };
                outcome.note(difference(one_block, other_block));
                outcome.find(format!(
                    "column `{}`, {kind} {}, block {at}: twins differ from byte {first} of {} on, which nothing declares (trees {} and {} of {})",
                    one.name,
                    number & !tarsia_compliance::SHARED_PAGE_FIRST,
                    a.len(),
                    trees.0,
                    trees.1,
                    one_page.meta.trees.first().map_or(String::new(), ToString::to_string)
                ));
            }
        }
    }
}

/// All entries of a shared page.
fn entries(page: &WalkedPage) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    for block in &page.blocks {
        if let Ok(values) = block.decoded.values() {
            each_value(values, &mut |_, value| out.push(value.to_vec()));
        }
    }
    out
}

/// Says what the decoded blocks of twins differ in, for `--replay`.
fn difference(one: &crate::walk::WalkedBlock, other: &crate::walk::WalkedBlock) -> String {
    let values = |block: &crate::walk::WalkedBlock| -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        if let Ok(values) = block.decoded.values() {
            each_value(values, &mut |_, value| out.push(value.to_vec()));
        }
        out
    };
    let (a, b) = (values(one), values(other));
    let different = a.iter().zip(&b).enumerate().filter(|(_, (a, b))| a != b);
    let different: Vec<String> = different
        .take(4)
        .map(|(i, (a, b))| {
            let is_valid = one.decoded.validity().map(|bits| bits.get(i));
            format!(
                "value {i} (valid: {is_valid:?}): {} and {}",
                hex::encode(a),
                hex::encode(b)
            )
        })
        .collect();
    format!(
        "headers {:?} and {:?}; {different:?}",
        one.header, other.header
    )
}
