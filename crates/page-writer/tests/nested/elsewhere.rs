//! Levels and items that something else decoded, a kernel say.

use tarsia_codec::{ErrorKind, Scratch, Selection, ValueType};
use tarsia_structure::{
    Block, Budget, DecodedForm, DecodedRows, DecodedSlots, LevelForm, PageDecoder, RawColumn,
    RawLevel, RawLevels,
};

use LevelForm::{ConstantLength, Lengths, Validity};

use crate::checks::*;
use crate::model::*;

/// Levels as a kernel hands them over.
fn decoded(levels: &[RawLevel]) -> Vec<DecodedSlots<'_>> {
    let mut decoded = vec![];
    for level in levels {
        let form = match level.form {
            Validity => DecodedForm::Validity(level.validity_bytes()),
            Lengths => DecodedForm::Ends(level.ends_bytes().as_chunks().0),
            ConstantLength(_) => DecodedForm::ConstantLength,
        };
        let n_slots = level.n_slots;
        decoded.push(DecodedSlots { n_slots, form });
    }
    decoded
}

/// Levels and items of each block, handed over as a kernel would into memory that grows, are those that were decoded
/// into one.
#[test]
fn what_was_decoded_elsewhere_is_appended() {
    let mut rng = Rng::new(31);
    for forms in level_forms() {
        for value_type in TYPES {
            let model = Model::random(700, &forms, value_type, &mut rng);
            let page = model.encode(TINY);
            let decoder = PageDecoder::new(&registry(), &page.meta, &[]).unwrap();
            let (budget, mut scratch) = (Budget::new(u64::MAX), Scratch::new());
            let mut take = poisoned;
            let mut all = RawLevels::new(forms.iter().copied(), &budget);
            let mut items = RawColumn::new(value_type, 0, 0, &mut take).unwrap();
            for (i, rows) in block_rows(&page).iter().enumerate() {
                let block = Block::parse(page.block(i), &decoder.expect(*rows)).unwrap();
                let mut alone = RawLevels::new(forms.iter().copied(), &budget);
                let mut ranges = vec![];
                alone
                    .push(
                        &decoder,
                        &block,
                        Selection::All,
                        &mut scratch,
                        &mut take,
                        &mut ranges,
                    )
                    .unwrap();
                let n_items = alone.n_items();
                let bytes = block.header.decoded_bytes as usize;
                let mut raw = RawColumn::new(value_type, n_items, bytes, &mut take).unwrap();
                raw.push_ranges(&decoder, &block, &ranges, &mut scratch, &mut take)
                    .unwrap();
                let (levels, raw) = (alone.into_levels(), raw.finish());
                let rows_before = *rows as usize;
                all.push_decoded(
                    rows_before,
                    &decoded(&levels),
                    value_type,
                    n_items,
                    &mut take,
                )
                .unwrap();
                let offsets = raw.offsets.get(..(n_items + 1) * 4);
                let rows = DecodedRows {
                    rows: n_items,
                    validity: raw.validity.as_deref().unwrap_or_default(),
                    offsets: offsets.unwrap_or_default(),
                    values: &raw.values[..raw.values_len],
                };
                items
                    .reserve(n_items, rows.values.len(), &mut take)
                    .unwrap();
                items.push_decoded(&rows, &mut take).unwrap();
            }
            let n_items = all.n_items();
            let items = items.finish();
            assert_eq!(items.rows, n_items);
            let got = model_of(model.rows, all.into_levels(), &items, value_type);
            let same = got.tokens(0..got.rows) == model.tokens(0..model.rows);
            assert!(same, "{forms:?}, {value_type:?}");
        }
    }
}

#[test]
fn levels_that_do_not_fit_are_refused() {
    let forms = [Validity, Lengths, ConstantLength(2)];
    let slots = |n_slots, form| DecodedSlots { n_slots, form };
    let ends = |ends: [u32; 4]| ends.map(u32::to_le_bytes);
    let [good, falling, late, more] =
        [[0, 2, 2, 5], [0, 6, 2, 5], [1, 2, 2, 5], [0, 2, 2, 6]].map(ends);
    let push = |rows, levels: &[DecodedSlots<'_>], n_items, budget| {
        let budget = Budget::new(budget);
        let mut raw = RawLevels::new(forms, &budget);
        raw.push_decoded(rows, levels, ValueType::Fixed(4), n_items, &mut poisoned)
    };
    let with =
        |validity, lengths, constant| [slots(4, validity), slots(3, lengths), slots(5, constant)];
    let (bits, constant) = (
        DecodedForm::Validity(&[0b1101]),
        DecodedForm::ConstantLength,
    );
    let lists = DecodedForm::Ends(&good);
    assert!(push(4, &with(bits, lists, constant), 10, 1000).is_ok());
    let refused: &[(&str, usize, &[DecodedSlots<'_>], usize)] = &[
        ("other rows", 3, &with(bits, lists, constant), 10),
        ("a level less", 4, &with(bits, lists, constant)[..2], 5),
        ("none", 4, &[], 4),
        (
            "all valid",
            4,
            &with(DecodedForm::Validity(&[]), lists, constant),
            10,
        ),
        (
            "fewer valid",
            4,
            &with(DecodedForm::Validity(&[0b1001]), lists, constant),
            10,
        ),
        (
            "short bits",
            9,
            &[slots(9, bits), slots(3, lists), slots(5, constant)],
            10,
        ),
        ("more items", 4, &with(bits, lists, constant), 11),
        ("another form", 4, &with(lists, lists, constant), 10),
        ("bits of lists", 4, &with(bits, bits, constant), 10),
        ("ends of fixed lists", 4, &with(bits, lists, lists), 10),
        (
            "a constant that is none",
            4,
            &with(bits, constant, constant),
            10,
        ),
        (
            "falling ends",
            4,
            &with(bits, DecodedForm::Ends(&falling), constant),
            10,
        ),
        (
            "a late start",
            4,
            &with(bits, DecodedForm::Ends(&late), constant),
            10,
        ),
        (
            "an end too few",
            4,
            &with(bits, DecodedForm::Ends(&good[1..]), constant),
            10,
        ),
        (
            "no ends",
            4,
            &with(bits, DecodedForm::Ends(&[]), constant),
            10,
        ),
        (
            "another end",
            4,
            &with(bits, DecodedForm::Ends(&more), constant),
            10,
        ),
    ];
    for (what, rows, levels, n_items) in refused {
        let refused = push(*rows, levels, *n_items, 1000);
        assert!(refused.is_err(), "{what}");
    }
    let limit = push(4, &with(bits, lists, constant), 10, 40).unwrap_err();
    assert!(
        matches!(limit.kind(), ErrorKind::LimitExceeded { .. }),
        "{limit}"
    );
}
