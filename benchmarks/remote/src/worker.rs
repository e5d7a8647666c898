//! A process that reads one format: a request per line on its input, an answer per line on its output.

use std::io::{BufRead, Write};
use std::time::Instant;

use anyhow::Result;
use arrow_array::RecordBatch;

use crate::compare::compare;
use crate::formats::{Format, Parquet, Tarsia};
use crate::operation::{Answer, Read, Request, Spent};
use crate::tables;

/// Options of the command line.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The format.
    format: Name,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Name {
    Tarsia,
    Parquet,
    ParquetTuned,
}

/// Answers until the input ends.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let mut format: Box<dyn Format> = match arguments.format {
        Name::Tarsia => Box::new(Tarsia::default()),
        Name::Parquet => Box::new(Parquet::new(false)?),
        Name::ParquetTuned => Box::new(Parquet::new(true)?),
    };
    for line in std::io::stdin().lock().lines() {
        let request = serde_json::from_str(&line?)?;
        let answer = answer(&mut *format, &request);
        let answer = answer.unwrap_or_else(|error| Answer::Failed(format!("{error:#}")));
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", serde_json::to_string(&answer)?)?;
        out.flush()?;
    }
    Ok(())
}

fn answer(format: &mut dyn Format, request: &Request) -> Result<Answer> {
    match request {
        Request::Store { table, file } => {
            let reader = tables::read(table)?;
            let schema = reader.schema();
            let batches = reader.map(|batch| Ok(batch?));
            let settings = format.store(schema, Box::new(batches), file)?;
            Ok(Answer::Stored { settings })
        }
        Request::Connect {
            endpoint,
            key,
            file_bytes,
        } => {
            format.connect(endpoint, key, *file_bytes)?;
            Ok(Answer::Done)
        }
        Request::Open => {
            let began = Instant::now();
            format.open()?;
            Ok(Answer::Read(Spent {
                seconds: began.elapsed().as_secs_f64(),
                rows: 0,
                waves: format.waves(),
            }))
        }
        Request::Read(read) => timed_read(format, read),
    }
}

fn timed_read(format: &mut dyn Format, read: &Read) -> Result<Answer> {
    let waves_before = match read.warm {
        true => format.waves(),
        false => Some(0),
    };
    let mut rows = 0;
    let mut kept: Vec<RecordBatch> = Vec::new();
    let began = Instant::now();
    if !read.warm {
        format.open()?;
    }
    format.read(read, &mut |batch| {
        rows += batch.num_rows() as u64;
        if read.expected.is_some() {
            kept.push(batch);
        }
        Ok(())
    })?;
    let seconds = began.elapsed().as_secs_f64();
    if let Some(expected) = &read.expected {
        compare(expected, read, &kept)?;
    }
    let waves = format.waves();
    let waves = waves.and_then(|waves| waves.checked_sub(waves_before?));
    Ok(Answer::Read(Spent {
        seconds,
        rows,
        waves,
    }))
}
