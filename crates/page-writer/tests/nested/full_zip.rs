//! Pages whose rows lie one by one.

use tarsia_codec::{Selection, ValueType};
use tarsia_structure::{Block, Layout, LevelForm, PageDecoder};

use LevelForm::{ConstantLength, Lengths, Validity};

use crate::checks::*;
use crate::model::*;

/// Models that full-zip pages can hold: lists in them all have one length, and there are few nulls.
fn full_zip_models() -> Vec<(String, Model)> {
    let level_forms: [&[LevelForm]; 8] = [
        &[Validity],
        &[Validity, Validity],
        &[Validity, ConstantLength(3)],
        &[Validity, Validity, ConstantLength(2), ConstantLength(3)],
        &[Validity, Lengths],
        &[Validity, Lengths, Validity, ConstantLength(5)],
        &[ConstantLength(1), Validity, Lengths, ConstantLength(1)],
        &[Lengths, ConstantLength(2), Validity, Lengths],
    ];
    let mut models = vec![];
    for forms in level_forms {
        // 0 stands for byte strings.
        for width in [0, 1, 4, 20] {
            for (nulls, null_items) in [(0, false), (9, false), (9, true), (70, true)] {
                for rows in [1, 100, 2500] {
                    // Below what has more than one slot per row nothing is null.
                    let many = forms.iter().position(|form| *form != Validity);
                    let slot = |level: usize, i: usize| match forms[level] {
                        Validity if many.is_some_and(|many| level > many) => 1,
                        Validity => {
                            u32::from(nulls == 0 || !(i + 3 * level + 5).is_multiple_of(nulls))
                        }
                        _ => 4,
                    };
                    let item = |i: usize| {
                        let valid = !null_items || many.is_some() || i % 11 != 3;
                        let len = if width == 0 { i * 7 % 30 } else { width };
                        (valid, (i as u128).to_le_bytes().repeat(2)[..len].to_vec())
                    };
                    let value_type = match width {
                        0 => ValueType::Bytes,
                        width => ValueType::Fixed(width as u32),
                    };
                    let model = Model::new(rows, forms, value_type).fill(slot, item);
                    let name = format!("{forms:?} of {width}, {rows} rows, {nulls} {null_items}");
                    models.push((name, model));
                }
            }
        }
    }
    models
}

#[test]
fn rows_of_full_zip_pages_come_back_whole_and_alone() {
    let mut n_zipped = [0, 0];
    for (what, model) in full_zip_models() {
        let page = model.encode(ZIPPED);
        check(&model, &page, &what);
        assert_eq!(model.encode(USUAL).meta.layout, Layout::MiniBlock);
        if page.meta.layout == Layout::MiniBlock {
            continue;
        }
        let decoder = PageDecoder::new(&registry(), &page.meta, &[]).unwrap();
        let form = decoder.full_zip().unwrap();
        n_zipped[usize::from(form.is_indexed())] += 1;
        // Each row by itself, without its block, in one run of memory.
        let mut first = 0;
        for (i, rows) in block_rows(&page).into_iter().enumerate() {
            for row in (0..rows).step_by(1 + rows as usize / 50) {
                let (bytes, entries) = row_alone(page.block(i), form, rows, row);
                let block = Block::of_rows(bytes, form, &entries, 1).unwrap();
                let blocks = [(block, 1, Selection::All)];
                let got = decode_blocks(&decoder, model.forms(), blocks.into_iter(), usize::MAX);
                let want = model.tokens([first + row as usize]);
                assert!(got.unwrap().tokens(0..1) == want, "{what}, row {row}");
            }
            first += rows as usize;
        }
    }
    assert!(n_zipped[0] > 150 && n_zipped[1] > 20, "{n_zipped:?}");
}

#[test]
fn hostile_full_zip_blocks_are_refused_or_consistent() {
    let (mut n_read, mut n_refused) = (0, 0);
    for (what, model) in full_zip_models() {
        let page = model.encode(ZIPPED);
        if page.meta.layout == Layout::MiniBlock || model.rows != 100 {
            continue;
        }
        let decoder = PageDecoder::new(&registry(), &page.meta, &[]).unwrap();
        let forms: Vec<_> = model.forms().collect();
        let (rows, block) = (block_rows(&page)[0], page.block(0));
        assert!(check_hostile(&decoder, &forms, block, rows), "{what}");
        for at in 4..block.len().min(160) {
            let mut bad = block.to_vec();
            bad[at] ^= 1 << (at % 8);
            match check_hostile(&decoder, &forms, &bad, rows) {
                true => n_read += 1,
                false => n_refused += 1,
            }
        }
        for len in (0..block.len()).step_by(31) {
            let cut = Block::parse(&block[..len], &decoder.expect(rows));
            // Only the padding may be missing.
            assert!(cut.is_err() || len + 8 > block.len(), "{what}: {len} bytes");
        }
        let form = decoder.full_zip().unwrap();
        let (bytes, entries) = row_alone(block, form, rows, 1);
        for n_rows in [0, 2, 100] {
            assert!(Block::of_rows(bytes, form, &entries, n_rows).is_err());
        }
    }
    assert!(n_read > 1000 && n_refused > 1000, "{n_read} {n_refused}");
}
