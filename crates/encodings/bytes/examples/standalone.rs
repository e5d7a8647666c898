//! Strings, with their lengths bit-packed: `cargo run -p tarsia-bytes --example standalone`.

use tarsia_bitpack::BITPACK;
use tarsia_bytes::{BYTES, tree};
use tarsia_standalone::arrow_array::{Array, StringArray};
use tarsia_standalone::{Encoded, Result, Selection, encode_array, registry};

fn main() -> Result<()> {
    let registry = registry(&[&BYTES, &BITPACK]);
    let tree = tree(tarsia_bitpack::tree());
    let words = (0..10_000).map(|i| format!("word {i}"));
    let array = StringArray::from_iter_values(words);
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
    let one = encoded.strings(Selection::Indices(&[1234]))?;
    assert_eq!(one.get(0), Some(&b"word 1234"[..]));

    let cut = &bytes[..bytes.len() - 1];
    let error = Encoded::open(&registry, cut)?
        .strings(Selection::All)
        .expect_err("a byte less");
    println!("a byte less: {error}");
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("the example runs");
}
