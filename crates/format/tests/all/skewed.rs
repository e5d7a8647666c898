//! Nested columns whose rows are not alike: nothing for a long time and then much, one giant row, other nulls in every
//! page, long runs of nulls at each level, lists of a million empty lists. Batches, pages and blocks end at different
//! rows.

use std::sync::Arc;

use crate::common::{deterministic, open_with, write};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema};
use tarsia::{File, OpenOptions, Threads};
use tarsia_testkit::nested::picked_logical_difference;
use tarsia_testkit::rng::Rng;
use tarsia_testkit::shapes::{Leaf, Node, Slot, shape_array};

use Node::{Dense, List, Map, Runs, Sparse, Struct, Vector, View};

/// How the slots of a level are.
#[derive(Clone, Copy)]
struct Level {
    null_percent: u32,
    /// Lists have up to so many items, or exactly so many.
    items: usize,
    exactly: bool,
}

const USUAL: Level = Level {
    null_percent: 5,
    items: 3,
    exactly: false,
};

const EMPTY: Level = Level {
    null_percent: 0,
    items: 0,
    exactly: true,
};

const NULL: Level = Level {
    null_percent: 100,
    ..EMPTY
};

/// Levels from the top down, the leaf last; the last one stands for those behind it.
fn slot(rng: &mut Rng, nodes: &[Node], levels: &[Level]) -> Slot {
    let (level, below) = match levels {
        [level] => (level, levels),
        [level, below @ ..] => (level, below),
        [] => panic!("no level"),
    };
    let is_null = rng.percent(level.null_percent);
    let Some((node, nodes)) = nodes.split_first() else {
        return if is_null { Slot::Null } else { Slot::Value };
    };
    // None of them has nulls of its own. What is said exactly is neither left to chance nor repeated.
    match node {
        Dense | Sparse if !level.exactly && rng.percent(30) => {
            let leaf = if is_null { Slot::Null } else { Slot::Value };
            return Slot::Chosen(1, leaf.into());
        }
        Dense | Sparse => return Slot::Chosen(0, slot(rng, nodes, below).into()),
        Runs if !level.exactly && rng.percent(90) => return Slot::Again,
        Runs => return slot(rng, nodes, below),
        _ => {}
    }
    if is_null {
        return Slot::Null;
    }
    let n_items = match node {
        Struct => 1,
        Vector(length) => *length,
        _ if level.exactly => level.items,
        _ => rng.below(level.items + 1),
    };
    Slot::Items((0..n_items).map(|_| slot(rng, nodes, below)).collect())
}

/// The types that each skew is tried with: how a page is cut depends on what is above the leaf.
const SHAPES: [&[Node]; 11] = [
    &[List],
    &[Struct],
    &[List, List],
    &[Struct, List],
    &[List, Struct, List],
    &[Vector(2), List],
    &[List, Vector(2)],
    &[Map, View],
    &[View, Sparse],
    &[Dense, List, Struct],
    &[Runs, List, List],
];

/// Pages, batches written and batches read: no two have a divisor in common.
const PAGE_BYTES: [u64; 3] = [1013, 30_011, 8 << 20];
const WRITE_ROWS: [usize; 3] = [769, 97, 5003];
const SCAN_ROWS: [usize; 3] = [61, 1999, 8191];

fn check(what: &str, nodes: &[Node], leaf: Leaf, slots: &[Slot], seed: usize) {
    let array = shape_array(nodes, leaf, slots, 0, seed);
    let field = Field::new("x", array.data_type().clone(), true);
    let schema = Arc::new(Schema::new(vec![field]));
    let batch = RecordBatch::try_new(schema.clone(), vec![array.clone()]).unwrap();
    let step = WRITE_ROWS[seed % 3];
    let rows = batch.num_rows();
    let parts = (0..rows).step_by(step);
    let parts: Vec<_> = parts
        .map(|start| batch.slice(start, step.min(rows - start)))
        .collect();
    for (turn, page_bytes) in PAGE_BYTES.into_iter().enumerate() {
        let what = format!("{what}, {nodes:?} of {leaf:?}, pages of {page_bytes} bytes");
        let options = deterministic().with_page_bytes(page_bytes);
        let bytes = write(schema.clone(), &parts, options);
        let options = OpenOptions::new().with_threads(Threads::One);
        let file = open_with(&bytes, options).unwrap_or_else(|error| panic!("{what}: {error}"));
        check_reads(&what, &file, &array, SCAN_ROWS[(seed + turn) % 3]);
    }
}

fn check_reads(what: &str, file: &File, array: &ArrayRef, batch_rows: usize) {
    let rows = array.len();
    let same = |got: &RecordBatch, rows: &mut dyn Iterator<Item = usize>, read: &str| {
        picked_logical_difference(got.column(0), array, rows)
            .unwrap_or_else(|difference| panic!("{what}, {read}: {difference}"));
    };
    let scan = |start: usize, end: usize, batch_rows: usize| {
        let read = format!("rows {start}..{end} by {batch_rows}");
        let mut at = start;
        let scan = file.scan().rows(start as u64..end as u64);
        for part in scan.batch_rows(batch_rows).build().unwrap() {
            let part = part.unwrap_or_else(|error| panic!("{what}, {read}: {error}"));
            same(&part, &mut (at..at + part.num_rows()), &read);
            at += part.num_rows();
        }
        assert_eq!(at, end, "{what}, {read}");
    };
    scan(0, rows, batch_rows);
    let mut rng = Rng::new(rows as u64);
    for _ in 0..6 {
        let start = rng.below(rows + 1);
        let end = start + rng.below(rows + 1 - start).min(4000);
        scan(start, end, 1 + rng.below(batch_rows));
    }
    let mut takes: Vec<Vec<usize>> = vec![vec![0], vec![rows - 1], vec![rows - 1, 0, rows - 1]];
    takes.extend((0..10).map(|_| vec![rng.below(rows)]));
    for n in [2, 50, 400] {
        let random: Vec<usize> = (0..n).map(|_| rng.below(rows)).collect();
        let mut rising = random.clone();
        rising.sort_unstable();
        let few: Vec<usize> = (0..n).map(|at| random[at * 7 % n.min(3)]).collect();
        takes.extend([rising.into_iter().rev().collect(), random, few]);
    }
    for picked in takes {
        let read = format!("take of {} rows from {}", picked.len(), picked[0]);
        let indices: Vec<u64> = picked.iter().map(|row| *row as u64).collect();
        let taken = file.take(&indices).read();
        let taken = taken.unwrap_or_else(|error| panic!("{what}, {read}: {error}"));
        same(&taken, &mut picked.into_iter(), &read);
    }
}

/// Slots below one, itself counted.
fn size(slot: &Slot) -> usize {
    match slot {
        Slot::Items(items) => 1 + items.iter().map(size).sum::<usize>(),
        Slot::Chosen(_, slot) => 1 + size(slot),
        _ => 1,
    }
}

/// Every skew with every shape: `stretches` says how many rows are how, given the number of nodes. Returns the largest
/// row of each.
fn check_shapes(what: &str, stretches: impl Fn(usize) -> Vec<(usize, Vec<Level>)>) -> Vec<usize> {
    let mut largest = vec![];
    for (seed, nodes) in SHAPES.into_iter().enumerate() {
        let mut rng = Rng::new(seed as u64);
        let mut slots = vec![];
        for (rows, levels) in stretches(nodes.len()) {
            slots.extend((0..rows).map(|_| slot(&mut rng, nodes, &levels)));
        }
        let leaf = [Leaf::Number, Leaf::Text][seed % 2];
        check(what, nodes, leaf, &slots, seed);
        largest.extend(slots.iter().map(size).max());
    }
    largest
}

#[test]
fn nothing_for_a_long_time_and_then_data() {
    check_shapes("empty rows first", |_| {
        vec![(9000, vec![EMPTY]), (1000, vec![USUAL])]
    });
    check_shapes("null rows first", |_| {
        vec![(5000, vec![NULL]), (500, vec![USUAL]), (3000, vec![NULL])]
    });
    check_shapes("lists of empty lists first", |_| {
        vec![(4000, vec![USUAL, EMPTY]), (1000, vec![USUAL])]
    });
}

#[test]
fn one_giant_row_among_empty_ones() {
    for giant_level in 0..2 {
        let largest = check_shapes("a giant row", |_| {
            let few = Level { items: 1, ..USUAL };
            let giant = Level {
                null_percent: 0,
                items: 60_000,
                exactly: true,
            };
            let one = Level { items: 1, ..giant };
            let giant = match giant_level {
                0 => vec![giant, few],
                _ => vec![one, giant, few],
            };
            vec![(2500, vec![EMPTY]), (1, giant), (2500, vec![EMPTY])]
        });
        // A list is the first node or the second.
        let giants = largest.iter().filter(|size| **size > 60_000).count();
        assert!(giants >= 6, "{largest:?}");
    }
}

/// Nulls at one level alone for some hundred rows, then at another one, then at none, then everywhere.
#[test]
fn other_nulls_in_every_page() {
    check_shapes("other nulls per stretch", |depth| {
        let full = Level {
            null_percent: 0,
            ..USUAL
        };
        let half = Level {
            null_percent: 50,
            ..USUAL
        };
        let one_level = |at: usize| {
            let mut levels = vec![full; depth + 1];
            levels[at] = half;
            (577, levels)
        };
        let mut stretches: Vec<_> = (0..=depth).map(one_level).collect();
        stretches.push((577, vec![full]));
        stretches.push((577, vec![NULL]));
        stretches.push((577, vec![half]));
        stretches.extend(stretches.clone());
        stretches
    });
}

#[test]
fn long_runs_of_nulls_at_each_level() {
    check_shapes("runs of nulls", |depth| {
        let null_at = |at: usize| {
            let mut levels = vec![USUAL; depth + 1];
            levels[at] = NULL;
            (2100 + 311 * at, levels)
        };
        let usual = (23, vec![USUAL]);
        (0..=depth)
            .flat_map(|at| [null_at(at), usual.clone()])
            .collect()
    });
}

/// A level of a million slots with nothing below them, between rows that have items.
#[test]
fn lists_of_a_million_empty_lists() {
    for (seed, (nodes, inner)) in [
        (vec![List, List], Slot::Items(vec![])),
        (
            vec![List, Struct, List],
            Slot::Items(vec![Slot::Items(vec![])]),
        ),
        (vec![View, View], Slot::Null),
        (vec![List, Struct], Slot::Null),
    ]
    .into_iter()
    .enumerate()
    {
        let mut rng = Rng::new(seed as u64);
        let mut slots: Vec<Slot> = (0..40).map(|_| slot(&mut rng, &nodes, &[USUAL])).collect();
        for row in [3, 20, 21] {
            slots[row] = Slot::Items(vec![inner.clone(); 1_000_000]);
        }
        let array = shape_array(&nodes, Leaf::Number, &slots, 0, seed);
        let field = Field::new("x", array.data_type().clone(), true);
        let schema = Arc::new(Schema::new(vec![field]));
        let batch = RecordBatch::try_new(schema.clone(), vec![array.clone()]).unwrap();
        for page_bytes in [1013, 8 << 20] {
            let options = deterministic().with_page_bytes(page_bytes);
            let bytes = write(schema.clone(), std::slice::from_ref(&batch), options);
            let file = open_with(&bytes, OpenOptions::default()).unwrap();
            let what = format!("{nodes:?}, pages of {page_bytes} bytes");
            for (start, end, batch_rows) in [(0, 40, 11), (4, 20, 64), (20, 21, 1), (21, 22, 8)] {
                let mut at = start;
                let scan = file.scan().rows(start as u64..end as u64);
                for part in scan.batch_rows(batch_rows).build().unwrap() {
                    let part = part.unwrap_or_else(|error| panic!("{what}: {error}"));
                    let rows = at..at + part.num_rows();
                    at = rows.end;
                    picked_logical_difference(part.column(0), &array, rows).unwrap();
                }
                assert_eq!(at, end);
            }
            for picked in [
                vec![3],
                vec![22, 20, 0],
                vec![21, 4, 21],
                vec![39, 19, 19, 2],
            ] {
                let rows: Vec<u64> = picked.iter().map(|row| *row as u64).collect();
                let taken = file
                    .take(&rows)
                    .read()
                    .unwrap_or_else(|error| panic!("{what}: {error}"));
                picked_logical_difference(taken.column(0), &array, picked).unwrap();
            }
        }
    }
}
