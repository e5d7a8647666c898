//! Frozen bytes, in both directions, under given codes: how long the best ones are may change, what they mean may not.
//! `TARSIA_BLESS=1` writes missing files; existing files never change.

use tarsia_codec::{DecodeCost, Registry};
use tarsia_huffman::{HUFFMAN, tree};
use tarsia_testkit::cases::Case;
use tarsia_testkit::units::Golden;

use crate::reference::{steep, table};

fn check(name: &str, lengths: &[u8], values: &[u8]) {
    let mut registry = Registry::new();
    registry.add_writer(&HUFFMAN, DecodeCost::default());
    let case = Case::fixed("", 1, values.len(), values.to_vec());
    let golden = Golden {
        folder: env!("CARGO_MANIFEST_DIR"),
        registry: &registry,
        tree: &tree(),
        shared: &[table(lengths)],
    };
    golden.check(name, &case);
}

#[test]
fn frozen_bytes_stay() {
    check("none", &[1, 1], &[]);
    check("short", &[2, 0, 1, 2], &[0, 2, 3, 2, 2, 0]);
    let letters = b"a block holds the encoded values of a run of rows";
    let mut lengths = [0; 256];
    lengths[usize::from(b' ')] = 1;
    lengths[usize::from(b'a')..][..32].fill(6);
    check("one_stream", &lengths, letters);
    let mut many = letters.repeat(25);
    check("four_streams", &lengths, &many[..1111]);
    many = (0..1500u32)
        .map(|i| [0, 1, 2, 3, 7, 10, 254, 255][i as usize * i as usize % 8])
        .collect();
    check("longest_codes", &steep(), &many);
    // Sizes of streams of 4 bytes.
    let bits: Vec<u8> = (0..21_845u32).map(|i| u8::from(i % 5 == 0)).collect();
    check("wide_sizes", &[1, 1], &bits);
}
