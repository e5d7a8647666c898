//! `cargo bench -p tarsia-bitpack`: bytes of decoded values per second; 64 Ki values per unit.
#![allow(missing_docs, reason = "benchmarks have no readers of documentation")]

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use tarsia_bitpack::{BITPACK, Mode, estimate, tree};
use tarsia_codec::{
    AlignedBuf, Decoder, FixedSlice, Output, Registry, Scratch, Selection, Shared, Unit, ValueType,
    Values, build_decoder, build_encoder,
};

fn main() {
    divan::main();
}

const N: usize = 1 << 16;

/// Best, typical and worst data.
#[derive(Debug, Clone, Copy)]
enum Data {
    /// One value.
    Constant,
    /// Ten bits over one base.
    TenBits,
    /// Ten bits over a base per group.
    Rising,
    /// Ten bits, one value in a hundred of 28.
    Patched,
    /// Every bit.
    Noise,
}

const DATA: [Data; 5] = [
    Data::Constant,
    Data::TenBits,
    Data::Rising,
    Data::Patched,
    Data::Noise,
];

fn values(data: Data, width: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    (0..N)
        .flat_map(|i| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let ten = state >> 20 & 0x3ff;
            let value = match data {
                Data::Constant => 7,
                Data::TenBits => 1_000_000 + ten,
                Data::Rising => i as u64 / 1024 * 100_000 + ten,
                Data::Patched if state % 100 == 3 => state >> 36,
                Data::Patched => ten,
                Data::Noise => state,
            };
            value.to_le_bytes()[..width].to_vec()
        })
        .collect()
}

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.add(&BITPACK).add_writer(&BITPACK);
    registry
}

fn encoded(data: Data, width: usize) -> Vec<u8> {
    let bytes = values(data, width);
    let values = Values::Fixed(FixedSlice::new(&bytes, width, N).expect("whole values"));
    let encoder = build_encoder(&registry(), &tree(), values, Shared::default());
    let mut out = vec![];
    let done = encoder.map(|encoder| encoder.encode(values, 0..N, &mut out));
    assert!(matches!(done, Ok(Ok(()))));
    out
}

fn decoder(width: usize) -> Box<dyn Decoder> {
    let value_type = ValueType::Fixed(width as u32);
    build_decoder(&registry(), &tree(), value_type, Shared::default()).expect("a decoder")
}

fn bench_decode(bencher: Bencher<'_, '_>, data: Data, width: usize) {
    let bytes = encoded(data, width);
    let decoder = decoder(width);
    let mut out = AlignedBuf::zeroed(N * width);
    let mut scratch = Scratch::new();
    bencher.counter(BytesCount::new(N * width)).bench_local(|| {
        let unit = Unit {
            bytes: black_box(&bytes),
            len: N as u32,
            decoded_bytes: 0,
        };
        decoder.decode(unit, Selection::All, &mut scratch, Output::Fixed(&mut out))
    });
}

#[divan::bench(args = DATA)]
fn decode_u32(bencher: Bencher<'_, '_>, data: Data) {
    bench_decode(bencher, data, 4);
}

#[divan::bench(args = DATA)]
fn decode_u64(bencher: Bencher<'_, '_>, data: Data) {
    bench_decode(bencher, data, 8);
}

#[divan::bench(args = DATA)]
fn encode_u32(bencher: Bencher<'_, '_>, data: Data) {
    let bytes = values(data, 4);
    let values = Values::Fixed(FixedSlice::new(&bytes, 4, N).expect("whole values"));
    let encoder =
        build_encoder(&registry(), &tree(), values, Shared::default()).expect("an encoder");
    let mut out = vec![];
    bencher.counter(BytesCount::new(N * 4)).bench_local(|| {
        out.clear();
        encoder.encode(black_box(values), 0..N, &mut out)
    });
}

/// As a chooser calls it: in blocks of 4,096 values.
#[divan::bench(args = DATA)]
fn estimate_u32(bencher: Bencher<'_, '_>, data: Data) {
    let bytes = values(data, 4);
    let values = FixedSlice::new(&bytes, 4, N).expect("whole values");
    bencher
        .counter(BytesCount::new(N * 4))
        .bench_local(|| estimate(black_box(values), 4096, Mode::Free));
}

/// Values per second: this many evenly spaced of 65,536.
#[divan::bench(args = [1, 64, 2048, 4096, 8192, 32768])]
fn indices_u32(bencher: Bencher<'_, '_>, n: usize) {
    let bytes = encoded(Data::TenBits, 4);
    let decoder = decoder(4);
    let indices: Vec<u32> = (0..n).map(|i| (i * (N / n) + 3 % (N / n)) as u32).collect();
    let mut out = AlignedBuf::zeroed(n * 4);
    let mut scratch = Scratch::new();
    bencher.counter(ItemsCount::new(n)).bench_local(|| {
        let unit = Unit {
            bytes: black_box(&bytes),
            len: N as u32,
            decoded_bytes: 0,
        };
        let selection = Selection::Indices(&indices);
        decoder.decode(unit, selection, &mut scratch, Output::Fixed(&mut out))
    });
}
