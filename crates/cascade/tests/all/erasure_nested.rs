//! Erasing rows of blocks with levels above their items, and of full-zip blocks: pages as the writer makes them, under
//! what the policy chooses and under what chance picks of all that the encodings propose.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tarsia_cascade::{Chooser, Objective};
use tarsia_codec::{Result, SharedBuffer, Statistics, UsedEntries, ValueType};
use tarsia_page_writer::{
    BlockContext, BlockErasure, BlockRows, Choice, Choose, EncodeContext, Outcome, erase_block,
    mark_used,
};
use tarsia_structure::{BlockHeader, LevelForm};
use tarsia_testkit::erasure::Erase;
use tarsia_testkit::erasure_nested::{PageErasureCase, PageReport, Shape, check_page_erasure};
use tarsia_testkit::rng::Rng;
use tarsia_testkit::trees::sample_trees;
use tarsia_testkit::units::checksum;

use LevelForm::{ConstantLength, Lengths, Validity};

const LIST: [LevelForm; 2] = [Validity, Lengths];
const INTS: ValueType = ValueType::Fixed(8);

fn chooser() -> Chooser {
    Chooser::new(Arc::new(tarsia_encodings::registry()), Objective::Compact)
}

fn check(name: &str, shape: &Shape, n_rows: usize, chooser: &dyn Choose, seed: u64) -> PageReport {
    check_with(name, shape, n_rows, chooser, seed, &erase_block)
}

fn check_with(
    name: &str,
    shape: &Shape,
    n_rows: usize,
    chooser: &dyn Choose,
    seed: u64,
    erase: &Erase,
) -> PageReport {
    let registry = tarsia_encodings::registry();
    let writer = EncodeContext {
        registry: &registry,
        chooser,
        memory: None,
        checksum,
        erasable: false,
    };
    check_page_erasure(&PageErasureCase {
        name,
        writer: &writer,
        rows: &shape.rows(n_rows, &mut Rng::new(seed)),
        erase,
        seed,
    })
}

/// Without null items, with a few, which hold filler, and with many, which are dropped; values of any bits, and few
/// distinct ones.
fn variants(shape: &Shape) -> Vec<Shape> {
    let mut variants = vec![];
    for item_null_percent in [0, 6, 40] {
        for n_distinct in [0, 7] {
            variants.push(Shape {
                item_null_percent,
                n_distinct,
                ..shape.clone()
            });
        }
    }
    variants
}

fn check_all(name: &str, shape: &Shape) -> PageReport {
    let mut report = PageReport::default();
    for (i, shape) in variants(shape).iter().enumerate() {
        let seed = 100 + i as u64;
        report.add(check(name, shape, 90, &chooser(), seed));
        for chance in [seed, seed * 31, seed * 77] {
            let chooser = chooser().with_chance(chance);
            report.add(check(name, shape, 60, &chooser, seed));
        }
    }
    println!("{name}: {report:?}");
    assert!(report.blocks.n_erased > 200, "{report:?}");
    assert!(report.n_twins * 2 > report.blocks.n_erased, "{report:?}");
    report
}

fn check_mini_blocks(name: &str, shape: &Shape) -> PageReport {
    let report = check_all(name, shape);
    assert!(report.n_pages[0] > 0 && report.n_compact.iter().all(|n| *n > 0));
    report
}

#[test]
fn lists_of_numbers() {
    let report = check_mini_blocks("lists of numbers", &Shape::new(&LIST, INTS));
    assert!(report.blocks.n_canaries_found > 100);
}

#[test]
fn lists_of_strings() {
    let report = check_mini_blocks("lists of strings", &Shape::new(&LIST, ValueType::Bytes));
    assert!(report.blocks.n_canaries_found > 100);
}

#[test]
fn lists_of_bits() {
    check_mini_blocks("lists of bits", &Shape::new(&LIST, ValueType::Bits));
}

#[test]
fn lists_of_lists() {
    let forms = [Validity, Lengths, Validity, Lengths];
    check_mini_blocks("lists of lists", &Shape::new(&forms, ValueType::Fixed(4)));
}

#[test]
fn structs_in_lists_of_one_length() {
    let forms = [Validity, Lengths, Validity];
    let shape = Shape {
        one_length: true,
        ..Shape::new(&forms, ValueType::Fixed(2))
    };
    check_mini_blocks("structs in lists of one length", &shape);
}

#[test]
fn null_structs_and_unions() {
    for (name, null_percent) in [("structs", 10), ("a union's child", 60), ("no null", 0)] {
        let shape = Shape {
            null_percent,
            ..Shape::new(&[Validity], INTS)
        };
        check_mini_blocks(name, &shape);
    }
}

#[test]
fn fixed_size_lists() {
    let forms = [Validity, ConstantLength(3), Validity];
    check_mini_blocks(
        "fixed-size lists",
        &Shape::new(&forms, ValueType::Fixed(16)),
    );
    check_all(
        "fixed-size lists of no items",
        &Shape::new(&[Validity, ConstantLength(0)], INTS),
    );
}

#[test]
fn rows_without_values() {
    check_all(
        "values of no bytes",
        &Shape::new(&LIST, ValueType::Fixed(0)),
    );
    for (name, null_percent, length_max) in [("all null", 100, 3), ("all empty", 30, 0)] {
        let shape = Shape {
            null_percent,
            length_max,
            ..Shape::new(&LIST, INTS)
        };
        check_all(name, &shape);
    }
}

/// Trees with shared buffers for values, lengths and validity, wherever the table has any: the one of this number,
/// counted round.
struct Sharing(usize);

impl Choose for Sharing {
    fn choose(&self, values: &Statistics<'_>) -> Result<Choice> {
        let choice = chooser().choose(values)?;
        let value_type = values.values().value_type();
        let mut trees = sample_trees(&tarsia_encodings::registry(), value_type);
        trees.retain(|(tree, _)| !tree.shared.is_empty());
        let tree = match trees.len() {
            0 => None,
            n => Some(trees.swap_remove(self.0 % n).0),
        };
        let fallback = chooser().fallback(value_type)?;
        Ok(Choice {
            trees: tree.into_iter().chain([fallback]).collect(),
            ..choice
        })
    }
}

/// Dictionaries below lists, and of their lengths: wiped where no survivor uses them.
#[test]
fn shared_buffers_below_levels() {
    for value_type in [INTS, ValueType::Bytes] {
        let mut report = PageReport::default();
        for number in 0..12 {
            let shape = Shape {
                item_null_percent: [0, 6, 40][number % 3],
                n_distinct: 20,
                ..Shape::new(&LIST, value_type)
            };
            let name = "shared buffers";
            report.add(check(name, &shape, 50, &Sharing(number), number as u64));
        }
        println!("{value_type:?}: {report:?}");
        assert!(report.n_wiped > 200, "{report:?}");
        assert!(report.n_twins * 4 > report.blocks.n_erased, "{report:?}");
    }
}

/// Blocks of few rows, also of one with more than 64 KiB, which have chunks.
#[test]
fn long_rows() {
    let shape = Shape {
        length_max: 20_000,
        item_null_percent: 10,
        ..Shape::new(&LIST, INTS)
    };
    let registry = Arc::new(tarsia_encodings::registry());
    for (objective, n_blocks) in [(Objective::Compact, 2), (Objective::Fast, 5)] {
        let chooser = Chooser::new(registry.clone(), objective);
        let report = check("long rows", &shape, 6, &chooser, 3);
        // Eight erasures of each, and again with salts.
        assert!(report.blocks.n_erased >= 16 * n_blocks, "{report:?}");
    }
}

/// A row whose nulls decode to much more than they are stored in has zeros in front of its levels. They go with it.
#[test]
fn a_row_that_decodes_to_much_more() {
    let shape = Shape {
        null_percent: 0,
        item_null_percent: 100,
        length_max: 100_000,
        one_length: true,
        ..Shape::new(&LIST, ValueType::Fixed(200))
    };
    let report = check("20 MB of nulls", &shape, 1, &chooser(), 3);
    assert!(report.blocks.n_erased >= 8, "{report:?}");
}

/// Makes a chooser that stores rows one by one where it may.
fn zipped() -> Chooser {
    chooser().with_full_zip_bytes_min(0)
}

#[test]
fn embeddings_row_by_row() {
    let mut report = PageReport::default();
    for (forms, value_type, item_null_percent) in [
        (&[Validity, ConstantLength(32)][..], ValueType::Fixed(4), 0),
        (&[Validity, Validity, ConstantLength(9)], INTS, 0),
        (&[ConstantLength(5)], ValueType::Fixed(16), 0),
        (&[Validity], ValueType::Fixed(200), 3),
        (
            &[Validity, ConstantLength(1), Validity],
            ValueType::Fixed(130),
            3,
        ),
    ] {
        for null_percent in [0, 2] {
            let shape = Shape {
                null_percent,
                item_null_percent,
                ..Shape::new(forms, value_type)
            };
            let of_shape = check("embeddings", &shape, 150, &zipped(), 8);
            assert_eq!(of_shape.n_pages, [0, 1, 0], "{shape:?}");
            report.add(of_shape);
        }
    }
    println!("{report:?}");
    assert_eq!(report.blocks.n_moved, 0);
    assert!(report.blocks.n_canaries_found > 50, "{report:?}");
    assert!(report.n_twins == report.blocks.n_erased, "{report:?}");
}

#[test]
fn strings_row_by_row_below_levels() {
    let mut report = PageReport::default();
    for forms in [
        &[Validity][..],
        &[Validity, Validity],
        &[Validity, ConstantLength(1)],
        &[Validity, Lengths, Validity],
    ] {
        for (null_percent, item_null_percent) in [(0, 0), (20, 0), (0, 30), (20, 30)] {
            let shape = Shape {
                null_percent,
                item_null_percent,
                one_length: true,
                length_max: 1,
                string_bytes_max: 90,
                ..Shape::new(forms, ValueType::Bytes)
            };
            report.add(check("strings", &shape, 80, &zipped(), 9));
        }
    }
    println!("{report:?}");
    assert_eq!((report.n_pages, report.blocks.n_moved), ([0, 0, 16], 0));
    assert!(report.blocks.n_canaries_found > 50, "{report:?}");
    assert!(report.n_twins == report.blocks.n_erased, "{report:?}");
}

/// Strings row by row fill blocks, which are shorter where rows may be erased, and each block has at least a row.
#[test]
fn blocks_of_strings_are_shorter_where_rows_may_be_erased() {
    let shape = Shape {
        null_percent: 0,
        string_bytes_max: 30_000,
        ..Shape::new(&[Validity], ValueType::Bytes)
    };
    let rows = shape.rows(200, &mut Rng::new(4));
    let registry = tarsia_encodings::registry();
    let n_blocks = |erasable: bool, bytes_max: usize| {
        let writer = EncodeContext {
            registry: &registry,
            chooser: &zipped(),
            memory: None,
            checksum,
            erasable,
        };
        let page = rows.encode(&writer).unwrap();
        let BlockRows::Table(table) = &page.block_rows else {
            panic!("blocks of strings differ in their rows");
        };
        for (i, n_rows) in table.iter().enumerate() {
            let header = BlockHeader::parse(page.block(i)).unwrap();
            let bytes = header.payload_bytes as usize;
            assert!(bytes <= bytes_max || *n_rows == 1);
        }
        table.len()
    };
    let index_bytes = 200 * 8;
    assert!(n_blocks(false, usize::MAX) <= 2);
    assert!((10..20).contains(&n_blocks(true, (256 << 10) + index_bytes)));
}

/// The laws see an erasure that forgets a step, in the law meant for it.
#[test]
fn broken_erasures_are_caught() {
    let caught = |erase: &Erase| {
        let shape = Shape::new(&LIST, INTS);
        let checked = catch_unwind(AssertUnwindSafe(|| {
            check_with("broken", &shape, 90, &chooser(), 5, erase)
        }));
        match checked {
            Ok(report) => panic!("the laws hold for an erasure that leaves something: {report:?}"),
            Err(panic) => panic.downcast_ref::<String>().cloned().unwrap_or_default(),
        }
    };
    let keeps_all = |context: &BlockContext<'_>, erasure: &BlockErasure<'_>| {
        erase_block(context, erasure)?;
        let bytes = erasure.place.to_vec();
        Ok(Outcome::InPlace { bytes })
    };
    let text = caught(&keeps_all);
    assert!(
        text.contains("survivors: logical and present rows"),
        "{text}"
    );
    let keeps_tail = |context: &BlockContext<'_>, erasure: &BlockErasure<'_>| {
        let mut outcome = erase_block(context, erasure)?;
        if let Outcome::InPlace { bytes } = &mut outcome {
            let end = BlockHeader::parse(bytes)?.block_bytes() as usize;
            bytes[end..].copy_from_slice(&erasure.place[end..]);
        }
        Ok(outcome)
    };
    let text = caught(&keeps_tail);
    assert!(text.contains("nothing behind"), "{text}");
    let keeps_digest = |context: &BlockContext<'_>, erasure: &BlockErasure<'_>| {
        let mut salt = [0; 16];
        salt[..4].copy_from_slice(&checksum(erasure.place).to_le_bytes());
        let salt = erasure.salt.map(|_| salt);
        erase_block(context, &BlockErasure { salt, ..*erasure })
    };
    let text = caught(&keeps_digest);
    assert!(
        text.contains("canonical") || text.contains("none is left"),
        "{text}"
    );
}

/// Whatever a block holds, an erasure ends, in a result or an error, and so does a look for what it uses.
#[test]
fn hostile_blocks_never_panic() {
    let registry = tarsia_encodings::registry();
    let mut rng = Rng::new(78);
    let (mut n_erased, mut n_refused) = (0, 0);
    for (forms, value_type) in [
        (&LIST[..], ValueType::Bytes),
        (&[Validity, Lengths, Validity, Lengths], ValueType::Fixed(4)),
        (&[Validity, ConstantLength(40)], INTS),
        (&[Validity], ValueType::Fixed(200)),
        (&[Validity], ValueType::Bytes),
        (&[Validity], ValueType::Bits),
    ] {
        for seed in 0..24 {
            let shape = Shape {
                item_null_percent: [0, 6, 40][seed % 3],
                null_percent: 3,
                n_distinct: 9 * (seed % 2),
                ..Shape::new(forms, value_type)
            };
            let chance = chooser().with_chance(seed as u64);
            let choosers: [&dyn Choose; 3] = [&chance, &zipped(), &Sharing(seed)];
            // A checksum that is always right lets every change through to the decoders.
            let writer = EncodeContext {
                registry: &registry,
                chooser: choosers[seed % 3],
                memory: None,
                checksum: |_| 0,
                erasable: false,
            };
            let page = shape.rows(30, &mut rng).encode(&writer).unwrap();
            let context = BlockContext {
                registry: &registry,
                meta: &page.meta,
                shared: &page.shared,
                checksum: |_| 0,
            };
            let good = page.block(0);
            let rows = BlockHeader::parse(good).unwrap().logical_rows;
            let buffers = page.meta.shared_buffers(&page.shared).unwrap();
            for _ in 0..200 {
                let mut bad = good.to_vec();
                for _ in 0..rng.between(1, 3) {
                    let at = 4 + rng.below(bad.len().min(200) - 4);
                    bad[at] = *rng.pick(&[0, 1, 255, 254, 253, rng.clone().u8()]);
                }
                if rng.percent(20) {
                    bad.truncate(rng.between(bad.len() * 3 / 4, bad.len()));
                }
                let erasure = BlockErasure {
                    place: &bad,
                    rows,
                    absent: &[],
                    erase: &[0],
                    salt: None,
                };
                match erase_block(&context, &erasure) {
                    Ok(_) => n_erased += 1,
                    Err(_) => n_refused += 1,
                }
                let none_of =
                    |buffer: &SharedBuffer| Arc::new(UsedEntries::none_of(buffer.values().len()));
                let used: Vec<_> = buffers.iter().map(none_of).collect();
                let _ = mark_used(&context, &bad, rows, &used);
            }
        }
    }
    assert!(
        n_erased > 1000 && n_refused > 1000,
        "{n_erased}, {n_refused}"
    );
}
