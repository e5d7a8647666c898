//! Hostile bytes of mini-blocks: refused, or consistent with themselves.

use tarsia_codec::ErrorKind;
use tarsia_structure::block::BLOCK_HEADER_BYTES;
use tarsia_structure::{Block, PageDecoder};

use crate::checks::*;
use crate::model::*;

#[test]
fn every_prefix_of_a_payload_is_refused_or_consistent() {
    for (forms, page) in small_pages() {
        let decoder = PageDecoder::new(&registry(), &page.meta, &[]).unwrap();
        let rows = block_rows(&page)[0];
        let block = page.block(0);
        assert!(check_hostile(&decoder, &forms, block, rows));
        let payload = u32::from_le_bytes(block[24..28].try_into().unwrap()) as usize;
        let n_levels = Block::parse(block, &decoder.expect(rows))
            .unwrap()
            .levels
            .len();
        for len in 0..payload {
            let mut bad = block[..BLOCK_HEADER_BYTES + len].to_vec();
            bad[24..28].copy_from_slice(&(len as u32).to_le_bytes());
            let read = check_hostile(&decoder, &forms, &bad, rows);
            // What lies behind may be short of nothing, if it is padding; levels never are.
            assert!(
                !read || len >= n_levels,
                "{forms:?}: a prefix of {len} of {n_levels}"
            );
            // A place that ends before its payload does.
            let cut = &block[..BLOCK_HEADER_BYTES + len];
            let refused = Block::parse(cut, &decoder.expect(rows)).unwrap_err();
            assert!(
                matches!(refused.kind(), ErrorKind::Truncated { .. }),
                "{refused}"
            );
        }
    }
}

#[test]
fn every_flipped_bit_is_refused_or_consistent() {
    let (mut n_read, mut n_refused) = (0, 0);
    for (forms, page) in small_pages() {
        let decoder = PageDecoder::new(&registry(), &page.meta, &[]).unwrap();
        let rows = block_rows(&page)[0];
        let block = page.block(0);
        for at in 4..block.len() {
            for bit in 0..8 {
                let mut bad = block.to_vec();
                bad[at] ^= 1 << bit;
                match check_hostile(&decoder, &forms, &bad, rows) {
                    true => n_read += 1,
                    false => n_refused += 1,
                }
            }
        }
    }
    // Values and filler may be anything; headers and levels may not.
    assert!(n_read > 1000 && n_refused > 1000, "{n_read} {n_refused}");
}

#[test]
fn random_words_in_a_payload_are_refused_or_consistent() {
    let mut rng = Rng::new(8);
    for (forms, page) in small_pages() {
        let decoder = PageDecoder::new(&registry(), &page.meta, &[]).unwrap();
        let rows = block_rows(&page)[0];
        let block = page.block(0);
        for _ in 0..2000 {
            let mut bad = block.to_vec();
            for _ in 0..1 + rng.below(3) {
                let at = 8 + rng.below(bad.len() - 12) / 4 * 4;
                let word = match rng.below(4) {
                    0 => rng.below(16) as u32,
                    1 => u32::MAX >> rng.below(32),
                    2 => 0xfa + rng.below(6) as u32,
                    _ => 1 << rng.below(32),
                };
                bad[at..at + 4].copy_from_slice(&word.to_le_bytes());
            }
            check_hostile(&decoder, &forms, &bad, rows);
        }
    }
}
