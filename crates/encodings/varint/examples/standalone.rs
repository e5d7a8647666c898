//! Small numbers among which some are large: `cargo run -p tarsia-varint --example standalone`.

use tarsia_standalone::arrow_array::{Array, Int64Array, StringArray};
use tarsia_standalone::{Encoded, Result, Selection, encode_array, registry};
use tarsia_varint::{VARINT, tree};

fn main() -> Result<()> {
    let registry = registry(&[&VARINT]);
    let number = |i: i64| match i % 10 {
        0 => i * 1_000_003,
        _ => i % 100,
    };
    let array = Int64Array::from_iter_values((0..10_000).map(number));
    let bytes = encode_array(&registry, &tree(), &array)?;

    let mut encoded = Encoded::open(&registry, &bytes)?;
    let (n, before) = (array.len(), array.get_buffer_memory_size());
    println!(
        "{}: {n} values, {before} -> {} bytes",
        encoded.tree(),
        bytes.len()
    );

    let all = encoded.array(array.data_type(), Selection::All)?;
    assert_eq!(all.as_ref(), &array as &dyn Array);
    assert_eq!(encoded.value::<i64>(1230)?, number(1230));

    let strings = StringArray::from(vec!["a"]);
    let error = encode_array(&registry, &tree(), &strings).expect_err("strings");
    println!("strings: {error}");
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("the example runs");
}
