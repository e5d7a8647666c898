//! `cargo bench -p tarsia-sequence`: bytes of decoded values per second.

use tarsia_sequence::{SEQUENCE, tree};
use tarsia_testkit::bench::{Codec, Data};
use tarsia_testkit::codec_benches;

codec_benches!(numbers_of_8, numbers_of_2);

/// The worst is no sequence.
fn of(width: usize, data: Data) -> Codec {
    let numbers = data.numbers(width, |i, rng| match data {
        Data::Best => i,
        Data::Typical => 1_700_000_000 + 60 * i,
        Data::Worst => rng.u64(),
    });
    Codec::new(&[&SEQUENCE], tree(), numbers)
}

fn numbers_of_8(data: Data) -> Codec {
    of(8, data)
}

fn numbers_of_2(data: Data) -> Codec {
    of(2, data)
}
