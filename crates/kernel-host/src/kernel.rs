//! Modules: what is refused before compiling, how they are compiled, and where they are kept.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use wasmparser::{Parser, Payload};
use wasmtime::{Config, Engine, Module, OptLevel};

use crate::error::{Error, Result};
use crate::instance::Instance;

/// Most bytes of a module.
pub const MODULE_BYTES_MAX: usize = 1 << 20;

/// Most bytes of one function: what a compiler needs grows with it.
const FUNCTION_BYTES_MAX: usize = 128 << 10;

/// Idle instances with more memory than this are dropped.
const IDLE_MEMORY_BYTES_MAX: usize = 64 << 20;

/// A compiled kernel and its idle instances.
pub struct Kernel {
    digest: [u8; 32],
    module: Module,
    idle: Mutex<Vec<Instance>>,
    idle_max: usize,
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kernel")
            .field("digest", &self.digest)
            .finish_non_exhaustive()
    }
}

/// What names a kernel: BLAKE3 over the module's bytes.
pub fn digest(wasm: &[u8]) -> [u8; 32] {
    *blake3::hash(wasm).as_bytes()
}

/// A module that files store under zstd, whose length they say.
///
/// # Errors
/// [`Error::Profile`] where it is longer than [`MODULE_BYTES_MAX`] or does not decompress to exactly `raw_bytes`.
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
    /// Compiles a module, about a millisecond per KiB, or takes what this process compiled from the same bytes before.
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
        let module =
            Module::new(engine()?, wasm).map_err(|error| Error::Profile(format!("{error:#}")))?;
        let threads = std::thread::available_parallelism();
        let kernel = Self {
            digest,
            module,
            idle: Mutex::default(),
            idle_max: threads.map_or(1, usize::from),
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

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Instance>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn take(&self) -> Result<Instance> {
        let idle = self.idle().pop();
        idle.map_or_else(|| Instance::new(&self.module), Ok)
    }

    /// Keeps an instance for the next page, unless it failed or has grown large.
    pub(crate) fn give(&self, instance: Instance) {
        if instance.failed() || instance.memory_bytes() > IDLE_MEMORY_BYTES_MAX {
            return;
        }
        let mut idle = self.idle();
        if idle.len() < self.idle_max {
            idle.push(instance);
        }
    }
}

/// The engine of the process. The settings were measured (design notes, Wasm decoders, B2): without a full reservation of the
/// address space every access pays a check, and kernels are half as fast.
fn engine() -> Result<&'static Engine> {
    static ENGINE: LazyLock<std::result::Result<Engine, String>> = LazyLock::new(|| {
        let mut config = Config::new();
        config
            .cranelift_opt_level(OptLevel::Speed)
            .memory_reservation(4 << 30)
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

/// Refuses what a kernel must not have, before a compiler sees it.
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
