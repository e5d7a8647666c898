//! `cargo bench -p tarsia-narrow`: bytes of decoded values per second.

use tarsia_narrow::{Extension, NARROW, tree};
use tarsia_testkit::bench::{Codec, Data};
use tarsia_testkit::codec_benches;

codec_benches!(decimals, alone);

/// Amounts in cents over packed numbers: of 8 bits, of up to a million, and of 62 bits.
fn decimals(data: Data) -> Codec {
    let numbers = data.numbers(16, |_, rng| match data {
        Data::Best => rng.below(256) as u64,
        Data::Typical => rng.below(1_000_000) as u64,
        Data::Worst => rng.u64() >> 2,
    });
    let tree = tree(8, Extension::Sign, tarsia_bitpack::tree());
    Codec::new(&[&NARROW, &tarsia_bitpack::BITPACK], tree, numbers)
}

/// Makes a codec over plain numbers of the smallest width.
fn alone(data: Data) -> Codec {
    let (child_bytes, bits) = match data {
        Data::Best => (1, 7),
        Data::Typical => (4, 20),
        Data::Worst => (8, 62),
    };
    let numbers = data.numbers(16, |_, rng| rng.u64() >> (64 - bits));
    let tree = tree(child_bytes, Extension::Sign, tarsia_plain::tree());
    Codec::new(&[&NARROW, &tarsia_plain::PLAIN], tree, numbers)
}
