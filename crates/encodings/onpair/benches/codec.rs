//! `cargo bench -p tarsia-onpair`: bytes of decoded strings per second, over packed counts and codes. Longer tokens are
//! faster.

use tarsia_bitpack::BITPACK;
use tarsia_onpair::{ONPAIR, tree};
use tarsia_testkit::bench::{Codec, Data};
use tarsia_testkit::codec_benches;
use tarsia_testkit::rng::Rng;

codec_benches!(strings);

/// Finds one string among all, by its tokens.
#[divan::bench(args = Data::ALL)]
fn find(bencher: divan::Bencher<'_, '_>, data: Data) {
    strings(data).find(bencher);
}

fn strings(data: Data) -> Codec {
    let words = words();
    let strings = data.strings(|_, rng| match data {
        // Long pieces that repeat.
        Data::Best => format!(
            "https://example.org/catalogue/item?number={}",
            rng.below(500)
        )
        .into(),
        // Sentences, in which few words are frequent.
        Data::Typical => {
            let n_words = rng.between(4, 16);
            let words = (0..n_words).map(|_| {
                let below = rng.below(words.len()) + 1;
                words[rng.below(below)].as_str()
            });
            words.collect::<Vec<_>>().join(" ").into()
        }
        // Single bytes.
        Data::Worst => rng.bytes(4),
    });
    Codec::new(
        &[&ONPAIR, &BITPACK],
        tree(tarsia_bitpack::tree(), tarsia_bitpack::tree()),
        strings,
    )
}

/// Words of two to twelve letters.
fn words() -> Vec<String> {
    let mut rng = Rng::new(3);
    let mut word = |_| -> String {
        let n = rng.between(2, 13);
        (0..n)
            .map(|_| char::from(b"etaoinshrdlucmfw"[rng.below(16)]))
            .collect()
    };
    (0..5000).map(&mut word).collect()
}
