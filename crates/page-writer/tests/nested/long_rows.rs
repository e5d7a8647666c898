//! Rows of many slots, few stored bytes for them, and the budget that bounds them.

use tarsia_codec::{ErrorKind, Scratch, Selection, ValueType};
use tarsia_structure::{Block, Budget, Level, LevelForm, PageDecoder, RawLevels};

use LevelForm::{ConstantLength, Lengths, Validity};

use crate::checks::*;
use crate::model::*;

#[test]
fn a_row_of_five_million_empty_lists_comes_back() {
    let forms = [Validity, Lengths, Validity, Lengths];
    let slot = |level: usize, i: usize| match (level, i) {
        (1, 2) => 5_000_000,
        (1, _) => 2,
        // Items in the first lists and the last ones.
        (3, i) => u32::from(!(4..5_000_000).contains(&i)),
        _ => 1,
    };
    let model = Model::new(5, &forms, ValueType::Fixed(8)).fill(slot, |i| (i != 1, number(i)));
    let page = model.encode(USUAL);
    assert!(page.bytes.len() < 22 << 20, "{}", page.bytes.len());
    check(&model, &page, "five million empty lists");
}

#[test]
fn a_row_of_three_million_null_items_comes_back() {
    let slot = |level: usize, i: usize| match (level, i) {
        (1, 1) => 3_000_000,
        _ => 1,
    };
    let model = Model::new(3, &[Validity, Lengths], ValueType::Fixed(8))
        .fill(slot, |i| (!(1..=3_000_000).contains(&i), number(i)));
    let page = model.encode(USUAL);
    check(&model, &page, "three million nulls");
    // 24 MB of nulls from a few bytes: the payload is longer than it would have to be.
    assert!(page.bytes.len() > (24_000_000 - (16 << 20)) / 1024);
    assert!(page.bytes.len() < 1 << 20, "{}", page.bytes.len());
}

#[test]
fn rows_without_items_come_back() {
    for forms in [
        vec![Validity, Lengths],
        vec![Validity, Lengths, Validity, Lengths],
        vec![Validity, ConstantLength(0)],
        vec![Validity],
    ] {
        for value_type in TYPES {
            // None has items: empty, null, or some of each. A validity level alone has items unless all are null.
            for style in 0..3 {
                let slot = |level: usize, i: usize| match forms[level] {
                    Validity if forms.len() == 1 => 0,
                    Validity => [1, 0, u32::from(!i.is_multiple_of(3))][style],
                    _ => 0,
                };
                let model =
                    Model::new(70_000, &forms, value_type).fill(slot, |i| (true, number(i)));
                assert!(model.values.is_empty());
                let page = model.encode(USUAL);
                check(&model, &page, &format!("{forms:?} {value_type:?} {style}"));
                assert!(page.starts.len() > 1, "a block has at most 65,536 rows");
            }
        }
    }
}

#[test]
fn long_rows_among_short_ones_come_back() {
    for value_type in TYPES {
        for long in [0, 300, 599] {
            let slot = |level: usize, i: usize| match (level, i) {
                (1, i) if i == long => 70_000,
                (1, i) => (i % 3) as u32,
                _ => 1,
            };
            let width = value_type.fixed_bytes().unwrap_or(6);
            let item = |i: usize| {
                let value = match value_type {
                    ValueType::Bits => vec![(i % 2) as u8],
                    _ => number(i).into_iter().take(width).collect(),
                };
                (!i.is_multiple_of(11), value)
            };
            let model = Model::new(600, &[Validity, Lengths], value_type).fill(slot, item);
            let page = model.encode(USUAL);
            check(
                &model,
                &page,
                &format!("{value_type:?}, row {long} is long"),
            );
            assert!(page.starts.len() > 1);
        }
    }
}

/// A writer refuses what a reader would not take.
#[test]
fn rows_of_many_slots_that_take_no_bytes_are_cut_into_blocks_that_are_read() {
    // Values of which nothing is stored.
    let free = Plain {
        bits_per_value: 0,
        ..USUAL
    };
    let nothing = ValueType::Fixed(0);
    let slot = |level: usize, i: usize| match level {
        1 => 3000 + (i % 200) as u32,
        _ => 1,
    };
    let mut unread = vec![];
    for (name, forms, rows) in [
        ("lists", vec![Validity, Lengths], 2500),
        ("lists of structs", vec![Validity, Lengths, Validity], 2500),
        (
            "vectors of structs",
            vec![Validity, ConstantLength(200), Validity],
            40_000,
        ),
        (
            "vectors of vectors",
            vec![Validity, ConstantLength(200), ConstantLength(1)],
            40_000,
        ),
    ] {
        let model = Model::new(rows, &forms, nothing).fill(slot, |_| (true, vec![]));
        let Ok(page) = model.try_encode(free) else {
            continue;
        };
        let decoder = PageDecoder::new(&registry(), &page.meta, &[]).unwrap();
        for (i, rows) in block_rows(&page).into_iter().enumerate() {
            if let Err(error) = Block::parse(page.block(i), &decoder.expect(rows)) {
                unread.push(format!("{name}, block {i} of {rows} rows: {error}"));
            }
        }
    }
    assert!(unread.is_empty(), "{unread:#?}");
}

/// Levels that no byte stores take memory all the same: the ends of lists of one length are made for every list.
#[test]
fn slots_that_no_byte_stands_for_are_bounded() {
    let forms = [Validity, Lengths];
    let model = Model::new(4000, &forms, ValueType::Fixed(0));
    let slot = |level: usize, _| u32::from(level == 0);
    let mut page = model.fill(slot, |_| (true, vec![])).encode(USUAL);
    let rows = block_rows(&page)[0];
    assert!(rows >= 512);
    let empty = Level::ConstantLength(0);
    let long = Level::ConstantLength(1 << 15);
    let longest = Level::ConstantLength(1 << 18);
    for (levels, fits) in [
        (vec![Level::AllValid, empty.clone()], true),
        (
            vec![
                Level::AllValid,
                long.clone(),
                Level::AllValid,
                empty.clone(),
            ],
            false,
        ),
        (vec![long.clone(), Level::AllValid, empty.clone()], false),
        (vec![long.clone(), empty], false),
        (vec![longest.clone()], false),
    ] {
        page.meta.levels = levels;
        let decoder = PageDecoder::new(&registry(), &page.meta, &[]).unwrap();
        let mut block = page.block(0).to_vec();
        if page.meta.levels == [longest.clone()] {
            // Items without bytes, but each may be null.
            block[16..20].copy_from_slice(&(rows << 18).to_le_bytes());
        }
        let parsed = Block::parse(&block, &decoder.expect(rows));
        match parsed {
            Ok(_) => assert!(fits, "{:?}", page.meta.levels),
            Err(error) => {
                assert!(!fits, "{error}");
                let limit = matches!(error.kind(), ErrorKind::LimitExceeded { .. });
                assert!(limit, "{:?}: {error}", page.meta.levels);
            }
        }
    }
}

#[test]
fn a_budget_is_spent_before_memory_is_taken() {
    let forms = [Validity, Lengths];
    let model = Model::new(1000, &forms, ValueType::Fixed(4));
    let slot = |level: usize, i: usize| if level == 0 { 1 } else { (i % 5) as u32 };
    let page = model
        .fill(slot, |i| (true, (i as u32).to_le_bytes().to_vec()))
        .encode(USUAL);
    let decoder = PageDecoder::new(&registry(), &page.meta, &[]).unwrap();
    let rows = block_rows(&page)[0];
    let block = Block::parse(page.block(0), &decoder.expect(rows)).unwrap();
    let n_items = u64::from(block.n_items);
    let all = u64::from(rows).div_ceil(8) + 4 * u64::from(rows) + 4 * n_items;
    for (bytes, fits) in [(0, false), (all - 1, false), (all, true)] {
        let budget = Budget::new(bytes);
        let mut levels = RawLevels::new(forms, &budget);
        let (mut scratch, mut ranges) = (Scratch::new(), vec![]);
        let mut take = poisoned;
        let done = levels.push(
            &decoder,
            &block,
            Selection::All,
            &mut scratch,
            &mut take,
            &mut ranges,
        );
        assert_eq!(done.is_ok(), fits, "{bytes} of {all}: {done:?}");
    }
}
