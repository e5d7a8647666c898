//! `cargo bench -p tarsia-runend`: bytes of decoded values per second.

use tarsia_runend::{EndBytes, tree};
use tarsia_testkit::bench::{Codec, Data};
use tarsia_testkit::codec_benches;

codec_benches!(bytes, numbers, doubles, bits);

/// Runs of 1,000 values, of 1 to 31, and of 1 to 3.
fn run(data: Data) -> impl FnMut(u64, &mut tarsia_testkit::rng::Rng) -> u64 {
    let (mut value, mut left) = (0, 0);
    move |_, rng| {
        if left == 0 {
            value += 1;
            left = match data {
                Data::Best => 1000,
                Data::Typical => 1 + rng.below(31),
                Data::Worst => 1 + rng.below(3),
            };
        }
        left -= 1;
        value
    }
}

fn of(width: usize, data: Data) -> Codec {
    let values = data.numbers(width, run(data));
    let tree = tree(
        EndBytes::Two,
        tarsia_bitpack::tree(),
        tarsia_bitpack::tree(),
    );
    Codec::new(
        &[&tarsia_runend::RUNEND, &tarsia_bitpack::BITPACK],
        tree,
        values,
    )
}

fn bytes(data: Data) -> Codec {
    of(1, data)
}

fn numbers(data: Data) -> Codec {
    of(4, data)
}

fn doubles(data: Data) -> Codec {
    of(8, data)
}

fn bits(data: Data) -> Codec {
    let mut run = run(data);
    let values = data.bits(|i, rng| run(i, rng) % 2 == 1);
    let tree = tree(EndBytes::Two, tarsia_bitpack::tree(), tarsia_bitmap::tree());
    let writers = [
        &tarsia_runend::RUNEND as _,
        &tarsia_bitpack::BITPACK as _,
        &tarsia_bitmap::BITMAP as _,
    ];
    Codec::new(&writers, tree, values)
}
