//! `cargo bench -p tarsia-fsst`: bytes of decoded strings per second, over packed lengths. Longer symbols are faster.
//! Beside it `fsst_rs` decompresses the codes of the same strings, without lengths, by the crate fsst-rs.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use fsst::Compressor;
use tarsia_bitpack::BITPACK;
use tarsia_fsst::{FSST, tree};
use tarsia_testkit::bench::{Codec, Data};
use tarsia_testkit::cases::Case;
use tarsia_testkit::codec_benches;
use tarsia_testkit::rng::Rng;

codec_benches!(strings);

fn strings(data: Data) -> Codec {
    Codec::new(
        &[&FSST, &BITPACK],
        tree(tarsia_bitpack::tree(), tarsia_bitpack::tree()),
        values(data),
    )
}

/// Finds one string among all, by its codes.
#[divan::bench(args = Data::ALL)]
fn find(bencher: Bencher<'_, '_>, data: Data) {
    strings(data).find(bencher);
}

/// The codes of all strings at once.
#[divan::bench(args = Data::ALL)]
fn fsst_rs(bencher: Bencher<'_, '_>, data: Data) {
    let case = values(data);
    let strings = case.values().as_bytes().expect("strings");
    let strings: Vec<&[u8]> = (0..strings.len()).map(|i| strings.get(i)).collect();
    let compressor = Compressor::train(&strings);
    let codes = compressor.compress_bulk(&strings).concat();
    let decompressor = compressor.decompressor();
    let mut out = Vec::with_capacity(decompressor.max_decompression_capacity(&codes));
    bencher
        .counter(BytesCount::new(case.values().decoded_bytes()))
        .bench_local(|| {
            let out = out.spare_capacity_mut();
            decompressor.decompress_into(black_box(&codes), black_box(out))
        });
}

fn values(data: Data) -> Case {
    let words = words();
    data.strings(|_, rng| match data {
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
    })
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
