//! `cargo bench -p tarsia-alp`: bytes of decoded values per second.

use tarsia_alp::{ALP, tree};
use tarsia_testkit::bench::{Codec, Data};
use tarsia_testkit::codec_benches;

codec_benches!(doubles, floats, alone);

/// Prices with two decimals, coordinates with six, and coordinates of which one in 50 has random digits.
fn of(width: usize, child: tarsia_codec::Tree, data: Data) -> Codec {
    let numbers = data.numbers(width, |_, rng| {
        let number = match data {
            Data::Best => rng.below(100_000) as f64 / 100.0,
            _ if data == Data::Worst && rng.below(50) == 0 => rng.u64() as f64 / 1e18,
            _ => rng.below(90_000_000) as f64 / 1e6,
        };
        match width {
            4 => (number as f32).to_bits().into(),
            _ => number.to_bits(),
        }
    });
    let decimals = if data == Data::Best { 2 } else { 6 };
    let encodings = [
        &ALP as _,
        &tarsia_bitpack::BITPACK as _,
        &tarsia_plain::PLAIN as _,
    ];
    Codec::new(&encodings, tree(decimals, child), numbers)
}

fn doubles(data: Data) -> Codec {
    of(8, tarsia_bitpack::tree(), data)
}

fn floats(data: Data) -> Codec {
    of(4, tarsia_bitpack::tree(), data)
}

/// Without unpacking.
fn alone(data: Data) -> Codec {
    of(8, tarsia_plain::tree(), data)
}
