//! `cargo bench -p tarsia-frequency`: bytes of decoded values per second.

use tarsia_codec::Tree;
use tarsia_frequency::{FREQUENCY, tree};
use tarsia_testkit::bench::{Codec, Data};
use tarsia_testkit::codec_benches;

codec_benches!(wide, narrow, packed);

/// Zeros, of which one value in 100, 5 or 2 is another number.
fn of(width: usize, exceptions: Tree, data: Data) -> Codec {
    let one_in = match data {
        Data::Best => 100,
        Data::Typical => 5,
        Data::Worst => 2,
    };
    let numbers = data.numbers(width, |_, rng| match rng.below(one_in) {
        0 => rng.u64(),
        _ => 0,
    });
    let encodings = [
        &FREQUENCY as _,
        &tarsia_bitpack::BITPACK as _,
        &tarsia_plain::PLAIN as _,
    ];
    let tree = tree(tarsia_plain::tree(), exceptions);
    Codec::new(&encodings, tree, numbers)
}

fn wide(data: Data) -> Codec {
    of(8, tarsia_plain::tree(), data)
}

fn narrow(data: Data) -> Codec {
    of(4, tarsia_plain::tree(), data)
}

fn packed(data: Data) -> Codec {
    of(8, tarsia_bitpack::tree(), data)
}
