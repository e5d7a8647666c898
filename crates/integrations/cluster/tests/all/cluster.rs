//! A scheduler and executors as processes of this machine.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use datafusion::common::Result;
use datafusion::prelude::SessionContext;
use tarsia_table::CommitInfo;

/// Processes that end with this value.
pub(crate) struct Cluster {
    pub(crate) scheduler: String,
    processes: Vec<Child>,
}

/// A port that nobody listens at.
fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// A process of the command, once it listens at a port.
fn started(args: &[&str], port: u16) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tarsia-cluster"));
    command.args(args).stdout(Stdio::null());
    let mut process = command.spawn().unwrap();
    let begin = Instant::now();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    while TcpStream::connect(address).is_err() {
        if let Some(status) = process.try_wait().unwrap() {
            panic!("{args:?}: {status}");
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "{args:?}");
        sleep(Duration::from_millis(20));
    }
    process
}

impl Cluster {
    /// A scheduler, and so many executors with two partitions at a time.
    pub(crate) fn new(n_executors: usize) -> Self {
        let port = free_port();
        let args = ["scheduler", "--executor-timeout", "6", "--port"];
        let process = started(&[&args[..], &[&port.to_string()]].concat(), port);
        let mut cluster = Self {
            scheduler: format!("127.0.0.1:{port}"),
            processes: vec![process],
        };
        for _ in 0..n_executors {
            let [port, grpc_port] = [free_port(), free_port()];
            let [port_text, grpc_port] = [port, grpc_port].map(|port| port.to_string());
            let args = ["executor", "--vcores", "2", "--scheduler"];
            let of_this = [
                &cluster.scheduler,
                "--port",
                &port_text,
                "--grpc-port",
                &grpc_port,
            ];
            let process = started(&[&args[..], &of_this].concat(), port);
            cluster.processes.push(process);
        }
        cluster
    }

    /// Kills the executor that was started last.
    pub(crate) fn kill_executor(&mut self) {
        let mut process = self.processes.pop().unwrap();
        process.kill().unwrap();
        process.wait().unwrap();
    }

    /// A client that knows Tarsia's files and tables.
    pub(crate) fn client(&self) -> Result<SessionContext> {
        let ctx = tarsia_cluster::connect(&self.scheduler)?;
        let info = CommitInfo::new("ada", "INSERT INTO");
        let ctx = tarsia_datafusion::enable_tables(ctx, info);
        tarsia_datafusion::register(&ctx)?;
        Ok(ctx)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for process in self.processes.iter_mut().rev() {
            // It may have ended.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}
