//! Speed of the memory of this machine: no reader is faster than storing its output.

use std::hint::black_box;
use std::time::Instant;

use serde::Serialize;

/// Larger than any cache.
const BYTES: usize = 256 << 20;

const REPETITIONS: usize = 5;

/// Gigabytes (10⁹) of output per second, medians.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Limits {
    /// One thread copies into memory that was written before.
    pub(super) copy_reused: f64,
    /// One thread copies into memory that the system gives for the first time.
    pub(super) copy_fresh: f64,
    /// One thread stores a constant.
    pub(super) store_reused: f64,
    pub(super) store_fresh: f64,
    /// All threads copy, each its own part; sum.
    pub(super) copy_reused_all: f64,
    pub(super) copy_fresh_all: f64,
    pub(super) store_reused_all: f64,
    pub(super) store_fresh_all: f64,
}

impl Limits {
    /// One line for people.
    pub(crate) fn line(&self) -> String {
        format!(
            "Memory, GB of output per second: copy {:.1} (into fresh memory {:.1}), store {:.1} (fresh {:.1}); all \
             threads: copy {:.1} (fresh {:.1}), store {:.1} (fresh {:.1}).",
            self.copy_reused,
            self.copy_fresh,
            self.store_reused,
            self.store_fresh,
            self.copy_reused_all,
            self.copy_fresh_all,
            self.store_reused_all,
            self.store_fresh_all,
        )
    }
}

/// Measures and prints.
pub(crate) fn run() -> anyhow::Result<()> {
    println!("{}\n", crate::machine::Environment::here().line());
    println!("{}", measure().line());
    Ok(())
}

/// Takes a few seconds.
pub(super) fn measure() -> Limits {
    let source = vec![1_u8; BYTES];
    let mut target = vec![2_u8; BYTES];
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    // No fewer bytes than are counted, and no part more than there are threads.
    let part = BYTES.div_ceil(threads);
    let mut value = 0;
    let mut store = |target: &mut [u8]| {
        value += 1;
        target.fill(black_box(value));
    };
    Limits {
        copy_reused: median(|| timed(|| target.copy_from_slice(&source))),
        copy_fresh: median(|| timed(|| drop(black_box(source.to_vec())))),
        store_reused: median(|| timed(|| store(&mut target))),
        // A constant other than zero, or the system would not be asked to store it.
        store_fresh: median(|| timed(|| drop(black_box(vec![black_box(3_u8); BYTES])))),
        copy_reused_all: median(|| {
            timed(|| {
                std::thread::scope(|scope| {
                    for (target, source) in target.chunks_mut(part).zip(source.chunks(part)) {
                        scope.spawn(|| target.copy_from_slice(source));
                    }
                });
            })
        }),
        copy_fresh_all: median(|| {
            timed(|| {
                std::thread::scope(|scope| {
                    for source in source.chunks(part) {
                        scope.spawn(|| drop(black_box(source.to_vec())));
                    }
                });
            })
        }),
        store_reused_all: median(|| {
            timed(|| {
                std::thread::scope(|scope| {
                    for target in target.chunks_mut(part) {
                        scope.spawn(|| target.fill(black_box(4)));
                    }
                });
            })
        }),
        store_fresh_all: median(|| {
            timed(|| {
                std::thread::scope(|scope| {
                    for _ in 0..threads {
                        scope.spawn(|| drop(black_box(vec![black_box(5_u8); part])));
                    }
                });
            })
        }),
    }
}

fn timed(work: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    work();
    begin.elapsed().as_secs_f64()
}

fn median(mut work: impl FnMut() -> f64) -> f64 {
    let times = (0..REPETITIONS).map(|_| BYTES as f64 / 1e9 / work());
    crate::report::median(times).unwrap_or(0.0)
}
