//! Booleans, one bit each: `cargo run -p tarsia-bitmap --example standalone`.

use tarsia_bitmap::{BITMAP, tree};
use tarsia_standalone::arrow_array::{Array, BooleanArray, Int32Array};
use tarsia_standalone::{Encoded, Result, Selection, encode_array, registry};

fn main() -> Result<()> {
    let registry = registry(&[&BITMAP]);
    let tree = tree();
    let array: BooleanArray = (0..10_000).map(|i| Some(i % 3 == 0)).collect();
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
    assert_eq!(encoded.bits(Selection::Indices(&[2, 3]))?, [false, true]);

    let numbers = Int32Array::from(vec![1, 2]);
    let error = encode_array(&registry, &tree, &numbers).expect_err("numbers");
    println!("numbers: {error}");
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("the example runs");
}
