//! `cargo bench -p tarsia-alprd`: bytes of decoded values per second.

use tarsia_alprd::{ALPRD, tree};
use tarsia_codec::Tree;
use tarsia_testkit::bench::{Codec, Data};
use tarsia_testkit::codec_benches;

codec_benches!(doubles, floats, alone);

/// Numbers of one exponent, of about four, and of random signs and 16 exponents.
fn of(width: usize, child: &Tree, data: Data) -> Codec {
    let numbers = data.numbers(width, |_, rng| {
        let fraction = rng.u64() as f64 / u64::MAX as f64;
        let number = match data {
            Data::Best => 1.0 + fraction,
            Data::Typical => fraction,
            Data::Worst => fraction * f64::from(1u32 << rng.below(16)) * [1.0, -1.0][rng.below(2)],
        };
        match width {
            4 => (number as f32).to_bits().into(),
            _ => number.to_bits(),
        }
    });
    let right_bits = if width == 4 { 23 } else { 52 };
    let encodings = [
        &ALPRD as _,
        &tarsia_bitpack::BITPACK as _,
        &tarsia_plain::PLAIN as _,
    ];
    Codec::new(
        &encodings,
        tree(right_bits, child.clone(), child.clone()),
        numbers,
    )
}

fn doubles(data: Data) -> Codec {
    of(8, &tarsia_bitpack::tree(), data)
}

fn floats(data: Data) -> Codec {
    of(4, &tarsia_bitpack::tree(), data)
}

/// Without unpacking.
fn alone(data: Data) -> Codec {
    of(8, &tarsia_plain::tree(), data)
}
