//! `cargo bench -p tarsia-bitmap`: bytes of decoded bits per second. The time does not depend on the data.

use tarsia_bitmap::{BITMAP, tree};
use tarsia_testkit::bench::{Codec, Data};
use tarsia_testkit::codec_benches;

codec_benches!(bits);

fn bits(data: Data) -> Codec {
    let bits = data.bits(|_, rng| match data {
        Data::Best => true,
        Data::Typical => rng.percent(95),
        Data::Worst => rng.flip(),
    });
    Codec::new(&[&BITMAP], tree(), bits)
}
