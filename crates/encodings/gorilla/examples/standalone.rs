//! A counter read once a second, as XORs: `cargo run -p tarsia-gorilla --example standalone`.

use tarsia_gorilla::{GORILLA, Scheme, tree};
use tarsia_standalone::arrow_array::{Array, Float64Array, Int16Array};
use tarsia_standalone::{Encoded, Result, Selection, encode_array, registry};

fn main() -> Result<()> {
    let registry = registry(&[&GORILLA]);
    let tree = tree(Scheme::Gorilla);
    let reading = |second: u32| f64::from(second / 5 * 3 % 1000);
    let array = Float64Array::from_iter_values((0..10_000).map(reading));
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
    assert_eq!(encoded.value::<f64>(1234)?, 738.0);

    let short = Int16Array::from(vec![1]);
    let error = encode_array(&registry, &tree, &short).expect_err("values of two bytes");
    println!("integers of two bytes: {error}");
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("the example runs");
}
