//! `cargo bench -p tarsia-constant`: bytes of decoded values per second, for equal values.

use tarsia_constant::{CONSTANT, tree};
use tarsia_testkit::bench::{Codec, Data};
use tarsia_testkit::codec_benches;

codec_benches!(numbers, strings);

fn numbers(data: Data) -> Codec {
    let width = match data {
        Data::Best => 8,
        Data::Typical => 4,
        Data::Worst => 1,
    };
    Codec::new(&[&CONSTANT], tree(), data.numbers(width, |_, _| 7))
}

fn strings(data: Data) -> Codec {
    let length = match data {
        Data::Best => 64,
        Data::Typical => 16,
        Data::Worst => 1,
    };
    Codec::new(
        &[&CONSTANT],
        tree(),
        data.strings(|_, _| vec![b'a'; length]),
    )
}
