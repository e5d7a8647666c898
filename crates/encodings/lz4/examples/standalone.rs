//! Measurements as one LZ4 block: `cargo run -p tarsia-lz4 --example standalone`.

use tarsia_lz4::{LZ4, tree};
use tarsia_standalone::arrow_array::{Array, Int64Array, StringArray};
use tarsia_standalone::{Encoded, Result, Selection, encode_array, registry};

fn main() -> Result<()> {
    let registry = registry(&[&LZ4]);
    let tree = tree();
    let reading = |second: i64| 20_000 + second / 60 % 7 * 1000 + second * second % 5;
    let array = Int64Array::from_iter_values((0..10_000).map(reading));
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
    assert_eq!(encoded.value::<i64>(1234)?, reading(1234));

    let strings = StringArray::from(vec!["a"]);
    let error = encode_array(&registry, &tree, &strings).expect_err("strings");
    println!("strings: {error}");
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("the example runs");
}
