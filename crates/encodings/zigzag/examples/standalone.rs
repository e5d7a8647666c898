//! Differences around zero, packed without their signs: `cargo run -p tarsia-zigzag --example standalone`.

use tarsia_bitpack::BITPACK;
use tarsia_standalone::arrow_array::{Array, Int64Array, StringArray};
use tarsia_standalone::{Encoded, Result, Selection, encode_array, registry};
use tarsia_zigzag::{ZIGZAG, tree};

fn main() -> Result<()> {
    let registry = registry(&[&ZIGZAG, &BITPACK]);
    let tree = tree(tarsia_bitpack::tree());
    let array = Int64Array::from_iter_values((0..10_000).map(|i| i * 7919 % 1000 - 500));
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
    assert_eq!(encoded.value::<i64>(1)?, 419);

    let strings = StringArray::from(vec!["a"]);
    let error = encode_array(&registry, &tree, &strings).expect_err("strings");
    println!("strings: {error}");
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("the example runs");
}
