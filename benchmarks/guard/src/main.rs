//! Fixed operations whose instructions `cargo xtask guard` counts with callgrind: `tarsia-guard list`, `tarsia-guard
//! run NAME`.
//!
//! Only [`measured`] is counted. It runs an operation a second time: the first fills what is filled once per process
//! (the registry, what the CPU has, scratch memory, pools).

mod data;
mod operations;

use std::process::ExitCode;

use operations::{Body, OPERATIONS};

/// Errors are for people.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match args.as_slice() {
        ["list"] => {
            list();
            Ok(())
        }
        ["run", name] => run(name),
        _ => Err("usage: tarsia-guard list | run NAME".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// One name per line.
fn list() {
    for operation in &OPERATIONS {
        println!("{}", operation.name);
    }
}

/// Prints the CPU's features, since code differs with them.
fn run(name: &str) -> Result<()> {
    let operation = OPERATIONS
        .iter()
        .find(|operation| operation.name == name)
        .ok_or("no such operation")?;
    let mut body = (operation.prepare)()?;
    let first = body()?;
    let second = measured(&mut body)?;
    if first != second || first == 0 {
        return Err(format!("made {first} the first time, {second} the second").into());
    }
    if n_threads()? != 1 {
        return Err("a thread was started; what it does is not counted".into());
    }
    println!("features: {}", features().join(" "));
    Ok(())
}

/// The name that callgrind knows. The result passes through, so that this is no jump to the body, which would not
/// return here.
#[inline(never)]
fn measured(body: &mut Body) -> Result<u64> {
    std::hint::black_box(body())
}

fn n_threads() -> Result<usize> {
    Ok(std::fs::read_dir("/proc/self/task")?.count())
}

/// Features that Tarsia and its dependencies choose code by.
#[cfg(target_arch = "x86_64")]
fn features() -> Vec<&'static str> {
    macro_rules! found {
        ($($name:tt)*) => {
            [$(($name, std::arch::is_x86_feature_detected!($name))),*]
        };
    }
    let found = found!(
        "sse4.1" "sse4.2" "pclmulqdq" "popcnt" "lzcnt" "bmi1" "bmi2" "avx" "avx2" "vpclmulqdq"
        "avx512f" "avx512bw" "avx512vl" "avx512dq" "avx512cd"
    );
    let found = found.into_iter().filter(|(_, found)| *found);
    found.map(|(name, _)| name).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn features() -> Vec<&'static str> {
    Vec::new()
}
