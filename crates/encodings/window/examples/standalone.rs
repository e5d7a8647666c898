//! Lists of the last ten things a user did, a new one at each step: `cargo run -p tarsia-window --example standalone`.

use tarsia_plain::PLAIN;
use tarsia_standalone::arrow_array::{Array, Int64Array, StringArray};
use tarsia_standalone::{Encoded, Result, Selection, encode_array, registry};
use tarsia_window::{Reference, WINDOW, tree};

fn main() -> Result<()> {
    let registry = registry(&[&WINDOW, &PLAIN]);
    let plain = tarsia_plain::tree;
    let tree = tree(Reference::Step, plain(), plain(), plain(), plain());
    let list = |step: i64| (0..10).map(move |i| (step - i) * 1_000_003 % 7919);
    let array = Int64Array::from_iter_values((0..1000).flat_map(list));
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
    assert_eq!(encoded.value::<i64>(1234)?, array.value(1234));

    let strings = StringArray::from(vec!["a"]);
    let error = encode_array(&registry, &tree, &strings).expect_err("strings");
    println!("strings: {error}");
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("the example runs");
}
