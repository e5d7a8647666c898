//! Embeddings rounded to bfloat16, and to integers with a scale per vector: `cargo run -p tarsia-quantized --example
//! standalone`.

use core::num::NonZero;

use tarsia_bitpack::BITPACK;
use tarsia_codec::Registry;
use tarsia_plain::PLAIN;
use tarsia_quantized::{Format, QUANTIZED, round_f32, tree, vector_tree};
use tarsia_standalone::arrow_array::{Array, Float32Array};
use tarsia_standalone::{Encoded, Result, Selection, encode_array, registry};

const DIM: u32 = 256;

fn main() -> Result<()> {
    let registry = registry(&[&QUANTIZED, &BITPACK, &PLAIN]);
    let number = |i: usize| (i * 7919 % 4001) as f32 / 4000.0 - 0.5;
    let numbers: Vec<f32> = (0..64 * DIM as usize).map(number).collect();

    let mut halves = numbers.clone();
    let bound = round_f32(&mut halves, Format::Bf16, None).expect("numbers");
    println!("bf16: differences of at most {:.1e}", bound.absolute);
    let array = Float32Array::from(halves);
    let of_halves = tree(Format::Bf16, tarsia_plain::tree());
    let bytes = encode_array(&registry, &of_halves, &array)?;
    check(&registry, &array, &bytes)?;

    let mut integers = numbers.clone();
    let bound = round_f32(&mut integers, Format::Int4, Some(DIM as usize)).expect("numbers");
    println!("int4: differences of at most {:.1e}", bound.absolute);
    let array = Float32Array::from(integers);
    let dim = NonZero::new(DIM).expect("values");
    let children = (tarsia_bitpack::tree(), tarsia_plain::tree());
    let of_vectors = vector_tree(Format::Int4, dim, children.0, children.1);
    let bytes = encode_array(&registry, &of_vectors, &array)?;
    check(&registry, &array, &bytes)?;

    let unchanged = Float32Array::from(numbers);
    let error = encode_array(&registry, &of_vectors, &unchanged).expect_err("not rounded");
    println!("numbers that were not rounded: {error}");
    Ok(())
}

fn check(registry: &Registry, array: &Float32Array, bytes: &[u8]) -> Result<()> {
    let mut encoded = Encoded::open(registry, bytes)?;
    let (n, before) = (array.len(), array.get_buffer_memory_size());
    println!(
        "{}: {n} values, {before} -> {} bytes",
        encoded.tree(),
        bytes.len()
    );
    let all = encoded.array(array.data_type(), Selection::All)?;
    assert_eq!(all.as_ref(), array as &dyn Array);
    assert_eq!(encoded.value::<f32>(1234)?, array.value(1234));
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("the example runs");
}
