//! `cargo bench -p tarsia-quantized`: bytes of decoded values per second, over plain numbers.

use core::num::NonZero;

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use tarsia_codec::Tree;
use tarsia_quantized::{
    Format, QUANTIZED, page_tree, round_f32, round_f64, tree, vector_tree, wide_page_tree,
};
use tarsia_testkit::bench::{Codec, Data, N_VALUES};
use tarsia_testkit::cases::Case;
use tarsia_testkit::codec_benches;
use tarsia_testkit::rng::Rng;

codec_benches!(
    bf16, f16, e4m3, e5m2, int8, int4, vectors, wide_f32, wide_bf16, wide_f16, wide_e4m3, wide_int8
);

/// Values of a vector: an embedding.
const DIM: usize = 256;

/// Numbers as those of embeddings, some of which are zero or below the normal numbers of binary16. The best are all
/// normal numbers, the worst are zero, infinite or NaN where that is possible.
fn numbers(data: Data, has_special: bool) -> Vec<f64> {
    let mut rng = Rng::new(data as u64);
    let number = |_| {
        let number = (rng.u64() >> 12) as f64 / (1u64 << 52) as f64 - 0.5;
        match data {
            Data::Best => number + number.signum() / 16.0,
            Data::Typical if rng.percent(1) => 0.0,
            Data::Typical => number / 8.0,
            Data::Worst => match rng.below(8) {
                0 if has_special => f64::NAN,
                1 if has_special => f64::INFINITY,
                2 => 1e-7,
                3 => 0.0,
                _ => number,
            },
        }
    };
    (0..N_VALUES).map(number).collect()
}

fn narrow(data: Data, format: Format, dim: Option<usize>) -> Case {
    let is_float = !matches!(format, Format::Int8 | Format::Int4);
    let numbers = numbers(data, is_float).into_iter();
    let mut numbers: Vec<f32> = numbers.map(|it| it as f32).collect();
    round_f32(&mut numbers, format, dim).expect("numbers");
    let bytes = numbers.iter().flat_map(|it| it.to_le_bytes()).collect();
    Case::fixed("", 4, N_VALUES, bytes)
}

fn wide(data: Data, format: Format) -> Case {
    let mut numbers = numbers(data, !matches!(format, Format::Int8 | Format::Int4));
    round_f64(&mut numbers, format, None).expect("numbers");
    let bytes = numbers.iter().flat_map(|it| it.to_le_bytes()).collect();
    Case::fixed("", 8, N_VALUES, bytes)
}

fn codec(tree: Tree, case: Case) -> Codec {
    Codec::new(&[&QUANTIZED, &tarsia_plain::PLAIN], tree, case)
}

fn of(format: Format, data: Data) -> Codec {
    codec(
        tree(format, tarsia_plain::tree()),
        narrow(data, format, None),
    )
}

fn wide_of(format: Format, data: Data) -> Codec {
    codec(tree(format, tarsia_plain::tree()), wide(data, format))
}

fn bf16(data: Data) -> Codec {
    of(Format::Bf16, data)
}

fn f16(data: Data) -> Codec {
    of(Format::F16, data)
}

fn e4m3(data: Data) -> Codec {
    of(Format::E4m3, data)
}

fn e5m2(data: Data) -> Codec {
    of(Format::E5m2, data)
}

/// The smallest difference of the values of a page: its scale, as those of benchmarks use all integers.
fn scale_of(values: impl Iterator<Item = f64>, largest: f64) -> f64 {
    values.fold(0.0, |most: f64, it| most.max(it.abs())) / largest
}

fn page(format: Format, largest: f64, data: Data) -> Codec {
    let case = narrow(data, format, None);
    let values = case.values().as_fixed().expect("numbers");
    let numbers = values.bytes().as_chunks().0.iter();
    let scale = scale_of(numbers.map(|it| f32::from_le_bytes(*it).into()), largest);
    codec(page_tree(format, scale as f32, tarsia_plain::tree()), case)
}

fn int8(data: Data) -> Codec {
    page(Format::Int8, 127.0, data)
}

fn int4(data: Data) -> Codec {
    page(Format::Int4, 7.0, data)
}

fn vectors(data: Data) -> Codec {
    let dim = NonZero::new(DIM as u32).expect("values");
    let plain = tarsia_plain::tree;
    let tree = vector_tree(Format::Int8, dim, plain(), plain());
    codec(tree, narrow(data, Format::Int8, Some(DIM)))
}

fn wide_f32(data: Data) -> Codec {
    wide_of(Format::F32, data)
}

fn wide_bf16(data: Data) -> Codec {
    wide_of(Format::Bf16, data)
}

fn wide_f16(data: Data) -> Codec {
    wide_of(Format::F16, data)
}

fn wide_e4m3(data: Data) -> Codec {
    wide_of(Format::E4m3, data)
}

fn wide_int8(data: Data) -> Codec {
    let case = wide(data, Format::Int8);
    let values = case.values().as_fixed().expect("numbers");
    let numbers = values.bytes().as_chunks().0.iter();
    let scale = scale_of(numbers.map(|it| f64::from_le_bytes(*it)), 127.0);
    codec(
        wide_page_tree(Format::Int8, scale, tarsia_plain::tree()),
        case,
    )
}

/// Rounding of values to a format.
#[divan::bench(args = Format::ALL.iter().skip(1))]
fn round(bencher: Bencher<'_, '_>, format: &Format) {
    let numbers: Vec<f32> = numbers(Data::Typical, false)
        .iter()
        .map(|it| *it as f32)
        .collect();
    let bytes = BytesCount::new(N_VALUES * 4);
    let inputs = bencher.counter(bytes).with_inputs(|| numbers.clone());
    inputs.bench_local_refs(|numbers| round_f32(black_box(numbers), *format, None));
}
