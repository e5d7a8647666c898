//! `cargo bench -p tarsia-roaring`: bytes of decoded bits per second.

use tarsia_roaring::{ROARING, tree};
use tarsia_testkit::bench::{Codec, Data};
use tarsia_testkit::codec_benches;

codec_benches!(positions, runs);

/// One bit in 1,000, 100 or 20 is set, at random places.
fn positions(data: Data) -> Codec {
    let one_in = match data {
        Data::Best => 1000,
        Data::Typical => 100,
        Data::Worst => 20,
    };
    let bits = data.bits(|_, rng| rng.below(one_in) == 0);
    Codec::new(&[&ROARING], tree(), bits)
}

/// Runs of 2,000, 300 or 50 equal bits in the mean.
fn runs(data: Data) -> Codec {
    let one_in = match data {
        Data::Best => 2000,
        Data::Typical => 300,
        Data::Worst => 50,
    };
    let mut bit = false;
    let bits = data.bits(|_, rng| {
        bit ^= rng.below(one_in) == 0;
        bit
    });
    Codec::new(&[&ROARING], tree(), bits)
}
