//! `cargo bench -p tarsia-varint`: bytes of decoded values per second.

use tarsia_testkit::bench::{Codec, Data};
use tarsia_testkit::codec_benches;
use tarsia_varint::{VARINT, tree};

codec_benches!(ints, longs);

/// Values of 4 bytes: of one byte, of up to 14 bits, and of any number of bits up to 32.
fn ints(data: Data) -> Codec {
    let numbers = data.numbers(4, |_, rng| match data {
        Data::Best => rng.u64() >> 57,
        Data::Typical => rng.u64() >> (50 + rng.below(14)),
        Data::Worst => rng.u64() >> (32 + rng.below(32)),
    });
    Codec::new(&[&VARINT], tree(), numbers)
}

/// Values of 8 bytes: of one byte, of up to 14 bits, and of any number of bits up to 64.
fn longs(data: Data) -> Codec {
    let numbers = data.numbers(8, |_, rng| match data {
        Data::Best => rng.u64() >> 57,
        Data::Typical => rng.u64() >> (50 + rng.below(14)),
        Data::Worst => rng.u64() >> rng.below(64),
    });
    Codec::new(&[&VARINT], tree(), numbers)
}
