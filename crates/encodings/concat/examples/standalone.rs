//! Identifiers of digits as their lengths and their characters, of 6 bits each: `cargo run -p tarsia-concat --example
//! standalone`.

use tarsia_bitpack::BITPACK;
use tarsia_concat::{CONCAT, tree};
use tarsia_standalone::arrow_array::{Array, Int64Array, StringArray};
use tarsia_standalone::{Encoded, Result, Selection, encode_array, registry};

fn main() -> Result<()> {
    let registry = registry(&[&CONCAT, &BITPACK]);
    let tree = tree(tarsia_bitpack::tree(), tarsia_bitpack::tree());
    let identifiers = (0..10_000u64).map(|i| (i * 2_654_435_761 % 1_000_000_007).to_string());
    let array = StringArray::from_iter_values(identifiers);
    let bytes = encode_array(&registry, &tree, &array)?;

    let mut encoded = Encoded::open(&registry, &bytes)?;
    let (n, before) = (array.len(), array.value_data().len());
    println!(
        "{}: {n} strings of {before} bytes together -> {} bytes",
        encoded.tree(),
        bytes.len()
    );

    let all = encoded.array(array.data_type(), Selection::All)?;
    assert_eq!(all.as_ref(), &array as &dyn Array);

    let numbers = Int64Array::from(vec![1]);
    let error = encode_array(&registry, &tree, &numbers).expect_err("numbers");
    println!("numbers: {error}");
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("the example runs");
}
