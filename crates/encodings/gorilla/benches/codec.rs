//! `cargo bench -p tarsia-gorilla`: bytes of decoded values per second.

use tarsia_gorilla::{GORILLA, Scheme, tree};
use tarsia_testkit::bench::{Codec, Data};
use tarsia_testkit::codec_benches;

codec_benches!(gorilla, chimp, gorilla_floats, chimp_floats);

/// A number that never changes, one that stays or steps by a few whole numbers, and random bits.
fn of(width: usize, scheme: Scheme, data: Data) -> Codec {
    let mut at = 1000.0;
    let numbers = data.numbers(width, |_, rng| {
        match data {
            Data::Best => {}
            Data::Typical if rng.flip() => {}
            Data::Typical => at += rng.below(9) as f64 - 4.0,
            Data::Worst => return rng.u64(),
        }
        match width {
            4 => (at as f32).to_bits().into(),
            _ => at.to_bits(),
        }
    });
    Codec::new(&[&GORILLA], tree(scheme), numbers)
}

fn gorilla(data: Data) -> Codec {
    of(8, Scheme::Gorilla, data)
}

fn chimp(data: Data) -> Codec {
    of(8, Scheme::Chimp, data)
}

fn gorilla_floats(data: Data) -> Codec {
    of(4, Scheme::Gorilla, data)
}

fn chimp_floats(data: Data) -> Codec {
    of(4, Scheme::Chimp, data)
}
