//! Times in nanoseconds that are whole minutes, packed as minutes: `cargo run -p tarsia-divisor --example standalone`.

use tarsia_bitpack::BITPACK;
use tarsia_divisor::{DIVISOR, tree};
use tarsia_standalone::arrow_array::{Array, TimestampNanosecondArray};
use tarsia_standalone::{Encoded, Result, Selection, encode_array, registry};

const MINUTE: i64 = 60_000_000_000;

fn main() -> Result<()> {
    let registry = registry(&[&DIVISOR, &BITPACK]);
    let tree = tree(8, MINUTE as u64, 0, tarsia_bitpack::tree());
    let times = (0..10_000).map(|i| (29_000_000 + i * 7919 % 10_000) * MINUTE);
    let array = TimestampNanosecondArray::from_iter_values(times);
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
    assert_eq!(encoded.value::<i64>(1)?, 29_007_919 * MINUTE);

    let late = TimestampNanosecondArray::from_iter_values([MINUTE, 2 * MINUTE + 1]);
    let error = encode_array(&registry, &tree, &late).expect_err("no whole minute");
    println!("a nanosecond late: {error}");
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("the example runs");
}
