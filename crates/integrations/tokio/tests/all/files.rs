//! Files whose steps are futures: the runtime's only thread goes on while they wait and decode.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use futures_util::{StreamExt, TryStreamExt};
use tarsia::io::{MemoryFile, ReadAt};
use tarsia::{ErrorKind, File, OpenOptions};
use tarsia_store::RemoteFile;
use tarsia_store_testing::{Fault, Server, quick};
use tarsia_tokio::AsyncFile;

use crate::{N_ROWS, id, written};

/// Longest time between two ticks of a timer of a millisecond while a scan runs. The machine may be busy.
const GAP_MAX: Duration = Duration::from_millis(500);

/// Runs while a timer of the same thread ticks. Returns what the work returned, the ticks, and the longest gap.
async fn ticking<T>(work: impl Future<Output = T>) -> (T, u64, Duration) {
    let over = AtomicBool::new(false);
    let ticks = async {
        let mut timer = tokio::time::interval(Duration::from_millis(1));
        let (mut n_ticks, mut longest, mut last) = (0, Duration::ZERO, Instant::now());
        while !over.load(Ordering::Relaxed) {
            timer.tick().await;
            n_ticks += 1;
            longest = longest.max(last.elapsed());
            last = Instant::now();
        }
        (n_ticks, longest)
    };
    let work = async {
        let done = work.await;
        over.store(true, Ordering::Relaxed);
        done
    };
    let (done, (n_ticks, longest)) = tokio::join!(work, ticks);
    (done, n_ticks, longest)
}

async fn scan(file: &AsyncFile) -> u64 {
    let mut next = 0;
    let mut batches = file.scan(|scan| scan.columns(&["id"]).batch_rows(10_000));
    while let Some(batch) = batches.next().await {
        for value in batch
            .unwrap()
            .column(0)
            .as_primitive::<UInt64Type>()
            .values()
        {
            assert_eq!(*value, id(next));
            next += 1;
        }
    }
    next
}

#[tokio::test(flavor = "current_thread")]
async fn a_local_file_is_opened_taken_from_and_scanned() {
    let (_folder, path) = written();
    let file = AsyncFile::open(&path, OpenOptions::default())
        .await
        .unwrap();
    assert_eq!(file.schema().await.unwrap().fields().len(), 1);
    assert_eq!(file.file().num_rows(), N_ROWS);
    let rows = file
        .take(vec![7, 100_000, 7], |take| take.columns(&["id"]))
        .await
        .unwrap();
    let values = rows.column(0).as_primitive::<UInt64Type>().values();
    assert_eq!(&values[..], [id(7), id(100_000), id(7)]);
    assert_eq!(scan(&file).await, N_ROWS);
    let error = file.take(vec![N_ROWS], |take| take).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfRange);
    let error = AsyncFile::open(path.join("none"), OpenOptions::default())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
}

/// Bytes that may be read on any thread but one, slowly.
struct Slow {
    bytes: MemoryFile,
    forbidden: ThreadId,
    n_reads: AtomicU64,
}

impl ReadAt for Slow {
    fn len(&self) -> u64 {
        self.bytes.len()
    }

    fn read_at(&self, place: u64, buf: &mut [u8]) -> std::io::Result<()> {
        assert_ne!(std::thread::current().id(), self.forbidden);
        self.n_reads.fetch_add(1, Ordering::Relaxed);
        // As a disk that is slow: whoever waits for it blocks.
        std::thread::sleep(Duration::from_millis(20));
        self.bytes.read_at(place, buf)
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_timer_goes_on_while_a_file_is_read_and_decoded() {
    let (_folder, path) = written();
    let slow = Arc::new(Slow {
        bytes: MemoryFile::new(std::fs::read(path).unwrap()),
        forbidden: std::thread::current().id(),
        n_reads: AtomicU64::new(0),
    });
    let reader: Arc<dyn ReadAt> = slow.clone();
    let work = async {
        let file = AsyncFile::open_with("slow", OpenOptions::default(), move || Ok(reader));
        let file = file.await.unwrap();
        file.take(vec![150_000], |take| take).await.unwrap();
        scan(&file).await
    };
    let (n_rows, n_ticks, longest) = ticking(work).await;
    assert_eq!(n_rows, N_ROWS);
    // Each read is a time in which a blocked timer would not tick.
    let n_reads = slow.n_reads.load(Ordering::Relaxed);
    assert!(
        n_reads >= 5 && n_ticks > 2 * n_reads,
        "{n_ticks} ticks in {n_reads} reads"
    );
    assert!(longest < GAP_MAX, "{longest:?} without a tick");
}

fn served() -> Server {
    let (_folder, path) = written();
    let server = Server::new();
    server.put("/ids", std::fs::read(path).unwrap(), Some("\"one\""));
    server
}

async fn remote(server: &Server) -> tarsia::Result<AsyncFile> {
    let store = server.store(quick());
    let open = move || Ok(Arc::new(RemoteFile::open(store, "ids")?) as Arc<dyn ReadAt>);
    AsyncFile::open_with("ids", OpenOptions::default(), open).await
}

#[tokio::test(flavor = "current_thread")]
async fn a_file_in_a_store_is_read_beside_a_timer() {
    let server = served();
    server.slow(Duration::from_millis(20), None);
    let work = async {
        let file = remote(&server).await.unwrap();
        assert_eq!(server.requests().len(), 1);
        scan(&file).await
    };
    let (n_rows, n_ticks, longest) = ticking(work).await;
    assert_eq!(n_rows, N_ROWS);
    assert!(
        n_ticks > 20 && longest < GAP_MAX,
        "{n_ticks} ticks, {longest:?} without one"
    );
}

#[tokio::test(flavor = "current_thread")]
async fn failures_of_a_store_are_errors() {
    let server = served();
    let file = remote(&server).await.unwrap();
    server.fail(|_| Fault::Status(403));
    let error = file.take(vec![5], |take| take).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    let batches: Result<Vec<_>, _> = file.scan(|scan| scan).try_collect().await;
    let error = tarsia::Error::from(batches.unwrap_err());
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert!(remote(&server).await.is_err());
}

/// A scan of a file whose source is slow ends when its stream is dropped, not when it is complete.
#[tokio::test(flavor = "current_thread")]
async fn a_scan_is_cancelled_when_its_stream_is_dropped() {
    let (_folder, path) = written();
    let slow = Arc::new(Slow {
        bytes: MemoryFile::new(std::fs::read(path).unwrap()),
        forbidden: std::thread::current().id(),
        n_reads: AtomicU64::new(0),
    });
    let reader: Arc<dyn ReadAt> = slow.clone();
    let open = move || Ok(reader);
    let file = AsyncFile::open_with("slow", OpenOptions::default(), open)
        .await
        .unwrap();
    let before = slow.n_reads.load(Ordering::Relaxed);
    for _ in 0..20 {
        // Dropped before it has begun, or while it reads.
        drop(file.scan(|scan| scan.batch_rows(100)));
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let after = slow.n_reads.load(Ordering::Relaxed);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(slow.n_reads.load(Ordering::Relaxed), after);
    assert!(
        after - before <= 20 * 6,
        "{} reads for nobody",
        after - before
    );
    let file: File = file.file().clone();
    assert_eq!(file.num_rows(), N_ROWS);
}
