//! Zone maps: what parses fits the pages, and is what its writer writes. Bloom filters: each value is found.

use tarsia_codec::ValueType;
use tarsia_metadata::PageDescriptor;
use tarsia_testkit::fuzzing::{Input, accepted};
use tarsia_zones::{
    BloomCollector, BloomShape, Collect, KeyHashes, ZoneForm, ZoneMap, ZoneRoom, zones_of_page,
};

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

/// A bloom filter: a changed copy of one that was computed. What is said to be one has all of its bytes; of one that
/// was not changed, each value is found.
pub fn blooms(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let value_type = *input.pick(&[ValueType::Fixed(4), ValueType::Fixed(16), ValueType::Bytes]);
    let case = input.values(value_type, 400);
    let values = case.values();
    let rows = (values.len() + input.below(6_000)) as u32;
    let mut filter = BloomCollector::new(rows);
    filter.add(values, None).expect("values that have a filter");
    let mut hashes = KeyHashes::default();
    hashes.add(values, None).expect("values that have a filter");
    let written = filter.to_bytes();
    let shape = BloomShape::of_rows(rows);
    let mut changed = bytes_of(&mut input, &written);
    let n_bytes = changed.len();
    for start in (0..n_bytes).step_by(4_104) {
        seal_shard(changed.get_mut(start..).unwrap_or_default());
    }
    let compared = parse(n_bytes, || filter.compare(&changed));
    for key in hashes.hashes.into_iter().flatten() {
        let shard = shape.shard_of(key);
        let shard = shard.start as usize..shard.end as usize;
        assert_eq!(shape.may_hold(&written[shard.clone()], key), Ok(true));
        let shard = changed.get(shard).unwrap_or_default();
        let may_hold = parse(shard.len(), || shape.may_hold(shard, key));
        // Who compares the whole filter finds one that lacks a value.
        assert!(compared != Ok(None) || may_hold == Ok(true));
    }
    if compared.is_ok() {
        accepted();
    }
    assert_eq!(compared == Ok(None), changed == written);
}

/// Makes the checksum of a shard right, whose blocks go at most to the end of the bytes.
fn seal_shard(shard: &mut [u8]) {
    let end = shard.len().clamp(8, 4_104);
    seal(shard, 0, std::slice::from_ref(&(8..end)));
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
