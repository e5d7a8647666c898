//! Decimals of 20 digits: 8 random bytes, and 8 of which few bits are used: `cargo run -p tarsia-split --example
//! standalone`.

use tarsia_bitpack::BITPACK;
use tarsia_plain::PLAIN;
use tarsia_split::{SPLIT, tree};
use tarsia_standalone::arrow_array::{Array, Decimal128Array, Int8Array};
use tarsia_standalone::{Encoded, Result, Selection, encode_array, registry};

fn main() -> Result<()> {
    let registry = registry(&[&SPLIT, &PLAIN, &BITPACK]);
    let tree = tree(&[8, 8], vec![tarsia_plain::tree(), tarsia_bitpack::tree()]);
    let number = |i: i128| i * i * 9_876_543_210_987;
    let array = Decimal128Array::from_iter_values((0..10_000).map(number));
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
    assert_eq!(encoded.value::<i128>(1234)?, number(1234));

    let bytes = Int8Array::from(vec![1]);
    let error = encode_array(&registry, &tree, &bytes).expect_err("values of one byte");
    println!("values of one byte: {error}");
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("the example runs");
}
