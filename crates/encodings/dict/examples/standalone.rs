//! Few distinct strings, with the dictionary in the same buffer: `cargo run -p tarsia-dict --example standalone`.

use tarsia_bitpack::BITPACK;
use tarsia_dict::{CodeBytes, DICT, page_tree};
use tarsia_standalone::arrow_array::{Array, StringArray};
use tarsia_standalone::{Encoded, Result, Selection, encode_array, registry};

fn main() -> Result<()> {
    let registry = registry(&[&DICT, &BITPACK]);
    let tree = page_tree(CodeBytes::One, tarsia_bitpack::tree());
    let cities = ["Bergen", "Lima", "Osaka", "Turin"];
    let array = StringArray::from_iter_values((0..10_000).map(|i| cities[i * i % 7 % 4]));
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
    let two = encoded.strings(Selection::Indices(&[0, 3]))?;
    assert_eq!(two.iter().collect::<Vec<_>>(), [b"Bergen", &b"Osaka"[..]]);

    let distinct = StringArray::from_iter_values((0..300).map(|i| i.to_string()));
    let error = encode_array(&registry, &tree, &distinct).expect_err("300 codes in a byte");
    println!("300 distinct strings for codes of one byte: {error}");
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("the example runs");
}
