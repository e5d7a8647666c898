//! Where files are written: never over what is no file, never over the input, never half.

use std::io::Read;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::process::{Command, Stdio};

use crate::run::Folder;

const TABLE: &str = "n,s\n1,one\n2,\n3,three\n";

fn folder() -> Folder {
    let folder = Folder::default();
    folder.write("t.csv", TABLE);
    folder.run(&["import", "t.csv", "t.tarsia"]).ok();
    folder
}

fn bytes(folder: &Folder, name: &str) -> Vec<u8> {
    std::fs::read(folder.path(name)).unwrap()
}

#[test]
fn the_input_is_not_overwritten_under_any_name() {
    let folder = folder();
    symlink("t.csv", folder.path("link")).unwrap();
    std::fs::hard_link(folder.path("t.csv"), folder.path("hard")).unwrap();
    for name in ["link", "hard", "./link"] {
        let line = folder.run(&["import", "t.csv", name]).fails(2);
        assert!(line.contains("is the file that is read"), "{line}");
    }
    symlink("t.tarsia", folder.path("t.parquet")).unwrap();
    let line = folder.run(&["export", "t.tarsia", "t.parquet"]).fails(2);
    assert!(
        line.contains("t.parquet: is the file that is read"),
        "{line}"
    );
    assert_eq!(folder.read("t.csv"), TABLE);
    folder.run(&["verify", "t.tarsia"]).ok();
}

/// Both commands write through a link, which stays.
#[test]
fn links_stay_and_what_they_lead_to_is_replaced() {
    let folder = folder();
    std::fs::create_dir(folder.path("d")).unwrap();
    for (name, args) in [
        ("a.tarsia", ["import", "t.csv", "a.tarsia"]),
        ("a.csv", ["export", "t.tarsia", "a.csv"]),
    ] {
        let real = folder.path("d").join(name);
        std::fs::write(&real, "old").unwrap();
        symlink(&real, folder.path(name)).unwrap();
        folder.run(&args).ok();
        assert!(folder.path(name).is_symlink());
        assert_ne!(std::fs::read(&real).unwrap(), b"old");
    }
    assert_eq!(folder.read("a.csv"), TABLE);
    folder.run(&["verify", "a.tarsia"]).ok();
}

#[test]
fn what_is_no_file_is_refused_and_stays() {
    let folder = folder();
    let socket = std::os::unix::net::UnixListener::bind(folder.path("s.csv")).unwrap();
    std::fs::create_dir(folder.path("d.csv")).unwrap();
    for name in ["s.csv", "d.csv"] {
        let line = folder.run(&["export", "t.tarsia", name]).fails(2);
        assert!(
            line.contains("is no regular file, pipe or character device"),
            "{line}"
        );
    }
    // Files are imported into a folder, but a socket is none.
    let line = folder.run(&["import", "t.csv", "./s.csv/"]).fails(2);
    assert!(line.contains("s.csv"), "{line}");
    let line = folder.run(&["import", "t.csv", "./s.csv"]).fails(2);
    assert!(line.contains("s.csv"), "{line}");
    assert!(
        std::fs::metadata(folder.path("s.csv"))
            .unwrap()
            .file_type()
            .is_socket()
    );
    drop(socket);
}

#[test]
fn pipes_and_devices_get_the_bytes_and_stay() {
    let folder = folder();
    let pipe = folder.path("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    for args in [
        &["import", "t.csv", "pipe"][..],
        &["export", "t.tarsia", "pipe", "--format", "csv"],
    ] {
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || std::fs::read(pipe).unwrap()
        });
        let rows = folder.run(args).ok();
        assert!(rows.starts_with("rows       3\n"), "{rows}");
        let got = reader.join().unwrap();
        assert!(std::fs::metadata(&pipe).unwrap().file_type().is_fifo());
        match args[0] {
            "export" => assert_eq!(got, TABLE.as_bytes()),
            _ => {
                folder.write("got.tarsia", got);
                folder.run(&["verify", "got.tarsia"]).ok();
            }
        }
    }
    folder
        .run(&["export", "t.tarsia", "/dev/null", "--format", "parquet"])
        .ok();
    folder.run(&["import", "t.csv", "/dev/null"]).ok();
    let null = std::fs::metadata("/dev/null").unwrap();
    assert!(null.file_type().is_char_device());
}

#[test]
fn the_standard_output_has_the_file_alone() {
    let folder = folder();
    let output = folder
        .command(&["export", "t.tarsia", "-", "--format", "csv"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), TABLE);
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .starts_with("rows       3\n")
    );
    for format in ["parquet", "arrow", "jsonl"] {
        let output = folder
            .command(&["export", "t.tarsia", "-", "--format", format])
            .output();
        let name = format!("copy.{format}");
        folder.write(&name, output.unwrap().stdout);
        folder.run(&["import", &name, "copy.tarsia"]).ok();
    }
    let output = folder.command(&["import", "t.csv", "-"]).output().unwrap();
    folder.write("copy.tarsia", output.stdout);
    let rows = folder.run(&["scan", "copy.tarsia", "--json"]).ok();
    assert_eq!(rows, folder.run(&["scan", "t.tarsia", "--json"]).ok());
    let line = folder.run(&["export", "t.tarsia", "-"]).fails(2);
    assert!(line.contains("--format"), "{line}");
}

/// A reader that has seen enough is no failure, whatever is written.
#[test]
fn a_closed_standard_output_ends_quietly() {
    let folder = folder();
    let text: String = (0..200_000).map(|i| format!("{i},{i}\n")).collect();
    folder.write("long.csv", format!("a,b\n{text}"));
    folder.run(&["import", "long.csv", "long.tarsia"]).ok();
    for args in [
        &["export", "long.tarsia", "-", "--format", "csv"][..],
        &[
            "import", "long.csv", "-", "--encode", "a=plain", "--encode", "b=plain",
        ],
    ] {
        let mut child = folder.command(args);
        let mut child = child
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = [0; 4];
        let mut out = child.stdout.take().unwrap();
        out.read_exact(&mut first).unwrap();
        drop(out);
        let done = child.wait_with_output().unwrap();
        assert_eq!(
            (done.status.code(), done.stderr),
            (Some(0), vec![]),
            "{args:?}"
        );
    }
}

/// The command is stopped while it reads or writes; whenever that is, no file is left but those that are complete.
#[test]
fn signals_leave_no_temporary_file() {
    use std::os::unix::process::ExitStatusExt;
    let folder = folder();
    let text: String = (0..300_000).map(|i| format!("{i},{}\n", i % 7)).collect();
    folder.write("long.csv", format!("a,b\n{text}"));
    folder.run(&["import", "long.csv", "long.tarsia"]).ok();
    let before = folder.names();
    let signals = ["HUP", "INT", "QUIT", "TERM", "USR1", "ALRM"];
    let numbers = [1, 2, 3, 15, 10, 14];
    let mut stopped = 0;
    for (i, (signal, number)) in signals.iter().zip(numbers).cycle().take(24).enumerate() {
        let args = match i % 2 {
            0 => ["import", "long.csv", "out.tarsia"],
            _ => ["export", "long.tarsia", "out.csv"],
        };
        let mut command = folder.command(&args);
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Until there is something that could be left behind.
        while folder.names() == before && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        let pid = child.id().to_string();
        let _ = Command::new("kill")
            .args([&format!("-{signal}"), &pid])
            .stderr(Stdio::null())
            .status();
        let status = child.wait().unwrap();
        stopped += u32::from(status.signal() == Some(number));
        let names = folder.names();
        let left: Vec<_> = names.iter().filter(|name| !before.contains(name)).collect();
        assert!(
            left.is_empty() || left == ["out.tarsia"] || left == ["out.csv"],
            "{signal}: {status}: {left:?}"
        );
        for name in ["out.tarsia", "out.csv"] {
            let _ = std::fs::remove_file(folder.path(name));
        }
    }
    assert!(stopped > 0, "no command was stopped in time");
    assert_eq!(bytes(&folder, "t.csv"), TABLE.as_bytes());
}

/// As with `nohup`: whoever started the command wants it to go on.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_that_is_ignored_stays_so() {
    let folder = folder();
    let program = env!("CARGO_BIN_EXE_tarsia");
    let script = format!(
        "trap '' HUP; {program} import t.csv out.tarsia & trap - HUP; kill -HUP $!; wait $!"
    );
    let status = Command::new("sh")
        .args(["-c", &script])
        .current_dir(folder.path(""))
        .status();
    assert!(status.unwrap().success());
    folder.run(&["verify", "out.tarsia"]).ok();
}
