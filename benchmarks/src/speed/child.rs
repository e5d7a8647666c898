//! The processes that measure a format, and what may go wrong with them.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::FormatName;
use super::protocol::{Answer, Request, Threads};

/// Outcome of a request.
pub(super) enum Outcome {
    Answer(Answer),
    /// The worker says why, or has ended.
    Failed(String),
    /// There was no answer in time; the worker was ended.
    Late(Duration),
}

/// Requests that take longer are named while a run goes on.
const SLOW_SECONDS: f64 = 3.0;

/// Variables that set how many threads Lance has, read when a process begins.
const LANCE_ONE_THREAD: [&str; 2] = ["LANCE_CPU_THREADS", "LANCE_IO_THREADS"];

/// A process.
struct Child {
    process: std::process::Child,
    input: std::process::ChildStdin,
    lines: Receiver<String>,
    ended: bool,
}

impl Child {
    fn start(mut command: Command) -> Result<Self> {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {}", command.get_program().display()))?;
        let input = process.stdin.take().context("no pipe")?;
        let output = process.stdout.take().context("no pipe")?;
        let (sender, lines) = channel();
        // Ends with the process, when its output does.
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let Ok(line) = line else { break };
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self {
            process,
            input,
            lines,
            ended: false,
        })
    }

    fn ask(&mut self, request: &Request, limit: Duration) -> Outcome {
        if self.ended {
            return Outcome::Failed("ended before".to_owned());
        }
        match self.answer(request, limit) {
            Ok(outcome) => outcome,
            Err(error) => {
                self.end();
                Outcome::Failed(format!("{error:#}"))
            }
        }
    }

    fn answer(&mut self, request: &Request, limit: Duration) -> Result<Outcome> {
        let mut line = serde_json::to_string(request)?;
        line.push('\n');
        // Where the worker has ended, waiting for its answer says so.
        let _ = self.input.write_all(line.as_bytes());
        Ok(match self.lines.recv_timeout(limit) {
            Ok(line) => match serde_json::from_str(&line).context("an answer")? {
                Answer::Failed(why) => Outcome::Failed(why),
                answer => Outcome::Answer(answer),
            },
            Err(RecvTimeoutError::Timeout) => {
                self.end();
                Outcome::Late(limit)
            }
            Err(RecvTimeoutError::Disconnected) => {
                self.ended = true;
                let status = self.process.wait()?;
                let memory = super::memory::limit_bytes().map_or(0, |bytes| bytes >> 30);
                Outcome::Failed(format!(
                    "the process ended ({status}); it may hold {memory} GiB of memory"
                ))
            }
        })
    }

    fn end(&mut self) {
        self.ended = true;
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.ended {
            self.end();
        }
    }
}

/// How workers are started.
pub(super) struct Launcher {
    /// The interpreter that has Lance.
    pub(super) lance_python: Option<PathBuf>,
    /// Tarsia's preset, else the default.
    pub(super) preset: Option<String>,
}

impl Launcher {
    fn command(&self, format: FormatName, threads: Threads) -> Result<Command> {
        let mut command;
        match (format, &self.lance_python) {
            (FormatName::Lance, Some(python)) => {
                command = Command::new(python);
                command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("lance/worker.py"));
                command.env("LANCE_LOG", "error");
                if threads == Threads::One {
                    command.envs(LANCE_ONE_THREAD.map(|name| (name, "1")));
                }
            }
            (FormatName::Lance, None) => anyhow::bail!("there is no Python with Lance"),
            _ => {
                command = Command::new(std::env::current_exe()?);
                command.args(["speed-worker", format.name()]);
                if let Some(preset) = &self.preset {
                    command.args(["--preset", preset]);
                }
            }
        }
        Ok(command)
    }

    /// A process with nothing in it, on all threads.
    pub(super) fn fresh(&self, format: FormatName) -> Result<Peer> {
        Ok(Peer {
            format,
            all: Child::start(self.command(format, Threads::All)?)?,
            one: None,
        })
    }

    /// The process, or processes, that measure a format on one thread and on all.
    pub(super) fn start(&self, format: FormatName) -> Result<Peer> {
        let mut peer = self.fresh(format)?;
        if format == FormatName::Lance {
            peer.one = Some(Child::start(self.command(format, Threads::One)?)?);
        }
        Ok(peer)
    }
}

/// A format, and the process that answers for it.
pub(super) struct Peer {
    pub(super) format: FormatName,
    all: Child,
    /// Where the number of threads is that of the process, another one.
    one: Option<Child>,
}

impl Peer {
    /// Asks the process that has as many threads as the request says. Takes go to the process that has all threads:
    /// there, too, only the caller's thread works unless the format wants more.
    pub(super) fn ask(&mut self, request: &Request, limit: Duration) -> Outcome {
        let begin = Instant::now();
        let outcome = self.ask_one(request, limit);
        self.tell_if_slow(request, begin);
        outcome
    }

    fn ask_one(&mut self, request: &Request, limit: Duration) -> Outcome {
        let threads = match request {
            Request::Write { threads }
            | Request::Scan { threads, .. }
            | Request::Store { threads, .. } => *threads,
            _ => Threads::All,
        };
        match (threads, &mut self.one) {
            (Threads::One, Some(one)) => one.ask(request, limit),
            _ => self.all.ask(request, limit),
        }
    }

    /// Asks all processes; the answer of the first, unless another fails.
    pub(super) fn ask_each(&mut self, request: &Request, limit: Duration) -> Outcome {
        let begin = Instant::now();
        let mut outcome = self.all.ask(request, limit);
        if let (Outcome::Answer(_), Some(one)) = (&outcome, &mut self.one) {
            match one.ask(request, limit) {
                Outcome::Answer(_) => {}
                other => outcome = other,
            }
        }
        self.tell_if_slow(request, begin);
        outcome
    }

    /// Whoever waits for a run sees what it waits for.
    fn tell_if_slow(&self, request: &Request, begin: Instant) {
        let seconds = begin.elapsed().as_secs_f64();
        if seconds > SLOW_SECONDS {
            let request = format!("{request:?}");
            let name = request.split([' ', '{']).next().unwrap_or_default();
            eprintln!("  {}: {name} took {seconds:.0} s", self.format.name());
        }
    }

    /// Whether there is somebody to ask.
    pub(super) fn is_alive(&self) -> bool {
        !self.all.ended && self.one.as_ref().is_none_or(|one| !one.ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(text: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", text]);
        Child::start(command).unwrap()
    }

    fn why(child: &mut Child) -> String {
        let request = Request::Open {
            column: "a".to_owned(),
        };
        match child.ask(&request, Duration::from_millis(500)) {
            Outcome::Answer(answer) => format!("{answer:?}"),
            Outcome::Failed(why) => why,
            Outcome::Late(limit) => format!("late: {limit:?}"),
        }
    }

    #[test]
    fn a_worker_that_fails_is_told_apart() {
        let answering =
            r#"read line; echo '{"Seconds":1.5}'; read line; echo '{"Failed":"no"}'; read line"#;
        let mut child = script(answering);
        assert_eq!(why(&mut child), "Seconds(1.5)");
        assert_eq!(why(&mut child), "no");
        assert!(why(&mut child).starts_with("the process ended"));
        assert_eq!(why(&mut child), "ended before");
        assert_eq!(why(&mut script("sleep 20")), "late: 500ms");
        assert!(why(&mut script("read line; echo nonsense; sleep 20")).starts_with("an answer"));
        assert!(why(&mut script("exit 3")).starts_with("the process ended (exit status: 3)"));
    }
}
