//! One run of the command, within limits.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, kill_process_group, pidfd_open, prlimit, setrlimit,
};
use wait4::Wait4;

/// Most bytes of a file that a command writes: files here have a few thousand.
const WRITTEN_BYTES_MAX: u64 = 256 << 20;

/// A command that waits instead of working ends after so many times its limit of processor time. On a loaded machine it
/// may wait for a processor, too.
const WAITING: u32 = 20;

/// Limits of a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Processor time of all its threads together.
    pub(crate) time: Duration,
    /// Peak of the memory that was touched.
    pub(crate) resident_bytes: u64,
}

impl Limits {
    /// Limits this process, and by inheritance all that it starts. Private memory that may be written is limited, not
    /// address space: engines of WebAssembly reserve much of that and use little.
    ///
    /// # Errors
    /// Where the system refuses.
    pub(crate) fn inherit(self) -> io::Result<()> {
        let hold = |resource, bytes| {
            let limit = Rlimit {
                current: Some(bytes),
                maximum: Some(bytes),
            };
            setrlimit(resource, limit)
        };
        hold(Resource::Data, self.resident_bytes.saturating_mul(2))?;
        hold(Resource::Fsize, WRITTEN_BYTES_MAX)?;
        Ok(hold(Resource::Core, 0)?)
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Code(i32),
    Signal(i32),
    /// It was ended at the limit of time.
    OverTime,
}

/// A command that ended.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) ending: Ending,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// Most memory that it had.
    pub(crate) peak_bytes: u64,
}

impl Done {
    pub(crate) fn is_ok(&self) -> bool {
        self.ending == Ending::Code(0)
    }

    /// Its error as text.
    pub(crate) fn said(&self) -> String {
        String::from_utf8_lossy(&self.stderr).trim_end().to_owned()
    }
}

/// Runs one command after the other. Output goes to files, so that a process that is not read never waits.
pub(crate) struct Runner {
    program: PathBuf,
    limits: Limits,
    /// Where the output goes: not the folder in which commands run, since what they leave there is looked at.
    outputs: tempfile::TempDir,
}

impl Runner {
    pub(crate) fn new(program: &Path, limits: Limits) -> io::Result<Runner> {
        Ok(Runner {
            program: program.to_owned(),
            limits,
            outputs: tarsia_driving::scratch::folder()?,
        })
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// Runs the command in a folder to its end, or to the limit of time.
    ///
    /// # Errors
    /// Where it cannot be started or waited for, which is no find.
    pub(crate) fn run(&self, folder: &Path, args: &[String]) -> io::Result<Done> {
        let path = |name| self.outputs.path().join(name);
        let (stdout, stderr) = (path("stdout"), path("stderr"));
        let child = Command::new(&self.program)
            .args(args)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(File::create(&stdout)?)
            .stderr(File::create(&stderr)?)
            .env_remove("RUST_BACKTRACE")
            // Processes that it starts end with it.
            .process_group(0)
            .spawn()?;
        limit_processor(&child, self.limits.time);
        let is_over_time = !ends_within(&child, self.limits.time.saturating_mul(WAITING))?;
        if is_over_time {
            end(&child);
        }
        let used = child.wait4()?;
        let ending = match (is_over_time, used.status.code(), used.status.signal()) {
            (true, ..) => Ending::OverTime,
            (false, Some(code), _) => Ending::Code(code),
            (false, None, Some(signal)) if signal == Signal::XCPU.as_raw() => Ending::OverTime,
            (false, None, signal) => Ending::Signal(signal.unwrap_or(0)),
        };
        Ok(Done {
            ending,
            stdout: fs::read(stdout)?,
            stderr: fs::read(stderr)?,
            peak_bytes: used.rusage.maxrss,
        })
    }
}

fn pid(child: &Child) -> Option<Pid> {
    Pid::from_raw(i32::try_from(child.id()).ok()?)
}

/// Not inherited from the driver, whose own time is longer. A process that ended already needs no limit.
fn limit_processor(child: &Child, time: Duration) {
    let seconds = time.as_secs().max(1);
    let limit = Rlimit {
        current: Some(seconds),
        maximum: Some(seconds + 1),
    };
    let _ = prlimit(pid(child), Resource::Cpu, limit);
}

/// Waits until the process ends; false at the limit.
fn ends_within(child: &Child, limit: Duration) -> io::Result<bool> {
    let pid = pid(child).ok_or_else(|| io::Error::other("a process without a number"))?;
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    let start = Instant::now();
    loop {
        let left = limit.saturating_sub(start.elapsed());
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&left)) {
            Ok(n) => return Ok(n > 0),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// The process was not waited for yet, so its number is still its own.
fn end(child: &Child) {
    if let Some(pid) = pid(child) {
        // It may have ended by itself since.
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, time: Duration) -> Done {
        let limits = Limits {
            time,
            resident_bytes: 1 << 30,
        };
        let runner = Runner::new(Path::new("/bin/sh"), limits).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let args = ["-c".to_owned(), script.to_owned()];
        runner.run(folder.path(), &args).unwrap()
    }

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn endings_and_output_are_told() {
        let done = shell("echo out; echo err >&2; exit 3", LONG);
        assert_eq!(done.ending, Ending::Code(3));
        assert_eq!(
            (done.stdout, done.stderr),
            (b"out\n".into(), b"err\n".into())
        );
        assert_eq!(shell("kill -ABRT $$", LONG).ending, Ending::Signal(6));
        assert!(shell(":", LONG).is_ok());
    }

    #[test]
    fn a_process_and_what_it_started_end_at_the_limit_of_time() {
        let waiting = shell("while :; do :; done & wait", Duration::ZERO);
        assert_eq!(waiting.ending, Ending::OverTime);
        let busy = shell("while :; do :; done", Duration::from_secs(1));
        assert_eq!(busy.ending, Ending::OverTime);
    }

    #[test]
    fn the_peak_of_memory_is_that_of_this_process() {
        let many = shell("x=$(head -c 40000000 /dev/zero | tr '\\0' x)", LONG);
        let few = shell(":", LONG);
        assert!(many.peak_bytes > 40_000_000, "{many:?}");
        assert!(few.peak_bytes < 20_000_000, "{few:?}");
    }
}
