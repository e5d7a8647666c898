//! Measurements as digits and exponents: `cargo run -p tarsia-pseudodecimal --example standalone`.

use tarsia_bitpack::BITPACK;
use tarsia_pseudodecimal::{PSEUDODECIMAL, tree};
use tarsia_standalone::arrow_array::{Array, Float64Array, Int16Array};
use tarsia_standalone::{Encoded, Result, Selection, encode_array, registry};

fn main() -> Result<()> {
    let registry = registry(&[&PSEUDODECIMAL, &BITPACK]);
    let tree = tree(tarsia_bitpack::tree(), tarsia_bitpack::tree());
    // With zero to four decimals, as different devices write them.
    let measured = |i: u32| f64::from(i * 7919 % 100_000) / 10f64.powi(i as i32 % 5);
    let array = Float64Array::from_iter_values((0..10_000).map(measured));
    let bytes = encode_array(&registry, &tree, &array)?;

    let mut encoded = Encoded::open(&registry, &bytes)?;
    let (n, before) = (array.len(), array.get_buffer_memory_size());
    println!(
        "{}: {n} values, {before} -> {} bytes",
        encoded.tree(),
        bytes.len()
    );

    let all = encoded.array(array.data_type(), Selection::All)?;
    assert_eq!(all.as_ref(), &array as &dyn Array);
    assert_eq!(encoded.value::<f64>(2)?, 158.38);

    let short = Int16Array::from(vec![1]);
    let error = encode_array(&registry, &tree, &short).expect_err("values of two bytes");
    println!("integers of two bytes: {error}");
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("the example runs");
}
