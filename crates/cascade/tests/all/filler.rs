//! Filler of null items in the blocks of fresh pages is a function of each block alone: flat and in lists, of all
//! widths, whatever share of the items is null and however blocks are cut.

use std::sync::Arc;

use tarsia_cascade::{Chooser, Objective};
use tarsia_codec::{BitSlice, FixedSlice, ValueType, Values};
use tarsia_page_writer::{EncodeContext, PageInput, encode_page};
use tarsia_structure::LevelForm::{ConstantLength, Lengths, Validity};
use tarsia_testkit::erasure_nested::{Shape, check_page_filler};
use tarsia_testkit::rng::Rng;
use tarsia_testkit::units::checksum;

const WIDTHS: [usize; 9] = [1, 2, 3, 4, 8, 12, 16, 32, 100];

fn choosers(seed: u64) -> Vec<Chooser> {
    let registry = Arc::new(tarsia_encodings::registry());
    let searched = [Objective::Compact, Objective::Balanced]
        .map(|objective| Chooser::new(registry.clone(), objective));
    let by_chance = searched[0].clone().with_chance(seed);
    searched.into_iter().chain([by_chance]).collect()
}

/// Runs of nulls that may be longer than a block, up to one item in eight: beyond, values of null items are dropped.
fn validity(rows: usize, longest: usize, rng: &mut Rng) -> Vec<u8> {
    let mut bits = vec![0xff; rows.div_ceil(8)];
    let (mut at, mut nulls) = (rng.below(20), 0);
    while at < rows {
        let run = rng.between(1, longest).min(rows - at);
        if (nulls + run) * 8 > rows {
            break;
        }
        (at..at + run).for_each(|i| bits[i / 8] &= !(1 << (i % 8)));
        nulls += run;
        at += run + rng.below(16 * longest);
    }
    bits
}

#[test]
fn flat_values_of_all_widths() {
    let registry = tarsia_encodings::registry();
    let mut rng = Rng::new(16);
    let mut n_heads = 0;
    for width in WIDTHS {
        for (n_distinct, longest) in [(0, 1), (0, 40), (3, 3), (200, 900)] {
            let rows = rng.between(3000, 9000);
            let kinds: Vec<Vec<u8>> = (0..n_distinct.max(1))
                .map(|_| (0..width).map(|_| rng.u8() | 1).collect())
                .collect();
            let values: Vec<u8> = (0..rows)
                .flat_map(|_| match n_distinct {
                    0 => (0..width).map(|_| rng.u8()).collect(),
                    n => kinds[rng.below(n)].clone(),
                })
                .collect();
            let bits = validity(rows, longest, &mut rng);
            let values = Values::Fixed(FixedSlice::new(&values, width, rows).unwrap());
            let input = PageInput {
                validity: Some(BitSlice::new(&bits, 0, rows).unwrap()),
                ..PageInput::of_values(values)
            };
            for (erasable, chooser) in choosers(rng.u64()).iter().enumerate() {
                let context = EncodeContext {
                    registry: &registry,
                    chooser,
                    memory: None,
                    checksum,
                    erasable: erasable > 0,
                };
                let page = encode_page(input, &context).unwrap();
                n_heads += check_page_filler(&page, &registry, checksum);
            }
        }
    }
    assert!(n_heads > 15, "{n_heads}");
}

#[test]
fn items_of_lists() {
    let registry = tarsia_encodings::registry();
    let mut rng = Rng::new(17);
    let mut n_heads = 0;
    let forms = [
        vec![Validity],
        vec![Validity, Lengths],
        vec![Validity, ConstantLength(3)],
        vec![Lengths, Validity],
        vec![Validity, Lengths, Validity, Lengths],
    ];
    let types = WIDTHS.map(|width| ValueType::Fixed(width as u32));
    for forms in &forms {
        for value_type in types.into_iter().chain([ValueType::Bits, ValueType::Bytes]) {
            let shape = Shape {
                null_percent: 4,
                item_null_percent: 8,
                n_distinct: 50 * rng.below(2),
                ..Shape::new(forms, value_type)
            };
            let rows = shape.rows(4000, &mut rng);
            for chooser in &choosers(rng.u64()) {
                let context = EncodeContext {
                    registry: &registry,
                    chooser,
                    memory: None,
                    checksum,
                    erasable: true,
                };
                let page = rows.encode(&context).unwrap();
                n_heads += check_page_filler(&page, &registry, checksum);
            }
        }
    }
    assert!(n_heads > 50, "{n_heads}");
}
