//! `cargo bench -p tarsia-zigzag`: bytes of decoded values per second.

use tarsia_testkit::bench::{Codec, Data};
use tarsia_testkit::codec_benches;
use tarsia_zigzag::{ZIGZAG, tree};

codec_benches!(alone, packed);

/// Without unpacking: 8, 4 and 1 bytes wide.
fn alone(data: Data) -> Codec {
    let width = match data {
        Data::Best => 8,
        Data::Typical => 4,
        Data::Worst => 1,
    };
    let numbers = data.numbers(width, |_, rng| rng.u64());
    let encodings = [&ZIGZAG as _, &tarsia_plain::PLAIN as _];
    Codec::new(&encodings, tree(tarsia_plain::tree()), numbers)
}

/// Numbers of 4, 10 and 20 bits and a sign.
fn packed(data: Data) -> Codec {
    let bits = match data {
        Data::Best => 4,
        Data::Typical => 10,
        Data::Worst => 20,
    };
    let numbers = data.numbers(8, |_, rng| ((rng.u64() as i64) >> (63 - bits)) as u64);
    let encodings = [&ZIGZAG as _, &tarsia_bitpack::BITPACK as _];
    Codec::new(&encodings, tree(tarsia_bitpack::tree()), numbers)
}
