//! Modules: checks before compiling, compiling, and the cache of compiled modules and idle instances.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use wasmparser::{Parser, Payload};
use wasmtime::{Config, Engine, Module, OptLevel};

use crate::error::{Error, Result, refused};
use crate::instance::{EXPORTS, Instance};
use crate::limits::MEMORY_ADDRESSES;

/// Most bytes of a module.
pub const MODULE_BYTES_MAX: usize = 1 << 20;

/// Most bytes of one function: the memory that a compiler needs grows with it.
const FUNCTION_BYTES_MAX: usize = 128 << 10;

/// Idle instances with more memory than this are dropped.
const IDLE_MEMORY_BYTES_MAX: usize = 64 << 20;

/// All idle instances of a kernel have at most this much memory together.
const IDLE_MEMORY_BYTES_TOTAL_MAX: usize = 256 << 20;

/// Most instances whose memory is borrowed by columns: each takes [`MEMORY_ADDRESSES`]. Further columns are copied out.
const BORROWED_INSTANCES_MAX: usize = 128;

/// A compiled kernel and its idle instances.
pub struct Kernel {
    digest: [u8; 32],
    module: Module,
    idle: Mutex<Idle>,
    /// Instances whose memory is borrowed by columns.
    n_borrowed: AtomicUsize,
}

/// Idle instances, the one used last at the end.
#[derive(Default)]
struct Idle {
    instances: Vec<Instance>,
    /// Bytes of memory of all of them.
    memory_bytes: usize,
}

impl Idle {
    fn take(&mut self, page: Option<u64>, memory_bytes_max: usize) -> Option<Instance> {
        let fits = |one: &Instance| one.memory_bytes() <= memory_bytes_max;
        let all = &self.instances;
        let ready = page.and_then(|page| {
            let last = all.iter().rposition(|one| one.used_last(page) && fits(one));
            last.or_else(|| {
                all.iter()
                    .rposition(|one| one.has_prepared(page) && fits(one))
            })
        });
        let at = ready.or_else(|| all.iter().rposition(fits))?;
        let found = self.instances.remove(at);
        self.memory_bytes -= found.memory_bytes();
        Some(found)
    }

    /// Removes and returns the instances that were idle for longest, if all together have too much memory.
    fn give(&mut self, instance: Instance) -> Vec<Instance> {
        self.memory_bytes += instance.memory_bytes();
        self.instances.push(instance);
        let mut n_dropped = 0;
        for oldest in &self.instances {
            if self.memory_bytes <= IDLE_MEMORY_BYTES_TOTAL_MAX {
                break;
            }
            self.memory_bytes -= oldest.memory_bytes();
            n_dropped += 1;
        }
        self.instances.drain(..n_dropped).collect()
    }
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kernel")
            .field("digest", &self.digest)
            .finish_non_exhaustive()
    }
}

/// The name of a kernel: BLAKE3 over the module's bytes.
pub fn digest(wasm: &[u8]) -> [u8; 32] {
    *blake3::hash(wasm).as_bytes()
}

/// Decompresses a module as files store it: under zstd, with its raw length beside it.
///
/// # Errors
/// [`Error::Profile`] if it is longer than [`MODULE_BYTES_MAX`] or does not decompress to exactly `raw_bytes`.
pub fn decompress(stored: &[u8], raw_bytes: u64) -> Result<Vec<u8>> {
    if raw_bytes > MODULE_BYTES_MAX as u64 {
        return Err(too_long(raw_bytes));
    }
    let refused = |why: String| Error::Profile(format!("its compressed form: {why}"));
    let wasm = zstd::bulk::decompress(stored, raw_bytes as usize)
        .map_err(|error| refused(error.to_string()))?;
    match wasm.len() as u64 == raw_bytes {
        true => Ok(wasm),
        false => Err(refused(format!(
            "{} bytes instead of {raw_bytes}",
            wasm.len()
        ))),
    }
}

fn too_long(bytes: u64) -> Error {
    Error::Profile(format!("{bytes} bytes, more than {MODULE_BYTES_MAX}"))
}

impl Kernel {
    /// Compiles a module (about a millisecond per KiB), or returns the one that this process compiled from the same
    /// bytes before.
    ///
    /// # Errors
    /// [`Error::Profile`].
    pub fn load(wasm: &[u8]) -> Result<Arc<Self>> {
        type Cache = Mutex<HashMap<[u8; 32], Arc<Kernel>>>;
        static CACHE: LazyLock<Cache> = LazyLock::new(Cache::default);
        let digest = digest(wasm);
        let cached = || CACHE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = cached().get(&digest) {
            return Ok(kernel.clone());
        }
        // Compiled outside the lock: another file's kernel does not wait for this one.
        let kernel = Arc::new(Self::compile(wasm, digest)?);
        Ok(cached().entry(digest).or_insert(kernel).clone())
    }

    fn compile(wasm: &[u8], digest: [u8; 32]) -> Result<Self> {
        check_profile(wasm)?;
        let module = Module::new(engine()?, wasm).map_err(refused)?;
        let kernel = Self {
            digest,
            module,
            idle: Mutex::default(),
            n_borrowed: AtomicUsize::new(0),
        };
        // What it exports is found out now, not at the first page.
        let instance = Instance::new(&kernel.module)?;
        kernel.give(instance);
        Ok(kernel)
    }

    /// BLAKE3 over the module's bytes.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An instance with at most `memory_bytes_max` bytes of memory, if possible one that has prepared `page`.
    pub(crate) fn take(&self, page: Option<u64>, memory_bytes_max: usize) -> Result<Instance> {
        // The lock is not held while the kernel runs.
        let idle = self.idle().take(page, memory_bytes_max);
        if let Some(mut instance) = idle
            && instance.settle().is_ok()
        {
            return Ok(instance);
        }
        Instance::new(&self.module)
    }

    /// Keeps an instance for the next page, unless it failed or has grown large.
    pub(crate) fn give(&self, instance: Instance) {
        if !instance.failed() && instance.memory_bytes() <= IDLE_MEMORY_BYTES_MAX {
            let dropped = self.idle().give(instance);
            // Outside the lock.
            drop(dropped);
        }
    }

    /// Counts one more instance whose memory is borrowed; false, and not counted, if there are too many.
    pub(crate) fn begin_borrow(&self) -> bool {
        let counted = self
            .n_borrowed
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| {
                (n < BORROWED_INSTANCES_MAX).then_some(n + 1)
            });
        counted.is_ok()
    }

    /// Counts one such instance less.
    pub(crate) fn end_borrow(&self) {
        self.n_borrowed.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The Wasm engine of the process. Its settings were measured: if it does not reserve the whole 4 GiB of addresses
/// for each memory, every access needs a bounds check, and kernels are half as fast.
fn engine() -> Result<&'static Engine> {
    static ENGINE: LazyLock<std::result::Result<Engine, String>> = LazyLock::new(|| {
        let mut config = Config::new();
        config
            .cranelift_opt_level(OptLevel::Speed)
            .memory_reservation(MEMORY_ADDRESSES)
            .memory_guard_size(32 << 20)
            .memory_may_move(false)
            .memory_init_cow(true)
            .max_wasm_stack(512 << 10)
            .wasm_simd(true)
            .wasm_bulk_memory(true)
            .wasm_relaxed_simd(false)
            .wasm_multi_memory(false)
            .wasm_memory64(false)
            .wasm_tail_call(false)
            .wasm_extended_const(false)
            .wasm_wide_arithmetic(false)
            .wasm_custom_page_sizes(false);
        Engine::new(&config).map_err(|error| format!("{error:#}"))
    });
    ENGINE
        .as_ref()
        .map_err(|error| Error::Failed(error.clone()))
}

/// Checks a module without compiling or running it: that it is Wasm, has no parts that a kernel must not have, and
/// exports what a kernel does.
///
/// # Errors
/// [`Error::Profile`].
pub fn check(wasm: &[u8]) -> Result<()> {
    check_profile(wasm)?;
    Module::validate(engine()?, wasm).map_err(|error| Error::Profile(format!("{error:#}")))?;
    let mut missing: Vec<&str> = EXPORTS.to_vec();
    for payload in Parser::new(0).parse_all(wasm) {
        let refused = |error: wasmparser::BinaryReaderError| Error::Profile(error.to_string());
        if let Payload::ExportSection(exports) = payload.map_err(refused)? {
            for export in exports {
                let export = export.map_err(refused)?;
                missing.retain(|name| *name != export.name);
            }
        }
    }
    match missing.first() {
        None => Ok(()),
        Some(name) => Err(Error::Profile(format!("it does not export {name}"))),
    }
}

/// Refuses a module with parts that a kernel must not have, before it is compiled.
fn check_profile(wasm: &[u8]) -> Result<()> {
    let refused = |why: String| Err(Error::Profile(why));
    if wasm.len() > MODULE_BYTES_MAX {
        return Err(too_long(wasm.len() as u64));
    }
    for payload in Parser::new(0).parse_all(wasm) {
        match payload.map_err(|error| Error::Profile(error.to_string()))? {
            Payload::ImportSection(_) => return refused("it has imports".into()),
            Payload::StartSection { .. } => return refused("it has a start function".into()),
            Payload::CodeSectionEntry(body) if body.range().len() > FUNCTION_BYTES_MAX => {
                return refused(format!("a function of {} bytes", body.range().len()));
            }
            _ => {}
        }
    }
    Ok(())
}
