//! A flag that one row in 250 has, stored as these rows: `cargo run -p tarsia-roaring --example standalone`.

use tarsia_roaring::{ROARING, tree};
use tarsia_standalone::arrow_array::{Array, BooleanArray, Int32Array};
use tarsia_standalone::{Encoded, Result, Selection, encode_array, registry};

fn main() -> Result<()> {
    let registry = registry(&[&ROARING]);
    let tree = tree();
    let is_rare = |i: u64| (i * 7919 % 10_000) < 40;
    let array: BooleanArray = (0..10_000).map(|i| Some(is_rare(i))).collect();
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
    assert_eq!(encoded.bits(Selection::Indices(&[0, 1]))?, [true, false]);

    let numbers = Int32Array::from(vec![1, 2]);
    let error = encode_array(&registry, &tree, &numbers).expect_err("numbers");
    println!("numbers: {error}");
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("the example runs");
}
