//! `cargo bench -p tarsia-pseudodecimal`: bytes of decoded values per second.

use tarsia_codec::Tree;
use tarsia_pseudodecimal::{PSEUDODECIMAL, tree};
use tarsia_testkit::bench::{Codec, Data};
use tarsia_testkit::codec_benches;

codec_benches!(doubles, floats, alone, narrow_alone);

/// Prices with two decimals, measurements with zero to six, and such of which one in 50 has random digits.
fn of(width: usize, child: Tree, data: Data) -> Codec {
    let numbers = data.numbers(width, |_, rng| {
        let number = match data {
            Data::Best => rng.below(100_000) as f64 / 100.0,
            _ if data == Data::Worst && rng.below(50) == 0 => rng.u64() as f64 / 1e18,
            _ => rng.below(1_000_000) as f64 / 10f64.powi(rng.below(7) as i32),
        };
        match width {
            4 => (number as f32).to_bits().into(),
            _ => number.to_bits(),
        }
    });
    let encodings = [
        &PSEUDODECIMAL as _,
        &tarsia_bitpack::BITPACK as _,
        &tarsia_plain::PLAIN as _,
    ];
    Codec::new(&encodings, tree(child.clone(), child), numbers)
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

/// Without unpacking.
fn narrow_alone(data: Data) -> Codec {
    of(4, tarsia_plain::tree(), data)
}
