//! `cargo bench -p tarsia-delta`: bytes of decoded values per second.

use tarsia_testkit::bench::{Codec, Data};
use tarsia_testkit::codec_benches;

codec_benches!(times, numbers);

/// A constant step, a clock that ticks irregularly, and values in no order.
fn of(width: usize, data: Data) -> Codec {
    let mut time = 0;
    let values = data.numbers(width, |i, rng| match data {
        Data::Best => i * 250,
        Data::Typical => {
            time += rng.below(1000) as u64;
            time
        }
        Data::Worst => rng.u64(),
    });
    let tree = tarsia_delta::tree(tarsia_bitpack::tree());
    let encodings = [&tarsia_delta::DELTA as _, &tarsia_bitpack::BITPACK as _];
    Codec::new(&encodings, tree, values)
}

fn times(data: Data) -> Codec {
    of(8, data)
}

fn numbers(data: Data) -> Codec {
    of(4, data)
}
