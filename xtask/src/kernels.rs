//! The Wasm modules that writers embed: built reproducibly, committed with their digests.
//!
//! Whoever builds the same commit gets the same bytes, wherever the checkout and cargo's home lie: paths are remapped,
//! and the toolchain and all versions are pinned.

use std::fs;
use std::path::{Path, PathBuf};

use tarsia_encodings::KernelSet;

use crate::outcome::Outcome;
use crate::process::{self, cargo, show};
use crate::toolchain::need_target;

const TARGET: &str = "wasm32v1-none";
const REPAIR: &str = "run `cargo xtask build-wasm` and commit what it writes";

const ZSTD_LEVEL: i32 = 19;

/// Wasm 2.0 as far as every engine has it; see `docs/spec/kernel.md`, Module profile.
const FLAGS: [&str; 8] = [
    "-Ctarget-feature=+simd128,+bulk-memory,+sign-ext,+nontrapping-fptoint",
    // Constant offsets stay part of loads and stores: a rewritten loop adds them by an instruction each.
    "-Cllvm-args=-disable-lsr",
    // Kernels are to be small: less is inlined than a native build would. With 35 there are 2.8 KiB less, and scans
    // take 2 % longer.
    "-Cllvm-args=-inline-threshold=50",
    // A stack that overflows traps at address 0 instead of running into data.
    "-Clink-arg=-zstack-size=65536",
    "-Clink-arg=--stack-first",
    // A call or an address takes as many bytes as it needs, not always five.
    "-Clink-arg=--compress-relocations",
    "-Clink-arg=--strip-all",
    "-Cstrip=symbols",
];

struct Built {
    kernel: &'static KernelSet,
    wasm: Vec<u8>,
    compressed: Vec<u8>,
}

/// Builds the kernels and writes them.
pub(crate) fn write(root: &Path) -> Outcome {
    let built = build_all(root)?;
    let folder = folder(root);
    let put = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))
    };
    for built in &built {
        put(&file(built.kernel), &built.compressed)?;
        println!("{}", summary(built));
    }
    let described: Vec<_> = built.iter().map(Built::described).collect();
    put("src/generated.rs", code(&described).as_bytes())
}

/// Builds the kernels and compares.
pub(crate) fn check(root: &Path) -> Outcome {
    let built = build_all(root)?;
    let folder = folder(root);
    let read = |name: &str| {
        let path = folder.join(name);
        fs::read(&path).map_err(|error| format!("{}: {error}\nrepair: {REPAIR}", path.display()))
    };
    let mut committed = Vec::new();
    for built in &built {
        let file = file(built.kernel);
        let compressed = read(&file)?;
        let raw = zstd::bulk::decompress(&compressed, 16 << 20)
            .map_err(|error| format!("crates/kernels/{file}: {error}\nrepair: {REPAIR}"))?;
        if raw != built.wasm {
            return Err(format!(
                "crates/kernels/{file} holds {} bytes with digest {}, but {} with digest {} would be built\nrepair: {REPAIR}",
                raw.len(),
                blake3::hash(&raw),
                built.wasm.len(),
                blake3::hash(&built.wasm),
            ));
        }
        println!("{}; as committed", summary(built));
        committed.push(compressed);
    }
    // The frames' bytes may differ between versions of zstd; the modules' may not.
    let described: Vec<_> = built
        .iter()
        .zip(&committed)
        .map(|(built, compressed)| (built.kernel, &built.wasm[..], compressed.len()))
        .collect();
    if read("src/generated.rs")? != code(&described).as_bytes() {
        return Err(format!(
            "crates/kernels/src/generated.rs does not describe the kernels\nrepair: {REPAIR}"
        ));
    }
    Ok(())
}

fn file(kernel: &KernelSet) -> String {
    format!("{}.wasm.zst", kernel.name)
}

impl Built {
    /// The kernel, its module, and the length of that compressed.
    fn described(&self) -> (&'static KernelSet, &[u8], usize) {
        (self.kernel, &self.wasm, self.compressed.len())
    }
}

fn folder(root: &Path) -> PathBuf {
    root.join("crates/kernels")
}

fn summary(built: &Built) -> String {
    format!(
        "kernel {}: {} bytes, {} under zstd, BLAKE3 {}",
        built.kernel.name,
        built.wasm.len(),
        built.compressed.len(),
        blake3::hash(&built.wasm)
    )
}

fn build_all(root: &Path) -> Result<Vec<Built>, String> {
    need_target(root, TARGET)?;
    tarsia_encodings::KERNELS
        .iter()
        .map(|kernel| build(root, kernel))
        .collect()
}

fn build(root: &Path, kernel: &'static KernelSet) -> Result<Built, String> {
    let mut build = cargo(root);
    build
        // The cdylib alone: the rlib beside it would keep symbols alive and hinder inlining.
        .args([
            "rustc",
            "--quiet",
            "--lib",
            "--crate-type",
            "cdylib",
            "--locked",
        ])
        .args(["--profile", "kernel", "--target", TARGET])
        .args(["--no-default-features", "-p", kernel.package]);
    let features = [&["kernel"], kernel.features].concat();
    build.args(["--features", &features.join(",")]);
    let mut flags: Vec<String> = FLAGS.iter().map(|flag| (*flag).to_owned()).collect();
    flags.extend(remapped(root));
    // Separated by 0x1f, so that paths may hold spaces.
    build.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    let target = target_folder(root);
    build.arg("--target-dir").arg(&target);
    println!("$ {}", show(&build));
    process::run(&mut build)?;
    let module = format!("{}.wasm", kernel.package.replace('-', "_"));
    let path = target.join(TARGET).join("kernel").join(module);
    let wasm = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    if wasm.len() as u64 >= kernel.raw_bytes_max {
        return Err(format!(
            "kernel {} has {} bytes; it has to stay below {}",
            kernel.name,
            wasm.len(),
            kernel.raw_bytes_max
        ));
    }
    let compressed = zstd::bulk::compress(&wasm, ZSTD_LEVEL).map_err(|error| error.to_string())?;
    Ok(Built {
        kernel,
        wasm,
        compressed,
    })
}

/// A folder of its own inside the usual one: other flags would throw away what is there.
fn target_folder(root: &Path) -> PathBuf {
    let usual = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    root.join(usual).join("kernels")
}

/// Flags that keep this machine's paths out of panic messages.
fn remapped(root: &Path) -> Vec<String> {
    let mut from = vec![(root.to_owned(), "/tarsia".to_owned())];
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    if let Some(home) = home {
        // A mirror of the registry has another folder name.
        let registries = fs::read_dir(home.join("registry/src"));
        for registry in registries.into_iter().flatten().flatten() {
            from.push((registry.path(), "/registry".to_owned()));
        }
    }
    from.iter()
        .map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display()))
        .collect()
}

/// The Rust code that describes the kernels: each one's module, and the bytes of that compressed.
fn code(built: &[(&KernelSet, &[u8], usize)]) -> String {
    let statics: Vec<String> = built
        .iter()
        .map(|(kernel, wasm, compressed_bytes)| code_of(kernel, wasm, *compressed_bytes))
        .collect();
    let names = built.iter().map(|(kernel, ..)| kernel.name.to_uppercase());
    let all: Vec<String> = names.map(|name| format!("&{name}")).collect();
    format!(
        "// Made by `cargo xtask build-wasm`; do not edit.\n\nuse std::borrow::Cow;\n\nuse crate::{{Kernel, KernelEncoding}};\n\n\
         /// All of them, smallest first.\npub static ALL: [&Kernel; {}] = [{}];\n{}",
        all.len(),
        all.join(", "),
        statics.concat()
    )
}

fn code_of(kernel: &KernelSet, wasm: &[u8], compressed_bytes: usize) -> String {
    let digest = blake3::hash(wasm);
    let digest: Vec<String> = digest
        .as_bytes()
        .chunks(16)
        .map(|line| {
            let bytes: Vec<String> = line.iter().map(|byte| format!("{byte:#04x}")).collect();
            format!("        {},\n", bytes.join(", "))
        })
        .collect();
    let mut encodings: Vec<String> = kernel
        .rows()
        .map(|row| {
            let version = row.encoding.version();
            format!(
                "        KernelEncoding::new(\"{}\", {}, {}),\n",
                row.encoding.id(),
                version.major,
                version.minor
            )
        })
        .collect();
    encodings.sort();
    format!(
        "\n/// {}\n\
         #[rustfmt::skip]\n\
         pub static {}: Kernel = Kernel {{\n    \
             name: Cow::Borrowed(\"{}\"),\n    \
             digest: [\n{}    ],\n    \
             raw_bytes: {},\n    \
             // {} bytes.\n    \
             compressed: Cow::Borrowed(include_bytes!(\"../{}\")),\n    \
             nested: {},\n    \
             encodings: Cow::Borrowed(&[\n{}    ]),\n\
         }};\n",
        kernel.about,
        kernel.name.to_uppercase(),
        kernel.name,
        digest.concat(),
        wasm.len(),
        compressed_bytes,
        file(kernel),
        kernel.nested,
        encodings.concat(),
    )
}
