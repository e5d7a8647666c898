//! Many processes that write to one branch of a table in a folder, and are killed at any moment.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use tarsia_testkit::rng::Rng;

use crate::run::Folder;

const PROCESSES: u64 = 8;

/// Numbers that a process was told to be committed, and whether the one behind them may be.
struct Acknowledged {
    n: u64,
    is_next_open: bool,
}

/// Appends one row after the other. A command that is killed is run again with the same number, so its row is there
/// once, wherever it was killed.
fn write(folder: &Folder, process: u64, end: Instant) -> Acknowledged {
    let mut rng = Rng::new(process);
    let name = format!("p{process}");
    let file = format!("{name}.csv");
    let (mut n, mut is_next_open) = (0_u64, false);
    while Instant::now() < end {
        let row = process * 1_000_000 + n;
        std::fs::write(folder.path(&file), format!("id\n{row}\n")).unwrap();
        let number = format!("{name}={}", n + 1);
        let args = ["table", "append", "t", &file, "--idempotent", &number];
        let mut command = folder.command(&args);
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = quiet.spawn().unwrap();
        if rng.percent(40) {
            thread::sleep(Duration::from_millis(rng.below(120) as u64));
            child.kill().unwrap();
        }
        match child.wait().unwrap().success() {
            true => (n, is_next_open) = (n + 1, false),
            false => is_next_open = true,
        }
    }
    Acknowledged { n, is_next_open }
}

/// For 10 seconds, or as many as `TARSIA_PROCESS_SECONDS` says.
#[test]
fn every_acknowledged_commit_is_there_once() {
    let seconds = std::env::var("TARSIA_PROCESS_SECONDS").ok();
    let seconds = seconds.map_or(10, |seconds| seconds.parse().unwrap());
    let folder = Folder::default();
    folder.write("like.csv", "id\n1\n");
    folder
        .run(&["table", "create", "t", "--like", "like.csv"])
        .ok();
    let end = Instant::now() + Duration::from_secs(seconds);
    let done: Vec<Acknowledged> = thread::scope(|scope| {
        let folder = &folder;
        let writers: Vec<_> = (0..PROCESSES)
            .map(|process| scope.spawn(move || write(folder, process, end)))
            .collect();
        // Upkeep at the same time: everything is young, so nothing goes.
        while Instant::now() < end {
            let report = folder.run(&["table", "gc", "t", "--json"]).json();
            assert_eq!(report["removed_objects"], 0);
            folder.run(&["table", "fsck", "t"]).ok();
        }
        writers.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let rows = folder.run(&["table", "scan", "t", "--json"]).json();
    let mut found: BTreeMap<u64, u64> = BTreeMap::new();
    for row in rows.as_array().unwrap() {
        *found.entry(row["id"].as_u64().unwrap()).or_default() += 1;
    }
    let mut n_acknowledged = 0;
    for (process, acknowledged) in (0..).zip(&done) {
        let id = |n: u64| process * 1_000_000 + n;
        for n in 0..acknowledged.n {
            assert_eq!(
                found.remove(&id(n)),
                Some(1),
                "row {n} of process {process}"
            );
        }
        if let Some(n_times) = found.remove(&id(acknowledged.n)) {
            assert!(acknowledged.is_next_open && n_times == 1);
        }
        n_acknowledged += acknowledged.n;
    }
    assert!(found.is_empty(), "{found:?}");
    assert!(n_acknowledged > PROCESSES, "{n_acknowledged}");
    println!("{n_acknowledged} commits in {seconds} s");
    let report = folder
        .run(&["table", "fsck", "t", "--digests", "--json"])
        .json();
    assert_eq!(report["ok"], true, "{report}");
}
