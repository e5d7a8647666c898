//! Fixed-width values as they are: `cargo run -p tarsia-plain --example standalone`.

use tarsia_plain::{PLAIN, tree};
use tarsia_standalone::arrow_array::{Array, Float64Array};
use tarsia_standalone::{Encoded, Result, Selection, encode_array, registry};

fn main() -> Result<()> {
    let registry = registry(&[&PLAIN]);
    let tree = tree();
    let array: Float64Array = (0..10_000).map(|i| Some(f64::from(i).sqrt())).collect();
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
    assert_eq!(encoded.value::<f64>(9)?, 3.0);

    let with_null = Float64Array::from(vec![Some(1.0), None]);
    let error = encode_array(&registry, &tree, &with_null).expect_err("a null");
    println!("an array with nulls: {error}");
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("the example runs");
}
