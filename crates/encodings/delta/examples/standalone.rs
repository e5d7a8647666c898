//! Rising numbers as bit-packed differences: `cargo run -p tarsia-delta --example standalone`.

use tarsia_bitpack::BITPACK;
use tarsia_delta::{DELTA, tree};
use tarsia_standalone::arrow_array::{Array, Int64Array};
use tarsia_standalone::{Encoded, Result, Selection, encode_array, registry};

fn main() -> Result<()> {
    let registry = registry(&[&DELTA, &BITPACK]);
    let tree = tree(tarsia_bitpack::tree());
    let array = Int64Array::from_iter_values((0..10_000).map(|i| 1_000_000 * i + i % 7));
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
    assert_eq!(encoded.value::<i64>(5000)?, 5_000_000_002);

    let alone = tarsia_standalone::registry(&[&DELTA]);
    let error = encode_array(&alone, &tree, &array).expect_err("no encoder of the child");
    println!("without the child's encoding: {error}");
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("the example runs");
}
