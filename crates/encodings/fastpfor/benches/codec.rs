//! `cargo bench -p tarsia-fastpfor`: bytes of decoded values per second.

use tarsia_fastpfor::{FASTPFOR, Scheme, tree};
use tarsia_testkit::bench::{Codec, Data};
use tarsia_testkit::codec_benches;

codec_benches!(bp128, fast_pfor, bp128_longs, fast_pfor_longs);

/// One value; ten bits, one value in fifty of 20; random bits, of another number for each group.
fn of(width: usize, scheme: Scheme, data: Data) -> Codec {
    let numbers = data.numbers(width, |i, rng| match data {
        Data::Best => 7,
        Data::Typical if rng.percent(2) => rng.u64() >> 44,
        Data::Typical => rng.u64() >> 54,
        Data::Worst => rng.u64() >> (64 - i / 128 % (width as u64 * 8)).min(63),
    });
    Codec::new(&[&FASTPFOR], tree(scheme), numbers)
}

fn bp128(data: Data) -> Codec {
    of(4, Scheme::Bp128, data)
}

fn fast_pfor(data: Data) -> Codec {
    of(4, Scheme::FastPfor, data)
}

fn bp128_longs(data: Data) -> Codec {
    of(8, Scheme::Bp128, data)
}

fn fast_pfor_longs(data: Data) -> Codec {
    of(8, Scheme::FastPfor, data)
}
