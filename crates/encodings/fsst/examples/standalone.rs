//! Addresses, as symbols with packed lengths: `cargo run -p tarsia-fsst --example standalone`.

use tarsia_bitpack::BITPACK;
use tarsia_fsst::{FSST, tree};
use tarsia_standalone::arrow_array::{Array, Int64Array, StringArray};
use tarsia_standalone::{Encoded, Result, Selection, encode_array, registry};

fn main() -> Result<()> {
    let registry = registry(&[&FSST, &BITPACK]);
    let tree = tree(tarsia_bitpack::tree(), tarsia_bitpack::tree());
    let addresses = (0..10_000).map(|i| format!("https://example.org/shop/item?id={}", i * i));
    let array = StringArray::from_iter_values(addresses);
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
    let one = encoded.strings(Selection::Indices(&[30]))?;
    assert_eq!(
        one.get(0),
        Some(&b"https://example.org/shop/item?id=900"[..])
    );

    let numbers = Int64Array::from(vec![1]);
    let error = encode_array(&registry, &tree, &numbers).expect_err("numbers");
    println!("numbers: {error}");
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("the example runs");
}
