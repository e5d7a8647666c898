//! `cargo bench -p tarsia-front`: bytes of decoded strings per second, over plain prefixes and suffixes, and over
//! packed ones. Longer strings are faster.

use tarsia_front::{FRONT, tree};
use tarsia_testkit::bench::{Codec, Data};
use tarsia_testkit::codec_benches;

codec_benches!(alone, packed, long);

/// Sorted names of 61 bytes that share all but a few, sorted URLs, and short strings that share nothing.
fn strings(data: Data) -> tarsia_testkit::cases::Case {
    let mut strings = data.strings(|i, rng| match data {
        Data::Best => format!("{:050}/{i:010}", 7).into_bytes(),
        Data::Typical => {
            let path = rng.below(2000);
            let n = rng.between(1, 12);
            let page: Vec<u8> = (0..n).map(|_| b'a' + rng.below(26) as u8).collect();
            let site = format!("https://www.example{}.org/part{}/", path / 40, path % 40);
            [site.as_bytes(), &page].concat()
        }
        Data::Worst => {
            let length = rng.below(4);
            rng.bytes(length)
        }
    });
    if data == Data::Typical {
        let values = strings.values();
        let of = values.as_bytes().expect("strings");
        let mut all: Vec<&[u8]> = (0..of.len()).map(|i| of.get(i)).collect();
        all.sort();
        strings = tarsia_testkit::cases::Case::strings("", &all);
    }
    strings
}

/// Without unpacking.
fn alone(data: Data) -> Codec {
    let plain = tarsia_plain::tree;
    let encodings = [
        &FRONT as _,
        &tarsia_plain::PLAIN as _,
        &tarsia_bytes::BYTES as _,
    ];
    let tree = tree(plain(), tarsia_bytes::tree(plain()));
    Codec::new(&encodings, tree, strings(data))
}

fn packed(data: Data) -> Codec {
    let packed = tarsia_bitpack::tree;
    let encodings = [
        &FRONT as _,
        &tarsia_bitpack::BITPACK as _,
        &tarsia_bytes::BYTES as _,
    ];
    let tree = tree(packed(), tarsia_bytes::tree(packed()));
    Codec::new(&encodings, tree, strings(data))
}

/// Strings too long for registers: of 300, 100 and 65 bytes, of which all but 10, half and none are shared.
fn long(data: Data) -> Codec {
    let (length, n_shared) = match data {
        Data::Best => (300, 290),
        Data::Typical => (100, 50),
        Data::Worst => (65, 0),
    };
    let strings = data.strings(|_, rng| {
        let mut string = vec![b'a'; n_shared];
        string.extend_from_slice(&rng.bytes(length - n_shared));
        string
    });
    let plain = tarsia_plain::tree;
    let encodings = [
        &FRONT as _,
        &tarsia_plain::PLAIN as _,
        &tarsia_bytes::BYTES as _,
    ];
    let tree = tree(plain(), tarsia_bytes::tree(plain()));
    Codec::new(&encodings, tree, strings)
}
