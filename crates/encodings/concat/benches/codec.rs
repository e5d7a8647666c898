//! `cargo bench -p tarsia-concat`: bytes of decoded strings per second, over bit-packed lengths and plain bytes.

use tarsia_bitpack::BITPACK;
use tarsia_concat::{CONCAT, tree};
use tarsia_plain::PLAIN;
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
    let tree = tree(tarsia_bitpack::tree(), tarsia_plain::tree());
    Codec::new(&[&CONCAT, &BITPACK, &PLAIN], tree, strings)
}
