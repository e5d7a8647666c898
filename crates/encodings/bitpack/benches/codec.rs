//! `cargo bench -p tarsia-bitpack`: bytes of decoded values per second.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use tarsia_bitpack::{BITPACK, Mode, estimate, tree};
use tarsia_testkit::bench::{Codec, Data};
use tarsia_testkit::cases::Case;
use tarsia_testkit::codec_benches;

codec_benches!(numbers_of_4_bytes, numbers_of_8_bytes, rising);

/// One value; ten bits, one value in a hundred of 28; every bit.
fn numbers(data: Data, width: usize) -> Case {
    data.numbers(width, |_, rng| match data {
        Data::Best => 7,
        Data::Typical if rng.percent(1) => rng.u64() >> 36,
        Data::Typical => 1_000_000 + (rng.u64() >> 54),
        Data::Worst => rng.u64(),
    })
}

fn numbers_of_4_bytes(data: Data) -> Codec {
    Codec::new(&[&BITPACK], tree(), numbers(data, 4))
}

fn numbers_of_8_bytes(data: Data) -> Codec {
    Codec::new(&[&BITPACK], tree(), numbers(data, 8))
}

/// Equal widths over one base, equal widths over a base per group, and a different width in each group.
fn rising(data: Data) -> Codec {
    let numbers = data.numbers(4, |i, rng| match data {
        Data::Best => 1_000_000 + (rng.u64() >> 54),
        Data::Typical => i / 1024 * 100_000 + (rng.u64() >> 54),
        Data::Worst => rng.u64() >> (32 + i / 1024 % 32),
    });
    Codec::new(&[&BITPACK], tree(), numbers)
}

/// Called as by a search for trees: in blocks of 4,096 values.
#[divan::bench(args = Data::ALL)]
fn estimates(bencher: Bencher<'_, '_>, data: Data) {
    let case = numbers(data, 4);
    let values = case.values().as_fixed().expect("numbers");
    let bytes = BytesCount::new(values.bytes().len());
    bencher
        .counter(bytes)
        .bench_local(|| estimate(black_box(values), 4096, Mode::Free));
}
