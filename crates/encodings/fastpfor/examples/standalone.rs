//! Amounts, few of which are large, in groups of 128: `cargo run -p tarsia-fastpfor --example standalone`.

use tarsia_fastpfor::{FASTPFOR, Scheme, tree};
use tarsia_standalone::arrow_array::{Array, Int32Array, StringArray};
use tarsia_standalone::{Encoded, Result, Selection, encode_array, registry};

fn main() -> Result<()> {
    let registry = registry(&[&FASTPFOR]);
    let amount = |i: i32| if i % 90 == 7 { 1_000_000 + i } else { i % 50 };
    let array = Int32Array::from_iter_values((0..10_000).map(amount));
    for scheme in Scheme::ALL {
        let tree = tree(scheme);
        let bytes = encode_array(&registry, &tree, &array)?;

        let mut encoded = Encoded::open(&registry, &bytes)?;
        let (n, before) = (array.len(), array.get_buffer_memory_size());
        println!(
            "{} ({scheme:?}): {n} values, {before} -> {} bytes",
            encoded.tree(),
            bytes.len()
        );

        let all = encoded.array(array.data_type(), Selection::All)?;
        assert_eq!(all.as_ref(), &array as &dyn Array);
        assert_eq!(encoded.value::<i32>(1234)?, 1234 % 50);
        assert_eq!(encoded.value::<i32>(97)?, 1_000_097);
    }

    let strings = StringArray::from(vec!["a"]);
    let error = encode_array(&registry, &tree(Scheme::Bp128), &strings).expect_err("strings");
    println!("strings: {error}");
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("the example runs");
}
