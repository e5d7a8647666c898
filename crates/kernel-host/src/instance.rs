//! One instance of a module: its memory, its exports and its prepared pages. One thread uses it at a time.

use std::collections::HashMap;
use std::ops::Range;

use tarsia_kernel_guest::abi::{self, code};
use wasmtime::{Memory, Module, Store, StoreLimits, StoreLimitsBuilder, TypedFunc};

use crate::error::{Error, Result, refused};

/// Most memory of an instance. Input and output of a call are at most 1 GiB together; the rest is for the kernel
/// itself.
const MEMORY_BYTES_MAX: usize = (1 << 30) + (256 << 20);

/// Most pages that an instance keeps prepared; the least recently used is dropped first.
const PREPARED_MAX: usize = 256;

/// Bytes of the block into which the exports write their records.
const RECORD_BYTES: u32 = 64;

/// Names of a kernel's exports.
pub(crate) const EXPORTS: [&str; 10] = [
    "memory",
    "t1_abi",
    "t1_alloc",
    "t1_free",
    "t1_check",
    "t1_init",
    "t1_decode",
    "t1_release",
    "t1_close",
    "t1_error",
];

pub(crate) struct Instance {
    store: Store<StoreLimits>,
    memory: Memory,
    alloc: TypedFunc<(u32, u32), u32>,
    free: TypedFunc<(u32, u32, u32), ()>,
    check: TypedFunc<(u32, u32, u32), i32>,
    init: TypedFunc<(u32, u32), i32>,
    decode: TypedFunc<(i32, u32), i32>,
    release: TypedFunc<i32, i32>,
    close: TypedFunc<i32, i32>,
    error: TypedFunc<u32, i32>,
    record: u32,
    request: Region,
    inputs: Region,
    prepared: HashMap<u64, Prepared>,
    /// The page of `prepared` that was used last.
    last_page: Option<u64>,
    clock: u64,
    /// Memory for requests.
    pub(crate) writer: abi::RequestWriter,
    /// A batch that is needed no more. It is released before the next use of the instance, so that dropping a column
    /// runs no kernel.
    owed: Option<i32>,
    failed: bool,
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Instance")
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}

/// A block of the kernel's memory that is used again and only grows.
#[derive(Default, Clone, Copy)]
struct Region {
    address: u32,
    capacity: u32,
}

struct Prepared {
    handle: i32,
    used: u64,
}

/// A batch's place in the kernel.
#[derive(Debug)]
pub(crate) struct BatchPlace {
    pub(crate) description: abi::BatchDescription,
    token: i32,
}

fn trapped(error: wasmtime::Error) -> Error {
    Error::Failed(format!("{error:#}"))
}

fn outside() -> Error {
    Error::Failed("it allocated outside its memory".into())
}

impl Instance {
    pub(crate) fn new(module: &Module) -> Result<Self> {
        let limits = StoreLimitsBuilder::new()
            .memory_size(MEMORY_BYTES_MAX)
            .table_elements(65_536)
            .instances(1)
            .memories(1)
            .tables(1)
            .build();
        let mut store = Store::new(module.engine(), limits);
        store.limiter(|limits| limits);
        let instance = wasmtime::Instance::new(&mut store, module, &[]).map_err(refused)?;
        let memory = instance
            .get_memory(&mut store, "memory")
            .ok_or_else(|| Error::Profile("it exports no memory".into()))?;
        macro_rules! export {
            ($name:literal) => {
                instance
                    .get_typed_func(&mut store, $name)
                    .map_err(|error| Error::Profile(format!("export {}: {error:#}", $name)))?
            };
        }
        let abi: TypedFunc<(), i32> = export!("t1_abi");
        let mut made = Self {
            memory,
            alloc: export!("t1_alloc"),
            free: export!("t1_free"),
            check: export!("t1_check"),
            init: export!("t1_init"),
            decode: export!("t1_decode"),
            release: export!("t1_release"),
            close: export!("t1_close"),
            error: export!("t1_error"),
            record: 0,
            request: Region::default(),
            inputs: Region::default(),
            prepared: HashMap::new(),
            last_page: None,
            clock: 0,
            writer: abi::RequestWriter::default(),
            owed: None,
            failed: false,
            store,
        };
        let minor = abi.call(&mut made.store, ()).map_err(trapped)?;
        if minor < 0 {
            return Err(Error::Profile(format!("interface version {minor}")));
        }
        made.record = made.allocate(RECORD_BYTES)?;
        Ok(made)
    }

    pub(crate) fn failed(&self) -> bool {
        self.failed
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory.data_size(&self.store)
    }

    /// Marks the instance as lost if the kernel trapped or broke a rule of the interface.
    fn guard<T>(&mut self, result: Result<T>) -> Result<T> {
        if let Err(Error::Failed(_)) = &result {
            self.failed = true;
        }
        result
    }

    fn allocate(&mut self, bytes: u32) -> Result<u32> {
        let address = self
            .alloc
            .call(&mut self.store, (bytes, abi::ALIGN))
            .map_err(trapped);
        match self.guard(address)? {
            0 => Err(Error::Limit(format!(
                "the kernel has no memory for {bytes} bytes"
            ))),
            address => Ok(address),
        }
    }

    /// Makes room for `bytes` bytes; the old content is lost.
    fn reserve(&mut self, region: Region, bytes: usize) -> Result<Region> {
        let too_much = || Error::Limit(format!("{bytes} bytes of input for one call"));
        let needed = u32::try_from(bytes).map_err(|_| too_much())?.max(4096);
        if needed <= region.capacity {
            return Ok(region);
        }
        if region.address != 0 {
            let freed = self
                .free
                .call(
                    &mut self.store,
                    (region.address, region.capacity, abi::ALIGN),
                )
                .map_err(trapped);
            self.guard(freed)?;
        }
        let capacity = needed.checked_next_power_of_two().ok_or_else(too_much)?;
        let address = self.allocate(capacity)?;
        Ok(Region { address, capacity })
    }

    /// Copies `parts` into the input region, each to a multiple of [`abi::ALIGN`], and calls `placed` with each
    /// address.
    pub(crate) fn write_inputs(
        &mut self,
        parts: &[&[u8]],
        mut placed: impl FnMut(&[u8], u32),
    ) -> Result<()> {
        let place = |len: usize| len.next_multiple_of(abi::ALIGN as usize);
        let total = parts.iter().map(|part| place(part.len())).sum();
        // Taken out while it changes, so that an error leaves no block that was freed.
        let old = std::mem::take(&mut self.inputs);
        self.inputs = self.reserve(old, total)?;
        let mut address = self.inputs.address;
        let memory = self.memory.data_mut(&mut self.store);
        for part in parts {
            let to = memory.get_mut(address as usize..);
            let Some(to) = to.and_then(|to| to.get_mut(..part.len())) else {
                self.failed = true;
                return Err(outside());
            };
            to.copy_from_slice(part);
            placed(part, address);
            // Inside the region, whose end is below 2^32.
            address += place(part.len()) as u32;
        }
        Ok(())
    }

    fn write(&mut self, address: u32, bytes: &[u8]) -> Result<()> {
        let written = self
            .memory
            .write(&mut self.store, address as usize, bytes)
            .map_err(|_| outside());
        self.guard(written)
    }

    /// The range of `len` bytes at `address`, checked to be inside the kernel's memory, which never shrinks.
    pub(crate) fn range(&self, address: u64, len: u64) -> Result<Range<usize>> {
        let end = address.checked_add(len);
        match end {
            Some(end) if end <= self.memory_bytes() as u64 => Ok(address as usize..end as usize),
            _ => Err(Error::Failed(
                "it returned a place outside its memory".into(),
            )),
        }
    }

    /// The bytes at a place of [`Instance::range`].
    pub(crate) fn bytes(&self, range: &Range<usize>) -> &[u8] {
        let memory = self.memory.data(&self.store);
        memory.get(range.clone()).unwrap_or_default()
    }

    /// `len` bytes of the kernel's memory.
    pub(crate) fn read(&self, address: u64, len: u64) -> Result<&[u8]> {
        Ok(self.bytes(&self.range(address, len)?))
    }

    fn words<const N: usize>(&self, address: u32) -> Result<[u32; N]> {
        let bytes = self.read(address.into(), N as u64 * 4)?;
        let mut words = [0; N];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        Ok(words)
    }

    /// The error behind a negative result.
    fn refusal(&mut self, result: i32) -> Error {
        let told = self
            .error
            .call(&mut self.store, self.record)
            .map_err(trapped)
            .and_then(|_| self.words(self.record))
            .and_then(|[address, len]: [u32; 2]| {
                let len = u64::from(len).min(abi::ERROR_BYTES_MAX as u64);
                Ok(String::from_utf8_lossy(self.read(address.into(), len)?).into_owned())
            });
        let text = match self.guard(told) {
            Ok(text) => text,
            Err(error) => return error,
        };
        match result {
            code::UNSUPPORTED | code::VERSION => Error::Unsupported(text),
            code::LIMIT | code::NO_MEMORY => Error::Limit(text),
            code::MALFORMED => Error::Malformed(text),
            other => {
                self.failed = true;
                Error::Failed(format!("code {other}: {text}"))
            }
        }
    }

    /// `t1_check` of a page description.
    pub(crate) fn check(&mut self, meta: &[u8]) -> Result<abi::Capabilities> {
        let mut address = 0;
        self.write_inputs(&[meta], |_, at| address = at)?;
        // The region's length fits 32 bits, so that of the description does.
        let arguments = (address, meta.len() as u32, self.record);
        let result = self.check.call(&mut self.store, arguments).map_err(trapped);
        match self.guard(result)? {
            0.. => {
                let record = self.read(self.record.into(), abi::CHECK_BYTES as u64)?;
                let record = record.first_chunk();
                record
                    .map(abi::Capabilities::parse)
                    .ok_or_else(|| Error::Failed("a short record".into()))
            }
            refused => Err(self.refusal(refused)),
        }
    }

    /// `t1_init`.
    pub(crate) fn init(&mut self, writer: abi::RequestWriter) -> Result<i32> {
        let request = writer.bytes();
        let request_bytes = request.len() as u32;
        let old = std::mem::take(&mut self.request);
        self.request = self.reserve(old, request.len())?;
        self.write(self.request.address, request)?;
        self.writer = writer;
        let result = self
            .init
            .call(
                &mut self.store,
                // The region's length fits 32 bits, so that of the request does.
                (self.request.address, request_bytes),
            )
            .map_err(trapped);
        match self.guard(result)? {
            0 => {
                self.failed = true;
                Err(Error::Failed("handle 0".into()))
            }
            handle @ 1.. => Ok(handle),
            refused => Err(self.refusal(refused)),
        }
    }

    /// `t1_decode`: the next batch's description, checked on its own.
    pub(crate) fn decode(&mut self, handle: i32) -> Result<Option<BatchPlace>> {
        let result = self
            .decode
            .call(&mut self.store, (handle, self.record))
            .map_err(trapped);
        match self.guard(result)? {
            0 => return Ok(None),
            1 => {}
            refused @ ..0 => return Err(self.refusal(refused)),
            other => {
                self.failed = true;
                return Err(Error::Failed(format!("result {other} of t1_decode")));
            }
        }
        let described = self
            .words(self.record)
            .and_then(|[address, len, token]: [u32; 3]| {
                let bytes = self.read(address.into(), len.into())?;
                let description = abi::BatchDescription::parse(bytes)
                    .map_err(|error| Error::Failed(format!("a batch's description: {error}")))?;
                Ok(BatchPlace {
                    description,
                    token: token as i32,
                })
            });
        self.guard(described).map(Some)
    }

    pub(crate) fn release(&mut self, batch: &BatchPlace) -> Result<()> {
        self.release_token(batch.token)
    }

    /// Notes a batch for [`Instance::settle`] to release.
    pub(crate) fn release_later(&mut self, batch: &BatchPlace) {
        self.owed = Some(batch.token);
    }

    /// Releases the batch that was noted.
    pub(crate) fn settle(&mut self) -> Result<()> {
        match self.owed.take() {
            Some(token) => self.release_token(token),
            None => Ok(()),
        }
    }

    fn release_token(&mut self, token: i32) -> Result<()> {
        let result = self.release.call(&mut self.store, token).map_err(trapped);
        match self.guard(result)? {
            0.. => Ok(()),
            refused => Err(self.refusal(refused)),
        }
    }

    pub(crate) fn close(&mut self, handle: i32) -> Result<()> {
        let result = self.close.call(&mut self.store, handle).map_err(trapped);
        match self.guard(result)? {
            0.. => Ok(()),
            refused => Err(self.refusal(refused)),
        }
    }

    /// True if this instance used a page last.
    pub(crate) fn used_last(&self, page: u64) -> bool {
        self.last_page == Some(page)
    }

    /// True if this instance has prepared a page.
    pub(crate) fn has_prepared(&self, page: u64) -> bool {
        self.prepared.contains_key(&page)
    }

    /// The handle that this instance prepared for a page.
    pub(crate) fn prepared(&mut self, page: u64) -> Option<i32> {
        self.clock += 1;
        let prepared = self.prepared.get_mut(&page)?;
        prepared.used = self.clock;
        self.last_page = Some(page);
        Some(prepared.handle)
    }

    /// Keeps a prepared page, and drops the oldest if there are too many.
    pub(crate) fn keep_prepared(&mut self, page: u64, handle: i32) -> Result<()> {
        if self.prepared.len() >= PREPARED_MAX {
            let oldest = self
                .prepared
                .iter()
                .min_by_key(|(_, prepared)| prepared.used)
                .map(|(page, prepared)| (*page, prepared.handle));
            if let Some((oldest, handle)) = oldest {
                self.prepared.remove(&oldest);
                self.close(handle)?;
            }
        }
        self.clock += 1;
        let used = self.clock;
        self.last_page = Some(page);
        self.prepared.insert(page, Prepared { handle, used });
        Ok(())
    }
}
