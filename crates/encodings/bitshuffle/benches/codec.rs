//! `cargo bench -p tarsia-bitshuffle`: bytes of decoded values per second.

use tarsia_bitshuffle::{BITSHUFFLE, tree};
use tarsia_testkit::bench::{Codec, Data};
use tarsia_testkit::codec_benches;

codec_benches!(alone, packed);

/// Without a child that makes planes shorter: 1, 4 and 8 bytes wide.
fn alone(data: Data) -> Codec {
    let width = match data {
        Data::Best => 1,
        Data::Typical => 4,
        Data::Worst => 8,
    };
    let numbers = data.numbers(width, |_, rng| rng.u64());
    let encodings = [&BITSHUFFLE as _, &tarsia_plain::PLAIN as _];
    Codec::new(&encodings, tree(tarsia_plain::tree()), numbers)
}

/// Numbers of 8 bytes over bit-packing, which leaves out planes that are all zero: all equal, of 12 random bits, of 64.
fn packed(data: Data) -> Codec {
    let bits = match data {
        Data::Best => 0,
        Data::Typical => 12,
        Data::Worst => 64,
    };
    let numbers = data.numbers(8, |_, rng| rng.u64().checked_shr(64 - bits).unwrap_or(0));
    let encodings = [&BITSHUFFLE as _, &tarsia_bitpack::BITPACK as _];
    Codec::new(&encodings, tree(tarsia_bitpack::tree()), numbers)
}
