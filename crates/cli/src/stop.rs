//! Ending the process before a command is done: by a signal, or because a limit is reached. Files under temporary names
//! are removed first, and uploads given up.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use crate::failure::Failure;

/// Longest wait for a store to remove what was uploaded, when the process ends: as long as the store itself tries.
const ABANDON_TIME_MAX: Duration = Duration::from_secs(6);

/// Files and uploads to remove. Who holds the lock may make or rename a file, or ends the process.
static TEMPORARIES: Mutex<Temporaries> = Mutex::new(Temporaries {
    n_made: 0,
    all: Vec::new(),
});

struct Temporaries {
    /// Numbers given so far.
    n_made: u64,
    all: Vec<(u64, Remains)>,
}

impl Temporaries {
    fn add(&mut self, remains: Remains) -> Temporary {
        self.n_made += 1;
        self.all.push((self.n_made, remains));
        Temporary(self.n_made)
    }
}

/// A part of a file that is not complete.
enum Remains {
    File(PathBuf),
    /// Gives an upload up.
    Upload(Arc<dyn Fn() + Send + Sync>),
}

/// A file that is removed if the process ends. The value is dropped when the file is gone or has its name.
pub(crate) struct Temporary(u64);

/// Runs a step that makes a file, whose name `path` tells, and has it removed if the process ends. No signal comes
/// between the two.
pub(crate) fn remove_if_stopped<T, E>(
    make: impl FnOnce() -> Result<T, E>,
    path: impl FnOnce(&T) -> Option<&Path>,
) -> Result<(T, Temporary), E> {
    watch_signals();
    let mut temporaries = lock();
    let made = make()?;
    let path = path(&made).map(Path::to_owned).unwrap_or_default();
    let temporary = temporaries.add(Remains::File(path));
    Ok((made, temporary))
}

/// Has an upload that has not begun yet given up if the process ends.
pub(crate) fn abandon_if_stopped(abandon: Arc<dyn Fn() + Send + Sync>) -> Temporary {
    watch_signals();
    lock().add(Remains::Upload(abandon))
}

/// Runs a step that needs a temporary file. A signal that comes meanwhile ends the process after it; where one came
/// before, so that the file is gone, the step is not run any more.
pub(crate) fn before_stopping<T>(step: impl FnOnce() -> T) -> T {
    let _held = lock();
    step()
}

impl Drop for Temporary {
    fn drop(&mut self) {
        lock().all.retain(|(number, _)| *number != self.0);
    }
}

fn lock() -> MutexGuard<'static, Temporaries> {
    // The only writes under the lock are whole ones.
    TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all temporary files and uploads, shows the failure and ends the process.
///
/// It is called where nothing can be returned: inside of an allocation, or while another thread works.
pub(crate) fn stop(failure: &Failure) -> ! {
    // The thread that allocates may hold the lock itself. Held until the end, so that no other thread says first that
    // its file is gone.
    let temporaries = TEMPORARIES.try_lock();
    if let Ok(temporaries) = &temporaries {
        remove(temporaries);
    }
    if let Some(line) = failure.line() {
        // If the standard error is closed, the exit code alone reports the failure.
        let _ = writeln!(std::io::stderr(), "{line}");
    }
    std::process::exit(failure.exit_code().into())
}

/// Where one cannot be removed, nobody is left to tell; its name says what it is.
fn remove(temporaries: &Temporaries) {
    let mut uploads = Vec::new();
    for (_, remains) in &temporaries.all {
        match remains {
            Remains::File(path) => {
                let _ = std::fs::remove_file(path);
            }
            Remains::Upload(abandon) => uploads.push(Arc::clone(abandon)),
        }
    }
    if uploads.is_empty() {
        return;
    }
    // On a thread of its own: this one may be in the middle of a transfer, or hold what the uploads wait for.
    let (done, all_done) = mpsc::channel();
    let abandon = move || {
        uploads.iter().for_each(|abandon| abandon());
        let _ = done.send(());
    };
    let started = std::thread::Builder::new()
        .name("uploads".into())
        .spawn(abandon);
    if started.is_ok() {
        let _ = all_done.recv_timeout(ABANDON_TIME_MAX);
    }
}

#[cfg(unix)]
fn watch_signals() {
    use std::sync::Once;
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        // Without them, a signal leaves a temporary file behind, and everything else works.
        let Ok(mut signals) = signal_hook::iterator::Signals::new(ending_signals()) else {
            return;
        };
        let watch = move || {
            if let Some(signal) = signals.forever().next() {
                // Held until the end, so that no file is made after this.
                let temporaries = lock();
                remove(&temporaries);
                // The parent process sees which signal it was.
                let _ = signal_hook::low_level::emulate_default_handler(signal);
                std::process::exit(128 + signal);
            }
        };
        let _ = std::thread::Builder::new()
            .name("signals".into())
            .spawn(watch);
    });
}

/// Has a write beyond a limit on the size of files (`ulimit -f`) fail like one to a full disk. Without a handler the
/// system ends the process before it can say so.
#[cfg(unix)]
pub(crate) fn report_large_files() {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    // Nobody reads the flag. Where the handler cannot be registered, the signal ends the process as before.
    let flag = Arc::new(AtomicBool::new(false));
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, flag);
}

#[cfg(not(unix))]
pub(crate) fn report_large_files() {}

#[cfg(not(unix))]
fn watch_signals() {}

/// Signals that end a process, unless whoever started it has it ignore them, as `nohup` does. Those of errors in the
/// program itself and SIGKILL are not among them.
#[cfg(unix)]
fn ending_signals() -> Vec<i32> {
    use signal_hook::consts::{
        SIGALRM, SIGHUP, SIGINT, SIGPROF, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU,
    };
    let mut signals = vec![
        SIGALRM, SIGHUP, SIGINT, SIGPROF, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU,
    ];
    match ignored_signals() {
        Some(ignored) => signals.retain(|signal| ignored >> (signal - 1) & 1 == 0),
        None => signals.retain(|signal| *signal != SIGHUP),
    }
    signals
}

/// The signals that the process ignores, a bit for each, from the lowest on for signal 1; `None` where the system does
/// not say. Linux says it in a file.
#[cfg(unix)]
fn ignored_signals() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}
