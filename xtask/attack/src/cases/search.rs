//! Every erased value is searched: in all that the file decodes to, and in its raw bytes.

use std::collections::HashSet;

use tarsia::RowSet;
use tarsia_codec::SharedKind;

use super::context::Context;
use crate::leaves::leaf_values;
use crate::needles::Needles;
use crate::outcome::Outcome;
use crate::scene::{self, Scene};
use crate::walk::{Walked, WalkedColumn, WalkedPage, each_value};

/// Values of a case that are searched in raw bytes; more would take long.
const SEARCHED_MAX: usize = 3000;

/// Finds of a column that are told; the others are counted.
const TOLD_MAX: usize = 1;

/// Runs a case.
pub(super) fn run(seed: u64, context: &Context<'_>, outcome: &mut Outcome) -> Result<(), String> {
    let scene = Scene::of(seed)?;
    outcome.note(&*scene.text);
    let Some(written) = super::context::written(&scene.table, &scene.options, outcome)? else {
        return Ok(());
    };
    let file = scene::open(written.clone())?;
    // Rounded numbers are those that the file has.
    let table = scene::scan(&file)?;
    drop(file);
    let gone = scene.erased();
    let bytes = scene::erased(written, &scene.rounds, context.folder)?;
    let rows = table.num_rows() as u64;
    let left = leaf_values(&scene::rows_of(&table, scene::survivors(rows, &gone))?)?;
    let erased: RowSet = gone.clone();
    let of_erased = (0..rows).filter(|row| erased.contains(*row));
    let mut only_erased = leaf_values(&scene::rows_of(&table, of_erased)?)?;
    for (erased, left) in only_erased.iter_mut().zip(&left) {
        erased.retain(|value| !left.contains(value) && value.iter().any(|byte| *byte != 0));
    }
    let before = outcome.finds.len();
    let walked = Walked::of(&bytes)?;
    for column in &walked.columns {
        for (number, page) in column.all_pages() {
            let trees: Vec<String> = page
                .meta
                .all_trees()
                .map(|tree| format!("{tree:?}"))
                .collect();
            outcome.note(format!(
                "`{}`, page {number}: {} blocks, {trees:?}",
                column.name,
                page.blocks.len()
            ));
        }
    }
    decoded(&walked, &only_erased, outcome);
    dead(&walked, outcome);
    raw(&walked, &only_erased, &left, outcome, || {
        let twin = scene::write(&scene.twin, &scene.options).map_err(|error| error.to_string())?;
        scene::erased(twin, &scene.rounds, context.folder)
    })?;
    let audit = scene::open(bytes.clone())?.audit();
    let audit = audit.map_err(|error| format!("audit: {error}"))?;
    outcome.count(
        "strict columns audited",
        audit.columns.iter().filter(|column| column.strict).count() as u64,
    );
    for column in audit.broken_strict_columns() {
        outcome.find(format!(
            "column `{}` is strict, and an audit says that something is left: {:?}",
            column.name, column.residue
        ));
    }
    if outcome.finds.len() > before && audit.is_clean() {
        outcome.count("audits that say clean although a value is left", 1);
        if let Some(find) = outcome.finds.get_mut(before) {
            find.push_str("; and `audit` says that none is left");
        }
    }
    outcome.count("files searched", 1);
    Ok(())
}

/// The kinds that the pages of a column say a shared page has.
fn kinds_of(column: &WalkedColumn, number: usize) -> Vec<SharedKind> {
    let is_of = |page: &WalkedPage| {
        let mut shared = page.shared.iter();
        let at = shared.position(|index| *index as usize == number);
        let kind = at.and_then(|at| page.meta.shared.get(at));
        kind.map(|spec| spec.kind)
    };
    let pages = column.pages.iter().chain(&column.shared_pages);
    pages.filter_map(is_of).collect()
}

/// Whether a shared page holds whole values of a column, rather than pieces of them, or what an encoding makes of them,
/// such as their lengths.
fn holds_whole_values(column: &WalkedColumn, number: usize) -> bool {
    let is_of_column = column.shared_pages.get(number).is_some_and(|shared| {
        let mut pages = column.pages.iter();
        pages.all(|page| page.meta.value_type == shared.meta.value_type)
    });
    let kinds = kinds_of(column, number);
    is_of_column && kinds.iter().all(|kind| *kind == SharedKind::Dictionary)
}

/// Compares all that blocks decode to with the values that only erased rows had.
pub(super) fn decoded(
    walked: &Walked<'_>,
    only_erased: &[HashSet<Vec<u8>>],
    outcome: &mut Outcome,
) {
    for column in walked.columns.iter().filter(|column| column.is_erasable()) {
        let Some(erased) = only_erased.get(column.leaf as usize) else {
            outcome.find(format!(
                "column `{}` is of no leaf of the table",
                column.name
            ));
            continue;
        };
        outcome.count("values looked for by decoding", erased.len() as u64);
        let mut n_found = 0;
        let mut look = |page: &WalkedPage, what: &str, number: usize, outcome: &mut Outcome| {
            for (at, block) in page.blocks.iter().enumerate() {
                outcome.count("blocks decoded", 1);
                let Ok(values) = block.decoded.values() else {
                    continue;
                };
                let validity = block.decoded.validity();
                let has_slots = validity.is_some_and(|bits| bits.len() == values.len());
                each_value(values, &mut |i, value| {
                    if !erased.contains(value) {
                        return;
                    }
                    n_found += 1;
                    if n_found > TOLD_MAX {
                        return;
                    }
                    let role = match validity.filter(|_| has_slots) {
                        Some(bits) if !bits.get(i) => "filler of the null item",
                        _ => "value",
                    };
                    outcome.find(format!(
                        "column `{}`, {what} {number}, block {at}: {role} {i} is a value of an erased row, {}",
                        column.name,
                        shortened(value)
                    ));
                });
            }
        };
        for (number, page) in column.pages.iter().enumerate() {
            look(page, "page", number, outcome);
        }
        for (number, page) in column.shared_pages.iter().enumerate() {
            if holds_whole_values(column, number) {
                look(page, "shared page", number, outcome);
            }
        }
        outcome.count("erased values that are left", n_found as u64);
    }
}

fn shortened(value: &[u8]) -> String {
    match value.get(..24) {
        Some(start) => format!("{}…", hex::encode(start)),
        None => hex::encode(value),
    }
}

/// Nothing but zeros is where nothing is.
fn dead(walked: &Walked<'_>, outcome: &mut Outcome) {
    for (what, range) in walked.dead_ranges() {
        let bytes = walked.bytes.get(range.start as usize..range.end as usize);
        let bytes = bytes.unwrap_or_default();
        outcome.count("dead bytes looked at", bytes.len() as u64);
        if let Some(at) = bytes.iter().position(|byte| *byte != 0) {
            let place = range.start + at as u64;
            outcome.find(format!("{what} is not zero at byte {place} of the file"));
        }
    }
}

/// Searches the raw file. What the twin has, too, which never held the value, is chance.
fn raw(
    walked: &Walked<'_>,
    only_erased: &[HashSet<Vec<u8>>],
    left: &[HashSet<Vec<u8>>],
    outcome: &mut Outcome,
    twin: impl FnOnce() -> Result<Vec<u8>, String>,
) -> Result<(), String> {
    // Columns at other levels hold their values still, perhaps the same ones.
    let is_searched = |column: &&WalkedColumn| column.is_erasable();
    let mut needles = Needles::default();
    let mut values: Vec<(&str, &Vec<u8>)> = Vec::new();
    for column in walked.columns.iter().filter(is_searched) {
        let mut erased: Vec<&Vec<u8>> = only_erased
            .get(column.leaf as usize)
            .into_iter()
            .flatten()
            .collect();
        erased.sort_unstable();
        let step = (erased.len() * walked.columns.len())
            .div_ceil(SEARCHED_MAX)
            .max(1);
        for value in erased.into_iter().step_by(step) {
            if needles.add(values.len(), value) > 0 {
                values.push((&column.name, value));
            }
        }
    }
    let mut known: Vec<u8> = Vec::new();
    let mut sorted: Vec<&Vec<u8>> = left.iter().flatten().collect();
    sorted.sort_unstable();
    for value in sorted {
        known.extend_from_slice(value);
    }
    for (_, values) in walked
        .columns
        .iter()
        .zip(only_erased)
        .filter(|(column, _)| !column.is_erasable())
    {
        values
            .iter()
            .for_each(|value| known.extend_from_slice(value));
    }
    needles.forget_those_in(&known);
    outcome.count("values searched in raw bytes", values.len() as u64);
    outcome.count("patterns searched at each bit", needles.len() as u64);
    let hits = needles.search(walked.bytes);
    if hits.is_empty() {
        return Ok(());
    }
    let of_twin: HashSet<usize> = needles
        .search(&twin()?)
        .iter()
        .map(|hit| hit.value)
        .collect();
    let mut told = HashSet::new();
    for hit in hits.iter().filter(|hit| !of_twin.contains(&hit.value)) {
        if holds_pieces(walked, hit.at_byte as u64) {
            outcome.count("patterns in pieces of survivors", 1);
            continue;
        }
        let Some((column, value)) = values.get(hit.value) else {
            continue;
        };
        outcome.count("erased values that are in raw bytes", 1);
        if told.insert(*column) {
            outcome.find(format!(
                "column `{column}`: erased value {} is at byte {} of the file, shifted by {} bits, as {:?} ({})",
                shortened(value),
                hit.at_byte,
                hit.shift,
                hit.form,
                place_of(walked, hit.at_byte as u64)
            ));
        }
    }
    Ok(())
}

/// Whether tokens or symbols lie at a byte of the file. Each is a piece of a survivor, else it is wiped, and two side
/// by side may be a piece of other values: that is declared.
fn holds_pieces(walked: &Walked<'_>, at: u64) -> bool {
    walked.columns.iter().any(|column| {
        let mut shared = column.shared_pages.iter().enumerate();
        shared.any(|(number, page)| {
            let is_there = page.blocks.iter().any(|block| block.place.contains(&at));
            is_there && !kinds_of(column, number).contains(&SharedKind::Dictionary)
        })
    })
}

/// Says what lies at a byte of the file.
fn place_of(walked: &Walked<'_>, at: u64) -> String {
    for column in &walked.columns {
        for (number, page) in column.all_pages() {
            for (i, block) in page.blocks.iter().enumerate() {
                if block.place.contains(&at) {
                    let kind = match number >= tarsia_compliance::SHARED_PAGE_FIRST {
                        true => "shared page",
                        false => "page",
                    };
                    let number = number & !tarsia_compliance::SHARED_PAGE_FIRST;
                    return format!("column `{}`, {kind} {number}, block {i}", column.name);
                }
            }
        }
    }
    match at >= walked.footer.meta_place {
        true => "behind the pages".to_owned(),
        false => "between the pages".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::users::Users;
    use tarsia_testkit::rng::Rng;

    /// A table of users and its file, from which nothing was erased.
    fn file() -> (arrow_array::RecordBatch, Vec<u8>) {
        let users = Users {
            rows: 600,
            secrets: 3,
            nulls: 5,
            page_bytes: 4000,
        };
        let table = users.table(&mut Rng::new(9)).unwrap();
        let bytes = scene::write(&table, &users.options()).unwrap();
        (table, bytes)
    }

    #[test]
    fn a_value_that_is_left_is_found_by_decoding_and_in_raw_bytes() {
        let (table, bytes) = file();
        let walked = Walked::of(&bytes).unwrap();
        // As if these rows were erased.
        let values = leaf_values(&scene::rows_of(&table, 100..110).unwrap()).unwrap();
        let mut outcome = Outcome::default();
        decoded(&walked, &values, &mut outcome);
        assert_eq!(outcome.finds.len(), 4, "{:?}", outcome.finds);
        let mut outcome = Outcome::default();
        let left: Vec<_> = values.iter().map(|_| HashSet::new()).collect();
        raw(&walked, &values, &left, &mut outcome, || Ok(vec![0; 64])).unwrap();
        assert!(!outcome.finds.is_empty());
        // What the twin has, too, is chance.
        let mut outcome = Outcome::default();
        raw(&walked, &values, &left, &mut outcome, || Ok(bytes.clone())).unwrap();
        assert_eq!(outcome.finds, Vec::<String>::new());
    }

    #[test]
    fn a_byte_that_belongs_to_nothing_is_found() {
        let (_, mut bytes) = file();
        let dead_ranges = Walked::of(&bytes).unwrap().dead_ranges();
        let (_, range) = dead_ranges.last().unwrap().clone();
        let finds = |bytes: &[u8]| {
            let mut outcome = Outcome::default();
            dead(&Walked::of(bytes).unwrap(), &mut outcome);
            outcome.finds.len()
        };
        assert_eq!(finds(&bytes), 0);
        bytes[range.start as usize] = 1;
        assert_eq!(finds(&bytes), 1);
    }
}
