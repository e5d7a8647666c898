//! Samples whose high bits change slowly, the bits of one place together: `cargo run -p tarsia-bitshuffle --example
//! standalone`.

use tarsia_bitpack::BITPACK;
use tarsia_bitshuffle::{BITSHUFFLE, tree};
use tarsia_standalone::arrow_array::{Array, Int64Array, StringArray};
use tarsia_standalone::{Encoded, Result, Selection, encode_array, registry};

fn main() -> Result<()> {
    let registry = registry(&[&BITSHUFFLE, &BITPACK]);
    let tree = tree(tarsia_bitpack::tree());
    let sample = |i: i64| (i / 100) << 4 | (i * 7919 % 16);
    let array = Int64Array::from_iter_values((0..10_000).map(sample));
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
    assert_eq!(encoded.value::<i64>(1234)?, sample(1234));

    let strings = StringArray::from(vec!["a"]);
    let error = encode_array(&registry, &tree, &strings).expect_err("strings");
    println!("strings: {error}");
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("the example runs");
}
