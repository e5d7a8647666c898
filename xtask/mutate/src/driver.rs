//! All runs, several at once.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use crate::corpus::Corpus;
use crate::options::Options;
use crate::process::{Done, Runner};
use crate::report::Report;
use crate::trial::Trials;

/// Runs what the options say; true where nothing is found.
///
/// # Errors
/// Where the command cannot be built or run.
pub(crate) fn run(options: &Options) -> Result<bool, String> {
    let program = match &options.command {
        Some(path) => path
            .canonicalize()
            .map_err(|error| format!("{}: {error}", path.display()))?,
        None => tarsia_driving::command::build(options.release)?,
    };
    let text = |error: std::io::Error| error.to_string();
    let limits = options.limits();
    limits.inherit().map_err(text)?;
    let runner = || Runner::new(&program, limits).map_err(text);
    let start = Instant::now();
    let corpus = Corpus::make(&runner()?)?;
    let (files, bytes) = corpus.size();
    println!(
        "{files} sound files of {bytes} bytes, {}, made in {:.1} s; seed {}",
        corpus.digest(),
        start.elapsed().as_secs_f64(),
        options.seed
    );
    let trials = Trials::new(corpus, options.seed, options.only);
    let numbers = options.numbers();
    let end = options.end(Instant::now());
    let total = end.is_none().then(|| numbers.end - numbers.start);
    let report = Report::new(options.seed, options.only, options.keep.as_deref(), total);
    let report = Mutex::new(report);
    let next = AtomicU64::new(numbers.start);
    let has_failed = AtomicBool::new(false);
    let work = || -> Result<(), String> {
        let runner = runner()?;
        let folder = tarsia_driving::scratch::folder().map_err(text)?;
        let mut show = |args: &[String], done: &Done| {
            if options.run.is_some() {
                println!(
                    "tarsia {}: {:?}, {} MiB\n{}",
                    args.join(" "),
                    done.ending,
                    done.peak_bytes >> 20,
                    done.said()
                );
            }
        };
        while !has_failed.load(Ordering::Relaxed) && end.is_none_or(|end| Instant::now() < end) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= numbers.end {
                break;
            }
            let verdict = trials
                .run(number, &runner, folder.path(), &mut show)
                .map_err(text)?;
            let mut report = report
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            report.add(&verdict)?;
        }
        Ok(())
    };
    let jobs = match options.jobs {
        Some(jobs) => jobs.max(1),
        None => thread::available_parallelism().map_or(1, usize::from),
    };
    let worker = || {
        let done = work();
        // The others stop, too.
        has_failed.fetch_or(done.is_err(), Ordering::Relaxed);
        done
    };
    let done: Vec<Result<(), String>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(worker)).collect();
        let join = |worker: thread::ScopedJoinHandle<'_, _>| {
            worker
                .join()
                .unwrap_or_else(|_| Err("a worker panicked".to_owned()))
        };
        workers.into_iter().map(join).collect()
    });
    let is_good = report
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
        .finish();
    println!("{:.0} s", start.elapsed().as_secs_f64());
    done.into_iter().collect::<Result<(), String>>()?;
    Ok(is_good)
}
