//! Nested pages against a naive model: every kind of levels and items, whole, by range and by index, and hostile
//! bytes.

mod checks;
mod elsewhere;
mod full_zip;
mod hostile;
mod long_rows;
mod model;

use tarsia_codec::ValueType;
use tarsia_structure::levels::LevelSections;
use tarsia_structure::{Block, LevelForm, PageDecoder};
use tarsia_testkit::effort::{is_tried, some_or_all};

use LevelForm::{ConstantLength, Lengths, Validity};

use checks::*;
use model::*;

#[test]
fn random_rows_come_back_under_every_selection() {
    let mut rng = Rng::new(11);
    for (number, forms) in level_forms().iter().enumerate() {
        for value_type in TYPES {
            for rows in [1, 2, 63, 64, 65, 700, 3000] {
                let model = Model::random(rows, forms, value_type, &mut rng);
                let what = format!("levels {number}, {value_type:?}, {rows} rows");
                check(&model, &model.encode(USUAL), &what);
                if rows <= 65 {
                    check(&model, &model.encode(TINY), &format!("{what}, tiny blocks"));
                }
            }
        }
    }
}

/// Null, empty, one item and two, in each of five rows and at each of up to three levels, in blocks of all rows, of few
/// and of one.
#[test]
fn small_pages_in_all_combinations() {
    const ROWS: usize = 5;
    let one_in = some_or_all(4, 1);
    let nodes: [&[LevelForm]; 4] = [
        &[Validity],
        &[Validity, Lengths],
        &[Validity, ConstantLength(2)],
        &[Validity, ConstantLength(0)],
    ];
    // So that a block holds items of that many bits: all, two, or one.
    let cut = |bits_per_value| Plain {
        bits_per_value,
        uniform: false,
        ..USUAL
    };
    let choosers = [cut(32), cut(30_000), cut(60_000), ZIPPED];
    // What the slots of a node are is a number with a digit for each: of rows all combinations, of those below the
    // walks through the states.
    let digit = |number: usize, i: usize| (number >> (2 * i)) & 3;
    let walk = |number: usize, i: usize| (number + i * (1 + number / 4 % 4)) % 4;
    let mut n_of_blocks = [0; ROWS + 1];
    let mut check_shape = |nodes: &[&[LevelForm]], state: &dyn Fn(usize, usize) -> usize, case| {
        let forms = nodes.concat();
        let node_of: Vec<usize> = (0..nodes.len())
            .flat_map(|node| std::iter::repeat_n(node, nodes[node].len()))
            .collect();
        // A null slot has nothing below it, so that the slots of lengths are the valid ones.
        let valid: Vec<std::cell::RefCell<Vec<usize>>> = vec![Default::default(); nodes.len()];
        let slot = |level: usize, i: usize| match forms[level] {
            Validity => {
                let state = state(node_of[level], i);
                if state > 0 {
                    valid[node_of[level]].borrow_mut().push(state);
                }
                u32::from(state > 0)
            }
            _ => valid[node_of[level]].borrow()[i] as u32 - 1,
        };
        let item = |i: usize| {
            let is_valid = match case % 4 {
                0 => true,
                1 => i % 2 == 1,
                2 => !i.is_multiple_of(3),
                _ => false,
            };
            (is_valid, (case as u32 ^ i as u32).to_le_bytes().to_vec())
        };
        let model = Model::new(ROWS, &forms, ValueType::Fixed(4)).fill(slot, item);
        for chooser in choosers {
            let page = model.encode(chooser);
            n_of_blocks[page.starts.len()] += 1;
            check_every_read(&model, &page);
        }
    };
    for node in nodes {
        for case in (0..1 << (2 * ROWS)).filter(|case| is_tried(*case, one_in)) {
            check_shape(&[node], &|_, i| digit(case, i), case);
        }
    }
    for outer in nodes {
        for inner in nodes {
            for case in (0..256).filter(|case| is_tried(*case, one_in)) {
                let state = |node: usize, i| walk(case >> (4 * node), i);
                check_shape(&[outer, inner], &state, case);
            }
            for innermost in nodes {
                // Each pair of walks at each two nodes.
                for case in (0..256).filter(|case| is_tried(*case, one_in)) {
                    let walks = [case, case >> 4, (case >> 4) + case];
                    let state = |node: usize, i| walk(walks[node] % 16, i);
                    check_shape(&[outer, inner, innermost], &state, case);
                }
            }
        }
    }
    assert!(
        n_of_blocks[1..].iter().all(|n| *n > 100),
        "pages of 1 to 5 blocks: {n_of_blocks:?}"
    );
}

#[test]
fn sections_say_what_the_model_says() {
    let mut rng = Rng::new(5);
    for forms in level_forms() {
        let model = Model::random(900, &forms, ValueType::Fixed(4), &mut rng);
        let page = model.encode(USUAL);
        let decoder = PageDecoder::new(&registry(), &page.meta, &[]).unwrap();
        let starts: Vec<_> = model
            .levels
            .iter()
            .map(|(_, slots)| starts(slots))
            .collect();
        let mut row = 0;
        for (i, rows) in block_rows(&page).into_iter().enumerate() {
            let block = Block::parse(page.block(i), &decoder.expect(rows)).unwrap();
            let mut slots = row..row + rows as usize;
            let mut sections = LevelSections::of(&block, decoder.levels()).unwrap();
            for starts in &starts {
                let section = sections.next().unwrap().unwrap();
                assert_eq!(section.n_slots as usize, slots.len());
                slots = starts[slots.start]..starts[slots.end];
                assert_eq!(section.n_below as usize, slots.len());
            }
            assert!(sections.next().is_none());
            assert_eq!(block.n_items as usize, slots.len());
            row += rows as usize;
        }
    }
}
