//! The limit on processor time without new rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::failure::Failure;
use crate::stop::stop;

/// How often the time is looked at.
const TICK: Duration = Duration::from_millis(100);

/// A thread that ends the command when it worked too long for nothing. Time in which the process waits, for a disk or
/// for a user who stopped it, does not count.
pub(super) struct Watch {
    shared: Arc<Shared>,
}

struct Shared {
    name: String,
    limit: Duration,
    /// The process's time at the last progress, in nanoseconds.
    since: AtomicU64,
    done: AtomicBool,
}

impl Watch {
    pub(super) fn start(name: &str, limit: Duration) -> Watch {
        let shared = Arc::new(Shared {
            name: name.to_owned(),
            limit,
            since: AtomicU64::new(process_nanos()),
            done: AtomicBool::new(false),
        });
        let watched = Arc::clone(&shared);
        let watch = move || {
            while !watched.done.load(Ordering::Relaxed) {
                std::thread::sleep(TICK);
                watched.check();
            }
        };
        // Without the thread only progress itself is looked at.
        let _ = std::thread::Builder::new()
            .name("time limit".into())
            .spawn(watch);
        Watch { shared }
    }

    pub(super) fn progress(&self) {
        self.shared.check();
        self.shared.since.store(process_nanos(), Ordering::Relaxed);
    }
}

impl Shared {
    fn check(&self) {
        if self.done.load(Ordering::Relaxed) {
            return;
        }
        let spent = process_nanos().saturating_sub(self.since.load(Ordering::Relaxed));
        if Duration::from_nanos(spent) > self.limit {
            stop(&Failure::Bad(format!(
                "{}: gives no rows in {} s of processor time; --time-limit SECONDS gives it more, or none",
                self.name,
                self.limit.as_secs()
            )));
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.done.store(true, Ordering::Relaxed);
    }
}

/// The processor time of all threads so far.
#[cfg(unix)]
fn process_nanos() -> u64 {
    use rustix::time::{ClockId, clock_gettime};
    let now = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds
        .saturating_mul(1_000_000_000)
        .saturating_add(u64::try_from(now.tv_nsec).unwrap_or(0))
}

/// Without a clock of the process, the time that passed.
#[cfg(not(unix))]
fn process_nanos() -> u64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    let start = START.get_or_init(Instant::now);
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
