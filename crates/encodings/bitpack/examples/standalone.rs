//! Integers in as few bits as they need: `cargo run -p tarsia-bitpack --example standalone`.

use tarsia_bitpack::{BITPACK, tree};
use tarsia_standalone::arrow_array::{Array, Decimal128Array, TimestampMicrosecondArray};
use tarsia_standalone::{Encoded, Result, Selection, encode_array, registry};

fn main() -> Result<()> {
    let registry = registry(&[&BITPACK]);
    let tree = tree();
    let times = (0..10_000).map(|i| 1_700_000_000_000_000 + i * 7919 % 1000);
    let array = TimestampMicrosecondArray::from_iter_values(times);
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
    assert_eq!(encoded.value::<i64>(2)?, 1_700_000_000_000_838);

    let wide = Decimal128Array::from(vec![1, 2]);
    let error = encode_array(&registry, &tree, &wide).expect_err("values of 16 bytes");
    println!("values of 16 bytes: {error}");
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("the example runs");
}
