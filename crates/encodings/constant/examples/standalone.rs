//! Equal values, stored once: `cargo run -p tarsia-constant --example standalone`.

use tarsia_constant::{CONSTANT, tree};
use tarsia_standalone::arrow_array::{Array, Int64Array};
use tarsia_standalone::{Encoded, Result, Selection, encode_array, registry};

fn main() -> Result<()> {
    let registry = registry(&[&CONSTANT]);
    let tree = tree();
    let array = Int64Array::from(vec![42; 10_000]);
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
    assert_eq!(encoded.value::<i64>(7777)?, 42);

    let different = Int64Array::from(vec![1, 2]);
    let error = encode_array(&registry, &tree, &different).expect_err("two values");
    println!("two different values: {error}");
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("the example runs");
}
