//! scratch
use std::time::Instant;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tarsia::*;
fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let preset = match args[1].as_str() { "fast" => Preset::Fast, "compact" => Preset::Compact, _ => Preset::Balanced };
    let reps: usize = args[2].parse()?;
    for path in &args[3..] {
        let reader = ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(path)?)?.with_batch_size(65_536).build()?;
        let batches = reader.collect::<Result<Vec<_>, _>>()?;
        let mut times = Vec::new();
        let mut bytes = 0;
        for _ in 0..reps {
            let options = WriteOptions::new().with_preset(preset).with_embed_kernels(EmbedKernels::Omit).with_threads(Threads::One).with_deterministic(true);
            let started = Instant::now();
            let mut writer = Writer::new(Vec::new(), batches[0].schema(), options)?;
            for batch in &batches { writer.write(batch)?; }
            let out = writer.finish_into()?.0; bytes = out.len(); if let Ok(to) = std::env::var("OUT") { std::fs::write(to, &out)?; }
            times.push(started.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        let name = std::path::Path::new(path).file_stem().unwrap().to_string_lossy().into_owned();
        println!("{name:24} {:9.3} {:9.3} {bytes}", times[0], times[times.len() / 2]);
    }
    Ok(())
}
