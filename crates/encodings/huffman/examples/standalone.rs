//! Letters of a text, the frequent ones in few bits: `cargo run -p tarsia-huffman --example standalone`.

use tarsia_huffman::{HUFFMAN, tree};
use tarsia_standalone::arrow_array::{Array, Int64Array, UInt8Array};
use tarsia_standalone::{Encoded, Result, Selection, encode_array, registry};

fn main() -> Result<()> {
    let registry = registry(&[&HUFFMAN]);
    let tree = tree();
    let text = "A tree of encodings has a node for each of them. ".repeat(200);
    let array = UInt8Array::from_iter_values(text.bytes());
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
    assert_eq!(encoded.value::<u8>(4903)?, b'r');

    let numbers = Int64Array::from(vec![1]);
    let error = encode_array(&registry, &tree, &numbers).expect_err("values of 8 bytes");
    println!("numbers of 8 bytes: {error}");
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("the example runs");
}
