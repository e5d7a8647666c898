//! Memory that transfers need at most, of the whole process: these tests run alone.

#![expect(
    clippy::single_range_in_vec_init,
    reason = "a list of ranges may have one"
)]

use std::time::Duration;

use tarsia_io::{Access, ReadAt, Sink, read_ranges};
use tarsia_store::{Policy, RemoteFile, StoreSink};

use crate::allocator::most_in_use;
use tarsia_store_testing::{Server, pattern};

const MIB: usize = 1 << 20;

#[test]
fn a_file_is_written_with_six_parts_in_memory() {
    let server = Server::alone();
    server.keep_no_bodies();
    let policy = Policy::default();
    let store = server.bucket(policy);
    let piece = pattern(3 * MIB);
    let n_pieces = 50;
    let ((), most) = most_in_use(|| {
        let mut sink = StoreSink::new(store.clone(), "file", policy);
        for _ in 0..n_pieces {
            sink.append(&piece).unwrap();
        }
        sink.commit().unwrap();
    });
    assert_eq!(store.counts().written_bytes, (n_pieces * 3 * MIB) as u64);
    // The first part, the one that is filled, and four on their way; and buffers of connections, on both sides: the
    // server is in this process, and a slow build fills them.
    let limit = (policy.parts_in_flight_max + 2) * policy.part_bytes + 16 * MIB;
    assert!(most < limit, "{} MiB", most / MIB);
    println!("writing 150 MiB took {} MiB", most / MIB);
}

#[test]
fn a_file_is_read_with_what_was_asked_for_in_memory() {
    let server = Server::alone();
    let content = pattern(64 * MIB);
    server.put("/file", content.clone(), Some("\"one\""));
    let file = RemoteFile::open(server.store(Policy::default()), "file").unwrap();
    server.slow(Duration::from_millis(1), None);
    let options = file.read_options(Access::Scan);
    let mib = MIB as u64;
    // Windows of 16 MiB, each of four ranges that are requests of their own.
    let ((), most) = most_in_use(|| {
        for window in 0..4u64 {
            let ranges: Vec<_> = (0..4)
                .map(|i| (window * 16 + i * 4) * mib)
                .map(|start| start..start + 4 * mib - 1)
                .collect();
            let parts = read_ranges(&file, &ranges, options).unwrap();
            for (range, bytes) in ranges.iter().zip(&parts) {
                assert!(**bytes == content[range.start as usize..range.end as usize]);
            }
        }
    });
    assert!(most < 24 * MIB, "{} MiB", most / MIB);
    println!("reading windows of 16 MiB took {} MiB", most / MIB);
    // A range over the largest request is put together of its pieces.
    let (parts, most) = most_in_use(|| read_ranges(&file, &[0..48 * mib], options).unwrap());
    assert!(*parts[0] == content[..48 * MIB]);
    assert!(most < 2 * 48 * MIB + 8 * MIB, "{} MiB", most / MIB);
    println!("reading one range of 48 MiB took {} MiB", most / MIB);
}
