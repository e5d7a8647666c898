//! `cargo bench -p tarsia-split`: bytes of decoded values per second.

use tarsia_split::{SPLIT, tree};
use tarsia_testkit::bench::{Codec, Data};
use tarsia_testkit::codec_benches;

codec_benches!(halves_of_8, bytes_of_4, bytes_of_8, uneven_8);

/// Random numbers; what they are makes no difference.
fn of(widths: &[u8], data: Data) -> Codec {
    let width = widths.iter().map(|width| usize::from(*width)).sum();
    let numbers = data.numbers(width, |_, rng| rng.u64());
    let tree = tree(widths, vec![tarsia_plain::tree(); widths.len()]);
    Codec::new(&[&SPLIT, &tarsia_plain::PLAIN], tree, numbers)
}

fn halves_of_8(data: Data) -> Codec {
    of(&[4, 4], data)
}

fn bytes_of_4(data: Data) -> Codec {
    of(&[1; 4], data)
}

fn bytes_of_8(data: Data) -> Codec {
    of(&[1; 8], data)
}

fn uneven_8(data: Data) -> Codec {
    of(&[1, 4, 3], data)
}
