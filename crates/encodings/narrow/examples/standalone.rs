//! Decimals as packed numbers of 4 bytes: `cargo run -p tarsia-narrow --example standalone`.

use tarsia_bitpack::BITPACK;
use tarsia_narrow::{Extension, NARROW, tree};
use tarsia_standalone::arrow_array::{Array, Decimal128Array};
use tarsia_standalone::{Encoded, Result, Selection, encode_array, registry};

fn main() -> Result<()> {
    let registry = registry(&[&NARROW, &BITPACK]);
    let tree = tree(4, Extension::Sign, tarsia_bitpack::tree());
    let cents = (0..10_000).map(|i| i * 7919 % 1_000_000 - 500);
    let array = Decimal128Array::from_iter_values(cents);
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
    assert_eq!(encoded.value::<i128>(1)?, 7419);

    let wide = Decimal128Array::from_iter_values([1 << 40]);
    let error = encode_array(&registry, &tree, &wide).expect_err("wider than the child");
    println!("a wider value: {error}");
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("the example runs");
}
