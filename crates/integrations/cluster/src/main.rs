//! The command `tarsia-cluster`: a scheduler, executors, and statements for them. The manual is `docs/cluster.md`.
#![forbid(unsafe_code)]

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use tarsia_cluster::{Executor, Scheduler, connect};
use tarsia_sql::{Failure, Format, Session};

const HELP: &str = "\
Example:
  tarsia-cluster scheduler &
  tarsia-cluster executor --port 50061 --grpc-port 50062 &
  tarsia-cluster sql \"select country, count(*) from '/data/clicks.tarsia' group by country\"

Each machine reads files under the same names, from a shared folder or a store, with credentials of its environment.
There is no authentication: whoever reaches the ports can read what the executors can read.

Exit codes:
  0  done (also when the reader of a pipe closes it)
  1  a file or its data is bad, missing or refused; a scheduler that does not answer; a port that is taken
  2  wrong usage: an unknown option, a statement that makes no sense, a column that there is not";

/// Ask Tarsia, Parquet, CSV and JSON files questions in SQL, on several machines.
#[derive(Debug, Parser)]
#[command(name = "tarsia-cluster", version, after_help = HELP)]
struct Command {
    #[command(subcommand)]
    role: Role,
}

#[derive(Debug, Subcommand)]
enum Role {
    /// Plan statements, and give their tasks to executors
    Scheduler(SchedulerArgs),
    /// Run tasks
    Executor(ExecutorArgs),
    /// Run statements in a cluster
    Sql(SqlArgs),
}

#[derive(Debug, Args)]
struct SchedulerArgs {
    /// The address at which clients and executors reach it
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    host: IpAddr,
    /// The port at which clients and executors reach it
    #[arg(long, default_value_t = 50050)]
    port: u16,
    /// Seconds without a sign of life after which an executor counts as lost, and its tasks run elsewhere; executors
    /// give one every 5 seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(6..))]
    executor_timeout: u64,
}

#[derive(Debug, Args)]
struct ExecutorArgs {
    /// Where the scheduler is
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:50050")]
    scheduler: String,
    /// The address at which the scheduler and other executors reach it
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    host: IpAddr,
    /// The port at which others fetch rows
    #[arg(long, default_value_t = 50051)]
    port: u16,
    /// The port at which the scheduler gives it tasks
    #[arg(long, default_value_t = 50052)]
    grpc_port: u16,
    /// Partitions that it works on at the same time; by default one for each processor
    #[arg(long, value_name = "N")]
    vcores: Option<NonZeroUsize>,
    /// A folder for rows on their way to others, and for what does not fit in memory; by default a temporary one
    #[arg(long, value_name = "FOLDER")]
    work_dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct SqlArgs {
    /// Where the scheduler is
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:50050")]
    scheduler: String,
    /// How answers are written
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Statements, with semicolons between them
    statements: String,
}

fn main() -> ExitCode {
    let command = match Command::try_parse() {
        Ok(command) => command,
        Err(error) if error.use_stderr() => return Failure::of_usage(&error).report(),
        Err(help) => {
            // If the standard output is closed, the error cannot be reported.
            let _ = help.print();
            return ExitCode::SUCCESS;
        }
    };
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("error")).init();
    match run(command.role) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(role: Role) -> Result<(), Failure> {
    /// Plans of many steps are read by functions that call themselves.
    const STACK_BYTES: usize = 32 << 20;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .thread_stack_size(STACK_BYTES)
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Failure::Bad(format!("no threads: {error}")))?;
    let failed = |error: ballista_core::error::BallistaError| Failure::Bad(error.to_string());
    match role {
        Role::Scheduler(args) => {
            let scheduler = Scheduler {
                address: SocketAddr::new(args.host, args.port),
                executor_timeout_seconds: args.executor_timeout,
            };
            runtime.block_on(scheduler.run()).map_err(failed)
        }
        Role::Executor(args) => {
            let temporary = tempfile::tempdir();
            let temporary = temporary.map_err(|error| Failure::Bad(error.to_string()))?;
            let (host, port) = address(&args.scheduler)?;
            let executor = Executor {
                scheduler_host: host,
                scheduler_port: port,
                host: args.host,
                port: args.port,
                grpc_port: args.grpc_port,
                vcores: args.vcores.map_or_else(processors, Ok)?,
                work_dir: args.work_dir.unwrap_or_else(|| temporary.path().to_owned()),
            };
            runtime.block_on(executor.run()).map_err(failed)
        }
        Role::Sql(args) => {
            // Planning may need as much of it as the runtime's threads have.
            let answered = runtime.spawn(async move {
                let session = Session::of(connect(&args.scheduler)?)?;
                session.run(&args.statements, args.format).await
            });
            match runtime.block_on(answered) {
                Ok(answered) => answered,
                Err(stopped) => Err(Failure::Bad(format!("the statement stopped: {stopped}"))),
            }
        }
    }
}

fn processors() -> Result<NonZeroUsize, Failure> {
    let found = std::thread::available_parallelism();
    found.map_err(|error| Failure::Bad(format!("no number of processors: {error}")))
}

fn address(text: &str) -> Result<(String, u16), Failure> {
    let parsed = text.rsplit_once(':').and_then(|(host, port)| {
        let port = port.parse().ok()?;
        (!host.is_empty()).then(|| (host.to_owned(), port))
    });
    parsed.ok_or_else(|| Failure::Usage(format!("--scheduler: `{text}` is no HOST:PORT")))
}
