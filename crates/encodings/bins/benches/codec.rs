//! `cargo bench -p tarsia-bins`: bytes of decoded values per second, over numbers of bins as they are.

use std::f64::consts::TAU;

use tarsia_bins::{BINS, NUMBER_BITS_MAX, tree};
use tarsia_plain::PLAIN;
use tarsia_testkit::bench::{Codec, Data};
use tarsia_testkit::codec_benches;
use tarsia_testkit::rng::Rng;

codec_benches!(shorts, ints, longs, floats, doubles);

/// Few different numbers, `typical` ones, and random bits.
fn of(width: usize, data: Data, typical: impl Fn(&mut Rng) -> u64) -> Codec {
    let numbers = data.numbers(width, |_, rng| match data {
        Data::Best => 1000 * rng.below(8) as u64,
        Data::Typical => typical(rng),
        Data::Worst => rng.u64(),
    });
    let tree = tree(NUMBER_BITS_MAX, tarsia_plain::tree());
    Codec::new(&[&BINS, &PLAIN], tree, numbers)
}

/// Draws a number of a normal distribution with the mean 0 and the deviation 1 (Box and Muller).
fn normal(rng: &mut Rng) -> f64 {
    let mut share = || (rng.u64() as f64 + 1.0) / 2f64.powi(64);
    (-2.0 * share().ln()).sqrt() * (TAU * share()).cos()
}

/// Draws a number of a lognormal distribution: most are near `e^mean`, few are much larger.
fn lognormal(rng: &mut Rng, mean: f64) -> u64 {
    (mean + normal(rng)).exp() as u64
}

fn shorts(data: Data) -> Codec {
    of(2, data, |rng| lognormal(rng, 6.0))
}

fn ints(data: Data) -> Codec {
    of(4, data, |rng| lognormal(rng, 9.0))
}

fn longs(data: Data) -> Codec {
    of(8, data, |rng| lognormal(rng, 14.0))
}

fn floats(data: Data) -> Codec {
    of(4, data, |rng| (normal(rng) as f32).to_bits().into())
}

fn doubles(data: Data) -> Codec {
    of(8, data, |rng| normal(rng).to_bits())
}
