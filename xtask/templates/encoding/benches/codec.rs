//! `cargo bench -p tarsia-{{name}}`: bytes of decoded values per second.

use tarsia_testkit::bench::{Codec, Data};
use tarsia_testkit::codec_benches;

codec_benches!(numbers);

fn numbers(data: Data) -> Codec {
    // FILL IN: the data for which it is fastest, the data it is meant for, and the data for which it is slowest.
    let numbers = data.numbers(4, |i, rng| match data {
        Data::Best => 7,
        Data::Typical => i,
        Data::Worst => rng.u64(),
    });
    let tree = {{crate}}::tree(tarsia_plain::tree());
    Codec::new(&[&{{crate}}::{{STATIC}}, &tarsia_plain::PLAIN], tree, numbers)
}
