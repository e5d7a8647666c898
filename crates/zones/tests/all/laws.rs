//! Zones of random values against values that are sorted; maps that come back; and maps of any bytes.

use proptest::prelude::*;
use tarsia_codec::{BitSlice, BytesSlice, FixedSlice, Values};
use tarsia_metadata::PageDescriptor;
use tarsia_zones::{Bound, Collect, ZoneCollector, ZoneForm, ZoneMap, ZoneRoom, zones_of_page};

const FORMS: [ZoneForm; 14] = [
    ZoneForm::Unsigned(1),
    ZoneForm::Unsigned(2),
    ZoneForm::Unsigned(4),
    ZoneForm::Unsigned(8),
    ZoneForm::Signed(1),
    ZoneForm::Signed(2),
    ZoneForm::Signed(4),
    ZoneForm::Signed(8),
    ZoneForm::Signed(16),
    ZoneForm::Signed(32),
    ZoneForm::Float(2),
    ZoneForm::Float(4),
    ZoneForm::Float(8),
    ZoneForm::Bits,
];

/// The place of a number in the order of its form; `None` for NaN.
fn key(form: ZoneForm, bytes: &[u8]) -> Option<(i128, u128)> {
    let wide = |sign: u8| {
        let mut all = [sign; 32];
        all[..bytes.len()].copy_from_slice(bytes);
        let (low, high) = all.split_at(16);
        (
            i128::from_le_bytes(high.try_into().unwrap()),
            u128::from_le_bytes(low.try_into().unwrap()),
        )
    };
    let is_negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    match form {
        ZoneForm::Signed(_) => Some(wide(if is_negative { 0xff } else { 0 })),
        ZoneForm::Float(width) => {
            let (_, bits) = wide(0);
            let sign = 1u128 << (8 * u32::from(width) - 1);
            let magnitude = bits & (sign - 1);
            let infinity = match width {
                2 => 0x7c00,
                4 => 0x7f80_0000,
                _ => 0x7ff0_0000_0000_0000,
            };
            let key = magnitude as i128;
            (magnitude <= infinity).then_some((if is_negative { -1 - key } else { key }, 0))
        }
        _ => Some(wide(0)),
    }
}

fn bits_of(validity: &[bool]) -> Vec<u8> {
    let mut bytes = vec![0; validity.len().div_ceil(8)];
    for (i, _) in validity.iter().enumerate().filter(|(_, valid)| **valid) {
        bytes[i / 8] |= 1 << (i % 8);
    }
    bytes
}

/// Numbers of a width; many are small, and some are NaN.
fn numbers() -> impl Strategy<Value = Vec<[u8; 32]>> {
    let special = prop_oneof![
        Just([0xff; 32]),
        Just([0x7f; 32]),
        Just([0; 32]),
        any::<u8>().prop_map(|byte| {
            let mut bytes = [0; 32];
            bytes[0] = byte;
            bytes
        }),
    ];
    prop::collection::vec(prop_oneof![any::<[u8; 32]>(), special], 0..300)
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

proptest! {
    #[test]
    fn bounds_of_numbers(
        values in numbers(),
        valid in prop::collection::vec(prop::bool::weighted(0.8), 300),
        form in prop::sample::select(&FORMS[..]),
        cut_at in 0_usize..300,
    ) {
        let width = usize::from(form.fixed_width().unwrap());
        let valid = &valid[..values.len()];
        let bits = bits_of(valid);
        let all = |range: std::ops::Range<usize>| {
            let validity = BitSlice::new(&bits, range.start, range.len()).unwrap();
            let mut zone = ZoneCollector::new(form);
            if form == ZoneForm::Bits {
                let flags: Vec<bool> = values.iter().map(|value| value[0] & 1 == 1).collect();
                let bytes = bits_of(&flags);
                let slice = BitSlice::new(&bytes, range.start, range.len()).unwrap();
                zone.add(Values::Bits(slice), Some(validity)).unwrap();
            } else {
                let bytes: Vec<u8> =
                    values[range.clone()].iter().flat_map(|value| value[..width].to_vec()).collect();
                let slice = FixedSlice::new(&bytes, width, range.len()).unwrap();
                zone.add(Values::Fixed(slice), Some(validity)).unwrap();
            }
            zone
        };
        let zone = all(0..values.len()).zone(values.len() as u32);
        let held = values.iter().zip(valid).filter(|(_, valid)| **valid);
        let held: Vec<Vec<u8>> = held
            .map(|(value, _)| match form {
                ZoneForm::Bits => vec![value[0] & 1],
                _ => value[..width].to_vec(),
            })
            .collect();
        let mut keyed: Vec<_> = held.iter().filter_map(|it| Some((key(form, it)?, it))).collect();
        keyed.sort();
        prop_assert_eq!(zone.nulls as usize, values.len() - held.len());
        prop_assert_eq!(zone.nans as usize, held.len() - keyed.len());
        let ends = keyed.first().zip(keyed.last());
        prop_assert_eq!(
            zone.bounds.map(|it| (it.min.bytes().to_vec(), it.max.bytes().to_vec())),
            ends.map(|(min, max)| (min.1.clone(), max.1.clone()))
        );
        // Parts that are merged are the whole.
        let cut_at = cut_at.min(values.len());
        let mut merged = all(0..cut_at);
        merged.merge(&all(cut_at..values.len()));
        prop_assert_eq!(merged.zone(values.len() as u32), zone);
    }

    #[test]
    fn bounds_of_texts(
        texts in prop::collection::vec("[aäb]{0,3}|[a-c]{28,33}ä{0,3}", 1..60),
        valid in prop::collection::vec(prop::bool::weighted(0.8), 60),
    ) {
        let mut offsets = vec![0];
        for text in &texts {
            offsets.push(offsets[offsets.len() - 1] + text.len() as u32);
        }
        let data = texts.concat();
        let strings = BytesSlice::new(&offsets, data.as_bytes()).unwrap();
        let bits = bits_of(&valid[..texts.len()]);
        let validity = BitSlice::new(&bits, 0, texts.len()).unwrap();
        let mut zone = ZoneCollector::new(ZoneForm::Text);
        zone.add(Values::Bytes(strings), Some(validity)).unwrap();
        let zone = zone.zone(texts.len() as u32);
        let mut held: Vec<&str> =
            texts.iter().zip(&valid).filter(|(_, valid)| **valid).map(|(text, _)| &**text).collect();
        held.sort_unstable();
        let is_bound = |bound: &Bound, text: &str| {
            let begin = std::str::from_utf8(bound.bytes()).unwrap();
            text.starts_with(begin)
                && bound.is_cut() == (begin.len() < text.len())
                && (!bound.is_cut() || begin.len() > 28)
                && begin.len() <= 32
        };
        match (zone.bounds, held.first().zip(held.last())) {
            (None, None) => {}
            (Some(bounds), Some((min, max))) => {
                prop_assert!(is_bound(&bounds.min, min) && is_bound(&bounds.max, max));
            }
            other => prop_assert!(false, "{other:?}"),
        }
    }

    #[test]
    fn maps_come_back_and_no_bytes_are_too_bad(
        form in prop::sample::select(vec![
            ZoneForm::Signed(8), ZoneForm::Float(4), ZoneForm::Text, ZoneForm::Binary,
        ]),
        blocks in prop::collection::vec(1_u32..40, 1..50),
        page_bytes in 0_u64..200_000,
        is_erasable in any::<bool>(),
        seed in any::<u64>(),
        change in any::<(prop::sample::Index, u8)>(),
    ) {
        let rows: u32 = blocks.iter().sum();
        let number = |i: u64| seed.wrapping_add(i).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (i % 60);
        let texts: Vec<String> = (0..u64::from(rows)).map(|i| format!("{:x}", number(i))).collect();
        let mut offsets = vec![0];
        for text in &texts {
            offsets.push(offsets[offsets.len() - 1] + text.len() as u32);
        }
        let data = texts.concat();
        let fixed: Vec<u8> = (0..u64::from(rows))
            .flat_map(|i| number(i).to_le_bytes()[..usize::from(form.fixed_width().unwrap_or(8))].to_vec())
            .collect();
        let values = match form.fixed_width() {
            Some(width) => Values::Fixed(FixedSlice::new(&fixed, width.into(), rows as usize).unwrap()),
            None => Values::Bytes(BytesSlice::new(&offsets, data.as_bytes()).unwrap()),
        };
        let room = ZoneRoom { block_rows: &blocks, block_values: None, page_bytes, is_erasable };
        let zones = zones_of_page(form, values, None, &room).unwrap();
        prop_assert!(zones.is_some());
        if let Some(zones) = &zones {
            prop_assert!(!is_erasable || zones.blocks_log2.is_some() || blocks.len() < 2);
            prop_assert_eq!(zones.ranges(0).last().unwrap().end, u64::from(rows));
        }
        let map = ZoneMap { pages: vec![zones, None] };
        let descriptors = [page(rows, blocks.len() as u32), page(7, 1)];
        let mut bytes = map.to_bytes(form, is_erasable).unwrap();
        prop_assert!(bytes.len().is_multiple_of(8));
        prop_assert_eq!(&ZoneMap::parse(&bytes, form, descriptors.iter()).unwrap(), &map);
        // With the right checksum, other bytes are refused or have another meaning.
        let (at, bits) = change;
        let at = at.index(bytes.len());
        bytes[at] ^= bits.max(1);
        prop_assert!(ZoneMap::parse(&bytes, form, descriptors.iter()).is_err());
        let crc = tarsia_metadata::crc32c(&[&bytes[..4], &bytes[8..]]);
        bytes[4..8].copy_from_slice(&crc.to_le_bytes());
        match ZoneMap::parse(&bytes, form, descriptors.iter()) {
            Ok(told) => prop_assert!((4..8).contains(&at) || told != map),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
        let cut = bytes.len() - 8;
        prop_assert!(ZoneMap::parse(&bytes[..cut], form, descriptors.iter()).is_err());
    }

    /// Rows without a value, which structs that are null give, count as nulls and move no bound.
    #[test]
    fn rows_without_a_value_are_null(
        blocks in prop::collection::vec((1_u32..40, 0_u32..40), 2..50),
        seed in any::<u64>(),
    ) {
        let block_rows: Vec<u32> = blocks.iter().map(|(rows, _)| *rows).collect();
        let block_values: Vec<u32> = blocks.iter().map(|(rows, n)| *n.min(rows)).collect();
        let n_values = block_values.iter().sum::<u32>() as usize;
        let numbers: Vec<i64> = (0..n_values as u64)
            .map(|i| (seed.wrapping_mul(i + 1) >> (i % 60)) as i64)
            .collect();
        let bytes: Vec<u8> = numbers.iter().flat_map(|it| it.to_le_bytes()).collect();
        let is_valid: Vec<bool> = (0..n_values).map(|i| seed >> (i % 64) & 1 == 1).collect();
        let bits = bits_of(&is_valid);
        let values = Values::Fixed(FixedSlice::new(&bytes, 8, n_values).unwrap());
        let validity = BitSlice::new(&bits, 0, n_values).unwrap();
        // Enough for a zone of each block.
        let room = ZoneRoom {
            block_rows: &block_rows,
            block_values: Some(&block_values),
            page_bytes: 1 << 20,
            is_erasable: true,
        };
        let zones = zones_of_page(ZoneForm::Signed(8), values, Some(validity), &room).unwrap().unwrap();
        prop_assert_eq!(zones.zones.len(), blocks.len());
        let mut start = 0;
        for ((zone, rows), n) in zones.zones.iter().zip(block_rows).zip(block_values) {
            let range = start..start + n as usize;
            start = range.end;
            let valid: Vec<i64> = range.filter(|i| is_valid[*i]).map(|i| numbers[i]).collect();
            prop_assert_eq!((zone.rows, zone.nulls), (rows, rows - valid.len() as u32));
            let bound = |it: i64| Bound::new(&it.to_le_bytes(), false).unwrap();
            let found = zone.bounds.map(|it| [it.min, it.max]);
            let ends = valid.iter().min().zip(valid.iter().max());
            prop_assert_eq!(found, ends.map(|(min, max)| [bound(*min), bound(*max)]));
        }
    }
}
