//! `cargo bench -p tarsia-bytes`: bytes of decoded strings per second, over bit-packed lengths. Longer strings are
//! faster.

use tarsia_bitpack::BITPACK;
use tarsia_bytes::{BYTES, tree};
use tarsia_testkit::bench::{Codec, Data};
use tarsia_testkit::codec_benches;

codec_benches!(strings);

fn strings(data: Data) -> Codec {
    let strings = data.strings(|_, rng| {
        let length = match data {
            Data::Best => 64,
            Data::Typical => rng.between(5, 40),
            Data::Worst => rng.below(4),
        };
        rng.bytes(length)
    });
    Codec::new(&[&BYTES, &BITPACK], tree(tarsia_bitpack::tree()), strings)
}
