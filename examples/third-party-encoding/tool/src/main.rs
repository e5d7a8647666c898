//! Writes a file with an encoding that Tarsia does not know, and the kernel that decodes it inside.
//!
//! ```sh
//! example-linear-tool write MODULE.wasm OUT.tarsia    # prints the kernel's digest
//! example-linear-tool write - OUT.tarsia              # the same table with Tarsia's own encodings
//! example-linear-tool read FILE.tarsia                # by the encoding itself
//! ```

use std::error::Error;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use tarsia::codec::DecodeCost;
use tarsia::{ErasureLevel, Kernel, OpenOptions, Registry, WriteOptions, WriteSummary, Writer};

const ROWS: i64 = 100_000;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["write", "-", out] => write_with(WriteOptions::default(), out).map(|_| ()),
        ["write", module, out] => write(module, out),
        ["read", file] => read(file),
        _ => {
            Err("usage: example-linear-tool write MODULE.wasm OUT.tarsia | read FILE.tarsia".into())
        }
    }
}

/// Tarsia's encodings and the example's.
fn registry() -> Arc<Registry> {
    let mut registry = Registry::clone(tarsia::registry());
    let cost = DecodeCost {
        value_ps: 600,
        byte_ps: 0,
    };
    registry.add_writer(&example_linear::LINEAR, cost);
    Arc::new(registry)
}

/// A clock that ticks every few milliseconds, and a text.
fn table() -> Result<RecordBatch, Box<dyn Error>> {
    let jitter = |i: i64| {
        let mixed = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed >> 40) as i64 % 61
    };
    let times = (0..ROWS).map(|i| 1_700_000_000_000 + i * 250 + jitter(i));
    let names = (0..ROWS).map(|i| format!("sensor {}", i % 7));
    let schema = Schema::new(vec![
        Field::new("time", DataType::Int64, false),
        Field::new("sensor", DataType::Utf8, false),
    ]);
    Ok(RecordBatch::try_new(
        Arc::new(schema),
        vec![
            Arc::new(Int64Array::from_iter_values(times)),
            Arc::new(StringArray::from_iter_values(names)),
        ],
    )?)
}

fn write(module: &str, out: &str) -> Result<(), Box<dyn Error>> {
    let decoders = example_linear_kernel::registry();
    let encodings = decoders.encodings().iter().map(|encoding| {
        let version = encoding.version();
        (encoding.id().to_owned(), version.major, version.minor)
    });
    let kernel = Kernel::of_module("linear", &std::fs::read(module)?, true, encodings)?;
    let digest: String = kernel.digest.iter().map(|it| format!("{it:02x}")).collect();
    let options = WriteOptions::new()
        .with_registry(registry())
        .with_kernel(Arc::new(kernel));
    let summary = write_with(options, out)?;
    if summary.kernels != ["linear"] {
        return Err(format!("the file carries the kernels {:?}", summary.kernels).into());
    }
    println!("{digest}");
    Ok(())
}

fn write_with(options: WriteOptions, out: &str) -> Result<WriteSummary, Box<dyn Error>> {
    let batch = table()?;
    // So that rows can be erased, also by programs that do not know the encoding.
    let options = options.with_erasure(ErasureLevel::Erase);
    let mut writer = Writer::create(out, batch.schema(), options)?;
    writer.write(&batch)?;
    Ok(writer.finish()?)
}

fn read(file: &str) -> Result<(), Box<dyn Error>> {
    let options = OpenOptions::new().with_registry(registry());
    let file = tarsia::File::open_with(file, options)?;
    let trees = file.inspect_columns("time")?.remove(0).trees;
    if !trees
        .iter()
        .any(|(tree, _)| tree.starts_with("org.example.linear"))
    {
        return Err(format!("the column is encoded as {trees:?}").into());
    }
    let expect = table()?;
    let mut first = 0;
    for batch in file.scan().build()? {
        let batch = batch?;
        if batch != expect.slice(first, batch.num_rows()) {
            return Err(format!("rows from {first} on differ").into());
        }
        first += batch.num_rows();
    }
    let taken = file.take(&[99_999, 5, 5]).read()?;
    let times = taken.column(0).as_primitive::<Int64Type>();
    let of_table = expect.column(0).as_primitive::<Int64Type>();
    if times.values()[..] != [of_table.value(99_999), of_table.value(5), of_table.value(5)] {
        return Err("rows that were taken differ".into());
    }
    let decoders = file.decoder_counts();
    println!("{first} rows as written; decoders: {decoders:?}; trees: {trees:?}");
    Ok(())
}
