//! Latencies, most of them short and few of them long, as bins: `cargo run -p tarsia-bins --example standalone`.

use tarsia_bins::{BINS, tree};
use tarsia_bitpack::BITPACK;
use tarsia_standalone::arrow_array::{Array, Int64Array, StringArray};
use tarsia_standalone::{Encoded, Result, Selection, encode_array, registry};

/// Returns the latency of request `i` in microseconds: about 300, for one in 10 about 5,000, for one in 100 up to
/// 1,000,000.
fn latency(i: i64) -> i64 {
    let noise = i * 7919 % 1009;
    match i * i % 100 {
        0 => 1000 * noise,
        1..=10 => 4000 + 2 * noise,
        _ => 250 + noise / 10,
    }
}

fn main() -> Result<()> {
    let registry = registry(&[&BINS, &BITPACK]);
    // Bins whose numbers take four bits each.
    let tree = tree(4, tarsia_bitpack::tree());
    let array = Int64Array::from_iter_values((0..10_000).map(latency));
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
    assert_eq!(encoded.value::<i64>(1234)?, latency(1234));

    let strings = StringArray::from(vec!["a"]);
    let error = encode_array(&registry, &tree, &strings).expect_err("strings");
    println!("strings: {error}");
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("the example runs");
}
