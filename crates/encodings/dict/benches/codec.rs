//! `cargo bench -p tarsia-dict`: bytes of decoded values per second, of bit-packed codes into a dictionary of the page,
//! or of the block.

use tarsia_bitpack::BITPACK;
use tarsia_bytes::BYTES;
use tarsia_codec::{EncodingWriter, Tree};
use tarsia_dict::{CodeBytes, DICT, block_tree, page_tree};
use tarsia_plain::PLAIN;
use tarsia_testkit::bench::{Codec, Data};
use tarsia_testkit::cases::Case;
use tarsia_testkit::codec_benches;

codec_benches!(numbers, strings, numbers_of_a_block);

const WRITERS: [&'static dyn EncodingWriter; 4] = [&DICT, &BITPACK, &PLAIN, &BYTES];

/// How many values are distinct, and the bytes of their codes.
fn entries(data: Data) -> (usize, CodeBytes) {
    let n_entries = match data {
        Data::Best => 16,
        Data::Typical => 1000,
        Data::Worst => 50_000,
    };
    (n_entries, CodeBytes::for_entries(n_entries))
}

fn some_numbers(data: Data) -> Case {
    let (n_entries, _) = entries(data);
    data.numbers(8, |_, rng| {
        (rng.below(n_entries) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    })
}

fn page(data: Data) -> Tree {
    page_tree(entries(data).1, tarsia_bitpack::tree())
}

fn numbers(data: Data) -> Codec {
    Codec::new(&WRITERS, page(data), some_numbers(data))
}

fn strings(data: Data) -> Codec {
    let (n_entries, _) = entries(data);
    let strings = data.strings(|_, rng| format!("string number {}", rng.below(n_entries)).into());
    Codec::new(&WRITERS, page(data), strings)
}

fn numbers_of_a_block(data: Data) -> Codec {
    let tree = block_tree(
        entries(data).1,
        tarsia_bitpack::tree(),
        tarsia_plain::tree(),
    );
    Codec::new(&WRITERS, tree, some_numbers(data))
}
