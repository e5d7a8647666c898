//! Prices of which most are zero: `cargo run -p tarsia-frequency --example standalone`.

use tarsia_bitpack::BITPACK;
use tarsia_frequency::{FREQUENCY, tree};
use tarsia_plain::PLAIN;
use tarsia_standalone::arrow_array::{Array, Float64Array, StringArray};
use tarsia_standalone::{Encoded, Result, Selection, encode_array, registry};

fn main() -> Result<()> {
    let registry = registry(&[&FREQUENCY, &BITPACK, &PLAIN]);
    let tree = tree(tarsia_plain::tree(), tarsia_plain::tree());
    let price = |i: u32| {
        if i.is_multiple_of(5) {
            f64::from(i).sqrt()
        } else {
            0.0
        }
    };
    let array = Float64Array::from_iter_values((0..10_000).map(price));
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
    assert_eq!(encoded.value::<f64>(1235)?, price(1235));

    let strings = StringArray::from(vec!["a"]);
    let error = encode_array(&registry, &tree, &strings).expect_err("strings");
    println!("strings: {error}");
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("the example runs");
}
