//! Every nested shape of up to three nodes over numbers and strings, in tables of five rows: what a row may look like
//! at each level is enumerated, each table is cut into pages in several ways, and every range, every row and some takes
//! are read back.
//!
//! A table has a column for each case, so that a case costs no file of its own.

use std::sync::Arc;

use crate::common::{deterministic, open_with, write};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Fields, Schema};
use tarsia::{File, LAYOUT_KEY, OpenOptions, Threads};
use tarsia_arrow::leaf_paths;
use tarsia_testkit::effort::{is_tried, some_or_all};
use tarsia_testkit::nested::picked_logical_difference;
use tarsia_testkit::shapes::{
    Leaf, NODES, Node, Pairs, Slot, is_refused, shape_array, shape_type, slots,
};

const ROWS: usize = 5;

/// Columns of a table.
const COLUMNS: usize = 256;

/// Rows by number, of `states` that a row may have: all combinations of so many.
fn all_combinations(states: usize) -> Vec<[usize; ROWS]> {
    (0..states.pow(ROWS as u32))
        .map(|number| std::array::from_fn(|row| number / states.pow(row as u32) % states))
        .collect()
}

/// Combinations in which each pair of states stands in each pair of rows: lines in a plane over a prime field, an
/// orthogonal array of strength 2.
fn all_pairs(states: usize) -> Vec<[usize; ROWS]> {
    let is_prime = |n: usize| (2..n).all(|divisor| !n.is_multiple_of(divisor));
    let prime = (states.max(ROWS)..).find(|n| is_prime(*n)).unwrap();
    (0..prime * prime)
        .map(|line| {
            let (start, step) = (line / prime, line % prime);
            // States beyond the last come round again.
            std::array::from_fn(|row| (start + row * step) % prime % states)
        })
        .collect()
}

/// Combinations in which each state stands in each row.
fn each_once(states: usize) -> Vec<[usize; ROWS]> {
    (0..states)
        .map(|start| std::array::from_fn(|row| (start + row) % states))
        .collect()
}

/// The table and what its columns were made of.
struct Table<'a> {
    what: String,
    batch: RecordBatch,
    cases: &'a [[usize; ROWS]],
    states: &'a [Slot],
}

impl Table<'_> {
    /// The rows of `got` are these rows.
    fn same(&self, got: &RecordBatch, rows: impl Iterator<Item = usize> + Clone, read: &str) {
        assert_eq!(got.num_columns(), self.batch.num_columns());
        for (i, (got, want)) in got.columns().iter().zip(self.batch.columns()).enumerate() {
            if let Err(difference) = picked_logical_difference(got, want, rows.clone()) {
                let rows = self.cases[i].map(|state| &self.states[state]);
                panic!("{}, {read}: {difference}\nrows {rows:?}", self.what);
            }
        }
    }

    fn check(&self, file: &File) {
        let what = &self.what;
        assert_eq!(file.schema().unwrap(), self.batch.schema(), "{what}");
        let scan = |start: usize, end: usize, batch_rows: usize| {
            let scan = file.scan().rows(start as u64..end as u64);
            let mut at = start;
            for part in scan.batch_rows(batch_rows).build().unwrap() {
                let read = format!("rows {start}..{end} by {batch_rows}");
                let part = part.unwrap_or_else(|error| panic!("{what}, {read}: {error}"));
                assert!(part.num_rows() <= batch_rows.min(end - at), "{what}");
                let upto = at + part.num_rows();
                self.same(&part, at..upto, &read);
                at = upto;
            }
            assert_eq!(at, end, "{what}");
        };
        for batch_rows in [2, 3] {
            scan(0, ROWS, batch_rows);
        }
        for start in 0..ROWS {
            for end in start + 1..=ROWS {
                scan(start, end, 8);
            }
        }
        scan(2, 2, 8);
        let single = (0..ROWS as u64).map(|row| vec![row]);
        let takes = [
            vec![2, 2],
            vec![4, 2, 0],
            vec![1, 1, 3, 4, 4, 4],
            vec![3, 0, 3, 2, 4, 1, 0],
        ];
        for rows in single.chain(takes) {
            let read = format!("take {rows:?}");
            let taken = file.take(&rows).read();
            let taken = taken.unwrap_or_else(|error| panic!("{what}, {read}: {error}"));
            self.same(&taken, rows.iter().map(|row| *row as usize), &read);
        }
    }
}

/// Pages of a row, of a few, and of all.
const PAGE_BYTES: [u64; 3] = [1, 40, 8 << 20];

/// Which cases are tried with which pages.
#[derive(Clone, Copy)]
enum Pages {
    /// Each with each.
    All,
    /// Each with one, its neighbours with the others.
    ByTurns,
}

/// Checks cases of one type, or that the type is refused.
fn check_cases(nodes: &[Node], leaf: Leaf, cases: &[[usize; ROWS]], states: &[Slot], pages: Pages) {
    let stored = leaf_paths(&shape_type(nodes, leaf), true);
    assert_eq!(stored.is_err(), is_refused(nodes), "{nodes:?}");
    if stored.is_err() {
        return;
    }
    let one_in = some_or_all(4, 1);
    for (turn, page_bytes) in PAGE_BYTES.into_iter().enumerate() {
        let (first, step) = match pages {
            Pages::All => (0, 1),
            Pages::ByTurns => (turn, PAGE_BYTES.len()),
        };
        let numbers = (first..cases.len()).step_by(step);
        let tried = numbers.filter(|number| is_tried(*number, one_in));
        let cases: Vec<_> = tried.map(|number| cases[number]).collect();
        for (number, cases) in cases.chunks(COLUMNS).enumerate() {
            // The first batch ends where no page does, or does.
            let cut = 1 + (turn + number) % (ROWS - 1);
            check_table(nodes, leaf, cases, states, page_bytes, cut);
        }
    }
}

/// Writes and reads a table with a column per case; `cut` rows come in the first batch.
fn check_table(
    nodes: &[Node],
    leaf: Leaf,
    cases: &[[usize; ROWS]],
    states: &[Slot],
    page_bytes: u64,
    cut: usize,
) {
    let columns = cases.iter().enumerate().map(|(i, rows)| {
        let slots = rows.map(|state| states[state].clone());
        shape_array(nodes, leaf, &slots, [3, 2, 0, 4, 1][i % 5], i)
    });
    let columns: Vec<ArrayRef> = columns.collect();
    let data_type = shape_type(nodes, leaf);
    let fields = (0..columns.len()).map(|i| {
        let field = Field::new(format!("c{i}"), data_type.clone(), true);
        // Some in the other layout, where it can hold them; which ones has nothing to do with the order of cases.
        let layout = (i % 7 < 3).then(|| (LAYOUT_KEY.to_owned(), "full-zip".to_owned()));
        field.with_metadata(layout.into_iter().collect())
    });
    let schema = Arc::new(Schema::new(Fields::from_iter(fields)));
    let table = Table {
        what: format!("{nodes:?} of {leaf:?}, pages of {page_bytes} bytes"),
        batch: RecordBatch::try_new(schema.clone(), columns).unwrap(),
        cases,
        states,
    };
    let batches = [
        table.batch.slice(0, cut),
        table.batch.slice(cut, ROWS - cut),
    ];
    let options = deterministic()
        .with_page_bytes(page_bytes)
        .with_threads(Threads::One);
    let bytes = write(schema, &batches, options);
    let options = OpenOptions::new().with_threads(Threads::One);
    let file = open_with(&bytes, options);
    table.check(&file.unwrap_or_else(|error| panic!("{}: {error}", table.what)));
}

const LEAVES: [Leaf; 2] = [Leaf::Number, Leaf::Text];

/// One of each kind, and the fixed-size lists of fewer items.
fn all_nodes() -> impl Iterator<Item = Node> {
    NODES.into_iter().chain([Node::Vector(0), Node::Vector(1)])
}

#[test]
fn one_level_in_all_combinations() {
    for node in all_nodes() {
        let states = slots(&[node], Pairs::All);
        let cases = all_combinations(states.len());
        for leaf in LEAVES {
            check_cases(&[node], leaf, &cases, &states, Pages::All);
        }
    }
}

#[test]
fn two_levels_with_each_pair_of_rows() {
    for outer in all_nodes() {
        for inner in all_nodes() {
            let nodes = [outer, inner];
            let states = slots(&nodes, Pairs::All);
            let cases = all_pairs(states.len());
            for leaf in LEAVES {
                check_cases(&nodes, leaf, &cases, &states, Pages::ByTurns);
            }
        }
    }
}

#[test]
fn three_levels_with_each_state() {
    let pairs = NODES.map(|outer| NODES.map(|middle| [outer, middle]));
    for pair in pairs.as_flattened() {
        for inner in NODES {
            let nodes = [pair[0], pair[1], inner];
            let states = slots(&nodes, Pairs::Neighbours);
            let cases = each_once(states.len());
            for leaf in LEAVES {
                check_cases(&nodes, leaf, &cases, &states, Pages::ByTurns);
            }
        }
    }
}

/// Rows of which a block holds one or two.
#[test]
fn large_values_in_blocks_of_few_rows() {
    for node in NODES {
        let states = slots(&[node], Pairs::All);
        let cases = all_pairs(states.len());
        check_cases(&[node], Leaf::LongText, &cases, &states, Pages::All);
        for inner in NODES {
            let nodes = [node, inner];
            let states = slots(&nodes, Pairs::Neighbours);
            let cases = each_once(states.len());
            check_cases(&nodes, Leaf::LongText, &cases, &states, Pages::ByTurns);
        }
    }
}

/// Checks what the other tests stand on: the states of a row are those that are meant.
#[test]
fn the_states_are_those_of_the_nodes() {
    let n = |nodes: &[Node]| slots(nodes, Pairs::All).len();
    // Null, empty, one item, two.
    assert_eq!(n(&[Node::List]), 4);
    // Null, empty, one of four, two of four.
    assert_eq!(n(&[Node::List, Node::Map]), 2 + 4 + 16);
    assert_eq!(n(&[Node::Struct, Node::List]), 1 + 4);
    assert_eq!(n(&[Node::List, Node::View, Node::List]), 2 + 22 + 22 * 22);
    let cases = all_pairs(22);
    for (a, b) in [(0, 1), (0, 4), (2, 3)] {
        let pairs: std::collections::HashSet<_> = cases.iter().map(|c| (c[a], c[b])).collect();
        assert_eq!(pairs.len(), 22 * 22);
    }
    assert_eq!(all_combinations(4).len(), 1024);
    assert!(is_refused(&[Node::Dictionary, Node::Dictionary]));
    assert!(!is_refused(&[Node::Dictionary, Node::Runs, Node::List]));
    assert!(is_refused(&[Node::Dictionary, Node::Runs, Node::Dense]));
}
