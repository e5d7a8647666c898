//! `cargo bench -p tarsia-plain`: bytes of decoded values per second. The time depends on the width, not on the data.

use tarsia_plain::{PLAIN, tree};
use tarsia_testkit::bench::{Codec, Data};
use tarsia_testkit::codec_benches;

codec_benches!(numbers, bits);

fn numbers(data: Data) -> Codec {
    let width = match data {
        Data::Best => 8,
        Data::Typical => 4,
        Data::Worst => 1,
    };
    Codec::new(&[&PLAIN], tree(), data.numbers(width, |_, rng| rng.u64()))
}

fn bits(data: Data) -> Codec {
    Codec::new(&[&PLAIN], tree(), data.bits(|_, rng| rng.flip()))
}
