//! `cargo bench -p tarsia-window`: bytes of decoded values per second.

use tarsia_testkit::bench::{Codec, Data};
use tarsia_testkit::codec_benches;
use tarsia_window::Reference;

codec_benches!(lists);

/// Lists that get new values at the head: of 256 values with one new (best), of 128 with two (typical), and of eight
/// that are all new but one (worst).
fn lists(data: Data) -> Codec {
    let (len, n_new) = match data {
        Data::Best => (256, 1),
        Data::Typical => (128, 2),
        Data::Worst => (8, 7),
    };
    // List `i` starts `n_new` values before the list `i - 1` in a stream.
    let scramble = |at: u64| at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 1;
    let numbers = data.numbers(8, |i, _| {
        let (list, place) = (i / len, i % len);
        scramble((1 << 40) - list * n_new + place)
    });
    let plain = tarsia_plain::tree;
    let tree = tarsia_window::tree(Reference::Step, plain(), plain(), plain(), plain());
    Codec::new(
        &[&tarsia_window::WINDOW, &tarsia_plain::PLAIN],
        tree,
        numbers,
    )
}
