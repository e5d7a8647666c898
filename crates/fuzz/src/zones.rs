//! Zone maps: what parses fits the pages, and is what its writer writes.

use tarsia_codec::ValueType;
use tarsia_metadata::PageDescriptor;
use tarsia_testkit::fuzzing::{Input, accepted};
use tarsia_zones::{ZoneForm, ZoneMap, ZoneRoom, zones_of_page};

use crate::metadata::{bytes_of, parse, seal};

const FORMS: [ZoneForm; 6] = [
    ZoneForm::Bits,
    ZoneForm::Unsigned(4),
    ZoneForm::Signed(16),
    ZoneForm::Float(8),
    ZoneForm::Text,
    ZoneForm::Binary,
];

/// A zone map: the input's own bytes, or a changed copy of one that was computed.
pub fn map(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let form = *input.pick(&FORMS);
    let value_type = match form.fixed_width() {
        _ if form == ZoneForm::Bits => ValueType::Bits,
        Some(width) => ValueType::Fixed(width.into()),
        None => ValueType::Bytes,
    };
    let is_erasable = input.one_in(2);
    let (mut pages, mut zones) = (Vec::new(), Vec::new());
    for _ in 0..input.below(4) {
        let case = input.values(value_type, 200);
        let values = case.values();
        let rows_per_block = 1 + input.below(40);
        let n_rows = values.len();
        let block_rows: Vec<u32> = (0..n_rows)
            .step_by(rows_per_block)
            .map(|start| (n_rows - start).min(rows_per_block) as u32)
            .collect();
        if block_rows.is_empty() {
            continue;
        }
        let room = ZoneRoom {
            block_rows: &block_rows,
            block_values: None,
            page_bytes: input.number() % (1 << 20),
            is_erasable,
        };
        zones.push(zones_of_page(form, values, None, &room).expect("values of the form"));
        pages.push(page(n_rows as u32, block_rows.len() as u32));
    }
    let written = ZoneMap { pages: zones };
    let written = written.to_bytes(form, is_erasable).expect("few pages");
    let mut bytes = bytes_of(&mut input, &written);
    let end = bytes.len();
    seal(&mut bytes, 4, &[0..4, 8..end.max(8)]);
    let parsed = parse(end, || ZoneMap::parse(&bytes, form, pages.iter()));
    let Ok(map) = parsed else {
        return;
    };
    accepted();
    for (of_page, page) in map.pages.iter().zip(&pages) {
        if let Some(of_page) = of_page {
            let last = of_page.ranges(0).last().expect("a zone");
            assert_eq!(last.end, u64::from(page.rows));
        }
    }
    let again = map.to_bytes(form, is_erasable).expect("few pages");
    assert_eq!(ZoneMap::parse(&again, form, pages.iter()), Ok(map));
}

fn page(rows: u32, n_blocks: u32) -> PageDescriptor {
    PageDescriptor {
        first_row: 0,
        place: 192,
        side_place: 4096,
        epoch: 1,
        length: 32 * n_blocks,
        rows,
        n_blocks,
        side_length: 64,
        null_count: 0,
        description: 0,
        digest: [0; 32],
    }
}
