//! `cargo bench -p tarsia-zstd`: bytes of decoded values per second.

use tarsia_testkit::bench::{Codec, Data};
use tarsia_testkit::cases::Case;
use tarsia_testkit::codec_benches;
use tarsia_testkit::rng::Rng;
use tarsia_zstd::{ZSTD, tree};

codec_benches!(text, numbers);

/// 1 MiB of bytes: a run, words of which some are frequent, and random ones.
fn text(data: Data) -> Codec {
    let n = 1 << 20;
    let mut rng = Rng::new(1);
    let words: Vec<Vec<u8>> = (0..3000)
        .map(|_| {
            let len = rng.between(1, 9);
            let letter = |_| *rng.pick(b"eeeettaaooiinnsshhrrdlucmwfgypbvk");
            (0..len).map(letter).collect()
        })
        .collect();
    let mut bytes = Vec::new();
    while bytes.len() < n {
        match data {
            Data::Best => bytes.push(b' '),
            Data::Typical => {
                let i = rng.below(words.len()) * rng.below(words.len()) / words.len();
                bytes.extend_from_slice(&words[i]);
                bytes.push(b' ');
            }
            Data::Worst => bytes.push(rng.u8()),
        }
    }
    bytes.truncate(n);
    Codec::new(&[&ZSTD], tree(), Case::fixed("", 1, n, bytes))
}

/// Equal numbers, amounts of a few digits, and random bits.
fn numbers(data: Data) -> Codec {
    let numbers = data.numbers(8, |_, rng| match data {
        Data::Best => 7,
        Data::Typical => 100 * rng.below(5000) as u64,
        Data::Worst => rng.u64(),
    });
    Codec::new(&[&ZSTD], tree(), numbers)
}
