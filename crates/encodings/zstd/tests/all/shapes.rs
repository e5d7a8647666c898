//! Bytes of many shapes, frames that the C library makes of them, and their decoding here and there.

use tarsia_codec::{
    Decoder, Error, Output, Registry, Scratch, Selection, Unit, ValueType, build_decoder,
};
use tarsia_testkit::rng::Rng;
use zstd::zstd_safe::{CCtx, CParameter, DCtx, compress_bound};

/// The most bytes of a block.
pub(crate) const BLOCK: usize = 128 << 10;

/// The decoder of this crate, for values of 1 byte.
pub(crate) struct Ours {
    decoder: Box<dyn Decoder>,
    scratch: Scratch,
}

impl Ours {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::new();
        registry.add(&tarsia_zstd::ZSTD);
        let tree = tarsia_zstd::tree();
        let decoder = build_decoder(&registry, &tree, ValueType::Fixed(1), &[]);
        Self {
            decoder: decoder.expect("a tree of one node"),
            scratch: Scratch::new(),
        }
    }

    /// The `n` bytes of a frame.
    pub(crate) fn decode(&mut self, frame: &[u8], n: usize) -> Result<Vec<u8>, Error> {
        let unit = Unit {
            bytes: frame,
            len: n as u32,
            decoded_bytes: 0,
        };
        // Bytes that are not written show.
        let mut out = vec![0xa5; n];
        let to = Output::Fixed(&mut out);
        self.decoder
            .decode(unit, Selection::All, &mut self.scratch, to)?;
        Ok(out)
    }
}

/// The bytes of a frame, 2^20 at most, by the C library.
pub(crate) fn decode_by_c(frame: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(1 << 20);
    DCtx::create().decompress(&mut out, frame).ok()?;
    Some(out)
}

/// A frame by the C library.
pub(crate) fn frame(bytes: &[u8], parameters: &[CParameter]) -> Vec<u8> {
    let mut context = CCtx::create();
    let without_checksum = [CParameter::ChecksumFlag(false)];
    for parameter in without_checksum.iter().chain(parameters) {
        context.set_parameter(*parameter).expect("a parameter");
    }
    let mut out = Vec::with_capacity(compress_bound(bytes.len()));
    context.compress2(&mut out, bytes).expect("a frame");
    out
}

/// Words that text is made of, some of them frequent.
pub(crate) fn text(n: usize, seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let word = |rng: &mut Rng| {
        let len = rng.between(1, 9);
        let letters: Vec<u8> = (0..len)
            .map(|_| *rng.pick(b"etaoinshrdlucmwfgypbvk"))
            .collect();
        letters
    };
    let words: Vec<Vec<u8>> = (0..400).map(|_| word(&mut rng)).collect();
    let mut text = Vec::with_capacity(n + 10);
    while text.len() < n {
        let i = rng.below(words.len()) * rng.below(words.len()) / words.len();
        text.extend_from_slice(&words[i]);
        text.push(*rng.pick(b"     ,.\n"));
    }
    text.truncate(n);
    text
}

/// Bytes of each shape, `n` of them.
pub(crate) fn shapes(n: usize) -> Vec<(String, Vec<u8>)> {
    let mut rng = Rng::new(n as u64);
    let mut all = Vec::new();
    let mut add = |name: &str, bytes: Vec<u8>| all.push((format!("{name} x{n}"), bytes));
    add("zeros", vec![0; n]);
    add("random", rng.bytes(n));
    add("text", text(n, 1));
    let few = |rng: &mut Rng, letters: &[u8]| (0..n).map(|_| *rng.pick(letters)).collect();
    add("two letters", few(&mut rng, b"ab"));
    add("letters of many frequencies", {
        let skewed = |rng: &mut Rng| (rng.u64() | 1 << 40).trailing_zeros() as u8;
        (0..n).map(|_| skewed(&mut rng)).collect()
    });
    add(
        "random letters",
        few(&mut rng, b"0123456789abcdefghijklmnopqrstuvw"),
    );
    add("runs", {
        let mut bytes = Vec::new();
        while bytes.len() < n {
            let (byte, len) = (rng.u8() % 4, rng.between(1, 300));
            bytes.resize(bytes.len() + len, byte);
        }
        bytes.truncate(n);
        bytes
    });
    let numbers = |number: &mut dyn FnMut(u32) -> u32| {
        let mut bytes: Vec<u8> = (0..n as u32 / 4 + 1)
            .flat_map(|i| number(i).to_le_bytes())
            .collect();
        bytes.truncate(n);
        bytes
    };
    add("rising numbers", numbers(&mut |i| i * 7));
    add("small numbers", numbers(&mut |_| rng.u32() % 1000));
    add("noise with distant copies", {
        let mut bytes = rng.bytes(n / 3 + 1);
        while bytes.len() < n {
            let len = rng.between(4, 60).min(bytes.len()).max(1);
            let from = rng.below(bytes.len() - len + 1);
            match bytes.get(from..from + len).filter(|_| rng.flip()) {
                Some(copied) => bytes.extend(copied.to_vec()),
                None => bytes.push(rng.u8()),
            }
        }
        bytes.truncate(n);
        bytes
    });
    all
}

/// Copies with each small offset, of many lengths, between a few new bytes.
pub(crate) fn small_offsets() -> Vec<u8> {
    let mut rng = Rng::new(5);
    let mut bytes = rng.bytes(64);
    for offset in 1..=40 {
        for len in [
            3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 255, 256, 257, 300, 1000,
        ] {
            let n_new = rng.between(1, 40);
            bytes.extend(rng.bytes(n_new));
            for _ in 0..len {
                bytes.push(bytes[bytes.len() - offset]);
            }
        }
    }
    bytes
}
