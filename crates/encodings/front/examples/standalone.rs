//! Sorted keys: `cargo run -p tarsia-front --example standalone`.

use tarsia_bytes::BYTES;
use tarsia_front::{FRONT, tree};
use tarsia_plain::PLAIN;
use tarsia_standalone::arrow_array::{Array, Int64Array, StringArray};
use tarsia_standalone::{Encoded, Result, Selection, encode_array, registry};

fn main() -> Result<()> {
    let registry = registry(&[&FRONT, &BYTES, &PLAIN]);
    let plain = tarsia_plain::tree;
    let tree = tree(plain(), tarsia_bytes::tree(plain()));
    let keys = (0..10_000).map(|i| format!("https://example.org/tables/{i:06}/columns"));
    let array = StringArray::from_iter_values(keys);
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
    let one = encoded.strings(Selection::Indices(&[1234]))?;
    assert_eq!(one.get(0), Some(array.value(1234).as_bytes()));

    let numbers = Int64Array::from(vec![1]);
    let error = encode_array(&registry, &tree, &numbers).expect_err("numbers");
    println!("numbers: {error}");
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("the example runs");
}
