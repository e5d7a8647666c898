//! The dialect of S3, as `moto_server` (PyPI `moto[server]`) speaks it. `TARSIA_MOTO` is the path of that program;
//! without it, tests say so and pass.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tarsia_io::Store;
use tarsia_store::{RemoteStore, StoreOptions, StoreUrl};

use crate::server::{Server, quick};

/// Python starts slowly on a busy machine.
const START_MAX: Duration = Duration::from_secs(60);

/// A `moto_server` with the bucket `bucket`. It ends when it is dropped.
pub struct Moto {
    process: Child,
    address: String,
    /// Tests of memory do not run meanwhile.
    _turn: Server,
}

impl Moto {
    /// Starts it; `None`, after a word about that, where there is none.
    pub fn start() -> Option<Self> {
        let Some(program) = std::env::var_os("TARSIA_MOTO") else {
            println!("skipped: TARSIA_MOTO does not name moto_server");
            return None;
        };
        let free = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let port = free.port().to_string();
        let process = Command::new(program)
            .args(["-H", "127.0.0.1", "-p", &port])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let moto = Self {
            process,
            address: free.to_string(),
            _turn: Server::new(),
        };
        let began = Instant::now();
        while TcpStream::connect(&moto.address).is_err() {
            assert!(began.elapsed() < START_MAX, "moto_server does not start");
            thread::sleep(Duration::from_millis(50));
        }
        assert!(moto.ask("PUT /bucket").starts_with("HTTP/1.1 200"));
        Some(moto)
    }

    /// Makes an unsigned request without a body, such as `GET /bucket?uploads`. Returns the answer with its headers.
    pub fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let text = format!(
            "{request} HTTP/1.1\r\nhost: {}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            self.address
        );
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Returns the URL of the server.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns options that lead to it.
    pub fn options(&self) -> StoreOptions {
        StoreOptions::new()
            .without_environment()
            .endpoint(self.endpoint())
            .region("us-east-1")
            .with("access_key_id", "key")
            .with("secret_access_key", "secret")
            .policy(quick())
    }

    /// Returns one of its buckets.
    pub fn store(&self, bucket: &str) -> Arc<dyn Store> {
        let url: StoreUrl = format!("s3://{bucket}/any").parse().unwrap();
        Arc::new(RemoteStore::new(&url, &self.options()).unwrap())
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
