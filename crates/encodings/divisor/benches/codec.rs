//! `cargo bench -p tarsia-divisor`: bytes of decoded values per second.

use tarsia_divisor::{DIVISOR, tree};
use tarsia_testkit::bench::{Codec, Data};
use tarsia_testkit::codec_benches;

codec_benches!(seconds, minutes, alone);

/// Times in nanoseconds that are whole seconds: within an hour, a month and 60 years.
fn seconds(data: Data) -> Codec {
    let bits = match data {
        Data::Best => 12,
        Data::Typical => 21,
        Data::Worst => 31,
    };
    let numbers = data.numbers(8, |_, rng| (rng.u64() >> (64 - bits)) * 1_000_000_000);
    let tree = tree(8, 1_000_000_000, 0, tarsia_bitpack::tree());
    Codec::new(&[&DIVISOR, &tarsia_bitpack::BITPACK], tree, numbers)
}

/// Times of day in seconds that are whole minutes, five minutes and hours.
fn minutes(data: Data) -> Codec {
    let step = match data {
        Data::Best => 3600,
        Data::Typical => 300,
        Data::Worst => 60,
    };
    let numbers = data.numbers(4, |_, rng| rng.below(86_400 / step) as u64 * step as u64);
    let tree = tree(4, step as u64, 0, tarsia_bitpack::tree());
    Codec::new(&[&DIVISOR, &tarsia_bitpack::BITPACK], tree, numbers)
}

/// Without unpacking.
fn alone(data: Data) -> Codec {
    let numbers = data.numbers(8, |_, rng| (rng.u64() >> 34) * 1_000_000_000);
    let tree = tree(8, 1_000_000_000, 0, tarsia_plain::tree());
    Codec::new(&[&DIVISOR, &tarsia_plain::PLAIN], tree, numbers)
}
