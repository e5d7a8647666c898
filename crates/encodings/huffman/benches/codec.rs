//! `cargo bench -p tarsia-huffman`: bytes of decoded values per second.

use tarsia_huffman::{HUFFMAN, tree};
use tarsia_testkit::bench::{Codec, Data};
use tarsia_testkit::codec_benches;

codec_benches!(bytes);

/// Numbers of which each is half as frequent as the one before: three to an entry of the table. Numbers of which small
/// ones are frequent, in 4.7 bits. Random ones, which get no smaller: one to an entry.
fn bytes(data: Data) -> Codec {
    let numbers = data.numbers(1, |_, rng| match data {
        Data::Best => rng.u64().trailing_zeros().into(),
        Data::Typical => {
            let mut number = 0;
            while number < 255 && rng.below(10) > 0 {
                number += 1;
            }
            number
        }
        Data::Worst => rng.u64(),
    });
    Codec::new(&[&HUFFMAN], tree(), numbers)
}
