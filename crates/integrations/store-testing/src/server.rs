//! An HTTP server on loopback that is slow and fails where a test wants it to. It also speaks enough of S3's dialect
//! for uploads in parts.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tarsia_store::{Policy, RemoteStore, StoreOptions, StoreUrl};

use crate::dialect;
use crate::state::{Fault, Object, Request, Shared, lock, range_of};

/// Servers that run, and whether one of them runs alone.
static RUNNING: Mutex<(usize, bool)> = Mutex::new((0, false));
static STOPPED: Condvar = Condvar::new();

/// Keeps tests that measure memory apart from others. A test may have several servers, so those that wait to be alone
/// keep nobody waiting.
struct Turn {
    alone: bool,
}

impl Turn {
    fn take(alone: bool) -> Self {
        let running = lock(&RUNNING);
        let waits = |running: &mut (usize, bool)| running.1 || alone && running.0 > 0;
        let mut running = STOPPED
            .wait_while(running, waits)
            .unwrap_or_else(PoisonError::into_inner);
        running.0 += 1;
        running.1 = alone;
        Self { alone }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut running = lock(&RUNNING);
        running.0 -= 1;
        running.1 &= !self.alone;
        STOPPED.notify_all();
    }
}

/// Longest time that a stalled answer lasts.
const STALL_MAX: Duration = Duration::from_secs(20);
/// Bytes written at once.
const PIECE_BYTES: usize = 64 << 10;
/// Time that a connection makes up for after it was late.
const LATE_MAX: Duration = Duration::from_millis(5);

/// A server; it stops when it is dropped.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    _turn: Turn,
}

impl Server {
    /// A server that runs beside others.
    pub fn new() -> Self {
        Self::start(Turn::take(false))
    }

    /// A server of a test that runs alone.
    pub fn alone() -> Self {
        Self::start(Turn::take(true))
    }

    fn start(turn: Turn) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            objects: Mutex::default(),
            uploads: Mutex::default(),
            requests: Mutex::default(),
            faults: Mutex::new(Arc::new(Box::new(|_| Fault::None))),
            latency: Mutex::default(),
            bytes_per_second: Mutex::default(),
            keeps_bodies: AtomicBool::new(true),
            line: Mutex::new(Instant::now()),
            now: AtomicUsize::new(0),
            at_once: AtomicUsize::new(0),
            stops: AtomicBool::new(false),
        });
        let for_thread = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if for_thread.stops.load(Ordering::Relaxed) {
                    return;
                }
                let shared = Arc::clone(&for_thread);
                // A connection that ends in the middle is what tests are about.
                thread::spawn(move || stream.and_then(|stream| serve(&shared, stream)));
            }
        });
        Self {
            address,
            shared,
            _turn: turn,
        }
    }

    /// Sets an object; the path starts with `/`.
    pub fn put(&self, path: &str, bytes: Vec<u8>, etag: Option<&str>) {
        let object = Object {
            bytes: Arc::new(bytes),
            etag: etag.map(str::to_owned),
            last_modified: Some("Tue, 01 Sep 2026 10:00:00 GMT".to_owned()),
        };
        lock(&self.shared.objects).insert(path.to_owned(), object);
    }

    /// Sets the time of an object, as the header has it.
    pub fn set_last_modified(&self, path: &str, time: Option<&str>) {
        let mut objects = lock(&self.shared.objects);
        objects.get_mut(path).unwrap().last_modified = time.map(str::to_owned);
    }

    /// Returns the bytes of an object.
    pub fn content(&self, path: &str) -> Option<Arc<Vec<u8>>> {
        let objects = lock(&self.shared.objects);
        objects.get(path).map(|object| Arc::clone(&object.bytes))
    }

    /// Returns how many uploads were begun, and neither completed nor given up.
    pub fn n_uploads(&self) -> usize {
        lock(&self.shared.uploads).len()
    }

    /// Answers as `faults` says.
    pub fn fail(&self, faults: impl Fn(&Request) -> Fault + Send + Sync + 'static) {
        *lock(&self.shared.faults) = Arc::new(Box::new(faults));
    }

    /// Time before each answer, and bytes per second of all answers together.
    pub fn slow(&self, latency: Duration, bytes_per_second: Option<u64>) {
        *lock(&self.shared.latency) = latency;
        *lock(&self.shared.bytes_per_second) = bytes_per_second;
    }

    /// Throws away what is written.
    pub fn keep_no_bodies(&self) {
        self.shared.keeps_bodies.store(false, Ordering::Relaxed);
    }

    /// Returns all requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.requests_from(0)
    }

    /// Returns all requests so far but the first `index`.
    pub fn requests_from(&self, index: usize) -> Vec<Request> {
        let requests = lock(&self.shared.requests);
        requests.iter().skip(index).cloned().collect()
    }

    /// Returns how many requests there were.
    pub fn n_requests(&self) -> usize {
        lock(&self.shared.requests).len()
    }

    /// Most requests that waited for their answers at the same time.
    pub fn at_once(&self) -> usize {
        self.shared.at_once.load(Ordering::Relaxed)
    }

    /// Returns the URL of an object; the path starts with `/`.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The store of this server.
    pub fn store(&self, policy: Policy) -> Arc<RemoteStore> {
        let url: StoreUrl = self.url("/any").parse().unwrap();
        let options = StoreOptions::new().policy(policy);
        Arc::new(RemoteStore::new(&url, &options).unwrap())
    }

    /// The bucket `bucket` of this server, by the dialect of S3.
    pub fn bucket(&self, policy: Policy) -> Arc<RemoteStore> {
        let url: StoreUrl = "s3://bucket/any".parse().unwrap();
        let options = StoreOptions::new()
            .without_environment()
            .endpoint(self.url(""))
            .with("aws_access_key_id", "KEYID")
            .with("aws_secret_access_key", "SECRETKEY")
            .policy(policy);
        Arc::new(RemoteStore::new(&url, &options).unwrap())
    }
}

impl Default for Server {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stops.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
    }
}

/// Short waits, so that tests of faults take no time.
pub fn quick() -> Policy {
    let mut policy = Policy::default();
    policy.backoff_first = Duration::from_millis(1);
    policy.backoff_max = Duration::from_millis(5);
    policy.retries_max = 3;
    policy.answer_timeout = Duration::from_millis(1_500);
    policy.stall_timeout = Duration::from_millis(300);
    policy
}

/// Bytes that say where they are.
pub fn pattern(n_bytes: usize) -> Vec<u8> {
    let words = (0..n_bytes.div_ceil(8) as u64)
        .flat_map(|word| word.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    words.take(n_bytes).collect()
}

fn serve(shared: &Shared, stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_millis(50)))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    while let Some((request, body)) = read_request(shared, &mut reader)? {
        // Counted until the answer begins: afterwards the client may send the next request before this thread goes on.
        let now = shared.now.fetch_add(1, Ordering::Relaxed) + 1;
        shared.at_once.fetch_max(now, Ordering::Relaxed);
        let latency = *lock(&shared.latency);
        thread::sleep(latency);
        shared.now.fetch_sub(1, Ordering::Relaxed);
        let faults = Arc::clone(&lock(&shared.faults));
        if !answer(shared, &request, body, faults(&request), &mut writer)? {
            return Ok(());
        }
    }
    Ok(())
}

/// Reads more; `false` at the end.
fn patiently(shared: &Shared, mut read: impl FnMut() -> io::Result<usize>) -> io::Result<bool> {
    loop {
        match read() {
            Ok(n_bytes) => return Ok(n_bytes > 0),
            Err(error) if is_timeout(&error) && !shared.stops.load(Ordering::Relaxed) => {}
            Err(error) => return Err(error),
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

fn read_request(
    shared: &Shared,
    reader: &mut BufReader<TcpStream>,
) -> io::Result<Option<(Request, Vec<u8>)>> {
    let mut lines = Vec::new();
    loop {
        let mut line = Vec::new();
        if !patiently(shared, || reader.read_until(b'\n', &mut line))? {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        lines.push(line);
    }
    let mut first = lines.first().map_or("", String::as_str).split(' ');
    let mut next = || first.next().unwrap_or_default().to_owned();
    let (method, target) = (next(), next());
    let headers: HashMap<String, String> = lines
        .iter()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers.get("content-length");
    let n_body_bytes: usize = length.and_then(|n| n.parse().ok()).unwrap_or(0);
    let keeps = shared.keeps_bodies.load(Ordering::Relaxed);
    let mut body = Vec::new();
    let mut left = n_body_bytes;
    let mut piece = vec![0; PIECE_BYTES.min(left)];
    while left > 0 {
        let mut n_read = 0;
        let space = piece.len().min(left);
        if !patiently(shared, || {
            n_read = reader.read(&mut piece[..space])?;
            Ok(n_read)
        })? {
            return Ok(None);
        }
        if keeps {
            body.extend_from_slice(&piece[..n_read]);
        }
        left -= n_read;
    }
    let mut requests = lock(&shared.requests);
    let request = Request {
        method,
        target,
        headers,
        index: requests.len(),
    };
    requests.push(request.clone());
    Ok(Some((request, body)))
}

/// Answers a request. `false` if the connection ends with it.
fn answer(
    shared: &Shared,
    request: &Request,
    body: Vec<u8>,
    fault: Fault,
    writer: &mut TcpStream,
) -> io::Result<bool> {
    match fault {
        Fault::Reset => return Ok(false),
        Fault::StallBefore => {
            stall(shared);
            return Ok(false);
        }
        Fault::Status(status) => {
            let body = format!("<Error><Code>Code{status}</Code><Secret>SECRET</Secret></Error>");
            return head(writer, status, &[], body.len())
                .and_then(|()| writer.write_all(body.as_bytes()))
                .map(|()| true);
        }
        Fault::CreateConflict => {
            let body = "<Error><Code>ConditionalRequestConflict</Code></Error>";
            return head(writer, 409, &[], body.len())
                .and_then(|()| writer.write_all(body.as_bytes()))
                .map(|()| true);
        }
        _ => {}
    }
    if request.query("list-type").is_some() {
        let text = dialect::page(shared, request, fault == Fault::Disorder);
        head(writer, 200, &[], text.len())?;
        writer.write_all(text.as_bytes())?;
        return Ok(true);
    }
    if matches!(request.method.as_str(), "GET" | "HEAD") {
        return get(shared, request, fault, writer);
    }
    let (status, headers, text) = dialect::change(shared, request, body, fault);
    if fault == Fault::LostAnswer {
        return Ok(false);
    }
    let headers: Vec<(&str, &str)> = headers.iter().map(|(k, v)| (*k, v.as_str())).collect();
    head(writer, status, &headers, text.len())?;
    writer.write_all(text.as_bytes())?;
    Ok(true)
}

fn stall(shared: &Shared) {
    let began = Instant::now();
    while began.elapsed() < STALL_MAX && !shared.stops.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(10));
    }
}

fn head(
    writer: &mut TcpStream,
    status: u16,
    headers: &[(&str, &str)],
    n_bytes: usize,
) -> io::Result<()> {
    let mut text = format!("HTTP/1.1 {status} Status\r\ncontent-length: {n_bytes}\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    writer.write_all((text + "\r\n").as_bytes())
}

fn get(
    shared: &Shared,
    request: &Request,
    fault: Fault,
    writer: &mut TcpStream,
) -> io::Result<bool> {
    let object = lock(&shared.objects).get(&request.path()).cloned();
    let Some(object) = object else {
        head(writer, 404, &[], 0)?;
        return Ok(true);
    };
    let size = object.bytes.len() as u64;
    let condition = request.header("if-match");
    if condition.is_some() && condition != object.etag.as_deref() && fault != Fault::NoCondition {
        head(writer, 412, &[], 0)?;
        return Ok(true);
    }
    let mut headers = vec![("accept-ranges", "bytes")];
    headers.extend(object.etag.as_deref().map(|etag| ("etag", etag)));
    headers.extend(
        object
            .last_modified
            .as_deref()
            .map(|time| ("last-modified", time)),
    );
    let range = match fault {
        Fault::NoRanges => None,
        _ => request.header("range").map(|range| range_of(range, size)),
    };
    let Some(range) = range else {
        head(writer, 200, &headers, size as usize)?;
        if request.method != "HEAD" {
            send(shared, writer, &object.bytes)?;
        }
        return Ok(true);
    };
    let Some(mut range) = range else {
        head(writer, 416, &[], 0)?;
        return Ok(true);
    };
    if fault == Fault::HalfRange {
        range.end = range.start + (range.end - range.start) / 2;
    }
    let content_range = format!("bytes {}-{}/{size}", range.start, range.end - 1);
    headers.push(("content-range", &content_range));
    let body = &object.bytes[range.start as usize..range.end as usize];
    let half = body.len() / 2;
    match fault {
        Fault::ShortBody => {
            head(writer, 206, &headers, body.len())?;
            send(shared, writer, &body[..half])?;
            Ok(false)
        }
        Fault::LongBody => {
            head(writer, 206, &headers, body.len() + 1)?;
            send(shared, writer, body)?;
            send(shared, writer, b"!")?;
            Ok(true)
        }
        Fault::StallInside => {
            head(writer, 206, &headers, body.len())?;
            send(shared, writer, &body[..half])?;
            stall(shared);
            Ok(false)
        }
        Fault::WrongByte => {
            let mut wrong = body.to_vec();
            wrong[half] ^= 0x10;
            head(writer, 206, &headers, body.len())?;
            send(shared, writer, &wrong)?;
            Ok(true)
        }
        Fault::Trickle => {
            head(writer, 206, &headers, body.len())?;
            for byte in body {
                writer.write_all(&[*byte])?;
                thread::sleep(Duration::from_millis(50));
            }
            Ok(true)
        }
        _ => {
            head(writer, 206, &headers, body.len())?;
            send(shared, writer, body)?;
            Ok(true)
        }
    }
}

/// Writes bytes no faster than the line is.
fn send(shared: &Shared, writer: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    let rate = *lock(&shared.bytes_per_second);
    let mut sent = None;
    for piece in bytes.chunks(PIECE_BYTES) {
        if let Some(rate) = rate {
            let time = Duration::from_secs_f64(piece.len() as f64 / rate as f64);
            let free = reserve(&mut lock(&shared.line), time, sent, Instant::now());
            thread::sleep(free.saturating_duration_since(Instant::now()));
            sent = Some(free);
        }
        writer.write_all(piece)?;
    }
    Ok(())
}

/// Takes the line for `time`. Returns until when. A piece could go when the one before it was `sent`: threads wake up
/// late, and a connection alone would else get a fifth less than the line has. A client that did not read for a while
/// gets nothing of that time back.
fn reserve(line: &mut Instant, time: Duration, sent: Option<Instant>, now: Instant) -> Instant {
    let ready = match (sent, now.checked_sub(LATE_MAX)) {
        (Some(sent), Some(earliest)) => sent.max(earliest),
        _ => now,
    };
    *line = (*line).max(ready) + time;
    *line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_taken_in_turns_and_lateness_is_made_up_for() {
        let ms = Duration::from_millis;
        let start = Instant::now() + ms(1_000);
        let mut line = start - ms(500);
        // An idle line begins now.
        let first = reserve(&mut line, ms(2), None, start);
        assert_eq!(first, start + ms(2));
        // The thread woke up 1 ms late.
        let second = reserve(&mut line, ms(2), Some(first), start + ms(3));
        assert_eq!(second, start + ms(4));
        // Another connection waits for both.
        let other = reserve(&mut line, ms(2), None, start + ms(3));
        assert_eq!(other, start + ms(6));
        // The client read nothing for a while.
        let third = reserve(&mut line, ms(2), Some(second), start + ms(100));
        assert_eq!(third, start + ms(97));
    }
}
